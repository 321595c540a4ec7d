//! How fast and how much is sent (steps 10 and 11; draft-ietf-ccwg-bbr section 5.6).

use windtunnel_units::Duration;

use super::controller::{Bbr3, Mode};
use super::params::TextPoint;
use crate::sample::AckSample;
use crate::state::CaState;

/// The window while cycling, in products of bandwidth and round trip, and in `ProbeRTT`.
const CWND_GAIN: f64 = 2.0;
const PROBE_RTT_CWND: f64 = 0.5;
/// The pace while probing.
const UP_PACING: f64 = 1.25;
/// The pace as a share of the bandwidth, for short queues.
const MARGIN: f64 = 0.99;
/// A burst lasts a millisecond at the pace; it has two segments at least and 64 KiB at most.
const BURST_SECONDS: f64 = 1e-3;
const LARGEST_BURST: f64 = 65_536.0;
/// The round trip that counts before one is known.
const NOMINAL_RTT: Duration = Duration::from_millis(1);

impl Bbr3 {
    pub(super) fn update_gains(&mut self) {
        let rules = &self.rules;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (rules.startup_pacing, rules.startup_cwnd),
            Mode::Drain => (rules.drain_pacing, rules.startup_cwnd),
            Mode::Down => (rules.down_pacing, CWND_GAIN),
            Mode::Cruise | Mode::Refill => (1.0, CWND_GAIN),
            Mode::Up => (UP_PACING, rules.up_cwnd),
            Mode::ProbeRtt => (1.0, PROBE_RTT_CWND),
        };
    }

    /// The pace. Until the path is full it only grows, because the first samples are small.
    pub(super) fn set_pacing_rate_with_gain(&mut self, gain: f64, srtt: Duration) {
        if !self.has_rtt && !srtt.is_zero() {
            self.init_pacing_rate(srtt);
        }
        let rate = (gain * self.bw() * MARGIN).max(self.probing_rate());
        if self.full_bw.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The pace before there is a bandwidth: the initial window in a round trip.
    pub(super) fn init_pacing_rate(&mut self, srtt: Duration) {
        self.has_rtt = !srtt.is_zero();
        let rtt = if self.has_rtt { srtt } else { NOMINAL_RTT };
        let gain = self.rules.startup_pacing;
        self.pacing_rate = if self.rules.paces_initial_window {
            gain * self.iw / rtt.as_secs_f64()
        } else {
            gain * MARGIN * self.cwnd / rtt.as_secs_f64()
        };
    }

    /// How much leaves at once.
    pub(super) fn send_quantum(&self) -> f64 {
        (self.pacing_rate * BURST_SECONDS).clamp(2.0 * self.mss, LARGEST_BURST.max(2.0 * self.mss))
    }

    /// The product of a bandwidth and the round trip; the initial window where none is known.
    pub(super) fn bdp(&self, bw: f64) -> f64 {
        self.min_rtt.get().map_or(self.iw, |rtt| bw * rtt.as_secs_f64())
    }

    /// The amount in flight at a gain, with room for bursts and for a probe of small products.
    pub(super) fn inflight(&self, bw: f64, gain: f64) -> f64 {
        self.quantization_budget(self.bdp(bw) * gain)
    }

    fn quantization_budget(&self, window: f64) -> f64 {
        let least = (self.rules.quanta * self.send_quantum()).max(self.min_pipe_cwnd());
        window.max(least) + if self.mode == Mode::Up { 2.0 * self.mss } else { 0.0 }
    }

    /// The long-term bound without what is left to others.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let long = self.bounds.inflight_longterm;
        if long.is_infinite() {
            return long;
        }
        (long - (self.rules.headroom * long).max(self.mss)).max(self.min_pipe_cwnd())
    }

    /// The window of `ProbeRTT` at the present least round trip.
    pub(super) fn probe_rtt_target(&self) -> f64 {
        (PROBE_RTT_CWND * self.bdp(self.bw())).max(self.min_pipe_cwnd())
    }

    /// The window of `ProbeRTT`.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        if self.rules.one_filter { self.probe_rtt.cwnd } else { self.probe_rtt_target() }
    }

    /// Step 11: the window.
    pub(super) fn set_cwnd(&mut self, ack: &AckSample) {
        let delivered = ack.newly_delivered.as_f64();
        if self.recovery.ends() {
            self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
        }
        if delivered > 0.0 {
            let extra = self.extra_acked.filter.get() as f64;
            let most = self.quantization_budget(self.bdp(self.bw()) * self.cwnd_gain + extra);
            if self.full_bw.reached {
                self.cwnd = (self.cwnd + delivered).min(most);
            } else if self.cwnd < most || self.delivered.as_f64() < self.iw {
                self.cwnd += delivered;
            }
            self.cwnd = self.cwnd.max(self.min_pipe_cwnd());
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let long = match self.mode {
            Mode::Up | Mode::Refill | Mode::Down => self.bounds.inflight_longterm,
            Mode::Cruise | Mode::ProbeRtt => self.inflight_with_headroom(),
            Mode::Drain if self.rules.takes_literally(TextPoint::DrainBound) => self.bounds.inflight_longterm,
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        self.cwnd = self.cwnd.min(long.min(self.bounds.inflight_shortterm).max(self.min_pipe_cwnd()));
    }

    /// Keeps the last window that was good.
    pub(super) fn save_cwnd(&mut self) {
        let good = self.recovery.prior_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.recovery.prior_cwnd = if good { self.cwnd } else { self.recovery.prior_cwnd.max(self.cwnd) };
    }
}
