//! The aggregate congestion signal (section 4.2), in seconds.

use windtunnel_units::{Duration, Time};

use super::log::LOGWIN;
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

/// How far the next loss is overdue: 0 up to `MULTILOSS` mean intervals, 1 from one more on. Without losses it always is. The open
/// interval and the mean of the closed ones are `intervals`.
pub(super) fn overdue(intervals: Option<(f64, f64)>, params: &NadaParams) -> f64 {
    intervals.map_or(1.0, |(open, mean)| (open / mean - params.multiloss).clamp(0.0, 1.0))
}

/// x: the delay that counts, and what losses and marks count for (equation 2).
pub(super) fn aggregate(perceived: f64, lost: f64, marked: f64, params: &NadaParams) -> f64 {
    let squared = |share: f64| (share / REFERENCE_SHARE) * (share / REFERENCE_SHARE);
    let losses = params.dloss.as_secs_f64() * squared(lost);
    let marks = params.dmark.as_secs_f64() * squared(marked);
    (perceived + losses + marks).min(MOST)
}

/// The least delay of the last packets within `LOGWIN`.
#[derive(Debug)]
pub(super) struct LeastOfLast {
    taps: [Option<(Time, Duration)>; TAPS],
    next: usize,
}

impl LeastOfLast {
    pub(super) const fn new() -> LeastOfLast {
        LeastOfLast { taps: [None; TAPS], next: 0 }
    }

    /// A report tells the delay of the last of some packets, and it stands for all of them. Returns the least of the last [`TAPS`].
    pub(super) fn update(&mut self, delay: Duration, packets: usize, now: Time) -> Duration {
        for _ in 0..packets.clamp(1, TAPS) {
            self.taps[self.next] = Some((now, delay));
            self.next = (self.next + 1) % TAPS;
        }
        let recent = self.taps.iter().flatten().filter(|(at, _)| now.since(*at) < LOGWIN);
        recent.map(|(_, delay)| *delay).min().unwrap_or(delay)
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
            near(overdue(Some((open, 100.0)), &params), expected);
        }
        near(overdue(None, &params), 1.0);
    }

    /// A delay is forgotten after fifteen more packets, in one report or in several, or after half a second.
    #[test]
    fn the_filter_has_fifteen_taps() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let ms = Duration::from_millis;
        let mut filter = LeastOfLast::new();
        assert_eq!(filter.update(ms(10), 1, at(0)), ms(10));
        let last: Vec<Duration> = (0..15).map(|_| filter.update(ms(30), 1, at(10))).collect();
        assert_eq!((last[13], last[14]), (ms(10), ms(30)));
        for (packets, expected) in [(4, 30), (10, 30), (1, 50)] {
            assert_eq!(filter.update(ms(50), packets, at(20)), ms(expected));
        }
        for (time, expected) in [(519, 50), (520, 70)] {
            assert_eq!(filter.update(ms(70), 1, at(time)), ms(expected));
        }
    }
}
