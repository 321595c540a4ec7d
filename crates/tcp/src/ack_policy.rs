//! When a receiver acknowledges, and what its ACKs echo.
//!
//! All policies keep the proportion property: the share of bytes acknowledged with ESCE (ECE) equals the
//! share of bytes received with SCE (CE). An ACK's flags describe all segments that it newly acknowledges.
//!
//! What is out of order, fills a gap or is a duplicate is acknowledged at once by all of them (RFC 5681 section 4.2).
//!
//! Sources: spec/mds section 6; spec/congestion-control section 1.16; "Multiplicative Decrease Scaling", Receiver
//! Feedback; delayed ACKs: RFC 9293 section 3.8.6.3 (every second segment, at most 500 ms; Linux waits 40 ms at
//! least).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::Duration;

/// When a segment is acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every segment at once: no delayed ACKs.
    #[default]
    Immediate,
    /// Marked segments at once, together with what is pending; others delayed. What is pending when a marked
    /// segment arrives is acknowledged apart, so that the flags stay true.
    QuickSignal,
    /// When the mark of arriving segments changes, what is pending is acknowledged at once with the old
    /// state's flags, and the segment that changed it at once too; equal states coalesce.
    StateChange,
    /// Every `count`-th segment, or `delay` after the first.
    Every,
    /// More than one full segment at once; a single one after the time in which the last ones came, 40 ms at least;
    /// every one at once at the start, after an idle time (quickack), and while the window grows; the last one of what
    /// the application wrote once it has been read. `count` and `delay` are not used.
    Linux,
}

/// How a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9293 section 3.8.6.3; Multiplicative Decrease Scaling, Receiver Feedback"))]
pub struct AckParams {
    /// When a segment is acknowledged.
    pub policy: AckPolicy,
    /// Delayed ACK: acknowledge at least every so many segments.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub count: u32,
    /// Delayed ACK: acknowledge at the latest so long after the first pending segment.
    pub delay: Duration,
    /// `linux`: ACKs of out-of-order segments, after the first three, wait for each other: 5 % of the round trip, 1
    /// ms at most.
    pub sack_compression: bool,
    /// `linux`: a segment that lets the window grow is acknowledged at once.
    pub growth_acks: bool,
}

impl Default for AckParams {
    fn default() -> AckParams {
        AckParams {
            policy: AckPolicy::default(),
            count: 2,
            delay: Duration::from_millis(40),
            sack_compression: true,
            growth_acks: true,
        }
    }
}
