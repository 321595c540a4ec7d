//! Vegas as in Linux (`net/ipv4/tcp_vegas.c`; spec/congestion-control section 3.9).
//!
//! Vegas acts in Open alone; elsewhere, and after a window of data with fewer than three samples, an ACK grows the
//! window as Reno's. A flight after silence starts anew, with a new base.

use super::VegasParams;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, additive, half};
use crate::windowed::avoidance::round_trips::RoundTrips;
use crate::windowed::credit::Credit;

/// Linux's Vegas.
#[derive(Clone, Debug)]
pub(super) struct VegasLinux {
    alpha: u64,
    beta: u64,
    gamma: u64,
    times: RoundTrips,
    /// Delay decides; otherwise Vegas is Reno.
    active: bool,
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
            active: true,
            reno: false,
            diff: f64::NAN,
        }
    }

    fn init(&mut self, path: &PathView) {
        self.times.forget(path);
        self.active = true;
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
    fn established(&mut self, _window: &mut Segments, path: &PathView) {
        self.init(path);
    }

    fn delivered(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.times.sample(rtt);
        }
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        self.reno = !self.active;
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

    fn grow(&mut self, w: u64, n: u64, credit: &mut Credit) -> u64 {
        if self.reno { additive(w, w, n, credit) } else { w }
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn state(&mut self, state: CaState, path: &PathView) {
        self.active = state == CaState::Open;
        if self.active {
            self.times.start_round(path);
        }
    }

    fn restarted(&mut self, path: &PathView) {
        self.init(path);
    }

    fn idled(&mut self, path: &PathView) {
        self.init(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("diff_packets", self.diff);
        out("base_rtt_s", self.times.base_s());
    }
}
