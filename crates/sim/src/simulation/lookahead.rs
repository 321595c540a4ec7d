//! Looks ahead: asks for the memory of flows whose packets arrive next.
//!
//! A flow's state is about 4 KiB in a dozen places. With many flows it has left the cache when the flow's next packet
//! arrives, and waiting for it took half of the time of a run. A delay line knows the next arrivals, so their flows'
//! memory is fetched while others are at work. That goes in steps: a pointer must have arrived before what it points to
//! can be asked for.

pub(super) use windtunnel_prefetch::MANY_FLOWS;

use super::Simulation;

/// How many arrivals ahead each of these is asked for: the packet, its flow, the flow's ends, and what these point to.
/// Some 500 ns pass between two arrivals on one line, and memory takes 100 ns, several times that where the pages are
/// not known either.
const PACKET: usize = 20;
const FLOW: usize = 7;
const ENDS: usize = 5;
const DETAILS: usize = 3;

impl Simulation {
    /// A packet has left a delay line: prepares for those that follow.
    pub(super) fn look_ahead(&self, line: usize) {
        let (line, onward) = (&self.lines[line], &self.from_line[line]);
        line.prefetch(PACKET);
        if let Some(packet) = line.ahead(FLOW) {
            self.flows[packet.flow.index()].prefetch();
        }
        if let Some(packet) = line.ahead(ENDS) {
            let flow = &self.flows[packet.flow.index()];
            flow.ends.prefetch(onward.of(packet.flow));
            self.recorder.prefetch(flow.series as usize);
        }
        if let Some(packet) = line.ahead(DETAILS) {
            let flow = &self.flows[packet.flow.index()];
            flow.ends.prefetch_details(onward.of(packet.flow));
            self.recorder.prefetch_details(flow.series as usize);
        }
    }
}
