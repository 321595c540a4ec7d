//! Clocks that drift apart (section "Clock drift issues and remedies").
//!
//! A delay that is never short is one of a clock that drifts or was set, of a longer way, or of a queue that never
//! empties. All three need a new base: the base is forgotten, and the sender halves its rate for some round trips, so
//! that a queue empties and is not taken for the base.

use windtunnel_units::{Duration, Time};

/// The gain of the average of the least delays, for each round trip.
const QDELAY_MIN_AVG_ALPHA: f64 = 1.0 / 256.0;
/// The part of the delay target above which that average is too long.
const LONGEST: f64 = 1.0 / 4.0;
/// For how many round trips the rate is halved, and for how long at least.
const HALVED_RTTS: u64 = 5;
const HALVED_AT_LEAST: Duration = Duration::from_millis(200);

/// The average of the least delay of each round trip. Delays in seconds.
#[derive(Debug)]
pub(super) struct Drift {
    /// The section's `qdelay_min_avg`, which is not that of [`super::jitter`].
    average: f64,
    /// The least in this round trip.
    least: f64,
    /// When it started.
    since: Option<Time>,
    /// The rate is halved until then.
    halved_until: Time,
}

impl Drift {
    pub(super) const fn new() -> Drift {
        Drift { average: 0.0, least: f64::INFINITY, since: None, halved_until: Time::ZERO }
    }

    pub(super) const fn average(&self) -> f64 {
        self.average
    }

    pub(super) fn is_halved(&self, now: Time) -> bool {
        now < self.halved_until
    }

    /// A delay was measured. Returns whether the base is to be forgotten.
    pub(super) fn sample(&mut self, qdelay: f64, qdelay_target: f64, now: Time, srtt: Duration) -> bool {
        self.least = self.least.min(qdelay);
        if now.since(*self.since.get_or_insert(now)) < srtt {
            return false;
        }
        self.since = Some(now);
        self.average += QDELAY_MIN_AVG_ALPHA * (self.least - self.average);
        self.least = f64::INFINITY;
        if self.average <= qdelay_target * LONGEST {
            return false;
        }
        self.average = 0.0;
        self.halved_until = now + HALVED_AT_LEAST.max(srtt * HALVED_RTTS);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// In which round trip of this length the base is forgotten, with these delays in each, in ms.
    fn forgotten(drift: &mut Drift, rtt: Duration, delays: [u32; 2]) -> Option<u64> {
        (1..1000).find(|round| {
            let start = Time::ZERO + rtt * *round;
            let sampled = delays.map(|delay| drift.sample(f64::from(delay) / 1e3, 0.06, start, rtt));
            sampled[0] || sampled[1]
        })
    }

    /// By the draft's formula: with a least delay of 40 ms the average is 40 (1 - (255/256)^n) ms, which is above a
    /// quarter of 60 ms from n = 121 on, because (255/256)^120 = 0.6252 and (255/256)^121 = 0.6228. The first report
    /// starts the first round trip. 15 ms are never above 15 ms; the least counts, not the largest.
    #[test]
    fn a_long_delay_is_a_new_base() {
        assert_eq!(forgotten(&mut Drift::new(), ms(100), [40, 40]), Some(122));
        assert_eq!(forgotten(&mut Drift::new(), ms(100), [70, 40]), Some(122));
        assert_eq!(forgotten(&mut Drift::new(), ms(100), [15, 15]), None);
        assert_eq!(forgotten(&mut Drift::new(), ms(100), [400, 14]), None);
    }

    /// Five round trips, and 200 ms at least; the average starts again.
    #[test]
    fn the_rate_is_halved_for_a_while() {
        for (rtt, halved) in [(100, 500), (20, 200)] {
            let mut drift = Drift::new();
            let round = forgotten(&mut drift, ms(rtt), [40, 40]).expect("a new base");
            let last = Time::ZERO + ms(rtt) * round + ms(halved - 1);
            assert!(drift.is_halved(last) && !drift.is_halved(last + ms(1)));
            assert!(drift.average() < 1e-12);
        }
        assert!(!Drift::new().is_halved(Time::ZERO));
    }
}
