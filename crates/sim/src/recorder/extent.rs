//! The count of a set of times, their sum, the least and the longest: exact, and updated with every packet.

use windtunnel_units::Duration;

/// The extent of a set of times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    n: u64,
    sum: u64,
    min: Duration,
    max: Duration,
}

impl Extent {
    pub(crate) const NONE: Extent = Extent { n: 0, sum: 0, min: Duration::MAX, max: Duration::ZERO };

    #[inline]
    pub(crate) fn add(&mut self, time: Duration) {
        self.n += 1;
        self.sum += time.as_nanos();
        self.min = self.min.min(time);
        self.max = self.max.max(time);
    }

    pub(crate) fn merge(&mut self, other: &Extent) {
        self.n += other.n;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    pub(crate) const fn count(&self) -> u64 {
        self.n
    }

    pub(crate) const fn min(&self) -> Duration {
        self.min
    }

    pub(crate) const fn max(&self) -> Duration {
        self.max
    }

    /// The mean in milliseconds; NaN for an empty set, like the others.
    pub(crate) fn mean_ms(&self) -> f64 {
        self.sum as f64 / self.n as f64 / 1e6
    }

    pub(crate) fn min_ms(&self) -> f64 {
        if self.n > 0 { self.min.as_millis_f64() } else { f64::NAN }
    }

    pub(crate) fn max_ms(&self) -> f64 {
        if self.n > 0 { self.max.as_millis_f64() } else { f64::NAN }
    }
}
