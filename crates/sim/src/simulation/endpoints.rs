//! The work of the loop at the ends of paths: senders send, receivers acknowledge. It is the same for all transports.

#![expect(
    clippy::inline_always,
    reason = "compiled once for each transport; a `match` at each call cost loss-free endpoints 10 % more instructions"
)]

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Simulation;
use super::capabilities::{Capabilities, Full};
use super::near::Sent;
use crate::endpoint::{
    Counters, Datagrams, Ends, Exchange, Foreign, Ideal, Note, Reading, ReceiverHalf, SenderHalf, Tcp,
    Transported,
};
use crate::flow::{Flow, Hop};
use crate::recorder::Tap;

/// Calls a method for the transport of a flow: inline for loss-free endpoints, which are the fastest, and a function
/// call for the others.
macro_rules! by_transport {
    ($self:ident, $index:expr, $method:ident, $apart:ident::<$run:ident>($($argument:expr),*)) => {
        if $self.flows[$index].ends.is_loss_free() {
            $self.$method::<$run, Ideal>($index, $($argument),*);
        } else {
            match &$self.flows[$index].ends {
                Ends::Tcp { .. } => $self.$apart::<$run, Tcp>($index, $($argument),*),
                Ends::Datagrams { .. } => $self.$apart::<Full, Datagrams>($index, $($argument),*),
                Ends::Foreign(_) => $self.$apart::<Full, Foreign>($index, $($argument),*),
                _ => {}
            }
        }
    };
}

/// Events at the ends of flows.
impl Simulation {
    pub(super) fn start_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = true;
        flow.starts = flow.starts.saturating_sub(1);
        self.recorder.started(self.now, flow.series as usize);
        if let Some(arrivals) = flow.ends.arrivals_mut() {
            arrivals.start(self.now);
            let next = arrivals.next_timer();
            return self.timers.set(self.sender_timer(index), next);
        }
        flow.ends.start(self.now);
        if !self.predicts {
            flow.ends.take_the_long_way();
        }
        self.send_now(index);
    }

    /// A sender sends what it may, and its event is set.
    pub(super) fn send_now(&mut self, index: usize) {
        by_transport!(self, index, send, send_apart::<Full>());
    }

    pub(super) fn stop_flow(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.active = false;
        flow.ends.stop();
        if let Some(arrivals) = flow.ends.arrivals_mut() {
            arrivals.stop();
            self.timers.set(self.sender_timer(index), Time::NEVER);
        }
    }

    /// The event of a sender.
    #[inline]
    pub(super) fn sender_event<C: Capabilities>(&mut self, index: usize, timer: usize) {
        if let Ends::Still(_) = self.flows[index].ends {
            return self.timers.set(timer, Time::NEVER);
        }
        by_transport!(self, index, expire_sender, expire_sender_apart::<C>(timer));
    }

    /// The event of a receiver.
    #[inline]
    pub(super) fn receiver_event<C: Capabilities>(&mut self, index: usize, timer: usize) {
        if let Ends::Still(_) = self.flows[index].ends {
            return self.timers.set(timer, Time::NEVER);
        }
        by_transport!(self, index, expire_receiver, expire_receiver_apart::<C>(timer));
    }

    /// A packet reached the receiver of its flow.
    #[inline(always)]
    pub(super) fn deliver_segment<C: Capabilities>(&mut self, packet: &Packet) {
        let index = packet.flow.index();
        if packet.has_extras() && self.inspect(packet, Tap::Receiver) {
            return;
        }
        self.arrived += 1;
        by_transport!(self, index, receive, receive_apart::<C>(packet));
    }

    #[inline(never)]
    pub(super) fn deliver_segment_apart(&mut self, packet: &Packet) {
        self.deliver_segment::<Full>(packet);
    }

    /// A packet reached the sender of its flow.
    #[inline(never)]
    pub(super) fn deliver_ack<C: Capabilities>(&mut self, packet: &mut Packet) {
        let index = packet.flow.index();
        by_transport!(self, index, take_ack, take_ack::<C>(packet));
    }
}

/// The loop's work for a transport `T` in a run `C`.
impl Simulation {
    /// A packet reached the sending half. The memory of its options goes back to the receiving half for another one.
    #[inline(always)]
    fn take_ack<C: Capabilities, T: Transported>(&mut self, index: usize, packet: &mut Packet) {
        if packet.has_extras() && self.inspect(packet, Tap::Sender) {
            return;
        }
        self.arrived += 1;
        self.take_feedback::<C, T>(index, packet);
        if let Some(extras) = packet.take_extras() {
            self.flows[index].ends.take_back(extras);
        }
    }

