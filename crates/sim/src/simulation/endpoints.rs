//! What the loop does at the ends of paths: senders send, receivers acknowledge.

use windtunnel_cc::ExitReason;
use windtunnel_tcp::ideal;
use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Simulation;
use crate::flow::{Ends, Hop};
use crate::recorder::{Counters, Hidden, Reading, SenderState, Tap};

impl Simulation {
    pub(super) fn start_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = true;
        match &mut flow.ends {
            Ends::Ideal { sender, .. } => {
                sender.set_active(true);
                self.transmit_ideal(index);
            }
            Ends::Tcp(connection) => {
                connection.start(self.now);
                self.transmit(index);
            }
            Ends::Datagrams(datagrams) => {
                datagrams.start(self.now);
                self.transmit_datagrams(index);
            }
            Ends::Arrivals(arrivals) => {
                arrivals.start(self.now);
                let next = arrivals.next_timer();
                self.events.set(self.sender_source(index), next);
            }
            Ends::Vacant => {}
        }
    }

    pub(super) fn stop_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = false;
        match &mut flow.ends {
            Ends::Ideal { sender, .. } => sender.set_active(false),
            Ends::Tcp(connection) => connection.stop(),
            Ends::Datagrams(datagrams) => datagrams.stop(),
            Ends::Arrivals(arrivals) => arrivals.stop(),
            Ends::Vacant => {}
        }
    }

    #[inline]
    pub(super) fn sender_event(&mut self, index: usize, source: usize) {
        match &mut self.flows[index].ends {
            Ends::Ideal { sender, .. } => {
                sender.on_timer();
                if !self.transmit_ideal(index) {
                    self.events.set(source, Time::NEVER);
                }
            }
            Ends::Tcp(_) => self.connection_timer(index, source),
            Ends::Datagrams(_) => self.transmit_datagrams(index),
            Ends::Arrivals(_) => self.arrive(index, source),
            Ends::Vacant => self.events.set(source, Time::NEVER),
        }
    }

    /// An event of a TCP sender or its application. One that came too early is only set anew.
    #[inline(never)]
    fn connection_timer(&mut self, index: usize, source: usize) {
        self.events.set(source, Time::NEVER);
        let Ends::Tcp(connection) = &mut self.flows[index].ends else { return };
        connection.sender_event = Time::NEVER;
        if connection.next_timer() <= self.now {
            connection.on_timer(self.now);
            if index < self.first_member {
                let sender = &connection.sender;
                self.recorder.timed(self.now, index, sender.cwnd(), sender.cwnd_limited());
                self.recorder.controller_changed(self.now, index, &|out| sender.probe(out));
            }
            self.transmit(index);
        } else {
            self.schedule_sender(index);
        }
    }

    #[inline]
    pub(super) fn receiver_event(&mut self, index: usize, source: usize) {
        match &mut self.flows[index].ends {
            Ends::Ideal { receiver, .. } => {
                receiver.on_timer(self.now);
                self.acknowledge_ideal(index);
                self.schedule_ideal_receiver(index);
            }
            Ends::Tcp(connection) => {
                connection.receiver_event = Time::NEVER;
                self.events.set(source, Time::NEVER);
                if connection.receiver.next_timer().is_some_and(|due| due <= self.now) {
                    let report = connection.receiver.on_timer(self.now);
                    self.recorder.delivered(self.flows[index].series as usize, report.delivered);
                    self.acknowledge(index);
                }
                self.schedule_receiver(index);
            }
            Ends::Datagrams(_) | Ends::Arrivals(_) | Ends::Vacant => self.events.set(source, Time::NEVER),
        }
    }

    /// A packet reached the receiver of its flow.
    pub(super) fn deliver_segment(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        if packet.options.is_some() && self.inspect(packet, Tap::Receiver) {
            return;
        }
        self.arrived += 1;
        match &mut self.flows[index].ends {
            Ends::Ideal { receiver, .. } => {
                self.recorder.received(self.now, index, packet, packet.payload(), receiver.echoes_sce());
                receiver.on_segment(packet, self.now);
                self.acknowledge_ideal(index);
                self.schedule_ideal_receiver(index);
            }
            Ends::Tcp(_) => self.receive_segment(index, packet),
            Ends::Datagrams(_) => self.receive_datagram(index, packet),
            Ends::Arrivals(_) | Ends::Vacant => {}
        }
    }

    /// A TCP receiver handles a segment.
    #[inline(never)]
    fn receive_segment(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let Ends::Tcp(connection) = &mut flow.ends else { return };
        let report = connection.receiver.on_segment(packet, self.now);
        let echoes = connection.receiver.echoes_sce();
        self.recorder.received(self.now, flow.series as usize, packet, report.delivered, echoes);
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
        match &mut self.flows[index].ends {
            Ends::Ideal { sender, .. } => {
                let ideal::AckReport { rtt, ece, esce } = sender.on_ack(packet, self.now);
                let state = SenderState {
                    rtt: Some(rtt),
                    srtt: sender.srtt(),
                    cwnd: sender.cwnd(),
                    in_flight: sender.in_flight(),
                    limited: sender.cwnd_limited(),
                    // Asking the controller costs a virtual call: only while somebody wants to know.
                    slow_start: self.recorder.wants_phase(index) && sender.in_slow_start(),
                };
                if self.recorder.leaves_slow_start(index, state.slow_start) {
                    let reason = sender.slow_start_exit().unwrap_or(ExitReason::Unused);
                    self.recorder.left_slow_start(self.now, index, state.cwnd, reason);
                }
                self.recorder.acknowledged(self.now, index, &state);
                if self.recorder.detailed() {
                    let feedback = u8::from(ece) | (u8::from(esce) << 1);
                    self.recorder.acknowledged_in_detail(self.now, packet, feedback, &state);
                    self.recorder.controller_changed(self.now, index, &|out| sender.probe(out));
                }
                self.transmit_ideal(index);
            }
            Ends::Tcp(_) => self.receive_ack(index, packet),
            Ends::Datagrams(_) => self.receive_answer(index, packet),
            Ends::Arrivals(_) | Ends::Vacant => {}
        }
    }

    #[inline(never)]
    fn receive_ack(&mut self, index: usize, packet: &Packet) {
        self.acknowledged(index, packet);
        self.transmit(index);
        self.left_network(index);
    }

    /// A TCP sender handles an ACK.
    fn acknowledged(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let Ends::Tcp(connection) = &mut flow.ends else { return };
        let series = flow.series as usize;
        // What held it back until this ACK: it opens the window, and all that fits leaves at once.
        let limited = connection.sender.cwnd_limited();
        let report = connection.sender.on_ack(packet, self.now);
        while let Some(completion) = connection.completion(self.now) {
            self.recorder.completed(self.now, series, &completion);
        }
        let sender = &connection.sender;
        if index >= self.first_member {
            return self.recorder.member_acknowledged(self.now, series, report.rtt, sender.cwnd());
        }
        let state = SenderState {
            rtt: report.rtt,
            srtt: sender.srtt(),
            cwnd: sender.cwnd(),
            in_flight: sender.in_flight(),
            limited,
            slow_start: self.recorder.wants_phase(index) && sender.in_slow_start(),
        };
        if self.recorder.leaves_slow_start(index, state.slow_start) {
            let reason = sender.slow_start_exit().unwrap_or(ExitReason::Unused);
            self.recorder.left_slow_start(self.now, index, state.cwnd, reason);
        }
        self.recorder.acknowledged(self.now, index, &state);
        if self.recorder.detailed() {
            let feedback = u8::from(report.ece) | (u8::from(report.esce) << 1);
            self.recorder.acknowledged_in_detail(self.now, packet, feedback, &state);
            self.recorder.controller_changed(self.now, index, &|out| sender.probe(out));
        }
    }

    /// Sends all that a loss-free sender may send now, and sets its timer if it did. Returns whether it did.
    #[inline]
    fn transmit_ideal(&mut self, index: usize) -> bool {
        let before = self.sent;
        let to = self.flows[index].data;
        while let Ends::Ideal { sender, .. } = &mut self.flows[index].ends
            && let Some(mut packet) = sender.poll_transmit(self.now)
        {
            self.sent += 1;
            if self.recorder.captures() {
                let hidden = ideal_state(sender);
                self.recorder.capture_sent(self.now, &mut packet, false, Some(hidden));
            }
            self.forward(packet, to);
        }
        let sent = self.sent > before;
        if sent && let Ends::Ideal { sender, .. } = &self.flows[index].ends {
            let next = sender.next_timer().unwrap_or(Time::NEVER);
            self.events.set(self.first_sender + index, next);
        }
        sent
    }

    /// Sends all that a TCP sender may send now.
    pub(super) fn transmit(&mut self, index: usize) {
        let to = self.flows[index].data;
        while let Ends::Tcp(connection) = &mut self.flows[index].ends {
            let before = connection.sender.sent_again();
            let Some(mut packet) = connection.sender.poll_transmit(self.now) else { break };
            let retransmission = connection.sender.sent_again() > before;
            if retransmission {
                self.recorder.retransmitted(self.now, &packet);
            }
            if self.recorder.captures() {
                let hidden = connection.sender.hidden();
                self.recorder.capture_sent(self.now, &mut packet, retransmission, Some(hidden));
            }
            self.sent += 1;
            self.flows[index].in_network += 1;
            self.forward(packet, to);
        }
        self.schedule_sender(index);
    }

    /// Sends the ACKs that a loss-free receiver owes now.
    #[inline]
    fn acknowledge_ideal(&mut self, index: usize) {
        let to = self.flows[index].acks;
        while let Ends::Ideal { receiver, .. } = &mut self.flows[index].ends
            && let Some(mut ack) = receiver.poll_ack(self.now)
        {
            self.sent += 1;
            if self.recorder.captures() {
                self.recorder.capture_reply(self.now, &mut ack);
            }
            self.forward(ack, to);
        }
    }

    /// Sends the ACKs that a TCP receiver owes now.
    #[inline]
    fn acknowledge(&mut self, index: usize) {
        let to = self.flows[index].acks;
        while let Ends::Tcp(connection) = &mut self.flows[index].ends
            && let Some(ack) = connection.receiver.poll_ack(self.now)
        {
            self.flows[index].in_network += 1;
            self.reply(ack, to);
        }
    }

    #[inline]
    pub(super) fn reply(&mut self, mut packet: Packet, to: Hop) {
        self.sent += 1;
        if self.recorder.captures() {
            self.recorder.capture_reply(self.now, &mut packet);
        }
        self.forward(packet, to);
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
        let source = self.sender_source(index);
        let Ends::Tcp(connection) = &mut self.flows[index].ends else { return };
        let next = connection.next_timer();
        if next < connection.sender_event {
            connection.sender_event = next;
            self.events.set(source, next.max(self.now));
        }
    }

    #[inline]
    fn schedule_receiver(&mut self, index: usize) {
        let source = self.receiver_source(index);
        let Ends::Tcp(connection) = &mut self.flows[index].ends else { return };
        let next = connection.receiver.next_timer().unwrap_or(Time::NEVER);
        if next < connection.receiver_event {
            connection.receiver_event = next;
            self.events.set(source, next.max(self.now));
        }
    }

    #[inline]
    fn schedule_ideal_receiver(&mut self, index: usize) {
        let Ends::Ideal { receiver, .. } = &self.flows[index].ends else { return };
        if receiver.delays() {
            let source = self.first_receiver + index;
            let next = receiver.next_timer().unwrap_or(Time::NEVER);
            if self.events.time_of(source) != next {
                self.events.set(source, next);
            }
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

    /// What the recorder reads of a flow's sender.
    pub(super) fn reading(&self, index: usize) -> Reading {
        let info = match &self.flows[index].ends {
            Ends::Tcp(connection) => Some(connection.sender.info()),
            Ends::Ideal { .. } | Ends::Datagrams(_) | Ends::Arrivals(_) | Ends::Vacant => None,
        };
        Reading { counters: self.counters(index), info }
    }

    /// What a flow has counted so far; a flow of arrivals, what all of its connections have.
    fn counters(&self, index: usize) -> Counters {
        match &self.flows[index].ends {
            Ends::Tcp(connection) => connection.sender.counters(),
            Ends::Datagrams(datagrams) => Counters { sent: datagrams.sent(), ..Counters::default() },
            Ends::Arrivals(arrivals) => {
                let (mut sum, places) = arrivals.counted();
                for place in places {
                    sum += self.counters(*place);
                }
                sum
            }
            Ends::Ideal { .. } | Ends::Vacant => Counters::default(),
        }
    }
}

fn ideal_state(sender: &ideal::Sender) -> Hidden {
    Hidden {
        cwnd: sender.cwnd(),
        ssthresh: sender.control().ssthresh,
        srtt: sender.srtt(),
        state: 0,
        limit: 0,
        in_flight: sender.in_flight(),
    }
}
