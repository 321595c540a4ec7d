//! The cycle of `ProbeBW`: down, cruise, refill, up; and the long-term bound, which probes find (steps 5 to 8).

use windtunnel_units::{Duration, Time};

use super::controller::{AckPhase, Bbr3, Mode};
use super::ecn::reprobe_rounds;
use crate::sample::{AckSample, LostSegment, PathView};

/// The pause between probes: this, and up to a second more, so that flows do not probe together.
const LEAST_WAIT: Duration = Duration::from_secs(2);
const WAIT_SPREAD: Duration = Duration::SECOND;
/// Reno recovers its window of W segments in W rounds: as many may pass between probes, but not more than this.
const MOST_ROUNDS: f64 = 63.0;
/// The probe of version 2 puts this many products in flight.
const PROBE: f64 = 1.25;
/// The most rounds for which the increase of a probe doubles.
const MOST_DOUBLINGS: u32 = 30;

impl Bbr3 {
    /// Drain ends when the queue is gone, or after some rounds: the bandwidth may have fallen.
    pub(super) fn check_drain(&mut self, path: &PathView) {
        if self.mode != Mode::Drain {
            return;
        }
        let too_long = self.rules.drain_rounds.is_some_and(|rounds| self.rounds - self.drain_since > rounds);
        if too_long || path.in_flight.as_f64() <= self.inflight(self.bw(), 1.0) {
            self.start_down(path);
        }
    }

    /// Steps 6 to 8.
    pub(super) fn update_cycle(&mut self, ack: &AckSample, path: &PathView) {
        if !self.full_bw_reached {
            return;
        }
        if self.round_start && self.ack_phase == AckPhase::ProbeStopping && self.end_probe(ack) {
            // Refill takes the round that starts now.
            return;
        }
        self.adapt_long_term(ack, path);
        match self.mode {
            Mode::Down => {
                if let Some(doublings) = self.probe_due(path) {
                    self.start_refill(doublings);
                } else if self.is_time_to_cruise(path) {
                    self.start_cruise();
                }
            }
            Mode::Cruise => {
                if let Some(doublings) = self.probe_due(path) {
                    self.start_refill(doublings);
                }
            }
            Mode::Refill if self.round_start => {
                self.probe_sample = true;
                self.start_up(ack, path);
            }
            Mode::Up => self.go_on_probing(ack, path),
            _ => {}
        }
    }

