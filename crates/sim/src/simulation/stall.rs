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
        let (first, waiting) = self.waiting()?;
        (!self.is_under_way()).then(|| self.stalled_because(first, waiting))
    }

    /// The same, where all flows and links are in these parts.
    pub(super) fn stall_of_parts<'p>(
        &mut self,
        parts: impl Iterator<Item = &'p Simulation> + Clone,
    ) -> Option<String> {
        let moved = |part: &Simulation| part.sent + part.arrived + part.corrupted + part.lost();
        let moved = parts.clone().map(moved).sum();
        if std::mem::replace(&mut self.moved, moved) != moved || self.schedule.next() < Time::NEVER {
            return None;
        }
        let all = parts.clone().filter_map(Simulation::waiting);
        let (first, waiting) = all.reduce(|a, b| (a.0.min(b.0), a.1 + b.1))?;
        let mut parts = parts;
        (!parts.any(Simulation::is_under_way)).then(|| self.stalled_because(first, waiting))
    }

    /// The first flow that waits for ACKs and will never send again without one, and the number of them.
    fn waiting(&self) -> Option<(usize, usize)> {
        let waits = |flow: &&Flow| flow.active && flow.ends.is_loss_free();
        let first = self.flows.iter().find(waits)?;
        Some((first.series as usize, self.flows.iter().filter(waits).count()))
    }

    /// Whether an event is pending other than timers of queues.
    fn is_under_way(&self) -> bool {
        let elements = self.first_element + self.elements.len();
        let mut rest = (0..self.links.len()).chain(self.first_line..elements);
        self.timers.peek().0 < Time::NEVER || rest.any(|source| self.events.time_of(source) < Time::NEVER)
    }

    /// Why nothing moves: `waiting` flows wait for ACKs, and `first` is the first of them.
    pub(super) fn stalled_because(&self, first: usize, waiting: usize) -> String {
        let name = self.recorder.flow_name(first);
        let more = if waiting > 1 { format!(" and {} more", waiting - 1) } else { String::new() };
        format!(
            "nothing is under way and no timer is set, but {name}{more} waits for ACKs: packets were lost, and loss-free \
             endpoints never send again"
        )
    }
}
