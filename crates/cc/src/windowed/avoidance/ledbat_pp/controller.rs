//! LEDBAT++'s window and slowdowns.

use windtunnel_units::{Duration, Time};

use super::LedbatPpParams;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, half};
use crate::windowed::avoidance::queueing_delay::QueueingDelay;
use crate::windowed::cwnd_cnt::CwndCnt;

/// The window at the start and in a slowdown, in segments.
const LEAST: u64 = 2;
/// The greatest divisor of growth.
const DIVISOR_MOST: u64 = 16;
/// The first slow start ends at this part of the target.
const EARLY: f64 = 0.75;
/// Round trips before the first slowdown, and at the least window in each.
const PAUSE: u64 = 2;
/// The time between slowdowns, in slowdowns.
const BETWEEN: u64 = 9;

/// Where the flow is between two slowdowns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The first slow start.
    SlowStart,
    /// The next slowdown starts then.
    Until(Time),
    /// At the least window.
    Frozen { started: Time, until: Time },
    /// Back up to ssthresh.
    Ramping { started: Time },
}

/// LEDBAT++.
#[derive(Clone, Copy, Debug)]
pub(super) struct LedbatPp {
    target: f64,
    constant: f64,
    slows_down: bool,
    delay: QueueingDelay,
    stage: Stage,
    /// The part of a segment by which the window is too small.
    fraction: f64,
}

impl LedbatPp {
    pub(super) fn new(params: &LedbatPpParams) -> LedbatPp {
        LedbatPp {
            target: params.target.as_secs_f64(),
            constant: params.constant,
            slows_down: params.slowdown,
            delay: QueueingDelay::new(),
            stage: Stage::SlowStart,
            fraction: 0.0,
        }
    }

    /// Growth in segments per round trip.
    fn gain(&self) -> f64 {
        let base = self.delay.base().map_or(self.target, Duration::as_secs_f64);
        // A billionth is taken off because quotients such as 0.12 / 0.02 exceed the whole number by rounding alone.
        let divisor = ((2.0 * self.target / base - 1e-9) as u64).saturating_add(1);
        1.0 / divisor.min(DIVISOR_MOST) as f64
    }

    /// The change of a window of `w` segments in a round trip.
    fn change(&self, w: f64) -> f64 {
        let excess = self.delay.queued().as_secs_f64() / self.target - 1.0;
        if excess <= 0.0 { self.gain() } else { (self.gain() - self.constant * w * excess).max(-w / 2.0) }
    }

    /// Starts and ends slowdowns.
    fn advance(&mut self, window: &mut Segments, path: &PathView) {
        let now = path.now;
        match self.stage {
            Stage::SlowStart => {
                if self.delay.queued().as_secs_f64() > EARLY * self.target {
                    window.ssthresh = window.ssthresh.min(window.w);
                }
                if !window.in_slow_start() {
                    self.stage = Stage::Until(now + path.srtt * PAUSE);
                }
            }
            Stage::Until(then) if self.slows_down && now >= then && !window.in_slow_start() => {
                window.ssthresh = window.w.max(LEAST);
                window.w = LEAST;
                self.fraction = 0.0;
                self.stage = Stage::Frozen { started: now, until: now + path.srtt * PAUSE };
            }
            Stage::Frozen { started, until } if now >= until => self.stage = Stage::Ramping { started },
            Stage::Ramping { started } if !window.in_slow_start() => {
                self.stage = Stage::Until(now + now.since(started) * BETWEEN);
            }
            Stage::Until(_) | Stage::Frozen { .. } | Stage::Ramping { .. } => {}
        }
    }

    /// Changes the window by a real number of segments.
    fn add(&mut self, w: u64, change: f64) -> u64 {
        let total = w as f64 + self.fraction + change;
        let whole = (total as u64).max(LEAST.min(w));
        self.fraction = (total - whole as f64).clamp(0.0, 1.0);
        whole
    }
}

impl Module for LedbatPp {
    fn needs(&self, needs: Needs) -> Needs {
        needs
    }

