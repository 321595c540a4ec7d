//! The largest value within a window of rounds, from three samples (K. Nichols' filter, Linux `lib/win_minmax.c`).
//!
//! The best sample and the best ones that came after it follow the true maximum from the first quarter of a window on,
//! without the memory of every sample.

/// A value, and the round in which it was seen.
#[derive(Clone, Copy, Debug)]
struct Seen<T> {
    round: u32,
    value: T,
}

/// The largest value within a window of rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFilter<T> {
    /// In order of time; no later sample is larger than an earlier one.
    best: [Seen<T>; 3],
}

impl<T: Copy + Ord> MaxFilter<T> {
    /// A filter that has seen `value` in round 0.
    pub(super) const fn new(value: T) -> MaxFilter<T> {
        MaxFilter { best: [Seen { round: 0, value }; 3] }
    }

    /// The largest value.
    pub(super) const fn get(&self) -> T {
        self.best[0].value
    }

    /// Takes a value of `round`; those older than `window` rounds are forgotten.
    pub(super) fn update(&mut self, value: T, round: u32, window: u32) {
        let sample = Seen { round, value };
        let [first, second, third] = self.best;
        if value >= first.value || round - third.round > window {
            self.best = [sample; 3];
        } else if value >= second.value {
            self.best = [first, sample, sample];
        } else if value >= third.value {
            self.best[2] = sample;
        }
        self.age(sample, window);
    }

    /// Drops samples that are too old, and keeps the second and third best apart in time.
    fn age(&mut self, sample: Seen<T>, window: u32) {
        let [first, second, third] = self.best;
        let age = sample.round - first.round;
        if age > window {
            self.best = [second, third, sample];
            if sample.round - second.round > window {
                self.best = [third, sample, sample];
            }
        } else if second.round == first.round && age > window / 4 {
            self.best = [first, sample, sample];
        } else if third.round == second.round && age > window / 2 {
            self.best[2] = sample;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A maximum lasts for the window, and then the best one of what came later takes its place.
    #[test]
    fn forgets_after_the_window() {
        let mut filter = MaxFilter::new(0_u64);
        filter.update(100, 1, 10);
        for round in 2..=11 {
            filter.update(50 - u64::from(round), round, 10);
            assert_eq!(filter.get(), 100, "round {round}");
        }
        filter.update(10, 12, 10);
        assert_eq!(filter.get(), 46, "of round 4: the best of the window's last three quarters");
        filter.update(60, 13, 10);
        assert_eq!(filter.get(), 60);
    }

    /// With a window of 8 rounds, by hand after Linux's `minmax_running_max`: a first sample that is too old gives way to
    /// the second, or to the third, if that is not too old. The second comes from after the first quarter at the latest,
    /// the third from after the half; a larger one that comes later replaces it.
    #[test]
    fn by_hand() {
        for (samples, expected) in [
            // All too old: the last one alone.
            (&[(5, 100), (13, 50)][..], 100),
            (&[(5, 100), (14, 50)], 50),
            // The second sample is not replaced in the first quarter, and taken from after it.
            (&[(0, 100), (1, 30), (2, 20), (8, 5)], 100),
            (&[(0, 100), (1, 30), (2, 20), (3, 10), (9, 5)], 10),
            // The third, from after the half.
            (&[(0, 100), (3, 50), (4, 40), (5, 30), (11, 10)], 50),
            (&[(0, 100), (3, 50), (4, 40), (5, 30), (12, 10)], 30),
            (&[(0, 100), (3, 50), (5, 30), (9, 20), (12, 10)], 30),
            // A larger third, and a smaller one.
            (&[(0, 100), (3, 50), (5, 30), (6, 35), (7, 20), (12, 10)], 35),
        ] {
            let mut filter = MaxFilter::new(0_u64);
            for (round, value) in samples {
                filter.update(*value, *round, 8);
            }
            assert_eq!(filter.get(), expected, "{samples:?}");
        }
    }
}
