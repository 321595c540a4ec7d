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

/// The parameters of a growth function. This trait is an open set.
pub trait AvoidanceParams: AnyParams {
    /// Returns a copy with all values that depend on the endpoints' style filled in, or `None` if there are none.
    fn resolved(&self, _style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        None
    }

    /// Returns the slow start to use where a scenario names none.
    fn usual_slow_start(&self, _style: Style) -> Arc<dyn SlowStartParams> {
        Arc::new(StandardParams::default())
    }

    /// Builds a controller with this growth: `composition.with(...)`.
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl>;
}

impl PartialEq for dyn AvoidanceParams {
    fn eq(&self, other: &dyn AvoidanceParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// The fraction of an unused cwnd that ssthresh keeps (RFC 2861 section 3.1).
const REMEMBERED: f64 = 0.75;

/// A growth function and the multiplicative decrease that goes with it.
///
/// `Clone` provides the copy that an undo restores; implementations are a few words and do not use the heap.
pub trait Avoidance: Clone + Debug + Send {
    /// Returns the factor by which a congestion response multiplies cwnd.
    fn md(&self) -> f64;

    /// Returns what a response with `factor` leaves of `base`: in bytes, unless the algorithm counts in segments.
    fn kept(&self, base: Bytes, factor: f64, _mss: Bytes) -> Bytes {
        base.scale(factor)
    }

    /// Returns what ssthresh keeps of a cwnd that was not used (RFC 2861 section 3.1).
    fn remembered(&self, cwnd: Bytes, mss: Bytes) -> Bytes {
        self.kept(cwnd, REMEMBERED, mss)
    }

    /// Returns how much of an ACK counts for growth.
    fn counted(ack: &AckSample) -> Bytes {
        ack.acked
    }

    /// Congestion avoidance starts at `cwnd`: the flow's first slow start ended, or the one after a timeout.
    fn begin(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// A response to a loss or CE took cwnd from `before` to `after`, by `factor` of the window from which it computes.
    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {}

    /// A response to an SCE took cwnd from `before` to `after`.
    fn scaled(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        self.decreased(before, after, self.md(), path);
    }

    /// A part of a segment was taken from cwnd for an SCE, and is now `after`. A curve of growth is flat from here on.
    fn flattened(&mut self, _after: Bytes, _path: &PathView) {}

    /// An ACK sampled a round-trip time, in any phase.
    fn sampled(&mut self, _rtt: Duration, _now: Time) {}

    /// Returns cwnd after the growth (if any) that `amount` of an ACK's data allows; slow start may have used the rest.
    /// Called on marked ACKs too, because the algorithm decides whether those grow the window.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes;

    /// The sender barred growth on an ACK in congestion avoidance.
    fn barred(&mut self, _path: &PathView) {}

    /// A segment leaves after nothing was in flight for `idle`.
    fn idled(&mut self, _idle: Duration, _path: &PathView) {}

    /// The retransmission timer expired: the algorithm forgets what it knew about the path. If the timeout started a
    /// new loss episode, [`Avoidance::decreased`] was called before.
    fn timed_out(&mut self, _path: &PathView) {}

    /// The last response was not due to congestion; `before` is the state before that response.
    fn undone(&mut self, before: Self) {
        *self = before;
    }

    /// Reports named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Returns the whole segments of an ACK. Most ACKs acknowledge one, which needs no division.
fn segments(amount: Bytes, mss: Bytes) -> u64 {
    if amount == mss { 1 } else { amount / mss }
}

/// Returns what ssthresh keeps of a window counted in segments that was not used: a half and a quarter, each rounded down, as in Linux
/// (`tcp_current_ssthresh`), so that of eleven segments seven are kept, not eight.
fn remembered_segments(cwnd: Bytes, mss: Bytes) -> Bytes {
    let segments = cwnd / mss;
    mss * (segments / 2 + segments / 4)
}

/// Returns what a response leaves of a window counted in segments, rounded down. A billionth is added because products
/// such as 0.57 * 100 fall below the whole number only for lack of an exact binary representation of 0.57.
fn kept_segments(base: Bytes, factor: f64, mss: Bytes) -> Bytes {
    mss * (((base / mss) as f64 * factor + 1e-9) as u64)
}
