//! Columns that a table has in files beyond its own: what names its run, and its flows and queues.

use parquet::data_type::ByteArray;

use crate::values::Values;

/// What is the same in every row.
#[derive(Clone, Debug)]
pub enum Same {
    /// A text.
    Text(String),
    /// A number, if it is known.
    Number(Option<u64>),
}

/// The columns beyond a table's own.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    /// Those of the run, before all others: the name of each.
    pub run: Vec<(String, Same)>,
    /// Those of names, each behind the column of indices that it names: the column, the name of its own, the names.
    pub names: Vec<(String, String, Vec<String>)>,
}

impl Keys {
    /// The columns of a table in its file, in their order.
    pub(crate) fn around<'a>(&'a self, columns: &[(&'a str, Values<'a>)]) -> Vec<(&'a str, Column<'a>)> {
        let rows = columns.first().map_or(0, |(_, values)| values.len());
        let mut all: Vec<_> =
            self.run.iter().map(|(name, same)| (name.as_str(), Column::Same(same, rows))).collect();
        for (name, values) in columns {
            all.push((name, Column::Own(*values)));
            if let Some((_, column, names)) = self.names.iter().find(|(of, ..)| of == name) {
                all.push((column, Column::Names(*values, names)));
            }
        }
        all
    }
}

/// A column of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column<'a> {
    /// One of the table's own.
    Own(Values<'a>),
    /// The same in this number of rows.
    Same(&'a Same, usize),
    /// The names of indices; null for an index without a name.
    Names(Values<'a>, &'a [String]),
}

/// The name of each index.
pub(crate) fn named(indices: Values<'_>, names: &[String]) -> Vec<Option<ByteArray>> {
    let names: Vec<ByteArray> = names.iter().map(|name| ByteArray::from(name.as_str())).collect();
    let name = |index: Option<usize>| index.and_then(|index| names.get(index)).cloned();
    match indices {
        Values::U32(v) => v.iter().map(|index| name(usize::try_from(*index).ok())).collect(),
        Values::I32(v) => v.iter().map(|index| name(usize::try_from(*index).ok())).collect(),
        Values::U64(v) => v.iter().map(|index| name(usize::try_from(*index).ok())).collect(),
        Values::I64(v) => v.iter().map(|index| name(usize::try_from(*index).ok())).collect(),
        Values::U8(v) => v.iter().map(|index| name(Some(usize::from(*index)))).collect(),
        other => vec![None; other.len()],
    }
}
