//! The states of congestion control and the transitions between them (step 6 of spec/congestion-control section 1.1;
//! Linux `net/ipv4/tcp_input.c`, `tcp_fastretrans_alert`).
//!
//! A reduction starts with the entry to CWR or Recovery, once per window of data: `high_seq` is SND.NXT then, and the
//! episode ends when it is acknowledged. From CWR to Recovery the reduction continues. A loss that is found in
//! Recovery is repaired, but causes no further reduction.

use windtunnel_cc::{CaState, CongestionEvent, Feedback, Trigger};
use windtunnel_units::{Bytes, Time};

use super::Sender;
use super::ack::Ack;
use super::classic::{Classic, Inflating};
use super::detection::Detector;
use super::frto::{Frto, FrtoVerdict};
use super::prr::{Progress, Prr};
use super::transmit::Forced;
use crate::params::Reduction;

impl Sender {
    /// Losses and transitions.
    #[inline]
    pub(super) fn process_state(&mut self, ack: &mut Ack) {
        let plain = !ack.ece && !ack.duplicate && ack.dsack.is_none();
        if self.state == CaState::Open && plain && self.nothing_amiss() {
            self.undo.settle();
            return;
        }
        self.process_doubt(ack);
        if ack.ece && self.ecn.takes_wrong_sum() {
            self.distrust(ack);
        }
    }

    /// The sum of nonces is wrong: the receiver conceals losses or marks, or acknowledges what has not arrived. The window has been
    /// reduced as for a mark; it falls to one segment, as if everything were lost. There is no ECE that CWR would answer.
    #[cold]
    fn distrust(&mut self, ack: &Ack) {
        self.stats.nonce_fail += 1;
        self.ecn.withdraw_cwr();
        self.lower_cwnd(self.mss, ack.now);
    }

    /// The ACK is not a plain one, or the sender is not in its undisturbed state.
    fn process_doubt(&mut self, ack: &mut Ack) {
        self.only_new = false;
        if ack.ece {
            self.undo.forbid();
        }
        if ack.advanced && self.board.head_is_sacked() {
            self.only_new = true;
            ack.restart_timer = false;
            return self.await_explanation(ack.now);
        }
        self.leave_finished(ack);
        if self.state == CaState::Recovery && self.awaits_more() {
            return;
        }
        match self.state {
            CaState::Recovery => self.go_on_recovering(ack),
            CaState::Loss => self.go_on_after_timeout(ack),
            CaState::Open | CaState::Disorder | CaState::Cwr => self.watch(ack),
        }
    }

    /// CWR and Recovery end when `high_seq` is acknowledged.
    fn leave_finished(&mut self, ack: &Ack) {
        let una = self.board.una();
        match self.state {
            // Beyond `high_seq`: only then has CWR arrived, which the first new segment carried.
            CaState::Cwr if una > self.high_seq => {
                self.validation.restart(ack.now);
                self.keep_open(ack.now);
            }
            CaState::Recovery if una >= self.high_seq => {
                if self.needless_by_dsack() || self.original_arrived(ack) {
                    self.undo_reduction(ack);
                    self.board.forget_duplicate_acks();
                    return self.keep_open(ack.now);
                }
                if self.awaits_more() {
                    return self.board.forget_duplicate_acks();
                }
                self.leave_recovery(ack);
                self.deflate(ack);
            }
            _ => {}
        }
    }

    /// Without SACK, Linux stays in Recovery or Loss until more than the episode's data is acknowledged, so that late
    /// duplicate ACKs do not start another episode (`tcp_is_non_sack_preventing_reopen`).
    fn awaits_more(&self) -> bool {
        self.detector == Detector::DuplicateAcks(Classic::Linux)
            && self.state >= CaState::Recovery
            && self.board.una() == self.high_seq
    }

