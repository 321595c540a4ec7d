//! What a controller is, and the open set of them.

use std::fmt::Debug;

use windtunnel_algorithm::AnyParams;
use windtunnel_units::{Bytes, Duration, Rate};

use crate::control::{Control, ExitReason, Pacing};
use crate::needs::{Feedback, Needs};
use crate::sample::{
    AckSample, ArrivedPacket, CongestionEvent, Delivery, FlowInit, LostSegment, MediaFrame, PathView,
    SentSegment,
};
use crate::state::CaState;
use crate::subflow::Subflow;

/// A congestion controller: events in, state inside, one value out.
///
/// Order of calls for one ACK: [`on_delivery`]; [`on_lost`] for each segment that it shows to be lost; then the changes of the recovery
/// state ([`on_undo`], [`on_recovered`], [`on_congestion`]); then [`on_ack`]. Timers make the same calls without an
/// ACK: RACK's reordering timer calls [`on_lost`] and [`on_congestion`], the retransmission timer calls [`on_lost`] and
/// [`on_rto`]. The sender reads [`control`] after all of them, and after [`on_sent`] and [`on_tx_start`].
///
/// A controller has no timer: it acts on elapsed time at the next ACK or departure. If the path falls silent, the
/// retransmission timer acts.
///
/// This controller holds a fixed window and paces it over the minimum round-trip time:
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
/// [`on_delivery`]: CongestionControl::on_delivery
/// [`on_lost`]: CongestionControl::on_lost
/// [`on_congestion`]: CongestionControl::on_congestion
/// [`on_undo`]: CongestionControl::on_undo
/// [`on_recovered`]: CongestionControl::on_recovered
/// [`on_ack`]: CongestionControl::on_ack
/// [`on_rto`]: CongestionControl::on_rto
/// [`on_sent`]: CongestionControl::on_sent
/// [`on_tx_start`]: CongestionControl::on_tx_start
/// [`control`]: CongestionControl::control
pub trait CongestionControl: Debug + Send + Sync {
    /// Returns what the controller needs from its sender. Called when the connection is created, and again after
    /// [`CongestionControl::on_negotiated`].
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The flow is this subflow of a connection over several paths. Called once, before anything else; coupled controllers
    /// learn of the other subflows by it, and all others do not need it.
    fn join(&mut self, _subflow: Subflow) {}

    /// An ACK arrived. Called once per ACK that delivers data and, with [`Needs::every_ack`], for every other ACK too.
    /// The SYN-ACK is not reported, because it carries no data.
    fn on_ack(&mut self, ack: &AckSample, path: &PathView);

    /// A loss or an echo of CE signalled congestion (RFC 3168). The sender calls this at most once per loss episode.
    /// For CE it may call once per echo, and the controller responds at most once per round. Returns whether the
    /// controller reduced its window: the sender starts a reduction and sends CWR only if so.
    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool;

    /// The retransmission timer expired; `path.in_flight` no longer counts the segments presumed lost. `new_episode` is
    /// false if the data in flight belong to a loss that was already answered: ssthresh then stays the same.
    fn on_rto(&mut self, new_episode: bool, path: &PathView);

    /// The handshake completed: the first RTT sample is in `path.srtt` and `path.min_rtt`.
    fn on_established(&mut self, _path: &PathView) {}

    /// The handshake agreed on this feedback, which may be less than [`Needs::feedback`]. Called before
    /// [`CongestionControl::on_established`].
    fn on_negotiated(&mut self, _heard: Feedback) {}

    /// The connection has no selective acknowledgments, so that about one loss is detected per round trip. Called before
    /// [`CongestionControl::on_negotiated`].
    fn on_sack_refused(&mut self) {}

    /// A packet arrived. Called only with [`Needs::arrivals`], by transports whose receiver reports when each packet arrived, in the
    /// order of departures, before [`CongestionControl::on_delivery`] of the same report.
    fn on_arrival(&mut self, _packet: &ArrivedPacket, _path: &PathView) {}

    /// An ACK delivered data. Called only with [`Needs::delivery_reports`], before anything else is reported of the same
    /// ACK, so that its marks count in the answer to them.
    fn on_delivery(&mut self, _delivery: &Delivery, _path: &PathView) {}

    /// Returns true once the controller has given up its fine signals: from then on its packets leave without the MDS
    /// identifier. Asked after each [`CongestionControl::on_delivery`] of a flow with MDS.
    fn is_conventional(&self) -> bool {
        false
    }

    /// A segment was sent. Called only with [`Needs::departures`].
    fn on_sent(&mut self, _sent: &SentSegment, _path: &PathView) {}

