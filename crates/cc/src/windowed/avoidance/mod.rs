//! Congestion avoidance: how cwnd grows between responses.

mod aimd;
mod bic;
mod binomial;
mod cdg;
mod compound;
mod coupled;
mod cubic;
mod highspeed;
mod htcp;
mod hybla;
mod illinois;
mod ledbat;
mod ledbat_pp;
mod lp;
mod module;
mod nv;
mod queueing_delay;
mod reno;
mod round_trips;
mod scalable;
mod unit;
mod vegas;
mod veno;
mod westwood;
mod yeah;

use std::fmt::Debug;
use std::sync::Arc;

use windtunnel_algorithm::{AnyParams, kinds};
use windtunnel_units::{Bytes, Duration, Time};

use super::config::Composition;
use super::slow_start::{SlowStartParams, StandardParams};
use crate::controller::CongestionControl;
use crate::kinds::Kinds;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, EcnFeedback, PathView};
use crate::state::CaState;
use crate::style::Style;
use crate::subflow::Subflow;

kinds! {
    pub(crate) fn visit(Kinds::avoidance);
    reno: RenoParams;
    aimd: AimdParams;
    cubic: CubicParams;
    scalable: ScalableParams;
    highspeed: HighspeedParams;
    htcp: HtcpParams;
    bic: BicParams;
    hybla: HyblaParams;
    westwood: WestwoodParams;
    binomial: BinomialParams, SqrtParams, IiadParams;
    vegas: VegasParams;
    illinois: IllinoisParams;
    compound: CompoundParams;
    yeah: YeahParams;
    veno: VenoParams;
    cdg: CdgParams;
    nv: NvParams;
    lp: LpParams;
    ledbat: LedbatParams;
    ledbat_pp: LedbatPpParams;
    coupled: LiaParams, OliaParams, BaliaParams;
}

// What algorithms have in common.
pub use unit::Unit;
pub(super) use unit::current_ssthresh;

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

    /// Returns why a scenario cannot choose the slow start, or `None` if it can: some algorithms have one of their own.
    fn fixes_slow_start(&self) -> Option<&'static str> {
        None
    }

    /// Builds a controller with this growth: `composition.with(...)`.
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl>;
}

#[cfg(feature = "schema")]
impl PartialEq for dyn AvoidanceParams {
    fn eq(&self, other: &dyn AvoidanceParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// The window, as an avoidance that steers sets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The congestion window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] while none is known.
    pub ssthresh: Bytes,
}

impl Window {
    /// True if slow start grows the window.
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }
}

/// What is left to do with an ACK after an avoidance has steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// The ACK grows cwnd as usual: by slow start below ssthresh, else by [`Avoidance::grow`].
    Grow,
    /// As usual, even if the sender's growth gate is closed.
    Ungated,
    /// As usual, but cwnd does not grow.
    Hold,
    /// Nothing.
    Done,
}

/// A growth function and the multiplicative decrease that goes with it.
///
/// Most growth functions act in congestion avoidance alone. One that also watches the path in slow start, as those that
/// measure delay do, steers: it sees each ACK first, and may set cwnd and ssthresh ([`Avoidance::steer`]).
///
/// `Clone` provides the copy that an undo restores; implementations are a few words and do not use the heap.
pub trait Avoidance: Clone + Debug + Send + Sync {
    /// True if the avoidance steers.
    const STEERS: bool = false;

    /// What the avoidance counts. The rules that depend on it are explained at each [`Unit`].
    const UNIT: Unit = Unit::BytesAcked;

    /// Returns the factor by which a congestion response multiplies cwnd now.
    fn md(&self) -> f64;

    /// Adds what the algorithm needs from the sender to the needs of slow start and response.
    fn needs(&self, needs: Needs) -> Needs {
        needs
    }

    /// The flow is this subflow of a connection: [`CongestionControl::join`].
    fn join(&mut self, _subflow: Subflow) {}

    /// Returns the least ssthresh that a response to a loss or CE leaves, where that of the flow is `least`.
    fn least(&self, least: Bytes, _mss: Bytes) -> Bytes {
        least
    }

    /// The handshake completed (Linux `init`): the algorithm may set the first window and ssthresh.
    fn established(&mut self, _window: &mut Window, _path: &PathView) {}

    /// An ACK delivered data; called before its signals are answered (Linux `pkts_acked`). Needs
    /// [`Needs::delivery_reports`].
    fn delivered(&mut self, _delivery: &Delivery, _window: &Window, _path: &PathView) {}

    /// An ACK arrived, in any phase and state; its signals are answered. Called only with [`Avoidance::STEERS`]. Linux's
    /// `cong_avoid` runs only if [`AckSample::may_raise`].
    fn steer(&mut self, _window: &mut Window, _ack: &AckSample, _path: &PathView) -> Steered {
        Steered::Grow
    }

