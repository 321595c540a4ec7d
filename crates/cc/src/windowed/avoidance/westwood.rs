//! Westwood+: after a loss, the window that the measured bandwidth needs.
//!
//! Mascolo, Casetti, Gerla, Sanadidi and Wang, "TCP Westwood" (`MobiCom` 2001) and Grieco and Mascolo, "Performance
//! evaluation and comparison of Westwood+, New Reno, and Vegas" (2004), in the form of Linux's `tcp_westwood`
//! (spec/congestion-control section 3.12). A loss on a radio link says nothing about congestion. Westwood+ grows as Reno
//! does, but measures from the ACKs the bandwidth that it gets, and leaves recovery with a window of bandwidth x smallest
//! round trip: what fits into the path without a queue. Where losses come from a full queue of one BDP that is a half, as
//! with Reno; where they come at random, hardly anything is lost.
//!
//! A measurement lasts a round trip and at least 50 ms; two low-pass filters in series, each with a gain of 1/8, smooth
//! it: one measurement alone is deceived by ACKs that come in bunches. The first measurement fills both.
//!
//! Duplicate ACKs count as a segment each, and the cumulative ACK that follows counts less by these. Linux forgets that
//! where the ACK needs no closer look (its fast path: the window is as before, and no option but the timestamp): the segments that were SACKed before
//! count twice. Times are in clock ticks, bandwidths in bytes per tick. During the reduction itself the window is Reno's
//! half; after a timeout ssthresh is what the bandwidth needs, and the smallest round trip is measured anew.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration, Seq};

use super::{Avoidance, AvoidanceParams, Unit, Window, segments};
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::clock::Clock;
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// The shortest measurement.
const WINDOW_MIN: Duration = Duration::from_millis(50);
/// The round trip before the first sample: so long that the first one replaces it.
const RTT_INITIAL: Duration = Duration::from_secs(20);
/// The smallest window, in segments.
const LEAST: u64 = 2;

/// Parameters of Westwood+: none, as in Linux.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Grieco, Mascolo 2004; Linux net/ipv4/tcp_westwood.c"))]
pub struct WestwoodParams {}

impl Params for WestwoodParams {
    const NAME: &'static str = "westwood";
    const SUMMARY: &'static str = "Westwood+: after a loss, the window that the measured bandwidth needs";
}

impl AvoidanceParams for WestwoodParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let westwood = Westwood::new(Clock::new(composition.init().tick));
        composition.with(westwood)
    }
}

/// Westwood+'s growth, which is Reno's, and its measurement.
#[derive(Clone, Debug)]
pub(crate) struct Westwood {
    clock: Clock,
    cwnd_cnt: CwndCnt,
    state: CaState,
    bandwidth: Bandwidth,
    /// The latest round trip, in ticks.
    rtt: u64,
    /// The smallest one; none until the next ACK measures it.
    rtt_min: Option<u64>,
    /// The end of what was sent when the last reduction started.
    high_seq: Seq,
    /// The last reduction was undone.
    undone: bool,
}

/// The bandwidth, in bytes per tick.
#[derive(Clone, Copy, Debug, Default)]
struct Bandwidth {
    /// The output of the first filter.
    bw_ns_est: u64,
    /// The output of both.
    bw_est: u64,
    /// Bytes acknowledged in the present measurement.
    bytes: u64,
    /// The start of the measurement, in ticks.
    since: u64,
    /// What the last ACK acknowledged; none before the first one.
    una: Option<Seq>,
    /// Bytes counted with duplicate ACKs, which a cumulative one will acknowledge.
    accounted: u64,
}

impl Bandwidth {
    /// Ends the measurement if it is longer than a round trip, and 50 ms.
    fn end_measurement(&mut self, now: u64, least: u64) {
        let elapsed = now - self.since;
        if elapsed <= least {
            return;
        }
        let sample = self.bytes / elapsed;
        if self.bw_ns_est == 0 && self.bw_est == 0 {
            (self.bw_ns_est, self.bw_est) = (sample, sample);
        } else {
            self.bw_ns_est = (7 * self.bw_ns_est + sample) / 8;
            self.bw_est = (7 * self.bw_est + self.bw_ns_est) / 8;
        }
        (self.bytes, self.since) = (0, now);
    }

