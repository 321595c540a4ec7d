//! The window-based controller: what slow start, avoidance and response have in common.
//!
//! [`Windowed`] owns what the three share: cwnd and ssthresh, the phase, and the hold-off that allows at most one
//! congestion response per round (spec/mds section 2). Within one ACK the order is: the signal (CE first, through
//! `on_congestion`; SCE only without CE), then growth (spec/mds sections 2 and 8). A slow start that ends by a signal
//! leaves the rest of the ACK to the avoidance; one that ends by delay uses up the ACK, except for `HyStart`, which
//! gives up nothing.
//!
//! When a timeout or window validation lowers cwnd below ssthresh, slow start follows up to ssthresh. The part of the
//! last ACK that would lead beyond ssthresh goes to the avoidance (spec/congestion-control section 1.4). If the sender
//! bars growth (by its state or its growth gate), cwnd does not grow, but the signals of the ACK are still processed.
//!
//! A slow start may hand over a recovery that takes the place of the response to its first loss or CE
//! ([`super::slow_start::Recovery`]). While it lasts, ACKs do nothing else, and the sender leaves cwnd to it; then the
//! avoidance hears of a response.

mod signals;

use windtunnel_units::{Bytes, Duration};

use super::avoidance::{Avoidance, Steered, Window, current_ssthresh};
use super::response::{Response, SceRules};
use super::slow_start::{Recovery, Regrowth, SlowStart, SlowStartVerdict};
use crate::control::{Control, ExitReason, Pacing, Phase};
use crate::controller::CongestionControl;
use crate::hold_off::HoldOff;
use crate::needs::Needs;
use crate::sample::{
    AckSample, CongestionEvent, Delivery, FlowInit, LostSegment, PathView, SentSegment, SsthreshBase, Trigger,
};
use crate::state::CaState;
use crate::subflow::Subflow;

/// A window-based congestion controller.
#[derive(Debug)]
pub(crate) struct Windowed<A> {
    mss: Bytes,
    min_cwnd: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    stage: Stage,
    slow_start: Box<dyn SlowStart>,
    avoidance: A,
    response: Box<dyn Response>,
    sce_rules: SceRules,
    hold_off: HoldOff,
    needs: Needs,
    base: SsthreshBase,
    exit: Option<ExitReason>,
    /// The recovery that slow start has handed over, while it lasts.
    recovery: Option<Box<dyn Recovery>>,
    /// Apart, because it is as large as the rest, and seldom there.
    undo: Option<Box<Undo<A>>>,
    /// How often losses turned out to have been none.
    undos: u32,
}

/// Which part of the controller grows cwnd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The flow's own slow start, with which it starts.
    SlowStart,
    /// Back up to ssthresh after a timeout (RFC 5681 section 3.1); congestion avoidance then starts again.
    AfterTimeout,
    /// Back up to ssthresh after an unused window was lowered; congestion avoidance then continues.
    BelowSsthresh,
    /// Congestion avoidance.
    CongestionAvoidance,
}

/// The state before a loss response, in case the loss turns out to be spurious.
#[derive(Clone, Debug)]
struct Undo<A> {
    cwnd: Bytes,
    ssthresh: Bytes,
    stage: Stage,
    exit: Option<ExitReason>,
    avoidance: A,
}

impl<A: Avoidance> Windowed<A> {
    pub(crate) fn new(
        init: FlowInit,
        needs: Needs,
        slow_start: Box<dyn SlowStart>,
        avoidance: A,
        response: Box<dyn Response>,
        sce_rules: SceRules,
    ) -> Windowed<A> {
        Windowed {
            mss: init.mss,
            min_cwnd: init.min_cwnd,
            // One segment is allowed (RFC 5681 section 3.1, Jacobson 1988): the floor applies only to responses.
            cwnd: init.iw.max(init.mss),
            ssthresh: init.ssthresh.unwrap_or(Bytes::MAX),
            stage: Stage::SlowStart,
            slow_start,
            avoidance,
            response,
            sce_rules,
            hold_off: HoldOff::new(),
            needs,
            base: init.ssthresh_base,
            exit: None,
            recovery: None,
            undo: None,
            undos: 0,
        }
    }

    /// Ends the flow's own slow start without a loss.
    fn leave_slow_start(&mut self, reason: ExitReason, rtt: Option<Duration>, path: &PathView) {
        let cwnd = self.slow_start.exit_cwnd(self.cwnd, rtt, path);
        self.cwnd = cwnd.max(self.min_cwnd).min(self.cwnd);
        if !self.slow_start.exits_by_md() {
            self.hold_off.start(path.nxt);
        }
        self.leave_at_cwnd(reason, path);
    }

