//! Runs in which nothing moves any more.

use windtunnel_units::Time;

use super::Simulation;
use crate::flow::Flow;

impl Simulation {
    /// Why nothing will move any more, although flows want to send: no packet is in the network, and the only timers
    /// are those of the recorder and of queues.
    pub(super) fn stall(&mut self) -> Option<String> {
        let moved = self.sent + self.arrived + self.corrupted + self.lost();
        if std::mem::replace(&mut self.moved, moved) != moved || self.schedule.next() < Time::NEVER {
            return None;
        }
        let waits = |flow: &&Flow| flow.active && flow.ends.is_loss_free();
        let waiting = self.flows.iter().filter(waits).count();
        let first = self.flows.iter().find(waits)?;
        let elements = self.first_element + self.elements.len();
        // All sources of events but the timers of queues.
        let mut rest = (0..self.links.len()).chain(self.first_line..elements);
        let timer = self.timers.peek().0;
        if timer < Time::NEVER || rest.any(|source| self.events.time_of(source) < Time::NEVER) {
            return None;
        }
        let name = self.recorder.flow_name(first.series as usize);
        let more = if waiting > 1 { format!(" and {} more", waiting - 1) } else { String::new() };
        Some(format!(
            "nothing is under way and no timer is set, but {name}{more} waits for ACKs: packets were lost, and loss-free \
             endpoints never send again"
        ))
    }
}
