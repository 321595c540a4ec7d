//! Rate-limited increase (draft-ietf-ccwg-ratelimited-increase, 01025d8, section 3): how far a window that is not used
//! up may grow.
//!
//! `maxFS` is the largest `FlightSize` since cwnd was last reduced; at first it is the initial window, because that much
//! may leave unasked. cwnd may grow to `limit(maxFS)`, where the ACKs of one window of `maxFS` would take it; the
//! controller knows that function. The text caps cwnd at any time. After a reduction, when nothing counts yet, that
//! would take cwnd itself; here the cap bars growth alone. A reduction that is undone brings back the largest flight
//! from before it.

use windtunnel_units::Bytes;

/// The largest flight since cwnd was reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct MaxFlight {
    /// `maxFS`.
    largest: Bytes,
    /// What it was before the last reduction.
    before: Bytes,
    /// cwnd at the last observation.
    cwnd: Bytes,
}

impl MaxFlight {
    pub(super) fn new(iw: Bytes) -> MaxFlight {
        MaxFlight { largest: iw, before: iw, cwnd: Bytes::ZERO }
    }

    /// `FlightSize` was updated: cwnd allows `cwnd`, and `flight` has not been acknowledged cumulatively.
    pub(super) fn observe(&mut self, cwnd: Bytes, flight: Bytes) {
        if cwnd < self.cwnd {
            self.before = std::mem::take(&mut self.largest);
        }
        self.cwnd = cwnd;
        self.largest = self.largest.max(flight);
    }

    /// The last reduction is undone.
    pub(super) fn undo(&mut self) {
        self.largest = self.largest.max(self.before);
    }

    /// `maxFS`.
    pub(super) const fn largest(&self) -> Bytes {
        self.largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// Section 3: at first the initial window, then the largest flight; a reduction starts anew, from the first flight
    /// after it, and its undo brings back what was.
    #[test]
    fn a_reduction_starts_anew() {
        let mut flight = MaxFlight::new(MSS * 10);
        let mut observe = |cwnd, in_flight| {
            flight.observe(MSS * cwnd, MSS * in_flight);
            flight.largest / MSS
        };
        assert_eq!(observe(10, 4), 10);
        assert_eq!(observe(20, 20), 20);
        assert_eq!(observe(40, 15), 20, "growth forgets nothing");
        assert_eq!(observe(20, 6), 6, "the floor of the initial window is not applied again");
        assert_eq!(observe(20, 3), 6);
        flight.undo();
        assert_eq!(flight.largest(), MSS * 20);
    }
}
