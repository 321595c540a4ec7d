//! The least round trip, and the mode that looks for it (step 9; draft-ietf-ccwg-bbr sections "`ProbeRTT`" and "`BBR.min_rtt`").
//!
//! In the newest text `ProbeRTT` comes when the least round trip has expired, just before a sample of a full queue takes its
//! place. A window from that sample would drain nothing, so the window is that of the round trip which expires, and is held
//! until the search is over. In -06 and in Linux the search comes twice as often, from a second filter.

use windtunnel_units::{Duration, Time};

use super::controller::{Bbr3, Mode};
use super::model::AckPhase;
use crate::sample::{AckSample, PathView};

/// How long `ProbeRTT` lasts (`ProbeRTTDuration`).
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, ack: &AckSample, path: &PathView) {
        let due = self.mode != Mode::ProbeRtt && self.min_rtt.is_search_due(path.now);
        if due {
            self.probe_rtt.cwnd = self.probe_rtt_target();
        }
        self.min_rtt.update(ack.rtt, path.now);
        if due && !self.restart.pending {
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
        self.restart.on_ack(ack.rate.is_some());
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
        self.min_rtt.schedule_search(now);
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
