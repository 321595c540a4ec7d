//! The state of algorithms: the numbers that controllers and queues offer by `probe`, as the tables `cc` and `aqm`.
//!
//! An algorithm names its numbers once, when it is first met. From then on each of its numbers has a fixed column, and in
//! the loop a number costs a call and a store. Rows are kept in blocks of a fixed number of rows, column after column, so
//! that what one row writes lies close together and nothing is transposed at the end. The table has a column for each name
//! that any algorithm of the run has; a number that an algorithm does not have, or does not have at the moment, is NaN.

use std::collections::BTreeMap;
use std::iter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, Time};

use super::budget::Budget;
use super::columns::{Column, Table};
use super::outlet::Outlet;
use super::sizes::state_row;

/// When the state of controllers and queues is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StateRecording {
    /// Never.
    Off,
    /// At the end of each recording interval.
    #[default]
    Interval,
    /// Whenever a number has changed: after an ACK or a timeout, an arrival or a departure, and at the end of an interval.
    /// For short runs: memory grows with the number of changes.
    Changes,
}

/// A subject has at most this many keys.
const MOST_KEYS: usize = 2;

const KEEPS_ITS_NAMES: &str = "an algorithm keeps its names";

/// The argument of `probe`: a function of a name and a value.
pub(crate) type Probe<'a> = &'a mut dyn FnMut(&'static str, f64);

/// How many rows a block has. A block of ten columns has 20 KiB, which fit into the first cache.
const BLOCK: usize = 256;

/// What has rows: a controller, or a band of a queue.
#[derive(Debug)]
struct Subject {
    /// The values of the columns that identify it.
    key: [u32; MOST_KEYS],
    /// Which layout its numbers have.
    layout: u32,
    /// Its latest row.
    latest: Option<usize>,
}

/// The numbers of subjects with the same algorithm: a million flows have few kinds of controllers.
#[derive(Debug)]
struct Layout {
    names: Vec<&'static str>,
    /// Where the column of each number starts in a block; none for subjects without state.
    offsets: Vec<usize>,
}

/// The rows of one of the two tables.
#[derive(Debug)]
pub(crate) struct StateRows {
    table: &'static str,
    /// The columns that identify the subject of a row.
    keys: &'static [&'static str],
    subjects: Vec<Subject>,
    layouts: Vec<Layout>,
    /// The names of the numbers, a column each.
    names: Vec<&'static str>,
    times: Vec<f64>,
    /// The subject of each row.
    rows: Vec<u32>,
    /// The numbers: [`BLOCK`] rows each, column after column. Columns at the end of a block that are missing are NaN.
    blocks: Vec<Vec<f64>>,
    /// Rows are compared with those before, at least some.
    compares: bool,
    /// The numbers of the latest row of a subject, if that row has been handed over.
    kept: BTreeMap<usize, Box<[f64]>>,
    budget: Budget,
    /// What the budget has granted for the blocks.
    granted: Bytes,
}

