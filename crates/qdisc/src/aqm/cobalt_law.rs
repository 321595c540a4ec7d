//! COBALT's law without its queue: when a packet that leaves is marked or dropped.
//!
//! Source: see [`super::cobalt_schedule`] and [`super::blue`], which it joins. The constants are those of all queues of a
//! discipline and the state is that of one, so that a discipline with many queues keeps little for each.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Time};

use super::blue::Blue;
use super::cobalt_schedule::{Form, Schedule};
use crate::aqm::{Signal, Verdict};

/// The constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltLaw {
    /// The published form that it follows.
    pub(crate) form: Form,
    /// How long packets may wait longer than the target.
    pub(crate) interval: Duration,
    /// The sojourn time that a standing queue may have.
    pub(crate) target: Duration,
    /// The transmission time of a packet of full size, or 0.
    pub(crate) mtu_time: Duration,
    /// The sojourn time that counts as an overflow, if one does.
    pub(crate) overflow: Option<Duration>,
}

/// The state of one queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CobaltState {
    /// When it signals.
    pub(crate) schedule: Schedule,
    /// What it drops at random.
    pub(crate) blue: Blue,
}

impl CobaltState {
    /// That of a new queue.
    pub(crate) const fn new() -> CobaltState {
        CobaltState { schedule: Schedule::new(), blue: Blue::new() }
    }

    /// That of a queue of Linux's CAKE that was never used ([`Schedule::unused`]).
    pub(crate) const fn unused() -> CobaltState {
        CobaltState { schedule: Schedule::unused(), ..CobaltState::new() }
    }

    /// Nothing is left to decay: the state is as good as new.
    #[inline]
    pub(crate) fn rests(&self, now: Time) -> bool {
        self.blue.rests() && self.schedule.rests(now)
    }
}

/// What happens to a packet. Both can be: where a drop is forbidden, the mark remains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decision {
    /// It carries CE.
    pub(crate) marked: bool,
    /// It is lost.
    pub(crate) dropped: bool,
}

impl Decision {
    /// As an AQM says it. A packet that is `kept` is not lost.
    #[inline]
    pub(crate) const fn verdict(self, kept: bool) -> Verdict {
        match self {
            Decision { dropped: true, .. } if !kept => Verdict::Drop,
            Decision { marked: true, .. } => Verdict::Mark(Signal::Ce),
            Decision { .. } => Verdict::Pass,
        }
    }
}

impl CobaltLaw {
    /// Whether a sojourn time is too long. Up to 4 packets' transmission times are no queue, and neither are 2 for each of
    /// `bulk_flows`.
    #[inline]
    pub(crate) fn is_over(&self, sojourn: Duration, bulk_flows: u32) -> bool {
        sojourn > self.target && sojourn > self.mtu_time * u64::from(bulk_flows * 2).max(4)
    }

    /// A packet leaves after `sojourn`, and `over` says whether that is too long. `markable`: CE reaches its receiver.
    #[inline]
    pub(crate) fn decide(
        &self,
        state: &mut CobaltState,
        (sojourn, over, markable): (Duration, bool, bool),
        now: Time,
        random: &mut RandomStream,
    ) -> Decision {
        let due = state.schedule.observe(over, now, self.interval, self.form);
        if due {
            state.schedule.signalled(self.interval);
        }
        if self.overflows(sojourn) {
            self.full(state, now);
        }
        let dropped = (due && !markable) | state.blue.drops(random);
        state.schedule.settle(now, self.interval, dropped);
        Decision { marked: due && markable, dropped }
    }

    /// True if a packet that waited for so long shows that the queue overflows.
    #[inline]
    pub(crate) fn overflows(&self, sojourn: Duration) -> bool {
        self.overflow.is_some_and(|overflow| sojourn > overflow)
    }

    /// The queue overflowed.
    pub(crate) fn full(&self, state: &mut CobaltState, now: Time) {
        state.blue.full(now, self.target);
        state.schedule.full(now);
    }

    /// The queue was to be served and is empty.
    #[inline]
    pub(crate) fn empty(&self, state: &mut CobaltState, now: Time) {
        state.blue.empty(now, self.target);
        state.schedule.empty(now, self.interval, self.form);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/queues-and-signalling section 9: the sojourn time is over the target above 4 packets' transmission times,
    /// and in CAKE's ingress mode above 2 for each bulk flow: from three flows on, those are more.
    #[test]
    fn transmission_times_that_are_no_queue() {
        let ms = Duration::from_millis;
        let law =
            CobaltLaw { form: Form::Cake, interval: ms(100), target: ms(5), mtu_time: ms(2), overflow: None };
        for (bulk_flows, most) in [(0, 8), (1, 8), (2, 8), (3, 12), (4, 16), (10, 40)] {
            let over = [ms(most), ms(most) + Duration::from_nanos(1)]
                .map(|sojourn| law.is_over(sojourn, bulk_flows));
            assert_eq!(over, [false, true], "{bulk_flows}");
        }
    }
}