    /// A segment was just found to be lost. Called only with [`Needs::loss_reports`]. `path.in_flight` excludes all
    /// segments found lost at the same time.
    fn on_lost(&mut self, _segment: &LostSegment, _path: &PathView) {}

    /// A segment is about to be sent while none is in flight; the last one left `idle` ago. Endpoints of the ideal
    /// profile do not model idle times and call this only with [`Needs::own_window`].
    fn on_tx_start(&mut self, _idle: Duration, _path: &PathView) {}

    /// The sender's state changes to `state` ([`Needs::states`]). A reduction that comes with the change was reported
    /// before ([`CongestionControl::on_congestion`], [`CongestionControl::on_rto`]), as was the end of an episode
    /// ([`CongestionControl::on_recovered`]). Each timeout reports [`CaState::Loss`], even in that state.
    fn on_state(&mut self, _state: CaState, _path: &PathView) {}

    /// Returns true once if the controller wants a reduction although nothing was lost or marked. Asked after each ACK
    /// with [`Needs::own_reductions`]. If no reduction is running, the sender answers with
    /// [`CongestionControl::on_congestion`] and enters CWR (Linux `tcp_enter_cwr`).
    fn asks_reduction(&mut self) -> bool {
        false
    }

    /// The window restarts after an idle time of more than an RTO (RFC 5681 section 4.1; Linux `CA_EVENT_CWND_RESTART`).
    /// [`CongestionControl::on_cwnd_validation`] and [`CongestionControl::on_tx_start`] follow.
    fn on_cwnd_restart(&mut self, _path: &PathView) {}

    /// cwnd was not used for longer than an RTO: the sender's window validation (RFC 2861, 7661) lowers it to `cwnd`.
    /// ssthresh keeps three quarters of the former cwnd. Never called with [`Needs::own_window`].
    fn on_cwnd_validation(&mut self, _cwnd: Bytes, _path: &PathView) {}

    /// The window in force is not the controller's own but `cwnd`, from which it goes on. A receiver that runs a controller calls
    /// this with each segment until the controller makes the window smaller for the first time (RFC 9840 appendix A).
    fn adopt_window(&mut self, _cwnd: Bytes) {}

    /// The last congestion episode was spurious: the controller undoes its reduction.
    fn on_undo(&mut self, _path: &PathView) {}

    /// An episode started by a loss, an answered CE or a timeout ended: either the data in flight at its start are
    /// acknowledged, or the episode was spurious ([`CongestionControl::on_undo`] was called first).
    fn on_recovered(&mut self, _path: &PathView) {}

    /// Returns what the sender must do now.
    fn control(&self) -> Control;

    /// Returns how many full segments one ACK may cover, or `None` to leave that to the receiver. Asked after each ACK
    /// with [`Needs::ack_requests`].
    fn ack_ratio(&self) -> Option<u32> {
        None
    }

    /// Returns true while the controller itself lowers its window in a recovery: the sender takes the window as it is, without
    /// proportional rate reduction. Asked whenever a reduction goes on.
    fn recovers_itself(&self) -> bool {
        false
    }

    /// The application made a frame of media. Called only by senders that can steer their source ([`Needs::media`]).
    fn on_frame(&mut self, _frame: &MediaFrame, _path: &PathView) {}

    /// Returns the rate that the source of media is to have, without headers; `None` leaves the rate to the source. Asked before
    /// each frame.
    fn target_bitrate(&self) -> Option<Rate> {
        None
    }

    /// Returns the congestion window alone. The sender reads it after every ACK.
    fn cwnd(&self) -> Bytes {
        self.control().cwnd
    }

    /// Returns the pacing alone. A sender of the ideal profile reads it at every departure.
    fn pacing(&self) -> Pacing {
        self.control().pacing
    }

    /// Returns why slow start ended, or `None` while it lasts.
    fn slow_start_exit(&self) -> Option<ExitReason> {
        None
    }

    /// Reports named internal numbers to recorders through `out(name, value)`. The names and their order never change,
    /// because recorders learn them once. A number that does not exist at the moment is NaN. A name ends in its unit,
    /// if it has one.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The parameters of a controller of any family. A scenario names them, and they build one controller for each
/// connection.
///
/// For a controller written in Rust, the parameter struct implements [`windtunnel_algorithm::Params`] and this trait.
pub trait ControllerParams: AnyParams {
    /// Returns what the controllers built from these parameters will need. A scenario that does not specify otherwise
    /// follows it.
    fn needs(&self) -> Needs {
        self.build(FlowInit::new(Bytes::new(1448))).needs()
    }

    /// Builds the controller of one connection.
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl>;
}

#[cfg(feature = "schema")]
impl PartialEq for dyn ControllerParams {
    fn eq(&self, other: &dyn ControllerParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}