    /// The sending half takes a packet, and sends everything that it may then send.
    #[inline(always)]
    fn take_feedback<C: Capabilities, T: Transported>(&mut self, index: usize, packet: &Packet) {
        let flow = &mut self.flows[index];
        let Some(half) = T::sender(&mut flow.ends) else { return };
        let feedback = half.on_packet(packet, self.now);
        let note = Note { recorder: &mut self.recorder, flow: index, series: flow.series as usize };
        note.feedback::<C, _>(half, &feedback, Some(packet), self.now);
        if C::SINGLE_PACKETS && self.schedule.is_watching() {
            self.watch(index);
        }
        self.send::<C, T>(index);
        if T::ARRIVES {
            self.reached_end(index);
        }
    }

    /// The receiving half takes a packet, and sends everything that it then owes.
    #[inline(always)]
    fn receive<C: Capabilities, T: Transported>(&mut self, index: usize, packet: &Packet) {
        let (flow, mut near) = self.near(index);
        let series = flow.series as usize;
        if !C::SINGLE_PACKETS
            && T::EXCHANGES
            && flow.acks == Hop::Sender
            && let Some(exchange) = T::exchange(&mut flow.ends, packet, near.now)
        {
            let Exchange { sender, arrival, feedback } = exchange;
            near.recorder.received(near.now, series, packet, &arrival);
            *near.sent += 1;
            *near.arrived += 1;
            let note = Note { recorder: near.recorder, flow: index, series };
            note.feedback::<C, _>(sender, &feedback, None, near.now);
            let mut waiting = None;
            return match near.send::<C, T>(sender, &flow.data, &mut flow.in_network, &mut waiting) {
                Sent::All(next) => near.schedule_sender::<T>(sender, &mut flow.sender_event, index, next),
                sent => {
                    self.carry_on(sent, waiting);
                    self.send::<C, T>(index);
                }
            };
        }
        let Some(half) = T::receiver(&mut flow.ends) else { return };
        let note = Note { recorder: near.recorder, flow: index, series };
        note.arrival(half, packet, near.now);
        if let Some(next) = self.acknowledge::<C, T>(index) {
            self.schedule_receiver::<T>(index, next);
        }
        if T::ARRIVES {
            self.reached_end(index);
        }
    }

    #[inline(never)]
    fn receive_apart<C: Capabilities, T: Transported>(&mut self, index: usize, packet: &Packet) {
        self.receive::<C, T>(index, packet);
    }

    /// The sending half's event. One that fires too early is only set again.
    #[inline(always)]
    fn expire_sender<C: Capabilities, T: Transported>(&mut self, index: usize, timer: usize) {
        let (flow, mut near) = self.near(index);
        let Some(half) = T::sender(&mut flow.ends) else { return };
        let mut next = half.next_timer();
        if next <= near.now {
            let note = Note { recorder: near.recorder, flow: index, series: flow.series as usize };
            note.expiry(half, near.now);
            let mut waiting = None;
            next = match near.send::<C, T>(half, &flow.data, &mut flow.in_network, &mut waiting) {
                Sent::All(next) => next,
                sent => return self.carry_on_expired::<C, T>(sent, waiting, index, timer),
            };
        }
        flow.sender_event = next;
        near.set_timer(timer, next);
    }

    /// The same after a packet that met no link, or one that dropped or marked packets.
    #[inline(never)]
    fn carry_on_expired<C: Capabilities, T: Transported>(
        &mut self,
        sent: Sent,
        waiting: Option<Packet>,
        index: usize,
        timer: usize,
    ) {
        self.carry_on(sent, waiting);
        let next = self.transmit::<C, T>(index).unwrap_or(Time::NEVER);
        self.flows[index].sender_event = next;
        self.timers.set(timer, next.max(self.now));
    }

    #[inline(never)]
    fn expire_sender_apart<C: Capabilities, T: Transported>(&mut self, index: usize, timer: usize) {
        self.expire_sender::<C, T>(index, timer);
    }

    /// The receiving half's event. One that fires too early is only set again.
    #[inline(always)]
    fn expire_receiver<C: Capabilities, T: Transported>(&mut self, index: usize, timer: usize) {
        let flow = &mut self.flows[index];
        let Some(half) = T::receiver(&mut flow.ends) else { return };
        let next = half.next_timer();
        let next = if next <= self.now {
            let delivered = half.on_timer(self.now);
            self.recorder.delivered(flow.series as usize, delivered);
            self.acknowledge::<C, T>(index).unwrap_or(Time::NEVER)
        } else {
            next
        };
        self.flows[index].receiver_event = next;
        self.timers.set(timer, next.max(self.now));
    }

    #[inline(never)]
    fn expire_receiver_apart<C: Capabilities, T: Transported>(&mut self, index: usize, timer: usize) {
        self.expire_receiver::<C, T>(index, timer);
    }

