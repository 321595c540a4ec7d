//! The least value seen within a sliding window of time, from three samples.
//!
//! Keeping every sample would cost memory in proportion to the ACKs of the window (300 s for the least round-trip
//! time). Three samples, the best one and the best ones that came after it, follow the true extreme from the first
//! quarter of a window on (K. Nichols' filter, as in Linux `lib/win_minmax.c`). The largest value is the least one of
//! `Reverse`.

use windtunnel_units::{Duration, Time};

/// The least value within a window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMin<T> {
    /// In order of time; no later sample is better than an earlier one.
    best: [(Time, T); 3],
}

impl<T: Copy + Ord> WindowedMin<T> {
    /// A window that has seen `value` at `now`.
    pub(crate) fn new(value: T, now: Time) -> WindowedMin<T> {
        WindowedMin { best: [(now, value); 3] }
    }

    /// The least value.
    pub(crate) const fn get(&self) -> T {
        self.best[0].1
    }

    /// Takes a value.
    #[inline]
    pub(crate) fn update(&mut self, value: T, now: Time, window: Duration) {
        let sample = (now, value);
        if value <= self.best[0].1 || now.since(self.best[2].0) > window {
            self.best = [sample; 3];
            return;
        }
        if value <= self.best[1].1 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if value <= self.best[2].1 {
            self.best[2] = sample;
        }
        self.age(sample, window);
    }

    /// Drops samples that are too old, and keeps the second and third choice apart in time.
    fn age(&mut self, sample: (Time, T), window: Duration) {
        let now = sample.0;
        let age = now.since(self.best[0].0);
        if age > window {
            self.best = [self.best[1], self.best[2], sample];
            if now.since(self.best[0].0) > window {
                self.best = [self.best[1], self.best[2], sample];
            }
        } else if self.best[1].0 == self.best[0].0 && age > window / 4 {
            self.best[1] = sample;
            self.best[2] = sample;
        } else if self.best[2].0 == self.best[1].0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minimum is forgotten when the window has passed it, and a later sample takes its place.
    #[test]
    fn forgets_after_the_window() {
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        let window = Duration::from_secs(100);
        let mut least = WindowedMin::new(10_u32, at(0));
        for s in 1..=100 {
            least.update(20 + s as u32 / 50, at(s), window);
            assert_eq!(least.get(), 10);
        }
        least.update(30, at(101), window);
        assert_eq!(least.get(), 20, "the best one of the window's last three quarters");
        least.update(5, at(102), window);
        assert_eq!(least.get(), 5);
    }

    /// The three choices as Linux `lib/win_minmax.c` keeps them, in a window of 100 s: the second one is renewed
    /// after more than a quarter of it and the third after more than half, and those that are older than the window
    /// are dropped, two at once if need be.
    #[test]
    fn three_choices() {
        let at = |s: u64| Time::ZERO + Duration::from_secs(s);
        let window = Duration::from_secs(100);
        let start = [(0, 10), (0, 10), (0, 10)];
        let second = [(0, 10), (26, 20), (26, 20)];
        let third = [(26, 20), (60, 30), (101, 40)];
        let steps = [
            (10, 20, start),
            (25, 20, start),
            (26, 20, second),
            (40, 30, second),
            (50, 30, second),
            (51, 30, [(0, 10), (26, 20), (51, 30)]),
            (60, 30, [(0, 10), (26, 20), (60, 30)]),
            (100, 40, [(0, 10), (26, 20), (60, 30)]),
            (101, 40, third),
        ];
        let mut least = WindowedMin::new(10_u32, at(0));
        let choices = |least: &WindowedMin<u32>| least.best.map(|(time, value)| (time, value));
        let expected = |best: [(u64, u32); 3]| best.map(|(s, value)| (at(s), value));
        for (s, value, best) in steps {
            least.update(value, at(s), window);
            assert_eq!(choices(&least), expected(best), "after {s} s");
        }
        for (s, best) in [(160, [(60, 30), (101, 40), (160, 50)]), (161, [(101, 40), (161, 50), (161, 50)])] {
            let mut least = least;
            least.update(50, at(s), window);
            assert_eq!(choices(&least), expected(best), "two are older than the window at 161 s");
        }
        let mut silent = WindowedMin::new(10_u32, at(0));
        silent.update(20, at(100), window);
        assert_eq!(silent.get(), 10, "exactly a window old");
        silent.update(30, at(201), window);
        assert_eq!(choices(&silent), expected([(201, 30); 3]), "nothing is left");
    }
}
