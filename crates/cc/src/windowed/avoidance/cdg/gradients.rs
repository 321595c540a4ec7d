//! The gradients of the least and the greatest round trip, summed over the last round trips.

/// Extremes of a round, or their changes, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Extremes {
    pub(super) min: i64,
    pub(super) max: i64,
}

impl Extremes {
    /// True if there was no sample.
    pub(super) fn is_empty(self) -> bool {
        self == Extremes::default()
    }

    /// Takes a sample that may be a delayed ACK's: it can only lower the least.
    pub(super) fn lower(&mut self, us: i64) {
        self.min = self.min.min(us);
    }

    pub(super) fn sample(&mut self, us: i64) {
        self.min = if self.min == 0 { us } else { self.min.min(us) };
        self.max = self.max.max(us);
    }
}

/// What the gradients show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Trend {
    /// The sums.
    pub(super) sum: Extremes,
    /// The gradient that decides: of the least round trip if that grows, of the greatest otherwise; scaled to a full
    /// window of gradients.
    pub(super) gradient: i64,
}

/// A ring of gradients with their sums.
#[derive(Clone, Debug)]
pub(super) struct Gradients {
    ring: Box<[Extremes]>,
    tail: usize,
    /// The ring was once full.
    filled: bool,
    sum: Extremes,
}

impl Gradients {
    pub(super) fn new(window: u32) -> Gradients {
        let ring = vec![Extremes::default(); window as usize].into_boxed_slice();
        Gradients { ring, tail: 0, filled: false, sum: Extremes::default() }
    }

    /// Forgets all.
    pub(super) fn clear(&mut self) {
        self.ring.fill(Extremes::default());
        (self.tail, self.filled, self.sum) = (0, false, Extremes::default());
    }

    /// Adds the change from `before` to `now`.
    pub(super) fn add(&mut self, before: Extremes, now: Extremes) -> Trend {
        let change = Extremes { min: now.min - before.min, max: now.max - before.max };
        let oldest = std::mem::replace(&mut self.ring[self.tail], change);
        self.sum.min += change.min - oldest.min;
        self.sum.max += change.max - oldest.max;
        let window = self.ring.len();
        self.tail = (self.tail + 1) % window;
        self.filled |= self.tail == 0;
        let gradient = if self.sum.min > 0 { self.sum.min } else { self.sum.max };
        let gradient = if self.filled {
            gradient
        } else {
            gradient * window.cast_signed() as i64 / self.tail.cast_signed() as i64
        };
        Trend { sum: self.sum, gradient }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn of(min: i64, max: i64) -> Extremes {
        Extremes { min, max }
    }

    /// Until the ring is full, the sum is extrapolated to eight; then the oldest gradient leaves it. The least round trip
    /// decides while it grows.
    #[test]
    fn sums_of_eight() {
        let mut gradients = Gradients::new(8);
        let first = gradients.add(of(1000, 2000), of(1100, 2300));
        assert_eq!(first, Trend { sum: of(100, 300), gradient: 800 });
        for _ in 0..6 {
            gradients.add(of(0, 0), of(0, 0));
        }
        let eighth = gradients.add(of(1000, 2000), of(1010, 2000));
        assert_eq!(eighth, Trend { sum: of(110, 300), gradient: 110 });
        let ninth = gradients.add(of(1000, 2000), of(900, 2050));
        assert_eq!(ninth, Trend { sum: of(-90, 50), gradient: 50 }, "the first is gone");
    }
}
