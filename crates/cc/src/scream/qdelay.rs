//! The queueing delay: what a one-way delay has beyond the least of the last ten minutes (RFC 6817), and its average
//! (section "Detecting Increased Queue Delay").

use windtunnel_units::{Duration, Time};

/// The gain while the delay rises. A lower delay counts at once.
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
/// The least delay is kept for each of this many minutes (RFC 6817's `BASE_HISTORY`): the clocks of two hosts drift apart,
/// and an old least delay is then wrong.
const BASE_HISTORY: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);

/// The queueing delay, in seconds.
#[derive(Debug)]
pub(super) struct QueueDelay {
    base: BaseDelay,
    /// One-way delays are known, so round trips do not count.
    one_way: bool,
    /// The last delay, its base included.
    last: Option<Duration>,
    qdelay: f64,
    average: f64,
    averaged: Option<Time>,
}

impl QueueDelay {
    pub(super) const fn new() -> QueueDelay {
        QueueDelay {
            base: BaseDelay::new(),
            one_way: false,
            last: None,
            qdelay: 0.0,
            average: 0.0,
            averaged: None,
        }
    }

    pub(super) const fn get(&self) -> f64 {
        self.qdelay
    }

    pub(super) const fn average(&self) -> f64 {
        self.average
    }

    pub(super) const fn base(&self) -> Option<Duration> {
        self.base.least
    }

    /// A report gives the delay of the data's way or, where a transport has no timestamps, the round trip alone.
    pub(super) fn sample(&mut self, one_way: Option<Duration>, rtt: Option<Duration>, now: Time) {
        self.one_way |= one_way.is_some();
        let Some(delay) = (if self.one_way { one_way } else { rtt }) else { return };
        let base = self.base.update(delay, now);
        self.last = Some(delay);
        self.qdelay = delay.saturating_sub(base).as_secs_f64();
    }

    /// The base is forgotten: the last delay is the new one, until there is a shorter one.
    pub(super) fn forget_base(&mut self, now: Time) {
        let Some(last) = self.last else { return };
        self.base = BaseDelay::new();
        self.base.update(last, now);
        self.qdelay = 0.0;
    }

    /// Updates the average if `interval` has passed. Returns whether it did.
    pub(super) fn average_after(&mut self, interval: Duration, now: Time) -> bool {
        if self.averaged.is_some_and(|last| now.since(last) < interval) {
            return false;
        }
        self.averaged = Some(now);
        self.average = if self.qdelay < self.average {
            self.qdelay
        } else {
            self.average + QDELAY_AVG_G * (self.qdelay - self.average)
        };
        true
    }
}

/// The least delay of each of the last minutes.
#[derive(Debug)]
struct BaseDelay {
    minutes: [Duration; BASE_HISTORY],
    /// When the minute of the first entry started; none before the first delay.
    since: Option<Time>,
    /// The least of all.
    least: Option<Duration>,
}

impl BaseDelay {
    const fn new() -> BaseDelay {
        BaseDelay { minutes: [Duration::MAX; BASE_HISTORY], since: None, least: None }
    }

    /// A delay was measured. Returns the least.
    fn update(&mut self, delay: Duration, now: Time) -> Duration {
        let since = *self.since.get_or_insert(now);
        let passed = now.since(since).as_nanos() / MINUTE.as_nanos();
        if passed > 0 {
            let entries = passed.min(BASE_HISTORY as u64) as usize;
            self.minutes.rotate_right(entries % BASE_HISTORY);
            self.minutes[..entries].fill(Duration::MAX);
            self.since = Some(since + MINUTE * passed);
            self.least = None;
        }
        self.minutes[0] = self.minutes[0].min(delay);
        let least = match self.least {
            Some(least) => least.min(delay),
            None => self.minutes.iter().copied().min().unwrap_or(delay),
        };
        self.least = Some(least);
        least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// By the draft's formula with a gain of 1/4: 40 ms give 10, then 17.5; 12 ms count at once.
    #[test]
    fn rises_slowly_and_falls_at_once() {
        let mut delay = QueueDelay::new();
        let mut averages = Vec::new();
        for (n, one_way) in [50, 90, 90, 62].into_iter().enumerate() {
            let now = Time::ZERO + ms(25 * n as u64);
            delay.sample(Some(ms(one_way)), Some(ms(500)), now);
            assert!(delay.average_after(ms(25), now));
            assert!(!delay.average_after(ms(25), now + ms(24)));
            averages.push((delay.average() * 1e6) as i64);
        }
        assert_eq!(averages, [0, 10_000, 17_500, 12_000]);
    }

    /// A least delay is forgotten when ten minutes have passed.
    #[test]
    fn forgets_the_base_after_ten_minutes() {
        let mut delay = QueueDelay::new();
        let mut queueing = |minute, one_way| {
            delay.sample(Some(ms(one_way)), None, Time::ZERO + MINUTE * minute);
            (delay.get() * 1e3) as i64
        };
        assert_eq!([queueing(0, 50), queueing(3, 70), queueing(9, 70), queueing(10, 70)], [0, 20, 20, 0]);
    }

    /// A base that is forgotten gives way to the last delay, and that to a shorter one; the average follows at once.
    #[test]
    fn a_forgotten_base_is_measured_again() {
        let mut delay = QueueDelay::new();
        for one_way in [50, 90] {
            delay.sample(Some(ms(one_way)), None, Time::ZERO);
        }
        assert!(delay.average_after(ms(25), Time::ZERO) && delay.average() > 0.0);
        delay.forget_base(Time::ZERO);
        assert!(delay.get() < 1e-12 && delay.base() == Some(ms(90)));
        assert!(delay.average_after(ms(25), Time::ZERO + ms(25)) && delay.average() < 1e-12);
        let mut queueing = |one_way| {
            delay.sample(Some(ms(one_way)), None, Time::ZERO);
            (delay.get() * 1e3).round() as i64
        };
        assert_eq!([queueing(100), queueing(70), queueing(90)], [10, 0, 20]);
    }

    /// Without timestamps the round trip replaces the one-way delay; with them it does not count.
    #[test]
    fn a_round_trip_counts_where_nothing_else_is_known() {
        let mut delay = QueueDelay::new();
        for (rtt, queueing) in [(100, 0.0), (130, 0.03)] {
            delay.sample(None, Some(ms(rtt)), Time::ZERO);
            assert!((delay.get() - queueing).abs() < 1e-12);
        }
        delay.sample(Some(ms(60)), Some(ms(130)), Time::ZERO);
        delay.sample(None, Some(ms(130)), Time::ZERO);
        assert!(delay.get() < 1e-12);
    }
}
