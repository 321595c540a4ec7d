//! The record of the classes of queues that sort packets into a few: their sojourn times, per interval and between window
//! edges. One distribution over a low-latency and a classic queue would describe neither.
//!
//! A queue without classes, or with more than [`MOST`], has no record here, and its packets do not pass through it.

use windtunnel_qdisc::QueueDiscipline;
use windtunnel_units::{Bytes, Duration, Time};

use super::budget::Budget;
use super::columns::{Rows, columns, rows_of};
use super::extent::Extent;
use super::histogram::TimeHistogram;
use super::outlet::Outlet;
use crate::link::Link;
use crate::result::{BandSummary, ClassSummary, DropSummary};

/// A queue with more classes is not recorded by class: each has a histogram. 16 is the limit of `prio`, in Linux as well.
const MOST: usize = 16;

columns! {
    /// One row per interval, queue and class; no row for a class from which nothing left.
    pub(crate) struct ClassColumns as "classes" {
        time_s: F64(f64),
        queue: U32(u32),
        class: U32(u32),
        sojourn_mean_ms: F64(f64),
        sojourn_min_ms: F64(f64),
        sojourn_max_ms: F64(f64),
        dequeued: U64(u64),
    }
}

/// The sojourn times of a class over a segment of the run, precise to 0.1 %.
pub(crate) type ClassTotals = TimeHistogram<10>;

/// The recorder of the classes of all queues.
#[derive(Debug)]
pub(crate) struct ClassRecorder {
    rows: ClassColumns,
    /// By queue and class; none for a queue without classes.
    queues: Vec<Vec<Class>>,
    names: Vec<Vec<String>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    /// Of the current interval.
    interval: Extent,
    /// Of the current segment.
    totals: ClassTotals,
}

impl ClassRecorder {
    /// For queues that are new.
    pub(crate) fn new<'q>(
        queues: impl Iterator<Item = &'q dyn QueueDiscipline>,
        budget: &Budget,
    ) -> ClassRecorder {
        let names: Vec<Vec<String>> = queues.map(names_of).collect();
        let class = || Class { interval: Extent::NONE, totals: ClassTotals::new(0) };
        let queues = names.iter().map(|names| names.iter().map(|_| class()).collect()).collect();
        ClassRecorder { rows: ClassColumns::within(budget), queues, names }
    }

    /// Whether any queue has classes.
    pub(crate) fn any(&self) -> bool {
        self.queues.iter().any(|classes| !classes.is_empty())
    }

    /// A packet left a band of the queue with this index.
    pub(crate) fn dequeued(&mut self, index: usize, band: Option<usize>, sojourn: Duration, link: &Link) {
        let classes = &mut self.queues[index];
        if !classes.is_empty() {
            let class = &mut classes[link.queue().class_of(band.unwrap_or_default())];
            class.interval.add(sojourn);
            class.totals.record(sojourn);
        }
    }

    /// An empty record of the same queues.
    pub(super) fn twin(&self, budget: &Budget) -> ClassRecorder {
        ClassRecorder { rows: ClassColumns::within(budget), queues: self.queues.clone(), names: Vec::new() }
    }

    /// What is recorded of the classes of all queues at the moment, until it is put back.
    pub(super) fn take(&mut self) -> Vec<Vec<Class>> {
        std::mem::take(&mut self.queues)
    }

    pub(super) fn put_back(&mut self, queues: Vec<Vec<Class>>) {
        self.queues = queues;
    }

    /// The classes of a queue.
    pub(super) fn of(&mut self, index: usize) -> &mut Vec<Class> {
        &mut self.queues[index]
    }

    /// Ends an interval: writes the rows of the queue with this index, whose classes these are.
    pub(super) fn end_interval(&mut self, now: Time, index: usize, classes: &mut [Class]) {
        for (number, class) in classes.iter_mut().enumerate() {
            let sojourn = std::mem::replace(&mut class.interval, Extent::NONE);
            if sojourn.count() == 0 || !self.rows.has_room(1) {
                continue;
            }
            let rows = &mut self.rows;
            rows.time_s.push(now.as_secs_f64());
            rows.queue.push(index as u32);
            rows.class.push(number as u32);
            rows.sojourn_mean_ms.push(sojourn.mean_ms());
            rows.sojourn_min_ms.push(sojourn.min_ms());
            rows.sojourn_max_ms.push(sojourn.max_ms());
            rows.dequeued.push(sojourn.count());
        }
    }

    /// Takes over the rows of the queue `index` from the record of a part, from this one on. Returns the first that is left.
    pub(super) fn copy_rows(&mut self, from: &ClassRecorder, first: usize, index: usize) -> usize {
        let rows = rows_of(&from.rows.queue, first, index);
        self.rows.copy_rows(&from.rows, rows.clone());
        rows.end
    }

    /// The rows.
    pub(super) fn rows(&mut self) -> &mut impl Rows {
        &mut self.rows
    }

    pub(super) fn hand_over(&mut self, outlet: &mut Outlet) {
        outlet.drain(&mut self.rows);
    }

    /// The rows, if any queue has classes.
    pub(crate) fn into_rows(self) -> Option<ClassColumns> {
        (!self.rows.time_s.is_empty()).then_some(self.rows)
    }

    /// The summaries of the classes of the queue with this index: packets and their sojourn times of these segments, all else
    /// from its bands, whose counters have a packet before it is on the wire.
    pub(crate) fn summaries<'s>(
        &self,
        segments: &(impl Iterator<Item = &'s Vec<ClassTotals>> + Clone),
        bands: &[BandSummary],
        index: usize,
        link: &Link,
    ) -> Vec<ClassSummary> {
        let summary = |(number, name): (usize, &String)| {
            let mut sojourn = ClassTotals::new(0);
            segments.clone().for_each(|segment| sojourn.merge(&segment[number]));
            let mut class = ClassSummary {
                name: name.clone(),
                throughput_mbps: 0.0,
                sojourn_ms: sojourn.percentiles(),
                sce: 0,
                ce: 0,
                drops: DropSummary::default(),
                dequeued: sojourn.count(),
            };
            let mine = bands.iter().enumerate().filter(|(band, _)| link.queue().class_of(*band) == number);
            for (_, band) in mine {
                class.throughput_mbps += band.throughput_mbps;
                class.sce += band.sce;
                class.ce += band.ce;
                class.drops += band.drops;
            }
            class
        };
        self.names[index].iter().enumerate().map(summary).collect()
    }
}

/// Ends a segment: returns the totals of a queue's classes.
pub(super) fn take_totals(classes: &mut [Class]) -> Vec<ClassTotals> {
    classes.iter_mut().map(|class| std::mem::replace(&mut class.totals, ClassTotals::new(0))).collect()
}

/// The memory of the classes of a new queue between two edges of windows, with sojourn times up to `longest`.
pub(crate) fn memory(queue: &dyn QueueDiscipline, longest: Duration) -> Bytes {
    ClassTotals::memory(0, longest) * names_of(queue).len() as u64
}

/// The names of the classes of a new queue that are recorded.
pub(crate) fn names_of(queue: &dyn QueueDiscipline) -> Vec<String> {
    let names = queue.classes();
    if names.len() > MOST { Vec::new() } else { names }
}
