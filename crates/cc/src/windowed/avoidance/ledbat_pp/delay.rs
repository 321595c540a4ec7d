//! The delay by queues: the least of the last four round trips, less the least of ten minutes.

use windtunnel_units::{Duration, Time};

/// Minutes of history.
const MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Samples among which the least counts.
const FILTER: usize = 4;

/// Round trips.
#[derive(Clone, Copy, Debug)]
pub(super) struct Delay {
    /// The least of each minute, in a ring.
    minutes: [Duration; MINUTES],
    minute: usize,
    next: Option<Time>,
    recent: [Duration; FILTER],
    samples: usize,
    base: Duration,
}

impl Delay {
    pub(super) const fn new() -> Delay {
        Delay {
            minutes: [Duration::MAX; MINUTES],
            minute: 0,
            next: None,
            recent: [Duration::MAX; FILTER],
            samples: 0,
            base: Duration::MAX,
        }
    }

    pub(super) fn sample(&mut self, rtt: Duration, now: Time) {
        let next = *self.next.get_or_insert(now + MINUTE);
        if now >= next {
            self.next = Some(now + MINUTE);
            self.minute = (self.minute + 1) % MINUTES;
            self.minutes[self.minute] = Duration::MAX;
            self.base = self.minutes.iter().fold(Duration::MAX, |least, rtt| least.min(*rtt));
        }
        self.minutes[self.minute] = self.minutes[self.minute].min(rtt);
        self.base = self.base.min(rtt);
        self.recent[self.samples % FILTER] = rtt;
        self.samples += 1;
    }

    /// The least round trip of ten minutes; none before the first sample.
    pub(super) fn base(&self) -> Option<Duration> {
        (self.samples > 0).then_some(self.base)
    }

    /// The delay by queues.
    pub(super) fn queued(&self) -> Duration {
        let least = self.recent.iter().fold(Duration::MAX, |least, rtt| least.min(*rtt));
        least.saturating_sub(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// One late ACK among four does not count, and a round trip of eleven minutes ago is forgotten.
    #[test]
    fn least_of_four_and_of_ten_minutes() {
        let mut delay = Delay::new();
        let at = |second| Time::ZERO + Duration::from_secs(second);
        delay.sample(MS(20), at(0));
        for rtt in [50, 90, 95, 60] {
            delay.sample(MS(rtt), at(1));
        }
        assert_eq!(delay.queued(), MS(30));
        for minute in 1..10 {
            delay.sample(MS(50), at(60 * minute + 5));
        }
        assert_eq!(delay.base(), Some(MS(20)));
        delay.sample(MS(50), at(60 * 11));
        assert_eq!(delay.base(), Some(MS(50)));
    }
}
