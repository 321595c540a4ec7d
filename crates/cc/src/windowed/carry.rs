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
}
