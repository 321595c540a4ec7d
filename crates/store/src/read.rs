//! A table's file, read: chosen columns, in parts of a chosen size.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::path::Path;

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;

/// Rows that are decoded at one time.
const BATCH: usize = 1 << 14;

/// What a column holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64 bits of floating point.
    F64,
    /// 32 bits of it.
    F32,
    /// Whole numbers: how many bits, and whether they have a sign.
    Int(u8, bool),
    /// Truth values.
    Bool,
    /// Texts.
    Text,
    /// Bytes.
    Binary,
    /// What no table of windtunnel holds, in a word.
    Other(&'static str),
}

impl Kind {
    fn of(field: &Type) -> Kind {
        let info = field.get_basic_info();
        if !field.is_primitive() {
            return Kind::Other(match info.converted_type() {
                ConvertedType::LIST => "list",
                ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => "map",
                _ => "struct",
            });
        }
        let (logical, converted) = (info.logical_type_ref(), info.converted_type());
        match (field.get_physical_type(), logical, converted) {
            (Physical::INT32 | Physical::INT64, Some(LogicalType::Integer(int)), _) => {
                u8::try_from(int.bit_width)
                    .map_or(Kind::Other("integer"), |bits| Kind::Int(bits, int.is_signed))
            }
            (Physical::INT32, None, ConvertedType::NONE | ConvertedType::INT_32) => Kind::Int(32, true),
            (Physical::INT64, None, ConvertedType::NONE | ConvertedType::INT_64) => Kind::Int(64, true),
            (Physical::DOUBLE, None, _) => Kind::F64,
            (Physical::FLOAT, None, _) => Kind::F32,
            (Physical::BOOLEAN, None, _) => Kind::Bool,
            (Physical::BYTE_ARRAY, Some(LogicalType::String), _)
            | (Physical::BYTE_ARRAY, None, ConvertedType::UTF8) => Kind::Text,
            (Physical::BYTE_ARRAY, None, ConvertedType::NONE) => Kind::Binary,
            (_, Some(LogicalType::Unknown), _) => Kind::Other("null"),
            (_, Some(LogicalType::Timestamp(_)), _) => Kind::Other("timestamp"),
            (_, Some(LogicalType::Decimal(_)), _) => Kind::Other("decimal"),
            (_, Some(LogicalType::Date | LogicalType::Time(_)), _) => Kind::Other("a time"),
            _ => Kind::Other("values of another type"),
        }
    }

    /// As Arrow calls it.
    pub fn name(&self) -> String {
        match self {
            Kind::F64 => "double".to_owned(),
            Kind::F32 => "float".to_owned(),
            Kind::Int(bits, signed) => format!("{}int{bits}", if *signed { "" } else { "u" }),
            Kind::Bool => "bool".to_owned(),
            Kind::Text => "string".to_owned(),
            Kind::Binary => "binary".to_owned(),
            Kind::Other(word) => (*word).to_owned(),
        }
    }
}

/// The values of a column that was read. Where one is missing, there is NaN, no bytes, the place -1, or anything.
#[derive(Debug)]
pub enum Array {
    /// Floating-point numbers of 64 bits.
    F64(Vec<f64>),
    /// Those of 32 bits.
    F32(Vec<f32>),
    /// Whole numbers of 64 bits without a sign.
    U64(Vec<u64>),
    /// With a sign.
    I64(Vec<i64>),
    /// Of 32 bits.
    U32(Vec<u32>),
    /// With a sign.
    I32(Vec<i32>),
    /// Of 16 bits.
    U16(Vec<u16>),
    /// With a sign.
    I16(Vec<i16>),
    /// Of 8 bits.
    U8(Vec<u8>),
    /// With a sign.
    I8(Vec<i8>),
    /// Truth values.
    Bool(Vec<bool>),
    /// Bytes.
    Binary(Vec<ByteArray>),
    /// Texts, as places in a list of words.
    Text(Vec<i32>, Words),
}

impl Array {
    /// True if there are no rows.
    pub const fn is_empty(&self) -> bool {
        match self {
            Array::F64(v) => v.is_empty(),
            Array::F32(v) => v.is_empty(),
            Array::U64(v) => v.is_empty(),
            Array::I64(v) => v.is_empty(),
            Array::U32(v) => v.is_empty(),
            Array::I32(v) | Array::Text(v, _) => v.is_empty(),
            Array::U16(v) => v.is_empty(),
            Array::I16(v) => v.is_empty(),
            Array::U8(v) => v.is_empty(),
            Array::I8(v) => v.is_empty(),
            Array::Bool(v) => v.is_empty(),
            Array::Binary(v) => v.is_empty(),
        }
    }
}

