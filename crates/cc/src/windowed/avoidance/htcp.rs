//! H-TCP: growth by the time since the last congestion, and a decrease that just empties the queue.
//!
//! Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks" (`PFLDnet` 2004), in the form of Linux's
//! `tcp_htcp` (spec/congestion-control section 3.6):
//!
//! - *Increase.* For the first second after congestion H-TCP grows as Reno does. After `D` seconds more the increase is
//!   `f = 1 + 10 D + (D / 2)^2` segments per round trip: on paths where losses are rare (a large product of rate and
//!   delay) flows find the capacity in seconds, elsewhere H-TCP is Reno. `alpha = 2 f (1 - beta)` makes the mean
//!   independent of the decrease.
//! - *RTT scaling* (`use_rtt_scaling`). f is in segments per round trip; it is divided by 100 ms / `minRTT`, between 0.5
//!   and 10, so that flows with different round trips grow as fast per second.
//! - *Decrease.* `beta = minRTT / maxRTT`, between 0.5 and 0.8, empties the queue and no more.
//! - *Bandwidth switch* (`use_bandwidth_switch`). Where the throughput reached before the loss differs by a fifth from
//!   that of the epoch before, the path has changed or another flow came: beta is 0.5 for this loss and the next.
//!
//! Linux counts alpha and beta in 128ths, f in whole segments, and time in clock ticks; the clock of the increase starts
//! anew when the state is Open again. The largest round trip fades by a twentieth with each loss, and a sample raises it
//! only by less than 20 ms. What slow start leaves of an ACK is not used.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration};

use super::{Avoidance, AvoidanceParams, Unit, Window, crossed_ssthresh};
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::clock::Clock;
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// alpha and beta are in units of 1 / this.
const UNIT: u64 = 128;
/// The smallest share that a loss leaves.
const BETA_MIN: u64 = UNIT / 2;
/// The largest one: 0.8 rounded down.
const BETA_MAX: u64 = 102;
/// The largest rise of the largest round trip that a sample may cause: more is not a queue.
const RISE_MAX: Duration = Duration::from_millis(20);
/// Round trips up to this are too short to be measured in ticks.
const RTT_LEAST: Duration = Duration::from_millis(10);

/// Parameters of H-TCP, by the names of Linux's module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Leith, Shorten 2004; Linux net/ipv4/tcp_htcp.c", "x-title" = "H-TCP"))]
pub struct HtcpParams {
    /// Whether the increase is scaled so that it does not depend on the round trip.
    pub use_rtt_scaling: bool,
    /// Whether a changed throughput makes the decrease 0.5.
    pub use_bandwidth_switch: bool,
}

impl Default for HtcpParams {
    fn default() -> HtcpParams {
        HtcpParams { use_rtt_scaling: true, use_bandwidth_switch: true }
    }
}

impl Params for HtcpParams {
    const NAME: &'static str = "htcp";
    const SUMMARY: &'static str = "H-TCP: growth by the time since the last congestion";
}

impl AvoidanceParams for HtcpParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let htcp = Htcp::new(self.clone(), Clock::new(composition.init().tick));
        composition.with(htcp)
    }
}

/// H-TCP's growth. Times are in ticks, throughputs in segments per second.
#[derive(Clone, Debug)]
pub(crate) struct Htcp {
    params: HtcpParams,
    clock: Clock,
    state: CaState,
    /// In 128ths of a segment per round trip.
    alpha: u64,
    /// In 128ths.
    beta: u64,
    /// The throughput was stable at the last loss, so that beta follows the round trips.
    modeswitch: bool,
    cwnd_cnt: CwndCnt,
    /// Segments that the last ACK acknowledged in Open, for the next growth.
    acked: u64,
    min_rtt: u64,
    max_rtt: u64,
    /// When the last congestion ended.
    last_cong: u64,
    /// What an undo restores.
    undo: Option<Undo>,
    throughput: Throughput,
}

/// The state before the last congestion.
#[derive(Clone, Copy, Debug)]
struct Undo {
    last_cong: u64,
    max_rtt: u64,
    old_max: u64,
}

/// The throughput measured over windows.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    segments: u64,
    /// The start of the measurement; none before the first one.
    since: Option<u64>,
    mean: u64,
    max: u64,
    /// `max` at the last loss.
    old_max: u64,
}

impl Htcp {
    fn new(params: HtcpParams, clock: Clock) -> Htcp {
        Htcp {
            params,
            clock,
            state: CaState::Open,
            alpha: UNIT,
            beta: BETA_MIN,
            modeswitch: false,
            cwnd_cnt: CwndCnt::default(),
            acked: 1,
            min_rtt: 0,
            max_rtt: 0,
            last_cong: 0,
            undo: None,
            throughput: Throughput::default(),
        }
    }