    fn init(&mut self, window: &mut Segments, _path: &PathView) {
        window.w = window.w.min(LEAST);
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        if let Some(rtt) = ack.rtt {
            self.delay.sample(rtt, path.now);
        }
        if !ack.may_raise || ack.ecn.any() {
            return Steered::Hold;
        }
        self.advance(window, path);
        if matches!(self.stage, Stage::Frozen { .. }) {
            return Steered::Hold;
        }
        let n = (ack.newly_delivered / path.mss) as f64;
        let in_slow_start = window.in_slow_start();
        let change =
            if in_slow_start { self.gain() * n } else { self.change(window.w as f64) * n / window.w as f64 };
        if change < 0.0 || !ack.growth_barred {
            window.w = self.add(window.w, change);
        }
        if in_slow_start {
            window.w = window.w.min(window.ssthresh);
        } else {
            window.ssthresh = window.ssthresh.min(window.w);
        }
        Steered::Hold
    }

    /// All growth is made by [`Module::steer`].
    fn cong_avoid(&mut self, w: u64, _n: u64, _cwnd_cnt: &mut CwndCnt) -> u64 {
        w
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        self.fraction = 0.0;
        half(w)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let base = self.delay.base();
        out("queued_s", base.map_or(f64::NAN, |_| self.delay.queued().as_secs_f64()));
        out("base_rtt_s", base.map_or(f64::NAN, Duration::as_secs_f64));
        out("gain_segments", self.gain());
        let slow = matches!(self.stage, Stage::Frozen { .. } | Stage::Ramping { .. });
        out("slowdown", f64::from(u8::from(slow)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(base_us: u64, queued_us: u64) -> LedbatPp {
        let mut ledbat = LedbatPp::new(&LedbatPpParams::default());
        ledbat.delay.sample(Duration::from_micros(base_us), Time::ZERO);
        for _ in 0..4 {
            ledbat.delay.sample(Duration::from_micros(base_us + queued_us), Time::ZERO);
        }
        ledbat
    }

    /// spec/congestion-control section 3.18.
    #[test]
    fn short_round_trips_grow_slowly() {
        for (base_us, divisor) in [
            (1000, 16.0),
            (7500, 16.0),
            (8000, 15.0),
            (20_000, 6.0),
            (60_000, 2.0),
            (120_000, 1.0),
            (300_000, 1.0),
        ] {
            assert!((with(base_us, 0).gain() * divisor - 1.0).abs() < 1e-12, "{base_us} us");
        }
    }

    /// spec/congestion-control section 3.18: GAIN = 1/6, W = 100: at 1.1 T 9.83 segments less, at 10 T the half.
    #[test]
    fn the_decrease_is_in_proportion_to_the_excess() {
        for (queued_ms, change) in [(60, 1.0 / 6.0), (66, 1.0 / 6.0 - 10.0), (600, -50.0)] {
            assert!((with(20_000, queued_ms * 1000).change(100.0) - change).abs() < 1e-6, "{queued_ms} ms");
        }
    }

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn at(ms: u64) -> PathView {
        PathView { now: Time::ZERO + MS(ms), srtt: MS(100), ..PathView::of_segments(0, 0) }
    }

    fn ack(segments: u64) -> AckSample {
        let newly_delivered = windtunnel_units::Bytes::new(1448) * segments;
        AckSample { newly_delivered, may_raise: true, ..AckSample::default() }
    }

    /// Section 3.18: the first slow start ends above 3/4 of the target, 45 ms. Two round trips of 100 ms later the
    /// window is two segments for two round trips, then slow start leads back; the next slowdown follows after nine
    /// times as long.
    #[test]
    fn stages_of_a_slowdown() {
        const NO: u64 = Segments::INFINITE;
        let time = |ms| Time::ZERO + MS(ms);
        let frozen = Stage::Frozen { started: time(1000), until: time(1200) };
        let ramping = Stage::Ramping { started: time(1000) };
        for (stage, queued_ms, now, (w, ssthresh), next, left) in [
            (Stage::SlowStart, 44, 1000, (40, NO), Stage::SlowStart, (40, NO)),
            (Stage::SlowStart, 46, 1000, (40, NO), Stage::Until(time(1200)), (40, 40)),
            (Stage::SlowStart, 0, 1000, (40, 40), Stage::Until(time(1200)), (40, 40)),
            (Stage::Until(time(1000)), 0, 999, (40, 30), Stage::Until(time(1000)), (40, 30)),
            (Stage::Until(time(1000)), 0, 1000, (40, 41), Stage::Until(time(1000)), (40, 41)),
            (Stage::Until(time(1000)), 0, 1000, (40, 30), frozen, (2, 40)),
            (frozen, 0, 1199, (2, 40), frozen, (2, 40)),
            (frozen, 0, 1200, (2, 40), ramping, (2, 40)),
            (ramping, 0, 1500, (39, 40), ramping, (39, 40)),
            (ramping, 0, 1500, (40, 40), Stage::Until(time(1500 + 9 * 500)), (40, 40)),
        ] {
            let mut ledbat = LedbatPp { stage, ..with(20_000, queued_ms * 1000) };
            let mut window = Segments { w, ssthresh };
            ledbat.advance(&mut window, &at(now));
            assert_eq!((ledbat.stage, (window.w, window.ssthresh)), (next, left), "{stage:?} at {now} ms");
        }
        let params = LedbatPpParams { slowdown: false, ..LedbatPpParams::default() };
        let mut steady = LedbatPp { stage: Stage::Until(time(1000)), ..LedbatPp::new(&params) };
        let mut window = Segments { w: 40, ssthresh: 30 };
        steady.advance(&mut window, &at(5000));
        assert_eq!((steady.stage, window.w), (Stage::Until(time(1000)), 40), "without slowdowns");
    }

    /// Section 3.18 with GAIN = 1/6: slow start adds it with each segment, up to ssthresh; congestion avoidance adds
    /// it in a round trip, or takes 9.83 segments of 100 at 1.1 T. An ACK that may not raise the window, or with
    /// marks, and one while the window is frozen do nothing; a closed growth gate stops growth alone.
    #[test]
    fn acks_move_the_window() {
        let usual = Stage::Until(Time::ZERO + Duration::from_secs(60));
        let frozen = Stage::Frozen { started: Time::ZERO, until: Time::ZERO + Duration::from_secs(60) };
        let barred = |segments| AckSample { growth_barred: true, ..ack(segments) };
        let reducing = |segments| AckSample { may_raise: false, ..ack(segments) };
        let marked = |segments| {
            let ce = crate::sample::Marked { packets: 1, ..crate::sample::Marked::default() };
            AckSample { ecn: crate::sample::EcnFeedback { ce, ..Default::default() }, ..ack(segments) }
        };
        for (stage, queued_ms, (w, ssthresh), ack, left) in [
            (usual, 0, (10, 100), ack(7), (11, 100)),
            (usual, 0, (10, 100), ack(5), (10, 100)),
            (usual, 0, (10, 11), ack(18), (11, 11)),
            (usual, 0, (10, 100), barred(7), (10, 100)),
            (usual, 0, (100, 90), ack(590), (100, 90)),
            (usual, 0, (100, 90), ack(610), (101, 90)),
            (usual, 0, (100, 90), barred(610), (100, 90)),
            (usual, 66, (100, 100), ack(100), (90, 90)),
            (usual, 66, (100, 100), ack(50), (95, 95)),
            (usual, 66, (100, 100), barred(100), (90, 90)),
            (usual, 66, (100, 100), reducing(100), (100, 100)),
            (usual, 66, (100, 100), marked(100), (100, 100)),
            (frozen, 0, (2, 100), ack(60), (2, 100)),
        ] {
            let mut ledbat = LedbatPp { stage, ..with(20_000, queued_ms * 1000) };
            let mut window = Segments { w, ssthresh };
            assert_eq!(ledbat.steer(&mut window, &ack, &at(1000)), Steered::Hold);
            assert_eq!((window.w, window.ssthresh), left, "{w} {ssthresh} {stage:?} {ack:?}");
        }
    }

    /// What is less than a segment is kept for later; a loss halves the window and forgets it. The window does not
    /// fall below two segments.
    #[test]
    fn fractions_of_a_segment_count() {
        let mut ledbat = with(20_000, 0);
        for (w, change, next, fraction) in [
            (100, 0.75, 100, 0.75),
            (100, 0.5, 101, 0.25),
            (101, -0.5, 100, 0.75),
            (100, -10.5, 90, 0.25),
            (3, -2.0, 2, 0.0),
            (1, 0.5, 1, 0.5),
        ] {
            assert_eq!(ledbat.add(w, change), next, "{w} {change}");
            assert!((ledbat.fraction - fraction).abs() < 1e-9, "{w} {change}: {}", ledbat.fraction);
        }
        assert_eq!((ledbat.ssthresh(100, &at(0)), ledbat.ssthresh(3, &at(0))), (50, 2));
        assert!(ledbat.fraction.abs() < 1e-9);
    }
}
