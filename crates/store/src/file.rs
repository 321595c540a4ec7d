//! One table in one file.

use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::io::{BufWriter, IntoInnerError};
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::writer::{ColumnCloseResult, get_column_writer};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{
    OnCloseColumnChunk, SerializedColumnWriter, SerializedFileWriter, SerializedRowGroupWriter,
};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type, TypePtr};

use windtunnel_sim::recorder::GROUP;

use crate::keys::{Column, Keys, Same, named};
use crate::pages::Checked;
use crate::schema;
use crate::values::{Values, word};

/// Values that are copied for the writer at one time: many payloads would take much memory twice. A multiple of what it
/// takes for a page itself, so that pages end where they would without.
const BATCH: usize = 1 << 12;

/// A Parquet file that grows by groups of rows.
pub struct TableFile {
    writer: SerializedFileWriter<BufWriter<File>>,
    keys: Keys,
    checked: bool,
}

impl Debug for TableFile {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableFile").finish_non_exhaustive()
    }
}

impl TableFile {
    /// A new file at `path` for a table whose columns have the names and kinds of `columns`, with those of `keys`.
    pub fn create(path: &Path, columns: &[(&str, Values<'_>)], keys: Keys) -> Result<TableFile> {
        let every = keys.around(columns);
        let fields = every.iter().map(|(name, column)| field(name, column).map(Arc::new));
        let unlike = every.iter().filter(|(_, column)| !repeats(column)).map(|(name, _)| *name);
        let writer = writer(path, fields.collect::<Result<_>>()?, unlike)?;
        Ok(TableFile { writer, keys, checked: false })
    }

    /// A new file at `path` for the parts of a table, which has the columns of the last one, with those of `keys`.
    pub fn create_for(path: &Path, parts: &[PathBuf], keys: Keys) -> Result<TableFile> {
        let run = keys.around(&[]);
        let mut fields: Vec<TypePtr> =
            run.iter().map(|(name, column)| field(name, column).map(Arc::new)).collect::<Result<_>>()?;
        let last = parts.last().ok_or_else(|| ParquetError::General("a table has a part".to_owned()))?;
        fields.extend_from_slice(open(last)?.metadata().file_metadata().schema().get_fields());
        let writer = writer(path, fields, iter::empty())?;
        Ok(TableFile { writer, keys, checked: false })
    }

    /// Pages get checksums from now on.
    #[must_use]
    pub fn checked(mut self) -> TableFile {
        self.checked = true;
        self
    }

    /// Says that readers of Arrow are to take the columns of texts in `coded` for dictionaries. `columns` are those of the
    /// file.
    pub fn code(&mut self, columns: &[(&str, Values<'_>)], coded: &[&str]) {
        let schema = schema::encoded(&self.keys.around(columns), coded);
        self.say(schema::KEY, &schema);
    }

    /// Appends rows, in groups of at most [`GROUP`].
    pub fn write(&mut self, columns: &[(&str, Values<'_>)]) -> Result<()> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        for from in (0..rows).step_by(GROUP) {
            let to = rows.min(from + GROUP);
            let group: Vec<_> = columns.iter().map(|(name, values)| (*name, values.rows(from..to))).collect();
            self.write_group(&group)?;
        }
        Ok(())
    }

    /// Appends rows as a group.
    pub fn write_group(&mut self, columns: &[(&str, Values<'_>)]) -> Result<()> {
        let like = (self.writer.schema_descr().columns().to_vec(), Arc::clone(self.writer.properties()));
        let mut group = self.writer.next_row_group()?;
        for ((_, column), descr) in self.keys.around(columns).iter().zip(&like.0) {
            if self.checked {
                write_checked(&mut group, column, descr, &like.1)?;
            } else {
                write_column(&mut group, column)?;
            }
        }
        group.close()?;
        Ok(())
    }

    /// Appends the groups of a part. Its columns are copied as they are.
    pub fn append(&mut self, part: &Path) -> Result<()> {
        let (file, reader) = (File::open(part)?, open(part)?);
        for theirs in reader.metadata().row_groups() {
            let rows = theirs.num_rows();
            let mut group = self.writer.next_row_group()?;
            for (_, same) in &self.keys.run {
                write_column(&mut group, &Column::Same(same, rows as usize))?;
            }
            for column in theirs.columns() {
                let copy = ColumnCloseResult {
                    bytes_written: column.compressed_size() as u64,
                    rows_written: rows as u64,
                    metadata: column.clone(),
                    bloom_filter: None,
                    column_index: None,
                    offset_index: None,
                };
                group.append_column(&file, copy)?;
            }
            // A number that came later is missing here.
            while let Some(mut column) = group.next_column()? {
                put::<DoubleType>(&mut column, iter::repeat_n(None, rows as usize))?;
                column.close()?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Says something about the whole file.
    pub fn say(&mut self, key: &str, value: &str) {
        self.writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
    }

    /// Ends the file. Without this it cannot be read.
    pub fn finish(self) -> Result<()> {
        self.writer.into_inner()?.into_inner().map_err(IntoInnerError::into_error)?;
        Ok(())
    }
}

fn open(path: &Path) -> Result<SerializedFileReader<File>> {
    SerializedFileReader::new(File::open(path)?)
}

/// A writer of a file with these columns, `unlike` those whose values hardly repeat.
fn writer<'a>(
    path: &Path,
    fields: Vec<TypePtr>,
    unlike: impl Iterator<Item = &'a str>,
) -> Result<SerializedFileWriter<BufWriter<File>>> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true);
    for name in unlike {
        properties = properties.set_column_dictionary_enabled(ColumnPath::from(name), false);
    }
    let schema = Type::group_type_builder("schema").with_fields(fields).build()?;
    let file = BufWriter::new(File::create(path)?);
    SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties.build()))
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    column: &Column<'_>,
) -> Result<()> {
    let mut writer = group.next_column()?.expect("each column is in the schema");
    write(&mut writer, column)?;
    writer.close()
}

/// Writes a column whose pages have checksums. It is in memory until it is complete.
fn write_checked(
    group: &mut SerializedRowGroupWriter<'_, BufWriter<File>>,
    column: &Column<'_>,
    descr: &ColumnDescPtr,
    properties: &WriterPropertiesPtr,
) -> Result<()> {
    let (mut bytes, mut closed) = (Vec::new(), None);
    let on_close: OnCloseColumnChunk<'_> = Box::new(|close| {
        closed = Some(close);
        Ok(())
    });
    let pages = Box::new(Checked(&mut bytes));
    let inner = get_column_writer(Arc::clone(descr), Arc::clone(properties), pages);
    let mut writer = SerializedColumnWriter::new(inner, Some(on_close));
    write(&mut writer, column)?;
    writer.close()?;
    group.append_column(&Bytes::from(bytes), closed.expect("the column was closed"))
}

/// Whether values are looked for in those before them. Numbers of 64 bits and bytes are hardly ever the same in many
/// rows: it would take longer than all else, and files become smaller without.
const fn repeats(column: &Column<'_>) -> bool {
    match column {
        Column::Own(values) => {
            use Values::{Binary, F64, GapsI64, GapsU64, I64, U64};
            !matches!(values, F64(_) | U64(_) | I64(_) | GapsU64(..) | GapsI64(..) | Binary(_))
        }
        Column::Same(..) | Column::Names(..) => true,
    }
}

fn field(name: &str, column: &Column<'_>) -> Result<Type> {
    let unsigned = |bits| Some(LogicalType::integer(bits, false));
    let text = (Physical::BYTE_ARRAY, Some(LogicalType::String));
    let (physical, logical) = match column {
        Column::Own(Values::F64(_)) => (Physical::DOUBLE, None),
        Column::Own(Values::U64(_) | Values::GapsU64(..)) | Column::Same(Same::Number(_), _) => {
            (Physical::INT64, unsigned(64))
        }
        Column::Own(Values::I64(_) | Values::GapsI64(..)) => (Physical::INT64, None),
        Column::Own(Values::U32(_)) => (Physical::INT32, unsigned(32)),
        Column::Own(Values::I32(_)) => (Physical::INT32, None),
        Column::Own(Values::U8(_)) => (Physical::INT32, unsigned(8)),
        Column::Own(Values::Bool(_) | Values::GapsBool(..)) => (Physical::BOOLEAN, None),
        Column::Own(Values::Binary(_)) => (Physical::BYTE_ARRAY, None),
        Column::Own(Values::Text(..)) | Column::Same(Same::Text(_), _) | Column::Names(..) => text,
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn write(to: &mut SerializedColumnWriter<'_>, column: &Column<'_>) -> Result<()> {
    match *column {
        Column::Own(Values::F64(v)) => put::<DoubleType>(to, v.iter().map(|v| (!v.is_nan()).then_some(*v))),
        Column::Own(Values::U64(v)) => put::<Int64Type>(to, v.iter().map(|v| Some(v.cast_signed()))),
        Column::Own(Values::I64(v)) => put::<Int64Type>(to, v.iter().copied().map(Some)),
        Column::Own(Values::U32(v)) => put::<Int32Type>(to, v.iter().map(|v| Some(v.cast_signed()))),
        Column::Own(Values::I32(v)) => put::<Int32Type>(to, v.iter().copied().map(Some)),
        Column::Own(Values::U8(v)) => put::<Int32Type>(to, v.iter().map(|v| Some(i32::from(*v)))),
        Column::Own(Values::Bool(v)) => put::<BoolType>(to, v.iter().copied().map(Some)),
        Column::Own(Values::Binary(v)) => {
            put::<ByteArrayType>(to, v.iter().map(|v| Some(ByteArray::from(v.to_vec()))))
        }
        Column::Own(Values::GapsU64(v, gaps)) => {
            put::<Int64Type>(to, v.iter().zip(gaps).map(|(v, gap)| (!gap).then_some(v.cast_signed())))
        }
        Column::Own(Values::GapsI64(v, gaps)) => {
            put::<Int64Type>(to, v.iter().zip(gaps).map(|(v, gap)| (!gap).then_some(*v)))
        }
        Column::Own(Values::GapsBool(v, gaps)) => {
            put::<BoolType>(to, v.iter().zip(gaps).map(|(v, gap)| (!gap).then_some(*v)))
        }
        Column::Own(Values::Text(at, words)) => {
            let words: Vec<ByteArray> = words.iter().map(|word| ByteArray::from(*word)).collect();
            put::<ByteArrayType>(to, at.iter().map(|at| word(&words, *at).cloned()))
        }
        Column::Same(Same::Number(number), rows) => {
            put::<Int64Type>(to, iter::repeat_n(number.map(u64::cast_signed), rows))
        }
        Column::Same(Same::Text(text), rows) => {
            put::<ByteArrayType>(to, iter::repeat_n(Some(ByteArray::from(text.as_str())), rows))
        }
        Column::Names(indices, names) => put::<ByteArrayType>(to, named(indices, names).into_iter()),
    }
}

/// Writes a column of values; None is null.
fn put<T: DataType>(
    to: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    // One number for each row says whether it has a value, as Parquet's interface takes it.
    let (mut present, mut there) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let mut values = values.peekable();
    while values.peek().is_some() {
        for value in values.by_ref().take(BATCH) {
            present.push(i16::from(value.is_some()));
            there.extend(value);
        }
        to.typed::<T>().write_batch(&there, Some(&present), None)?;
        present.clear();
        there.clear();
    }
    Ok(())
}
