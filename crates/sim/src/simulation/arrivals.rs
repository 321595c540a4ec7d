//! Connections that arrive during the run, and end.

use windtunnel_units::Time;

use super::{Simulation, Timer};
use crate::endpoint::Ends;
use crate::flow::Flow;

impl Simulation {
    /// A connection of the flow `group` arrives.
    #[inline(never)]
    pub(super) fn arrive(&mut self, group: usize, timer: usize) {
        let Some(arrivals) = &mut self.flows[group].arrivals else { return };
        let size = arrivals.arrive(self.now);
        self.timers.set(timer, arrivals.next_timer());
        let Some(size) = size else { return self.recorder.rejected(group) };
        let place = match arrivals.take_place() {
            Some(place) => place,
            None => self.add_place(group),
        };
        self.recorder.connected(place, group);
        let Some(arrivals) = &self.flows[group].arrivals else { return };
        self.flows[place].ends = arrivals.connection(place, size);
        self.start_flow(place);
    }

    /// One more flow, which takes the way of `group`.
    fn add_place(&mut self, group: usize) -> usize {
        let place = self.flows.len();
        let ways = [&mut self.from_link, &mut self.from_line, &mut self.from_element];
        for onward in ways.into_iter().flatten() {
            onward.extend_like(group);
        }
        let Flow { data, acks, series, .. } = self.flows[group];
        self.flows.push(Flow::new(Ends::Nobody, data, acks, series));
        if let Some(arrivals) = &mut self.flows[group].arrivals {
            arrivals.add_place(place);
        }
        self.timed.extend([Timer::Sender(place as u32), Timer::Receiver(place as u32)]);
        self.timers.grow(self.timed.len());
        place
    }

    /// A packet of `flow` arrived or was lost: a connection with nothing left to do ends with its last packet.
    #[inline]
    pub(super) fn left_network(&mut self, flow: usize) {
        if flow >= self.first_member {
            self.member_left(flow);
        }
    }

    fn member_left(&mut self, place: usize) {
        let flow = &mut self.flows[place];
        flow.in_network -= 1;
        if flow.in_network > 0 || !flow.ends.is_done() {
            return;
        }
        let group = flow.series as usize;
        let Flow { data, acks, series, .. } = *flow;
        let ended = std::mem::replace(flow, Flow::new(Ends::Nobody, data, acks, series)).ends;
        self.timers.set(self.sender_timer(place), Time::NEVER);
        self.timers.set(self.receiver_timer(place), Time::NEVER);
        if let Some(arrivals) = &mut self.flows[group].arrivals {
            arrivals.vacate(place, &ended);
        }
    }
}
