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

    /// The queue is short compared with its longest, or holds less than one segment of the flow.
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

    /// The delay of the standing queue.
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

#[cfg(test)]
mod tests {
    use windtunnel_units::{Bytes, Seq};

    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Section 2.2 of the paper: the queue is nearly empty up to a tenth of the largest delay, here of 100 ms; and,
    /// here, while it holds less than a segment: 20 ms at 5 segments in 120 ms, but not at 6.
    #[test]
    fn nearly_empty() {
        for (standing, cwnd, empty) in [
            (110, 1000.0, true),
            (111, 1000.0, false),
            (120, 5.0, true),
            (120, 6.0, false),
            (180, 2.0, true),
            (180, 3.0, false),
        ] {
            let sample = |ms| Extreme::new(at(0), Reverse(Duration::from_millis(ms)));
            let delays = Delays {
                least: sample(100),
                standing: sample(standing),
                largest: Extreme::new(at(0), Duration::from_millis(200)),
                emptied: at(0),
            };
            assert_eq!(delays.is_nearly_empty(cwnd), empty, "{standing} ms, {cwnd} segments");
        }
    }

    /// Section 2.2: the largest round trip is that of the last four.
    #[test]
    fn the_largest_is_remembered_for_four_round_trips() {
        let mut delays = Delays::new(at(0), RTT);
        for (ms, rtt, largest) in [(10, 200, 200), (210, 100, 200), (410, 100, 200), (411, 100, 100)] {
            let path = PathView {
                now: at(ms),
                mss: Bytes::new(1000),
                srtt: RTT,
                min_rtt: RTT,
                in_flight: Bytes::ZERO,
                una: Seq::FIRST_DATA,
                nxt: Seq::FIRST_DATA,
            };
            delays.update(&path, Duration::from_millis(rtt), 10.0, Duration::from_secs(10));
            assert_eq!(delays.largest.get(), Duration::from_millis(largest), "{ms} ms");
        }
    }
}