    /// What the probe's ACKs say about the long-term bound.
    fn adapt_long_term(&mut self, ack: &AckSample, path: &PathView) {
        if self.round_start && self.ack_phase == AckPhase::ProbeStarting {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        let Some(sample) = &ack.rate else { return };
        if self.is_too_high(ack) {
            if self.rules.acks_show_loss && self.probe_sample {
                let at_loss = sample.departure.in_flight.as_f64();
                self.lower_long_term(at_loss, sample.departure.app_limited, path);
            }
            return;
        }
        if self.bounds.long.is_infinite() {
            return;
        }
        self.bounds.long = self.bounds.long.max(sample.departure.in_flight.as_f64());
        if self.mode == Mode::Up {
            self.raise_long_term(ack);
        }
    }

    /// The last ACK of a probe: its bandwidth is that of a whole cycle, and the older one is forgotten. Returns whether the
    /// next probe follows at once.
    fn end_probe(&mut self, ack: &AckSample) -> bool {
        self.probe_sample = false;
        self.ack_phase = AckPhase::Init;
        if !self.mode.cycles() {
            return false;
        }
        let limited = ack.rate.is_some_and(|sample| sample.departure.app_limited);
        if !limited && self.max_bw[0] > 0.0 {
            self.max_bw = [0.0, self.max_bw[0]];
        }
        let again = self.precautionary && !self.too_high;
        if again {
            self.start_refill(0);
        }
        again
    }

    /// The window is full up to the bound, and nothing is lost: the bound grows by a segment, then two, four in each round.
    fn raise_long_term(&mut self, ack: &AckSample) {
        if !ack.cwnd_limited || self.cwnd < self.bounds.long {
            return;
        }
        self.up_acked += ack.newly_delivered.as_f64();
        if self.up_acked >= self.acked_per_increase {
            let steps = libm::floor(self.up_acked / self.acked_per_increase);
            self.up_acked -= steps * self.acked_per_increase;
            self.bounds.long += steps * self.mss;
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.up_rounds);
        self.up_rounds = (self.up_rounds + 1).min(MOST_DOUBLINGS);
        self.acked_per_increase = (self.cwnd / growth).max(self.mss);
    }

    /// A lost segment of a probe: whether what was in flight was too much, and how much of it was not.
    pub(super) fn check_loss(&mut self, segment: &LostSegment, path: &PathView) {
        let lost = (segment.lost_since_departure() + self.marked_as_lost()).as_f64();
        let (in_flight, size) = (segment.departure.in_flight.as_f64(), segment.payload.as_f64());
        if let Some(at_loss) = self.inflight_at_loss(in_flight, lost, size) {
            if self.mode == Mode::Up {
                self.ended_by_loss(Mode::Up);
            }
            self.lower_long_term(at_loss, segment.departure.app_limited, path);
        }
    }

    /// What was in flight when the share of losses reached the threshold, which was within the last `size` lost bytes; none if it
    /// did not.
    pub(super) fn inflight_at_loss(&self, in_flight: f64, lost: f64, size: f64) -> Option<f64> {
        let threshold = self.rules.loss_threshold;
        if lost <= threshold * in_flight {
            return None;
        }
        let (before, lost_before) = (in_flight - size, lost - size);
        Some(before + ((threshold * before - lost_before) / (1.0 - threshold)).max(0.0))
    }

    pub(super) fn lower_long_term(&mut self, at_loss: f64, app_limited: bool, path: &PathView) {
        self.too_high = true;
        self.probe_sample = false;
        if !app_limited {
            let target = self.product(self.bw()).min(self.cwnd);
            self.bounds.long = at_loss.max(self.rules.beta * target);
        }
        if self.mode == Mode::Up {
            self.start_down(path);
        }
    }

    fn go_on_probing(&mut self, ack: &AckSample, path: &PathView) {
        if self.is_time_to_go_down(ack, path) {
            self.start_down(path);
        }
    }

    /// Whether it is time to probe, and if so, how often the first increase has doubled: after marks that have ceased it starts
    /// high, because the traffic that caused them may be gone.
    fn probe_due(&self, path: &PathView) -> Option<u32> {
        if self.ecn.has_cleared(self.state) {
            return Some(reprobe_rounds(self.bounds.long, self.mss, MOST_DOUBLINGS));
        }
        self.is_time_to_probe(path).then_some(0)
    }

    fn is_time_to_probe(&self, path: &PathView) -> bool {
        let rounds = (self.product(self.bw()).min(self.cwnd) / self.mss).min(MOST_ROUNDS);
        path.now.since(self.cycle_since) > self.wait || self.rounds_since_probe as f64 >= rounds
    }

    /// The queue is drained, and others have room.
    fn is_time_to_cruise(&self, path: &PathView) -> bool {
        let in_flight = path.in_flight.as_f64();
        in_flight <= self.with_headroom() && in_flight <= self.inflight(self.max_bw(), 1.0)
    }

    /// The probe has found the end: of the bandwidth, or of what the last one lost too much of.
    fn is_time_to_go_down(&mut self, ack: &AckSample, path: &PathView) -> bool {
        let in_flight = path.in_flight.as_f64();
        let limited = ack.cwnd_limited && self.cwnd >= self.bounds.long;
        let over = if self.too_high && in_flight >= self.bounds.long {
            self.precautionary = true;
            true
        } else if !self.rules.plateau {
            let probed = self.min_rtt.is_some_and(|rtt| path.now.since(self.cycle_since) > rtt);
            probed && in_flight >= self.inflight(self.max_bw(), PROBE)
        } else {
            if limited && let Some(sample) = &ack.rate {
                // The bound, not the path, limits the bandwidth.
                self.reset_full_bandwidth();
                self.full_bw = sample.rate.bits_per_sec() as f64 / 8.0;
            }
            !limited && self.full_bw_now
        };
        if over {
            self.too_high = false;
        }
        over
    }

    pub(super) fn start_down(&mut self, path: &PathView) {
        self.start_cycle(path.now);
    }

    /// The cycle starts: down.
    pub(super) fn start_cycle(&mut self, now: Time) {
        self.reset_signals();
        self.acked_per_increase = f64::INFINITY;
        self.wait = LEAST_WAIT + WAIT_SPREAD.scale(self.random.uniform());
        self.rounds_since_probe = u64::from(self.random.uniform() < 0.5);
        self.cycle_since = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.mode = Mode::Down;
    }

    /// Linux lowers a bound of the short term that exists to that of the long term.
    fn start_cruise(&mut self) {
        if self.rules.linux_signals && self.bounds.short.is_finite() {
            self.bounds.short = self.bounds.short.min(self.bounds.long);
        }
        self.mode = Mode::Cruise;
    }

    /// The probe's increase will have doubled this often when it starts.
    pub(super) fn start_refill(&mut self, doublings: u32) {
        self.forget_short_term();
        self.up_rounds = doublings;
        self.up_acked = 0.0;
        self.precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.mode = Mode::Refill;
    }

    fn start_up(&mut self, ack: &AckSample, path: &PathView) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.reset_full_bandwidth();
        self.full_bw = ack.rate.map_or(0.0, |sample| sample.rate.bits_per_sec() as f64 / 8.0);
        self.mode = Mode::Up;
        self.cycle_since = path.now;
        self.raise_slope();
    }
}
