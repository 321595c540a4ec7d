//! The state of algorithms: the numbers that controllers and queues offer by `probe`, as the tables `cc` and `aqm`.
//!
//! An algorithm names its numbers once, when the run is prepared; in the loop only values are kept, row after row in one
//! vector. A row is as long as its algorithm has numbers, so that a thousand flows of one kind do not pay for the numbers of
//! another. At the end the rows become a table with a column for each name that any algorithm of the run has; a number that
//! an algorithm does not have, or does not have at the moment, is NaN.

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

/// What a `probe` is given: a function of a name and a value.
pub(crate) type Probe<'a> = &'a mut dyn FnMut(&'static str, f64);

/// The rows of one of the two tables.
#[derive(Debug)]
pub(crate) struct StateRows {
    table: &'static str,
    /// What the subjects are: the name of the column with their index.
    subject: &'static str,
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
    /// An empty table named `table`, of things named `subject`.
    pub(crate) fn new(table: &'static str, subject: &'static str) -> StateRows {
        StateRows {
            table,
            subject,
            names: Vec::new(),
            rows: Vec::new(),
            values: Vec::new(),
            latest: Vec::new(),
        }
    }

    /// Adds the next subject, which is asked for the names of its numbers.
    pub(crate) fn add(&mut self, probe: &dyn Fn(Probe<'_>)) {
        let mut names = Vec::new();
        probe(&mut |name, _| {
            assert!(!names.contains(&name), "{}: two numbers are called {name}", self.table);
            assert!(name != "time_s" && name != self.subject, "{}: {name} is taken", self.table);
            names.push(name);
        });
        self.names.push(names);
        self.latest.push(None);
    }

    /// The place of a number among those of `subject`.
    pub(crate) fn place(&self, subject: usize, name: &str) -> Option<usize> {
        self.names[subject].iter().position(|known| *known == name)
    }

    /// Whether `subject` has any state.
    pub(crate) fn has(&self, subject: usize) -> bool {
        !self.names[subject].is_empty()
    }

    /// Adds a row of `subject`.
    pub(crate) fn push(&mut self, now: Time, subject: usize, probe: &dyn Fn(Probe<'_>)) {
        let start = self.values.len();
        let values = &mut self.values;
        probe(&mut |_, value| values.push(value));
        assert_eq!(self.values.len() - start, self.names[subject].len(), "an algorithm keeps its names");
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
        // Where each number of each subject goes.
        let place = |name: &&'static str| columns.iter().position(|column| column == name);
        let places: Vec<Vec<usize>> =
            self.names.iter().map(|names| names.iter().filter_map(place).collect()).collect();
        let mut data = vec![vec![f64::NAN; self.rows.len()]; columns.len()];
        let mut values = self.values.iter();
        for (row, Row { subject, .. }) in self.rows.iter().enumerate() {
            for (place, value) in places[*subject as usize].iter().zip(&mut values) {
                data[*place][row] = *value;
            }
        }
        let times = self.rows.iter().map(|row| row.time.as_secs_f64()).collect();
        let subjects = self.rows.iter().map(|row| row.subject).collect();
        let keys = [("time_s", Column::F64(times)), (self.subject, Column::U32(subjects))];
        let numbers = columns.into_iter().zip(data).map(|(name, values)| (name, Column::F64(values)));
        Some(Table { name: self.table, columns: keys.into_iter().chain(numbers).collect() })
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

    /// Tells these numbers.
    fn tell(numbers: &[(&'static str, f64)], out: Probe<'_>) {
        for (name, value) in numbers {
            out(name, *value);
        }
    }

    /// Two algorithms that share one name: the table has a column for each, and NaN where an algorithm lacks it. A subject
    /// without numbers has no rows.
    #[test]
    fn algorithms_with_different_numbers_share_a_table() {
        let first = |out: Probe<'_>| tell(&[("a", 1.0), ("b", 2.0)], out);
        let third = |out: Probe<'_>| tell(&[("b", 3.0), ("c", 4.0)], out);
        let mut rows = StateRows::new("cc", "flow");
        rows.add(&first);
        rows.add(&|_| {});
        rows.add(&third);
        assert!(rows.has(0) && !rows.has(1) && rows.has(2));
        assert_eq!((rows.place(2, "c"), rows.place(2, "a")), (Some(1), None));
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

    /// A row that repeats the one before is left out, also when the value is NaN; rows of others do not matter.
    #[test]
    fn only_changes_are_kept() {
        let mut rows = StateRows::new("aqm", "queue");
        rows.add(&|out| out("p", 0.0));
        rows.add(&|out| out("p", 0.0));
        for (ms, value) in [(1, 0.5), (2, 0.5), (3, f64::NAN), (4, f64::NAN), (5, 0.5)] {
            rows.push_changed(at(ms), 0, &|out| out("p", value));
            rows.push_changed(at(ms), 1, &|out| out("p", 7.0));
        }
        let table = rows.into_table().expect("p");
        assert_eq!(numbers(&table, "time_s"), [0.001, 0.001, 0.003, 0.005]);
        assert_eq!(table.columns[1].1, Column::U32(vec![0, 1, 0, 0]));
    }

    #[test]
    #[should_panic(expected = "keeps its names")]
    fn an_algorithm_that_changes_its_names_is_found_out() {
        let mut rows = StateRows::new("cc", "flow");
        rows.add(&|out| out("a", 0.0));
        rows.push(at(1), 0, &|out| tell(&[("a", 0.0), ("b", 0.0)], out));
    }
}
