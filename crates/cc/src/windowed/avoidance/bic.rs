//! BIC: binary search for the window at which the last loss happened.
//!
//! Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks" (INFOCOM 2004), in
//! the form of Linux's `tcp_bic` (spec/congestion-control section 3.7). Below the maximum of the last epoch the window
//! goes a quarter of the distance in each round trip (B = 4), which is fast from afar and gentle where the loss was;
//! beyond it, it moves away as slowly at first (*maximum probing*). An ACK grows the window by 1 / `cnt`:
//!
//! - up to `low_window` (14 segments) `cnt` is the window: Reno, so that BIC is fair at low rates;
//! - far from the maximum the step is `max_increment` (16 segments per round trip), since a binary search that jumps by
//!   more would overflow the queue with its first step;
//! - within 4 segments of the maximum it takes `smooth_part` / 4 = 5 round trips for a segment;
//! - before the first loss `cnt` is at most 20: growth of at least 5 % per round trip.
//!
//! A loss leaves 819/1024, four fifths. One that comes below the last maximum lowers the remembered maximum further
//! (fast convergence), because another flow needs the room. A timeout forgets everything.
//!
//! Linux divides `cnt` by the mean number of segments that an ACK acknowledges, `delayed_ack`, from when it counted
//! ACKs. Now it counts segments, and still divides: above `low_window` BIC grows twice as fast as the paper says where
//! the receiver delays ACKs, and nearly so where it does not, since the mean starts at 2 and integers keep it at 31/16.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use super::{Avoidance, AvoidanceParams, Unit, Window, segments};
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::clock::Clock;
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// The search goes 1 / this of the distance.
const B: u64 = 4;
/// `beta` is in units of 1 / this.
const UNIT: u32 = 1024;
/// The highest `cnt` before the first loss.
const CNT_BEFORE_LOSS: u64 = 20;
/// `delayed_ack` is in units of 1 / this.
const ACK_UNIT: u64 = 16;

/// Parameters of BIC, by the names and in the units of Linux's module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Xu, Harfoush, Rhee 2004; Linux net/ipv4/tcp_bic.c",
    "x-title" = "BIC",
    "x-kept" = 0.8
))]
pub struct BicParams {
    /// The share of cwnd that a loss leaves above `low_window`, in 1024ths.
    #[schemars(range(min = 1, max = 1023))]
    pub beta: u32,
    /// Whether a loss below the last maximum lowers the remembered maximum further, so that new flows gain bandwidth
    /// faster.
    pub fast_convergence: bool,
    /// The largest growth per round trip during the search, in segments.
    #[schemars(range(min = 1), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub max_increment: u32,
    /// The cwnd up to which growth and decrease are Reno's, in segments.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub low_window: u32,
    /// ssthresh of a new connection in segments, or 0 for none.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub initial_ssthresh: u32,
    /// Four times the number of round trips that a segment takes near the maximum.
    #[schemars(range(min = 1))]
    pub smooth_part: u32,
}

impl Default for BicParams {
    fn default() -> BicParams {
        BicParams {
            beta: 819,
            fast_convergence: true,
            max_increment: 16,
            low_window: 14,
            initial_ssthresh: 0,
            smooth_part: 20,
        }
    }
}

impl Params for BicParams {
    const NAME: &'static str = "bic";
    const SUMMARY: &'static str = "Binary search for the window at which the last loss happened";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(1..UNIT).contains(&self.beta) {
            return Err(OutOfRange::new("beta", self.beta, "1 to 1023, in 1024ths"));
        }
        for (key, value) in [("max_increment", self.max_increment), ("smooth_part", self.smooth_part)] {
            if value == 0 {
                return Err(OutOfRange::new(key, value, "1 or more"));
            }
        }
        Ok(())
    }
}

impl AvoidanceParams for BicParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let bic = Bic::new(self, Clock::new(composition.init().tick));
        composition.starting_below(self.initial_ssthresh).with(bic)
    }
}

/// BIC's growth.
#[derive(Clone, Debug)]
pub(crate) struct Bic {
    params: BicParams,
    clock: Clock,
    cwnd_cnt: CwndCnt,
    /// The state is Open: ACKs tell how many segments the receiver acknowledges at once.
    open: bool,
    /// What a response leaves: half of a low window.
    md: f64,
    vars: BicVars,
}

/// Windows in segments.
#[derive(Clone, Debug)]
struct BicVars {
    /// The window at the last loss, reduced by fast convergence; zero before the first one.
    last_max_cwnd: u64,
    /// Segments that must be acknowledged for the window to grow by one.
    cnt: u64,
    /// The window at the last update, and its tick.
    last_cwnd: u64,
    last_time: u64,
    /// Segments per ACK, in 16ths.
    delayed_ack: u64,
}

impl Default for BicVars {
    fn default() -> BicVars {
        BicVars { last_max_cwnd: 0, cnt: 0, last_cwnd: 0, last_time: 0, delayed_ack: 2 * ACK_UNIT }
    }
}

impl Bic {
    fn new(params: &BicParams, clock: Clock) -> Bic {
        Bic {
            params: params.clone(),
            clock,
            cwnd_cnt: CwndCnt::default(),
            open: true,
            md: f64::from(params.beta) / f64::from(UNIT),
            vars: BicVars::default(),
        }
    }