    /// The loss is repaired, and cwnd is at its target.
    fn leave_recovery(&mut self, ack: &Ack) {
        self.board.forget_duplicate_acks();
        self.rack.on_recovery_exit();
        if self.state == CaState::Recovery {
            self.validation.restart(ack.now);
        }
        self.keep_open(ack.now);
        if let Some(cwnd) = self.validation.pipe_ack.as_mut().and_then(|pipe| pipe.on_recovered())
            && cwnd < self.cc.cwnd()
        {
            self.lower_cwnd(cwnd.max(self.mss), ack.now);
        }
    }

    /// No segment is SACKed, lost, or sent again and still out.
    #[inline]
    pub(super) fn nothing_amiss(&self) -> bool {
        self.board.sacked().is_zero() && self.board.lost().is_zero() && self.board.retransmitted().is_zero()
    }

    /// Open, or Disorder if a segment is still SACKed or sent again. An episode under way is over.
    fn keep_open(&mut self, now: Time) {
        let state = if self.nothing_amiss() { CaState::Open } else { CaState::Disorder };
        if self.state >= CaState::Cwr {
            let path = self.path(now);
            self.cc.on_recovered(&path);
        }
        if self.state != state {
            self.set_state(state, now);
        }
    }

    /// Changes the state, which the controller may want to know.
    pub(super) fn set_state(&mut self, state: CaState, now: Time) {
        if self.needs.states {
            let path = self.path(now);
            self.cc.on_state(state, &path);
        }
        self.state = state;
    }

    /// In Recovery: a partial ACK, or one that brings no progress.
    fn go_on_recovering(&mut self, ack: &mut Ack) {
        if ack.advanced {
            if self.detector == Detector::DuplicateAcks(Classic::Reno) {
                return self.leave_recovery(ack);
            }
            if self.detector == Detector::DuplicateAcks(Classic::Newreno) && self.partial_acked {
                // "Impatient": only the first partial ACK restarts the timer (RFC 6582 section 4).
                ack.restart_timer = false;
            }
            self.partial_acked = true;
            if self.original_arrived(ack) {
                self.learn_lateness(ack);
                if !self.board.retransmitted().is_zero() {
                    // Retransmissions are still out: no segment is marked lost or sent again until the next ACK.
                    self.only_new = true;
                    return;
                }
                self.unmark_lost();
                self.undo_reduction(ack);
                self.keep_open(ack.now);
            }
        }
        if self.needless_by_dsack() {
            self.rack.on_recovery_revoked();
            self.undo_reduction(ack);
            self.keep_open(ack.now);
        }
        self.detect_losses(ack);
        if self.state != CaState::Recovery && !self.board.lost().is_zero() {
            self.enter_recovery(ack);
        }
    }

    /// In Loss: decides whether the timeout was spurious, whether Loss is over, and whether retransmissions were lost
    /// too.
    fn go_on_after_timeout(&mut self, ack: &mut Ack) {
        if ack.advanced && (self.needless_by_dsack() || self.original_arrived(ack)) {
            return self.timeout_was_spurious(ack, false);
        }
        let verdict = self.frto_verdict(ack);
        if verdict == FrtoVerdict::Spurious {
            return self.timeout_was_spurious(ack, true);
        }
        if verdict == FrtoVerdict::Continue && self.board.una() >= self.high_seq {
            if self.awaits_more() {
                return;
            }
            self.frto = Frto::Off;
            self.leave_recovery(ack);
            return self.watch(ack);
        }
        if verdict == FrtoVerdict::Continue && ack.advanced && !self.params.sack {
            // Later duplicate ACKs answer retransmissions.
            self.board.forget_duplicate_acks();
        }
        let out = self.board.retransmitted().segments;
        self.detect_losses(ack);
        if self.detector == Detector::Rack && self.board.retransmitted().segments < out {
            // Congestion again, so one more reduction (Linux `tcp_fastretrans_alert`).
            self.enter_recovery(ack);
        }
    }