    /// Ends the flow's own slow start with cwnd as it is.
    fn leave_at_cwnd(&mut self, reason: ExitReason, path: &PathView) {
        self.exit = Some(reason);
        self.avoid(path);
    }

    /// Starts congestion avoidance at the present cwnd.
    fn avoid(&mut self, path: &PathView) {
        self.ssthresh = self.cwnd;
        self.stage = Stage::CongestionAvoidance;
        self.avoidance.begin(self.cwnd, path);
    }

    /// The window, as the avoidance sees it.
    fn window(&self) -> Window {
        Window { cwnd: self.cwnd, ssthresh: self.ssthresh }
    }

    /// Takes the window that the avoidance has set. Slow start grows it from now on if it is below ssthresh.
    fn set_window(&mut self, window: Window, path: &PathView) {
        if window == self.window() {
            return;
        }
        self.cwnd = window.cwnd.max(self.mss);
        self.ssthresh = window.ssthresh;
        match (self.stage, self.window().in_slow_start()) {
            (Stage::CongestionAvoidance, true) => self.stage = Stage::BelowSsthresh,
            (Stage::SlowStart, false) => {
                self.exit = Some(ExitReason::Delay);
                self.stage = Stage::CongestionAvoidance;
                self.avoidance.begin(self.cwnd, path);
            }
            (Stage::AfterTimeout, false) => {
                self.stage = Stage::CongestionAvoidance;
                self.avoidance.begin(self.cwnd, path);
            }
            (Stage::BelowSsthresh, false) => self.stage = Stage::CongestionAvoidance,
            (Stage::SlowStart | Stage::AfterTimeout | Stage::BelowSsthresh, true)
            | (Stage::CongestionAvoidance, false) => {}
        }
    }

    /// Lets the avoidance set the window before and after the ACK grows it.
    fn steer(&mut self, ack: &AckSample, path: &PathView) {
        let mut window = self.window();
        let steered = self.avoidance.steer(&mut window, ack, path);
        self.set_window(window, path);
        match steered {
            Steered::Grow => self.grow(ack, path),
            Steered::Ungated => self.grow(&AckSample { growth_barred: !ack.may_raise, ..*ack }, path),
            Steered::Hold => self.grow(&AckSample { growth_barred: true, ..*ack }, path),
            Steered::Done => {}
        }
        let mut window = self.window();
        self.avoidance.settled(&mut window, ack, path);
        self.set_window(window, path);
    }

    /// Ends the flow's own slow start at a threshold that was known from the start. Returns what of the growth leads
    /// beyond it.
    fn reach_threshold(&mut self, path: &PathView) -> Bytes {
        let left = self.cwnd - self.ssthresh;
        self.cwnd = self.ssthresh;
        self.leave_at_cwnd(ExitReason::Threshold, path);
        left
    }

    /// Grows cwnd in slow start up to ssthresh. Returns the part of the ACK that is left to the avoidance.
    fn regrow(&mut self, ack: &AckSample, path: &PathView) -> Bytes {
        let left = match self.slow_start.regrow(self.cwnd, ack, path) {
            Regrowth::Leave => {
                self.ssthresh = self.cwnd;
                A::UNIT.counted(ack)
            }
            Regrowth::By(growth) => {
                let room = self.ssthresh.saturating_sub(self.cwnd);
                let grown = growth.min(room);
                self.cwnd += grown;
                growth - grown
            }
        };
        if self.cwnd >= self.ssthresh {
            if self.stage == Stage::AfterTimeout {
                self.avoidance.begin(self.cwnd, path);
            }
            self.stage = Stage::CongestionAvoidance;
        }
        left
    }

    /// Lets the ACK grow cwnd, with or without steering.
    fn progress(&mut self, ack: &AckSample, path: &PathView) {
        if A::STEERS {
            self.steer(ack, path);
        } else {
            self.grow(ack, path);
        }
    }

    /// Lets the ACK grow cwnd as far as the ACKs of a window as large as the largest `flight` would have
    /// (draft-ietf-ccwg-ratelimited-increase section 3). A larger cwnd stays.
    #[cold]
    fn progress_up_to(&mut self, flight: Bytes, ack: &AckSample, path: &PathView) {
        let limit = match self.stage {
            Stage::CongestionAvoidance => self.avoidance.limit(flight, ack, path),
            Stage::SlowStart | Stage::AfterTimeout | Stage::BelowSsthresh => self.slow_start.limit(flight),
        };
        let growth_barred = ack.growth_barred || self.cwnd >= limit;
        let limit = limit.max(self.cwnd);
        self.progress(&AckSample { growth_barred, ..*ack }, path);
        if self.cwnd > limit {
            self.cwnd = limit;
            self.avoidance.capped(limit);
        }
    }