    /// The ACK has grown cwnd as far as it may. Called only with [`Avoidance::STEERS`].
    fn settled(&mut self, _window: &mut Window, _ack: &AckSample, _path: &PathView) {}

    /// The response to a loss, CE or a timeout is about to be computed: [`Avoidance::md`] and [`Avoidance::kept`] may
    /// depend on what was measured (Linux `ssthresh`).
    fn congestion_event(&mut self, _window: &Window, _path: &PathView) {}

    /// The sender's state changes. Needs [`Needs::states`].
    fn state(&mut self, _state: CaState, _path: &PathView) {}

    /// The controller wants a reduction although nothing was lost or marked; true once. Needs
    /// [`Needs::own_reductions`].
    fn asks_reduction(&mut self) -> bool {
        false
    }

    /// An episode that a loss, an answered CE or a timeout started is over.
    fn recovered(&mut self, _window: &mut Window, _path: &PathView) {}

    /// The window restarts after an idle time (Linux `CA_EVENT_CWND_RESTART`).
    fn restarted(&mut self, _path: &PathView) {}

    /// Returns what a response with `factor` leaves of `base`.
    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        Self::UNIT.kept(base, factor, mss)
    }

    /// Congestion avoidance starts at `cwnd`: the flow's first slow start ended, or the one after a timeout.
    fn begin(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// A response to a loss or CE took cwnd from `before` to `after`, by `factor` of the window from which it computes.
    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {}

    /// A response to an SCE took cwnd from `before` to `after`.
    fn scaled(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        if Self::UNIT == Unit::BytesAcked {
            self.decreased(before, after, self.md(), path);
        }
    }

    /// A response to a loss or CE, or a timeout, reduced the window: with [`Unit::Segments`], the algorithm clears the
    /// segments that have not made the window grow yet (Linux `snd_cwnd_cnt`).
    fn clear_cwnd_cnt(&mut self) {}

    /// A part of a segment was taken from cwnd for an SCE, and is now `after`. A curve of growth is flat from here on.
    fn flattened(&mut self, _after: Bytes, _path: &PathView) {}

    /// An ACK sampled a round-trip time, in any phase.
    fn sampled(&mut self, _rtt: Duration, _now: Time) {}

    /// Returns cwnd after the growth (if any) that `amount` of an ACK's data allows; slow start may have used the rest.
    /// Called on marked ACKs too, because the algorithm decides whether those grow the window.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes;

    /// Returns cwnd after the ACKs of a whole window of `window` have grown it: `limit()` of
    /// draft-ietf-ccwg-ratelimited-increase section 3. That is a segment more (RFC 5681), or what faster algorithms make of
    /// one ACK for all of it. Less than a segment is no window of theirs.
    fn limit(&self, window: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if window < path.mss {
            return window + path.mss;
        }
        let whole = AckSample { acked: window, newly_delivered: window, ecn: EcnFeedback::default(), ..*ack };
        let grown = self.clone().grow(window, window, &whole, path);
        grown.max(window + path.mss)
    }

    /// Growth led beyond the limit; cwnd is `cwnd` instead.
    fn capped(&mut self, _cwnd: Bytes) {}

    /// The sender barred growth on an ACK in congestion avoidance.
    fn barred(&mut self, _path: &PathView) {}

    /// A segment leaves after nothing was in flight for `idle`.
    fn idled(&mut self, _idle: Duration, _path: &PathView) {}

    /// The retransmission timer expired: the algorithm forgets what it knew about the path. If the timeout started a
    /// new loss episode, [`Avoidance::decreased`] was called before, and the algorithm may set ssthresh.
    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {}

    /// The last response was not due to congestion; `before` is the state before that response.
    fn undone(&mut self, before: Self) {
        if Self::UNIT != Unit::Segments {
            *self = before;
        }
    }

    /// Reports named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// Returns the whole segments of an ACK. Most ACKs acknowledge one, which needs no division.
fn segments(amount: Bytes, mss: Bytes) -> u64 {
    if amount == mss { 1 } else { amount / mss }
}

/// Returns true if slow start used a part of the ACK. Some of Linux's algorithms do not use the rest.
fn crossed_ssthresh(amount: Bytes, ack: &AckSample) -> bool {
    amount < ack.newly_delivered
}

/// Returns what a response leaves of a window counted in segments, where the part given up is rounded down.
fn after_giving_up(base: Bytes, factor: f64, mss: Bytes) -> Bytes {
    let w = base / mss;
    let given_up = (w as f64 * (1.0 - factor) + 1e-9) as u64;
    mss * (w - given_up)
}
