//! Values that vary from packet to packet, thinned: of each span of the spacing the first one, and the extremes.
//!
//! A span starts with its first event, which has a row. The least and the greatest value of the span have rows, too, where
//! they lie outside of what a line from this first value to that of the next span passes. So a line through the rows of a
//! series, in order of time, has the extremes of its events in every span, however coarse the spacing is, and costs few
//! rows; the first rows alone are a sample in time. The extremes of a span are written when it is over, so that the rows
//! of each series are in order of time, but not those of several series together.

use std::marker::PhantomData;

use windtunnel_units::{Duration, Time};

use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::outlet::Outlet;

columns! {
    /// The columns of both kinds of tables; the third and the fourth have names of their own in each.
    pub(super) struct ThinnedRows as "points" {
        time_s: F64(f64),
        series: U32(u32),
        value: F64(f64),
        flag: Bool(bool),
        extreme: Bool(bool),
    }
}

/// A table's name and those of its columns.
pub(super) type Names = (&'static str, [&'static str; 5]);

/// The tables. `extreme`: the row is there because its value is the least or the greatest
/// of a span, not the first.
pub(super) const CWND: Names = ("cwnd_points", ["time_s", "flow", "bytes", "limited", "extreme"]);
pub(super) const SOJOURN: Names = ("sojourn_points", ["time_s", "queue", "ms", "empty", "extreme"]);

/// A row of a thinned series: a value, in nanoseconds or bytes, at a time.
#[derive(Clone, Copy, Debug, Default)]
struct Point {
    time: Time,
    value: u64,
    /// The flow or queue.
    series: u32,
    /// What the panel singles out: the window limited the sender, the queue was emptied.
    flag: bool,
    extreme: bool,
}

/// The least or the greatest value of a span. When and how it was reached counts only if it is not the first value.
#[derive(Clone, Copy, Debug, Default)]
struct Extreme {
    value: u64,
    time: Time,
    flag: bool,
}

/// What is kept of the events of one series within a span of the spacing, which starts with its first event.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    /// Events from this time on belong to another span.
    end: Time,
    first: u64,
    least: Extreme,
    greatest: Extreme,
}

/// The rows of one kind of series. They are staged, and become columns many at a time, which costs half as much.
#[derive(Debug)]
pub(super) struct Thinned<U> {
    spacing: Duration,
    staged: Vec<Point>,
    rows: ThinnedRows,
    /// All stay staged: another record takes them over.
    apart: bool,
    unit: PhantomData<U>,
}

/// The unit of a table's values.
pub(super) trait Unit {
    /// A value in it.
    fn scaled(value: u64) -> f64;
}

/// One instruction where the conversion of an unsigned number takes six; the numbers are below 2^63.
#[inline]
fn float(number: u64) -> f64 {
    number.cast_signed() as f64
}

/// Windows, in bytes.
#[derive(Debug)]
pub(super) struct InBytes;

impl Unit for InBytes {
    fn scaled(value: u64) -> f64 {
        float(value)
    }
}

/// Sojourn times: nanoseconds in milliseconds.
#[derive(Debug)]
pub(super) struct InMillis;

impl Unit for InMillis {
    fn scaled(value: u64) -> f64 {
        float(value) / 1e6
    }
}

/// How many rows are staged: 6 KiB.
const STAGE: usize = 256;

impl<U: Unit> Thinned<U> {
    pub(super) fn new(spacing: Duration, budget: &Budget) -> Thinned<U> {
        let (staged, rows) = (Vec::with_capacity(STAGE), ThinnedRows::within(budget));
        Thinned { spacing, staged, rows, apart: false, unit: PhantomData }
    }

    /// Those of a part of a run.
    pub(super) fn apart(spacing: Duration, budget: &Budget) -> Thinned<U> {
        Thinned { apart: true, ..Thinned::new(spacing, budget) }
    }

    /// How many are staged.
    #[inline]
    pub(super) const fn staged(&self) -> usize {
        self.staged.len()
    }

