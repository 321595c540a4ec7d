//! The least round trip, and the mode that looks for it (step 9).

use windtunnel_units::{Duration, Time};

use super::controller::{AckPhase, Bbr3, Mode};
use crate::sample::{AckSample, PathView};

/// How long the least round trip counts.
const MIN_RTT_AGE: Duration = Duration::from_secs(10);
/// How long there may be no lower one before `ProbeRTT`, and how long that lasts.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);

impl Bbr3 {
    pub(super) fn update_round_trip(&mut self, ack: &AckSample, path: &PathView) {
        let now = path.now;
        let expired = now > self.probe_rtt_min_at + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (expired || self.probe_rtt_min.is_none_or(|least| rtt < least))
        {
            self.probe_rtt_min = Some(rtt);
            self.probe_rtt_min_at = now;
        }
        let old = now > self.min_rtt_at + MIN_RTT_AGE;
        if old || self.min_rtt.is_none_or(|least| self.probe_rtt_min.is_some_and(|rtt| rtt < least)) {
            self.min_rtt = self.probe_rtt_min;
            self.min_rtt_at = self.probe_rtt_min_at;
        }
        if expired && !self.restarting && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt_until = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        self.mutes_samples = self.mode == Mode::ProbeRtt;
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(path);
        }
        if ack.rate.is_some() {
            self.restarting = false;
        }
    }

    fn probe_rtt(&mut self, path: &PathView) {
        match self.probe_rtt_until {
            None if path.in_flight.as_f64() <= self.probe_rtt_cwnd() => {
                self.probe_rtt_until = Some(path.now + PROBE_RTT_TIME);
                self.probe_rtt_round = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt_round |= self.round_start;
                if self.probe_rtt_round {
                    self.end_probe_rtt(path.now);
                }
            }
        }
    }

    /// Ends `ProbeRTT`, if it has lasted. The flow cruises, since the queue is empty.
    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt_until.is_none_or(|until| now <= until) {
            return;
        }
        self.probe_rtt_min_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.forget_short_term();
        if self.full_bw_reached {
            self.start_cycle(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
