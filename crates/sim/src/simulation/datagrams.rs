//! What the loop does at the ends of flows of datagrams.

use windtunnel_units::Bytes;
use windtunnel_wire::Packet;

use super::Simulation;
use crate::flow::Ends;

impl Simulation {
    /// Sends the datagrams that are due.
    #[inline(never)]
    pub(super) fn transmit_datagrams(&mut self, index: usize) {
        let to = self.flows[index].data;
        while let Ends::Datagrams(datagrams) = &mut self.flows[index].ends
            && let Some(mut packet) = datagrams.poll_transmit(self.now)
        {
            self.sent += 1;
            if self.recorder.captures() {
                self.recorder.capture_sent(self.now, &mut packet, false, None);
            }
            self.forward(packet, to);
        }
        if let Ends::Datagrams(datagrams) = &self.flows[index].ends {
            self.events.set(self.first_sender + index, datagrams.next_timer());
        }
    }

    pub(super) fn receive_datagram(&mut self, index: usize, packet: &Packet) {
        let Ends::Datagrams(datagrams) = &mut self.flows[index].ends else { return };
        let receipt = datagrams.receive(packet, self.now);
        let delivered = if receipt.new { packet.payload() } else { Bytes::ZERO };
        self.recorder.received(self.now, index, packet, delivered, false);
        self.recorder.datagram(index, &receipt);
        self.answer_datagram(index);
    }

    pub(super) fn receive_answer(&mut self, index: usize, packet: &Packet) {
        let Ends::Datagrams(datagrams) = &mut self.flows[index].ends else { return };
        let rtt = datagrams.on_answer(packet, self.now);
        self.recorder.answered(self.now, index, rtt);
    }

    fn answer_datagram(&mut self, index: usize) {
        let to = self.flows[index].acks;
        if let Ends::Datagrams(datagrams) = &mut self.flows[index].ends
            && let Some(answer) = datagrams.poll_answer()
        {
            self.reply(answer, to);
        }
    }
}
