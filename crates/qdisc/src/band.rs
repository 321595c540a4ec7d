//! Storage: packets in their order of arrival, and how many bytes they are. A band neither decides nor counts.

use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Packet, PacketRing};

use crate::accounts::QueueCx;
use crate::aqm::QueueView;
use crate::discipline::Backlog;

/// A ring of packets.
#[derive(Debug, Default)]
pub struct Band {
    packets: PacketRing,
    bytes: Bytes,
}

impl Band {
    /// An empty band.
    pub const fn new() -> Band {
        Band { packets: PacketRing::new(), bytes: Bytes::ZERO }
    }

    /// What it holds.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }

    /// The packet that arrived first.
    #[inline]
    pub fn head(&self) -> Option<&Packet> {
        self.packets.front()
    }

    /// How long the packet at the head has waited.
    #[inline]
    pub fn head_waiting(&self, now: Time) -> Option<Duration> {
        self.head().map(|head| now.since(head.enqueued_at))
    }

    /// The band as the AQM of a queue with no other band sees it: with what a shaper has taken out of it and holds.
    #[inline]
    pub(crate) fn view(&self, cx: &QueueCx) -> QueueView {
        let Backlog { packets, bytes } = self.backlog() + cx.held;
        let head_waiting = self.head_waiting(cx.now);
        QueueView { now: cx.now, packets, bytes, all_bytes: bytes, head_waiting, rate: cx.rate }
    }

    /// Stores a packet at the tail.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.put(&mut Some(packet));
    }

    /// Stores the packet of a place at the tail.
    #[inline]
    pub fn put(&mut self, place: &mut Option<Packet>) {
        if let Some(packet) = place {
            self.bytes += packet.size();
            self.packets.put(place);
        }
    }

    /// Gives up the packet at the head.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let mut packet = None;
        self.take_into(&mut packet);
        packet
    }

    /// Takes the packet at the head to a place that is empty.
    #[inline]
    pub fn take_into(&mut self, place: &mut Option<Packet>) {
        self.packets.take_into(place);
        if let Some(packet) = place {
            self.bytes -= packet.size();
        }
    }

    /// The packet with `before` packets before it.
    #[inline]
    pub fn get(&self, before: usize) -> Option<&Packet> {
        self.packets.get(before)
    }

    /// Gives up the packet behind the one at the head, which stays.
    pub fn pop_second(&mut self) -> Option<Packet> {
        self.take(1)
    }

    /// Gives up the packet with `before` packets before it; the others stay in order.
    pub fn take(&mut self, before: usize) -> Option<Packet> {
        let packet = self.packets.remove(before)?;
        self.bytes -= packet.size();
        Some(packet)
    }
}
