//! The state of algorithms: the numbers that controllers and queues offer by `probe`, as the tables `cc` and `aqm`.
//!
//! An algorithm names its numbers once, when the run is prepared; in the loop only values are kept, row after row in
//! one vector. The length of a row is the number of its algorithm's numbers, so that a thousand flows of one kind do
//! not pay for the numbers of another. At the end the rows become a table with a column for each name that any
//! algorithm of the run has; a number that an algorithm does not have, or does not have at the moment, is NaN.

use std::iter;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Time;

use super::columns::{Column, Table};

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

const KEEPS_ITS_NAMES: &str = "an algorithm keeps its names";

/// The argument of `probe`: a function of a name and a value.
pub(crate) type Probe<'a> = &'a mut dyn FnMut(&'static str, f64);

/// The rows of one of the two tables.
#[derive(Debug)]
pub(crate) struct StateRows {
    table: &'static str,
    /// The columns that identify the subject of a row.
    keys: &'static [&'static str],
    /// Their values for each subject: a controller, or a band of a queue.
    subjects: Vec<Vec<u32>>,
    /// The names of each subject's numbers; none for a subject without state.
    names: Vec<Vec<&'static str>>,
    rows: Vec<Row>,
    values: Vec<f64>,
    /// Where the values of each subject's latest row start.
    latest: Vec<Option<usize>>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    time: Time,
    subject: u32,
}

impl StateRows {
    /// An empty table named `table`, whose subjects have these `keys`.
    pub(crate) fn new(table: &'static str, keys: &'static [&'static str]) -> StateRows {
        StateRows {
            table,
            keys,
            subjects: Vec::new(),
            names: Vec::new(),
            rows: Vec::new(),
            values: Vec::new(),
            latest: Vec::new(),
        }
    }

    /// Adds a subject, and asks it for the names of its numbers. Returns its index.
    pub(crate) fn add(&mut self, key: &[u32], probe: &dyn Fn(Probe<'_>)) -> usize {
        let mut names = Vec::new();
        probe(&mut |name, _| {
            assert!(!names.contains(&name), "{}: two numbers are called {name}", self.table);
            assert!(name != "time_s" && !self.keys.contains(&name), "{}: {name} is taken", self.table);
            names.push(name);
        });
        self.names.push(names);
        self.latest.push(None);
        self.subjects.push(key.to_vec());
        self.subjects.len() - 1
    }

    /// Whether `subject` has any state.
    pub(crate) fn has(&self, subject: usize) -> bool {
        !self.names[subject].is_empty()
    }

    /// Adds a row of `subject`.
    pub(crate) fn push(&mut self, now: Time, subject: usize, probe: &dyn Fn(Probe<'_>)) {
        // Written by index: each value costs a store, and the vector grows once for the row.
        let start = self.values.len();
        self.values.resize(start + self.names[subject].len(), f64::NAN);
        let mut places = self.values[start..].iter_mut();
        probe(&mut |_, value| *places.next().expect(KEEPS_ITS_NAMES) = value);
        assert!(places.next().is_none(), "{KEEPS_ITS_NAMES}");
        self.rows.push(Row { time: now, subject: subject as u32 });
        self.latest[subject] = Some(start);
    }

    /// Adds a row of `subject` unless it would repeat the one before.
    pub(crate) fn push_changed(&mut self, now: Time, subject: usize, probe: &dyn Fn(Probe<'_>)) {
        let before = self.latest[subject];
        self.push(now, subject, probe);
        let Some(before) = before else { return };
        let start = self.latest[subject].unwrap_or_default();
        let n = self.names[subject].len();
        let (old, new) = (&self.values[before..before + n], &self.values[start..]);
        // Bit by bit: NaN equals NaN here.
        if old.iter().zip(new).all(|(a, b)| a.to_bits() == b.to_bits()) {
            self.values.truncate(start);
            self.rows.pop();
            self.latest[subject] = Some(before);
        }
    }

    /// The table; none if no subject has state.
    pub(crate) fn into_table(self) -> Option<Table> {
        let mut columns: Vec<&'static str> = Vec::new();
        for name in self.names.iter().flatten() {
            if !columns.contains(name) {
                columns.push(name);
            }
        }
        if columns.is_empty() {
            return None;
        }
        // The column of each number of each subject.
        let place = |name: &&'static str| columns.iter().position(|column| column == name);
        let places: Vec<Vec<usize>> =
            self.names.iter().map(|names| names.iter().filter_map(place).collect()).collect();
        let n = self.rows.len();
        let mut data = vec![vec![f64::NAN; n]; columns.len()];
        let mut rest = &self.values[..];
        for (row, Row { subject, .. }) in self.rows.iter().enumerate() {
            let places = &places[*subject as usize];
            let (values, after) = rest.split_at(places.len());
            rest = after;
            for (place, value) in places.iter().zip(values) {
                data[*place][row] = *value;
            }
        }
        let times = self.rows.iter().map(|row| row.time.as_secs_f64()).collect();
        let key =
            |place: usize| self.rows.iter().map(|row| self.subjects[row.subject as usize][place]).collect();
        let keys = self.keys.iter().enumerate().map(|(place, name)| (*name, Column::U32(key(place))));
        let keys = iter::once(("time_s", Column::F64(times))).chain(keys);
        let numbers = columns.into_iter().zip(data.into_iter().map(Column::F64));
        Some(Table { name: self.table, columns: keys.chain(numbers).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn numbers(table: &Table, name: &str) -> Vec<f64> {
        match table.columns.iter().find(|(column, _)| *column == name) {
            Some((_, Column::F64(values))) => values.clone(),
            _ => panic!("no column {name} of numbers"),
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
        let mut rows = StateRows::new("cc", &["flow"]);
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
        let mut rows = StateRows::new("aqm", &["queue", "band"]);
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

    #[test]
    #[should_panic(expected = "keeps its names")]
    fn an_algorithm_that_changes_its_names_is_found_out() {
        let mut rows = StateRows::new("cc", &["flow"]);
        rows.add(&[0], &|out| out("a", 0.0));
        rows.push(at(1), 0, &|out| tell(&[("a", 0.0), ("b", 0.0)], out));
    }
}
