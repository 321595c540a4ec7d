//! The aggregate congestion signal (section 4.2), in seconds.

use super::params::NadaParams;

/// Shares of losses and marks that count for `DLOSS` and `DMARK` (`PLRREF`, `PMRREF`).
const REFERENCE_SHARE: f64 = 0.01;
/// A larger signal says no more (the bound of the authors' code).
const MOST: f64 = 0.5;
/// The taps of the filter: a packet that waited for others counts less than the least of the last ones (section 5.1.1).
pub(super) const TAPS: usize = 15;

/// The queueing delay as it counts: warped if losses come regularly (equation 1). In `overdue` the warping is given up over one
/// more mean interval: 0 for warped, 1 for not.
pub(super) fn perceived(queued: f64, overdue: f64, params: &NadaParams) -> f64 {
    let qth = params.qth.as_secs_f64();
    if queued < qth {
        return queued;
    }
    let warped = qth * libm::exp(-params.lambda * (queued - qth) / qth);
    warped + overdue * (queued - warped)
}

/// How far the next loss is overdue: 0 up to `MULTILOSS` mean intervals, 1 from one more on. Without losses it always is.
pub(super) fn overdue(open: Option<f64>, mean: f64, params: &NadaParams) -> f64 {
    open.map_or(1.0, |open| (open / mean - params.multiloss).clamp(0.0, 1.0))
}

/// x: the delay that counts, and what losses and marks count for (equation 2).
pub(super) fn aggregate(perceived: f64, lost: f64, marked: f64, params: &NadaParams) -> f64 {
    let squared = |share: f64| (share / REFERENCE_SHARE) * (share / REFERENCE_SHARE);
    let losses = params.dloss.as_secs_f64() * squared(lost);
    let marks = params.dmark.as_secs_f64() * squared(marked);
    (perceived + losses + marks).min(MOST)
}

/// The least of the last delays.
#[derive(Debug)]
pub(super) struct LeastOfLast {
    taps: [f64; TAPS],
    next: usize,
}

impl LeastOfLast {
    pub(super) const fn new() -> LeastOfLast {
        LeastOfLast { taps: [f64::INFINITY; TAPS], next: 0 }
    }

    /// Takes a delay. Returns the least of the last [`TAPS`].
    pub(super) fn update(&mut self, delay: f64) -> f64 {
        self.taps[self.next] = delay;
        self.next = (self.next + 1) % TAPS;
        self.taps.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(is: f64, expected: f64) {
        assert!((is - expected).abs() < 5e-6, "{is}, not {expected}");
    }

    /// spec/ccwg-2026 section K.2: 100 ms of queue count for 30.33 ms where losses come regularly; 2 % of losses for 40 ms, 2 % of
    /// marks for 8 ms. The signal is at most 500 ms.
    #[test]
    fn vectors_of_the_signal() {
        let params = NadaParams::default();
        near(perceived(0.1, 0.0, &params), 0.030_327);
        near(perceived(0.1, 1.0, &params), 0.1);
        near(perceived(0.1, 0.5, &params), 0.065_163);
        near(perceived(0.049, 0.0, &params), 0.049);
        near(aggregate(0.005, 0.02, 0.0, &params), 0.045);
        near(aggregate(0.005, 0.0, 0.02, &params), 0.013);
        near(aggregate(0.1, 0.2, 0.0, &params), 0.5);
    }

    /// A loss is overdue after seven mean intervals, and warping is given up over the eighth.
    #[test]
    fn losses_are_overdue() {
        let params = NadaParams::default();
        for (open, expected) in [(0.0, 0.0), (700.0, 0.0), (750.0, 0.5), (800.0, 1.0), (9000.0, 1.0)] {
            near(overdue(Some(open), 100.0, &params), expected);
        }
        near(overdue(None, 100.0, &params), 1.0);
    }

    /// A delay is forgotten after fifteen more.
    #[test]
    fn the_filter_has_fifteen_taps() {
        let mut filter = LeastOfLast::new();
        near(filter.update(0.01), 0.01);
        let last: Vec<f64> = (0..15).map(|_| filter.update(0.03)).collect();
        near(last[13], 0.01);
        near(last[14], 0.03);
    }
}
