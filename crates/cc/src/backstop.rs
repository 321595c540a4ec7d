//! The window of a controller whose rate alone decides: it bounds what is sent to a path without feedback.

use windtunnel_units::Bytes;

/// Seconds of the rate: longer than the round trip of any path over which people can talk.
const SPAN: f64 = 2.0;
/// What TCP's window field covers, scaled (RFC 7323 section 2.3).
const LARGEST: f64 = 1_073_741_824.0;
/// An initial window (RFC 6928).
const LEAST: u64 = 10;

/// The window for a rate in bits per second.
pub(crate) fn backstop(rate: f64, mss: Bytes) -> Bytes {
    Bytes::from_f64((SPAN * rate / 8.0).min(LARGEST)).max(mss * LEAST)
}
