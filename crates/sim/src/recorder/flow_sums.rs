//! What a flow sent and met, summed over intervals.

use windtunnel_units::{Bytes, Duration};

use super::extent::Extent;
use crate::result::DropSummary;

/// Sums over an interval, or over several.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct FlowSums {
    pub(crate) received: Bytes,
    pub(crate) payload: Bytes,
    pub(crate) ce: u64,
    pub(crate) sce: u64,
    pub(super) acks: u64,
    pub(super) limited: u64,
    pub(super) rtt: Extent,
    /// Bytes times nanoseconds: whole numbers, so that a sum does not depend on where intervals end.
    pub(super) cwnd_area: u128,
    pub(super) cwnd_min: Bytes,
    pub(super) cwnd_max: Bytes,
    /// None if nothing has been lost yet.
    pub(super) losses: Option<Box<Losses>>,
}

/// The packets that a flow lost. Few flows lose any within an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Losses {
    pub(crate) drops: DropSummary,
    pub(crate) ack_drops: DropSummary,
    pub(crate) corrupted: u64,
}

impl Losses {
    pub(super) fn add(&mut self, other: &Losses) {
        self.drops += other.drops;
        self.ack_drops += other.ack_drops;
        self.corrupted += other.corrupted;
    }
}

impl FlowSums {
    /// Of no interval.
    pub(super) const NONE: FlowSums = FlowSums {
        received: Bytes::ZERO,
        payload: Bytes::ZERO,
        ce: 0,
        sce: 0,
        acks: 0,
        limited: 0,
        rtt: Extent::NONE,
        cwnd_area: 0,
        cwnd_min: Bytes::MAX,
        cwnd_max: Bytes::ZERO,
        losses: None,
    };

    /// Of an interval that starts with the window `cwnd`.
    pub(super) const fn new(cwnd: Bytes) -> FlowSums {
        FlowSums { cwnd_min: cwnd, cwnd_max: cwnd, ..FlowSums::NONE }
    }

    pub(super) const fn is_none(&self) -> bool {
        self.cwnd_min.get() > self.cwnd_max.get()
    }

    /// The mean of the window over `span`, to which these sums belong.
    pub(super) fn cwnd_mean(&self, span: Duration) -> f64 {
        self.cwnd_area as f64 / span.as_nanos() as f64
    }

    pub(super) fn merge(&mut self, other: &FlowSums) {
        self.received += other.received;
        self.payload += other.payload;
        self.ce += other.ce;
        self.sce += other.sce;
        self.acks += other.acks;
        self.limited += other.limited;
        self.rtt.merge(&other.rtt);
        self.cwnd_area += other.cwnd_area;
        self.cwnd_min = self.cwnd_min.min(other.cwnd_min);
        self.cwnd_max = self.cwnd_max.max(other.cwnd_max);
        if let Some(losses) = &other.losses {
            self.losses().add(losses);
        }
    }

    /// The packets lost.
    pub(crate) fn losses(&mut self) -> &mut Losses {
        self.losses.get_or_insert_default()
    }
}