    /// Takes over what a part has staged in this place.
    pub(super) fn copy_row(&mut self, part: &Thinned<U>, row: usize) {
        self.push(part.staged[row]);
    }

    pub(super) fn clear_staged(&mut self) {
        self.staged.clear();
    }

    /// An event of `series`, whose current span is `span`.
    #[inline]
    pub(super) fn take(&mut self, span: &mut Span, series: usize, time: Time, value: u64, flag: bool) {
        if time < span.end {
            if value < span.least.value {
                span.least = Extreme { value, time, flag };
            }
            if value > span.greatest.value {
                span.greatest = Extreme { value, time, flag };
            }
            return;
        }
        self.start(span, series, time, value, flag);
    }

    /// A span is over; this event starts the next one.
    #[inline]
    fn start(&mut self, span: &mut Span, series: usize, time: Time, value: u64, flag: bool) {
        self.end(span, series, value);
        span.end = time + self.spacing;
        span.first = value;
        span.least.value = value;
        span.greatest.value = value;
        self.push(Point { time, value, series: series as u32, flag, extreme: false });
    }

    /// The last span of `series` is over.
    pub(super) fn end_last(&mut self, span: &Span, series: usize) {
        self.end(span, series, span.first);
    }

    /// A span is over, and the next one starts with the value `next`.
    #[inline]
    fn end(&mut self, span: &Span, series: usize, next: u64) {
        let (low, high) = (span.first.min(next), span.first.max(next));
        let (below, above) = (span.least.value < low, span.greatest.value > high);
        if below || above {
            self.push_extremes(span, series, below, above);
        }
    }

    /// The rows of the least value, if it is `below` the line, and of the greatest, if it is `above`, in order of time.
    #[inline(never)]
    fn push_extremes(&mut self, span: &Span, series: usize, below: bool, above: bool) {
        let swapped = above && span.greatest.time < span.least.time;
        if swapped {
            self.push_extreme(&span.greatest, series);
        }
        if below {
            self.push_extreme(&span.least, series);
        }
        if above && !swapped {
            self.push_extreme(&span.greatest, series);
        }
    }

    fn push_extreme(&mut self, extreme: &Extreme, series: usize) {
        let Extreme { value, time, flag } = *extreme;
        self.push(Point { time, value, series: series as u32, flag, extreme: true });
    }

    #[inline]
    fn push(&mut self, point: Point) {
        if self.staged.len() == STAGE {
            self.flush();
        }
        self.staged.push(point);
    }

    /// Turns what is staged into columns, with values scaled to the unit of the table.
    #[inline(never)]
    fn flush(&mut self) {
        if self.apart {
            return;
        }
        if !self.rows.has_room(self.staged.len()) {
            return self.staged.clear();
        }
        let ThinnedRows { time_s, series, value, flag, extreme, .. } = &mut self.rows;
        time_s.extend(self.staged.iter().map(|point| float(point.time.as_nanos()) / 1e9));
        series.extend(self.staged.iter().map(|point| point.series));
        value.extend(self.staged.iter().map(|point| U::scaled(point.value)));
        flag.extend(self.staged.iter().map(|point| point.flag));
        extreme.extend(self.staged.iter().map(|point| point.extreme));
        self.staged.clear();
    }

    /// Hands over the rows, if they are many.
    pub(super) fn hand_over(&mut self, names: Names, outlet: &mut Outlet) {
        if outlet.takes(self.rows.count() + self.staged.len()) {
            let table = self.table(names);
            outlet.give(&table);
            let gone = table.rows();
            self.rows.take_back(&mut table.columns.into_iter().map(|(_, column)| column), gone);
        }
    }

    /// The rows, once the spans have ended.
    pub(super) fn into_table(mut self, names: Names) -> Table {
        self.table(names)
    }

