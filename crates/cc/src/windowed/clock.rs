//! The clock of a host: time in whole ticks, as Linux's older controllers count it (jiffies).

use windtunnel_units::{Duration, Time};

/// The clock of a host.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    tick_ns: u64,
    /// Ticks per second.
    hz: u64,
}

impl Clock {
    pub(crate) fn new(tick: Duration) -> Clock {
        let tick_ns = tick.as_nanos().clamp(1, Duration::SECOND.as_nanos());
        Clock { tick_ns, hz: Duration::SECOND.as_nanos() / tick_ns }
    }

    /// Returns the ticks per second.
    pub(crate) const fn hz(self) -> u64 {
        self.hz
    }

    /// Returns the ticks since the clock started.
    pub(crate) fn ticks(self, now: Time) -> u64 {
        now.since_start().as_nanos() / self.tick_ns
    }

    /// Returns a span in whole ticks, rounded down.
    pub(crate) fn within(self, span: Duration) -> u64 {
        span.as_nanos() / self.tick_ns
    }

    /// Returns a span in ticks, rounded up.
    pub(crate) fn covering(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.tick_ns)
    }

    /// Returns a round-trip time in ticks, rounded up from whole microseconds, in which Linux measures.
    pub(crate) fn of_sample(self, rtt: Duration) -> u64 {
        (rtt.as_nanos() / 1000 * 1000).div_ceil(self.tick_ns)
    }

    /// Returns ticks in seconds.
    pub(crate) fn seconds(self, ticks: u64) -> f64 {
        ticks as f64 / self.hz as f64
    }

    /// Returns the number of ticks for which an unchanged window keeps its `cnt` (BIC, CUBIC): a 32nd of a second.
    pub(crate) fn steady(self) -> u64 {
        self.hz / 32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 250 ticks a second, as in Linux with HZ = 250: 500 of them are two seconds.
    #[test]
    fn ticks_in_seconds() {
        let clock = Clock::new(Duration::from_millis(4));
        assert_eq!(clock.hz(), 250);
        assert!((clock.seconds(500) - 2.0).abs() < 1e-12);
    }
}
