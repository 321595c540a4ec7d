//! Segments, counted and weighed.

use std::ops::{Add, AddAssign, Sub, SubAssign};

use windtunnel_units::Bytes;

/// A number of segments and their payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Amount {
    /// Segments.
    pub(crate) segments: u64,
    /// Their payload.
    pub(crate) bytes: Bytes,
}

impl Amount {
    /// Nothing.
    pub(crate) const ZERO: Amount = Amount { segments: 0, bytes: Bytes::ZERO };

    /// One segment of `payload`.
    pub(crate) const fn one(payload: Bytes) -> Amount {
        Amount { segments: 1, bytes: payload }
    }

    /// No segment.
    pub(crate) const fn is_zero(self) -> bool {
        self.segments == 0
    }
}

impl Add for Amount {
    type Output = Amount;
    fn add(self, other: Amount) -> Amount {
        Amount { segments: self.segments + other.segments, bytes: self.bytes + other.bytes }
    }
}

impl AddAssign for Amount {
    fn add_assign(&mut self, other: Amount) {
        *self = *self + other;
    }
}

impl Sub for Amount {
    type Output = Amount;
    fn sub(self, other: Amount) -> Amount {
        Amount { segments: self.segments - other.segments, bytes: self.bytes - other.bytes }
    }
}

impl SubAssign for Amount {
    fn sub_assign(&mut self, other: Amount) {
        *self = *self - other;
    }
}
