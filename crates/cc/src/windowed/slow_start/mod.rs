//! Slow starts: finding the capacity of the path, before the avoidance takes over.

mod essp;
mod exit;
mod hystart;
mod hystart_pp;
pub mod leonardo;
mod none;
mod standard;

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::AnyParams;
use windtunnel_units::{Bytes, Duration};

use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};
use crate::style::Style;

pub use essp::EsspParams;
use exit::Exit;
pub use exit::ExitResponse;
pub use hystart::HystartParams;
pub use hystart_pp::HystartPpParams;
pub use none::NoSlowStartParams;
pub use standard::{SlowStartGrowth, StandardParams};

/// The parameters of a slow start: the open set of them.
pub trait SlowStartParams: AnyParams {
    /// The same with whatever was left to the style of the endpoints filled in; nothing if nothing was.
    fn resolved(&self, _style: Style) -> Option<Arc<dyn SlowStartParams>> {
        None
    }

    /// True if it sets the pace itself: a flow with it is paced, at exactly its gain.
    fn paces(&self) -> bool {
        false
    }

    /// The slow start of a flow whose SCE count `1/tau` of a CE each.
    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart>;
}

impl PartialEq for dyn SlowStartParams {
    fn eq(&self, other: &dyn SlowStartParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// A slow start. It owns nothing of the window: it is handed cwnd while the phase lasts.
///
/// Losses and timeouts are not its business: they end the phase whatever the algorithm.
pub trait SlowStart: Debug + Send {
    /// An ACK carried an echo of CE; called before [`SlowStart::on_ack`] for the same ACK.
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict;

    /// An ACK arrived.
    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict;

    /// cwnd after the exit response; called once, when the phase ends without a loss.
    fn exit_cwnd(&self, cwnd: Bytes, _rtt: Option<Duration>, _path: &PathView) -> Bytes {
        cwnd
    }

    /// True if CE ends it with the multiplicative decrease of congestion avoidance, and other exits are no response.
    fn exits_by_md(&self) -> bool {
        false
    }

    /// cwnd is back below ssthresh, after a timeout or an idle time: how an ACK makes it grow up to there. The slow start
    /// may watch the path as it did at first, or not.
    fn regrow(&mut self, _cwnd: Bytes, ack: &AckSample, _path: &PathView) -> Regrowth {
        Regrowth::By(ack.growth(ack.acked))
    }

    /// The retransmission timer expired.
    fn timed_out(&mut self, _path: &PathView) {}

    /// The gain at which departures are paced.
    fn pacing_gain(&self) -> f64 {
        1.0
    }

    /// Named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// What a slow start did with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartVerdict {
    /// It goes on, and did not respond.
    Stay,
    /// It goes on, and responded: a new round begins.
    Respond,
    /// It ends.
    Exit(ExitReason),
    /// It ends without a response, and leaves all of the ACK to congestion avoidance.
    Leave(ExitReason),
}

/// What an ACK does in a slow start up to a known ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regrowth {
    /// cwnd grows by this much, up to ssthresh.
    By(Bytes),
    /// It ends here.
    Leave,
}
