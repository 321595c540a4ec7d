//! BLUE: drops at random, whatever the ECN field says, against senders that do not respond to other signals.
//!
//! Source: Linux `sch_cake` and `sch_cobalt`, after Feng et al., "BLUE: A New Class of Active Queue Management
//! Algorithms", 1999; spec/queues-and-signalling section 9. The probability rises when the queue overflows and falls when
//! it is empty, once per target at most: what a sender did about the last change shows only then. It rises 16 times as
//! fast as it falls, so that 0.32 s of overflow make it 25 %, and the reverse takes 5 s of idling.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Probability, Time};

/// BLUE's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blue {
    p_drop: Probability,
    /// When the probability changed last. In Linux 0, which is long before any packet.
    changed: Option<Time>,
}

impl Blue {
    /// What an overflow adds to the probability.
    const RISE: f64 = 1.0 / 256.0;

    /// What idling takes off.
    const FALL: f64 = 1.0 / 4_096.0;

    /// BLUE at rest.
    pub(crate) const fn new() -> Blue {
        Blue { p_drop: Probability::ZERO, changed: None }
    }

    /// The probability of a drop.
    pub(crate) const fn p_drop(&self) -> Probability {
        self.p_drop
    }

    /// It drops nothing.
    #[inline]
    pub(crate) fn rests(&self) -> bool {
        self.p_drop == Probability::ZERO
    }

    /// Draws whether to drop a packet, if it drops at all.
    #[inline]
    pub(crate) fn drops(&self, random: &mut RandomStream) -> bool {
        !self.rests() && random.chance(self.p_drop)
    }

    /// The queue overflowed. At most once per `target` it is heard.
    pub(crate) fn full(&mut self, now: Time, target: Duration) {
        self.change(Blue::RISE, now, target);
    }

    /// The queue was to be served and is empty. At most once per `target` it is heard.
    #[inline]
    pub(crate) fn empty(&mut self, now: Time, target: Duration) {
        if !self.rests() {
            self.change(-Blue::FALL, now, target);
        }
    }

    fn change(&mut self, by: f64, now: Time, target: Duration) {
        if self.changed.is_none_or(|changed| now.since(changed) > target) {
            self.p_drop = Probability::clamped(self.p_drop.get() + by);
            self.changed = Some(now);
        }
    }
}