    fn measure_rtt(&mut self, rtt: u64) {
        if self.min_rtt == 0 || rtt < self.min_rtt {
            self.min_rtt = rtt;
        }
        if self.state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if rtt <= self.max_rtt + self.clock.covering(RISE_MAX) {
                self.max_rtt = self.max_rtt.max(rtt);
            }
        }
    }

    /// Measures the throughput over a window and at least the smallest round trip.
    fn measure_throughput(&mut self, acked: u64, w: u64, now: u64) {
        let throughput = &mut self.throughput;
        if self.state > CaState::Disorder {
            (throughput.segments, throughput.since) = (0, Some(now));
            return;
        }
        throughput.segments += acked;
        let elapsed = throughput.since.map(|since| now - since);
        if throughput.segments + (self.alpha / UNIT).max(1) < w
            || self.min_rtt == 0
            || elapsed.is_some_and(|elapsed| elapsed < self.min_rtt)
        {
            return;
        }
        // The first measurement has no start: in Linux it started long ago.
        let latest = elapsed.map_or(0, |elapsed| throughput.segments * self.clock.hz() / elapsed);
        if (now - self.last_cong) / self.min_rtt <= 3 {
            (throughput.mean, throughput.max) = (latest, latest);
        } else {
            throughput.mean = (3 * throughput.mean + latest) / 4;
            throughput.max = throughput.max.max(throughput.mean);
        }
        (throughput.segments, throughput.since) = (0, Some(now));
    }

    fn update_beta(&mut self) {
        if self.params.use_bandwidth_switch {
            let Throughput { max, old_max, .. } = self.throughput;
            self.throughput.old_max = max;
            if !(4 * old_max..=6 * old_max).contains(&(5 * max)) {
                (self.beta, self.modeswitch) = (BETA_MIN, false);
                return;
            }
        }
        if self.modeswitch && self.min_rtt > self.clock.covering(RTT_LEAST) && self.max_rtt > 0 {
            self.beta = (self.min_rtt * UNIT / self.max_rtt).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.modeswitch) = (BETA_MIN, true);
        }
    }

    fn update_alpha(&mut self, now: u64) {
        let factor = self.growth_after(now - self.last_cong);
        self.alpha = 2 * factor * (UNIT - self.beta);
    }

    /// Returns f, in whole segments per round trip, `elapsed` ticks after the last congestion.
    fn growth_after(&self, elapsed: u64) -> u64 {
        let hz = self.clock.hz();
        let beyond = elapsed.saturating_sub(hz);
        // Ticks of a nanosecond overflow 64 bits within seconds.
        let half = u128::from(beyond / 2);
        let square = (half * half / u128::from(hz)) as u64;
        let factor = 1 + (10 * beyond + square) / hz;
        if !self.params.use_rtt_scaling || self.min_rtt == 0 {
            return factor;
        }
        // 100 ms / minRTT, in eighths.
        let scale = (8 * hz / (10 * self.min_rtt)).clamp(8 / 2, 8 * 10);
        (8 * factor / scale).max(1)
    }
}

