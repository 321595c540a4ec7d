//! How fast and how much BBR sends: steps 7 and 8 of spec/congestion-control section 3.22.

use windtunnel_units::Duration;

use super::super::fixed::{Bandwidth, Gain, span};
use super::bursts;
use super::controller::{Bbr, Facts, Mode};
use super::model::{LEAST_CWND, STARTUP};
use crate::state::CaState;

/// The initial window of Linux, which bounds the window where no round trip is known.
const INITIAL_CWND: u64 = 10;
/// The round trip that counts before one is known.
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// Bursts for which cwnd has room in addition to the product: in the host's queue, in its interface, and at the
/// receiver.
const BURSTS_IN_HOSTS: u64 = 3;
/// Of aggregation, at most what arrives in this many microseconds counts.
const MOST_AGGREGATION: u64 = 100_000;

impl Bbr {
    /// Step 7: the pace. Until the path is full it only grows, because the first samples are small.
    pub(super) fn set_pace(&mut self, gain: Gain, srtt: Duration) {
        let rate = self.bandwidth().bytes_per_second(self.mss, gain, self.percent);
        if !self.has_rtt && !srtt.is_zero() {
            self.pace_by_window(srtt);
        }
        if self.full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// The pace before there is a bandwidth: the window in a round trip.
    pub(super) fn pace_by_window(&mut self, srtt: Duration) {
        self.has_rtt = !srtt.is_zero();
        let rtt = if self.has_rtt { srtt } else { NOMINAL_RTT };
        let bandwidth = Bandwidth::of(self.cwnd, span(rtt).max(1));
        self.pacing_rate = bandwidth.bytes_per_second(self.mss, STARTUP, self.percent);
    }

    /// Step 8: the window.
    pub(super) fn set_cwnd(&mut self, facts: &Facts) {
        if facts.acked > 0 {
            self.follow_loss(facts);
            self.cwnd = if self.conserving {
                self.cwnd.max(facts.in_flight + facts.acked)
            } else {
                self.grown(facts).max(LEAST_CWND)
            };
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_CWND);
        }
    }

    /// One round after a loss, what arrives is replaced and nothing more; after the repair, the window is as before.
    pub(super) fn follow_loss(&mut self, facts: &Facts) {
        if facts.losses > 0 {
            self.cwnd = self.cwnd.saturating_sub(facts.losses).max(1);
        }
        let (before, state) = (std::mem::replace(&mut self.prior_state, self.state), self.state);
        if state == CaState::Recovery && before != CaState::Recovery {
            self.conserving = true;
            self.next_round = facts.ack.delivered;
            self.cwnd = facts.in_flight + facts.acked;
        } else if before >= CaState::Recovery && state < CaState::Recovery {
            self.conserving = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
    }

    pub(super) fn grown(&self, facts: &Facts) -> u64 {
        let target = self.with_budget(self.product(self.bandwidth(), self.cwnd_gain) + self.extra());
        let grown = self.cwnd + facts.acked;
        if self.full {
            grown.min(target)
        } else if self.cwnd < target || self.delivered < self.mss * (INITIAL_CWND - 1) {
            // The SYN counts as delivered.
            grown
        } else {
            self.cwnd
        }
    }

    /// The room for aggregated ACKs.
    pub(super) fn extra(&self) -> u64 {
        if !self.full {
            return 0;
        }
        self.aggregation.extra().min(self.bandwidth().packets_in(MOST_AGGREGATION))
    }

    /// The product of bandwidth, round trip and a gain.
    pub(super) fn product(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.min_rtt.map_or(INITIAL_CWND, |rtt| bandwidth.window(rtt, gain))
    }

    /// A window with room for the bursts in the hosts, even so that delayed ACKs cover all of it. For small products, two
    /// packets more make the probing phase probe.
    pub(super) fn with_budget(&self, window: u64) -> u64 {
        let even = (window + BURSTS_IN_HOSTS * bursts::goal(self.pacing_rate, self.mss)).next_multiple_of(2);
        even + if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 }
    }

    /// The amount in flight at a gain.
    pub(super) fn inflight(&self, bandwidth: Bandwidth, gain: Gain) -> u64 {
        self.with_budget(self.product(bandwidth, gain))
    }

    /// Keeps the last window that was good.
    pub(super) fn save_cwnd(&mut self) {
        let good = self.prior_state < CaState::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }
}
