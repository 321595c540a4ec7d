//! The cycle of `ProbeBW`: down, cruise, refill, up; and the long-term bound, which probes find (steps 5 to 8).
//!
//! draft-ietf-ccwg-bbr-06 sections 5.3.2 (Drain), 5.3.3 (`ProbeBW`) and 5.5.10.2 (losses of a probe).

use windtunnel_units::{Bytes, Duration, Time};

use super::controller::{Bbr3, Mode};
use super::ecn::reprobe_rounds;
use super::model::{AckPhase, MOST_DOUBLINGS, delivery_rate};
use super::params::TextPoint;
use crate::sample::{AckSample, LostSegment, PathView};

/// The pause between probes: this, and up to a second more, so that flows do not probe together (section 5.3.3.8).
const LEAST_WAIT: Duration = Duration::from_secs(2);
const WAIT_SPREAD: Duration = Duration::SECOND;
/// Reno recovers its window of W segments in W rounds: as many may pass between probes, but not more than this.
const MOST_ROUNDS: f64 = 63.0;
/// The probe of version 2 puts this many products in flight.
const PROBE: f64 = 1.25;

impl Bbr3 {
    /// Drain ends when the queue is gone, or after some rounds: the bandwidth may have fallen.
    pub(super) fn check_drain(&mut self, ack: &AckSample, path: &PathView) {
        if self.mode != Mode::Drain {
            return;
        }
        let rounds = self.drain_start_round.map_or(0, |start| self.round.count - start);
        let too_long = self.rules.drain_rounds.is_some_and(|most| rounds > most);
        if too_long || self.has_drained(ack, path) {
            self.start_probe_bw_down(path.now);
        }
    }

    fn has_drained(&self, ack: &AckSample, path: &PathView) -> bool {
        if self.rules.in_flight_at_departure {
            let in_flight = self.in_flight_at_departure(path.in_flight, ack, path);
            return in_flight <= self.inflight(self.max_bw(), 1.0);
        }
        path.in_flight.as_f64() <= self.inflight(self.bw(), 1.0)
    }

    /// How much of `in_flight` is left when pacing lets the next segment leave. A burst that is to raise the amount counts.
    fn in_flight_at_departure(&self, in_flight: Bytes, ack: &AckSample, path: &PathView) -> f64 {
        let wait = ack.next_departure.since(path.now);
        let burst = if self.pacing_gain > 1.0 { self.send_quantum() } else { 0.0 };
        (in_flight.as_f64() + burst - self.bw() * wait.as_secs_f64()).max(0.0)
    }

    /// What the rules of `ProbeBW` compare with the bounds.
    fn in_flight_while_cycling(&self, ack: &AckSample, path: &PathView) -> f64 {
        if self.rules.in_flight_at_departure {
            self.in_flight_at_departure(ack.prior_in_flight, ack, path)
        } else {
            path.in_flight.as_f64()
        }
    }

    /// Steps 6 to 8.
    pub(super) fn update_cycle(&mut self, ack: &AckSample, path: &PathView) {
        if !self.full_bw.reached {
            return;
        }
        if self.round.start && self.probe_bw.ack_phase == AckPhase::ProbeStopping && self.end_probe(ack) {
            // Refill takes the round that starts now.
            return;
        }
        self.adapt_long_term_model(ack, path);
        match self.mode {
            Mode::Down => {
                if let Some(doublings) = self.probe_due(path) {
                    self.start_probe_bw_refill(doublings);
                } else if self.is_time_to_cruise(ack, path) {
                    self.start_probe_bw_cruise();
                }
            }
            Mode::Cruise => {
                if let Some(doublings) = self.probe_due(path) {
                    self.start_probe_bw_refill(doublings);
                }
            }
            Mode::Refill if self.round.start => {
                self.probe_bw.is_sample = true;
                self.start_probe_bw_up(ack, path);
            }
            Mode::Up => self.go_on_probing(ack, path),
            _ => {}
        }
    }