    /// Sets `cnt` for a window of `w`, at most once per 32nd of a second while the window does not change.
    fn update(&mut self, w: u64, tick: u64) {
        if w == self.vars.last_cwnd && tick - self.vars.last_time <= self.clock.steady() {
            return;
        }
        (self.vars.last_cwnd, self.vars.last_time) = (w, tick);
        self.vars.cnt = if w <= u64::from(self.params.low_window) {
            w
        } else {
            let cnt = self.segments_per_growth(w);
            let cnt = if self.vars.last_max_cwnd == 0 { cnt.min(CNT_BEFORE_LOSS) } else { cnt };
            (cnt * ACK_UNIT / self.vars.delayed_ack).max(1)
        };
    }

    /// Returns the segments that must be acknowledged for a window of `w` to grow by one.
    fn segments_per_growth(&self, w: u64) -> u64 {
        let (step, max) = (u64::from(self.params.max_increment), self.vars.last_max_cwnd);
        let smooth = w * u64::from(self.params.smooth_part) / B;
        if w < max {
            match (max - w) / B {
                far if far > step => w / step,
                0 | 1 => smooth,
                distance => w / distance,
            }
        } else {
            match w - max {
                near if near < B => smooth,
                beyond if beyond < step * (B - 1) => w * (B - 1) / beyond,
                _ => w / step,
            }
        }
    }
}

impl Avoidance for Bic {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        self.md
    }

    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, ..needs }
    }

    fn delivered(&mut self, delivery: &Delivery, _window: &Window, path: &PathView) {
        if self.open {
            let vars = &mut self.vars;
            vars.delayed_ack = vars.delayed_ack + delivery.acked / path.mss - vars.delayed_ack / ACK_UNIT;
        }
    }

    fn state(&mut self, state: CaState, _path: &PathView) {
        self.open = state == CaState::Open;
    }

    /// The maximum of the epoch that ends, and whether the window is a low one.
    fn congestion_event(&mut self, window: &Window, path: &PathView) {
        let w = window.cwnd / path.mss;
        let beta = u64::from(self.params.beta);
        let unit = u64::from(UNIT);
        let converge = self.params.fast_convergence && w < self.vars.last_max_cwnd;
        self.vars.last_max_cwnd = if converge { w * (unit + beta) / (2 * unit) } else { w };
        let low = w <= u64::from(self.params.low_window);
        self.md = if low { 0.5 } else { beta as f64 / unit as f64 };
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        self.update((cwnd / path.mss).max(1), self.clock.ticks(path.now));
        cwnd + path.mss * self.cwnd_cnt.add(self.vars.cnt as f64, segments(amount, path.mss) as f64)
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars = BicVars::default();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_segments", self.vars.last_max_cwnd as f64);
        out("price_segments", self.vars.cnt as f64);
        out("segments_per_ack", self.vars.delayed_ack as f64 / ACK_UNIT as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bic(last_max_cwnd: u64) -> Bic {
        let mut bic = Bic::new(&BicParams::default(), Clock::new(windtunnel_units::Duration::from_millis(1)));
        bic.vars.last_max_cwnd = last_max_cwnd;
        bic
    }

    /// The regions of spec/congestion-control section 3.7 around a last maximum of 1000, each at its ends: a 16th of
    /// the window, a quarter of the distance, 5 W within four segments, 3 W over the distance beyond, and again a
    /// 16th.
    #[test]
    fn cnt_around_the_last_maximum() {
        let bic = bic(1000);
        for (w, cnt) in [
            (500, 31),
            (931, 58),
            (936, 58),
            (968, 121),
            (992, 496),
            (993, 4965),
            (999, 4995),
            (1000, 5000),
            (1003, 5015),
            (1004, 753),
            (1024, 128),
            (1047, 66),
            (1048, 65),
            (1060, 66),
            (2000, 125),
        ] {
            assert_eq!(bic.segments_per_growth(w), cnt, "{w}");
        }
    }

    /// Section 3.7 and Linux `bictcp_update`: `cnt` of an unchanged window holds for HZ/32 = 31 ticks. Above 14
    /// segments it is divided by the segments per ACK (two at first), and before the first loss it is at most 20.
    #[test]
    fn cnt_holds_for_a_32nd_of_a_second() {
        let mut bic = bic(1000);
        bic.update(968, 100);
        assert_eq!(bic.vars.cnt, 121 / 2);
        bic.vars.last_max_cwnd = 0;
        for (w, tick, cnt) in [
            (968, 131, 60),
            (968, 132, 10),
            (969, 133, 10),
            (14, 134, 14),
            (15, 135, 1),
            (320, 136, 10),
            (319, 137, 9),
        ] {
            bic.update(w, tick);
            assert_eq!(bic.vars.cnt, cnt, "{w} at tick {tick}");
        }
    }

    /// Fast convergence needs a window below the last maximum (section 3.7); a timeout forgets all (Linux
    /// `bictcp_reset`).
    #[test]
    fn what_a_loss_and_a_timeout_remember() {
        let path = PathView {
            now: windtunnel_units::Time::ZERO,
            mss: Bytes::new(1448),
            srtt: windtunnel_units::Duration::ZERO,
            min_rtt: windtunnel_units::Duration::ZERO,
            in_flight: Bytes::ZERO,
            una: windtunnel_units::Seq::FIRST_DATA,
            nxt: windtunnel_units::Seq::FIRST_DATA,
        };
        for (w, last_max_cwnd) in [(90, 80), (99, 89), (100, 100), (101, 101)] {
            let mut bic = bic(100);
            let mut window = Window { cwnd: path.mss * w, ssthresh: Bytes::MAX };
            bic.congestion_event(&window, &path);
            assert_eq!(bic.vars.last_max_cwnd, last_max_cwnd, "{w}");
            bic.vars.delayed_ack = 16;
            bic.timed_out(&mut window, false, &path);
            assert_eq!((bic.vars.last_max_cwnd, bic.vars.delayed_ack), (0, 32));
        }
    }
}