    /// Sends everything that the sending half may send now, and sets its event.
    #[inline(always)]
    fn send<C: Capabilities, T: Transported>(&mut self, index: usize) {
        loop {
            let (flow, mut near) = self.near(index);
            let Some(half) = T::sender(&mut flow.ends) else { return };
            let mut waiting = None;
            match near.send::<C, T>(half, &flow.data, &mut flow.in_network, &mut waiting) {
                Sent::All(next) => {
                    return near.schedule_sender::<T>(half, &mut flow.sender_event, index, next);
                }
                sent => self.carry_on(sent, waiting),
            }
        }
    }

    #[inline(never)]
    fn send_apart<C: Capabilities, T: Transported>(&mut self, index: usize) {
        self.send::<C, T>(index);
    }

    /// Sends everything that the sending half may send now. Returns its next timer, if it still exists.
    #[inline(always)]
    fn transmit<C: Capabilities, T: Transported>(&mut self, index: usize) -> Option<Time> {
        loop {
            let (flow, mut near) = self.near(index);
            let half = T::sender(&mut flow.ends)?;
            let mut waiting = None;
            match near.send::<C, T>(half, &flow.data, &mut flow.in_network, &mut waiting) {
                Sent::All(next) => return Some(next),
                sent => self.carry_on(sent, waiting),
            }
        }
    }

    /// A packet of a sender goes elsewhere than into a link, or a link has dropped or marked packets.
    #[inline(never)]
    fn carry_on(&mut self, sent: Sent, waiting: Option<Packet>) {
        match (sent, waiting) {
            (Sent::Elsewhere(to), Some(packet)) => self.depart(packet, to),
            (Sent::Amiss(link), _) => self.record_incidents(link as usize),
            _ => {}
        }
    }

    /// Sends everything that the receiving half owes now. Returns its next timer, if it still exists.
    #[inline(always)]
    fn acknowledge<C: Capabilities, T: Transported>(&mut self, index: usize) -> Option<Time> {
        loop {
            let flow = &mut self.flows[index];
            let half = T::receiver(&mut flow.ends)?;
            let Some(mut packet) = half.poll(self.now) else { return Some(half.next_timer()) };
            if T::ARRIVES {
                flow.in_network += 1;
            }
            let to = flow.acks;
            if C::SINGLE_PACKETS && self.recorder.captures() {
                self.recorder.capture_reply(self.now, &mut packet);
            }
            self.sent += 1;
            match to {
                Hop::Sender => self.take_ack::<C, T>(index, &mut packet),
                to => self.depart(packet, to),
            }
        }
    }

    /// Sets the receiving half's event, which is due at `next`.
    #[inline(always)]
    fn schedule_receiver<T: Transported>(&mut self, index: usize, next: Time) {
        let flow = &mut self.flows[index];
        let is_later = next > flow.receiver_event;
        if next < flow.receiver_event
            || (is_later && T::receiver(&mut flow.ends).is_some_and(|half| half.withdraws_timer()))
        {
            flow.receiver_event = next;
            self.timers.set(self.receiver_timer(index), next.max(self.now));
        }
    }
}

/// The work that does not depend on the transport.
impl Simulation {
    /// Captures a packet that reached an end. Returns true for a packet that was damaged on its way, which is
    /// discarded.
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

    /// A medium duplicated a packet.
    pub(super) fn count_copy(&mut self, copy: &mut Packet) {
        self.flows[copy.flow.index()].in_network += 1;
        self.touch(copy.flow.index());
        if self.recorder.captures() {
            self.recorder.capture_copy(copy);
        }
    }

    /// The timer of a flow's sender.
    #[inline]
    pub(super) const fn sender_timer(&self, index: usize) -> usize {
        sender_timer(index, self.first_member, self.first_member_timer)
    }

    /// The timer of a flow's receiver.
    #[inline]
    pub(super) const fn receiver_timer(&self, index: usize) -> usize {
        if index < self.first_member {
            self.first_member + index
        } else {
            self.first_member_timer + 2 * (index - self.first_member) + 1
        }
    }
}

/// The timer of the sender of flow `index`; flows from `first_member` on have two timers each, from `first_timer` on.
#[inline]
pub(super) const fn sender_timer(index: usize, first_member: usize, first_timer: usize) -> usize {
    if index < first_member { index } else { first_timer + 2 * (index - first_member) }
}

/// What the recorder reads from a flow at its tick; for a flow that stands for many connections, the sum of their
/// counts.
pub(super) fn reading(flows: &[Flow], index: usize) -> Reading {
    let ends = &flows[index].ends;
    let Some(arrivals) = ends.arrivals() else { return ends.reading() };
    let (mut counters, slots): (Counters, &[usize]) = arrivals.counted();
    for slot in slots {
        counters += flows[*slot].ends.reading().counters;
    }
    Reading { counters, info: None }
}