    /// Counts an ACK up to `una`. Duplicate ACKs matter only to an ACK with a `closer_look`.
    fn count(&mut self, una: Seq, mss: u64, closer_look: bool) {
        let acked = self.una.map_or(0, |before| (una - before).get());
        self.una = Some(una);
        self.bytes += if closer_look { self.beyond_duplicates(acked, mss) } else { acked };
    }

    fn beyond_duplicates(&mut self, acked: u64, mss: u64) -> u64 {
        if acked == 0 {
            self.accounted += mss;
            return mss;
        }
        if acked <= mss {
            return acked;
        }
        if self.accounted >= acked {
            self.accounted -= acked;
            return mss;
        }
        acked - std::mem::take(&mut self.accounted)
    }
}

impl Westwood {
    fn new(clock: Clock) -> Westwood {
        Westwood {
            clock,
            cwnd_cnt: CwndCnt::default(),
            state: CaState::Open,
            bandwidth: Bandwidth::default(),
            rtt: clock.covering(RTT_INITIAL),
            rtt_min: None,
            high_seq: Seq::SYN,
            undone: false,
        }
    }

    /// Returns the window that the bandwidth needs without a queue.
    fn needed(&self, mss: Bytes) -> Bytes {
        let bytes = self.bandwidth.bw_est * self.rtt_min.unwrap_or(self.rtt);
        mss * (bytes / mss.get()).max(LEAST)
    }
}

