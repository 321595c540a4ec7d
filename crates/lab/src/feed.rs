//! Rows of a run as they come, until the page takes them.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use windtunnel_sim::recorder::Sink;
use windtunnel_sim::recorder::columns::{Column, Table};

/// The rows of a table that the page has not taken yet, as JavaScript's numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) count: usize,
    pub(crate) columns: Vec<(&'static str, Vec<f64>)>,
}

/// What a run has handed over, by table. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Feed(Arc<Mutex<BTreeMap<&'static str, Rows>>>);

impl Feed {
    /// The rows since the last call.
    pub(crate) fn take(&self) -> BTreeMap<&'static str, Rows> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// All rows of these tables, too.
    pub(crate) fn add(&self, tables: &[Table]) {
        for table in tables {
            self.add_rows(table, 0..table.rows());
        }
    }

    fn add_rows(&self, table: &Table, rows: Range<usize>) {
        let mut tables = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = tables.entry(table.name).or_default();
        for (name, column) in &table.columns {
            let Some(values) = numbers(column, rows.clone()) else { continue };
            if let Some((_, column)) = kept.columns.iter_mut().find(|(kept, _)| kept == name) {
                column.extend(values);
            } else {
                // What rows before do not have is missing there.
                let mut column = vec![f64::NAN; kept.count];
                column.extend(values);
                kept.columns.push((name, column));
            }
        }
        kept.count += rows.len();
        for (_, column) in &mut kept.columns {
            column.resize(kept.count, f64::NAN);
        }
    }
}

impl Sink for Feed {
    fn rows(&mut self, table: &Table, rows: Range<usize>) {
        self.add_rows(table, rows);
    }

    fn group(&self) -> usize {
        1
    }
}

/// The numbers of a column; nothing of one that has others.
fn numbers(column: &Column, rows: Range<usize>) -> Option<Vec<f64>> {
    Some(match column {
        Column::F64(values) => values[rows].to_vec(),
        Column::U64(values) => values[rows].iter().map(|value| *value as f64).collect(),
        Column::I64(values) => values[rows].iter().map(|value| *value as f64).collect(),
        Column::U32(values) => values[rows].iter().map(|value| f64::from(*value)).collect(),
        Column::I32(values) => values[rows].iter().map(|value| f64::from(*value)).collect(),
        Column::U8(values) => values[rows].iter().map(|value| f64::from(*value)).collect(),
        Column::Bool(values) => values[rows].iter().map(|value| f64::from(u8::from(*value))).collect(),
        Column::Binary(_) => return None,
    })
}
