//! The view of applications: transfers and their completion times, datagrams and their delay.

use windtunnel_units::{Bytes, Duration, Time};

use super::Recorder;
use super::extent::Extent;
use super::histogram::{Pages, TimeHistogram};
use crate::application::{Completion, Receipt};
use crate::result::{DatagramSummary, SizeClassSummary, TransferSummary};

/// Transfers over a segment of the run.
#[derive(Clone, Debug)]
pub(super) struct TransferTotals {
    rejected: u64,
    completed: u64,
    bytes: Bytes,
    /// Precise to 0.4 %; a flow has few transfers, as a rule.
    time: Pages<8>,
    extent: Extent,
}

impl TransferTotals {
    pub(super) fn new() -> TransferTotals {
        TransferTotals {
            rejected: 0,
            completed: 0,
            bytes: Bytes::ZERO,
            time: Pages::new(10),
            extent: Extent::NONE,
        }
    }

    pub(super) fn rejected(&mut self) {
        self.rejected += 1;
    }

    pub(super) fn completed(&mut self, time: Duration, size: Bytes) {
        self.completed += 1;
        self.bytes += size;
        self.time.record(time);
        self.extent.add(time);
    }

    pub(super) fn merge(&mut self, other: &TransferTotals) {
        self.rejected += other.rejected;
        self.completed += other.completed;
        self.bytes += other.bytes;
        self.time.merge(&other.time);
        self.extent.merge(&other.extent);
    }

    /// The summary, where applications have written this many messages.
    pub(super) fn summary(&self, written: u64, by_size: Vec<SizeClassSummary>) -> TransferSummary {
        TransferSummary {
            arrived: written + self.rejected,
            rejected: self.rejected,
            completed: self.completed,
            completed_bytes: self.bytes.get(),
            time_ms: self.time.percentiles(&self.extent),
            by_size,
        }
    }
}

/// Datagrams over a segment of the run.
#[derive(Clone, Debug)]
pub(super) struct DatagramTotals {
    expected: u64,
    received: u64,
    duplicates: u64,
    one_way: TimeHistogram<10>,
    variation_sum: Duration,
    variations: u64,
}

impl DatagramTotals {
    pub(super) fn new() -> DatagramTotals {
        DatagramTotals {
            expected: 0,
            received: 0,
            duplicates: 0,
            one_way: TimeHistogram::new(0),
            variation_sum: Duration::ZERO,
            variations: 0,
        }
    }

    pub(super) fn received(&mut self, receipt: &Receipt) {
        self.expected += receipt.expected;
        if receipt.new {
            self.received += 1;
        } else {
            self.duplicates += 1;
        }
        self.one_way.record(receipt.one_way);
        if let Some(variation) = receipt.variation {
            self.variation_sum += variation;
            self.variations += 1;
        }
    }

    pub(super) fn merge(&mut self, other: &DatagramTotals) {
        self.expected += other.expected;
        self.received += other.received;
        self.duplicates += other.duplicates;
        self.one_way.merge(&other.one_way);
        self.variation_sum += other.variation_sum;
        self.variations += other.variations;
    }

    pub(super) fn summary(&self, sent: u64) -> DatagramSummary {
        // A receiver detects a loss by later arrivals; where nothing arrives, all packets sent are lost.
        let expected = if self.received == 0 { sent } else { self.expected };
        let lost = expected.saturating_sub(self.received);
        DatagramSummary {
            sent,
            received: self.received,
            lost,
            loss_ratio: lost as f64 / expected.max(1) as f64,
            duplicates: self.duplicates,
            one_way_ms: self.one_way.percentiles(),
            jitter_ms: (self.variations > 0)
                .then(|| self.variation_sum.as_millis_f64() / self.variations as f64),
        }
    }
}

impl Recorder {
    /// A datagram reached the receiver of `series`.
    pub(crate) fn datagram(&mut self, series: usize, receipt: &Receipt) {
        self.flows[series].totals.datagrams().received(receipt);
    }

    /// A packet reached the sender of `series`, which has no window.
    pub(crate) fn answered(&mut self, now: Time, series: usize, rtt: Option<Duration>) {
        if let Some(rtt) = rtt {
            self.flows[series].sample(rtt);
        }
        self.flows[series].digest.word(now.as_nanos() ^ rtt.unwrap_or_default().as_nanos().rotate_left(32));
    }

    /// A connection of `series` was turned away.
    pub(crate) fn rejected(&mut self, series: usize) {
        self.flows[series].totals.transfers().rejected();
    }

    /// All of a message of `series` was acknowledged.
    pub(crate) fn completed(&mut self, now: Time, series: usize, message: &Completion) {
        let Completion { written, size } = *message;
        self.flows[series].totals.transfers().completed(now.since(written), size);
        self.transfers.completed(now, series, written, size);
    }

    /// The sender of one of `series`' connections handled an ACK. No windows are recorded for these connections.
    pub(crate) fn member_acknowledged(
        &mut self,
        now: Time,
        series: usize,
        rtt: Option<Duration>,
        cwnd: Bytes,
    ) {
        if let Some(rtt) = rtt {
            self.flows[series].sample(rtt);
        }
        self.flows[series].digest.word(now.as_nanos() ^ cwnd.get().rotate_left(32));
    }
}
