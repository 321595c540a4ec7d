//! Transfers that arrive independently of each other: the time from one to the next is exponential (a Poisson process).

use windtunnel_units::{Bytes, Duration, Time};

use super::config::PoissonParams;
use crate::distribution::{Distribution, SizeDistribution, TimeDistribution};
use crate::random::Random;

/// Arrivals of transfers. Times and sizes each have a random stream, so that changing the sizes keeps the times.
#[derive(Debug)]
pub(crate) struct PoissonProcess {
    interval: TimeDistribution,
    size: SizeDistribution,
    times: Random,
    sizes: Random,
    next: Time,
    max_active: u32,
}

impl PoissonProcess {
    pub(crate) fn new(params: &PoissonParams, times: u64, sizes: u64) -> PoissonProcess {
        PoissonProcess {
            interval: Distribution::Exponential { mean: params.mean_interval() },
            size: params.size.clone(),
            times: Random::new(times),
            sizes: Random::new(sizes),
            next: Time::NEVER,
            max_active: params.max_active,
        }
    }

    pub(crate) fn start(&mut self, now: Time) {
        self.next = self.after(now);
    }

    pub(crate) fn stop(&mut self) {
        self.next = Time::NEVER;
    }

    pub(crate) const fn next_timer(&self) -> Time {
        self.next
    }

    /// True if there is room for one more.
    pub(crate) const fn admits(&self, active: usize) -> bool {
        active < self.max_active as usize
    }

    /// A transfer arrives. Returns its size, at least one byte.
    pub(crate) fn arrive(&mut self, now: Time) -> Bytes {
        self.next = self.after(now);
        self.sizes.draw(&self.size).max(Bytes::new(1))
    }

    /// Arrivals are at least a nanosecond apart.
    fn after(&mut self, now: Time) -> Time {
        now + self.times.draw(&self.interval).max(Duration::from_nanos(1))
    }
}
