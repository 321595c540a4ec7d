//! Data rates in bits per second.

use std::fmt;
use std::ops::Mul;

use crate::parse::{self, ParseError};
use crate::{Bytes, Duration};

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// No rate at all.
    pub const ZERO: Rate = Rate(0);

    /// A rate of `n` bits per second.
    pub const fn from_bits_per_sec(n: u64) -> Rate {
        Rate(n)
    }

    /// A rate of `n` megabits per second.
    pub const fn from_mbps(n: u64) -> Rate {
        Rate(n * 1_000_000)
    }

    /// The rate in bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// The rate in megabits per second.
    pub fn as_mbps(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The mean rate at which `amount` passes in `span`; zero for an empty span.
    pub fn of(amount: Bytes, span: Duration) -> Rate {
        if span.is_zero() {
            return Rate::ZERO;
        }
        let bit_nanos = amount.get().checked_mul(8_000_000_000);
        Rate(match bit_nanos {
            Some(n) => n / span.as_nanos(),
            None => (u128::from(amount.get()) * 8_000_000_000 / u128::from(span.as_nanos())) as u64,
        })
    }

    /// The time that `amount` takes at this rate, truncated to nanoseconds.
    ///
    /// # Panics
    /// If the rate is zero: a scenario never has such a link.
    pub fn transfer_time(self, amount: Bytes) -> Duration {
        let bit_nanos = amount.get().checked_mul(8_000_000_000);
        Duration::from_nanos(match bit_nanos {
            Some(n) => n / self.0,
            None => (u128::from(amount.get()) * 8_000_000_000 / u128::from(self.0)) as u64,
        })
    }
}

/// Rate times time is an amount: the bandwidth-delay product.
impl Mul<Duration> for Rate {
    type Output = Bytes;
    fn mul(self, span: Duration) -> Bytes {
        Bytes::new((u128::from(self.0) * u128::from(span.as_nanos()) / 8_000_000_000) as u64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per, unit) = match self.0 {
            n if n >= 1_000_000_000 => (1_000_000_000, "Gbit/s"),
            n if n >= 1_000_000 => (1_000_000, "Mbit/s"),
            n if n >= 1_000 => (1_000, "kbit/s"),
            _ => (1, "bit/s"),
        };
        parse::write_scaled(f, self.0, per)?;
        write!(f, " {unit}")
    }
}

const UNITS: &[(&str, f64)] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("bit", 1.0),
    ("kbit", 1e3),
    ("Mbit", 1e6),
    ("Gbit", 1e9),
    ("Tbit", 1e12),
    ("Mbps", 1e6),
    ("Gbps", 1e9),
    ("Tbps", 1e12),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
];

/// tc's units of bytes per second, and what to write instead for bits per second.
const AMBIGUOUS: &[(&str, &str)] = &[
    ("bps", "bit/s"),
    ("kbps", "kbit/s"),
    ("Kbps", "kbit/s"),
    ("mbps", "Mbit/s"),
    ("gbps", "Gbit/s"),
    ("tbps", "Tbit/s"),
];

impl std::str::FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Rate, ParseError> {
        let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || " .+-_e".contains(c));
        if let Some((_, bit)) = AMBIGUOUS.iter().find(|(name, _)| *name == unit) {
            return Err(ParseError::AmbiguousRate { text: text.to_owned(), unit: unit.to_owned(), bit });
        }
        parse::quantity(text, "a rate", "100 Mbit/s", UNITS).map(Rate)
    }
}
