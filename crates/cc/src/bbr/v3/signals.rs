//! What delivery and loss say about the path: rounds, bandwidth, the bounds of the short term, aggregation, and whether
//! the path is full (draft-ietf-ccwg-bbr-06 sections 5.3.1, 5.5.9 and 5.5.10).

use windtunnel_units::{Bytes, Time};

use super::controller::{Bbr3, Mode};
use super::model::{Bounds, Found, Undo, delivery_rate};
use crate::control::ExitReason;
use crate::sample::{AckSample, LostSegment, PathView};

/// The rounds for which aggregation counts; in Startup, where the bandwidth is out of date soon, one.
const AGGREGATION_ROUNDS: u32 = 10;

impl Bbr3 {
    /// Steps 1 to 3: the latest signals, the round, the bandwidth, and once per loss round the bounds.
    pub(super) fn update_signals(&mut self, ack: &AckSample) {
        (self.round.start, self.signals.loss_round_start) = (false, false);
        let Some(sample) = &ack.rate else { return };
        self.signals.update_latest(sample, ack.delivered);
        self.round.update(sample.departure.delivered, ack.delivered);
        self.probe_bw.rounds_since_up += u64::from(self.round.start);
        self.update_ecn(ack);
        if !self.discards_rates() {
            self.max_bw.update(delivery_rate(sample), sample.departure.app_limited);
        }
        if self.signals.loss_round_start {
            if !self.mode.probes() {
                self.adapt_lower_bounds();
            }
            self.signals.is_loss_in_round = false;
            self.ecn.start_round();
        }
    }

    /// After a round with losses, what was delivered remains, and at least beta of what was allowed; after one with marks, less of what was
    /// allowed in flight. The lower of the two counts.
    fn adapt_lower_bounds(&mut self) {
        let marks_leave = self.ecn.kept();
        if !self.signals.is_loss_in_round && marks_leave.is_none() {
            return;
        }
        let Bounds { bw_shortterm, inflight_shortterm, .. } = self.bounds;
        // Only a bound that is not set yet starts from the model: a timeout's cwnd does not lower one that is.
        let set_or = |bound: f64, start: f64| if bound.is_finite() { bound } else { start };
        let (bw, inflight) = (set_or(bw_shortterm, self.max_bw()), set_or(inflight_shortterm, self.cwnd));
        let after_marks = marks_leave.map_or(f64::INFINITY, |kept| kept * inflight);
        let mut after_losses = f64::INFINITY;
        if self.signals.is_loss_in_round {
            self.bounds.bw_shortterm = self.signals.bw_latest.max(self.rules.beta * bw);
            after_losses = self.signals.inflight_latest.max(self.rules.beta * inflight);
        }
        self.bounds.inflight_shortterm = after_losses.min(after_marks);
    }

    /// The signals of the next loss round start with this sample.
    pub(super) fn advance_latest_delivery_signals(&mut self, ack: &AckSample) {
        if let Some(sample) = ack.rate.as_ref().filter(|_| self.signals.loss_round_start) {
            self.signals.advance_latest(sample);
            self.ce.in_round = false;
        }
    }

    pub(super) fn reset_congestion_signals(&mut self) {
        self.signals.reset();
        self.ecn.start_cycle();
    }

    pub(super) fn note_loss(&mut self, segment: &LostSegment) {
        self.ecn.loss_in_cycle = true;
        self.note_loss_round();
        self.signals.count_lost(segment);
    }

    /// The first loss of a round starts a loss round; what the bounds were is kept.
    pub(super) fn note_loss_round(&mut self) {
        if !self.signals.is_loss_in_round {
            self.signals.is_loss_in_round = true;
            self.signals.loss_round_delivered = self.delivered;
            if !self.rules.linux_signals {
                self.save_for_undo(self.present_state());
                self.found = Found::InNewRound;
            }
        } else if matches!(self.found, Found::None) {
            self.found = Found::InOldRound(self.present_state());
        }
    }

    /// `SaveStateUponLoss`, but for the window.
    fn save_for_undo(&mut self, state: Undo) {
        self.undo = Some(state);
        self.undo_saves += 1;
    }

    /// What is saved.
    const fn present_state(&self) -> Undo {
        Undo { bounds: self.bounds, state: None }
    }

