//! What delivery and loss say about the path: rounds, bandwidth, the bounds of the short term, aggregation, and whether
//! the path is full.

use windtunnel_units::Time;

use super::controller::{Bbr3, Bounds, Mode, Undo};
use crate::control::ExitReason;
use crate::sample::{AckSample, LostSegment, PathView};

/// The bandwidth grows if it does by a quarter; three rounds without are a plateau.
const GROWTH: f64 = 1.25;
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// The rounds for which aggregation counts; in Startup, where the bandwidth is out of date soon, one.
const AGGREGATION_ROUNDS: u32 = 10;

impl Bbr3 {
    /// Steps 1 to 3: the latest signals, the round, the bandwidth, and once per loss round the bounds.
    pub(super) fn update_signals(&mut self, ack: &AckSample) {
        (self.round_start, self.loss_round_start) = (false, false);
        let Some(sample) = &ack.rate else { return };
        let rate = sample.rate.bits_per_sec() as f64 / 8.0;
        self.bw_latest = self.bw_latest.max(rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered.as_f64());
        if sample.departure.delivered >= self.loss_round {
            self.loss_round = ack.delivered;
            self.loss_round_start = true;
        }
        if sample.departure.delivered >= self.next_round {
            self.next_round = ack.delivered;
            self.round_start = true;
            self.rounds += 1;
            self.rounds_since_probe += 1;
        }
        self.update_ecn(ack);
        if rate >= self.max_bw() || !sample.departure.app_limited {
            self.max_bw[0] = self.max_bw[0].max(rate);
        }
        if self.loss_round_start {
            if !self.mode.probes() {
                self.lower_bounds();
            }
            self.loss_in_round = false;
            self.ecn.start_round();
        }
    }

    /// After a round with losses, what was delivered remains, and at least beta of what was allowed; after one with marks, less of what was
    /// allowed in flight. The lower of the two counts.
    fn lower_bounds(&mut self) {
        let marks_leave = self.ecn.kept();
        if !self.loss_in_round && marks_leave.is_none() {
            return;
        }
        let Bounds { bw, short, .. } = self.bounds;
        let (bw, short) = (bw.min(self.max_bw()), short.min(self.cwnd));
        let after_marks = marks_leave.map_or(f64::INFINITY, |kept| kept * short);
        let mut after_losses = f64::INFINITY;
        if self.loss_in_round {
            self.bounds.bw = self.bw_latest.max(self.rules.beta * bw);
            after_losses = self.inflight_latest.max(self.rules.beta * short);
        }
        self.bounds.short = after_losses.min(after_marks);
    }

    /// The signals of the next loss round start with this sample.
    pub(super) fn advance_signals(&mut self, ack: &AckSample) {
        if let Some(sample) = ack.rate.filter(|_| self.loss_round_start) {
            self.bw_latest = sample.rate.bits_per_sec() as f64 / 8.0;
            self.inflight_latest = sample.delivered.as_f64();
            self.lost_ranges = 0;
            self.ce.in_round = false;
        }
    }

