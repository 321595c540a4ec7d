//! When a receiver acknowledges, and what its ACKs echo.
//!
//! All policies keep the proportion property: the share of bytes acknowledged with ESCE (ECE) equals the
//! share of bytes received with SCE (CE). An ACK's flags describe all segments that it newly acknowledges.
//!
//! All policies acknowledge at once a segment that is out of order, fills a gap or is a duplicate (RFC 5681 section
//! 4.2).
//!
//! Sources: spec/mds section 6; spec/congestion-control section 1.16; "Multiplicative Decrease Scaling", Receiver
//! Feedback; delayed ACKs: RFC 9293 section 3.8.6.3 (every second segment, at most 500 ms; Linux waits 40 ms at
//! least).

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

/// When a segment is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every segment at once: no delayed ACKs.
    #[default]
    Immediate,
    /// Marked segments are acknowledged at once, others are delayed. Segments that are pending when a marked one
    /// arrives get an ACK of their own, so that the flags of each ACK stay true.
    QuickSignal,
    /// When the mark of the arriving segments changes, two ACKs leave at once: one for the pending segments, with the
    /// flags of the old state, and one for the segment that changed it. Segments with equal marks share an ACK.
    StateChange,
    /// Every `count`-th segment, or `delay` after the first, with no more ACKs for marks. ESCE is dithered: an ACK carries it
    /// where that keeps the sum of the segments acknowledged with it closest to the sum of those that arrived with SCE.
    Dithered,
    /// Every `count`-th segment, or `delay` after the first.
    Every,
    /// More than one full segment at once. A single segment waits for about the time in which the last ones came, at
    /// least 40 ms. Every segment at once at the start, after an idle time (quickack), and while the window grows.
    /// The last segment of a write is acknowledged once the application has read it. With AccECN each change of the ECN field is
    /// acknowledged at once. `count` and `delay` are not used.
    Linux,
    /// As QUIC's receivers (RFC 9000 section 13.2; draft-ietf-quic-ack-frequency): every `count`-th packet, or `delay` after the
    /// first, 25 ms by default. A packet out of order is acknowledged by `reordering_threshold`, and of marks the first CE
    /// after a packet without, or with a `count` of 2 each CE. Requests of the sender (`ack_ratio`, `acks_per_rtt`) set `count`.
    Quic,
}

impl AckPolicy {
    /// Returns the delay of ACKs where a scenario gives none: Linux's least, or QUIC's `max_ack_delay` (RFC 9000 section
    /// 18.2).
    pub const fn usual_delay(self) -> Duration {
        Duration::from_millis(if matches!(self, AckPolicy::Quic) { 25 } else { 40 })
    }
}

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9293 section 3.8.6.3; Multiplicative Decrease Scaling, Receiver Feedback"))]
pub struct AckParams {
    /// When a segment is acknowledged.
    pub policy: AckPolicy,
    /// Delayed ACK: acknowledge at least every n-th segment.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub count: u32,
    /// Delayed ACK: the longest time from the first pending segment to its ACK.
    pub delay: Duration,
    /// `quic`: by how many packets the largest one is ahead of a missing one when the gap is acknowledged at once; 0 for never,
    /// 1 for each gap.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub reordering_threshold: u32,
    /// `linux`: after the first three, ACKs of out-of-order segments wait for each other: 5 % of the round trip, at
    /// most 1 ms.
    pub sack_compression: bool,
    /// `linux`: acknowledge at once a segment that lets the window grow.
    pub growth_acks: bool,
    /// The tau of MDS that the receiver supports: it refuses another, and the flow is then a conventional one. If left out, it
    /// accepts what it is offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mds_tau: Option<NonZeroU32>,
    /// Misbehaviour: the probability that the receiver conceals a mark, CE or SCE, and treats its packet as unmarked.
    pub hide_marks: Probability,
    /// Misbehaviour: how many ACKs acknowledge each segment, in pieces (ACK division).
    #[schemars(extend("x-unit" = "ACKs"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub division: u32,
    /// Misbehaviour: how many copies of its last ACK the receiver sends without a cause, after the first segment and then in
    /// each `duplicates_interval`.
    #[schemars(extend("x-unit" = "ACKs"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub duplicates: u32,
    /// The time from one burst of copies to the next.
    pub duplicates_interval: Duration,
    /// Misbehaviour: at this interval the receiver acknowledges the next `optimistic_step`, arrived or not, and conceals
    /// losses (optimistic ACKs); zero for an honest receiver.
    pub optimistic: Duration,
    /// How much each optimistic ACK acknowledges.
    pub optimistic_step: Bytes,
    /// How far optimistic ACKs may run ahead of what has arrived.
    pub optimistic_lead: Bytes,
    /// The seed of what is concealed.
    #[serde(skip)]
    pub hiding_seed: u64,
}

impl Default for AckParams {
    fn default() -> AckParams {
        AckParams {
            policy: AckPolicy::default(),
            count: 2,
            delay: AckPolicy::default().usual_delay(),
            reordering_threshold: 1,
            sack_compression: true,
            growth_acks: true,
            mds_tau: None,
            hide_marks: Probability::ZERO,
            division: 1,
            duplicates: 0,
            duplicates_interval: Duration::from_millis(100),
            optimistic: Duration::ZERO,
            optimistic_step: Bytes::new(1448),
            optimistic_lead: Bytes::new(65_536),
            hiding_seed: 0,
        }
    }
}

impl AckParams {
    /// True if the receiver deceives its sender by more than concealed marks.
    pub fn attacks(&self) -> bool {
        self.division > 1 || self.duplicates > 0 || !self.optimistic.is_zero()
    }

    /// Checks that every number is within its range.
    pub fn check(&self) -> Result<(), OutOfRange> {
        if !(1..=65_535).contains(&self.division) {
            return Err(OutOfRange::new("division", self.division, "1 to 65535"));
        }
        if self.reordering_threshold > 65_535 {
            return Err(OutOfRange::new("reordering_threshold", self.reordering_threshold, "0 to 65535"));
        }
        if self.reordering_threshold != 1 && self.policy != AckPolicy::Quic {
            let allowed = "absent, since only the policy `quic` has one";
            return Err(OutOfRange::new("reordering_threshold", self.reordering_threshold, allowed));
        }
        if self.duplicates > 100_000 {
            return Err(OutOfRange::new("duplicates", self.duplicates, "0 to 100000"));
        }
        if self.duplicates_interval.is_zero() {
            return Err(OutOfRange::new("duplicates_interval", self.duplicates_interval, "more than 0 s"));
        }
        if !self.optimistic.is_zero() && self.optimistic < Duration::from_micros(1) {
            return Err(OutOfRange::new("optimistic", self.optimistic, "0 s (off), or 1 us or more"));
        }
        if self.optimistic_step == Bytes::ZERO {
            return Err(OutOfRange::new("optimistic_step", self.optimistic_step, "1 byte or more"));
        }
        Ok(())
    }
}
