//! Illinois: losses trigger the decrease, delay decides how large increase and decrease are.
//!
//! Liu, Başar and Srikant, "TCP-Illinois: a loss and delay-based congestion control algorithm for high-speed networks"
//! (2006); Linux `net/ipv4/tcp_illinois.c`; spec/congestion-control section 3.11. Once per round trip the mean delay of
//! the queue d is compared with the largest seen, D. The window grows by alpha(d) segments per round trip and gives up
//! the share beta(d) on a loss:
//!
//! - alpha is 10 up to d = D / 100 and falls as `k1 / (k2 + d)` to 0.3 at D. The curve of the window is therefore
//!   concave: it grows fast while the queue is empty, and slowly where losses are near;
//! - beta is 1/8 up to D / 10, and rises in a straight line to 1/2 at 8 D / 10: a loss on an empty path is not
//!   congestion.
//!
//! Below `win_thresh` segments Illinois is Reno (alpha 1, beta 1/2), because a few round trips of few samples say little.
//! Once the queue was seen, alpha goes back to 10 only after `theta` round trips without one, which noise does not
//! bring about. As in Linux, alpha is in 128ths, beta in 64ths, and delay in microseconds; Linux's least alpha is
//! 38/128 = 0.297.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::Seq;

use super::module::{InSegments, Module, Segments};
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::{AvoidanceParams, Steered};
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Parameters of Illinois, with the names of Linux's module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Liu, Başar, Srikant 2006"))]
pub struct IllinoisParams {
    /// The cwnd below which Illinois is Reno; the paper's value is 10.
    #[schemars(extend("x-unit" = "segments"))]
    pub win_thresh: u32,
    /// How many round trips without delay bring the largest increase back.
    #[schemars(extend("x-unit" = "round trips"))]
    pub theta: u32,
}

impl Default for IllinoisParams {
    fn default() -> IllinoisParams {
        IllinoisParams { win_thresh: 15, theta: 5 }
    }
}

impl Params for IllinoisParams {
    const NAME: &'static str = "illinois";
    const SUMMARY: &'static str = "Losses trigger the decrease; delay sizes increase and decrease";
}

impl AvoidanceParams for IllinoisParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(InSegments::new(Illinois::new(self)))
    }
}

/// alpha is in 128ths.
const ALPHA_UNIT: u64 = 128;
const ALPHA_MIN: u64 = 3 * ALPHA_UNIT / 10;
const ALPHA_MAX: u64 = 10 * ALPHA_UNIT;

/// beta is in 64ths.
const BETA_UNIT: u64 = 64;
const BETA_MIN: u64 = BETA_UNIT / 8;
const BETA_MAX: u64 = BETA_UNIT / 2;

/// The longest round trip that is told from others, in microseconds: products with alpha stay below 2^31.
const RTT_MAX: u64 = 0x7fff_ffff / ALPHA_MAX;

/// Illinois.
#[derive(Clone, Debug)]
struct Illinois {
    win_thresh: u64,
    theta: u32,
    /// The increase, in 128ths of a segment per round trip.
    alpha: u64,
    /// The share that a loss takes, in 64ths.
    beta: u64,
    delays: Delays,
    /// The queue was seen since alpha was last the largest.
    rtt_above: bool,
    /// Round trips without a queue since.
    rtt_low: u32,
    /// Segments that the last ACK acknowledged cumulatively.
    acked: u64,
    /// Segments counted towards the next growth.
    cwnd_cnt: u64,
    /// The ACK found the window in slow start.
    in_slow_start: bool,
}

/// Round trips, in microseconds.
#[derive(Clone, Copy, Debug)]
struct Delays {
    base_rtt: u64,
    max_rtt: u64,
    sum_rtt: u64,
    cnt_rtt: u64,
    end_seq: Seq,
}

impl Delays {
    fn sample(&mut self, us: u64) {
        let us = us.min(RTT_MAX);
        self.base_rtt = self.base_rtt.min(us);
        self.max_rtt = self.max_rtt.max(us);
        self.sum_rtt += us;
        self.cnt_rtt += 1;
    }

    fn start_round(&mut self, end: Seq) {
        (self.sum_rtt, self.cnt_rtt, self.end_seq) = (0, 0, end);
    }

    /// The mean and the largest delay by queues.
    fn queues(&self) -> (u64, u64) {
        (self.sum_rtt / self.cnt_rtt - self.base_rtt, self.max_rtt - self.base_rtt)
    }
}

