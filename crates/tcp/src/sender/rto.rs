//! The timer, and the effects of its expiry: RFC 6298 section 5, RFC 5681 section 3.1; Linux `net/ipv4/tcp_timer.c`
//! and `tcp_enter_loss`; spec/congestion-control sections 1.3 and 1.12.
//!
//! As in Linux there is one timer with several meanings, and only the next deadline is kept: the retransmission
//! timeout, an earlier deadline (a tail loss probe, the end of RACK's reordering window), or the probe of a closed
//! window. Timers are exact; the tick is the granularity G of RFC 6298 and the shortest wait.

use windtunnel_cc::{CaState, LossFinder};
use windtunnel_units::{Bytes, Duration, Time};

use super::Sender;
use super::ack::Ack;
use super::detection::Detector;
use super::frto::Frto;
use super::scoreboard::{Amount, QueuedSegment};
use super::transmit::Forced;

/// What Linux adds to the waits of the reordering timer and of the loss probe (`TCP_TIMEOUT_MIN_US`).
pub(crate) const LEAST_TIMEOUT: Duration = Duration::from_millis(2);
/// Linux's shortest timeout for a receiver that seems to have reneged.
const LEAST_PATIENCE: Duration = Duration::from_millis(10);

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TimerKind {
    #[default]
    Retransmission,
    LossProbe,
    Reordering,
    WindowProbe,
}

/// The one timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) due: Time,
    pub(crate) kind: TimerKind,
}

impl Timer {
    pub(crate) const fn idle() -> Timer {
        Timer { due: Time::NEVER, kind: TimerKind::Retransmission }
    }

    #[inline]
    pub(crate) fn arm(&mut self, kind: TimerKind, due: Time) {
        *self = Timer { due, kind };
    }

    pub(crate) fn pending(&self, kind: TimerKind) -> bool {
        self.due != Time::NEVER && self.kind == kind
    }
}

/// The number of expiries.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backoff {
    /// Doublings of the timeout, until a round trip is sampled again (Karn).
    doublings: u32,
    /// Expiries since SND.UNA last moved.
    pub(crate) expiries: u32,
}

impl Backoff {
    /// SND.UNA moved.
    #[inline]
    pub(crate) fn progressed(&mut self) {
        self.expiries = 0;
    }

    /// A round trip was sampled.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.doublings = 0;
    }

    pub(crate) const fn doublings(self) -> u32 {
        self.doublings
    }

    fn expired(&mut self) {
        self.doublings = (self.doublings + 1).min(32);
        self.expiries += 1;
    }
}

impl Sender {
    /// The timeout with its back-off.
    #[inline]
    pub(super) fn timeout(&self) -> Duration {
        let doublings = self.backoff.doublings;
        if doublings == 0 {
            return self.rtt.rto();
        }
        (self.rtt.rto() * (1 << doublings)).min(self.params.rto_max)
    }

    /// When the timeout of the oldest outstanding segment ends, counted from its last transmission.
    pub(super) fn timeout_of_head(&self, now: Time) -> Time {
        let sent = self.board.head().and_then(|head| self.board.get(head)).map_or(now, QueuedSegment::sent);
        (sent + self.timeout()).max(now + self.params.tick)
    }

