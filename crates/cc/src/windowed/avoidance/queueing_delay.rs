//! The delay by queues as LEDBAT (RFC 6817) and LEDBAT++ filter it: the least of the last four samples, less the least of
//! ten minutes, which is the base.
//!
//! The base is kept by the minute (`BASE_HISTORY` of 10): where the path becomes longer, the flow knows after ten minutes.
//! A sample is a one-way delay or a round trip, as the controller measures it.

use windtunnel_units::{Duration, Time};

/// Minutes of history.
const MINUTES: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// Samples among which the least counts.
const FILTER: usize = 4;

/// What was measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueingDelay {
    /// The least of each minute, in a ring.
    minutes: [Duration; MINUTES],
    minute: usize,
    next: Option<Time>,
    /// The last samples, and when each was taken.
    recent: [(Duration, Time); FILTER],
    samples: usize,
    base: Duration,
}

impl QueueingDelay {
    pub(super) const fn new() -> QueueingDelay {
        QueueingDelay {
            minutes: [Duration::MAX; MINUTES],
            minute: 0,
            next: None,
            recent: [(Duration::MAX, Time::ZERO); FILTER],
            samples: 0,
            base: Duration::MAX,
        }
    }

    pub(super) fn sample(&mut self, delay: Duration, now: Time) {
        let next = *self.next.get_or_insert(now + MINUTE);
        if now >= next {
            self.next = Some(now + MINUTE);
            self.minute = (self.minute + 1) % MINUTES;
            self.minutes[self.minute] = Duration::MAX;
            self.base = self.minutes.iter().fold(Duration::MAX, |least, delay| least.min(*delay));
        }
        self.minutes[self.minute] = self.minutes[self.minute].min(delay);
        self.base = self.base.min(delay);
        self.recent[self.samples % FILTER] = (delay, now);
        self.samples += 1;
    }

    /// The least delay of ten minutes; none before the first sample.
    pub(super) fn base(&self) -> Option<Duration> {
        (self.samples > 0).then_some(self.base)
    }

    /// The delay by queues; zero before the first sample.
    pub(super) fn queued(&self) -> Duration {
        self.queued_since(Time::ZERO)
    }

    /// The same by samples that were not taken before `oldest`. The newest one always counts.
    pub(super) fn queued_since(&self, oldest: Time) -> Duration {
        let newest = self.recent.iter().fold(Time::ZERO, |newest, (_, taken)| newest.max(*taken));
        let counted = self.recent.iter().filter(|(_, taken)| *taken >= oldest.min(newest));
        counted.fold(Duration::MAX, |least, (delay, _)| least.min(*delay)).saturating_sub(self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// One late ACK among four does not count, and a round trip of eleven minutes ago is forgotten.
    #[test]
    fn least_of_four_and_of_ten_minutes() {
        let mut delay = QueueingDelay::new();
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
    /// Old samples do not count, but the newest does at any age. Before the first there is no delay.
    #[test]
    fn samples_age() {
        let mut delay = QueueingDelay::new();
        assert_eq!((delay.queued(), delay.base()), (Duration::ZERO, None));
        let at = |ms| Time::ZERO + MS(ms);
        for (rtt, ms) in [(20, 0), (30, 100), (50, 200), (40, 300)] {
            delay.sample(MS(rtt), at(ms));
        }
        for (oldest, queued) in [(0, 0), (1, 10), (100, 10), (101, 20), (200, 20), (300, 20), (999, 20)] {
            assert_eq!(delay.queued_since(at(oldest)), MS(queued), "{oldest} ms");
        }
        delay.sample(MS(60), at(400));
        assert_eq!((delay.queued(), delay.queued_since(at(301))), (MS(10), MS(40)));
    }
}
