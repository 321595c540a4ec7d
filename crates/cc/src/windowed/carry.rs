//! Division that loses nothing: the remainder is carried to the next call.

use windtunnel_units::Bytes;

/// The remainder of growth too small for a whole byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Carry(u64);

impl Carry {
    /// `amount / divisor` whole bytes, counting what earlier calls left over.
    pub(crate) fn divide(&mut self, amount: Bytes, divisor: u64) -> Bytes {
        let total = self.0 + amount.get();
        self.0 = total % divisor;
        Bytes::new(total / divisor)
    }
}

/// The fraction of a byte by which a real-valued window is ahead of the one in whole bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Fraction(f64);

impl Fraction {
    /// The real-valued window whose whole bytes are `cwnd`.
    pub(crate) fn ahead(self, cwnd: Bytes) -> f64 {
        cwnd.as_f64() + self.0
    }

    /// The whole bytes of `amount`, counting what earlier calls left over.
    pub(crate) fn whole(&mut self, amount: f64) -> Bytes {
        let total = self.0 + amount;
        let whole = Bytes::from_f64(total);
        self.0 = total - whole.as_f64();
        whole
    }
}
