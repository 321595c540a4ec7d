//! Parameters that a queue cannot work with.

use windtunnel_units::{Duration, OutOfRange};

/// A set point of a delta-sigma loop, whose resonance is the whole number `1 s / span`.
pub(crate) fn set_point(key: &'static str, span: Duration) -> Result<(), OutOfRange> {
    if span.is_zero() || span > Duration::SECOND {
        return Err(OutOfRange::new(key, span, "more than 0 s and at most 1 s"));
    }
    Ok(())
}