impl Illinois {
    fn new(params: &IllinoisParams) -> Illinois {
        Illinois {
            win_thresh: u64::from(params.win_thresh),
            theta: params.theta,
            alpha: ALPHA_MAX,
            beta: BETA_MAX,
            delays: Delays { base_rtt: RTT_MAX, max_rtt: 0, sum_rtt: 0, cnt_rtt: 0, end_seq: Seq::SYN },
            rtt_above: false,
            rtt_low: 0,
            acked: 0,
            cwnd_cnt: 0,
            in_slow_start: true,
        }
    }

    /// Sizes increase and decrease for the next round trip.
    fn end_round(&mut self, w: u64, end: Seq) {
        if w < self.win_thresh {
            (self.alpha, self.beta) = (ALPHA_UNIT, BETA_MAX);
        } else if self.delays.cnt_rtt > 0 {
            let (mean, largest) = self.delays.queues();
            self.alpha = self.increase(mean, largest);
            self.beta = decrease(mean, largest);
        }
        self.delays.start_round(end);
    }

    fn increase(&mut self, mean: u64, largest: u64) -> u64 {
        let low = largest / 100;
        if mean <= low {
            if !self.rtt_above {
                return ALPHA_MAX;
            }
            self.rtt_low += 1;
            if self.rtt_low < self.theta {
                return self.alpha;
            }
            (self.rtt_low, self.rtt_above) = (0, false);
            return ALPHA_MAX;
        }
        self.rtt_above = true;
        alpha(mean - low, largest - low)
    }
}

