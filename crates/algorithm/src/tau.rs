//! tau, the constant of Multiplicative Decrease Scaling: how many SCE equal one CE. Queues that mark and flows that
//! answer must use the same tau, so its default and range are defined here, where both can use them.

use std::num::NonZeroU32;

use windtunnel_units::OutOfRange;

/// tau of the MDS document's tests.
pub const DEFAULT: NonZeroU32 = NonZeroU32::new(64).unwrap();

/// The largest tau. The document uses 8 to 128. A limiter stores tau times, so this bound keeps a typing error from
/// exhausting the memory.
pub const LARGEST: u32 = 65_536;

/// Refuses a tau beyond [`LARGEST`].
///
/// # Errors
/// `tau` is larger.
pub fn check(key: &'static str, tau: NonZeroU32) -> Result<(), OutOfRange> {
    if tau.get() > LARGEST {
        return Err(OutOfRange::new(key, tau, "a whole number from 1 to 65536"));
    }
    Ok(())
}
