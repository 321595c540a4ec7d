//! Vegas as in the paper (Brakmo and Peterson 1995, sections 3.2 and 3.3).
//!
//! The round trip of a window of data is the mean of its samples. Slow start grows in every second round trip only, so
//! that the round trip between measures a window that stands still; when it ends, an eighth of the window is given up.
//! The paper's finer retransmission timers are not part of it: the TCP's loss recovery is used.

use super::VegasParams;
use crate::sample::{AckSample, Delivery, PathView};
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai, half};
use crate::windowed::cwnd_cnt::CwndCnt;
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
            window.w = (window.w - 1).max(2);
            window.ssthresh = window.ssthresh.min(window.w);
        } else if self.diff < self.alpha {
            window.w += 1;
        }
        window.w = window.w.max(2);
    }
}

impl Module for VegasPaper {
    fn pkts_acked(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
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
        let in_slow_start = window.in_slow_start();
        if path.una > self.end {
            if self.samples > 0 {
                self.end_round(window);
            }
            self.start_round(path);
        }
        if in_slow_start && window.in_slow_start() && self.grows { Steered::Grow } else { Steered::Hold }
    }

    /// Slow start's last ACK leads into congestion avoidance as Reno's does.
    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        cong_avoid_ai(w, w, n, cwnd_cnt)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn cwnd_restart(&mut self, path: &PathView) {
        self.start_round(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("diff_packets", self.diff);
        out("base_rtt_s", if self.base.is_finite() { self.base } else { f64::NAN });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(una: u64, nxt: u64) -> PathView {
        PathView::of_segments(una, nxt)
    }

    /// A round of one second on a path with this base, in seconds.
    fn vegas(base: f64) -> VegasPaper {
        VegasPaper { base, sum: 1.0, samples: 1, ..VegasPaper::new(&VegasParams::default()) }
    }

    /// spec/congestion-control section 3.9, `diff = W (1 - base / r)`: slow start ends with more than one packet
    /// queued and gives up an eighth; congestion avoidance holds from two to four packets.
    #[test]
    fn rounds_move_the_window() {
        const NO: u64 = Segments::INFINITE;
        for (w, ssthresh, base, left) in [
            (8, NO, 0.875, (8, NO)),
            (16, NO, 0.875, (14, 14)),
            (8, 20, 0.875, (8, 20)),
            (2, 20, 1.0, (2, 20)),
            (8, 5, 0.8125, (9, 5)),
            (8, 5, 0.75, (8, 5)),
            (8, 5, 0.5, (8, 5)),
            (8, 8, 0.4375, (7, 7)),
            (2, 2, 1.0, (3, 2)),
        ] {
            let mut window = Segments { w, ssthresh };
            vegas(base).end_round(&mut window);
            assert_eq!((window.w, window.ssthresh), left, "{w} segments, {base} s");
        }
    }

    /// Section 3.9: a round ends with the first ACK beyond what was sent at its start, if there was a sample. Slow
    /// start grows in every second round, and not with the ACK that ends it.
    #[test]
    fn slow_start_rests_every_second_round() {
        const NO: u64 = Segments::INFINITE;
        let ack = AckSample { may_raise: true, ..AckSample::default() };
        for (ssthresh, base, grows, una, samples, steered) in [
            (NO, 1.0, true, 10, 1, Steered::Grow),
            (NO, 1.0, true, 11, 1, Steered::Hold),
            (NO, 1.0, false, 11, 1, Steered::Grow),
            (NO, 1.0, true, 11, 0, Steered::Grow),
            (NO, 1.0, false, 10, 1, Steered::Hold),
            (5, 1.0, true, 10, 1, Steered::Hold),
            // 10 (1 - 0.5) packets are queued: slow start is over.
            (NO, 0.5, false, 11, 1, Steered::Hold),
        ] {
            let mut vegas = VegasPaper { samples, grows, ..vegas(base) };
            vegas.end = at(10, 10).una;
            let mut window = Segments { w: 10, ssthresh };
            assert_eq!(
                vegas.steer(&mut window, &ack, &at(una, 30)),
                steered,
                "{ssthresh} {base} {grows} {una} {samples}"
            );
            assert_eq!(vegas.end, if una > 10 { at(0, 30).nxt } else { at(10, 10).una });
        }
    }

    /// Section 3.9: a loss halves. What slow start leaves of an ACK counts as Reno's; a restart of the window is one
    /// of the round.
    #[test]
    fn otherwise_it_is_reno() {
        let mut vegas = vegas(0.5);
        assert_eq!((vegas.ssthresh(41, &at(0, 10)), vegas.ssthresh(3, &at(0, 10))), (20, 2));
        let mut cwnd_cnt = CwndCnt::default();
        assert_eq!(
            (vegas.cong_avoid(10, 9, &mut cwnd_cnt), vegas.cong_avoid(10, 1, &mut cwnd_cnt)),
            (10, 11)
        );
        vegas.cwnd_restart(&at(5, 25));
        assert_eq!((vegas.samples, vegas.end), (0, at(5, 25).nxt));
    }
}
