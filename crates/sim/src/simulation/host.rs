//! TCP small queues: senders hear of each packet that leaves their own interface or is dropped there.
//!
//! Such a sender is asked again by its own event, after all links have had their turn at this time, as Linux's softirq
//! asks it (`tcp_tsq_handler`). So a queue that drops what it is given is not given more within the same call.

use windtunnel_wire::Packet;

use super::Simulation;
use crate::endpoint::{Ends, SenderHalf};
use crate::flow::Hop;

impl Simulation {
    /// A packet leaves the interface of its sender's host.
    pub(super) fn leave_host(&mut self, packet: Packet, host: u32) {
        self.left_host(packet.flow.index());
        let to = self.from_host[host as usize];
        self.forward(packet, to);
    }

    /// A link dropped a packet of a flow: that may have been the interface of the sender's host.
    pub(super) fn dropped_by_host(&mut self, flow: usize, link: usize) {
        if self.flows[flow].data == Hop::Link(link as u32) {
            self.left_host(flow);
        }
    }

    /// A packet of `index` has left the sender's host.
    fn left_host(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        let Ends::Tcp(halves) = &mut flow.ends else { return };
        let half = &mut halves.sender;
        half.sender.left_host(self.now);
        let next = half.next_timer();
        if next < flow.sender_event {
            flow.sender_event = next;
            self.timers.set(self.sender_timer(index), next.max(self.now));
        }
    }
}
