//! Slow starts: finding the capacity of the path, before the avoidance takes over.

mod bbr_startup;
mod chirping;
mod essp;
mod exit;
mod hystart;
mod hystart_pp;
pub mod leonardo;
mod limited;
mod none;
mod rapid;
mod recovery;
mod resume;
mod search;
mod standard;

use std::fmt::Debug;
use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::{AnyParams, kinds};
use windtunnel_units::{Bytes, Duration};

use crate::control::{ExitReason, Pacing};
use crate::kinds::Kinds;
use crate::sample::{AckSample, FlowInit, PathView, SentSegment};
use crate::style::Style;

use exit::Exit;
pub use exit::ExitResponse;

kinds! {
    pub(crate) fn visit(Kinds::slow_start);
    none: NoSlowStartParams;
    standard: StandardParams;
    limited: LimitedParams;
    hystart: HystartParams;
    hystart_pp: HystartPpParams;
    search: SearchParams;
    rapid: RapidParams;
    resume: ResumeParams;
    essp: EsspParams;
    bbr_startup: BbrStartupParams;
    chirping: PacedChirpingParams;
}

/// The parameters of a slow start. This trait is an open set.
pub trait SlowStartParams: AnyParams {
    /// Returns a copy with all values that depend on the endpoints' style filled in, or `None` if there are none.
    fn resolved(&self, _style: Style) -> Option<Arc<dyn SlowStartParams>> {
        None
    }

    /// Returns true if the slow start sets the pace: a flow with it is paced, at exactly its gain.
    fn paces(&self) -> bool {
        false
    }

    /// Returns true if the slow start sets the gap after each segment, from the first on, and hears of each departure.
    fn sets_gaps(&self) -> bool {
        false
    }

    /// Returns true if the first segments of the connection are paced, too.
    fn paces_first(&self) -> bool {
        self.sets_gaps()
    }

    /// Returns true if the slow start ends in a [`Recovery`] of its own, which counts the segments that are lost.
    fn hears_losses(&self) -> bool {
        false
    }

    /// Returns true if the slow start needs samples of the delivery rate.
    fn samples_rates(&self) -> bool {
        false
    }

    /// Builds the slow start of a flow in which tau SCE equal one CE.
    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart>;
}

#[cfg(feature = "schema")]
impl PartialEq for dyn SlowStartParams {
    fn eq(&self, other: &dyn SlowStartParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// A slow start. It does not own the window: the controller passes it cwnd while the phase lasts.
///
/// It does not handle losses and timeouts, because they end the phase in every algorithm. It may say how the recovery goes
/// on ([`SlowStart::recovery`]).
pub trait SlowStart: Debug + Send + Sync {
    /// An ACK carried an echo of CE; called before [`SlowStart::on_ack`] for the same ACK.
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict;

    /// An ACK arrived.
    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict;

    /// Returns cwnd after the exit response. Called once, when the phase ends without a loss.
    fn exit_cwnd(&self, cwnd: Bytes, _rtt: Option<Duration>, _path: &PathView) -> Bytes {
        cwnd
    }

    /// Returns true if CE ends the phase with the multiplicative decrease of congestion avoidance and other exits do
    /// not respond.
    fn exits_by_md(&self) -> bool {
        false
    }

    /// A loss or CE ends the phase with a response that leaves `kept` of cwnd. Returns the recovery that takes its place,
    /// if the slow start has one.
    fn recovery(&self, _cwnd: Bytes, _kept: f64, _path: &PathView) -> Option<Box<dyn Recovery>> {
        None
    }

    /// Returns how an ACK grows cwnd back up to ssthresh, after a timeout or idle time lowered it. The slow start may
    /// or may not watch the path as it did at first.
    fn regrow(&mut self, _cwnd: Bytes, ack: &AckSample, _path: &PathView) -> Regrowth {
        Regrowth::By(ack.growth(ack.acked))
    }

    /// Returns cwnd after the ACKs of a whole window of `window` have grown it: `limit()` of
    /// draft-ietf-ccwg-ratelimited-increase section 3.
    fn limit(&self, window: Bytes) -> Bytes {
        window * 2
    }

    /// The retransmission timer expired.
    fn timed_out(&mut self, _path: &PathView) {}

    /// A segment left. Called only with [`SlowStartParams::sets_gaps`].
    fn on_sent(&mut self, _sent: &SentSegment, _path: &PathView) {}

    /// Returns the gain at which departures are paced.
    fn pacing_gain(&self) -> f64 {
        1.0
    }

    /// Returns how the segment that leaves next is spaced from the one after it.
    fn pacing(&self) -> Pacing {
        Pacing::Gain(self.pacing_gain())
    }

    /// Reports named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// A recovery that a slow start hands over: it takes the place of the response to the first loss or CE. It never raises
/// cwnd.
pub trait Recovery: Debug + Send + Sync {
    /// The signal shows `lost` bytes to be lost, in addition to what is in flight.
    fn begin(&mut self, _lost: Bytes) {}

    /// A segment was found to be lost.
    fn on_lost(&mut self, _lost: Bytes) {}

    /// An ACK delivered data: the one that showed the congestion, or one after it.
    fn on_ack(&mut self, delivered: Bytes, path: &PathView);

    /// All of the flight at the signal has been acknowledged.
    fn settle(&mut self) {}

    /// Returns cwnd while it lasts, and after it.
    fn cwnd(&self) -> Bytes;

    /// Returns ssthresh after it: slow start follows if that is more than cwnd.
    fn ssthresh(&self) -> Bytes {
        self.cwnd()
    }

    /// Returns the part of a window that a response leaves.
    fn kept(&self) -> f64;

    /// Returns the window before the response, as congestion avoidance is told of it.
    fn peak(&self) -> Bytes;
}

/// What a slow start did with an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowStartVerdict {
    /// It continues and did not respond.
    Stay,
    /// It continues and responded: a new round starts.
    Respond,
    /// It ends.
    Exit(ExitReason),
    /// It ends without a response and leaves the whole ACK to congestion avoidance.
    Leave(ExitReason),
}

/// The effect of an ACK in a slow start up to a known ssthresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regrowth {
    /// cwnd grows by this much, up to ssthresh.
    By(Bytes),
    /// Slow start ends here.
    Leave,
}