    /// The flight was only late: continue as if the timer had not expired. Without SACK, Linux leaves Loss only on
    /// F-RTO's proof, because late duplicate ACKs of the flight could otherwise look like a loss
    /// (`tcp_try_undo_loss`).
    fn timeout_was_spurious(&mut self, ack: &mut Ack, by_frto: bool) {
        self.stats.spurious_rtos += u32::from(self.timed_out);
        self.timed_out = false;
        self.backoff.progressed();
        self.unmark_lost();
        self.undo_reduction(ack);
        let stays = !by_frto && self.detector == Detector::DuplicateAcks(Classic::Linux);
        if stays || self.awaits_more() {
            return;
        }
        self.frto = Frto::Off;
        self.keep_open(ack.now);
        self.watch(ack);
    }

    /// In Open, Disorder or CWR: checks for losses and marks.
    fn watch(&mut self, ack: &mut Ack) {
        if !self.params.sack && ack.advanced {
            self.board.forget_duplicate_acks();
        }
        if self.state <= CaState::Disorder && self.needless_by_dsack() {
            self.rack.on_recovery_revoked();
            self.undo_reduction(ack);
        }
        self.detect_losses(ack);
        if !self.board.lost().is_zero() {
            return match self.detector {
                Detector::DuplicateAcks(Classic::Tahoe) => self.enter_tahoe(ack),
                _ => self.enter_recovery(ack),
            };
        }
        if self.state == CaState::Cwr {
            return;
        }
        self.keep_open(ack.now);
        if !self.board.awaits_retransmission() {
            self.undo.settle();
        }
        if ack.ece {
            self.enter_cwr(ack, Trigger::Ce);
        }
    }

    /// A segment is lost: one reduction, unless one is running.
    pub(super) fn enter_recovery(&mut self, ack: &mut Ack) {
        if !self.board.awaits_retransmission() {
            self.undo.settle();
        }
        self.undo.begin(self.board.una(), self.board.retransmitted().segments + self.tlp.copies());
        if ack.ece || self.state == CaState::Cwr {
            self.undo.forbid();
        }
        if self.state != CaState::Cwr {
            let reduced = self.reduce_for_loss(ack);
            self.begin_episode(ack, reduced);
        } else if self.needs.loss_after_ce {
            // Of the window that is in force, halfway in the answer to CE (Linux `dctcp_react_to_loss`).
            let event = self.congestion(Trigger::Loss, self.cwnd, ack);
            let path = self.path(ack.now);
            self.cc.on_congestion(&event, &path);
        }
        self.set_state(CaState::Recovery, ack.now);
        self.frto = Frto::Off;
        self.recover = self.board.nxt();
        self.partial_acked = false;
        self.inflating = Inflating::at_entry(&self.board);
        if let Some(rfc6675) = &mut self.rfc6675 {
            rfc6675.enter_recovery(&self.board);
        }
        self.stats.loss_episodes += 1;
        if self.detector != Detector::Rack && self.reduction() == Reduction::None {
            // Regardless of what is in flight (RFC 5681 section 3.2 step 3, RFC 6675 section 5 step 4.3); PRR handles
            // that itself.
            self.forced = Some(Forced::Head);
        }
    }

    /// Tells the controller of a loss and keeps the previous cwnd for the reduction. True if cwnd is reduced.
    #[must_use = "CWR announces a reduction, so that one that is none must not send it"]
    pub(super) fn reduce_for_loss(&mut self, ack: &Ack) -> bool {
        self.prr = Prr::new(self.reduction(), self.cwnd / self.mss);
        let before = self.cc.cwnd();
        let event = self.congestion(Trigger::Loss, before, ack);
        let path = self.path(ack.now);
        let responded = self.cc.on_congestion(&event, &path);
        let flight = self.board.outstanding().bytes;
        if let Some(used) = self.validation.pipe_ack.as_mut().and_then(|pipe| pipe.on_loss(before, flight))
            && used < self.cc.cwnd()
        {
            self.lower_cwnd(used.max(self.mss), ack.now);
            return true;
        }
        responded
    }

