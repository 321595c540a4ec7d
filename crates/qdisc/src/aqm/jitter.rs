//! The jitter estimator: how unevenly packets leave.
//!
//! Source: DelTiC (`sch_deltic` of the SCE tree); spec/mds section 4. Links that send in bursts delay packets without a
//! standing queue. The mean of the intervals between departures, weighted by their own length, estimates how much of a
//! sojourn time bursts explain; the queue causes the rest.

use windtunnel_units::{Duration, Time};

use super::delta_sigma::{SECOND, nanos};

/// The estimator's variables.
#[derive(Clone, Debug, Default)]
pub(crate) struct JitterEstimator {
    jitter: i64,
    previous: Time,
}

impl JitterEstimator {
    /// A packet enters an empty queue: the time before it is no interval between departures.
    #[inline]
    pub(crate) fn restart(&mut self, now: Time) {
        self.previous = now;
    }

    /// A packet leaves. Returns `waiting` without the jitter.
    #[inline]
    pub(crate) fn adjust(&mut self, now: Time, waiting: Duration) -> i64 {
        let interval = nanos(now.since(self.previous)).min(SECOND);
        self.previous = now;
        // No overflow: both are at most one second, hence the sum at most the square of one.
        self.jitter = (interval * interval + self.jitter * (SECOND - interval)) / SECOND;
        (nanos(waiting) - self.jitter).max(0)
    }
}