/// Different texts, in the order in which they first come.
#[derive(Debug, Default)]
pub struct Words {
    /// The texts.
    pub list: Vec<String>,
    places: BTreeMap<Vec<u8>, i32>,
    /// The last one: neighbours are often the same.
    last: Option<(ByteArray, i32)>,
}

impl Words {
    fn place(&mut self, word: ByteArray) -> Result<i32> {
        if let Some((last, index)) = &self.last
            && *last == word
        {
            return Ok(*index);
        }
        let index = if let Some(index) = self.places.get(word.data()) {
            *index
        } else {
            let text = std::str::from_utf8(word.data());
            let text = text.map_err(|_| ParquetError::General("a text is not UTF-8".to_owned()))?;
            let index = i32::try_from(self.list.len());
            let index = index.map_err(|_| ParquetError::General("too many different texts".to_owned()))?;
            self.list.push(text.to_owned());
            self.places.insert(word.data().to_vec(), index);
            index
        };
        self.last = Some((word, index));
        Ok(index)
    }
}

/// A column that was read, and which of its values are missing, where that cannot be seen from them.
#[derive(Debug)]
pub struct Read {
    /// The values.
    pub array: Array,
    /// True for a missing value; empty if none is.
    pub missing: Vec<bool>,
}

impl Read {
    fn new(kind: &Kind) -> Result<Read> {
        let array = match kind {
            Kind::F64 => Array::F64(Vec::new()),
            Kind::F32 => Array::F32(Vec::new()),
            Kind::Int(64, false) => Array::U64(Vec::new()),
            Kind::Int(64, true) => Array::I64(Vec::new()),
            Kind::Int(32, false) => Array::U32(Vec::new()),
            Kind::Int(32, true) => Array::I32(Vec::new()),
            Kind::Int(16, false) => Array::U16(Vec::new()),
            Kind::Int(16, true) => Array::I16(Vec::new()),
            Kind::Int(8, false) => Array::U8(Vec::new()),
            Kind::Int(8, true) => Array::I8(Vec::new()),
            Kind::Bool => Array::Bool(Vec::new()),
            Kind::Binary => Array::Binary(Vec::new()),
            Kind::Text => Array::Text(Vec::new(), Words::default()),
            Kind::Int(..) | Kind::Other(_) => {
                return Err(ParquetError::NYI(format!("a column holds {}", kind.name())));
            }
        };
        Ok(Read { array, missing: Vec::new() })
    }

    /// Appends the next `rows` of a column.
    fn take(&mut self, from: &mut ColumnReader, rows: usize) -> Result<()> {
        use ColumnReader as From;
        let gaps = &mut self.missing;
        match (&mut self.array, from) {
            (Array::F64(to), From::DoubleColumnReader(from)) => {
                all(from, rows, |v| to.push(v.unwrap_or(f64::NAN)))
            }
            (Array::F32(to), From::FloatColumnReader(from)) => {
                all(from, rows, |v| to.push(v.unwrap_or(f32::NAN)))
            }
            (Array::U64(to), From::Int64ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(i64::cast_unsigned)))
            }
            (Array::I64(to), From::Int64ColumnReader(from)) => all(from, rows, |v| push(to, gaps, v)),
            (Array::U32(to), From::Int32ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(i32::cast_unsigned)))
            }
            (Array::I32(to), From::Int32ColumnReader(from)) => all(from, rows, |v| push(to, gaps, v)),
            (Array::U16(to), From::Int32ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(|v| v as u16)))
            }
            (Array::I16(to), From::Int32ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(|v| v as i16)))
            }
            (Array::U8(to), From::Int32ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(|v| v as u8)))
            }
            (Array::I8(to), From::Int32ColumnReader(from)) => {
                all(from, rows, |v| push(to, gaps, v.map(|v| v as i8)))
            }
            (Array::Bool(to), From::BoolColumnReader(from)) => all(from, rows, |v| push(to, gaps, v)),
            (Array::Binary(to), From::ByteArrayColumnReader(from)) => {
                all(from, rows, |v| to.push(v.unwrap_or_else(|| ByteArray::from(Vec::new()))))
            }
            (Array::Text(to, words), From::ByteArrayColumnReader(from)) => take(from, rows, |v| {
                to.push(v.map(|word| words.place(word)).transpose()?.unwrap_or(-1));
                Ok(())
            }),
            _ => Err(ParquetError::General("a column is of another type than its file says".to_owned())),
        }
    }

    fn end(mut self) -> Read {
        if !self.missing.contains(&true) {
            self.missing = Vec::new();
        }
        self
    }
}

fn push<T: Default>(to: &mut Vec<T>, missing: &mut Vec<bool>, value: Option<T>) {
    missing.push(value.is_none());
    to.push(value.unwrap_or_default());
}

/// Calls `each` with the next `rows` values of a column.
fn all<T: DataType>(
    from: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut each: impl FnMut(Option<T::T>),
) -> Result<()> {
    take(from, rows, |value| {
        each(value);
        Ok(())
    })
}

