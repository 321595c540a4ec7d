//! What a sender changes while it sends: borrowed apart from flows, so that a flow and its halves stay at hand.

#![expect(
    clippy::inline_always,
    reason = "on the path of every packet, and compiled once for each transport"
)]

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Simulation;
use super::capabilities::Capabilities;
use super::endpoints::sender_timer;
use crate::endpoint::{SenderHalf, Transported};
use crate::event_queue::EventQueue;
use crate::flow::{Flow, Hop};
use crate::link::Link;
use crate::recorder::Recorder;

/// A simulation without its flows.
#[derive(Debug)]
pub(super) struct Near<'a> {
    pub(super) now: Time,
    links: &'a mut [Link],
    events: &'a mut EventQueue,
    timers: &'a mut EventQueue,
    pub(super) recorder: &'a mut Recorder,
    pub(super) sent: &'a mut u64,
    pub(super) arrived: &'a mut u64,
    first_member: usize,
    first_member_timer: usize,
}

/// How far a sender came.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sent {
    /// It has sent everything that it may, and has its next timer then.
    All(Time),
    /// The packet in its place goes to a hop that is no link.
    Elsewhere(Hop),
    /// This link has dropped or marked packets.
    Amiss(u32),
}

impl Simulation {
    /// A flow, and everything that it changes when it sends.
    #[inline(always)]
    pub(super) fn near(&mut self, flow: usize) -> (&mut Flow, Near<'_>) {
        let near = Near {
            now: self.now,
            links: &mut self.links,
            events: &mut self.events,
            timers: &mut self.timers,
            recorder: &mut self.recorder,
            sent: &mut self.sent,
            arrived: &mut self.arrived,
            first_member: self.first_member,
            first_member_timer: self.first_member_timer,
        };
        (&mut self.flows[flow], near)
    }
}

impl Near<'_> {
    /// A sending half sends what it may, as long as its packets enter links that take them. Another packet is left in
    /// `place`.
    #[expect(
        clippy::trivially_copy_pass_by_ref,
        reason = "read where it is used, and not before: 30 instructions"
    )]
    #[inline(always)]
    pub(super) fn send<C: Capabilities, T: Transported>(
        &mut self,
        half: &mut T::Sender,
        data: &Hop,
        in_network: &mut u32,
        place: &mut Option<Packet>,
    ) -> Sent {
        loop {
            let mut polled = half.poll(self.now);
            let Some(packet) = &mut polled else { return Sent::All(half.next_timer()) };
            let again = half.sent_again();
            if again {
                self.recorder.retransmitted(self.now, packet);
            }
            if C::SINGLE_PACKETS && self.recorder.captures() {
                self.recorder.capture_sent(self.now, packet, again, half.hidden());
            }
            *self.sent += 1;
            if T::ARRIVES {
                *in_network += 1;
            }
            let Hop::Link(link) = *data else {
                *place = polled;
                return Sent::Elsewhere(*data);
            };
            if self.enter::<C>(&mut polled, link as usize) {
                return Sent::Amiss(link);
            }
        }
    }

    /// A packet enters a link: it is taken from its place, which saves copies. Returns whether the queue has dropped or
    /// marked packets.
    #[inline(always)]
    pub(super) fn enter<C: Capabilities>(&mut self, place: &mut Option<Packet>, index: usize) -> bool {
        if C::SINGLE_PACKETS
            && self.recorder.tells_apart()
            && let Some(packet) = place
        {
            self.recorder.enters(self.now, index, packet);
        }
        let link = &mut self.links[index];
        if let Some(next) = link.arrive(place, self.now) {
            self.events.set(index, next);
        }
        self.recorder.queued(index, link.backlog());
        if C::SINGLE_PACKETS && self.recorder.detailed() {
            self.recorder.queue_changed(self.now, index, link);
        }
        link.has_incidents()
    }

    /// Sets the event of a sending half, which is due at `next`; so far it was due at `event`.
    #[inline(always)]
    pub(super) fn schedule_sender<T: Transported>(
        &mut self,
        half: &T::Sender,
        event: &mut Time,
        index: usize,
        next: Time,
    ) {
        if next < *event || (next > *event && half.withdraws_timer()) {
            *event = next;
            let timer = sender_timer(index, self.first_member, self.first_member_timer);
            self.set_timer(timer, next);
        }
    }

    /// Sets a timer that is due at `next`, or now if that has passed.
    #[inline(always)]
    pub(super) fn set_timer(&mut self, timer: usize, next: Time) {
        self.timers.set(timer, next.max(self.now));
    }
}
