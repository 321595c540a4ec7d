//! The record of a queue: per interval, and per segment between window edges.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{DropReason, Signal};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::columns::columns;
use super::digest::Digest;
use super::extent::Extent;
use super::flow_series::mbps;
use super::histogram::Buckets;
use super::loss_cause::LossCause;
use crate::result::{BandSummary, ClassSummary, DropSummary, QueueSummary};

columns! {
    /// One row per interval and queue.
    pub(crate) struct QueueColumns as "queues" {
        time_s: F64(f64),
        queue: U32(u32),
        throughput_mbps: F64(f64),
        utilization: F64(f64),
        sojourn_mean_ms: F64(f64),
        sojourn_min_ms: F64(f64),
        sojourn_max_ms: F64(f64),
        backlog_packets: U64(u64),
        backlog_max_packets: U64(u64),
        dequeued: U64(u64),
        emptied: U64(u64),
        sce: U64(u64),
        ce: U64(u64),
        drops: U64(u64),
    }
}

/// Sums over an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueSums {
    bytes: Bytes,
    emptied: u64,
    sce: u64,
    ce: u64,
    drops: DropSummary,
    /// The sojourn time of each packet that left.
    sojourn: Extent,
    backlog_max: u64,
    busy: Duration,
}

impl QueueSums {
    const fn new() -> QueueSums {
        QueueSums {
            bytes: Bytes::ZERO,
            emptied: 0,
            sce: 0,
            ce: 0,
            drops: DropSummary { full: 0, overlimit: 0, aqm: 0, policed: 0, filtered: 0, wire: 0 },
            sojourn: Extent::NONE,
            backlog_max: 0,
            busy: Duration::ZERO,
        }
    }

    fn merge(&mut self, other: &QueueSums) {
        self.bytes += other.bytes;
        self.emptied += other.emptied;
        self.sce += other.sce;
        self.ce += other.ce;
        self.drops += other.drops;
        self.sojourn.merge(&other.sojourn);
        self.backlog_max = self.backlog_max.max(other.backlog_max);
        self.busy += other.busy;
    }
}

/// Totals over a segment of the run.
#[derive(Clone, Debug)]
pub(crate) struct QueueTotals {
    sums: QueueSums,
    /// Precise to 0.1 %.
    sojourn: Buckets<10>,
}

impl QueueTotals {
    /// Its memory with sojourn times up to `longest`.
    pub(crate) fn memory(longest: Duration) -> Bytes {
        Bytes::new(size_of::<QueueTotals>() as u64) + Buckets::<10>::memory(0, longest)
    }

    pub(crate) fn new() -> QueueTotals {
        QueueTotals { sums: QueueSums::new(), sojourn: Buckets::new(0) }
    }

    pub(crate) fn merge(&mut self, other: &QueueTotals) {
        self.sums.merge(&other.sums);
        self.sojourn.merge(&other.sojourn);
    }

    /// The summary, gathered over `span`.
    pub(crate) fn summary(
        &self,
        span: Duration,
        name: &str,
        rate: Rate,
        bands: Vec<BandSummary>,
        classes: Vec<ClassSummary>,
    ) -> QueueSummary {
        QueueSummary {
            name: name.to_owned(),
            rate_mbps: rate.as_mbps(),
            throughput_mbps: mbps(self.sums.bytes, span),
            utilization: self.sums.busy.ratio(span),
            sojourn_ms: self.sojourn.percentiles(&self.sums.sojourn),
            sce: self.sums.sce,
            ce: self.sums.ce,
            drops: self.sums.drops,
            dequeued: self.sums.sojourn.count(),
            emptied: self.sums.emptied,
            backlog_max_packets: self.sums.backlog_max,
            bands,
            classes,
        }
    }
}

/// The recorder of one queue.
#[derive(Debug)]
pub(crate) struct QueueRecorder {
    pub(super) digest: Digest,
    sums: QueueSums,
    /// The totals of the current segment.
    totals: QueueTotals,
}

impl QueueRecorder {
    pub(crate) fn new() -> QueueRecorder {
        QueueRecorder { digest: Digest::new(), sums: QueueSums::new(), totals: QueueTotals::new() }
    }

    #[inline]
    pub(crate) fn dequeued(&mut self, size: Bytes, sojourn: Duration, outcome: Outcome, emptied: bool) {
        self.totals.sojourn.record(sojourn);
        let sums = &mut self.sums;
        sums.bytes += size;
        sums.emptied += u64::from(emptied);
        sums.sojourn.add(sojourn);
        if let Outcome::Marked(signal) = outcome {
            self.marked(signal);
        }
    }

    pub(crate) fn marked(&mut self, signal: Signal) {
        match signal {
            Signal::Sce => self.sums.sce += 1,
            Signal::Ce => self.sums.ce += 1,
        }
    }

    #[inline]
    pub(crate) fn queued(&mut self, packets: u64) {
        self.sums.backlog_max = self.sums.backlog_max.max(packets);
    }

    pub(crate) fn dropped(&mut self, reason: DropReason) {
        self.sums.drops.count(LossCause::Queue(reason));
    }

    /// Ends an interval of length `span`, in which the link was busy for `busy`: writes its row and adds it to the
    /// totals.
    pub(crate) fn end_interval(
        &mut self,
        now: Time,
        span: Duration,
        busy: Duration,
        backlog: u64,
        index: usize,
        rows: &mut QueueColumns,
    ) {
        let mut sums = std::mem::replace(&mut self.sums, QueueSums::new());
        sums.busy = busy;
        self.totals.sums.merge(&sums);
        if !rows.has_room(1) {
            return;
        }
        rows.time_s.push(now.as_secs_f64());
        rows.queue.push(index as u32);
        rows.throughput_mbps.push(mbps(sums.bytes, span));
        rows.utilization.push(busy.ratio(span));
        rows.sojourn_mean_ms.push(sums.sojourn.mean_ms());
        rows.sojourn_min_ms.push(sums.sojourn.min_ms());
        rows.sojourn_max_ms.push(sums.sojourn.max_ms());
        rows.backlog_packets.push(backlog);
        rows.backlog_max_packets.push(sums.backlog_max);
        rows.dequeued.push(sums.sojourn.count());
        rows.emptied.push(sums.emptied);
        rows.sce.push(sums.sce);
        rows.ce.push(sums.ce);
        rows.drops.push(sums.drops.total());
    }

    /// Ends a segment: returns its totals.
    pub(crate) fn take_totals(&mut self) -> QueueTotals {
        std::mem::replace(&mut self.totals, QueueTotals::new())
    }
}
