//! The record of a queue's bands, where it has several: per interval, and between window edges.
//!
//! The queue counts for each band; the difference of two readings gives an interval's counts, so that recording bands
//! costs nothing per packet.

use windtunnel_qdisc::QueueStats;
use windtunnel_units::{Duration, Time};

use super::budget::Budget;
use super::columns::{Rows, columns, rows_of};
use super::flow_series::mbps;
use super::outlet::Outlet;
use crate::link::Link;
use crate::result::{BandSummary, DropSummary};

columns! {
    /// One row per interval, queue and band; no row for a band that was empty throughout.
    pub(crate) struct BandColumns as "bands" {
        time_s: F64(f64),
        queue: U32(u32),
        band: U32(u32),
        throughput_mbps: F64(f64),
        sojourn_mean_ms: F64(f64),
        backlog_packets: U64(u64),
        backlog_bytes: U64(u64),
        dequeued: U64(u64),
        sce: U64(u64),
        ce: U64(u64),
        drops: U64(u64),
    }
}

/// The recorder of all bands.
#[derive(Debug)]
pub(crate) struct BandRecorder {
    rows: BandColumns,
    /// The counters of each queue's bands when the interval started.
    at_start: Vec<Vec<QueueStats>>,
    /// The counters of one queue's bands now.
    at_end: Vec<QueueStats>,
}

impl BandRecorder {
    pub(crate) fn new(queues: usize, budget: &Budget) -> BandRecorder {
        BandRecorder {
            rows: BandColumns::within(budget),
            at_start: vec![Vec::new(); queues],
            at_end: Vec::new(),
        }
    }

    /// Ends an interval of length `span`: writes the rows of the queue with this index.
    pub(crate) fn end_interval(&mut self, now: Time, span: Duration, index: usize, link: &Link) {
        link.read_bands(&mut self.at_end);
        let at_start = &mut self.at_start[index];
        for (band, stats) in self.at_end.iter().enumerate() {
            let part = stats.since(&at_start.get(band).copied().unwrap_or_default());
            if part == QueueStats::default() && stats.queued() == 0 {
                continue;
            }
            let rows = &mut self.rows;
            if !rows.has_room(1) {
                break;
            }
            let backlog = link.queue().band_backlog(band);
            rows.time_s.push(now.as_secs_f64());
            rows.queue.push(index as u32);
            rows.band.push(band as u32);
            rows.throughput_mbps.push(mbps(part.departed_bytes, span));
            rows.sojourn_mean_ms.push(mean_ms(&part));
            rows.backlog_packets.push(backlog.packets as u64);
            rows.backlog_bytes.push(backlog.bytes.get());
            rows.dequeued.push(part.departed);
            rows.sce.push(part.sce);
            rows.ce.push(part.ce);
            rows.drops.push(part.drops());
        }
        std::mem::swap(at_start, &mut self.at_end);
    }

    /// Takes over the rows of the queue `index` from the record of a part, from this one on. Returns the first that is left.
    pub(super) fn copy_rows(&mut self, from: &BandRecorder, first: usize, index: usize) -> usize {
        let rows = rows_of(&from.rows.queue, first, index);
        self.rows.copy_rows(&from.rows, rows.clone());
        rows.end
    }

    /// The rows.
    pub(super) fn rows(&mut self) -> &mut impl Rows {
        &mut self.rows
    }

    /// Takes over what is known of the queue `index` in a part.
    pub(super) fn take_queue(&mut self, part: &mut BandRecorder, index: usize) {
        std::mem::swap(&mut self.at_start[index], &mut part.at_start[index]);
    }

    pub(super) fn hand_over(&mut self, outlet: &mut Outlet) {
        outlet.drain(&mut self.rows);
    }

    /// The rows, if any queue has several bands.
    pub(crate) fn into_rows(self) -> Option<BandColumns> {
        (!self.rows.time_s.is_empty()).then_some(self.rows)
    }
}

/// The counters of all bands of a link's queue.
pub(crate) fn read(link: &Link) -> Vec<QueueStats> {
    let mut bands = Vec::new();
    link.read_bands(&mut bands);
    bands
}

/// The summaries of a queue's bands between two readings of their counters, which are `span` apart.
pub(crate) fn summaries(
    from: &[QueueStats],
    to: &[QueueStats],
    span: Duration,
    link: &Link,
) -> Vec<BandSummary> {
    let summary = |(band, stats): (usize, &QueueStats)| {
        let part = stats.since(&from.get(band).copied().unwrap_or_default());
        let drops = DropSummary {
            full: part.drops_full,
            overlimit: part.drops_overlimit,
            aqm: part.drops_aqm,
            policed: part.drops_policed,
            filtered: part.drops_filtered,
            wire: 0,
        };
        BandSummary {
            name: link.queue().band_name(band),
            throughput_mbps: mbps(part.departed_bytes, span),
            sojourn_mean_ms: (part.departed > 0).then(|| mean_ms(&part)),
            sce: part.sce,
            ce: part.ce,
            drops,
            dequeued: part.departed,
        }
    };
    to.iter().enumerate().map(summary).collect()
}

/// The mean sojourn time; NaN if nothing left.
fn mean_ms(stats: &QueueStats) -> f64 {
    stats.waited.as_millis_f64() / stats.departed as f64
}