    /// What the probe's ACKs say about the long-term bound.
    fn adapt_long_term_model(&mut self, ack: &AckSample, path: &PathView) {
        if self.round.start && self.probe_bw.ack_phase == AckPhase::ProbeStarting {
            self.probe_bw.ack_phase = AckPhase::ProbeFeedback;
        }
        let Some(sample) = &ack.rate else { return };
        if self.is_inflight_too_high(ack) {
            if self.rules.acks_show_loss && self.probe_bw.is_sample {
                let at_loss = sample.departure.in_flight.as_f64();
                self.handle_inflight_too_high(at_loss, sample.departure.app_limited, path);
            }
            return;
        }
        if self.bounds.inflight_longterm.is_infinite() {
            return;
        }
        self.bounds.inflight_longterm =
            self.bounds.inflight_longterm.max(sample.departure.in_flight.as_f64());
        if self.mode == Mode::Up {
            self.probe_inflight_longterm_upward(ack);
        }
    }

    /// The last ACK of a probe: its bandwidth is that of a whole cycle, and the older one is forgotten. Returns whether the
    /// next probe follows at once.
    fn end_probe(&mut self, ack: &AckSample) -> bool {
        self.probe_bw.is_sample = false;
        self.probe_bw.ack_phase = AckPhase::Init;
        if !self.mode.cycles() {
            return false;
        }
        let limited = ack.rate.is_some_and(|sample| sample.departure.app_limited);
        if !limited {
            self.max_bw.advance();
        }
        let again = self.probe_bw.prev_precautionary && !self.probe_bw.prev_too_high;
        if again {
            self.start_probe_bw_refill(0);
        }
        again
    }

    /// The window is full up to the bound, and nothing is lost: the bound grows by a segment, then two, four in each round.
    fn probe_inflight_longterm_upward(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        self.bounds.inflight_longterm +=
            self.probe_bw.segments_of_growth(ack.newly_delivered.as_f64()) * self.mss;
        if self.round.start {
            self.probe_bw.raise_slope(self.cwnd, self.mss);
        }
    }

    /// A lost segment of a probe: whether what was in flight was too much, and how much of it was not.
    pub(super) fn handle_lost_packet(&mut self, segment: &LostSegment, path: &PathView) {
        let lost = (segment.lost_since_departure() + self.marked_as_lost()).as_f64();
        let (in_flight, size) = (segment.departure.in_flight.as_f64(), segment.payload.as_f64());
        if !self.sees_one_loss && !self.is_above_threshold(lost, in_flight) {
            return;
        }
        if self.mode == Mode::Up {
            self.ended_by_loss(Mode::Up);
        }
        let at_loss = self.inflight_at_loss(in_flight, lost, size);
        self.handle_inflight_too_high(at_loss, segment.departure.app_limited, path);
    }

    pub(super) fn is_above_threshold(&self, lost: f64, in_flight: f64) -> bool {
        lost > self.rules.loss_threshold * in_flight
    }

    /// What was in flight when the share of losses reached the threshold, which was within the last `size` lost bytes. Without SACK
    /// they need not have reached it: it is then what would have been.
    pub(super) fn inflight_at_loss(&self, in_flight: f64, lost: f64, size: f64) -> f64 {
        let threshold = self.rules.loss_threshold;
        let (before, lost_before) = (in_flight - size, lost - size);
        let lost_prefix = (threshold * before - lost_before) / (1.0 - threshold);
        let least = if self.rules.takes_literally(TextPoint::LostPrefix) { -before } else { 0.0 };
        before + lost_prefix.max(least)
    }

    pub(super) fn handle_inflight_too_high(&mut self, at_loss: f64, app_limited: bool, path: &PathView) {
        self.probe_bw.prev_too_high = true;
        self.probe_bw.is_sample = false;
        self.probe_bw.at_loss = Some(at_loss);
        if !app_limited {
            let target = self.bdp(self.bw()).min(self.cwnd);
            self.bounds.inflight_longterm = at_loss.max(self.rules.beta * target);
        }
        if self.mode == Mode::Up {
            self.start_probe_bw_down(path.now);
        }
    }

