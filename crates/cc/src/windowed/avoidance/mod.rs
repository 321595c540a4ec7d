//! Congestion avoidance: how cwnd grows between responses.

mod aimd;
mod cubic;
mod reno;
mod scalable;

use std::fmt::Debug;
use std::sync::Arc;

use windtunnel_algorithm::AnyParams;
use windtunnel_units::{Bytes, Duration, Time};

use super::config::Composition;
use super::slow_start::{SlowStartParams, StandardParams};
use crate::controller::CongestionControl;
use crate::sample::{AckSample, PathView};
use crate::style::Style;

pub use aimd::{AimdGrowth, AimdParams};
pub use cubic::{CubicParams, CubicVariant};
pub use reno::RenoParams;
pub use scalable::{ScalableParams, ScalableVariant};

/// The parameters of a growth function: the open set of them.
pub trait AvoidanceParams: AnyParams {
    /// The same with whatever was left to the style of the endpoints filled in; nothing if nothing was.
    fn resolved(&self, _style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        None
    }

    /// The slow start that goes with it where a scenario names none.
    fn usual_slow_start(&self, _style: Style) -> Arc<dyn SlowStartParams> {
        Arc::new(StandardParams::default())
    }

    /// A controller that grows so: `composition.with(...)`.
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl>;
}

impl PartialEq for dyn AvoidanceParams {
    fn eq(&self, other: &dyn AvoidanceParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// A growth function and the multiplicative decrease that goes with it.
///
/// `Clone` is for the copy that an undo restores; implementations are a few words without heap.
pub trait Avoidance: Clone + Debug + Send {
    /// The factor of cwnd that a congestion response leaves.
    fn md(&self) -> f64;

    /// What a response with `factor` leaves of `base`: bytes, unless the algorithm counts in segments.
    fn kept(&self, base: Bytes, factor: f64, _mss: Bytes) -> Bytes {
        base.scale(factor)
    }

    /// How much of an ACK counts for growth.
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

/// The whole segments of an ACK; most acknowledge one, which needs no division.
fn segments(amount: Bytes, mss: Bytes) -> u64 {
    if amount == mss { 1 } else { amount / mss }
}

/// What a response leaves of a window counted in segments, rounded down. A billionth is added for products such as
/// 0.57 * 100, which fall below their whole number only because 0.57 has no binary representation.
fn kept_segments(base: Bytes, factor: f64, mss: Bytes) -> Bytes {
    mss * (((base / mss) as f64 * factor + 1e-9) as u64)
}
