//! Round-trip time estimation (RFC 6298 section 2, without the variance that only a timer needs).

use windtunnel_units::Duration;

/// The smoothed and the least round-trip time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RttEstimator {
    srtt: Duration,
    min: Duration,
}

impl RttEstimator {
    /// The gain of a new sample: 1/8 (RFC 6298 section 2.3).
    const ALPHA: f64 = 0.125;

    /// Takes a sample. The first one is the estimate.
    pub(crate) fn sample(&mut self, rtt: Duration) {
        if self.srtt.is_zero() {
            self.srtt = rtt;
            self.min = rtt;
            return;
        }
        // Truncated to nanoseconds when stored, as in spec/mds section 8.
        let smoothed = rtt.as_nanos_f64() * Self::ALPHA + self.srtt.as_nanos_f64() * (1.0 - Self::ALPHA);
        self.srtt = Duration::from_nanos_f64(smoothed);
        self.min = self.min.min(rtt);
    }

    /// The smoothed round-trip time; zero before the first sample.
    pub(crate) const fn srtt(&self) -> Duration {
        self.srtt
    }

    /// The least sample; zero before the first one.
    pub(crate) const fn min(&self) -> Duration {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first lines of an independent simulator's trace (trace01: SYN-ACK, first data).
    #[test]
    fn smooths_like_the_reference() {
        let mut rtt = RttEstimator::default();
        rtt.sample(Duration::from_nanos(20_041_600));
        rtt.sample(Duration::from_nanos(21_200_000));
        assert_eq!(rtt.srtt().as_nanos(), 20_186_400);
        assert_eq!(rtt.min().as_nanos(), 20_041_600);
    }
}