    fn congestion(&self, trigger: Trigger, window: Bytes, ack: &Ack) -> CongestionEvent {
        CongestionEvent { trigger, window, lost: self.newly_lost, rtt: ack.rtt }
    }

    /// Starts the reduction that the controller asked for, unless one is running.
    #[cold]
    pub(super) fn reduce_on_request(&mut self, ack: &mut Ack) {
        if self.cc.asks_reduction() && self.state < CaState::Cwr {
            self.enter_cwr(ack, Trigger::Controller);
        }
    }

    /// CE was echoed, or the controller asks: one reduction per window, if the controller answers.
    fn enter_cwr(&mut self, ack: &mut Ack, trigger: Trigger) {
        let prr = Prr::new(self.reduction(), self.cwnd / self.mss);
        let event = self.congestion(trigger, self.cc.cwnd(), ack);
        let path = self.path(ack.now);
        if !self.cc.on_congestion(&event, &path) {
            return;
        }
        self.prr = prr;
        self.undo.clear();
        self.begin_episode(ack, true);
        self.set_state(CaState::Cwr, ack.now);
        // Linux enters CWR for a controller that does not answer CE too, and nothing is reduced.
        let answered = trigger == Trigger::Ce && self.needs.feedback != Feedback::None;
        self.stats.ecn_reductions += u64::from(answered);
    }

    /// An episode starts. If cwnd is `reduced`, CWR tells the peer (RFC 3168 section 6.1.2); a controller may have
    /// its own reasons to keep cwnd.
    fn begin_episode(&mut self, ack: &mut Ack, reduced: bool) {
        self.high_seq = self.board.nxt();
        self.tlp.clear();
        if reduced {
            self.ecn.queue_cwr();
        }
        ack.reduction_began = true;
    }

    /// A tail loss probe repaired a loss: one reduction, at once (RFC 8985 section 7.4.2). The episode starts as CWR and is over with the
    /// same ACK, and the controller hears of both (Linux `tcp_process_tlp_ack`).
    pub(super) fn reduce_at_once(&mut self, ack: &Ack) {
        self.undo.clear();
        let reduced = self.reduce_for_loss(ack);
        self.high_seq = self.board.nxt();
        if reduced {
            self.ecn.queue_cwr();
        }
        self.stats.loss_episodes += 1;
        self.set_state(CaState::Cwr, ack.now);
        self.validation.restart(ack.now);
        self.keep_open(ack.now);
        self.cwnd = self.cc.cwnd();
    }

    /// The window in force after an ACK (step 8): PRR's while a reduction runs, else the controller's. An ACK that
    /// delivers nothing does not advance a reduction, not even one that starts with it (Linux `tcp_cwnd_reduction`).
    #[inline]
    pub(super) fn update_window(&mut self, ack: &Ack) {
        if !self.state.is_reducing() || self.window_is_its_own() {
            self.cwnd = self.cc.cwnd();
        } else if !ack.delivered.is_zero() || (ack.reduction_began && self.reduction() == Reduction::None) {
            self.approach_target(ack.delivered.segments, ack.advanced);
        }
    }

    /// True if the controller alone decides the window, always or in this reduction.
    pub(super) fn window_is_its_own(&self) -> bool {
        self.needs.own_window || self.cc.recovers_itself()
    }

    /// One step of the reduction.
    pub(super) fn approach_target(&mut self, delivered: u64, advanced: bool) {
        let target = self.cc.cwnd();
        let in_flight = self.board.in_flight().segments;
        let safe = advanced && self.newly_lost == Bytes::ZERO;
        let progress = Progress { delivered, in_flight, safe };
        self.cwnd = self.mss * self.prr.on_ack(progress, (target / self.mss).max(1));
    }

    /// Reno and RFC 6582 do not reduce in steps.
    fn reduction(&self) -> Reduction {
        match self.detector {
            Detector::DuplicateAcks(Classic::Linux) | Detector::Rack | Detector::Rfc6675 => {
                self.params.reduction
            }
            Detector::DuplicateAcks(_) => Reduction::None,
        }
    }
}
