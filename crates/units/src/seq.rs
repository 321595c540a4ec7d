//! Sequence numbers.

use std::fmt;
use std::ops::{Add, Sub};

use crate::Bytes;

/// A TCP sequence number, unwrapped to 64 bits so that comparison is plain order; the wire carries
/// its low 32 bits. The SYN has number 0, the first data byte number 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(u64);

impl Seq {
    /// The number of the SYN.
    pub const SYN: Seq = Seq(0);
    /// The number of the first byte of data.
    pub const FIRST_DATA: Seq = Seq(1);

    /// The sequence number `n`.
    pub const fn new(n: u64) -> Seq {
        Seq(n)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl Add<Bytes> for Seq {
    type Output = Seq;
    fn add(self, n: Bytes) -> Seq {
        Seq(self.0 + n.get())
    }
}

impl Sub for Seq {
    type Output = Bytes;
    /// The bytes from `earlier` up to `self`.
    fn sub(self, earlier: Seq) -> Bytes {
        debug_assert!(self >= earlier, "sequence runs backwards: {self:?} - {earlier:?}");
        Bytes::new(self.0.wrapping_sub(earlier.0))
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