    /// Answers the SCE of an ACK, and grows cwnd by it.
    fn grow(&mut self, ack: &AckSample, path: &PathView) {
        let mut sce = ack.ecn.sce.packets;
        let mut beyond = None;
        if self.stage == Stage::SlowStart {
            match self.slow_start.on_ack(&mut self.cwnd, ack, path) {
                SlowStartVerdict::Stay if self.cwnd >= self.ssthresh => {
                    beyond = Some(self.reach_threshold(path));
                }
                SlowStartVerdict::Stay | SlowStartVerdict::Respond => return,
                SlowStartVerdict::Exit(reason) => {
                    self.leave_slow_start(reason, ack.rtt, path);
                    if reason == ExitReason::Delay {
                        return;
                    }
                    if reason == ExitReason::Sce && self.sce_rules.halves_ssthresh {
                        let half = (self.cwnd / 2).max(self.min_cwnd);
                        self.on_sce(sce, path);
                        self.ssthresh = half;
                    }
                    // These SCE are answered: they take no place in the limiter.
                    sce = 0;
                }
                SlowStartVerdict::Leave(reason) => self.leave_at_cwnd(reason, path),
            }
        }
        if sce > 0 {
            self.on_sce(sce, path);
        }
        if self.sce_rules.spreads_ce && ack.ecn.ce.any() {
            self.spread_ce(ack.ecn.ce.packets, path);
        }
        let left = match (self.stage, beyond) {
            (Stage::AfterTimeout | Stage::BelowSsthresh, _) => self.regrow(ack, path),
            (_, Some(beyond)) => beyond,
            (Stage::SlowStart | Stage::CongestionAvoidance, None) => A::UNIT.counted(ack),
        };
        if ack.growth_barred || (ack.ecn.sce.any() && self.sce_rules.bars_growth) {
            self.avoidance.barred(path);
        } else if left > Bytes::ZERO {
            let floor = self.min_cwnd.min(self.cwnd);
            self.cwnd = self.avoidance.grow(self.cwnd, left, ack, path).max(floor);
        }
    }
}

impl<A: Avoidance> CongestionControl for Windowed<A> {
    fn needs(&self) -> Needs {
        self.needs
    }

