//! The sensitivity of a flow to signals, and the thresholds that follow from it (section "Handling of congestion signals"). Rates
//! are in bytes per second, times in seconds.

/// Below this rate a flow has no sensitivity: media of the lowest quality must go on.
const LOW_RATE: f64 = 50_000.0;
/// Here it has [`MIDDLE`], which makes the threshold of losses 6 %.
const MIDDLE_RATE: f64 = 1_000_000.0;
const MIDDLE: f64 = 0.92;
/// From here on it is 1, and the threshold of losses 2 %, that of BBR.
const HIGH_RATE: f64 = 10_000_000.0;
/// The largest threshold of delay: what a call can bear.
const MOST_DELAY: f64 = 0.025;

/// From 0, at low rates, to 1.
pub(super) fn sensitivity(rate: f64) -> f64 {
    if rate <= LOW_RATE {
        0.0
    } else if rate <= MIDDLE_RATE {
        MIDDLE * (rate - LOW_RATE) / (MIDDLE_RATE - LOW_RATE)
    } else if rate <= HIGH_RATE {
        MIDDLE + (1.0 - MIDDLE) * (rate - MIDDLE_RATE) / (HIGH_RATE - MIDDLE_RATE)
    } else {
        1.0
    }
}

/// By how much a round trip may exceed `max_rtt`: a sixteenth of it for large flows, a quarter for small ones.
pub(super) fn delay_threshold(sensitivity: f64, max_rtt: f64) -> f64 {
    (max_rtt * (1.0 / 16.0 + (1.0 - sensitivity) * 3.0 / 16.0)).min(MOST_DELAY)
}

/// The share of losses that is no signal yet.
pub(super) fn loss_threshold(sensitivity: f64) -> f64 {
    0.02 + 0.5 * (1.0 - sensitivity)
}

/// The share of marks that is none.
pub(super) fn ce_threshold(sensitivity: f64) -> f64 {
    (2.0 - sensitivity) * 3.0 / 32.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    /// The vectors of spec/ccwg-2026 section G: the ends of the curve, and the middle of each of its parts.
    #[test]
    fn sensitivity_follows_the_curve() {
        for (rate, expected) in
            [(0.0, 0.0), (50e3, 0.0), (525e3, 0.46), (1e6, 0.92), (5.5e6, 0.96), (10e6, 1.0), (1e9, 1.0)]
        {
            near(sensitivity(rate), expected);
        }
    }

    /// A quarter of M for small flows, a sixteenth for large ones, and never more than 25 ms.
    #[test]
    fn thresholds_fall_with_the_rate() {
        near(delay_threshold(0.0, 0.04), 0.01);
        near(delay_threshold(1.0, 0.04), 0.0025);
        near(delay_threshold(0.0, 0.3), 0.025);
        near(delay_threshold(1.0, 0.6), 0.025);
        near(loss_threshold(0.0), 0.52);
        near(loss_threshold(0.92), 0.06);
        near(loss_threshold(1.0), 0.02);
        near(ce_threshold(0.0), 0.1875);
        near(ce_threshold(1.0), 0.093_75);
    }
}
