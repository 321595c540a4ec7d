//! `R_hat`, the rate at which data arrive (section 5.5). Times are in milliseconds, rates in bits per second.

use std::collections::VecDeque;

/// Marks are this part of the window apart at least, so that memory is bounded at any rate.
const PARTS: f64 = 32.0;

/// How much had arrived at some time.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    at: f64,
    bits: f64,
}

/// Measures over a window of `span`, from one arrival to another: how many reports happen to be in the window does not count.
#[derive(Debug)]
pub(super) struct Received {
    span: f64,
    /// The first is as old as the window, or the first of all.
    marks: VecDeque<Mark>,
    newest: Mark,
}

impl Received {
    pub(super) fn new(span: f64) -> Received {
        Received { span, marks: VecDeque::with_capacity(PARTS as usize + 3), newest: Mark::default() }
    }

    /// Data arrived. What was overtaken counts as arriving with the last.
    pub(super) fn arrived(&mut self, bits: f64, at: f64) {
        let newest = Mark { at: self.newest.at.max(at), bits: self.newest.bits + bits };
        self.newest = newest;
        if self.marks.back().is_none_or(|last| newest.at - last.at >= self.span / PARTS) {
            self.marks.push_back(newest);
        }
        while self.marks.get(1).is_some_and(|second| newest.at - second.at >= self.span) {
            self.marks.pop_front();
        }
    }

    /// The rate; none of a single arrival.
    pub(super) fn rate(&self) -> Option<f64> {
        let Mark { at, bits } = *self.marks.front()?;
        let passed = self.newest.at - at;
        (passed > 0.0).then(|| 1e3 * (self.newest.bits - bits) / passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10000 bits each 20 ms are 500 kbit/s from the second report on; 5000 bits each 20 ms are 250 kbit/s once all of
    /// them are in the window, and half way the mean of both.
    #[test]
    fn over_the_window() {
        let mut received = Received::new(500.0);
        assert_eq!(received.rate(), None);
        received.arrived(10_000.0, 0.0);
        assert_eq!(received.rate(), None);
        for n in 1..100 {
            received.arrived(10_000.0, 20.0 * f64::from(n));
            assert_eq!(received.rate(), Some(500e3), "{n}");
        }
        for (n, rate) in (100..).zip((1..=30).map(|n| 500e3 - 10e3 * f64::from(n.min(25)))) {
            received.arrived(5000.0, 20.0 * f64::from(n));
            let measured = received.rate().expect("two reports");
            assert!((measured - rate).abs() < 1.0, "{n}: {measured}, not {rate}");
        }
    }

    /// A report for each packet of 100 Mbit/s: few marks are kept, and the rate is exact.
    #[test]
    fn memory_is_bounded() {
        let mut received = Received::new(500.0);
        for n in 0..20_000 {
            received.arrived(10_000.0, 0.1 * f64::from(n));
            assert!(received.marks.len() <= PARTS as usize + 2);
        }
        assert!((received.rate().expect("many") / 100e6 - 1.0).abs() < 1e-9);
    }

    /// A pause is part of the window.
    #[test]
    fn a_pause_counts() {
        let mut received = Received::new(500.0);
        for at in [0.0, 100.0, 1100.0] {
            received.arrived(10_000.0, at);
        }
        assert_eq!(received.rate(), Some(10e3), "10000 bits in a second");
    }
}
