//! What the loop does at the ends of paths: senders send, receivers acknowledge. It is the same for all transports.

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Simulation;
use crate::endpoint::{Counters, Note, Reading};
use crate::recorder::Tap;

impl Simulation {
    pub(super) fn start_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = true;
        if let Some(arrivals) = &mut flow.arrivals {
            arrivals.start(self.now);
            let next = arrivals.next_timer();
            return self.events.set(self.sender_source(index), next);
        }
        flow.sender.get_mut().start(self.now);
        self.transmit(index);
        self.schedule_sender(index);
    }

    pub(super) fn stop_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = false;
        match &mut flow.arrivals {
            Some(arrivals) => arrivals.stop(),
            None => flow.sender.get_mut().stop(),
        }
    }

    /// The event of a sender. One that came too early is only set anew.
    #[inline]
    pub(super) fn sender_event(&mut self, index: usize, source: usize) {
        let flow = &mut self.flows[index];
        flow.sender_event = Time::NEVER;
        if flow.sender.next_timer() <= self.now {
            let note = Note { recorder: &mut self.recorder, flow: index, series: flow.series as usize };
            flow.sender.expire(self.now, note);
            self.transmit(index);
        }
        let flow = &mut self.flows[index];
        let next = flow.sender.next_timer();
        flow.sender_event = next;
        self.events.set(source, next.max(self.now));
    }

    /// The event of a receiver, likewise.
    #[inline]
    pub(super) fn receiver_event(&mut self, index: usize, source: usize) {
        let flow = &mut self.flows[index];
        flow.receiver_event = Time::NEVER;
        if flow.receiver.next_timer() <= self.now {
            let delivered = flow.receiver.on_timer(self.now);
            self.recorder.delivered(flow.series as usize, delivered);
            self.acknowledge(index);
        }
        let flow = &mut self.flows[index];
        let next = flow.receiver.next_timer();
        flow.receiver_event = next;
        self.events.set(source, next.max(self.now));
    }

    /// A packet reached the receiver of its flow.
    pub(super) fn deliver_segment(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        if packet.options.is_some() && self.inspect(packet, Tap::Receiver) {
            return;
        }
        self.arrived += 1;
        let flow = &mut self.flows[index];
        let note = Note { recorder: &mut self.recorder, flow: index, series: flow.series as usize };
        flow.receiver.take(packet, self.now, note);
        self.acknowledge(index);
        self.schedule_receiver(index);
        self.left_network(index);
    }

    /// A packet reached the sender of its flow.
    pub(super) fn deliver_ack(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        if packet.options.is_some() && self.inspect(packet, Tap::Sender) {
            return;
        }
        self.arrived += 1;
        let flow = &mut self.flows[index];
        let note = Note { recorder: &mut self.recorder, flow: index, series: flow.series as usize };
        flow.sender.take(packet, self.now, note);
        self.transmit(index);
        self.schedule_sender(index);
        self.left_network(index);
    }

    /// Sends all that a sender may send now.
    #[inline]
    fn transmit(&mut self, index: usize) {
        let to = self.flows[index].data;
        while let Some(mut packet) = self.flows[index].sender.poll(self.now) {
            let flow = &mut self.flows[index];
            flow.in_network += 1;
            self.sent += 1;
            let again = flow.sender.sent_again();
            if again {
                self.recorder.retransmitted(self.now, &packet);
            }
            if self.recorder.captures() {
                let hidden = flow.sender.get().hidden();
                self.recorder.capture_sent(self.now, &mut packet, again, hidden);
            }
            self.forward(packet, to);
        }
    }

    /// Sends the ACKs that a receiver owes now.
    #[inline]
    fn acknowledge(&mut self, index: usize) {
        let to = self.flows[index].acks;
        while let Some(mut packet) = self.flows[index].receiver.poll(self.now) {
            self.flows[index].in_network += 1;
            self.sent += 1;
            if self.recorder.captures() {
                self.recorder.capture_reply(self.now, &mut packet);
            }
            self.forward(packet, to);
        }
    }

    /// Captures a packet that reached an end. Returns true for one that was damaged on its way, which is discarded.
    #[cold]
    fn inspect(&mut self, packet: &Packet, tap: Tap) -> bool {
        if self.recorder.captures() {
            self.recorder.capture(self.now, tap, packet);
        }
        if !packet.is_corrupted() {
            return false;
        }
        let index = packet.flow.index();
        self.corrupted += 1;
        self.recorder.corrupted(self.flows[index].series as usize, packet.id());
        self.left_network(index);
        true
    }

    /// A medium doubled a packet.
    pub(super) fn count_copy(&mut self, copy: &mut Packet) {
        self.flows[copy.flow.index()].in_network += 1;
        if self.recorder.captures() {
            self.recorder.capture_copy(copy);
        }
    }

    #[inline]
    fn schedule_sender(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let Some(next) = flow.sender.moved_timer(flow.sender_event) {
            flow.sender_event = next;
            self.events.set(self.sender_source(index), next.max(self.now));
        }
    }

    #[inline]
    fn schedule_receiver(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if let Some(next) = flow.receiver.moved_timer(flow.receiver_event) {
            flow.receiver_event = next;
            self.events.set(self.receiver_source(index), next.max(self.now));
        }
    }

    /// The event source of a flow's sender.
    #[inline]
    pub(super) const fn sender_source(&self, index: usize) -> usize {
        if index < self.first_member {
            self.first_sender + index
        } else {
            self.first_member_source + 2 * (index - self.first_member)
        }
    }

    /// The event source of a flow's receiver.
    #[inline]
    pub(super) const fn receiver_source(&self, index: usize) -> usize {
        if index < self.first_member {
            self.first_receiver + index
        } else {
            self.first_member_source + 2 * (index - self.first_member) + 1
        }
    }

    /// What the recorder reads of a flow at its tick; of one that stands for many connections, what all of them have counted.
    pub(super) fn reading(&self, index: usize) -> Reading {
        let flow = &self.flows[index];
        let Some(arrivals) = &flow.arrivals else { return flow.sender.get().reading() };
        let (ended, places) = arrivals.counted();
        let mut counters: Counters = ended;
        for place in places {
            counters += self.flows[*place].sender.get().reading().counters;
        }
        Reading { counters, info: None }
    }
}
