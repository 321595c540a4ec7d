//! Congestion avoidance: how cwnd grows between responses.

mod aimd;
mod cubic;
mod reno;
mod scalable;

use std::fmt::Debug;

use windtunnel_units::Bytes;

use crate::sample::{AckSample, EcnFeedback, PathView};

pub(crate) use aimd::Aimd;
pub use aimd::{AimdGrowth, AimdParams};
pub(crate) use cubic::Cubic;
pub use cubic::CubicParams;
pub use reno::RenoParams;
pub(crate) use scalable::Scalable;
pub use scalable::ScalableParams;

/// A growth function and the multiplicative decrease that goes with it.
///
/// `Clone` is for the copy that an undo restores; implementations are a few words without heap.
pub(crate) trait Avoidance: Clone + Debug + Send {
    /// The factor of cwnd that a congestion response leaves.
    fn md(&self) -> f64;

    /// Congestion avoidance begins at `cwnd`: slow start ended.
    fn begin(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// A response took cwnd from `before` to `after`.
    fn decreased(&mut self, _before: Bytes, _after: Bytes, _path: &PathView) {}

    /// cwnd after the growth (if any) that an ACK allows. Called on marked ACKs as well: whether those
    /// grow is the algorithm's own choice.
    fn grow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Bytes;

    /// The retransmission timer expired: what was known of the path is forgotten.
    fn timed_out(&mut self, _path: &PathView) {}

    /// Named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// True if an ACK carries a congestion signal.
pub(crate) fn marked(ecn: &EcnFeedback) -> bool {
    ecn.ce.any() || ecn.sce.any()
}
