//! Points in simulated time and spans between them, in integer nanoseconds.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use crate::parse::{self, ParseError};

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A point in simulated time: nanoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of simulated time in nanoseconds; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "never".
    pub const NEVER: Time = Time(u64::MAX);

    /// `n` nanoseconds after the start of the run.
    pub const fn from_nanos(n: u64) -> Time {
        Time(n)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The span since the start of the run.
    pub const fn since_start(self) -> Duration {
        Duration(self.0)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);
    /// One second.
    pub const SECOND: Duration = Duration(NANOS_PER_SEC);

    /// A span of `n` nanoseconds.
    pub const fn from_nanos(n: u64) -> Duration {
        Duration(n)
    }

    /// A span of `n` microseconds.
    pub const fn from_micros(n: u64) -> Duration {
        Duration(n * 1_000)
    }

    /// A span of `n` milliseconds.
    pub const fn from_millis(n: u64) -> Duration {
        Duration(n * 1_000_000)
    }

    /// A span of `n` seconds.
    pub const fn from_secs(n: u64) -> Duration {
        Duration(n * NANOS_PER_SEC)
    }

    /// A span of `s` seconds, truncated to nanoseconds; zero if `s` is negative or not a number.
    pub fn from_secs_f64(s: f64) -> Duration {
        Duration((s * NANOS_PER_SEC as f64) as u64)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The span in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// True for a span of zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero if `other` is longer.
    #[must_use]
    pub const fn saturating_sub(self, other: Duration) -> Duration {
        Duration(self.0.saturating_sub(other.0))
    }

    /// The ratio of two spans.
    pub fn ratio(self, other: Duration) -> f64 {
        self.0 as f64 / other.0 as f64
    }

    /// The span scaled by a factor that is not negative, truncated to nanoseconds.
    #[inline]
    #[must_use]
    pub fn scale(self, factor: f64) -> Duration {
        Duration::from_nanos_f64(self.as_nanos_f64() * factor)
    }

    /// The span in nanoseconds as a floating-point number: exact up to 2^53 ns, 104 days.
    #[inline]
    pub const fn as_nanos_f64(self) -> f64 {
        as_f64(self.0)
    }

    /// A span of `ns` nanoseconds, truncated; zero if `ns` is negative or not a number.
    #[inline]
    pub const fn from_nanos_f64(ns: f64) -> Duration {
        Duration(truncated(ns))
    }
}

/// Numbers below 2^63 as floats, by way of `i64`, which processors convert in one instruction.
#[expect(clippy::cast_possible_wrap, reason = "quantities are below 2^63")]
#[inline]
pub(crate) const fn as_f64(n: u64) -> f64 {
    n as i64 as f64
}

/// A float as a whole number, truncated; zero if it is negative or not a number.
#[inline]
pub(crate) const fn truncated(x: f64) -> u64 {
    let n = x as i64;
    if n > 0 { n as u64 } else { 0 }
}

/// Spans of more than 584 years become [`Duration::MAX`].
impl From<std::time::Duration> for Duration {
    fn from(span: std::time::Duration) -> Duration {
        Duration(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0 + d.0)
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// # Panics
    /// In debug builds, if `earlier` is later than `self`.
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "time runs backwards: {self:?} - {earlier:?}");
        Duration(self.0.wrapping_sub(earlier.0))
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0 + d.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        debug_assert!(self >= d, "negative duration: {self:?} - {d:?}");
        Duration(self.0.wrapping_sub(d.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Duration>>(iter: I) -> Duration {
        iter.fold(Duration::ZERO, Add::add)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (per, unit) = match self.0 {
            0 => (NANOS_PER_SEC, "s"),
            n if n % NANOS_PER_SEC == 0 => (NANOS_PER_SEC, "s"),
            n if n >= 1_000_000 => (1_000_000, "ms"),
            n if n >= 1_000 => (1_000, "us"),
            _ => (1, "ns"),
        };
        parse::write_scaled(f, self.0, per)?;
        write!(f, " {unit}")
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

const UNITS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];

impl std::str::FromStr for Duration {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Duration, ParseError> {
        parse::quantity(text, "a time", "20 ms", UNITS).map(Duration)
    }
}

impl std::str::FromStr for Time {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Time, ParseError> {
        parse::quantity(text, "a time", "20 ms", UNITS).map(Time)
    }
}