impl Avoidance for Htcp {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        self.beta as f64 / UNIT as f64
    }

    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, ..needs }
    }

    fn established(&mut self, _window: &mut Window, path: &PathView) {
        self.last_cong = self.clock.ticks(path.now);
    }

    fn delivered(&mut self, delivery: &Delivery, window: &Window, path: &PathView) {
        let acked = delivery.acked / path.mss;
        if self.state == CaState::Open {
            self.acked = acked;
        }
        if let Some(rtt) = delivery.rtt {
            self.measure_rtt(self.clock.of_sample(rtt));
        }
        if self.params.use_bandwidth_switch {
            self.measure_throughput(acked, window.cwnd / path.mss, self.clock.ticks(path.now));
        }
    }

    fn state(&mut self, state: CaState, path: &PathView) {
        let now = self.clock.ticks(path.now);
        match state {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last_cong = now;
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                self.undo = Some(Undo {
                    last_cong: self.last_cong,
                    max_rtt: self.max_rtt,
                    old_max: self.throughput.old_max,
                });
                self.last_cong = now;
            }
        }
        self.state = state;
    }

    fn congestion_event(&mut self, _window: &Window, path: &PathView) {
        self.update_beta();
        self.update_alpha(self.clock.ticks(path.now));
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * 95 / 100;
        }
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    /// alpha is computed anew with each segment of growth.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() || crossed_ssthresh(amount, ack) {
            return cwnd;
        }
        let acked = std::mem::replace(&mut self.acked, 1);
        let w = cwnd / path.mss;
        if self.cwnd_cnt.get() as u64 * self.alpha / UNIT < w {
            self.cwnd_cnt.save(acked as f64);
            return cwnd;
        }
        self.cwnd_cnt.clear();
        self.update_alpha(self.clock.ticks(path.now));
        cwnd + path.mss
    }

    /// The congestion was none: its time, and what it changed of the measurements, is forgotten.
    fn undone(&mut self, _before: Htcp) {
        if let Some(before) = self.undo.take() {
            self.last_cong = before.last_cong;
            self.max_rtt = before.max_rtt;
            self.throughput.old_max = before.old_max;
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("alpha_segments", self.alpha as f64 / UNIT as f64);
        out("beta", self.md());
        out("min_rtt_s", self.clock.seconds(self.min_rtt));
        out("max_rtt_s", self.clock.seconds(self.max_rtt));
        out("throughput_segments_per_s", self.throughput.mean as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn htcp(min_rtt_ms: u64) -> Htcp {
        let mut htcp = Htcp::new(HtcpParams::default(), Clock::new(Duration::from_millis(1)));
        htcp.min_rtt = min_rtt_ms;
        htcp
    }

    /// spec/congestion-control section 3.6: f = 1, 11.25, 22, 45, 111.25, 281.25 at 1, 2, 3, 5, 10, 20 s, in whole
    /// segments rounded down. At 10 ms a tenth of it, at 300 ms three times as much, limited to twice.
    #[test]
    fn growth_follows_the_time_since_congestion() {
        let seconds = [(1, 1.0_f64), (2, 11.25), (3, 22.0), (5, 45.0), (10, 111.25), (20, 281.25)];
        for (at, f) in seconds {
            let whole = f as u64;
            assert_eq!(htcp(0).growth_after(at * 1000), whole, "{at} s");
            assert_eq!(htcp(100).growth_after(at * 1000), whole, "{at} s, 100 ms");
            assert_eq!(htcp(10).growth_after(at * 1000), (whole / 10).max(1), "{at} s, 10 ms");
            assert_eq!(htcp(300).growth_after(at * 1000), 2 * whole, "{at} s, 300 ms");
        }
    }

    /// The same with a clock that ticks each nanosecond, and after longer times: 250 s give 1 + 10 (250 - 1) + ((250 - 1) / 2)^2.
    #[test]
    fn growth_with_the_finest_clock() {
        let htcp = Htcp::new(HtcpParams::default(), Clock::new(Duration::from_nanos(1)));
        for (at, f) in [(1, 1), (2, 11), (20, 281), (250, 17_991), (1000, 259_491)] {
            assert_eq!(htcp.growth_after(at * 1_000_000_000), f, "{at} s");
        }
    }

    /// The decrease is the ratio of the round trips from the second stable loss on, between 0.5 and 102/128.
    #[test]
    fn the_decrease_empties_the_queue() {
        for (max_rtt, beta) in [(300, 64), (150, 85), (101, 102)] {
            let mut htcp = htcp(100);
            htcp.max_rtt = max_rtt;
            (htcp.throughput.max, htcp.throughput.old_max) = (1000, 1000);
            htcp.update_beta();
            assert_eq!((htcp.beta, htcp.modeswitch), (64, true), "the first loss halves");
            htcp.update_beta();
            assert_eq!(htcp.beta, beta, "{max_rtt} ms");
            // A throughput that fell by more than a fifth.
            htcp.throughput.max = 799;
            htcp.update_beta();
            assert_eq!((htcp.beta, htcp.modeswitch), (64, false));
        }
    }

    fn at(ms: u64) -> PathView {
        let now = windtunnel_units::Time::ZERO + Duration::from_millis(ms);
        PathView { now, ..PathView::of_segments(0, 0) }
    }

    /// Section 3.6 and Linux `measure_rtt`: any sample may lower minRTT; in Open one raises maxRTT if it is at most
    /// 20 ms more.
    #[test]
    fn round_trips_rise_by_twenty_milliseconds() {
        let mut htcp = htcp(0);
        for (state, rtt, min, max) in [
            (CaState::Disorder, 110, 110, 0),
            (CaState::Open, 100, 100, 100),
            (CaState::Open, 121, 100, 100),
            (CaState::Open, 120, 100, 120),
            (CaState::Open, 115, 100, 120),
            (CaState::Open, 140, 100, 140),
            (CaState::Recovery, 150, 100, 140),
            (CaState::Recovery, 90, 90, 140),
        ] {
            htcp.state = state;
            htcp.measure_rtt(rtt);
            assert_eq!((htcp.min_rtt, htcp.max_rtt), (min, max), "{rtt} ms in {state:?}");
        }
    }

    /// Section 3.6 and Linux `measure_achieved_throughput`: a measurement takes a window less alpha, at least a
    /// segment, and a minRTT. Up to three round trips after congestion it is the throughput itself, later a quarter
    /// of it counts.
    #[test]
    fn throughput_is_measured_over_windows() {
        let mut htcp = htcp(100);
        (htcp.last_cong, htcp.throughput.mean, htcp.throughput.max) = (1000, 7, 7);
        // Time, segments acknowledged and alpha; the mean and the largest throughput after it.
        for (now, acked, alpha, mean, max) in [
            (1000, 48, 1, 7, 7),
            // 49 segments are enough; of the first ones it is not known how long they took.
            (1000, 1, 1, 0, 0),
            (1099, 50, 1, 0, 0),
            (1100, 0, 1, 500, 500),
            (1200, 49, 1, 490, 490),
            // 399 ms are less than four round trips: 100 segments in 199 ms.
            (1399, 100, 1, 502, 502),
            // (3 * 502 + 900) / 4, and then (3 * 601 + 200) / 4.
            (1499, 90, 1, 601, 601),
            (1749, 50, 1, 500, 601),
            (1849, 39, 10, 500, 601),
            // With alpha = 10, 40 segments are enough: (3 * 500 + 400) / 4.
            (1849, 1, 10, 475, 601),
        ] {
            htcp.alpha = alpha * UNIT;
            htcp.measure_throughput(acked, 50, now);
            assert_eq!(
                (htcp.throughput.mean, htcp.throughput.max),
                (mean, max),
                "{now} ms, {acked} segments"
            );
        }
        // The fourth round trip averages, and a reduction starts the measurement anew; Disorder does not.
        htcp.last_cong = 1600;
        htcp.measure_throughput(100, 50, 2000);
        assert_eq!(htcp.throughput.mean, (3 * 475 + 662) / 4, "100 segments in 151 ms");
        for (state, segments, since) in [(CaState::Disorder, 5, 2000), (CaState::Recovery, 0, 2010)] {
            htcp.state = state;
            htcp.measure_throughput(5, 50, 2010);
            assert_eq!(
                (htcp.throughput.segments, htcp.throughput.since),
                (segments, Some(since)),
                "{state:?}"
            );
        }
        let mut unknown = Htcp::new(HtcpParams::default(), Clock::new(Duration::from_millis(1)));
        unknown.measure_throughput(100, 50, 1000);
        assert_eq!(unknown.throughput.since, None, "without a round trip");
    }

    /// Linux `htcp_beta_update`: the ratio needs a maxRTT and a minRTT of more than 10 ms.
    #[test]
    fn short_round_trips_halve() {
        for (min, max, beta) in [(10, 12, 64), (11, 14, 100), (100, 0, 64)] {
            let mut htcp = htcp(min);
            (htcp.max_rtt, htcp.modeswitch) = (max, true);
            (htcp.throughput.max, htcp.throughput.old_max) = (1000, 1000);
            htcp.update_beta();
            assert_eq!(htcp.beta, beta, "{min} ms to {max} ms");
        }
    }

    /// Section 3.6: with each answer, maxRTT comes nearer to minRTT by a twentieth, and alpha is that of now.
    #[test]
    fn the_largest_round_trip_fades() {
        for (min, max, left) in [(100, 200, 195), (100, 101, 100), (100, 100, 100), (100, 0, 0), (0, 0, 0)] {
            let mut htcp = htcp(min);
            htcp.max_rtt = max;
            let window = Window { cwnd: Bytes::new(1448) * 100, ssthresh: Bytes::MAX };
            htcp.congestion_event(&window, &at(3000));
            assert_eq!(htcp.max_rtt, left, "{min} ms to {max} ms");
            // f = 22 at 3 s, and beta is a half; without a round trip there is no scale, as at 100 ms.
            assert_eq!(htcp.alpha, 22 * UNIT);
        }
    }

    /// Linux `htcp_init`, `htcp_state` and `htcp_cwnd_undo`: the clock of the increase starts with the connection,
    /// anew with a reduction and at its end; an undo sets it back, with maxRTT and the throughput before.
    #[test]
    fn an_undo_sets_the_clock_back() {
        let mut htcp = htcp(100);
        htcp.established(&mut Window { cwnd: Bytes::new(14_480), ssthresh: Bytes::MAX }, &at(500));
        assert_eq!(htcp.last_cong, 500);
        (htcp.max_rtt, htcp.throughput.old_max) = (200, 900);
        htcp.state(CaState::Recovery, &at(2000));
        (htcp.max_rtt, htcp.throughput.old_max) = (195, 700);
        assert_eq!(htcp.last_cong, 2000);
        let before = htcp.clone();
        htcp.undone(before);
        assert_eq!((htcp.last_cong, htcp.max_rtt, htcp.throughput.old_max), (500, 200, 900));
        htcp.state(CaState::Open, &at(3000));
        assert_eq!(htcp.last_cong, 500, "there was no congestion");
        htcp.state(CaState::Cwr, &at(4000));
        htcp.state(CaState::Open, &at(5000));
        assert_eq!(htcp.last_cong, 5000);
    }
}
