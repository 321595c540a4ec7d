//! The largest value within a span of time, from three samples (K. Nichols' filter, Linux `lib/win_minmax.c`). Reversed values
//! make it the least.

use windtunnel_units::{Duration, Time};

/// The best sample and the best ones that came after it, each with its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extreme<T> {
    best: [(Time, T); 3],
}

impl<T: Copy + Ord> Extreme<T> {
    /// A filter that has seen one value.
    pub(super) const fn new(now: Time, value: T) -> Extreme<T> {
        Extreme { best: [(now, value); 3] }
    }

    pub(super) const fn get(&self) -> T {
        self.best[0].1
    }

    /// Takes a value; those older than `window` are forgotten.
    pub(super) fn update(&mut self, now: Time, value: T, window: Duration) {
        let sample = (now, value);
        let [first, second, third] = self.best;
        if value >= first.1 || now.since(third.0) > window {
            self.best = [sample; 3];
            return;
        }
        if value >= second.1 {
            self.best = [first, sample, sample];
        } else if value >= third.1 {
            self.best[2] = sample;
        }
        self.age(sample, window);
    }

    /// Drops samples that are too old, and keeps the second and third best apart in time.
    fn age(&mut self, sample: (Time, T), window: Duration) {
        let [first, second, third] = self.best;
        let age = sample.0.since(first.0);
        if age > window {
            self.best = [second, third, sample];
            if sample.0.since(second.0) > window {
                self.best = [third, sample, sample];
            }
        } else if second.0 == first.0 && age > window / 4 {
            self.best = [first, sample, sample];
        } else if third.0 == second.0 && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use super::*;

    const WINDOW: Duration = Duration::from_millis(10);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// A minimum lasts for the window, and then the least of what came later takes its place.
    #[test]
    fn forgets_after_the_window() {
        let mut least = Extreme::new(at(0), Reverse(20));
        least.update(at(1), Reverse(5), WINDOW);
        for ms in 2..=11 {
            least.update(at(ms), Reverse(10 + ms), WINDOW);
            assert_eq!(least.get(), Reverse(5), "{ms} ms");
        }
        least.update(at(12), Reverse(30), WINDOW);
        assert_eq!(least.get(), Reverse(14), "of 4 ms: the least of the window's last three quarters");
        least.update(at(13), Reverse(3), WINDOW);
        assert_eq!(least.get(), Reverse(3));
    }

    /// Linux `lib/win_minmax.c`, with a window of 10 ms: after a quarter of it any sample becomes the second best,
    /// and after half of it the third. The samples that are too old make room, two at once if need be.
    #[test]
    fn subwindows_keep_samples_apart() {
        let mut largest = Extreme::new(at(0), 100);
        for (ms, value, best) in [
            (2, 50, [(0, 100); 3]),
            (3, 40, [(0, 100), (3, 40), (3, 40)]),
            (4, 30, [(0, 100), (3, 40), (3, 40)]),
            (6, 20, [(0, 100), (3, 40), (6, 20)]),
            (7, 30, [(0, 100), (3, 40), (7, 30)]),
            (10, 10, [(0, 100), (3, 40), (7, 30)]),
            (11, 10, [(3, 40), (7, 30), (11, 10)]),
            (15, 5, [(7, 30), (11, 10), (15, 5)]),
            (22, 1, [(15, 5), (22, 1), (22, 1)]),
        ] {
            largest.update(at(ms), value, WINDOW);
            assert_eq!(largest.best, best.map(|(ms, value)| (at(ms), value)), "{ms} ms");
        }
    }
}