impl Avoidance for Westwood {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        0.5
    }

    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, ..needs }
    }

    fn established(&mut self, _window: &mut Window, path: &PathView) {
        self.bandwidth.since = self.clock.ticks(path.now);
    }

    fn delivered(&mut self, delivery: &Delivery, _window: &Window, path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.rtt = self.clock.of_sample(rtt);
        }
        let least = self.rtt.max(self.clock.covering(WINDOW_MIN));
        if self.bandwidth.una.is_none() {
            self.bandwidth.una = Some(path.una);
        }
        if self.rtt > 0 {
            self.bandwidth.end_measurement(self.clock.ticks(path.now), least);
        }
        self.bandwidth.count(path.una, path.mss.get(), delivery.slow_path || delivery.ecn.any());
        self.rtt_min = Some(self.rtt_min.map_or(self.rtt, |least| least.min(self.rtt)));
    }

    fn state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
    }

    /// The reduction is over. A timeout has no reduction, and one that is undone before its end has no end.
    fn recovered(&mut self, window: &mut Window, path: &PathView) {
        if self.state != CaState::Loss && !(self.undone && path.una < self.high_seq) {
            let needed = self.needed(path.mss);
            *window = Window { cwnd: needed, ssthresh: needed };
        }
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, path: &PathView) {
        (self.high_seq, self.undone) = (path.nxt, false);
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let w = (cwnd / path.mss).max(1);
        cwnd + path.mss * self.cwnd_cnt.add(w as f64, segments(amount, path.mss) as f64)
    }

    fn timed_out(&mut self, window: &mut Window, new_episode: bool, path: &PathView) {
        if new_episode {
            window.ssthresh = self.needed(path.mss);
            self.rtt_min = None;
        }
    }

    /// An undo restores the window alone, as in Linux.
    fn undone(&mut self, _before: Westwood) {
        self.undone = true;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("bandwidth_bytes_per_s", (self.bandwidth.bw_est * self.clock.hz()) as f64);
        out("rtt_min_s", self.rtt_min.map_or(f64::NAN, |ticks| self.clock.seconds(ticks)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 3.12: 10 Mbit/s, 50 ms and 1460 bytes need 42 segments; never less than two.
    #[test]
    fn the_window_is_bandwidth_times_round_trip() {
        let mut westwood = Westwood::new(Clock::new(Duration::from_millis(1)));
        (westwood.bandwidth.bw_est, westwood.rtt_min) = (1250, Some(50));
        assert_eq!(westwood.needed(Bytes::new(1460)), Bytes::new(1460) * 42);
        westwood.rtt_min = Some(1);
        assert_eq!(westwood.needed(Bytes::new(1460)), Bytes::new(1460) * 2);
    }

    /// Three duplicate ACKs count for a segment each, and the cumulative ACK of five segments for the other two; on
    /// Linux's fast path it counts for all five.
    #[test]
    fn duplicate_acks_are_accounted_for() {
        for (closer_look, bytes) in [(true, 5000), (false, 8000)] {
            let mut bandwidth = Bandwidth { una: Some(Seq::FIRST_DATA), ..Bandwidth::default() };
            for _ in 0..3 {
                bandwidth.count(Seq::FIRST_DATA, 1000, true);
            }
            bandwidth.count(Seq::FIRST_DATA + Bytes::new(5000), 1000, closer_look);
            assert_eq!(bandwidth.bytes, bytes);
        }
    }

    /// The first measurement fills both filters; each later one has a weight of an eighth, and of an eighth of that.
    #[test]
    fn two_filters_smooth_the_bandwidth() {
        let mut bandwidth = Bandwidth::default();
        for (now, sample, once, twice) in [(100, 800, 800, 800), (200, 1600, 900, 812)] {
            bandwidth.bytes = sample * 100;
            bandwidth.end_measurement(now, 99);
            assert_eq!((bandwidth.bw_ns_est, bandwidth.bw_est), (once, twice));
        }
        bandwidth.end_measurement(299, 99);
        assert_eq!(bandwidth.since, 200, "not longer than a round trip");
    }

    /// Linux `westwood_acked_count`: what was counted with duplicates is taken off later ACKs; one that acknowledges
    /// less than that counts as a segment, and what is left is taken off the next.
    #[test]
    fn more_duplicates_than_acknowledged() {
        let mut bandwidth = Bandwidth { una: Some(Seq::FIRST_DATA), ..Bandwidth::default() };
        for (una, counted, accounted) in [
            (0, 1000, 1000),
            (0, 1000, 2000),
            (0, 1000, 3000),
            (0, 1000, 4000),
            (3000, 1000, 1000),
            (4000, 1000, 1000),
            (8000, 3000, 0),
            (10_000, 2000, 0),
        ] {
            let before = bandwidth.bytes;
            bandwidth.count(Seq::FIRST_DATA + Bytes::new(una), 1000, true);
            assert_eq!((bandwidth.bytes - before, bandwidth.accounted), (counted, accounted), "{una}");
        }
    }

    /// Linux `westwood_filter`: only the first measurement fills the filters; a second one that has decayed to zero
    /// does not make the next a first.
    #[test]
    fn a_filter_may_be_empty() {
        let mut bandwidth = Bandwidth { bw_ns_est: 7, bytes: 10_000, ..Bandwidth::default() };
        bandwidth.end_measurement(100, 50);
        // (7 * 7 + 100) / 8, and an eighth of that.
        assert_eq!((bandwidth.bw_ns_est, bandwidth.bw_est), (18, 2));
    }

    /// Section 3.12 and Linux `tcp_end_cwnd_reduction`: the end of CWR and Recovery sets the window, that of a
    /// timeout does not, nor that of a reduction which was undone before all of its flight was acknowledged.
    #[test]
    fn only_reductions_end_with_the_measured_window() {
        let mss = Bytes::new(1000);
        let path = |una| PathView {
            now: windtunnel_units::Time::ZERO,
            mss,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            una: Seq::FIRST_DATA + mss * una,
            nxt: Seq::FIRST_DATA + mss * 10,
        };
        for (state, undone, una, sets) in [
            (CaState::Open, false, 5, true),
            (CaState::Recovery, false, 5, true),
            (CaState::Cwr, false, 10, true),
            (CaState::Loss, false, 10, false),
            (CaState::Open, true, 9, false),
            (CaState::Open, true, 10, true),
        ] {
            let mut westwood = Westwood::new(Clock::new(Duration::from_millis(1)));
            (westwood.bandwidth.bw_est, westwood.rtt_min) = (1000, Some(42));
            westwood.decreased(mss * 60, mss * 30, 0.5, &path(0));
            if undone {
                let before = westwood.clone();
                westwood.undone(before);
            }
            westwood.state(state, &path(una));
            let mut window = Window { cwnd: mss * 30, ssthresh: mss * 30 };
            westwood.recovered(&mut window, &path(una));
            assert_eq!(window.cwnd, mss * if sets { 42 } else { 30 }, "{state:?} {undone} {una}");
        }
    }
}
