//! TCP-LP as in the paper (spec/congestion-control section 3.17).
//!
//! Until what was in flight at an indication is acknowledged, it is still the same congestion, and the smoothing then starts anew.
//! The extremes start half a round trip apart (Linux starts with the first delay and twice as much: the same where both ways are
//! equally long), and stay. As in Linux, the greatest but one counts, so that one outlier does not widen the range. After an
//! indication growth goes on by a segment per round trip.
//!
//! A receiver that delays ACKs makes those of single segments late: once an ACK of more was seen, they can only lower the
//! least delay. Otherwise a window of one segment would show congestion for ever.
//!
//! One-way delay is the receiver's timestamp less the time of the newest segment, here in microseconds of one clock. Without
//! timestamps TCP-LP is Reno.

use windtunnel_units::{Duration, Seq, Time};

use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai, half};
use crate::windowed::cwnd_cnt::CwndCnt;

/// The part of the range of delay that shows congestion, in percent.
const EARLY_PERCENT: u64 = 15;
/// Round trips of inference.
const INFERENCE: u64 = 3;

/// One-way delays, in microseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Delays {
    /// The smoothed delay, times eight; zero before the first sample.
    smoothed: u64,
    least: u64,
    greatest: u64,
    /// A delay beyond the greatest, which counts once it is exceeded.
    beyond: u64,
}

impl Delays {
    /// Takes a sample, made in a round trip of `rtt_us`.
    fn sample(&mut self, us: u64, rtt_us: u64) {
        if self.smoothed == 0 && self.greatest > 0 {
            self.smoothed = us << 3;
        }
        if self.smoothed == 0 {
            let greatest = us + rtt_us / 2;
            *self = Delays { smoothed: us << 3, least: us, greatest, beyond: greatest };
            return;
        }
        self.least = self.least.min(us);
        if us > self.beyond {
            self.greatest = std::mem::replace(&mut self.beyond, us);
        } else if us > self.greatest {
            self.greatest = us;
        }
        self.smoothed = self.smoothed - self.smoothed / 8 + us;
    }

    /// The delay from which on congestion is near.
    const fn threshold(&self) -> u64 {
        self.least + EARLY_PERCENT * self.greatest.saturating_sub(self.least) / 100
    }

    /// True if congestion is near.
    const fn show_congestion(&self) -> bool {
        self.smoothed > 0 && self.smoothed >> 3 >= self.threshold()
    }
}

/// The paper's TCP-LP.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LpPaper {
    delays: Delays,
    /// The last indication.
    indicated: Option<Time>,
    inference: Duration,
    infers: bool,
    /// The receiver delays ACKs.
    delayed_acks: bool,
    /// ACKs up to this do not show the effect of the last change yet.
    pending: Option<Seq>,
    state: CaState,
}

impl LpPaper {
    /// Takes the delay that an ACK of `segments` shows. True if congestion is near.
    fn measure(&mut self, us: u64, rtt_us: u64, segments: u64) -> bool {
        self.delayed_acks |= segments > 1;
        if self.delayed_acks && segments <= 1 {
            self.delays.least = self.delays.least.min(us);
            return false;
        }
        self.delays.sample(us, rtt_us);
        self.delays.show_congestion()
    }

    /// Congestion is near.
    fn give_way(&mut self, window: &mut Segments, path: &PathView) {
        window.w = if self.infers { 1 } else { (window.w / 2).max(1) };
        window.ssthresh = window.ssthresh.min(window.w);
        self.indicated = Some(path.now);
        self.infers = true;
        self.pending = Some(path.nxt);
    }
}

