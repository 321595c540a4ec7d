//! Growth by whole segments, shared by all windows that are counted in segments.
//!
//! Linux's additive increase (spec/congestion-control section 0.4): acknowledged segments accumulate as credit. Each
//! time the credit reaches the price of a segment, the window grows by one. Reno's price is the window itself. AIMD
//! with increase a has the price `W / a`, so credit may be a fraction.

/// Acknowledged segments that have not made the window grow yet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Credit(f64);

impl Credit {
    /// Returns by how many segments `n` acknowledged segments grow a window that grows by one for every `price` of
    /// them.
    pub(crate) fn add(&mut self, price: f64, n: f64) -> u64 {
        let mut grown = 0;
        // Credit left from a higher price is worth at most one segment.
        if self.0 >= price {
            self.0 = 0.0;
            grown = 1;
        }
        self.0 += n;
        if self.0 >= price {
            let whole = (self.0 / price) as u64;
            self.0 = (self.0 - whole as f64 * price).max(0.0);
            grown += whole;
        }
        grown
    }

    /// Adds `n` acknowledged segments that do not make the window grow yet.
    pub(crate) fn count(&mut self, n: u64) {
        self.0 += n as f64;
    }

    /// Returns the credit in segments.
    pub(crate) const fn get(self) -> f64 {
        self.0
    }

    /// Discards the credit: the window was reduced.
    pub(crate) fn clear(&mut self) {
        self.0 = 0.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reno: the price is the window. Returns the window and the credit after the ACKs.
    fn reno(mut w: u64, acks: &[u64]) -> (u64, f64) {
        let mut credit = Credit::default();
        for n in acks {
            w += credit.add(w as f64, *n as f64);
        }
        (w, credit.0)
    }

    /// spec/congestion-control section 0.4: ten ACKs of one and five of two grow 10 to 11; one of 25 to 12, and
    /// five stay.
    #[test]
    fn a_window_of_acknowledged_segments_is_a_segment() {
        assert_eq!(reno(10, &[1; 10]), (11, 0.0));
        assert_eq!(reno(10, &[2; 5]), (11, 0.0));
        assert_eq!(reno(10, &[25]), (12, 5.0));
    }

    /// spec/congestion-control section 0.4 rule 1: credit for a price that has fallen gives one segment and is gone.
    #[test]
    fn old_credit_is_worth_one_segment() {
        let mut credit = Credit::default();
        assert_eq!(credit.add(100.0, 90.0), 0);
        assert_eq!(credit.add(20.0, 1.0), 1);
        assert_eq!(credit, Credit(1.0));
    }

    /// A price of 18.9 acknowledged segments: nine segments in 170.1.
    #[test]
    fn prices_may_be_fractions() {
        let mut credit = Credit::default();
        let grown: u64 = (0..171).map(|_| credit.add(18.9, 1.0)).sum();
        assert_eq!(grown, 9);
        assert!((credit.0 - 0.9).abs() < 1e-9);
    }
}
