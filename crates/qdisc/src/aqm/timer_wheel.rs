//! The kernel's timer wheel: when a timer fires that is armed for a number of ticks.
//!
//! Source: Linux `kernel/time/timer.c` (`calc_index`, `calc_wheel_index`). A timer may not fire early, and "now" is
//! somewhere within its tick. So an expiry is rounded up to the next step of the wheel, and one that is on a step goes to the
//! step after it: a timer for 15 ticks fires after 16. A step is one tick for timers of less than 64 ticks, 8 ticks below
//! 505, 64 below 4033, and so on. The handler runs in the tick in which the timer fires, and arms it anew from there; time
//! is simulated, so that it is never late.
//!
//! Steps are counted from the start of the kernel. Which of them meets the creation of a queue is chance; here it is created
//! on a step of every level.

use windtunnel_units::{Duration, OutOfRange, Time};

use crate::params::AqmInit;

/// Each level of the wheel has steps of 8 times the length of the one below it (`LVL_CLK_SHIFT`).
const LEVEL_BITS: u32 = 3;
/// How many steps away a level may be used (`LVL_SIZE - 1`).
const STEPS: u64 = 63;
/// The highest level (`LVL_DEPTH - 1`), and the longest time that it has (`WHEEL_TIMEOUT_MAX`).
const HIGHEST: u32 = 8;
const LONGEST: u64 = (STEPS << (LEVEL_BITS * HIGHEST)) - (1 << (LEVEL_BITS * HIGHEST));

/// A timer that is armed for half a second at first, and then by its handler for an interval.
#[derive(Clone, Debug)]
pub(super) struct WheelTimer {
    tick: Duration,
    /// In ticks.
    interval: u64,
    /// The tick of the next call, counted from the creation of the queue.
    expiry: u64,
    next: Time,
}

impl WheelTimer {
    /// Armed when its queue was created; what the queue's age covers is past.
    pub(super) fn new(tick: Duration, interval: Duration, init: &AqmInit) -> WheelTimer {
        let interval = interval.as_nanos().div_ceil(tick.as_nanos());
        let second = Duration::from_secs(1).as_nanos() / tick.as_nanos();
        let first = after(0, second / 2);
        let past = init.age.as_nanos() / tick.as_nanos();
        let mut expiry = first;
        if expiry <= past {
            // From the second call on, all are on steps of the same level: they have one period.
            let second = after(first, interval);
            let period = after(second, interval) - second;
            expiry = if second > past { second } else { second + ((past - second) / period + 1) * period };
        }
        let wait = tick * expiry - init.age;
        WheelTimer { tick, interval, expiry, next: init.now + wait }
    }

    /// When it fires.
    pub(super) fn next(&self) -> Time {
        self.next
    }

    /// It has fired and is armed again.
    pub(super) fn rearm(&mut self) {
        let expiry = after(self.expiry, self.interval);
        self.next += self.tick * (expiry - self.expiry);
        self.expiry = expiry;
    }

    /// Whether a kernel can have this tick.
    pub(super) fn check(tick: Duration) -> Result<(), OutOfRange> {
        if tick < WheelTimer::SHORTEST_TICK || tick > WheelTimer::LONGEST_TICK {
            return Err(OutOfRange::new("tick", tick, "from 0.1 ms to 10 ms"));
        }
        Ok(())
    }

    /// The default: `HZ` 1000.
    pub(super) const TICK: Duration = Duration::from_millis(1);
    /// Kernels are built with `HZ` 100 to 1000, and some with more.
    const SHORTEST_TICK: Duration = Duration::from_micros(100);
    const LONGEST_TICK: Duration = Duration::from_millis(10);
}

/// The tick in which a timer fires that is armed in tick `now` for `ticks`.
fn after(now: u64, ticks: u64) -> u64 {
    // The wheel has passed the tick `now` already.
    let ahead = ticks.saturating_sub(1);
    let level = (0..HIGHEST).find(|level| ahead < STEPS << (LEVEL_BITS * level)).unwrap_or(HIGHEST);
    let shift = LEVEL_BITS * level;
    (((now + ticks.min(LONGEST)) >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Limit;

    /// The borders of the first three levels (`LVL_START`: 63, 504 and 4032 ticks beyond the one that the wheel looks at
    /// next), and the longest time.
    #[test]
    fn levels() {
        for (now, ticks, fires) in [
            (0, 1, 2),
            (0, 15, 16),
            (7, 63, 71),
            (0, 64, 72),
            (1, 64, 72),
            (7, 64, 72),
            (8, 64, 80),
            (0, 125, 128),
            (0, 500, 504),
            (0, 504, 512),
            (0, 505, 512),
            (7, 505, 576),
            (64, 505, 576),
            (72, 505, 640),
            (0, 4_032, 4_096),
            (0, 4_033, 4_096),
            (63, 4_033, 4_608),
            (0, u64::MAX, LONGEST + (1 << 24)),
        ] {
            assert_eq!(after(now, ticks), fires, "{ticks} ticks at {now}");
        }
    }

    /// Half a second, then every 15 ms: with `HZ` 1000 after 504 ms, and every 16 ms; with 250, where 15 ms are 4 ticks,
    /// after 512 ms and every 20 ms; with 100 after 510 ms, and every 30 ms. A kernel 7.3.4 with `HZ` 1000, whose queue is a
    /// minute old, updates PIE 8 ms later, then every 16 ms (0.328, 0.344, 0.36 and 0.376 s).
    #[test]
    fn half_a_second_and_15_ms() {
        let at = |tick: u64, interval: u64, age: Duration| {
            let init = AqmInit { limit: Limit::Unlimited, seed: 1, now: Time::ZERO, age };
            let [tick, interval] = [tick, interval].map(Duration::from_millis);
            let mut timer = WheelTimer::new(tick, interval, &init);
            [(); 3].map(|()| {
                let next = timer.next().since_start().as_nanos() / 1_000;
                timer.rearm();
                next
            })
        };
        assert_eq!(at(1, 15, Duration::ZERO), [504_000, 520_000, 536_000]);
        assert_eq!(at(4, 15, Duration::ZERO), [512_000, 532_000, 552_000]);
        assert_eq!(at(10, 15, Duration::ZERO), [510_000, 540_000, 570_000]);
        assert_eq!(at(1, 15, Duration::from_secs(60)), [8_000, 24_000, 40_000]);
        // A call at the age itself is past, and an age within a tick only shortens the wait.
        assert_eq!(at(1, 15, Duration::from_millis(504)), [16_000, 32_000, 48_000]);
        assert_eq!(at(1, 15, Duration::from_micros(503_700)), [300, 16_300, 32_300]);
        // Beyond 64 ticks, the second call is on a step of 64, and from there the period is one of them.
        assert_eq!(at(1, 1_000, Duration::ZERO), [504_000, 1_536_000, 2_560_000]);
        assert_eq!(at(1, 1_000, Duration::from_secs(1)), [536_000, 1_560_000, 2_584_000]);
        assert_eq!(at(1, 1_000, Duration::from_secs(5)), [632_000, 1_656_000, 2_680_000]);
    }
}
