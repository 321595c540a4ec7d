//! Division that loses nothing: the remainder is carried to the next call.

use windtunnel_units::Bytes;

/// The remainder of growth too small for a whole byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carry(u64);

impl Carry {
    /// Returns `amount / divisor` in whole bytes, including the remainders of earlier calls.
    pub(crate) fn divide(&mut self, amount: Bytes, divisor: u64) -> Bytes {
        let total = self.0 + amount.get();
        self.0 = total % divisor;
        Bytes::new(total / divisor)
    }
}

/// The fraction of a byte by which a real-valued window exceeds the window in whole bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fraction(f64);

impl Fraction {
    /// Returns the real-valued window whose whole bytes are `cwnd`.
    pub(crate) fn ahead(self, cwnd: Bytes) -> f64 {
        cwnd.as_f64() + self.0
    }

    /// Returns the whole bytes of `amount`, including the remainders of earlier calls.
    pub(crate) fn whole(&mut self, amount: f64) -> Bytes {
        let total = self.0 + amount;
        let whole = Bytes::from_f64(total);
        self.0 = total - whole.as_f64();
        whole
    }

    /// Returns the whole bytes of a window of `cwnd` that `amount` changes in either direction, including the remainders of
    /// earlier calls.
    pub(crate) fn change(&mut self, cwnd: Bytes, amount: f64) -> Bytes {
        let total = self.0 + amount;
        let whole = total.floor();
        self.0 = total - whole;
        if whole < 0.0 { cwnd.saturating_sub(Bytes::from_f64(-whole)) } else { cwnd + Bytes::from_f64(whole) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole bytes of 1.75 and 1.5 are 1 and 2; the windows that are ahead have 0.75 and 0.25 more than those in
    /// whole bytes.
    #[test]
    fn fractions_are_carried() {
        let mut fraction = Fraction::default();
        for (amount, whole, ahead) in [(1.75, 1, 10.75), (1.5, 2, 10.25)] {
            assert_eq!(fraction.whole(amount), Bytes::new(whole));
            assert!((fraction.ahead(Bytes::new(10)) - ahead).abs() < 1e-12);
        }
    }

    /// 10 and 1.75 are 11 and 0.75; less 2.5 they are 9 and 0.25; less 20 they are 0, as no window is negative.
    #[test]
    fn changes_go_in_either_direction() {
        let (mut fraction, mut cwnd) = (Fraction::default(), Bytes::new(10));
        for (amount, left) in [(1.75, 11), (-2.5, 9), (-0.25, 9), (-20.0, 0)] {
            cwnd = fraction.change(cwnd, amount);
            assert_eq!(cwnd, Bytes::new(left));
        }
        assert_eq!(fraction, Fraction::default());
    }
}
