//! What BBR knows of the path, and what it does next: steps 1 to 6 of spec/congestion-control section 3.22, in the order in
//! which an ACK runs through them.

use windtunnel_units::{Bytes, Duration};

use super::super::fixed::{Bandwidth, Gain, span};
use super::bursts;
use super::controller::{Bbr, Facts, Mode};
use super::policer::Sample;
use crate::control::ExitReason;
use crate::sample::RateSample;

/// 2/ln 2: the least gain that doubles the rate in each round.
pub(super) const STARTUP: Gain = Gain(256 * 2885 / 1000 + 1);
/// Its inverse, which drains in a round what Startup queued.
const DRAIN: Gain = Gain(256 * 1000 / 2885);
/// cwnd while cycling, in products of bandwidth and round trip.
const CYCLING: Gain = Gain(256 * 2);
/// The pace in the phases of the cycle.
const CYCLE: [Gain; 8] =
    [Gain(256 * 5 / 4), Gain(256 * 3 / 4), Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE, Gain::ONE];
/// The rounds for which a bandwidth counts: a cycle and two more.
const BANDWIDTH_ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// The path is full if the bandwidth grows by less than a quarter in three rounds.
const GROWING: Gain = Gain(256 * 5 / 4);
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// How long the least round trip counts.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// How long `ProbeRTT` lasts with the least window.
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
/// The least window: two bursts of two packets, so that a receiver that acknowledges every second one does not stall it.
pub(super) const LEAST_CWND: u64 = 4;

impl Bbr {
    /// Step 1: the round, and the bandwidth.
    pub(super) fn update_bandwidth(&mut self, facts: &Facts) {
        self.round_start = false;
        let Some(rate) = &facts.ack.rate else { return };
        let micros = span(rate.interval);
        if micros == 0 {
            return;
        }
        if rate.departure.delivered >= self.next_round {
            self.next_round = facts.ack.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        self.look_for_policer(facts.losses > 0, rate.departure.app_limited);
        let bandwidth = Bandwidth::of(self.packets(rate.delivered), micros);
        if !rate.departure.app_limited || bandwidth >= self.max_bw.get() {
            self.max_bw.update(bandwidth, self.rounds, BANDWIDTH_ROUNDS);
        }
    }

    /// Step 9.
    pub(super) fn look_for_policer(&mut self, lossy: bool, app_limited: bool) {
        let was_in_use = self.policer.bandwidth().is_some();
        if self.policer.take(&self.policer_sample(lossy, app_limited)) {
            self.start_cycle();
        } else if !was_in_use && self.policer.bandwidth().is_some() {
            self.pacing_gain = Gain::ONE;
        }
    }

    pub(super) fn policer_sample(&self, lossy: bool, app_limited: bool) -> Sample {
        Sample {
            lossy,
            app_limited,
            round_start: self.round_start,
            cycling: self.mode == Mode::ProbeBw,
            at: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
        }
    }

    /// Step 2: what ACKs deliver at once.
    pub(super) fn update_aggregation(&mut self, facts: &Facts) {
        if !self.params.ack_aggregation || facts.acked == 0 || facts.ack.rate.is_none() {
            return;
        }
        let bandwidth = self.bandwidth();
        self.aggregation.on_ack(facts.acked, self.delivered_at, bandwidth, self.cwnd, self.round_start);
    }

    /// Step 3: the phase of the cycle. Probing lasts until it has put its share in flight, or something was lost; draining
    /// ends as soon as it has drained.
    pub(super) fn update_cycle(&mut self, facts: &Facts) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let round_trip_over = self.delivered_at - self.phase_since > self.min_rtt.unwrap_or(u64::MAX);
        let over = match self.pacing_gain {
            Gain::ONE => round_trip_over,
            gain if gain > Gain::ONE => {
                let probed = || {
                    let in_flight = self.in_flight_at_departure(facts, facts.ack.prior_in_flight / self.mss);
                    facts.losses > 0 || in_flight >= self.inflight(self.max_bw.get(), gain)
                };
                round_trip_over && probed()
            }
            _ => {
                let in_flight = self.in_flight_at_departure(facts, facts.ack.prior_in_flight / self.mss);
                round_trip_over || in_flight <= self.inflight(self.max_bw.get(), Gain::ONE)
            }
        };
        if over {
            self.next_phase();
        }
    }

