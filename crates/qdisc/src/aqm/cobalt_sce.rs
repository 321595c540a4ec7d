//! COBALT's schedule of SCE, separate from that of CE.
//!
//! Source: see [`super::cobalt_schedule`], whose times it has with an interval and a target of its own. An opportunity
//! waits for a packet that can carry SCE: an ECT(0) packet of a flow that hears it.

use windtunnel_units::{Duration, Time};
use windtunnel_wire::Ecn;

use super::cobalt_schedule::{Form, Schedule};
use crate::aqm::PacketView;
use crate::ecn::Class;

/// The schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SceSchedule {
    interval: Duration,
    target: Duration,
    schedule: Schedule,
}

impl SceSchedule {
    /// A schedule at rest.
    pub(crate) const fn new(interval: Duration, target: Duration) -> SceSchedule {
        SceSchedule { interval, target, schedule: Schedule::new() }
    }

    /// Its times.
    pub(crate) const fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// Whether it marks a packet that leaves. It waits for one that it can mark, and then makes up for all that was due
    /// meanwhile. `waited` is compared with the target; two packets' transmission times are no queue.
    pub(crate) fn marks(
        &mut self,
        packet: &PacketView,
        waited: Duration,
        mtu_time: Duration,
        now: Time,
        form: Form,
    ) -> bool {
        let over = waited > self.target && packet.sojourn > mtu_time * 2;
        let due = self.schedule.observe(over, now, self.interval, form);
        let marks = due && packet.class == Class::Sce && packet.ecn == Ecn::Ect0;
        if marks {
            self.schedule.signalled(self.interval);
        }
        marks
    }

    /// The queue overflowed.
    pub(crate) fn full(&mut self, now: Time) {
        self.schedule.full(now);
    }

    /// The queue was to be served and is empty.
    pub(crate) fn empty(&mut self, now: Time, form: Form) {
        self.schedule.empty(now, self.interval, form);
    }
}
