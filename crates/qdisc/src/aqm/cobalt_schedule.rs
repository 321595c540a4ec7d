//! COBALT's schedule of signals. Its caller keeps it, and gives it the time.
//!
//! Source: Linux `sch_cake`; `sch_cobalt` of the SCE reference repository; spec/queues-and-signalling section 9. CoDel
//! waits for an interval before its first signal, and spaces the others by another mechanism. Here both are one: each
//! signal comes `interval / sqrt(count)` after the one before it, and the first one, with a count of 1, an interval after
//! packets have started to wait too long. Afterwards the count falls along the same times as it rose.

use windtunnel_units::{Duration, Time};

/// Where the two published forms time a schedule differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A queue of its own: entering and leaving the state over the target start a new wait, and a signal that was due
    /// before is forgotten. An empty queue lets the count fall as far as time has passed.
    Standalone,
    /// A flow's queue in CAKE: only entering starts a wait, and a signal that was due is given. An empty queue lets the
    /// count fall by one.
    Cake,
}

/// The times of the signals of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// Signals since the frequency was lowest.
    count: u32,
    /// Packets wait too long.
    over: bool,
    /// The count has never changed, and its first wait is none ([`Schedule::unused`]).
    unused: bool,
    /// When the next signal is due, or with a count of 0 until when the queue is not at rest.
    next: Time,
}

impl Schedule {
    /// A schedule at rest.
    pub(crate) const fn new() -> Schedule {
        Schedule { count: 0, over: false, unused: false, next: Time::ZERO }
    }

    /// The schedule of a queue that was never used, as Linux has it: the inverse root of its count is 0 until the count
    /// first changes, so that its first signal is due at once.
    pub(crate) const fn unused() -> Schedule {
        Schedule { unused: true, ..Schedule::new() }
    }

    /// Signals since the frequency was lowest.
    pub(crate) const fn count(&self) -> u32 {
        self.count
    }

    /// The state between entering and leaving the state over the target.
    pub(crate) const fn is_over(&self) -> bool {
        self.over
    }

    /// When the next signal is due, if packets wait too long.
    pub(crate) fn next(&self) -> Option<Time> {
        self.over.then_some(self.next)
    }

    /// Nothing is left to decay.
    #[inline]
    pub(crate) fn rests(&self, now: Time) -> bool {
        self.count == 0 && now >= self.next
    }

    /// The control law: `interval / sqrt(count)` after `time`, where 0 counts as 1.
    fn after(&self, time: Time, interval: Duration) -> Time {
        if self.unused {
            return time;
        }
        if self.count <= 1 {
            return time + interval;
        }
        time + Duration::from_nanos_f64(interval.as_nanos_f64() / libm::sqrt(f64::from(self.count)))
    }

    #[inline]
    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.next
    }

    /// The count falls by one, along the times at which it rose.
    fn decay(&mut self, interval: Duration) {
        self.unused = false;
        self.count -= 1;
        self.next = self.after(self.next, interval);
    }

    /// A packet leaves, and `over` says whether it waited too long. Returns whether it is to carry a signal; if it can,
    /// [`Schedule::signalled`] follows.
    #[inline]
    pub(crate) fn observe(&mut self, over: bool, now: Time, interval: Duration, form: Form) -> bool {
        let mut due = self.is_due(now);
        if over != self.over {
            self.over = over;
            if over || form == Form::Standalone {
                self.next = self.after(now, interval);
            }
            due &= !(over && form == Form::Standalone);
        }
        if over {
            self.count = self.count.max(1);
            return due;
        }
        while due {
            self.decay(interval);
            due = self.is_due(now);
        }
        false
    }

    /// The signal that was due has been given.
    pub(crate) fn signalled(&mut self, interval: Duration) {
        self.unused = false;
        self.count = self.count.saturating_add(1);
        self.next = self.after(self.next, interval);
    }

    /// A packet has left, after [`Schedule::observe`]. The time of the next signal never lies far back: signals do not
    /// pile up. At rest it is the time until which the queue counts as active.
    #[inline]
    pub(crate) fn settle(&mut self, now: Time, interval: Duration, dropped: bool) {
        if self.count == 0 {
            self.next = now + interval;
        } else if now > self.next && !dropped {
            self.next = now;
        }
    }

    /// The queue overflowed: the next signal is due at once.
    pub(crate) fn full(&mut self, now: Time) {
        self.over = true;
        self.next = now;
        self.count = self.count.max(1);
    }

    /// The queue was to be served and is empty.
    #[inline]
    pub(crate) fn empty(&mut self, now: Time, interval: Duration, form: Form) {
        match form {
            Form::Cake => {
                if self.is_due(now) {
                    self.decay(interval);
                }
            }
            Form::Standalone => {
                while self.is_due(now) {
                    self.decay(interval);
                }
                if self.over {
                    self.next = self.after(now, interval);
                }
            }
        }
        self.over = false;
    }
}
