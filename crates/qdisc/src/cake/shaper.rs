//! The shaper: packets leave at a rate, without a burst.
//!
//! Source: Linux `sch_cake`; spec/queues-and-signalling section 10. A clock shows when the next packet may leave; each
//! packet moves it on by its own duration at the rate. The clock may lie in the past, so that lateness in asking is made
//! up for, but not before the arrival that ended an idle time.
//!
//! In ingress mode packets that are dropped move the clock, too, because they have used the link before the shaper. A
//! second clock, which only packets that leave move, by half as much again, then keeps drops from holding everything
//! back: a packet leaves when either clock allows it.

use windtunnel_units::{Bytes, Duration, Rate, Time};

/// How long packets take at a rate, if there is one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    rate: Option<Rate>,
    /// The last length and its duration: most packets have the same length.
    last: (Bytes, Duration),
}

impl Pace {
    pub(super) const fn new(rate: Option<Rate>) -> Pace {
        Pace { rate, last: (Bytes::ZERO, Duration::ZERO) }
    }

    /// The duration of `length`; nothing without a rate.
    #[inline]
    pub(super) fn duration(&mut self, length: Bytes) -> Option<Duration> {
        let rate = self.rate?;
        if self.last.0 != length {
            self.last = (length, rate.transfer_time(length));
        }
        Some(self.last.1)
    }
}

/// The shaper of all tins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shaper {
    pace: Pace,
    next: Time,
    failsafe: Time,
}

impl Shaper {
    pub(super) const fn new(rate: Option<Rate>) -> Shaper {
        Shaper { pace: Pace::new(rate), next: Time::ZERO, failsafe: Time::ZERO }
    }

    /// There is a rate.
    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.pace.rate.is_some()
    }

    /// When a packet may leave.
    #[inline]
    pub(super) fn ready(&self) -> Time {
        self.next.min(self.failsafe)
    }

    /// A packet arrives after idle time.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        if self.next < now {
            self.next = now;
            self.failsafe = now;
        }
    }

    /// A packet has left, or was dropped and counts all the same.
    #[inline]
    pub(super) fn charge(&mut self, length: Bytes, dropped: bool) {
        if let Some(duration) = self.pace.duration(length) {
            self.next += duration;
            if !dropped {
                self.failsafe += duration + duration / 2;
            }
        }
    }
}

/// The threshold of one tin: whether it is within its share of the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Threshold {
    pace: Pace,
    next: Time,
}

impl Threshold {
    pub(super) const fn new(rate: Option<Rate>) -> Threshold {
        Threshold { pace: Pace::new(rate), next: Time::ZERO }
    }

    /// When the tin is within its share again.
    #[inline]
    pub(super) const fn next(&self) -> Time {
        self.next
    }

    /// A packet arrives in an empty tin.
    #[inline]
    pub(super) fn wake(&mut self, now: Time) {
        self.next = self.next.max(now);
    }

    /// A packet has left, or was dropped and counts all the same. A clock that lies ahead by more than the packet's
    /// duration stays: a tin above its share does not pay for it later.
    #[inline]
    pub(super) fn charge(&mut self, length: Bytes, now: Time) {
        if let Some(duration) = self.pace.duration(length) {
            self.next = if self.next < now { self.next + duration } else { self.next.max(now + duration) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock of a tin, by hand (spec/queues-and-signalling section 10), 1500 B at 12 Mbit/s in a millisecond: one
    /// in the past moves on by a packet's time; any other moves to a packet's time from now, or stays if it is
    /// further ahead. A packet in an empty tin sets one in the past to now. Without a rate there is no clock.
    #[test]
    fn clock_of_a_tin() {
        let at = |us: u64| Time::from_nanos(us * 1_000);
        let size = Bytes::new(1_500);
        let mut tin = Threshold::new(Some(Rate::from_mbps(12)));
        let mut clocks = Vec::new();
        for now in [5_000, 5_000, 1_500, 500] {
            tin.charge(size, at(now));
            clocks.push(tin.next());
        }
        assert_eq!(clocks, [1_000, 2_000, 2_500, 2_500].map(at));
        tin.charge(size, at(2_500));
        assert_eq!(tin.next(), at(3_500));
        tin.wake(at(2_000));
        assert_eq!(tin.next(), at(3_500));
        tin.wake(at(9_000));
        assert_eq!(tin.next(), at(9_000));

        let mut free = Threshold::new(None);
        free.charge(size, at(7_000));
        assert_eq!(free.next(), Time::ZERO);
    }
}