/// The curve of the increase, for delays beyond the hundredth that counts as none.
const fn alpha(mean: u64, largest: u64) -> u64 {
    largest * ALPHA_MAX / (largest + mean * (ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
}

/// The curve of the decrease.
const fn decrease(mean: u64, largest: u64) -> u64 {
    let low = largest / 10;
    if mean <= low {
        return BETA_MIN;
    }
    let high = 8 * largest / 10;
    if mean >= high || high <= low {
        return BETA_MAX;
    }
    (BETA_MIN * high + (BETA_MAX - BETA_MIN) * mean - BETA_MAX * low) / (high - low)
}

impl Module for Illinois {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { states: true, ..needs }
    }

    fn init(&mut self, _window: &mut Segments, path: &PathView) {
        self.delays.start_round(path.nxt);
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        self.acked = ack.acked / path.mss;
        if let Some(rtt) = ack.rtt {
            self.delays.sample(rtt.as_nanos() / 1000);
        }
        self.in_slow_start = window.in_slow_start();
        if ack.may_raise && path.una > self.delays.end_seq {
            self.end_round(window.w, path.nxt);
        }
        Steered::Grow
    }

    /// What slow start leaves of an ACK is lost.
    fn cong_avoid(&mut self, w: u64, _n: u64, _cwnd_cnt: &mut CwndCnt) -> u64 {
        if self.in_slow_start {
            return w;
        }
        self.cwnd_cnt += std::mem::replace(&mut self.acked, 1);
        let delta = self.cwnd_cnt * self.alpha / ALPHA_UNIT;
        if delta < w {
            return w;
        }
        self.cwnd_cnt = 0;
        w + delta / w
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        self.cwnd_cnt = 0;
        (w - w * self.beta / BETA_UNIT).max(2)
    }

    fn set_state(&mut self, state: CaState, path: &PathView) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_UNIT, BETA_MAX);
            (self.rtt_low, self.rtt_above, self.cwnd_cnt) = (0, false, 0);
            self.delays.start_round(path.nxt);
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let sampled = self.delays.max_rtt > 0;
        let delay = |us: u64| if sampled { us as f64 * 1e-6 } else { f64::NAN };
        out("alpha_segments", self.alpha as f64 / ALPHA_UNIT as f64);
        out("beta", self.beta as f64 / BETA_UNIT as f64);
        out("base_rtt_s", delay(self.delays.base_rtt));
        out("max_rtt_s", delay(self.delays.max_rtt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1000;

    /// spec/congestion-control section 3.11, with a largest delay of 100 ms. Linux's least alpha, 38/128 = 0.297, makes the
    /// values smaller by up to 1 %, and 128ths round.
    #[test]
    fn alpha_falls_with_delay() {
        let mut illinois = Illinois::new(&IllinoisParams::default());
        for (ms, expected) in [(1, 10.0), (5, 4.336), (10, 2.538), (20, 1.388), (50, 0.588), (100, 0.3)] {
            let alpha = illinois.increase(ms * MS, 100 * MS) as f64 / ALPHA_UNIT as f64;
            assert!((alpha - expected).abs() < 0.01 * expected + 1.0 / 128.0, "{ms} ms: {alpha}");
        }
    }

    /// spec/congestion-control section 3.11. 64ths round down.
    #[test]
    fn beta_rises_with_delay() {
        for (ms, expected) in [(10, 0.125), (20, 0.1786), (45, 0.3125), (80, 0.5), (100, 0.5)] {
            let beta = decrease(ms * MS, 100 * MS) as f64 / BETA_UNIT as f64;
            assert!(beta <= expected && beta > expected - 1.0 / 64.0, "{ms} ms: {beta}");
        }
    }

    /// The largest increase comes back after theta round trips without a queue.
    #[test]
    fn noise_does_not_bring_the_largest_increase_back() {
        let mut illinois = Illinois::new(&IllinoisParams::default());
        assert_eq!(illinois.increase(MS, 100 * MS), ALPHA_MAX, "no queue was seen");
        illinois.alpha = illinois.increase(50 * MS, 100 * MS);
        let small = illinois.alpha;
        for _ in 1..5 {
            assert_eq!(illinois.increase(0, 100 * MS), small);
        }
        assert_eq!(illinois.increase(0, 100 * MS), ALPHA_MAX);
    }

    /// Linux `alpha`, by hand, in 128ths: `99000 * 1280 / (99000 + 4000 * 1242 / 38)` at 5 ms of 100 ms.
    #[test]
    fn alpha_in_whole_numbers() {
        for (ms, alpha) in [(2, 962), (5, 551), (50, 74), (100, 38)] {
            let mut illinois = Illinois::new(&IllinoisParams::default());
            assert_eq!(illinois.increase(ms * MS, 100 * MS), alpha, "{ms} ms");
        }
    }

    /// Section 3.11: delay counts from `win_thresh` on, and a round trip without a sample changes nothing.
    #[test]
    fn small_windows_are_renos() {
        for (w, ms, left) in [
            (14, Some(50), (ALPHA_UNIT, BETA_MAX)),
            (15, Some(50), (38, BETA_MAX)),
            (15, Some(0), (ALPHA_MAX, BETA_MIN)),
            (15, None, (500, 9)),
        ] {
            let mut illinois = Illinois::new(&IllinoisParams::default());
            (illinois.alpha, illinois.beta) = (500, 9);
            (illinois.delays.base_rtt, illinois.delays.max_rtt) = (100 * MS, 150 * MS);
            if let Some(ms) = ms {
                illinois.delays.sample((100 + ms) * MS);
            }
            illinois.end_round(w, Seq::FIRST_DATA);
            assert_eq!((illinois.alpha, illinois.beta), left, "{w} segments, {ms:?} ms");
        }
    }

    /// The first round trip is that of the first window: it ends beyond what was sent when the connection started.
    #[test]
    fn the_first_round_trip_is_whole() {
        let mss = windtunnel_units::Bytes::new(1448);
        let at = |una| PathView {
            now: windtunnel_units::Time::ZERO,
            mss,
            srtt: windtunnel_units::Duration::ZERO,
            min_rtt: windtunnel_units::Duration::ZERO,
            in_flight: mss * 10,
            una: Seq::FIRST_DATA + mss * una,
            nxt: Seq::FIRST_DATA + mss * (una + 10),
        };
        let mut illinois = Illinois::new(&IllinoisParams::default());
        let mut window = Segments { w: 10, ssthresh: 5 };
        illinois.init(&mut window, &at(0));
        for (una, samples, alpha) in [(1, 1, ALPHA_MAX), (10, 2, ALPHA_MAX), (11, 0, ALPHA_UNIT)] {
            let rtt = Some(windtunnel_units::Duration::from_millis(100));
            illinois.steer(
                &mut window,
                &AckSample { rtt, may_raise: true, ..AckSample::default() },
                &at(una),
            );
            assert_eq!((illinois.delays.cnt_rtt, illinois.alpha), (samples, alpha), "{una}");
        }
    }
}
