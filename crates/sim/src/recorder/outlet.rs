//! Rows that leave memory while a run goes on: what a long or a large run records may be more than memory holds.
//!
//! Once all rows together take enough memory, each table that has many at the end of a recording interval hands over all
//! of them, and their memory is used again. So whole intervals leave together, and it depends on the run alone which rows
//! do. The tables with a row for each interval leave in this way, and the points that grow with the number of flows.
//!
//! Packets come faster than intervals end. Before their table takes more memory than enough, its first rows leave in groups,
//! up to the first one that may still change: the loss of a packet is noted where it was last seen ([`super::packets`]).
//! Payloads leave likewise.
//!
//! Others stay until the end: rows that are put in order (marks), or from which exact percentiles are computed (transfers).

use std::fmt::Debug;
use std::ops::Range;

use windtunnel_units::Bytes;

use super::budget::Budget;
use super::columns::{Rows, Table};

/// Takes over rows, some of a table at a time and in their order.
pub trait Sink: Debug + Send {
    /// These `rows` of a table follow those before. A later part may have more columns, behind the others: a value that
    /// rows before do not have is missing there.
    fn rows(&mut self, table: &Table, rows: Range<usize>);

    /// It wants a table once it has this many rows, and gets about as many at a time.
    fn group(&self) -> usize {
        GROUP
    }
}

/// A table leaves memory once it has this many rows, a few megabytes of the widest one, and all take enough.
pub const GROUP: usize = 1 << 15;

/// Where rows go: to the sink, if there is one.
#[derive(Debug)]
pub(super) struct Outlet {
    sink: Option<Box<dyn Sink>>,
    /// What all rows take; so much of it is enough.
    budget: Budget,
    enough: Bytes,
    /// A table leaves once it has this many rows.
    group: usize,
    /// The tables that have lost rows in this way.
    left: Vec<&'static str>,
}

impl Outlet {
    /// Of a run whose rows share this budget.
    pub(super) fn new(budget: &Budget) -> Outlet {
        Outlet { sink: None, budget: budget.clone(), enough: Bytes::MAX, group: GROUP, left: Vec::new() }
    }

    pub(super) fn open(&mut self, sink: Box<dyn Sink>, enough: Bytes) {
        (self.group, self.enough) = (sink.group().max(1), enough);
        self.sink = Some(sink);
    }

    /// Whether the rows of a table with this many are to leave.
    pub(super) fn takes(&self, rows: usize) -> bool {
        rows >= self.group && self.budget.held() >= self.enough
    }

    /// Whether rows are wanted as they come, and not only where they are many.
    pub(super) const fn is_eager(&self) -> bool {
        self.group < GROUP
    }

    /// How many of the first `settled` rows, which never change again, are to leave before a table takes more memory.
    pub(super) fn takes_of(&self, rows: &impl Rows, settled: usize) -> usize {
        let more = rows.growth();
        let enough = more > Bytes::ZERO && self.budget.held() + more >= self.enough;
        if enough { settled / self.group * self.group } else { 0 }
    }

    pub(super) fn give(&mut self, table: &Table) {
        self.give_rows(table, 0..table.rows());
    }

    /// Takes the first `count` rows of a table, in groups.
    pub(super) fn give_groups(&mut self, table: &Table, count: usize) {
        for first in (0..count).step_by(GROUP) {
            self.give_rows(table, first..count.min(first + GROUP));
        }
    }

    fn give_rows(&mut self, table: &Table, rows: Range<usize>) {
        if let Some(sink) = &mut self.sink {
            sink.rows(table, rows);
            if !self.left.contains(&table.name) {
                self.left.push(table.name);
            }
        }
    }

    /// Takes the rows of a table if they are many.
    pub(super) fn drain(&mut self, rows: &mut impl Rows) {
        if self.takes(rows.count()) {
            let table = rows.lend();
            self.give(&table);
            let gone = table.rows();
            rows.take_back(&mut table.columns.into_iter().map(|(_, column)| column), gone);
        }
    }

    /// Takes the last rows of a table, if others have left. It then has no columns any more.
    pub(super) fn finish(&mut self, table: &mut Table) {
        if self.left.contains(&table.name) {
            self.give_groups(table, table.rows());
            table.columns.clear();
        }
    }
}
