//! The over-use detector and its threshold (section 5.4). Times are in milliseconds.

use super::params::{GccFilter, GccParams};

/// The threshold keeps this range.
const RANGE: (f64, f64) = (6.0, 600.0);
/// Beyond the threshold by more than this, the trend says that the path changed: the threshold stays.
const SPIKE: f64 = 15.0;
/// A longer time between groups counts as this: `K_u` times 100 ms is 1, and more would carry the threshold beyond the trend.
const LONGEST_STEP: f64 = 100.0;
/// What WebRTC multiplies its slope by.
const TRENDLINE_GAIN: f64 = 4.0;

/// What the detector tells the rate control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Normal,
    Overuse,
    Underuse,
}

/// The detector.
#[derive(Debug)]
pub(super) struct Detector {
    /// How many groups a trend counts for at most, and by what else it is multiplied.
    deltas: f64,
    gain: f64,
    k_u: f64,
    k_d: f64,
    overuse_time: f64,
    /// `del_var_th`.
    threshold: f64,
    /// Groups so far.
    groups: f64,
    /// What the filter gave for the last group, and that as it counts.
    estimate: f64,
    trend: f64,
    /// When the last group arrived.
    arrival: Option<f64>,
    /// The arrival of the first group in a row that was above the threshold.
    since: Option<f64>,
}

impl Detector {
    pub(super) fn new(params: &GccParams) -> Detector {
        let (k_u, k_d) = params.gains();
        Detector {
            deltas: f64::from(params.max_deltas),
            gain: if params.filter == GccFilter::Trendline { TRENDLINE_GAIN } else { 1.0 },
            k_u,
            k_d,
            overuse_time: params.overuse_time_th.as_millis_f64(),
            threshold: params.del_var_th.as_millis_f64(),
            groups: 0.0,
            estimate: 0.0,
            trend: 0.0,
            arrival: None,
            since: None,
        }
    }

    pub(super) const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// `m(i)` as it is compared with the threshold.
    pub(super) const fn trend(&self) -> f64 {
        self.trend
    }

    /// Takes what the filter gave for the group that arrived at `arrival`.
    pub(super) fn update(&mut self, estimate: f64, arrival: f64) -> Signal {
        self.groups = (self.groups + 1.0).min(self.deltas);
        self.trend = self.groups * self.gain * estimate;
        let rises = estimate >= std::mem::replace(&mut self.estimate, estimate);
        let above = self.trend > self.threshold;
        self.since = above.then(|| self.since.unwrap_or(arrival));
        let signal = match self.since {
            Some(since) if rises && arrival - since >= self.overuse_time => Signal::Overuse,
            None if self.trend < -self.threshold => Signal::Underuse,
            _ => Signal::Normal,
        };
        self.adapt(arrival);
        signal
    }

    fn adapt(&mut self, arrival: f64) {
        let passed = arrival - self.arrival.replace(arrival).unwrap_or(arrival);
        let distance = self.trend.abs() - self.threshold;
        if distance > SPIKE {
            return;
        }
        let k = if distance < 0.0 { self.k_d } else { self.k_u };
        let step = passed.min(LONGEST_STEP) * k * distance;
        self.threshold = (self.threshold + step).clamp(RANGE.0, RANGE.1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A detector that takes each estimate as it is, as the draft's text has it.
    fn plain() -> Detector {
        Detector::new(&GccParams { max_deltas: 1, ..GccParams::default() })
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
    }

    /// The equation of the threshold, 20 ms from group to group. Below: 12.5 + 20 * 0.00018 * (2.5 - 12.5) = 12.464. Above: + 20 * 0.01 *
    /// (22.464 - 12.464) = 14.464, also for a negative trend. More than 15 ms above: it stays. A pause of a second counts as 100 ms, and
    /// carries it to the trend.
    #[test]
    fn the_threshold_adapts() {
        let mut detector = plain();
        detector.update(12.5, 0.0);
        assert_near(detector.threshold(), 12.5);
        for (trend, arrival, threshold) in [
            (2.5, 20.0, 12.464),
            (22.464, 40.0, 14.464),
            (-24.464, 60.0, 16.464),
            (31.5, 80.0, 16.464),
            (31.464, 100.0, 19.464),
            (21.464, 1100.0, 21.464),
        ] {
            detector.update(trend, arrival);
            assert_near(detector.threshold(), threshold);
        }
    }

    /// It stays within 6 and 600 ms: the time constant below is 1 / 0.00018 ms, 5.6 s, and a trend of 0 for 10 s takes it from 12.5 to
    /// below 6. A trend that is always 14 ms above carries it to 600.
    #[test]
    fn the_threshold_has_a_range() {
        let mut detector = plain();
        for n in 0..500 {
            detector.update(0.0, 20.0 * f64::from(n));
            let after = 12.5 * libm::pow(1.0 - 20.0 * 0.000_18, f64::from(n));
            assert_near(detector.threshold(), after.max(6.0));
        }
        for n in 500..800 {
            detector.update(detector.threshold() + 14.0, 20.0 * f64::from(n));
        }
        assert_near(detector.threshold(), 600.0);
    }

    /// Over-use is signalled once the trend has been above the threshold for 10 ms, and not while it falls; under-use at once.
    #[test]
    fn signals() {
        let mut detector = plain();
        for (trend, arrival, signal) in [
            (12.0, 0.0, Signal::Normal),
            (13.0, 5.0, Signal::Normal),
            (13.5, 14.0, Signal::Normal),
            (14.0, 15.0, Signal::Overuse),
            (13.9, 20.0, Signal::Normal),
            (13.9, 25.0, Signal::Overuse),
            (0.0, 30.0, Signal::Normal),
            (20.0, 35.0, Signal::Normal),
            (20.0, 45.0, Signal::Overuse),
            (-20.0, 50.0, Signal::Underuse),
            (-1.0, 55.0, Signal::Normal),
        ] {
            assert_eq!(detector.update(trend, arrival), signal, "{trend} at {arrival} ms");
        }
    }

    /// The estimate counts for each group so far, for 60 at most; a slope counts four times in addition.
    #[test]
    fn estimates_are_multiplied() {
        for (filter, gain) in [(GccFilter::Kalman, 1.0), (GccFilter::Trendline, 4.0)] {
            let mut detector = Detector::new(&GccParams { filter, ..GccParams::default() });
            for n in 1..100 {
                detector.update(0.01, 5.0 * f64::from(n));
                assert_near(detector.trend(), 0.01 * gain * f64::from(n.min(60)));
            }
        }
    }
}