    fn join(&mut self, subflow: Subflow) {
        self.avoidance.join(subflow);
    }

    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        if let Some(rtt) = ack.rtt {
            self.avoidance.sampled(rtt, path.now);
        }
        match ack.max_flight {
            _ if self.recovery.is_some() => self.recover(ack, path),
            None => self.progress(ack, path),
            Some(flight) => self.progress_up_to(flight, ack, path),
        }
    }

    fn on_delivery(&mut self, delivery: &Delivery, path: &PathView) {
        self.response.on_delivery(delivery, self.cwnd, path);
        self.avoidance.delivered(delivery, &self.window(), path);
    }

    fn is_conventional(&self) -> bool {
        self.response.is_conventional()
    }

    fn on_established(&mut self, path: &PathView) {
        let mut window = self.window();
        self.avoidance.established(&mut window, path);
        self.cwnd = window.cwnd.max(self.mss);
        self.ssthresh = window.ssthresh;
        if self.stage == Stage::SlowStart && !self.window().in_slow_start() {
            // A threshold that the first window has passed already: ssthresh stays as it is, as in Linux.
            self.exit = Some(ExitReason::Threshold);
            self.stage = Stage::CongestionAvoidance;
            self.avoidance.begin(self.cwnd, path);
        }
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        if self.stage == Stage::SlowStart {
            self.slow_start.on_sent(sent, path);
        }
    }

    fn on_lost(&mut self, segment: &LostSegment, _path: &PathView) {
        if let Some(recovery) = &mut self.recovery {
            recovery.on_lost(segment.payload);
            self.follow_recovery();
        }
    }

    fn on_state(&mut self, state: CaState, path: &PathView) {
        self.avoidance.state(state, path);
    }

    fn asks_reduction(&mut self) -> bool {
        self.avoidance.asks_reduction()
    }

    fn recovers_itself(&self) -> bool {
        self.recovery.is_some()
    }

    fn on_recovered(&mut self, path: &PathView) {
        // A reduction at once (RFC 8985 section 7.4.2) is over before its flight has arrived.
        if path.una >= self.hold_off.recover() {
            self.end_recovery(path);
        }
        let mut window = self.window();
        self.avoidance.recovered(&mut window, path);
        self.set_window(window, path);
    }

    fn on_cwnd_restart(&mut self, path: &PathView) {
        self.avoidance.restarted(path);
    }

    fn on_congestion(&mut self, event: &CongestionEvent, path: &PathView) -> bool {
        match event.trigger {
            Trigger::Ce => self.on_ce(event, path),
            Trigger::Loss => {
                self.on_loss(event, path);
                true
            }
            Trigger::Controller => {
                self.on_own_wish(path);
                true
            }
        }
    }

    /// RFC 5681 section 3.1: ssthresh is set once per episode (equation 4), and cwnd to one segment more than is in
    /// flight.
    fn on_rto(&mut self, new_episode: bool, path: &PathView) {
        self.end_recovery(path);
        if new_episode {
            self.init_undo();
            self.avoidance.congestion_event(&self.window(), path);
            let factor = self.response.loss(self.avoidance.md());
            let kept = self.avoidance.kept(self.loss_base(self.cwnd, path), factor, self.mss);
            self.ssthresh = kept.max(self.avoidance.least(self.min_cwnd, self.mss));
            self.avoidance.decreased(self.cwnd, self.ssthresh, factor, path);
            self.hold_off.start(path.nxt);
        }
        self.cwnd = path.in_flight + self.mss;
        self.stage = Stage::AfterTimeout;
        self.slow_start.timed_out(path);
        self.avoidance.clear_cwnd_cnt();
        let mut window = self.window();
        self.avoidance.timed_out(&mut window, new_episode, path);
        self.cwnd = window.cwnd.max(self.mss);
        self.ssthresh = window.ssthresh;
    }

    fn on_tx_start(&mut self, idle: Duration, path: &PathView) {
        self.avoidance.idled(idle, path);
    }

    fn on_cwnd_validation(&mut self, cwnd: Bytes, path: &PathView) {
        self.end_recovery(path);
        self.ssthresh = self.ssthresh.max(current_ssthresh(&self.avoidance, self.cwnd, self.mss));
        self.cwnd = cwnd.min(self.cwnd).max(self.mss);
        if self.stage == Stage::CongestionAvoidance && self.cwnd < self.ssthresh {
            self.stage = Stage::BelowSsthresh;
        }
    }

    /// Above a known threshold there is no slow start, so the threshold comes along.
    fn adopt_window(&mut self, cwnd: Bytes) {
        self.cwnd = cwnd.max(self.mss);
        if self.stage != Stage::SlowStart {
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
    }

    fn on_undo(&mut self, _path: &PathView) {
        self.undos += 1;
        let Some(undo) = self.undo.take() else { return };
        self.recovery = None;
        self.cwnd = self.cwnd.max(undo.cwnd);
        self.ssthresh = self.ssthresh.max(undo.ssthresh);
        self.stage = match undo.stage {
            Stage::CongestionAvoidance if self.cwnd < self.ssthresh => Stage::BelowSsthresh,
            stage => stage,
        };
        self.exit = undo.exit;
        self.avoidance.undone(undo.avoidance);
    }

    fn control(&self) -> Control {
        let phase = match self.stage {
            Stage::SlowStart | Stage::AfterTimeout | Stage::BelowSsthresh => Phase::SlowStart,
            Stage::CongestionAvoidance => Phase::CongestionAvoidance,
        };
        Control {
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            pacing: self.pacing(),
            send_quantum: None,
            app_limited: false,
            phase,
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing(&self) -> Pacing {
        match self.stage {
            Stage::SlowStart => self.slow_start.pacing(),
            Stage::AfterTimeout | Stage::BelowSsthresh | Stage::CongestionAvoidance => Pacing::Gain(1.0),
        }
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        self.exit
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.avoidance.probe(out);
        self.response.probe(out);
        out("stage", f64::from(self.stage as u8));
        // Slow start's numbers are no longer meaningful once it has ended.
        let in_slow_start = self.stage == Stage::SlowStart;
        self.slow_start.probe(&mut |name, value| out(name, if in_slow_start { value } else { f64::NAN }));
        // The end of the round in which no further response is made.
        out("recover_seq", self.hold_off.recover().get() as f64);
        out("undos", f64::from(self.undos));
        // What returns if the last losses turn out to have been none.
        let saved = self.undo.as_ref();
        let finite = |bytes: Bytes| if bytes == Bytes::MAX { f64::NAN } else { bytes.as_f64() };
        out("undo_cwnd_bytes", saved.map_or(f64::NAN, |undo| undo.cwnd.as_f64()));
        out("undo_ssthresh_bytes", saved.map_or(f64::NAN, |undo| finite(undo.ssthresh)));
    }
}
