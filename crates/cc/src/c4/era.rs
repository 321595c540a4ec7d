//! An era: what is measured from when the first packet of it leaves until one is acknowledged, and the two round trips that follow from
//! it. Times are in seconds.

use windtunnel_units::Time;

/// What jitter may add to the running least round trip: more is a queue, or a path that changed.
const MAX_JITTER: f64 = 0.25;
/// The least nominal max RTT: below it, the clocks of hosts decide what is measured (section "Nominal max RTT on low latency
/// links").
pub(super) const LEAST_MAX_RTT: f64 = 0.001;

/// The present era.
#[derive(Clone, Copy, Debug)]
pub(super) struct Era {
    start: Time,
    /// alpha of the era before, whose packets this one measures.
    pub(super) alpha_previous: f64,
    /// The nominal rate when it began, in bytes per second.
    pub(super) rate: f64,
    min_rtt: f64,
    max_rtt: f64,
    /// A packet was acknowledged that the application did not limit.
    pub(super) unlimited: bool,
}

impl Era {
    pub(super) fn new(start: Time, alpha_previous: f64, rate: f64) -> Era {
        Era { start, alpha_previous, rate, min_rtt: f64::INFINITY, max_rtt: 0.0, unlimited: false }
    }

    pub(super) fn measure(&mut self, rtt: f64) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.max_rtt = self.max_rtt.max(rtt);
    }

    /// True if a packet that left at `sent` ends it.
    pub(super) fn ends_with(&self, sent: Time) -> bool {
        sent >= self.start
    }
}

/// The round trips that a flow knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    /// The nominal max RTT, M.
    pub(super) max: f64,
    /// The running min RTT.
    pub(super) min: f64,
}

impl RoundTrips {
    pub(super) fn new(rtt: f64) -> RoundTrips {
        RoundTrips { max: rtt.max(LEAST_MAX_RTT), min: rtt }
    }

    /// At the end of an era. What was sent faster than the nominal rate says nothing about the path. Returns true if the path's own
    /// round trip has become shorter.
    pub(super) fn end_era(&mut self, era: &Era) -> bool {
        if era.alpha_previous > 1.0 || era.max_rtt == 0.0 {
            return false;
        }
        // Averages are rounded, clocks count nanoseconds.
        let shorter = era.min_rtt < self.min - 1e-9;
        self.min = if era.min_rtt < self.min { era.min_rtt } else { (7.0 * self.min + era.min_rtt) / 8.0 };
        let max = era.max_rtt.min(self.min + MAX_JITTER);
        self.max = if max > self.max { max } else { (7.0 * self.max + max) / 8.0 };
        self.max = self.max.max(LEAST_MAX_RTT);
        shorter
    }

    /// The least is below two fifths of the largest.
    pub(super) fn vary(&self) -> bool {
        5.0 * self.min < 2.0 * self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn era(alpha_previous: f64, rtts: &[f64]) -> Era {
        let mut era = Era::new(Time::ZERO, alpha_previous, 0.0);
        for rtt in rtts {
            era.measure(*rtt);
        }
        era
    }

    fn near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}, not {expected}");
    }

    /// M follows a larger round trip at once and a smaller one by an eighth; m the other way round. Eras that measure what was
    /// sent faster change neither.
    #[test]
    fn round_trips_follow_eras() {
        let mut trips = RoundTrips::new(0.04);
        assert!(!trips.end_era(&era(2.0, &[0.01, 0.9])));
        assert!(!trips.end_era(&era(1.0, &[])));
        near(trips.max, 0.04);
        assert!(!trips.end_era(&era(1.0, &[0.048, 0.08])));
        near(trips.max, 0.08);
        near(trips.min, 0.041);
        assert!(trips.end_era(&era(15.0 / 16.0, &[0.031, 0.04])));
        near(trips.max, 0.075);
        near(trips.min, 0.031);
        assert!(!trips.vary());
        assert!(!trips.end_era(&era(1.0, &[0.031, 0.08])));
        assert!(trips.vary());
    }

    /// 250 ms above the least, and not below a millisecond.
    #[test]
    fn the_nominal_max_rtt_has_bounds() {
        let mut trips = RoundTrips::new(0.04);
        trips.end_era(&era(1.0, &[0.04, 3.0]));
        near(trips.max, 0.29);
        near(RoundTrips::new(1e-5).max, LEAST_MAX_RTT);
        let mut trips = RoundTrips::new(1e-5);
        trips.end_era(&era(1.0, &[1e-5]));
        near(trips.max, LEAST_MAX_RTT);
    }

    /// A packet of the era ends it, and none that left before.
    #[test]
    fn a_packet_of_the_era_ends_it() {
        let era = Era::new(Time::from_nanos(7), 1.0, 0.0);
        assert!(!era.ends_with(Time::from_nanos(6)));
        assert!(era.ends_with(Time::from_nanos(7)));
    }
}
