//! Congestion controllers as pure state machines.
//!
//! A controller gets one [`AckSample`] per ACK with a read-only [`PathView`], and answers with one
//! value, [`Control`]. It reads no clock, holds no queue or socket, allocates and logs nothing per ACK,
//! and knows no other flow.
//!
//! Window-based controllers are composed of *slow start x avoidance x response*
//! ([`WindowedConfig`]): Reno-MDS is Reno with another response, and any of them can be given ESSP. Most exist in several
//! variants; which one runs where none is named is a matter of [`Style`] ([`WindowedConfig::resolve`]).

mod avoidance;
mod carry;
mod check;
mod config;
mod control;
mod credit;
mod hold_off;
mod limiter;
mod response;
mod sample;
mod slow_start;
mod windowed;

pub use avoidance::{
    AimdGrowth, AimdParams, CubicParams, CubicVariant, RenoParams, ScalableParams, ScalableVariant,
};
pub use config::{AvoidanceConfig, ResponseConfig, SlowStartConfig, Style, WindowedConfig};
pub use control::{Control, ExitReason, Pacing, Phase};
pub use limiter::LimiterWindow;
pub use response::{ConventionalParams, MdsParams, scaled_md};
pub use sample::{
    AckSample, CongestionEvent, EcnFeedback, FlowInit, Marked, PathView, RateSample, SentSegment,
    SsthreshBase, Trigger,
};
pub use slow_start::{
    EsspParams, ExitResponse, HystartParams, HystartPpParams, SlowStartGrowth, StandardParams, leonardo,
};
pub use windtunnel_units::OutOfRange;

use std::fmt::Debug;

use windtunnel_units::{Bytes, Duration};

/// A congestion controller: events in, state inside, one value out.
///
/// Order of calls for one ACK: if the ACK shows congestion, [`on_congestion`] first, then [`on_ack`];
/// the sender reads [`control`] afterwards.
///
/// [`on_congestion`]: CongestionControl::on_congestion
/// [`on_ack`]: CongestionControl::on_ack
/// [`control`]: CongestionControl::control
pub trait CongestionControl: Debug + Send {
    /// An ACK arrived. Called once per ACK; the SYN-ACK, which carries no data, is not reported.
    fn on_ack(&mut self, ack: &AckSample, path: &PathView);

    /// Congestion was signalled by a loss or by an echo of CE (RFC 3168). The sender calls it at most
    /// once per loss episode; for CE it may call once per echo, and the controller takes at most one
    /// response per round. Returns whether it responded.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool;

    /// The retransmission timer expired; `path.in_flight` no longer counts what is taken for lost. `new_episode` is false
    /// if the data in flight belong to a loss that was answered already: ssthresh then stays.
    fn on_rto(&mut self, new_episode: bool, path: &PathView);

    /// The handshake completed: the first RTT sample is in `path.srtt` and `path.min_rtt`.
    fn on_established(&mut self, _path: &PathView) {}

    /// A segment was sent. Called only if [`CongestionControl::watches_departures`] said so at the begin.
    fn on_sent(&mut self, _sent: &SentSegment, _path: &PathView) {}

    /// Whether the controller wants [`CongestionControl::on_sent`]; most do not.
    fn watches_departures(&self) -> bool {
        false
    }

    /// A segment is about to be sent while none is in flight; the last one left `idle` ago.
    fn on_tx_start(&mut self, _idle: Duration, _path: &PathView) {}

    /// cwnd was not used for longer than an RTO: the sender's window validation (RFC 2861, 7661) lowers it to `cwnd`, and
    /// ssthresh remembers three quarters of what it was.
    fn on_cwnd_validation(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// While congestion is answered, the sender approaches cwnd by proportional rate reduction (RFC 9937). False for
    /// controllers that decide themselves what may be sent on every ACK.
    fn reduces_proportionally(&self) -> bool {
        true
    }

    /// The last congestion episode was spurious: undo its reduction.
    fn on_undo(&mut self, _path: &PathView) {}

    /// What the sender is to do now.
    fn control(&self) -> Control;

    /// The congestion window alone: what the sender reads after every ACK.
    fn cwnd(&self) -> Bytes {
        self.control().cwnd
    }

    /// The pacing alone: what the sender reads at every departure.
    fn pacing(&self) -> Pacing {
        self.control().pacing
    }

    /// Why slow start ended, once it has.
    fn slow_start_exit(&self) -> Option<ExitReason> {
        None
    }

    /// Named internal numbers, for recorders: `out(name, value)`. Always the same names in the same order, which recorders
    /// learn once; a number that does not exist at the moment is NaN. A name ends in its unit unless it has none.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}
