//! Congestion avoidance: how cwnd grows between responses.

mod aimd;
mod cubic;
mod reno;
mod scalable;

use std::fmt::Debug;

use windtunnel_units::{Bytes, Duration, Time};

use crate::sample::{AckSample, EcnFeedback, PathView};

pub(crate) use aimd::{Aimd, AimdLinux, AimdPerAck};
pub use aimd::{AimdGrowth, AimdParams};
pub(crate) use cubic::{Cubic, CubicLinux, CubicRfc};
pub use cubic::{CubicParams, CubicVariant};
pub use reno::RenoParams;
pub(crate) use scalable::{Scalable, ScalableLinux, ScalablePaper};
pub use scalable::{ScalableParams, ScalableVariant};

/// A growth function and the multiplicative decrease that goes with it.
///
/// `Clone` is for the copy that an undo restores; implementations are a few words without heap.
pub(crate) trait Avoidance: Clone + Debug + Send {
    /// The factor of cwnd that a congestion response leaves.
    fn md(&self) -> f64;

    /// What a response with `factor` leaves of `base`: bytes, unless the algorithm counts in segments.
    fn kept(&self, base: Bytes, factor: f64, _mss: Bytes) -> Bytes {
        base.scale(factor)
    }

    /// What of an ACK counts for growth.
    fn counted(ack: &AckSample) -> Bytes {
        ack.acked
    }

    /// Congestion avoidance begins at `cwnd`: the flow's first slow start ended, or the one after a timeout.
    fn begin(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// A response to a loss or CE took cwnd from `before` to `after`.
    fn decreased(&mut self, _before: Bytes, _after: Bytes, _path: &PathView) {}

    /// A response to an SCE took cwnd from `before` to `after`.
    fn scaled(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        self.decreased(before, after, path);
    }

    /// An ACK sampled a round-trip time, in whatever phase.
    fn sampled(&mut self, _rtt: Duration, _now: Time) {}

    /// cwnd after the growth (if any) that `amount` of an ACK's data allows; slow start may have used the rest. Called on
    /// marked ACKs as well: whether those grow is the algorithm's own choice.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes;

    /// An ACK in congestion avoidance was not to grow cwnd.
    fn barred(&mut self, _path: &PathView) {}

    /// Nothing was in flight for `idle`, and a segment leaves now.
    fn idled(&mut self, _idle: Duration, _path: &PathView) {}

    /// The retransmission timer expired: what was known of the path is forgotten. If that was a loss of its own,
    /// [`Avoidance::decreased`] was called before.
    fn timed_out(&mut self, _path: &PathView) {}

    /// The last response was to no congestion; this is what was known `before` it.
    fn undone(&mut self, before: Self) {
        *self = before;
    }

    /// Named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// True if an ACK carries a congestion signal.
pub(crate) fn marked(ecn: &EcnFeedback) -> bool {
    ecn.ce.any() || ecn.sce.any()
}

/// The whole segments of an ACK; most acknowledge one, which needs no division.
fn segments(amount: Bytes, mss: Bytes) -> u64 {
    if amount == mss { 1 } else { amount / mss }
}

/// What a response leaves of a window counted in segments, rounded down. A billionth is added for products such as
/// 0.57 * 100, which fall below their whole number only because 0.57 has no binary representation.
fn kept_segments(base: Bytes, factor: f64, mss: Bytes) -> Bytes {
    mss * (((base / mss) as f64 * factor + 1e-9) as u64)
}