impl StateRows {
    /// An empty table named `table`, whose subjects have these `keys`.
    pub(crate) fn new(table: &'static str, keys: &'static [&'static str], budget: &Budget) -> StateRows {
        StateRows {
            table,
            keys,
            subjects: Vec::new(),
            layouts: Vec::new(),
            names: Vec::new(),
            times: Vec::new(),
            rows: Vec::new(),
            blocks: Vec::new(),
            compares: false,
            kept: BTreeMap::new(),
            budget: budget.clone(),
            granted: Bytes::ZERO,
        }
    }

    /// The same, where some rows are going to be compared with those before: also with rows that were not compared themselves.
    pub(super) fn comparing(self) -> StateRows {
        StateRows { compares: true, ..self }
    }

    /// Adds a subject, and asks it for the names of its numbers. Returns its index.
    pub(crate) fn add(&mut self, key: &[u32], probe: &dyn Fn(Probe<'_>)) -> usize {
        let mut names = Vec::new();
        probe(&mut |name, _| names.push(name));
        // Most subjects are of the same kind as one of the last.
        let position = self.layouts.iter().rposition(|layout| layout.names == names);
        let layout = position.unwrap_or_else(|| self.add_layout(names)) as u32;
        let mut own = [0; MOST_KEYS];
        own[..key.len()].copy_from_slice(key);
        self.subjects.push(Subject { key: own, layout, latest: None });
        self.subjects.len() - 1
    }

    /// Adds the layout of numbers with these names. Returns its index.
    fn add_layout(&mut self, names: Vec<&'static str>) -> usize {
        let mut offsets = Vec::new();
        for name in &names {
            assert!(*name != "time_s" && !self.keys.contains(name), "{}: {name} is taken", self.table);
            let column = self.names.iter().position(|other| other == name).unwrap_or_else(|| {
                self.names.push(name);
                self.names.len() - 1
            });
            assert!(!offsets.contains(&(column * BLOCK)), "{}: two numbers are called {name}", self.table);
            offsets.push(column * BLOCK);
        }
        if let Some(block) = self.blocks.last_mut() {
            block.resize(self.names.len() * BLOCK, f64::NAN);
        }
        self.layouts.push(Layout { names, offsets });
        self.layouts.len() - 1
    }

    /// Whether `subject` has any state.
    pub(crate) fn has(&self, subject: usize) -> bool {
        !self.layouts[self.subjects[subject].layout as usize].offsets.is_empty()
    }

    /// Adds a row of `subject`.
    pub(crate) fn push(&mut self, now: Time, subject: usize, probe: &dyn Fn(Probe<'_>)) {
        let Some((cells, offsets)) = self.add_row(now.as_secs_f64(), subject) else { return };
        let mut offsets = offsets.iter();
        probe(&mut |_, value| cells[*offsets.next().expect(KEEPS_ITS_NAMES)] = value);
        assert!(offsets.next().is_none(), "{KEEPS_ITS_NAMES}");
    }

    /// Adds a row of `subject`, if there is room: where its numbers go, and the place of each among them.
    #[inline]
    fn add_row(&mut self, time: f64, subject: usize) -> Option<(&mut [f64], &[usize])> {
        let row = self.rows.len();
        if row == self.blocks.len() * BLOCK && !self.add_block() {
            return None;
        }
        let Subject { layout, latest, .. } = &mut self.subjects[subject];
        *latest = Some(row);
        self.times.push(time);
        self.rows.push(subject as u32);
        Some((&mut self.blocks[row / BLOCK][row % BLOCK..], &self.layouts[*layout as usize].offsets))
    }

    /// The row of another table becomes one of `subject`, which has the same numbers there.
    fn copy_row(&mut self, from: &StateRows, row: usize, subject: usize) {
        let theirs = &from.layouts[from.subjects[from.rows[row] as usize].layout as usize].offsets;
        let Some((cells, offsets)) = self.add_row(from.times[row], subject) else { return };
        for (to, offset) in offsets.iter().zip(theirs) {
            cells[*to] = from.blocks[row / BLOCK][row % BLOCK + offset];
        }
    }

    /// Takes over rows of a table of the same subjects, from row `first` on, while `takes` says so of their subject. Returns the first
    /// row that is left.
    pub(super) fn copy_rows(
        &mut self,
        from: &StateRows,
        first: usize,
        mut takes: impl FnMut(usize) -> Option<usize>,
    ) -> usize {
        let rest = from.rows[first..].iter();
        let taken = rest.map_while(|subject| takes(*subject as usize)).enumerate();
        taken.map(|(number, subject)| self.copy_row(from, first + number, subject)).count() + first
    }

    /// Adds a subject with this key that has the numbers of one of another table. Returns its index.
    pub(super) fn add_like(&mut self, from: &StateRows, subject: usize) -> usize {
        let Subject { key, layout, .. } = &from.subjects[subject];
        let names = &from.layouts[*layout as usize].names;
        self.add(&key[..self.keys.len()], &|out| names.iter().for_each(|name| out(name, 0.0)))
    }

    /// An empty table of the same subjects, for a part of the run.
    pub(super) fn twin(&self, budget: &Budget) -> StateRows {
        let new = StateRows::new(self.table, self.keys, budget);
        let mut twin = StateRows { compares: self.compares, ..new };
        for subject in 0..self.subjects.len() {
            twin.add_like(self, subject);
        }
        twin
    }

    /// The number of rows.
    pub(super) fn count(&self) -> usize {
        self.rows.len()
    }

    /// Adds room for a block of rows, and for what becomes of them in the table. Returns false if there is none.
    #[cold]
    fn add_block(&mut self) -> bool {
        let mut cells = Vec::new();
        let (table, size) = (self.table, self.names.len() * BLOCK);
        let (times, rows) = (&mut self.times, &mut self.rows);
        let amount = state_row(self.names.len()) * BLOCK as u64;
        let granted = self.budget.take(table, amount, || {
            cells.try_reserve_exact(size).is_ok()
                && times.try_reserve(BLOCK).is_ok()
                && rows.try_reserve(BLOCK).is_ok()
        });
        if granted {
            cells.resize(size, f64::NAN);
            self.blocks.push(cells);
            self.granted += amount;
        }
        granted
    }

    /// Adds a row of `subject` unless it would repeat the one before.
    pub(crate) fn push_changed(&mut self, now: Time, subject: usize, probe: &dyn Fn(Probe<'_>)) {
        self.compares = true;
        let (before, rows) = (self.subjects[subject].latest, self.rows.len());
        self.push(now, subject, probe);
        if self.rows.len() == rows {
            return;
        }
        let row = rows;
        let Subject { layout, latest, .. } = &mut self.subjects[subject];
        let offsets = &self.layouts[*layout as usize].offsets;
        let cell = |row: usize, offset: &usize| self.blocks[row / BLOCK][row % BLOCK + offset];
        // Bit by bit: NaN equals NaN here.
        let same = |(offset, number): (&usize, f64)| cell(row, offset).to_bits() == number.to_bits();
        let repeats = match (before, self.kept.get(&subject)) {
            (Some(before), _) => offsets.iter().map(|offset| (offset, cell(before, offset))).all(same),
            (None, Some(kept)) => offsets.iter().zip(kept.iter().copied()).all(same),
            (None, None) => false,
        };
        if repeats {
            for offset in offsets {
                self.blocks[row / BLOCK][row % BLOCK + offset] = f64::NAN;
            }
            *latest = before;
            self.times.pop();
            self.rows.pop();
        }
    }

    /// Hands over the rows, if they are many.
    pub(super) fn hand_over(&mut self, outlet: &mut Outlet) {
        if !outlet.takes(self.rows.len()) {
            return;
        }
        if let Some(table) = self.table() {
            outlet.give(&table);
        }
        self.clear();
    }

    /// No row is left. What is kept is what the next rows may be compared with.
    pub(super) fn clear(&mut self) {
        self.forget_rows();
        self.budget.give_back(self.granted);
        self.granted = Bytes::ZERO;
        self.times.clear();
        self.rows.clear();
        self.blocks.clear();
    }

    /// No subject has a latest row any more; its numbers are kept where the next one may be compared with it.
    fn forget_rows(&mut self) {
        for (index, subject) in self.subjects.iter_mut().enumerate() {
            let Some(row) = subject.latest.take().filter(|_| self.compares) else { continue };
            let offsets = &self.layouts[subject.layout as usize].offsets;
            let cell = |offset: &usize| self.blocks[row / BLOCK][row % BLOCK + offset];
            self.kept.insert(index, offsets.iter().map(cell).collect());
        }
    }

    /// The table; none if no subject has state.
    pub(crate) fn into_table(mut self) -> Option<Table> {
        let table = self.table()?;
        self.blocks.clear();
        Some(table)
    }

    fn table(&mut self) -> Option<Table> {
        if self.names.is_empty() {
            return None;
        }
        let n = self.rows.len();
        let number = |column: usize| {
            let mut values = Vec::with_capacity(n);
            for block in &self.blocks {
                let rows = BLOCK.min(n - values.len());
                match block.get(column * BLOCK..column * BLOCK + rows) {
                    Some(cells) => values.extend_from_slice(cells),
                    None => values.resize(values.len() + rows, f64::NAN),
                }
            }
            Column::F64(values)
        };
        let key = |index: usize| {
            Column::U32(self.rows.iter().map(|row| self.subjects[*row as usize].key[index]).collect())
        };
        let numbers = self.names.iter().enumerate().map(|(column, name)| (*name, number(column)));
        let keys = self.keys.iter().enumerate().map(|(index, name)| (*name, key(index)));
        let columns = keys.chain(numbers).collect::<Vec<_>>();
        let times = ("time_s", Column::F64(std::mem::take(&mut self.times)));
        Some(Table { name: self.table, columns: iter::once(times).chain(columns).collect() })
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::recorder::outlet::{GROUP, Sink};

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn numbers(table: &Table, name: &str) -> Vec<f64> {
        match table.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::F64(values))) => values.clone(),
            _ => panic!("no column {name} of numbers"),
        }
    }

    /// A row is compared with one before that was not compared itself, also where that one has left memory.
    #[test]
    fn a_row_that_was_not_compared_is_kept() {
        for leaves in [false, true] {
            let mut rows = StateRows::new("aqm", &["queue", "band"], &Budget::default()).comparing();
            rows.add(&[0, 0], &|out| out("p", 0.0));
            rows.push(at(1), 0, &|out| out("p", 0.5));
            if leaves {
                rows.clear();
            }
            rows.push_changed(at(2), 0, &|out| out("p", 0.5));
            assert_eq!(rows.count(), usize::from(!leaves), "the second row repeats the first");
        }
    }

    /// Reports these numbers.
    fn tell(numbers: &[(&'static str, f64)], out: Probe<'_>) {
        for (name, value) in numbers {
            out(name, *value);
        }
    }

    /// Two algorithms that share one name: the table has a column for each name, and NaN where an algorithm lacks it.
    /// A subject without numbers has no rows.
    #[test]
    fn algorithms_with_different_numbers_share_a_table() {
        let first = |out: Probe<'_>| tell(&[("a", 1.0), ("b", 2.0)], out);
        let third = |out: Probe<'_>| tell(&[("b", 3.0), ("c", 4.0)], out);
        let mut rows = StateRows::new("cc", &["flow"], &Budget::default());
        rows.add(&[0], &first);
        rows.add(&[1], &|_| {});
        rows.add(&[2], &third);
        assert!(rows.has(0) && !rows.has(1) && rows.has(2));
        for t in 1..3 {
            rows.push(at(10 * t), 0, &first);
            rows.push(at(10 * t), 2, &third);
        }
        let table = rows.into_table().expect("two have state");
        let names: Vec<&str> = table.columns.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["time_s", "flow", "a", "b", "c"]);
        assert_eq!(numbers(&table, "time_s"), [0.01, 0.01, 0.02, 0.02]);
        assert_eq!(table.columns[1].1, Column::U32(vec![0, 2, 0, 2]));
        assert_eq!(numbers(&table, "b"), [2.0, 3.0, 2.0, 3.0]);
        let there = |name| numbers(&table, name).iter().map(|v| !v.is_nan()).collect::<Vec<bool>>();
        assert_eq!(there("a"), [true, false, true, false]);
        assert_eq!(there("c"), [false, true, false, true]);
    }

    /// A row that repeats the one before is left out, also when the value is NaN; rows of other subjects do not
    /// matter.
    #[test]
    fn only_changes_are_kept() {
        let mut rows = StateRows::new("aqm", &["queue", "band"], &Budget::default());
        rows.add(&[0, 0], &|out| out("p", 0.0));
        rows.add(&[0, 5], &|out| out("p", 0.0));
        for (ms, value) in [(1, 0.5), (2, 0.5), (3, f64::NAN), (4, f64::NAN), (5, 0.5)] {
            rows.push_changed(at(ms), 0, &|out| out("p", value));
            rows.push_changed(at(ms), 1, &|out| out("p", 7.0));
        }
        let table = rows.into_table().expect("p");
        assert_eq!(numbers(&table, "time_s"), [0.001, 0.001, 0.003, 0.005]);
        assert_eq!(table.columns[1].1, Column::U32(vec![0, 0, 0, 0]));
        assert_eq!(table.columns[2].1, Column::U32(vec![0, 5, 0, 0]));
    }

    /// Subjects come and go over many blocks, one that comes late has a number that no other had before, and rows that
    /// repeat the one before are left out: each cell is what was told last, or NaN. The expectation is kept row by row.
    #[test]
    fn rows_in_blocks() {
        let names: [&[&'static str]; 3] = [&["a", "b"], &["c", "a"], &["late"]];
        let mut rows = StateRows::new("aqm", &["queue", "band"], &Budget::default());
        let mut expected: Vec<(u32, Vec<(&'static str, f64)>)> = Vec::new();
        let mut before: [Option<Vec<f64>>; 3] = Default::default();
        for t in 0..4 * BLOCK {
            let present = if t < BLOCK + 7 { 2 } else { 3 };
            for subject in 0..present {
                let told: Vec<_> =
                    names[subject].iter().map(|name| (*name, (t * (subject + 1) / 3) as f64)).collect();
                let probe = |out: Probe<'_>| tell(&told, out);
                if before[subject].is_none() {
                    assert_eq!(rows.add(&[0, subject as u32], &probe), subject);
                }
                rows.push_changed(at(t as u64), subject, &probe);
                let values: Vec<f64> = told.iter().map(|(_, value)| *value).collect();
                if before[subject].replace(values.clone()) != Some(values) {
                    expected.push((subject as u32, told));
                }
            }
        }
        let table = rows.into_table().expect("all have state");
        assert!(expected.len() > 3 * BLOCK, "blocks are filled");
        assert_eq!(table.columns[2].1, Column::U32(expected.iter().map(|(band, _)| *band).collect()));
        for name in ["a", "b", "c", "late"] {
            let bits = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
            let value = |told: &[(&'static str, f64)]| told.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            let wanted: Vec<u64> = expected.iter().map(|(_, told)| bits(value(told))).collect();
            let got: Vec<u64> = numbers(&table, name).into_iter().map(|value| bits(Some(value))).collect();
            assert_eq!(got, wanted, "{name}");
        }
    }

    /// Keeps the rows that leave.
    #[derive(Clone, Debug, Default)]
    struct Kept(Arc<Mutex<Vec<Table>>>);

    impl Sink for Kept {
        fn rows(&mut self, table: &Table, rows: Range<usize>) {
            assert_eq!(rows, 0..table.rows(), "these rows leave all at once");
            self.0.lock().expect("one thread").push(table.clone());
        }
    }

    /// A row that repeats the one before is left out after that has left memory, too; and what is granted for rows that have
    /// left is free again.
    #[test]
    fn rows_leave() {
        let (budget, kept) = (Budget::default(), Kept::default());
        let mut outlet = Outlet::new(&budget);
        outlet.open(Box::new(kept.clone()), Bytes::ZERO);
        let tables: Vec<Table> = [true, false]
            .map(|leave| {
                let mut rows = StateRows::new("aqm", &["queue", "band"], &budget);
                rows.add(&[0, 0], &|out| out("p", 0.0));
                rows.add(&[0, 1], &|out| out("p", 0.0));
                for t in 0..2 * GROUP {
                    // One changes with each row, the other only once in a thousand.
                    rows.push_changed(at(t as u64), 0, &|out| out("p", t as f64));
                    rows.push_changed(at(t as u64), 1, &|out| out("p", (t / 1000) as f64));
                    if leave {
                        rows.hand_over(&mut outlet);
                    }
                }
                rows.into_table().expect("p")
            })
            .into();
        let parts = std::mem::take(&mut *kept.0.lock().expect("one thread"));
        assert!(parts.len() > 1);
        let all: Vec<f64> = parts.iter().chain([&tables[0]]).flat_map(|part| numbers(part, "p")).collect();
        assert_eq!(all, numbers(&tables[1], "p"));
        assert_eq!(all.len(), 2 * GROUP + (2 * GROUP).div_ceil(1000));
    }

    #[test]
    #[should_panic(expected = "keeps its names")]
    fn an_algorithm_that_changes_its_names_is_found_out() {
        let mut rows = StateRows::new("cc", &["flow"], &Budget::default());
        rows.add(&[0], &|out| out("a", 0.0));
        rows.push(at(1), 0, &|out| tell(&[("a", 0.0), ("b", 0.0)], out));
    }
}
