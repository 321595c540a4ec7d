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
