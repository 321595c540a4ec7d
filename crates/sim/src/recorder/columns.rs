//! Tables of typed columns: a run hands them out without a copy.

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Floating-point numbers.
    F64(Vec<f64>),
    /// Counts and nanoseconds.
    U64(Vec<u64>),
    /// Accumulators.
    I64(Vec<i64>),
    /// Indices.
    U32(Vec<u32>),
    /// Indices, where -1 means "all".
    I32(Vec<i32>),
    /// Small codes.
    U8(Vec<u8>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Column::F64(v) => v.len(),
            Column::U64(v) => v.len(),
            Column::I64(v) => v.len(),
            Column::U32(v) => v.len(),
            Column::I32(v) => v.len(),
            Column::U8(v) => v.len(),
            Column::Bool(v) => v.len(),
        }
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named table; all of its columns have one length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns with their names, units included.
    pub columns: Vec<(&'static str, Column)>,
}

/// Declares a struct of growing columns and its conversion into a [`Table`].
macro_rules! columns {
    ($(#[$meta:meta])* $vis:vis struct $name:ident as $table:literal { $($field:ident: $variant:ident($type:ty)),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name { $($vis $field: Vec<$type>),* }

        impl $name {
            $vis fn into_table(self) -> $crate::recorder::columns::Table {
                $crate::recorder::columns::Table {
                    name: $table,
                    columns: vec![$((stringify!($field), $crate::recorder::columns::Column::$variant(self.$field))),*],
                }
            }
        }
    };
}
pub(crate) use columns;