    fn go_on_probing(&mut self, ack: &AckSample, path: &PathView) {
        if self.is_time_to_go_down(ack, path) {
            self.start_probe_bw_down(path.now);
        }
    }

    /// Whether it is time to probe, and if so, how often the first increase has doubled: after marks that have ceased it starts
    /// high, because the traffic that caused them may be gone.
    fn probe_due(&self, path: &PathView) -> Option<u32> {
        if self.ecn.has_cleared(self.recovery.state) {
            return Some(reprobe_rounds(self.bounds.inflight_longterm, self.mss, MOST_DOUBLINGS));
        }
        self.is_time_to_probe_bw(path).then_some(0)
    }

    fn is_time_to_probe_bw(&self, path: &PathView) -> bool {
        let rounds = (self.bdp(self.bw()).min(self.cwnd) / self.mss).min(MOST_ROUNDS);
        path.now.since(self.probe_bw.cycle_stamp) > self.probe_bw.wait
            || self.probe_bw.rounds_since_up as f64 >= rounds
    }

    /// The queue is drained, and others have room.
    fn is_time_to_cruise(&self, ack: &AckSample, path: &PathView) -> bool {
        let in_flight = self.in_flight_while_cycling(ack, path);
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// The probe has found the end: of the bandwidth, or of what the last one lost too much of.
    fn is_time_to_go_down(&mut self, ack: &AckSample, path: &PathView) -> bool {
        let in_flight = self.in_flight_while_cycling(ack, path);
        let limited = ack.cwnd_limited && self.cwnd >= self.bounds.inflight_longterm;
        let over = if self.probe_bw.prev_too_high && in_flight >= self.bounds.inflight_longterm {
            self.probe_bw.prev_precautionary = true;
            true
        } else if !self.rules.plateau {
            let probed =
                self.min_rtt.get().is_some_and(|rtt| path.now.since(self.probe_bw.cycle_stamp) > rtt);
            probed && in_flight >= self.inflight(self.max_bw(), PROBE)
        } else {
            if limited && let Some(sample) = &ack.rate {
                // The bound, not the path, limits the bandwidth.
                self.full_bw.reset(delivery_rate(sample));
            }
            !limited && self.full_bw.now
        };
        if over {
            self.probe_bw.prev_too_high = false;
        }
        over
    }

    /// The cycle starts: down.
    pub(super) fn start_probe_bw_down(&mut self, now: Time) {
        self.reset_congestion_signals();
        self.probe_bw.up_acked_per_inc = f64::INFINITY;
        self.probe_bw.wait = LEAST_WAIT + WAIT_SPREAD.scale(self.random.uniform());
        self.probe_bw.rounds_since_up = u64::from(self.random.uniform() < 0.5);
        self.probe_bw.cycle_stamp = now;
        self.probe_bw.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    /// Linux lowers a bound of the short term that exists to that of the long term.
    fn start_probe_bw_cruise(&mut self) {
        if self.rules.linux_signals && self.bounds.inflight_shortterm.is_finite() {
            self.bounds.inflight_shortterm =
                self.bounds.inflight_shortterm.min(self.bounds.inflight_longterm);
        }
        self.mode = Mode::Cruise;
    }

    /// The probe's increase will have doubled this often when it starts.
    pub(super) fn start_probe_bw_refill(&mut self, doublings: u32) {
        self.bounds.reset_short_term();
        self.probe_bw.up_rounds = doublings;
        self.probe_bw.up_acked = 0.0;
        self.probe_bw.prev_precautionary = false;
        self.probe_bw.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_probe_bw_up(&mut self, ack: &AckSample, path: &PathView) {
        self.probe_bw.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_bw.reset(ack.rate.as_ref().map_or(0.0, delivery_rate));
        self.mode = Mode::Up;
        self.probe_bw.cycle_stamp = path.now;
        self.probe_bw.raise_slope(self.cwnd, self.mss);
    }
}
