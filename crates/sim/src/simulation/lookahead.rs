//! Looks ahead: asks for the memory of flows whose packets arrive, or whose timers expire, next.
//!
//! A flow's state is about 4 KiB in a dozen places. With many flows it has left the cache when the flow's next event
//! comes, and waiting for it took more than half of the time of a run. A delay line knows the next arrivals, and the
//! tournament many of the next timers, so their flows' memory is fetched while others are at work. That goes in steps: a
//! pointer must have arrived before what it points to can be asked for.

use windtunnel_prefetch::MANY_FLOWS;

use super::{Simulation, Timer};
use crate::flow::Hop;

/// How many arrivals ahead each of these is asked for: the packet, its flow, the flow's ends, and what these point to.
/// Some 500 ns pass between two arrivals on one line, and memory takes 100 ns, several times that where the pages are
/// not known either.
const PACKET: usize = 20;
const FLOW: usize = 10;
const ENDS: usize = 6;
const DETAILS: usize = 3;

/// What is known of the next events of a simulation.
#[derive(Debug)]
pub(super) struct Lookahead {
    /// There are as many flows as make it worthwhile.
    pub(super) active: bool,
    /// A flow whose timer expires soon.
    flow: u32,
}

impl Lookahead {
    pub(super) const fn new(flows: usize) -> Lookahead {
        Lookahead { active: flows >= MANY_FLOWS, flow: 0 }
    }
}

impl Simulation {
    /// A packet has left a delay line: prepares for those that follow.
    pub(super) fn look_ahead(&self, line: usize) {
        let (line, onward) = (&self.lines[line], &self.from_line[line]);
        line.prefetch(PACKET);
        if let Some(packet) = line.ahead(FLOW) {
            self.flows[packet.flow.index()].prefetch();
        }
        if let Some(packet) = line.ahead(ENDS) {
            let (flow, to) = (&self.flows[packet.flow.index()], onward.of(packet.flow));
            flow.ends.prefetch(to);
            if flow.answers_at_once(to) {
                flow.ends.prefetch(Hop::Sender);
            }
            self.timers.prefetch(self.sender_timer(packet.flow.index()));
            self.recorder.prefetch(flow.series as usize);
        }
        if let Some(packet) = line.ahead(DETAILS) {
            let (flow, to) = (&self.flows[packet.flow.index()], onward.of(packet.flow));
            flow.ends.prefetch_details(to);
            if flow.answers_at_once(to) {
                flow.ends.prefetch_details(Hop::Sender);
            }
            self.recorder.prefetch_details(flow.series as usize);
        }
    }

    /// The timer `expired` has expired: prepares for those that follow, as far as the tournament tells. What the flow points to
    /// whose timer has come into the semifinal is asked for after the next timer.
    pub(super) fn look_ahead_at_timers(&mut self, expired: usize) {
        self.flows[self.lookahead.flow as usize].ends.prefetch(Hop::Sender);
        let (newcomer, semifinalist) = self.timers.coming(expired);
        if let Timer::Sender(flow) = self.timed[semifinalist] {
            self.lookahead.flow = flow;
            self.timers.prefetch(semifinalist);
        }
        if let Timer::Sender(flow) = self.timed[newcomer] {
            self.flows[flow as usize].prefetch();
        }
    }
}
