//! The least round trip, and the mode that looks for it (step 9; draft-ietf-ccwg-bbr-06 sections 5.3.4 and 5.5.7).

use windtunnel_units::{Duration, Time};

use super::controller::{Bbr3, Mode};
use super::model::AckPhase;
use crate::sample::{AckSample, PathView};

/// How long `ProbeRTT` lasts (`ProbeRTTDuration`).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &AckSample, path: &PathView) {
        let expired = self.min_rtt.update(ack.rtt, path.now);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.done_stamp = None;
            self.probe_bw.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        self.probe_rtt.marks_app_limited = self.mode == Mode::ProbeRtt;
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(path);
        }
        if ack.rate.is_some() {
            self.idle_restart = false;
        }
    }

    fn probe_rtt(&mut self, path: &PathView) {
        match self.probe_rtt.done_stamp {
            None if path.in_flight.as_f64() <= self.probe_rtt_cwnd() => {
                self.probe_rtt.done_stamp = Some(path.now + PROBE_RTT_DURATION);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            None => {}
            Some(_) => {
                self.probe_rtt.round_done |= self.round.start;
                if self.probe_rtt.round_done {
                    self.end_probe_rtt(path.now);
                }
            }
        }
    }

    /// Ends `ProbeRTT`, if it has lasted. The flow cruises, since the queue is empty.
    pub(super) fn end_probe_rtt(&mut self, now: Time) {
        if self.probe_rtt.done_stamp.is_none_or(|until| now <= until) {
            return;
        }
        self.min_rtt.probe_rtt_min_stamp = now;
        self.cwnd = self.cwnd.max(self.recovery.prior_cwnd);
        self.bounds.reset_short_term();
        if self.full_bw.reached {
            self.start_probe_bw_down(now);
            self.mode = Mode::Cruise;
        } else {
            self.mode = Mode::Startup;
        }
    }
}