    fn table(&mut self, (name, columns): Names) -> Table {
        self.flush();
        let values = self.rows.lend().columns.into_iter().map(|(_, values)| values);
        Table { name, columns: columns.into_iter().zip(values).collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rows of one series (time, value, flag, extreme), in order of time, against its events (time, value, flag).
    fn check(
        rows: &[(f64, f64, bool, bool)],
        events: &[(u64, f64, bool)],
        spacing: u64,
    ) -> Result<(), TestCaseError> {
        let seconds = |ns: u64| Time::from_nanos(ns).as_secs_f64();
        let points: Vec<_> =
            events.iter().map(|(time, value, flag)| (seconds(*time), *value, *flag)).collect();
        prop_assert!(rows.is_sorted_by(|a, b| a.0 <= b.0));
        prop_assert!(rows.iter().all(|row| points.contains(&(row.0, row.1, row.2))));
        // The spans, by the definition: where each starts among the events.
        let mut starts: Vec<usize> = Vec::new();
        for (i, event) in events.iter().enumerate() {
            if starts.last().is_none_or(|start| event.0 >= events[*start].0 + spacing) {
                starts.push(i);
            }
        }
        let firsts: Vec<_> = rows.iter().filter(|row| !row.3).map(|row| (row.0, row.1, row.2)).collect();
        prop_assert_eq!(&firsts, &starts.iter().map(|start| points[*start]).collect::<Vec<_>>());
        // From the start of each span to that of the next, the line has the extremes of the events.
        for (n, start) in starts.iter().enumerate() {
            let next = starts.get(n + 1).copied();
            let of_events = &events[*start..next.map_or(events.len(), |next| next + 1)];
            let until = next.map_or(f64::INFINITY, |next| points[next].0);
            let inside = rows.iter().filter(|row| row.3 && row.0 >= points[*start].0 && row.0 < until);
            let line =
                inside.map(|row| row.1).chain([points[*start].1]).chain(next.map(|next| points[next].1));
            prop_assert_eq!(extremes(line), extremes(of_events.iter().map(|event| event.1)));
        }
        prop_assert!(rows.len() <= 3 * starts.len());
        Ok(())
    }

    /// Values over time: gaps as of marks, and values that rise, fall and repeat.
    fn events() -> impl Strategy<Value = Vec<(u64, u64, usize, bool)>> {
        let gap = prop_oneof![2 => Just(0), 6 => 1..2_000_u64, 1 => 100_000..5_000_000_u64];
        prop::collection::vec((gap, 0..50_u64, 0..2_usize, prop::bool::ANY), 0..300)
    }

    /// Least and greatest; nothing of an empty series.
    fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
        values.fold(None, |sofar, v| {
            sofar.map_or(Some((v, v)), |(a, b): (f64, f64)| Some((a.min(v), b.max(v))))
        })
    }

    proptest! {
        /// Whatever the spacing, each row of a series is one of its events, and a line through the rows has the extremes of
        /// the events in every span. There are at most three rows per span.
        #[test]
        fn extremes_are_kept(events in events(), spacing in 1..3_000_000_u64) {
            let mut thinned = Thinned::<InMillis>::new(Duration::from_nanos(spacing), &Budget::default());
            let mut spans = [Span::default(); 2];
            let mut now = 0;
            let mut all: Vec<(u64, f64, bool, usize)> = Vec::new();
            for (gap, value, series, flag) in events {
                now += gap;
                let time = Time::from_nanos(now);
                thinned.take(&mut spans[series], series, time, value, flag);
                all.push((now, InMillis::scaled(value), flag, series));
            }
            spans.iter().enumerate().for_each(|(series, span)| thinned.end_last(span, series));
            thinned.flush();
            let rows = &thinned.rows;
            for series in 0..2 {
                let mine = (0..rows.time_s.len()).filter(|i| rows.series[*i] as usize == series);
                let mine: Vec<_> =
                    mine.map(|i| (rows.time_s[i], rows.value[i], rows.flag[i], rows.extreme[i])).collect();
                let events: Vec<_> = all.iter().filter(|e| e.3 == series).map(|e| (e.0, e.1, e.2)).collect();
                check(&mine, &events, spacing)?;
            }
        }
    }
}
