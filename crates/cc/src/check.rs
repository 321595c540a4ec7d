//! Checks of parameters that several controllers share.

use windtunnel_algorithm::OutOfRange;

/// Accepts a factor that keeps part of cwnd: greater than 0 and less than 1.
///
/// # Errors
/// Any other value.
pub fn kept_fraction(key: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(OutOfRange::new(key, value, "more than 0 and less than 1"))
    }
}

/// Accepts a finite number greater than zero.
///
/// # Errors
/// Any other value.
pub fn positive(key: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(OutOfRange::new(key, value, "more than 0")) }
}

/// The greatest increase of a round trip, in segments: more than any path holds, and little enough that a window stays a
/// number of 64 bits.
pub(crate) const MOST_INCREASE: f64 = 1e9;

/// Accepts an increase in segments: greater than zero, and at most 1e9.
///
/// # Errors
/// Any other value.
pub fn increase(key: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value <= MOST_INCREASE {
        positive(key, value)
    } else {
        Err(OutOfRange::new(key, value, "at most 1e9"))
    }
}
