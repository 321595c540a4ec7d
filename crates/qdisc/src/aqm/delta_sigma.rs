//! The delta-sigma control loop of DelTiC and DelTiM, in fixed-point arithmetic.
//!
//! All numbers are nanoseconds in `i64`, and a product of two is scaled back to nanoseconds: `a * b / 1 s`, truncated
//! towards zero (spec/mds section 8). Sums saturate: a loop driven for hours by seconds of delay stays at the limit of
//! its range instead of wrapping.

use windtunnel_units::Duration;

/// One second, the unit of the fixed-point numbers.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// The nanoseconds of a span.
#[inline]
pub(crate) fn nanos(span: Duration) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// `a * b / 1 s`, truncated towards zero.
#[inline]
pub(crate) fn product(a: i64, b: i64) -> i64 {
    match a.checked_mul(b) {
        Some(ab) => ab / SECOND,
        None => wide_product(a, b),
    }
}

/// [`product`] where `a * b` needs more than 64 bits: seldom, and 128-bit division is slow.
#[cold]
fn wide_product(a: i64, b: i64) -> i64 {
    let ab = i128::from(a) * i128::from(b) / i128::from(SECOND);
    i64::try_from(ab).unwrap_or(if ab < 0 { i64::MIN } else { i64::MAX })
}

/// An accumulator that sums the change of an error (delta) and its integral (sigma). Its value sets the
/// frequency of oscillators.
#[derive(Clone, Debug)]
pub(crate) struct DeltaSigma {
    /// The accumulator, never negative.
    pub(crate) acc: i64,
    /// The error at the last step.
    error: i64,
    /// The loop's gain, `1 s / T`: a shorter time constant gives a stronger reaction.
    resonance: i64,
}

impl DeltaSigma {
    /// A loop for set point or burst `span`, at error `error`.
    pub(crate) fn new(span: Duration, error: i64) -> DeltaSigma {
        DeltaSigma { acc: 0, error, resonance: SECOND / nanos(span).max(1) }
    }

    /// One step: `acc += (delta + sigma) * R`, at least 0. Returns false if the result would have been negative.
    #[inline]
    pub(crate) fn advance(&mut self, error: i64, dt: i64) -> bool {
        let delta = error - self.error;
        let sigma = product(error, dt);
        self.error = error;
        self.acc = self.acc.saturating_add((delta + sigma).saturating_mul(self.resonance));
        let enough = self.acc >= 0;
        self.acc = self.acc.max(0);
        enough
    }

    /// By how much the oscillators advance in `dt`: `acc * dt/s * R`, so that their frequency is
    /// `acc/s * R` in Hz.
    #[inline]
    pub(crate) fn phase(&self, dt: i64) -> Duration {
        let phase = product(self.acc, dt.clamp(0, SECOND)).saturating_mul(self.resonance);
        Duration::from_nanos(phase as u64)
    }

    /// Reduces the accumulator by 1/16 for each oscillator that demands more than one signal per packet.
    #[inline]
    pub(crate) fn relent(&mut self, overruns: u8) {
        for _ in 0..overruns {
            self.acc -= self.acc / 16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Products that need more than 64 bits: exact and truncated towards zero (spec/mds section 8), or the end of the
    /// range on their side of zero.
    #[test]
    fn wide_products() {
        for (a, b, expected) in [
            (4 * SECOND, 5 * SECOND, 20 * SECOND),
            (-4 * SECOND, 5 * SECOND, -20 * SECOND),
            (30 * SECOND + 1, 3 * SECOND / 2, 45 * SECOND + 1),
            (-30 * SECOND - 1, 3 * SECOND / 2, -45 * SECOND - 1),
            (i64::MAX, 2 * SECOND, i64::MAX),
            (i64::MIN, 2 * SECOND, i64::MIN),
            (i64::MIN, -2 * SECOND, i64::MAX),
        ] {
            assert_eq!(product(a, b), expected, "{a} {b}");
        }
    }
}