/// The same, where a value may be wrong.
fn take<T: DataType>(
    from: &mut ColumnReaderImpl<T>,
    rows: usize,
    mut each: impl FnMut(Option<T::T>) -> Result<()>,
) -> Result<()> {
    let (mut levels, mut values, mut left) = (Vec::new(), Vec::new(), rows);
    while left > 0 {
        levels.clear();
        let (read, ..) = from.read_records(left.min(BATCH), Some(&mut levels), None, &mut values)?;
        if read == 0 {
            return Err(ParquetError::EOF("a column has fewer rows than its file says".to_owned()));
        }
        left -= read;
        if levels.is_empty() {
            values.drain(..).try_for_each(|value| each(Some(value)))?;
        } else {
            let mut values = values.drain(..);
            for level in &levels {
                each(if *level == 0 { None } else { values.next() })?;
            }
        }
    }
    Ok(())
}

/// A column of a file.
struct Field {
    name: String,
    kind: Kind,
    /// Its number among those that have values; others have parts.
    leaf: Option<usize>,
}

/// A Parquet file that is read.
pub struct TableReader {
    reader: SerializedFileReader<File>,
    columns: Vec<Field>,
}

impl Debug for TableReader {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableReader").finish_non_exhaustive()
    }
}

impl TableReader {
    /// The file at `path`.
    pub fn open(path: &Path) -> Result<TableReader> {
        let reader = SerializedFileReader::new(File::open(path)?)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let mut columns: Vec<Field> = schema
            .root_schema()
            .get_fields()
            .iter()
            .map(|field| Field { name: field.name().to_owned(), kind: Kind::of(field), leaf: None })
            .collect();
        for (leaf, descr) in schema.columns().iter().enumerate() {
            let column = &mut columns[schema.get_column_root_idx(leaf)];
            if descr.max_rep_level() > 0 && !matches!(column.kind, Kind::Other(_)) {
                column.kind = Kind::Other("list");
            }
            column.leaf = Some(leaf);
        }
        Ok(TableReader { reader, columns })
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.reader
            .metadata()
            .row_groups()
            .iter()
            .map(|group| usize::try_from(group.num_rows()).unwrap_or(0))
            .sum()
    }

    /// The names of its columns, and what they hold.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Kind)> {
        self.columns.iter().map(|column| (column.name.as_str(), &column.kind))
    }

    /// Its rows in their order, with these columns.
    pub fn parts(self, names: &[String]) -> Result<TableParts> {
        let mut columns = Vec::new();
        for name in names {
            let column = self.columns.iter().find(|column| column.name == *name);
            let column =
                column.ok_or_else(|| ParquetError::General(format!("there is no column `{name}`")))?;
            let leaf =
                column.leaf.ok_or_else(|| ParquetError::General(format!("column `{name}` is empty")))?;
            columns.push((leaf, column.kind.clone()));
        }
        Ok(TableParts { reader: self.reader, columns, group: 0, left: 0, open: Vec::new() })
    }
}

/// The rows of a file, part by part.
pub struct TableParts {
    reader: SerializedFileReader<File>,
    columns: Vec<(usize, Kind)>,
    /// The group of rows that comes next.
    group: usize,
    /// Rows of the one before it that are still to be read, and its columns.
    left: usize,
    open: Vec<ColumnReader>,
}

impl Debug for TableParts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableParts").finish_non_exhaustive()
    }
}

impl TableParts {
    /// The next `rows` rows; fewer at the end, and none behind it.
    pub fn next(&mut self, rows: usize) -> Result<Vec<Read>> {
        let mut read: Vec<Read> =
            self.columns.iter().map(|(_, kind)| Read::new(kind)).collect::<Result<_>>()?;
        let mut wanted = rows;
        while wanted > 0 && (self.left > 0 || self.open_next()?) {
            let now = wanted.min(self.left);
            for (read, from) in read.iter_mut().zip(&mut self.open) {
                read.take(from, now)?;
            }
            wanted -= now;
            self.left -= now;
        }
        Ok(read.into_iter().map(Read::end).collect())
    }

    /// Goes on to the next group of rows; false at the end.
    fn open_next(&mut self) -> Result<bool> {
        if self.group == self.reader.num_row_groups() {
            return Ok(false);
        }
        let group = self.reader.get_row_group(self.group)?;
        let rows = usize::try_from(group.metadata().num_rows());
        self.left = rows.map_err(|_| ParquetError::General("a group has less than no rows".to_owned()))?;
        self.open =
            self.columns.iter().map(|(leaf, _)| group.get_column_reader(*leaf)).collect::<Result<_>>()?;
        self.group += 1;
        Ok(true)
    }
}