    pub(super) fn next_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_since = self.delivered_at;
    }

    /// The cycle starts in any phase but the draining one.
    pub(super) fn start_cycle(&mut self) {
        self.mode = Mode::ProbeBw;
        let phases = CYCLE.len() - 1;
        let skipped = (self.random.uniform() * phases as f64) as usize;
        self.phase = phases - skipped.min(phases - 1);
        self.next_phase();
    }

    /// How much of `in_flight` is left when pacing lets the next packet leave. A burst that is to raise the amount counts.
    pub(super) fn in_flight_at_departure(&self, facts: &Facts, in_flight: u64) -> u64 {
        let wait = span(facts.ack.next_departure.since(facts.path.now));
        let burst = if self.pacing_gain > Gain::ONE { bursts::goal(self.pacing_rate, self.mss) } else { 0 };
        (in_flight + burst).saturating_sub(self.bandwidth().packets_in(wait))
    }

    /// Step 4: whether the path is full.
    pub(super) fn check_full_pipe(&mut self, facts: &Facts) {
        let app_limited = |rate: &RateSample| rate.departure.app_limited;
        if self.full || !self.round_start || facts.ack.rate.as_ref().is_some_and(app_limited) {
            return;
        }
        let bandwidth = self.max_bw.get();
        if bandwidth >= self.full_bw.times(GROWING) {
            self.full_bw = bandwidth;
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full = self.full_bw_rounds >= ROUNDS_WITHOUT_GROWTH;
    }

    /// Step 5: out of Startup, out of Drain.
    pub(super) fn check_drain(&mut self, facts: &Facts) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            self.exit.get_or_insert(ExitReason::Other("bandwidth plateau"));
            self.ssthresh = Some(self.inflight(self.max_bw.get(), Gain::ONE));
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(facts, facts.in_flight)
                <= self.inflight(self.max_bw.get(), Gain::ONE)
        {
            self.start_cycle();
        }
    }

    /// Step 6: the least round trip, and the mode that looks for it.
    pub(super) fn update_min_rtt(&mut self, facts: &Facts) {
        let now = self.ticks(facts.path);
        let expired = now > self.min_rtt_at + self.ticks_of(MIN_RTT_AGE);
        if let Some(rtt) = facts.ack.rtt.map(span)
            && (self.min_rtt.is_none_or(|least| rtt < least) || (expired && !self.is_delayed(facts)))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_at = now;
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_until = None;
        }
        self.mutes_samples = self.mode == Mode::ProbeRtt;
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(facts, now);
        }
        if facts.ack.rate.is_some() {
            self.restarting = false;
        }
    }

    /// A receiver may have delayed the ACK of a packet that is not full and alone.
    pub(super) fn is_delayed(&self, facts: &Facts) -> bool {
        let acked = facts.ack.acked;
        acked > Bytes::ZERO && acked < self.mss && facts.ack.rate.is_some_and(|rate| rate.delivered == acked)
    }

    pub(super) fn probe_rtt(&mut self, facts: &Facts, now: u64) {
        match self.probe_rtt_until {
            None if facts.in_flight <= LEAST_CWND => {
                self.probe_rtt_until = Some(now + self.ticks_of(PROBE_RTT_TIME));
                self.probe_rtt_round = false;
                self.next_round = facts.ack.delivered;
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(now);
                }
            }
        }
    }

    /// Ends `ProbeRTT`, if it has lasted.
    pub(super) fn end_probe_rtt(&mut self, now: u64) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full {
            self.start_cycle();
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (STARTUP, STARTUP),
            Mode::Drain => (DRAIN, STARTUP),
            Mode::ProbeBw if self.policer.bandwidth().is_some() => (Gain::ONE, CYCLING),
            Mode::ProbeBw => (CYCLE[self.phase], CYCLING),
            Mode::ProbeRtt => (Gain::ONE, Gain::ONE),
        };
    }
}
