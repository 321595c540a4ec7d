//! What becomes of packets that media lose, and of those that queues drop or mark.

use windtunnel_qdisc::Incident;
use windtunnel_wire::Packet;

use super::Simulation;
use crate::recorder::LossCause;

impl Simulation {
    /// A medium lost a packet.
    pub(super) fn lose(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        let series = self.flows[index].series as usize;
        self.recorder.lost(series, LossCause::Medium, packet.is_pure_ack(), Some(packet.id()));
        self.touch(index);
        self.left_network(index);
    }

    /// Notes what the queue of a link has just dropped or marked.
    #[inline]
    pub(super) fn record_incidents(&mut self, index: usize) {
        if self.links[index].has_incidents() {
            self.take_incidents(index);
        }
    }

    #[cold]
    pub(super) fn take_incidents(&mut self, index: usize) {
        let mut incidents = std::mem::take(&mut self.incidents);
        self.links[index].swap_incidents(&mut incidents);
        for incident in incidents.drain(..) {
            let drop = match incident {
                Incident::Dropped(drop) => drop,
                Incident::Marked { flow, id, signal } => {
                    self.recorder.marked(self.now, index, flow, id, signal);
                    continue;
                }
            };
            let flow = drop.flow.index();
            let series = self.flows[flow].series as usize;
            self.recorder.dropped(self.now, index, series, &drop);
            let cause = LossCause::Queue(drop.reason);
            self.recorder.lost(series, cause, drop.is_ack, (!self.deliver_drops).then_some(drop.id));
            self.touch(flow);
            if !self.deliver_drops {
                self.dropped_by_host(flow, index);
                self.left_network(flow);
            }
        }
        self.incidents = incidents;
    }
}
