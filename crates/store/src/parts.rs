//! Rows that leave a run while it goes on: each part of a table is a file of its own, which appears complete or not at
//! all. So all parts can be read at any time, whatever ends the run. In the end they become one file.

use std::collections::BTreeMap;
use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use parquet::errors::Result;
use windtunnel_sim::recorder::Sink;
use windtunnel_sim::recorder::columns::{Column, Table};

use crate::error::to_io;
use crate::file::TableFile;
use crate::keys::{Keys, Same};
use crate::values::Values;

/// What could not be written, if anything.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// Takes the error.
    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, error: io::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}

/// Writes parts into a folder: `TABLE/000000.parquet`, and so on.
pub struct Parts<F> {
    /// Makes the folder, when it is needed first.
    make: F,
    folder: Option<PathBuf>,
    keys: Keys,
    written: BTreeMap<&'static str, usize>,
    /// Something could not be written: nothing is any more.
    failed: bool,
    failure: Failure,
}

impl<F> Debug for Parts<F> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts")
            .field("folder", &self.folder)
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl<F: FnMut() -> io::Result<PathBuf>> Parts<F> {
    /// Parts in the folder that `make` makes. They have the columns of `keys` that name flows and queues.
    pub fn new(make: F, names: Vec<(String, String, Vec<String>)>) -> Parts<F> {
        let keys = Keys { run: Vec::new(), names };
        Parts {
            make,
            folder: None,
            keys,
            written: BTreeMap::new(),
            failed: false,
            failure: Failure::default(),
        }
    }

    /// Where it is said what could not be written. From then on nothing is.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }

    fn write(&mut self, table: &Table, rows: Range<usize>) -> io::Result<()> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert((self.make)()?),
        };
        let folder = folder.join(table.name);
        let number = self.written.entry(table.name).or_default();
        if *number == 0 {
            fs::create_dir(&folder)?;
        }
        let (file, partial) = (folder.join(part(*number)), folder.join("partial"));
        write(&partial, table, rows, self.keys.clone()).map_err(to_io)?;
        fs::rename(partial, file)?;
        *number += 1;
        Ok(())
    }
}

impl<F: FnMut() -> io::Result<PathBuf> + Send> Sink for Parts<F> {
    fn rows(&mut self, table: &Table, rows: Range<usize>) {
        if !self.failed
            && let Err(error) = self.write(table, rows)
        {
            self.failed = true;
            self.failure.set(error);
        }
    }
}

/// The name of a part: in the order of names, parts are in their own.
fn part(number: usize) -> String {
    format!("{number:06}.parquet")
}

fn write(path: &Path, table: &Table, rows: Range<usize>, keys: Keys) -> Result<()> {
    let bytes: Vec<Vec<&[u8]>> = table
        .columns
        .iter()
        .map(|(_, column)| match column {
            Column::Binary(values) => values.iter().map(|value| &**value).collect(),
            _ => Vec::new(),
        })
        .collect();
    let columns = table.columns.iter().zip(&bytes).map(|((name, column), bytes)| {
        let values = match column {
            Column::F64(v) => Values::F64(v),
            Column::U64(v) => Values::U64(v),
            Column::I64(v) => Values::I64(v),
            Column::U32(v) => Values::U32(v),
            Column::I32(v) => Values::I32(v),
            Column::U8(v) => Values::U8(v),
            Column::Bool(v) => Values::Bool(v),
            Column::Binary(_) => Values::Binary(bytes),
        };
        (*name, values.rows(rows.clone()))
    });
    let columns: Vec<(&str, Values<'_>)> = columns.collect();
    let mut file = TableFile::create(path, &columns, keys)?;
    file.write_group(&columns)?;
    file.finish()
}

/// Makes one file of the parts of a table, with columns of the run before all others: columns are copied as they are.
pub fn merge(
    parts: &[PathBuf],
    path: &Path,
    run: Vec<(String, Same)>,
    about: &BTreeMap<String, String>,
) -> Result<()> {
    let mut merged = TableFile::create_for(path, parts, Keys { run, names: Vec::new() })?;
    for part in parts {
        merged.append(part)?;
    }
    for (key, value) in about {
        merged.say(key, value);
    }
    merged.finish()
}
