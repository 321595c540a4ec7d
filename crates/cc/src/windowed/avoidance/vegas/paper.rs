//! Vegas as in the paper (Brakmo and Peterson 1995, sections 3.2 and 3.3).
//!
//! The round trip of a window of data is the mean of its samples. Slow start grows in every second round trip only, so
//! that the round trip between measures a window that stands still; when it ends, an eighth of the window is given up.
//! The paper's finer retransmission timers are not part of it: the TCP's loss recovery is used.

use super::VegasParams;
use crate::sample::{AckSample, Delivery, PathView};
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, additive, half};
use crate::windowed::credit::Credit;
use windtunnel_units::Seq;

/// The paper's Vegas.
#[derive(Clone, Debug)]
pub(super) struct VegasPaper {
    alpha: f64,
    beta: f64,
    gamma: f64,
    /// The least round trip, in seconds.
    base: f64,
    /// The round trips of this window of data.
    sum: f64,
    samples: u32,
    end: Seq,
    /// In this round trip slow start grows.
    grows: bool,
    diff: f64,
}

impl VegasPaper {
    pub(super) fn new(params: &VegasParams) -> VegasPaper {
        VegasPaper {
            alpha: f64::from(params.alpha),
            beta: f64::from(params.beta),
            gamma: f64::from(params.gamma),
            base: f64::INFINITY,
            sum: 0.0,
            samples: 0,
            end: Seq::SYN,
            grows: true,
            diff: f64::NAN,
        }
    }

    fn start_round(&mut self, path: &PathView) {
        (self.sum, self.samples, self.end) = (0.0, 0, path.nxt);
    }

    fn end_round(&mut self, window: &mut Segments) {
        self.diff = window.w as f64 * (1.0 - self.base * f64::from(self.samples) / self.sum);
        self.grows = !self.grows;
        if window.in_slow_start() {
            if self.diff > self.gamma {
                window.w -= window.w / 8;
                window.ssthresh = window.w;
            }
        } else if self.diff > self.beta {
            window.w -= 1;
        } else if self.diff < self.alpha {
            window.w += 1;
        }
        window.w = window.w.max(2);
        if window.ssthresh != Segments::INFINITE {
            window.ssthresh = window.ssthresh.min(window.w);
        }
    }
}

impl Module for VegasPaper {
    fn delivered(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        let Some(rtt) = delivery.rtt.filter(|rtt| !rtt.is_zero()) else { return };
        let rtt = rtt.as_secs_f64();
        self.base = self.base.min(rtt);
        self.sum += rtt;
        self.samples += 1;
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        if !ack.may_raise {
            return Steered::Grow;
        }
        let seeking = window.in_slow_start();
        if path.una > self.end {
            if self.samples > 0 {
                self.end_round(window);
            }
            self.start_round(path);
        }
        if seeking && window.in_slow_start() && self.grows { Steered::Grow } else { Steered::Hold }
    }

    /// Slow start's last ACK leads into congestion avoidance as Reno's does.
    fn grow(&mut self, w: u64, n: u64, credit: &mut Credit) -> u64 {
        additive(w, w, n, credit)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn restarted(&mut self, path: &PathView) {
        self.start_round(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("diff_packets", self.diff);
        out("base_rtt_s", if self.base.is_finite() { self.base } else { f64::NAN });
    }
}
