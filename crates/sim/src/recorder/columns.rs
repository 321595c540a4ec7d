//! Tables of typed columns: a run hands them out without a copy.

use std::ops::Range;
use std::sync::Arc;

use windtunnel_units::Bytes;

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
    /// Bytes.
    Binary(Vec<Arc<[u8]>>),
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
            Column::Binary(v) => v.len(),
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

impl Table {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }
}

/// The rows of `subject` from row `first` on, where a column says whose each is.
pub(crate) fn rows_of(column: &[u32], first: usize, subject: usize) -> Range<usize> {
    let rest = column[first..].iter();
    first..first + rest.take_while(|each| **each as usize == subject).count()
}

/// Rows that are being recorded.
pub(crate) trait Rows: Sized {
    /// How many there are.
    fn count(&self) -> usize;

    /// How much more memory one more row would take.
    fn growth(&self) -> Bytes;

    /// All of them as a table. None are left here.
    fn lend(&mut self) -> Table;

    /// The columns of a table that was lent, in their order, without the first rows, which are `gone`: their memory is used
    /// again.
    fn take_back(&mut self, columns: &mut dyn Iterator<Item = Column>, gone: usize);

    /// Adds rows of another such table, as far as there is room.
    fn copy_rows(&mut self, from: &Self, rows: Range<usize>);

    /// None are left.
    fn clear(&mut self);

    /// All of them, in the end.
    fn into_table(mut self) -> Table {
        self.lend()
    }
}

/// Declares a struct of growing columns, which takes its memory from a [`Budget`](super::budget::Budget), and its
/// conversion into a [`Table`] ([`Rows`]).
macro_rules! columns {
    ($(#[$meta:meta])* $vis:vis struct $name:ident as $table:literal { $($field:ident: $variant:ident($type:ty)),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Default)]
        $vis struct $name { budget: $crate::recorder::budget::Budget, $($vis $field: Vec<$type>),* }

        impl $name {
            /// The memory of a row.
            pub(crate) const ROW: u64 = (0 $(+ size_of::<$type>())*) as u64;

            /// No rows, and `budget` for all that will come.
            pub(crate) fn within(budget: &$crate::recorder::budget::Budget) -> $name {
                $name { budget: budget.clone(), ..$name::default() }
            }

            /// Whether there is room for `rows` more rows. Ask before they are pushed.
            #[inline]
            pub(crate) fn has_room(&mut self, rows: usize) -> bool {
                let (held, room) = ([$(self.$field.len()),*][0], [$(self.$field.capacity()),*][0]);
                held + rows <= room || self.grow(rows)
            }

            #[cold]
            fn grow(&mut self, rows: usize) -> bool {
                let more = $crate::recorder::budget::growth([$(self.$field.len()),*][0], rows);
                let amount = windtunnel_units::Bytes::new(more as u64 * Self::ROW);
                let Self { budget, $($field),* } = self;
                budget.take($table, amount, || true $(&& $field.try_reserve_exact(more).is_ok())*)
            }

        }

        impl $crate::recorder::columns::Rows for $name {
            fn count(&self) -> usize {
                [$(self.$field.len()),*][0]
            }

            // A table grows as it would if its rows came one by one: when it is full.
            fn copy_rows(&mut self, from: &Self, mut rows: std::ops::Range<usize>) {
                while !rows.is_empty() && self.has_room(1) {
                    let room = [$(self.$field.capacity()),*][0] - self.count();
                    let to = rows.end.min(rows.start + room);
                    $(self.$field.extend_from_slice(&from.$field[rows.start..to]);)*
                    rows.start = to;
                }
            }

            fn clear(&mut self) {
                $(self.$field.clear();)*
            }

            fn lend(&mut self) -> $crate::recorder::columns::Table {
                $crate::recorder::columns::Table {
                    name: $table,
                    columns: vec![$((stringify!($field), $crate::recorder::columns::Column::$variant(std::mem::take(&mut self.$field)))),*],
                }
            }

            fn growth(&self) -> windtunnel_units::Bytes {
                let (held, room) = (self.count(), [$(self.$field.capacity()),*][0]);
                let more = if held < room { 0 } else { $crate::recorder::budget::growth(held, 1) };
                windtunnel_units::Bytes::new(more as u64 * Self::ROW)
            }

            fn take_back(&mut self, columns: &mut dyn Iterator<Item = $crate::recorder::columns::Column>, gone: usize) {
                $(if let Some($crate::recorder::columns::Column::$variant(mut values)) = columns.next() {
                    values.drain(..gone);
                    self.$field = values;
                })*
            }
        }
    };
}
pub(crate) use columns;
