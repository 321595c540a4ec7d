//! Sizes in bytes.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub, SubAssign};

use crate::parse::{self, ParseError};
use crate::time::{as_f64, truncated};

/// A size, or an amount of data, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(u64);

impl Bytes {
    /// Nothing.
    pub const ZERO: Bytes = Bytes(0);
    /// More than any queue holds: "unlimited".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// An amount of `n` bytes.
    pub const fn new(n: u64) -> Bytes {
        Bytes(n)
    }

    /// The amount as a plain number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The amount as a floating-point number of bytes.
    #[inline]
    pub const fn as_f64(self) -> f64 {
        as_f64(self.0)
    }

    /// An amount of `n` bytes, truncated; zero if `n` is negative or not a number.
    #[inline]
    pub const fn from_f64(n: f64) -> Bytes {
        Bytes(truncated(n))
    }

    /// The amount in bits.
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }

    /// `self - other`, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }

    /// The amount scaled by a factor, truncated to whole bytes.
    #[must_use]
    pub fn scale(self, factor: f64) -> Bytes {
        Bytes::from_f64(self.as_f64() * factor)
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, b: Bytes) -> Bytes {
        Bytes(self.0 + b.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, b: Bytes) {
        *self = *self + b;
    }
}

impl Sub for Bytes {
    type Output = Bytes;
    fn sub(self, b: Bytes) -> Bytes {
        debug_assert!(self.0 >= b.0, "negative amount: {self:?} - {b:?}");
        Bytes(self.0.wrapping_sub(b.0))
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, b: Bytes) {
        *self = *self - b;
    }
}

impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, n: u64) -> Bytes {
        Bytes(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Bytes {
    type Output = Bytes;
    fn div(self, n: u64) -> Bytes {
        Bytes(self.0 / n)
    }
}

impl Div for Bytes {
    type Output = u64;
    fn div(self, other: Bytes) -> u64 {
        self.0 / other.0
    }
}

impl Rem<u64> for Bytes {
    type Output = Bytes;
    fn rem(self, n: u64) -> Bytes {
        Bytes(self.0 % n)
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Bytes>>(iter: I) -> Bytes {
        iter.fold(Bytes::ZERO, Add::add)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per, unit) = match self.0 {
            n if n != 0 && n % 1_000_000_000 == 0 => (1_000_000_000, "GB"),
            n if n != 0 && n % 1_000_000 == 0 => (1_000_000, "MB"),
            n if n != 0 && n % 1_000 == 0 => (1_000, "kB"),
            _ => (1, "B"),
        };
        parse::write_scaled(f, self.0, per)?;
        write!(f, " {unit}")
    }
}

/// Decimal prefixes are powers of ten, binary ones (`KiB`) powers of two. tc's `k`, `kb`, `m`, `mb`
/// (1024-based, lower case) are left out: readers disagree on the power that they mean.
const UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("bytes", 1.0),
    ("byte", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
];

impl std::str::FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Bytes, ParseError> {
        parse::quantity(text, "a size", "250 kB", UNITS).map(Bytes)
    }
}