    /// Losses end a mode: it returns if they were none. It does not return from a transition with another cause, for which a
    /// late segment is no excuse.
    pub(super) fn ended_by_loss(&mut self, mode: Mode) {
        if self.rules.linux_signals {
            return;
        }
        if let Some(undo) = &mut self.undo {
            undo.state = Some(mode);
        }
        if let Found::InOldRound(before) = &mut self.found {
            before.state = Some(mode);
        }
    }

    /// The sender answers losses, or CE: what returns after it is saved. The draft's recovery starts before its losses are handled.
    pub(super) fn start_recovery(&mut self, lost: bool) {
        self.save_cwnd();
        if self.rules.linux_signals {
            self.save_for_undo(self.present_state());
        } else if lost {
            match std::mem::replace(&mut self.found, Found::None) {
                Found::InOldRound(before) => self.save_for_undo(before),
                Found::InNewRound => {}
                Found::None => self.save_for_undo(self.present_state()),
            }
        }
    }

    /// Step 4: what ACKs deliver beyond the bandwidth.
    pub(super) fn update_ack_aggregation(&mut self, ack: &AckSample, now: Time) {
        let delivered = ack.newly_delivered.as_f64();
        if delivered <= 0.0 || ack.rate.is_none() {
            return;
        }
        let excess = self.extra_acked.excess(delivered, self.bw(), now).clamp(0.0, self.cwnd);
        let window = if self.full_bw.reached { AGGREGATION_ROUNDS } else { 1 };
        self.extra_acked.filter.update(excess as u64, self.round.count as u32, window);
    }

    /// Step 5: a plateau of the bandwidth.
    pub(super) fn check_full_bw_reached(&mut self, ack: &AckSample) {
        let Some(sample) = &ack.rate else { return };
        if self.full_bw.now || !self.round.start || sample.departure.app_limited {
            return;
        }
        self.full_bw.check(delivery_rate(sample));
    }

    /// Startup ends with a plateau, or when a round of a recovery loses too much in several places.
    pub(super) fn check_startup(&mut self, ack: &AckSample, path: &PathView) {
        if self.mode != Mode::Startup {
            return;
        }
        let mut reason = ExitReason::Other("bandwidth plateau");
        if !self.full_bw.reached && self.loses_too_much(ack) {
            reason = if self.ce.in_round { ExitReason::Ce } else { ExitReason::Other("loss rate") };
            if !self.ce.in_round {
                self.ended_by_loss(Mode::Startup);
            }
            self.leave_full_startup();
        }
        if self.full_bw.reached {
            self.enter_drain(reason, ack, path);
        }
    }

    /// Startup ends.
    pub(super) fn enter_drain(&mut self, reason: ExitReason, ack: &AckSample, path: &PathView) {
        self.exit.get_or_insert(reason);
        self.mode = Mode::Drain;
        self.drain_start_round = Some(self.round.count);
        // The losses and marks of Startup say nothing of what Drain leaves.
        if self.rules.linux_signals {
            self.reset_congestion_signals();
        }
        self.update_gains();
        self.check_drain(ack, path);
    }

    /// Startup has filled the queue: the amount delivered of it is the long-term bound.
    pub(super) fn leave_full_startup(&mut self) {
        self.full_bw.reached = true;
        self.bounds.inflight_longterm = self.bdp(self.max_bw()).max(self.signals.inflight_latest);
    }

    /// More than the threshold is lost in a whole round of a recovery, in several ranges; without SACK, anything. A round
    /// since the first mark is over when its loss round is.
    fn loses_too_much(&self, ack: &AckSample) -> bool {
        if self.sees_one_loss {
            return self.recovery.state.is_reducing() && self.is_inflight_too_high(ack);
        }
        if !self.signals.loss_round_start {
            return false;
        }
        let in_recovery = self.recovery.state.is_reducing() && self.round.count > self.recovery.round;
        let in_ranges = self.signals.lost_ranges >= self.rules.startup_losses;
        self.ce.is_too_much()
            || (in_recovery || self.ce.in_round) && in_ranges && self.is_inflight_too_high(ack)
    }

    /// More than the threshold was lost of what was in flight when the sampled segment left (without SACK, anything), or
    /// marked of what was delivered since.
    pub(super) fn is_inflight_too_high(&self, ack: &AckSample) -> bool {
        ack.rate.is_some_and(|sample| {
            let lost = (sample.lost + self.marked_as_lost()).as_f64();
            self.is_above_threshold(lost, sample.departure.in_flight.as_f64())
                || self.sees_one_loss && sample.lost > Bytes::ZERO
                || self.ce.is_too_much()
                || self.ecn.is_too_high(sample.delivered)
        })
    }
}
