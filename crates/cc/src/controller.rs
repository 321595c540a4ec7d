//! What a controller is, and the open set of them.

use std::fmt::Debug;

use windtunnel_algorithm::AnyParams;
use windtunnel_units::{Bytes, Duration};

use crate::control::{Control, ExitReason, Pacing};
use crate::needs::Needs;
use crate::sample::{AckSample, CongestionEvent, FlowInit, LostSegment, PathView, SentSegment};

/// A congestion controller: events in, state inside, one value out.
///
/// Order of calls for one ACK: [`on_lost`] for each segment that it shows to be lost; what moves the state of recovery
/// ([`on_undo`], [`on_recovered`], [`on_congestion`]); then [`on_ack`]. Timers make the same calls without an ACK: RACK's
/// reordering timer [`on_lost`] and [`on_congestion`], the retransmission timer [`on_lost`] and [`on_rto`]. The sender reads
/// [`control`] after all of them, and after [`on_sent`] and [`on_tx_start`].
///
/// A controller has no timer: what it does in time it does at the next ACK or departure, and the silence of the path is the
/// retransmission timer's.
///
/// A controller that holds a fixed window, and paces it over the least round trip:
///
/// ```
/// use windtunnel_cc::{
///     AckSample, CongestionControl, CongestionEvent, Control, FlowInit, Needs, Pacing, PacingNeed, PathView, Phase,
/// };
/// use windtunnel_units::{Bytes, Rate};
///
/// #[derive(Debug)]
/// struct Fixed {
///     window: Bytes,
///     rate: Rate,
/// }
///
/// impl CongestionControl for Fixed {
///     fn needs(&self) -> Needs {
///         Needs { pacing: PacingNeed::Always, own_window: true, ..Needs::default() }
///     }
///
///     fn on_ack(&mut self, _ack: &AckSample, path: &PathView) {
///         if !path.min_rtt.is_zero() {
///             self.rate = Rate::of(self.window, path.min_rtt);
///         }
///     }
///
///     fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
///         false
///     }
///
///     fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {}
///
///     fn control(&self) -> Control {
///         Control {
///             pacing: Pacing::Rate(self.rate),
///             phase: Phase::CongestionAvoidance,
///             ..Control::window(self.window)
///         }
///     }
/// }
///
/// let init = FlowInit::new(Bytes::new(1448));
/// let fixed = Fixed { window: init.iw, rate: Rate::ZERO };
/// assert_eq!(fixed.cwnd(), Bytes::new(14_480));
/// ```
///
/// [`on_lost`]: CongestionControl::on_lost
/// [`on_congestion`]: CongestionControl::on_congestion
/// [`on_undo`]: CongestionControl::on_undo
/// [`on_recovered`]: CongestionControl::on_recovered
/// [`on_ack`]: CongestionControl::on_ack
/// [`on_rto`]: CongestionControl::on_rto
/// [`on_sent`]: CongestionControl::on_sent
/// [`on_tx_start`]: CongestionControl::on_tx_start
/// [`control`]: CongestionControl::control
pub trait CongestionControl: Debug + Send {
    /// What it needs of its sender. Asked once, when the connection is made.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// An ACK arrived. Called once per ACK that delivers something, with [`Needs::every_ack`] for every other one too; the
    /// SYN-ACK, which carries no data, is not reported.
    fn on_ack(&mut self, ack: &AckSample, path: &PathView);

    /// Congestion was signalled by a loss or by an echo of CE (RFC 3168). The sender calls it at most
    /// once per loss episode; for CE it may call once per echo, and the controller takes at most one
    /// response per round. Returns whether it reduced its window: only then does the sender start a reduction and send CWR.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool;

    /// The retransmission timer expired; `path.in_flight` no longer counts what is taken for lost. `new_episode` is false
    /// if the data in flight belong to a loss that was answered already: ssthresh then stays.
    fn on_rto(&mut self, new_episode: bool, path: &PathView);

    /// The handshake completed: the first RTT sample is in `path.srtt` and `path.min_rtt`.
    fn on_established(&mut self, _path: &PathView) {}

    /// A segment was sent. Called only with [`Needs::departures`].
    fn on_sent(&mut self, _sent: &SentSegment, _path: &PathView) {}

    /// A segment was just found to be lost. Called only with [`Needs::loss_reports`]. `path.in_flight` counts none of the
    /// segments found lost at the same time.
    fn on_lost(&mut self, _segment: &LostSegment, _path: &PathView) {}

    /// A segment is about to be sent while none is in flight; the last one left `idle` ago. Endpoints of the ideal profile,
    /// which know no idle times, say so only with [`Needs::own_window`].
    fn on_tx_start(&mut self, _idle: Duration, _path: &PathView) {}

    /// cwnd was not used for longer than an RTO: the sender's window validation (RFC 2861, 7661) lowers it to `cwnd`, and
    /// ssthresh remembers three quarters of what it was. Never called with [`Needs::own_window`].
    fn on_cwnd_validation(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// The last congestion episode was spurious: undo its reduction.
    fn on_undo(&mut self, _path: &PathView) {}

    /// The episode is over that a loss, an answered CE or a timeout started: what was in flight then is acknowledged, or it
    /// was spurious ([`CongestionControl::on_undo`] came first).
    fn on_recovered(&mut self, _path: &PathView) {}

    /// What the sender is to do now.
    fn control(&self) -> Control;

    /// The congestion window alone: what the sender reads after every ACK.
    fn cwnd(&self) -> Bytes {
        self.control().cwnd
    }

    /// The pacing alone: what a sender of the ideal profile reads at every departure.
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

/// The parameters of a controller of any family: what a scenario names, and what builds one for each connection.
///
/// A controller in Rust has a struct that implements [`windtunnel_algorithm::Params`], and with it this trait.
pub trait ControllerParams: AnyParams {
    /// What the controllers built of it will need. A scenario that says nothing else follows it.
    fn needs(&self) -> Needs {
        self.build(FlowInit::new(Bytes::new(1448))).needs()
    }

    /// The controller of one connection.
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl>;
}

impl PartialEq for dyn ControllerParams {
    fn eq(&self, other: &dyn ControllerParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}
