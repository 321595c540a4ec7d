//! Connections that arrive during the run, and end.

use windtunnel_units::Time;
use windtunnel_wire::FlowId;

use super::{Simulation, Timer};
use crate::endpoint::Ends;
use crate::flow::{Flow, Hop};

impl Simulation {
    /// A connection of the flow `group` arrives.
    #[inline(never)]
    pub(super) fn arrive(&mut self, group: usize, timer: usize) {
        let Some(arrivals) = self.flows[group].ends.arrivals_mut() else { return };
        let size = arrivals.arrive(self.now);
        self.timers.set(timer, arrivals.next_timer());
        let Some(size) = size else { return self.recorder.rejected(group) };
        let slot = match arrivals.take_slot() {
            Some(slot) => slot,
            None => self.add_slot(group),
        };
        self.recorder.connected(slot, group);
        let Some(arrivals) = self.flows[group].ends.arrivals_mut() else { return };
        self.flows[slot].ends = arrivals.connection(slot, size);
        self.start_flow(slot);
    }

    /// One more flow, which takes the way of `group`.
    fn add_slot(&mut self, group: usize) -> usize {
        let slot = self.flows.len();
        let Flow { data, acks, series, .. } = self.flows[group];
        self.lead(slot, group, data);
        self.lead(slot, group, acks);
        self.flows.push(Flow::new(Ends::Nobody, data, acks, series));
        if let Some(arrivals) = self.flows[group].ends.arrivals_mut() {
            arrivals.add_slot(slot);
        }
        self.timed.extend([Timer::Sender(slot as u32), Timer::Receiver(slot as u32)]);
        self.timers.grow(self.timed.len());
        slot
    }

    /// The flow `slot`, which comes after all others, takes the way of `flow` from the hop `to` on.
    fn lead(&mut self, slot: usize, flow: usize, mut to: Hop) {
        loop {
            let onward = match to {
                Hop::Link(link) => &mut self.from_link[link as usize],
                Hop::Line(line) => &mut self.from_line[line as usize],
                Hop::Element(element) => &mut self.from_element[element as usize],
                Hop::LeftHost(host) => {
                    to = self.from_host[host as usize];
                    continue;
                }
                Hop::Receiver | Hop::Sender | Hop::Away(_) => return,
            };
            to = onward.of(FlowId::new(flow as u32));
            onward.set(slot, to);
            onward.settle();
        }
    }

    /// A packet of `flow` reached an end that counts it.
    #[inline]
    pub(super) fn reached_end(&mut self, flow: usize) {
        let left = &mut self.flows[flow].in_network;
        *left -= 1;
        if *left == 0 {
            self.emptied_network(flow);
        }
    }

    /// No packet of `flow` is left in the network, and its halves have nothing to send at the moment. A connection that
    /// arrived during the run ends if it has nothing left to do; that of a flow of the network settles if nothing
    /// can happen to it any more.
    #[cold]
    fn emptied_network(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if index >= self.first_member {
            self.end_if_done(index);
        } else if flow.starts == 0 && flow.ends.is_at_rest() {
            flow.ends.settle(flow.series);
        }
    }

    /// A packet of `flow` was lost or damaged. Its halves may be about to send others.
    pub(super) fn left_network(&mut self, flow: usize) {
        let left = &mut self.flows[flow].in_network;
        // Flows of some transports do not count what they send.
        *left = left.saturating_sub(1);
        if *left == 0 && flow >= self.first_member {
            self.end_if_done(flow);
        }
    }

    fn end_if_done(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        if !flow.ends.is_done() {
            return;
        }
        let group = flow.series as usize;
        let Flow { data, acks, series, .. } = *flow;
        let ended = std::mem::replace(flow, Flow::new(Ends::Nobody, data, acks, series)).ends;
        self.timers.set(self.sender_timer(slot), Time::NEVER);
        self.timers.set(self.receiver_timer(slot), Time::NEVER);
        if let Some(arrivals) = self.flows[group].ends.arrivals_mut() {
            arrivals.vacate(slot, &ended);
        }
    }
}