    pub(super) fn reset_signals(&mut self) {
        self.loss_in_round = false;
        self.ecn.start_cycle();
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub(super) fn forget_short_term(&mut self) {
        self.bounds.bw = f64::INFINITY;
        self.bounds.short = f64::INFINITY;
    }

    pub(super) fn note_loss(&mut self, segment: &LostSegment) {
        self.ecn.loss_in_cycle = true;
        self.note_loss_round();
        if segment.seq != self.lost_until {
            self.lost_ranges += 1;
        }
        self.lost_until = segment.seq + segment.payload;
    }

    /// The first loss of a round starts a loss round; what the bounds were is kept.
    pub(super) fn note_loss_round(&mut self) {
        if !self.loss_in_round {
            self.loss_in_round = true;
            self.loss_round = self.delivered;
            if !self.rules.linux_signals {
                self.save_for_undo();
            }
        }
    }

    fn save_for_undo(&mut self) {
        self.undo = Some(Undo { bounds: self.bounds, ended: None });
    }

    /// Losses end a mode: it returns if they were none. It does not return from a transition with another cause, for which a
    /// late segment is no excuse.
    pub(super) fn ended_by_loss(&mut self, mode: Mode) {
        if let Some(undo) = self.undo.as_mut().filter(|_| !self.rules.linux_signals) {
            undo.ended = Some(mode);
        }
    }

    /// The sender answers losses, or CE: what returns after it is saved.
    pub(super) fn start_recovery(&mut self) {
        self.save_cwnd();
        if self.rules.linux_signals {
            self.save_for_undo();
        }
    }

    /// Step 4: what ACKs deliver beyond the bandwidth.
    pub(super) fn update_aggregation(&mut self, ack: &AckSample, now: Time) {
        let delivered = ack.newly_delivered.as_f64();
        if delivered <= 0.0 || ack.rate.is_none() {
            return;
        }
        let mut expected = self.bw() * now.since(self.extra_since).as_secs_f64();
        if self.extra_delivered <= expected {
            self.extra_delivered = 0.0;
            self.extra_since = now;
            expected = 0.0;
        }
        self.extra_delivered += delivered;
        let extra = (self.extra_delivered - expected).clamp(0.0, self.cwnd);
        let window = if self.full_bw_reached { AGGREGATION_ROUNDS } else { 1 };
        self.extra_acked.update(extra as u64, self.rounds as u32, window);
    }

    pub(super) fn reset_full_bandwidth(&mut self) {
        self.full_bw = 0.0;
        self.full_bw_rounds = 0;
        self.full_bw_now = false;
    }

    /// Step 5: a plateau of the bandwidth.
    pub(super) fn check_full_bandwidth(&mut self, ack: &AckSample) {
        let Some(sample) = &ack.rate else { return };
        if self.full_bw_now || !self.round_start || sample.departure.app_limited {
            return;
        }
        let rate = sample.rate.bits_per_sec() as f64 / 8.0;
        if rate >= self.full_bw * GROWTH {
            self.reset_full_bandwidth();
            self.full_bw = rate;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_now = self.full_bw_rounds >= ROUNDS_WITHOUT_GROWTH;
        self.full_bw_reached |= self.full_bw_now;
    }

    /// Startup ends with a plateau, or when a round of a recovery loses too much in several places.
    pub(super) fn check_startup(&mut self, ack: &AckSample, path: &PathView) {
        if self.mode != Mode::Startup {
            return;
        }
        let mut reason = ExitReason::Other("bandwidth plateau");
        if !self.full_bw_reached && self.loses_too_much(ack) {
            reason = if self.ce.in_round { ExitReason::Ce } else { ExitReason::Other("loss rate") };
            if !self.ce.in_round {
                self.ended_by_loss(Mode::Startup);
            }
            self.leave_full_startup();
        }
        if self.full_bw_reached {
            self.exit.get_or_insert(reason);
            self.mode = Mode::Drain;
            self.drain_since = self.rounds;
            // The losses and marks of Startup say nothing of what Drain leaves.
            if self.rules.linux_signals {
                self.reset_signals();
            }
            self.update_gains();
            self.check_drain(path);
        }
    }

    /// Startup has filled the queue: the amount delivered of it is the long-term bound.
    pub(super) fn leave_full_startup(&mut self) {
        self.full_bw_reached = true;
        self.bounds.long = self.product(self.max_bw()).max(self.inflight_latest);
    }

    /// More than the threshold is lost in a whole round of a recovery, in several ranges. A round since the first mark is over when
    /// its loss round is.
    fn loses_too_much(&self, ack: &AckSample) -> bool {
        if !self.loss_round_start {
            return false;
        }
        let in_recovery = self.state.is_reducing() && self.rounds > self.recovery_round;
        let in_ranges = self.lost_ranges >= self.rules.startup_losses;
        self.ce.is_too_much() || (in_recovery || self.ce.in_round) && in_ranges && self.is_too_high(ack)
    }

    /// More than the threshold was lost of what was in flight when the sampled segment left, or marked of what was delivered
    /// since.
    pub(super) fn is_too_high(&self, ack: &AckSample) -> bool {
        ack.rate.is_some_and(|sample| {
            (sample.lost + self.marked_as_lost()).as_f64()
                > self.rules.loss_threshold * sample.departure.in_flight.as_f64()
                || self.ce.is_too_much()
                || self.ecn.is_too_high(sample.delivered)
        })
    }
}
