//! The delays that Copa acts on.

use std::cmp::Reverse;

use windtunnel_units::{Duration, Time};

use super::extreme::Extreme;
use crate::sample::PathView;

/// Over how many round trips the largest is remembered.
const MAX_ROUNDS: u64 = 4;
/// In how many round trips flows of Copa alone empty the queue.
const EMPTY_ROUNDS: u64 = 5;
/// The queue is nearly empty below this share of its largest delay.
const NEARLY_EMPTY: f64 = 0.1;

/// What is remembered of round trips.
#[derive(Clone, Debug)]
pub(super) struct Delays {
    least: Extreme<Reverse<Duration>>,
    standing: Extreme<Reverse<Duration>>,
    largest: Extreme<Duration>,
    /// When the queue was last nearly empty.
    emptied: Time,
}

impl Delays {
    pub(super) const fn new(now: Time, rtt: Duration) -> Delays {
        Delays {
            least: Extreme::new(now, Reverse(rtt)),
            standing: Extreme::new(now, Reverse(rtt)),
            largest: Extreme::new(now, rtt),
            emptied: now,
        }
    }

    /// Takes a round trip measured under a window of `cwnd` segments.
    pub(super) fn update(&mut self, path: &PathView, rtt: Duration, cwnd: f64, min_window: Duration) {
        self.least.update(path.now, Reverse(rtt), min_window);
        self.standing.update(path.now, Reverse(rtt), path.srtt / 2);
        self.largest.update(path.now, rtt, path.srtt * MAX_ROUNDS);
        if self.is_nearly_empty(cwnd) {
            self.emptied = path.now;
        }
    }

    /// The queue is short beside its largest, or holds less than one segment of the flow.
    fn is_nearly_empty(&self, cwnd: f64) -> bool {
        let queueing = self.queueing().as_nanos_f64();
        let range = self.largest.get().saturating_sub(self.least());
        queueing <= NEARLY_EMPTY * range.as_nanos_f64() || queueing * cwnd < self.standing().as_nanos_f64()
    }

    pub(super) const fn least(&self) -> Duration {
        self.least.get().0
    }

    pub(super) const fn standing(&self) -> Duration {
        self.standing.get().0
    }

    /// The delay of the queue that stands.
    pub(super) const fn queueing(&self) -> Duration {
        self.standing().saturating_sub(self.least())
    }

    /// The flow itself filled the queue until now.
    pub(super) const fn forgive(&mut self, now: Time) {
        self.emptied = now;
    }

    /// The queue has not emptied for so long that others must fill it.
    pub(super) fn others_fill_the_queue(&self, now: Time, srtt: Duration) -> bool {
        now.since(self.emptied) > srtt * EMPTY_ROUNDS
    }
}