impl Module for LpPaper {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { states: true, one_way: true, ..needs }
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        let mut near = false;
        if let Some(rtt) = ack.rtt {
            self.inference = rtt * INFERENCE;
            near = ack.one_way.is_some_and(|delay| {
                self.measure(delay.as_nanos() / 1000, rtt.as_nanos() / 1000, ack.acked / path.mss)
            });
        }
        self.infers = self.indicated.is_some_and(|then| path.now.since(then) < self.inference);
        if self.pending.is_some_and(|end| path.una > end) {
            self.pending = None;
            self.delays.smoothed = 0;
        } else if near && self.pending.is_none() && !self.state.is_reducing() {
            self.give_way(window, path);
        }
        if self.infers { Steered::Hold } else { Steered::Grow }
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        cong_avoid_ai(w, w, n, cwnd_cnt)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        half(w)
    }

    fn set_state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |us: u64| if self.delays.smoothed == 0 { f64::NAN } else { us as f64 * 1e-6 };
        out("one_way_s", seconds(self.delays.smoothed >> 3));
        out("one_way_threshold_s", seconds(self.delays.threshold()));
        out("infers", f64::from(u8::from(self.infers)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 3.17: between 20 and 40 ms, the threshold is 23 ms.
    #[test]
    fn fifteen_percent_of_the_range() {
        let delays = Delays { smoothed: 8 * 22_999, least: 20_000, greatest: 40_000, beyond: 40_000 };
        assert_eq!(delays.threshold(), 23_000);
        assert!(!delays.show_congestion());
        assert!(Delays { smoothed: 8 * 23_000, ..delays }.show_congestion());
    }

    /// The greatest delay but one counts.
    #[test]
    fn one_outlier_does_not_widen_the_range() {
        let mut delays = Delays::default();
        for us in [20_000, 30_000, 90_000] {
            delays.sample(us, 40_000);
        }
        assert_eq!(
            (delays.least, delays.greatest, delays.beyond),
            (20_000, 40_000, 90_000),
            "half a round trip more than the first"
        );
        delays.sample(50_000, 40_000);
        assert_eq!(delays.greatest, 50_000);
    }

    /// Section 3.17: the first indication halves the window, another within three round trips leaves one segment.
    #[test]
    fn gives_way_twice() {
        let path = PathView {
            now: Time::ZERO + Duration::from_secs(1),
            mss: windtunnel_units::Bytes::new(1448),
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: windtunnel_units::Bytes::ZERO,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        };
        let mut lp = LpPaper::default();
        let mut window = Segments { w: 40, ssthresh: Segments::INFINITE };
        lp.give_way(&mut window, &path);
        assert_eq!(window, Segments { w: 20, ssthresh: 20 });
        assert!(lp.infers);
        lp.give_way(&mut window, &path);
        assert_eq!(window, Segments { w: 1, ssthresh: 1 });
    }

    /// A receiver that delays ACKs: single segments' can only lower the least.
    #[test]
    fn delayed_acks_show_nothing() {
        let mut lp = LpPaper::default();
        assert!(!lp.measure(20_000, 40_000, 2));
        assert!(!lp.measure(60_000, 40_000, 1) && !lp.measure(19_000, 40_000, 1));
        assert_eq!((lp.delays.smoothed >> 3, lp.delays.least), (20_000, 19_000));
        assert!((0..20).any(|_| lp.measure(60_000, 40_000, 2)));
    }

    fn at(ms: u64, una: u64, nxt: u64) -> PathView {
        PathView { now: Time::ZERO + Duration::from_millis(ms), ..PathView::of_segments(una, nxt) }
    }

    /// An ACK of a segment at a round trip of 40 ms.
    fn ack(one_way_ms: u64) -> AckSample {
        AckSample {
            acked: windtunnel_units::Bytes::new(1448),
            rtt: Some(Duration::from_millis(40)),
            one_way: Some(Duration::from_millis(one_way_ms)),
            may_raise: true,
            ..AckSample::default()
        }
    }

    /// Section 3.17: the first delay, 20 ms, and half a round trip more make a threshold of 23 ms. One of 100 ms
    /// raises the smoothed delay to 30 ms, which halves the window. Until what was in flight is acknowledged nothing
    /// else counts, and smoothing then restarts; congestion within three round trips leaves one segment. Meanwhile
    /// nothing grows.
    #[test]
    fn delay_is_answered_once_per_flight() {
        let mut lp = LpPaper::default();
        let mut window = Segments { w: 40, ssthresh: Segments::INFINITE };
        for (ms, una, one_way, w, steered) in [
            (0, 1, 20, 40, Steered::Grow),
            (0, 2, 22, 40, Steered::Grow),
            (1, 2, 100, 20, Steered::Hold),
            (2, 41, 100, 20, Steered::Hold),
            // The last of the flight, and the first beyond it.
            (3, 42, 100, 20, Steered::Hold),
            (4, 43, 100, 20, Steered::Hold),
            (5, 44, 21, 20, Steered::Hold),
            (120, 45, 21, 20, Steered::Hold),
            (121, 46, 21, 20, Steered::Grow),
            (122, 47, 200, 10, Steered::Hold),
            (123, 88, 200, 10, Steered::Hold),
            (124, 89, 200, 1, Steered::Hold),
        ] {
            let nxt = if ms == 122 { 87 } else { una + 40 };
            assert_eq!(lp.steer(&mut window, &ack(one_way), &at(ms, una, nxt)), steered, "{ms} ms");
            assert_eq!(
                (window.w, window.ssthresh),
                (w, if w == 40 { Segments::INFINITE } else { w }),
                "{ms} ms"
            );
        }
    }

    /// Section 3.17: during a reduction, and without timestamps, delay has no answer.
    #[test]
    fn reductions_come_first() {
        let unstamped = |_: u64| AckSample { one_way: None, ..ack(0) };
        for (state, left) in [
            (CaState::Open, 20),
            (CaState::Disorder, 20),
            (CaState::Cwr, 40),
            (CaState::Recovery, 40),
            (CaState::Loss, 20),
        ] {
            for (sample, left) in [(ack as fn(u64) -> AckSample, left), (unstamped, 40)] {
                let mut lp = LpPaper::default();
                let mut window = Segments { w: 40, ssthresh: 30 };
                lp.set_state(state, &at(0, 0, 40));
                lp.steer(&mut window, &sample(20), &at(0, 1, 41));
                lp.steer(&mut window, &sample(100), &at(1, 2, 42));
                assert_eq!(window.w, left, "{state:?}");
            }
        }
    }

    /// Section 3.17: a new delay has a weight of an eighth; after a restart the first one is the smoothed delay, and
    /// the extremes stay.
    #[test]
    fn delays_are_smoothed() {
        let mut delays = Delays::default();
        for (us, smoothed) in [(20_000, 20_000), (28_000, 21_000), (21_003, 21_000)] {
            delays.sample(us, 40_000);
            assert_eq!(delays.smoothed >> 3, smoothed);
        }
        assert_eq!(delays.smoothed, 8 * 21_000 + 3);
        delays.smoothed = 0;
        delays.sample(30_000, 40_000);
        assert_eq!((delays.smoothed >> 3, delays.least, delays.greatest), (30_000, 20_000, 40_000));
    }

    /// Section 3.17: growth and the answer to a loss are Reno's.
    #[test]
    fn otherwise_it_is_reno() {
        let mut lp = LpPaper::default();
        let mut cwnd_cnt = CwndCnt::default();
        assert_eq!((lp.cong_avoid(10, 9, &mut cwnd_cnt), lp.cong_avoid(10, 1, &mut cwnd_cnt)), (10, 11));
        assert_eq!((lp.ssthresh(41, &at(0, 0, 0)), lp.ssthresh(3, &at(0, 0, 0))), (20, 2));
    }

    /// What a run records: the smoothed delay and the threshold in seconds, none before the first sample.
    #[test]
    fn delays_are_reported_in_seconds() {
        let numbers = |lp: &LpPaper| {
            let mut numbers = Vec::new();
            lp.probe(&mut |name, value| numbers.push((name, value)));
            numbers
        };
        let mut lp = LpPaper::default();
        assert!(numbers(&lp)[..2].iter().all(|(_, value)| value.is_nan()));
        lp.delays.sample(20_000, 40_000);
        let expected = [("one_way_s", 0.02), ("one_way_threshold_s", 0.023), ("infers", 0.0)];
        for ((name, value), expected) in numbers(&lp).into_iter().zip(expected) {
            assert!(name == expected.0 && (value - expected.1).abs() < 1e-9, "{name} {value}");
        }
    }
}
