//! Vegas as in Linux (`net/ipv4/tcp_vegas.c`; spec/congestion-control section 3.9).
//!
//! Vegas acts in Open alone; elsewhere, and after a window of data with fewer than three samples, an ACK grows the
//! window as Reno's. A flight after silence starts anew, with a new base.

use super::VegasParams;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai, half};
use crate::windowed::avoidance::round_trips::RoundTrips;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Linux's Vegas.
#[derive(Clone, Debug)]
pub(super) struct VegasLinux {
    alpha: u64,
    beta: u64,
    gamma: u64,
    times: RoundTrips,
    /// Delay decides; otherwise Vegas is Reno.
    doing_vegas_now: bool,
    /// This ACK grows the window as Reno's.
    reno: bool,
    /// Packets queued, in the last window of data.
    diff: f64,
}

impl VegasLinux {
    pub(super) fn new(params: &VegasParams) -> VegasLinux {
        VegasLinux {
            alpha: u64::from(params.alpha),
            beta: u64::from(params.beta),
            gamma: u64::from(params.gamma),
            times: RoundTrips::new(),
            doing_vegas_now: true,
            reno: false,
            diff: f64::NAN,
        }
    }

    fn enable(&mut self, path: &PathView) {
        self.times.forget(path);
        self.doing_vegas_now = true;
    }

    /// A window of data is acknowledged. True if slow start may grow it.
    fn end_round(&mut self, window: &mut Segments) -> bool {
        let (base, rtt) = (self.times.base_us(), self.times.least_us());
        let diff = window.w * (rtt - base) / base;
        self.diff = diff as f64;
        if window.in_slow_start() {
            if diff <= self.gamma {
                return true;
            }
            window.w = window.w.min(window.w * base / rtt + 1);
            window.ssthresh = window.ssthresh.min(window.w);
        } else if diff > self.beta {
            window.w -= 1;
            window.ssthresh = window.ssthresh.min(window.w);
        } else if diff < self.alpha {
            window.w += 1;
        }
        window.w = window.w.max(2);
        window.ssthresh = window.ssthresh.max(window.w / 2 + window.w / 4);
        false
    }
}

impl Module for VegasLinux {
    fn init(&mut self, _window: &mut Segments, path: &PathView) {
        self.enable(path);
    }

    fn pkts_acked(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.times.sample(rtt);
        }
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        self.reno = !self.doing_vegas_now;
        if self.reno || !ack.may_raise {
            return Steered::Grow;
        }
        let mut grows = window.in_slow_start();
        if self.times.ends_round(path) {
            self.reno = !self.times.suffice();
            if !self.reno {
                grows = self.end_round(window);
            }
            self.times.start_round(path);
        }
        match (self.reno, grows) {
            (true, _) => Steered::Grow,
            (false, true) => Steered::Ungated,
            (false, false) => Steered::Hold,
        }
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        if self.reno { cong_avoid_ai(w, w, n, cwnd_cnt) } else { w }
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn set_state(&mut self, state: CaState, path: &PathView) {
        self.doing_vegas_now = state == CaState::Open;
        if self.doing_vegas_now {
            self.times.start_round(path);
        }
    }

    fn cwnd_restart(&mut self, path: &PathView) {
        self.enable(path);
    }

    fn tx_start(&mut self, path: &PathView) {
        self.enable(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("diff_packets", self.diff);
        out("base_rtt_s", self.times.base_s());
    }
}
