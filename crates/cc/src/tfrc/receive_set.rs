//! The set `X_recv_set`: the rates at which data arrived lately (RFC 5348 section 4.3). Twice the largest bounds the sending
//! rate.

use windtunnel_units::{Duration, Time};

/// Feedback comes once per round trip, and once more for each loss event, at most one per round trip: five reports are
/// younger than two round trips, and the round trip itself can grow.
const MOST: usize = 8;

/// The rates of the last two round trips, in bytes per second, newest last.
#[derive(Clone, Debug)]
pub(super) struct ReceiveSet {
    rates: [(Time, f64); MOST],
    len: usize,
}

impl ReceiveSet {
    /// Before anything arrived nothing bounds the rate.
    pub(super) const fn new(now: Time) -> ReceiveSet {
        ReceiveSet { rates: [(now, f64::INFINITY); MOST], len: 1 }
    }

    pub(super) fn max(&self) -> f64 {
        self.rates().iter().map(|(_, rate)| *rate).fold(0.0, f64::max)
    }

    /// `Update X_recv_set()`: the usual case.
    pub(super) fn update(&mut self, now: Time, rate: f64, rtt: Duration) {
        self.keep(|(at, _)| now.since(at) <= rtt * 2);
        if self.len == MOST {
            self.rates.copy_within(1.., 0);
            self.len -= 1;
        }
        self.rates[self.len] = (now, rate);
        self.len += 1;
    }

    /// `Maximize X_recv_set()`: after a time in which the application had too little to send, its largest rate remains.
    pub(super) fn maximize(&mut self, now: Time, rate: f64) {
        self.keep(|(_, rate)| rate.is_finite());
        self.replace(now, self.max().max(rate));
    }

    pub(super) fn halve(&mut self) {
        for (_, rate) in &mut self.rates {
            *rate /= 2.0;
        }
    }

    /// This rate alone remains.
    pub(super) const fn replace(&mut self, now: Time, rate: f64) {
        self.rates[0] = (now, rate);
        self.len = 1;
    }

    fn rates(&self) -> &[(Time, f64)] {
        &self.rates[..self.len]
    }

    fn keep(&mut self, wanted: impl Fn((Time, f64)) -> bool) {
        let mut kept = 0;
        for i in 0..self.len {
            if wanted(self.rates[i]) {
                self.rates[kept] = self.rates[i];
                kept += 1;
            }
        }
        self.len = kept;
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "maxima and halves of exact numbers")]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    /// Section 4.3: values older than two round trips leave the set, the infinite one of the start among them.
    #[test]
    fn remembers_two_round_trips() {
        let mut set = ReceiveSet::new(at(0));
        for (ms, rate, max) in [
            (100, 10.0, f64::INFINITY),
            (200, 20.0, f64::INFINITY),
            (300, 15.0, 20.0),
            (400, 5.0, 20.0),
            (500, 5.0, 15.0),
            (600, 5.0, 5.0),
        ] {
            set.update(at(ms), rate, RTT);
            assert_eq!(set.max(), max, "{ms} ms: {}", set.max());
        }
    }

    /// Maximizing forgets "infinite", keeps the largest, and makes it young.
    #[test]
    fn maximum_of_a_limited_sender() {
        let mut set = ReceiveSet::new(at(0));
        set.maximize(at(100), 10.0);
        assert_eq!(set.max(), 10.0);
        set.maximize(at(5000), 4.0);
        set.update(at(5200), 3.0, RTT);
        assert_eq!(set.max(), 10.0);
        set.halve();
        assert_eq!(set.max(), 5.0);
        set.update(at(5201), 3.0, RTT);
        assert_eq!(set.max(), 3.0);
    }

    /// More reports than there can be push out the oldest.
    #[test]
    fn is_bounded() {
        let mut set = ReceiveSet::new(at(0));
        for n in 0..100_u32 {
            set.update(at(1), f64::from(n), RTT);
        }
        assert_eq!((set.max(), set.len), (99.0, MOST));
    }
}