    /// Starts the retransmission timer from now; where another timer was pending, from the oldest transmission.
    pub(super) fn start_timer(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer = Timer::idle();
            return;
        }
        let due = if self.timer.pending(TimerKind::LossProbe) || self.timer.pending(TimerKind::Reordering) {
            self.timeout_of_head(now)
        } else {
            now + self.timeout()
        };
        self.timer.arm(TimerKind::Retransmission, due);
    }

    /// An ACK acknowledged data: the timer restarts.
    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time) {
        if !self.schedule_loss_probe(now, now + self.timeout()) {
            self.start_timer(now);
        }
    }

    /// New data left.
    #[expect(clippy::inline_always, reason = "on the way of every segment; a FIN alone calls it as well")]
    #[inline(always)]
    pub(super) fn start_timer_for_new_data(&mut self, first: bool, now: Time) {
        if self.timer.pending(TimerKind::Reordering) {
            return;
        }
        let limit = if first { now + self.timeout() } else { self.timeout_of_head(now) };
        if !self.schedule_loss_probe(now, limit) && (first || !self.timer.pending(TimerKind::Retransmission))
        {
            self.start_timer(now);
        }
    }

    /// The retransmission timer expired.
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.timer = Timer::idle();
        self.only_new = false;
        let Some(head) = self.board.head() else { return };
        if self.board.get(head).is_some_and(|head| head.end() <= self.window_end) {
            self.answer_timeout(now);
        }
        // A segment beyond the window is a probe: if the receiver did not take it, that says nothing about the path.
        self.backoff.expired();
        self.stats.rtos += 1;
        self.forced = Some(Forced::Head);
        self.timer.arm(TimerKind::Retransmission, now + self.timeout());
    }

    /// The ACK stops below SACKed data: the receiver may have dropped them. It gets half a round trip to correct
    /// this, not a whole timeout, before all data are sent again (Linux `tcp_check_sack_reneging`).
    pub(super) fn await_explanation(&mut self, now: Time) {
        let wait = (self.rtt.srtt() / 2).max(LEAST_PATIENCE);
        self.timer.arm(TimerKind::Retransmission, now + wait);
    }

    /// Everything counts as lost; cwnd becomes one segment more than RACK considers still in flight. ssthresh changes
    /// only if the data belong to no loss that was already answered.
    fn answer_timeout(&mut self, now: Time) {
        self.newly_lost = Bytes::ZERO;
        let reneged = self.board.head_is_sacked();
        if reneged {
            // The receiver dropped what it had reported (RFC 2018 section 8).
            self.board.forget_sack();
        }
        let new_episode = self.state <= CaState::Disorder
            || self.board.una() >= self.high_seq
            || (self.state == CaState::Loss && self.backoff.expiries == 0);
        // RFC 5682 section 3.1 step 1: not while a recovery is under way, except for expiries at the same SND.UNA.
        let detectable = self.state < CaState::Recovery || self.backoff.expiries > 0;
        self.board.forget_duplicate_acks();
        if self.state == CaState::Disorder {
            self.reordering.on_timeout_undetected(self.board.sacked().segments);
        }
        let lost = self.mark_timed_out(reneged, now);
        self.found_lost(lost.bytes, LossFinder::RetransmissionTimer, now);
        if let Some(rfc6675) = &mut self.rfc6675 {
            rfc6675.on_timeout();
        }
        if new_episode {
            self.undo.begin(self.board.una(), self.board.retransmitted().segments + self.tlp.copies());
            self.stats.loss_episodes += 1;
            let (cwnd, flight) = (self.cc.cwnd(), self.board.outstanding().bytes);
            if let Some(pipe) = &mut self.validation.pipe_ack {
                // Slow start finds the window again: there is no recovery that uses the amount in use.
                pipe.on_loss(cwnd, flight);
                pipe.on_recovered();
            }
        }
        let path = self.path(now);
        self.cc.on_rto(new_episode, &path);
        self.cwnd = self.cc.cwnd();
        self.validation.restart(now);
        self.set_state(CaState::Loss, now);
        self.timed_out = true;
        self.high_seq = self.board.nxt();
        self.recover = self.high_seq;
        self.frto = if self.params.frto && detectable { Frto::Armed } else { Frto::Off };
        self.tlp.clear();
        self.ecn.queue_cwr();
        self.update_own_rate();
    }

    /// RACK spares segments that were sent too recently (RFC 8985 section 6.3), unless the receiver reneged (Linux
    /// `tcp_timeout_mark_lost`).
    fn mark_timed_out(&mut self, reneged: bool, now: Time) -> Amount {
        let withheld = self.give_up_withheld();
        let marked = match self.detector {
            Detector::Rack if !reneged => self.rack.mark_timed_out(&mut self.board, now),
            _ => self.board.mark_all_lost(),
        };
        withheld + marked
    }

    /// RACK's reordering window ended.
    pub(super) fn on_reordering_timeout(&mut self, now: Time) {
        self.timer = Timer { kind: TimerKind::Reordering, ..Timer::idle() };
        self.newly_lost = Bytes::ZERO;
        let mut ack = Ack::of_timer(now, self.board.una());
        let detection = self.detect_by_rack(&ack);
        self.found_lost(detection.lost.bytes, LossFinder::ReorderingTimer, now);
        self.only_new = false;
        if !detection.lost.is_zero() && self.state != CaState::Recovery {
            self.enter_recovery(&mut ack);
            if self.window_is_its_own() {
                self.cwnd = self.cc.cwnd();
            } else {
                // The first retransmission leaves now; if a reduction already runs, cwnd stays as it is (Linux
                // `tcp_rack_reo_timeout`), and the lost segments make room in it.
                self.approach_target(1, false);
            }
        }
        self.update_own_rate();
        if detection.timer.is_none() {
            let due = self.timeout_of_head(now);
            self.timer.arm(TimerKind::Retransmission, if self.board.is_empty() { Time::NEVER } else { due });
        }
    }
}
