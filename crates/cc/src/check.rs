//! Checks of parameters that several controllers share.

use windtunnel_algorithm::OutOfRange;

/// A factor that keeps some of cwnd and not all of it.
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

/// A finite number greater than zero.
///
/// # Errors
/// Any other value.
pub fn positive(key: &'static str, value: f64) -> Result<(), OutOfRange> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(OutOfRange::new(key, value, "more than 0")) }
}
