//! The averages of the round trip: R (RFC 5348 section 4.3) and `R_sqmean` (section 4.5).

use windtunnel_units::Duration;

/// The weight q of the old average, and q2 of that of the square roots.
const KEPT: f64 = 0.9;
/// No division by a round trip of nothing.
const SHORTEST: Duration = Duration::from_nanos(1000);

/// The round trip as feedback reports it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    mean: Duration,
    /// The mean of the square roots, in roots of nanoseconds.
    root_mean: f64,
    sample_root: f64,
}

impl RoundTrip {
    pub(super) fn new(sample: Duration) -> RoundTrip {
        let sample = sample.max(SHORTEST);
        let root = libm::sqrt(sample.as_nanos_f64());
        RoundTrip { mean: sample, root_mean: root, sample_root: root }
    }

    pub(super) fn update(&mut self, sample: Duration) {
        let sample = sample.max(SHORTEST);
        let mean = KEPT * self.mean.as_nanos_f64() + (1.0 - KEPT) * sample.as_nanos_f64();
        self.mean = Duration::from_nanos_f64(libm::round(mean));
        self.sample_root = libm::sqrt(sample.as_nanos_f64());
        self.root_mean = KEPT * self.root_mean + (1.0 - KEPT) * self.sample_root;
    }

    /// R.
    pub(super) const fn mean(&self) -> Duration {
        self.mean
    }

    /// What departures are faster than the allowed rate: less than 1 while the queue grows.
    pub(super) fn pace(&self) -> f64 {
        self.root_mean / self.sample_root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R = 0.9 * 100 + 0.1 * 200 ms. `R_sqmean` is then (0.9 + 0.1 * sqrt(2)) * sqrt(100 ms), so that the pace is that factor less
    /// sqrt(2): 0.9 / sqrt(2) + 0.1 = 0.736, the RFC's "roughly 0.7" where the round trip doubles.
    #[test]
    fn averages_by_hand() {
        let mut rtt = RoundTrip::new(Duration::from_millis(100));
        assert_eq!((rtt.mean(), rtt.pace()), (Duration::from_millis(100), 1.0));
        rtt.update(Duration::from_millis(200));
        assert_eq!(rtt.mean(), Duration::from_millis(110));
        assert!((rtt.pace() - 0.736_396).abs() < 1e-6, "{}", rtt.pace());
    }
}
