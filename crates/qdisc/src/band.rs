//! Storage: packets in their order of arrival, and how many bytes they are. A band neither decides nor counts.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::aqm::QueueView;
use crate::discipline::Backlog;

/// A ring of packets. It doubles as needed and never gives room back, so that a warm band allocates nothing.
#[derive(Debug)]
pub struct Band {
    packets: VecDeque<Packet>,
    bytes: Bytes,
}

impl Default for Band {
    fn default() -> Band {
        Band::new()
    }
}

impl Band {
    /// Room that is allocated at once: about 100 ms at 100 Mbit/s.
    const CAPACITY: usize = 1024;

    /// An empty band.
    pub fn new() -> Band {
        Band { packets: VecDeque::with_capacity(Band::CAPACITY), bytes: Bytes::ZERO }
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
    pub(crate) fn view(&self, cx: &QueueCx<'_>) -> QueueView {
        let Backlog { packets, bytes } = self.backlog() + cx.held;
        let head_waiting = self.head_waiting(cx.now);
        QueueView { now: cx.now, packets, bytes, all_bytes: bytes, head_waiting, rate: cx.rate }
    }

    /// Stores a packet at the tail.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.bytes += packet.size();
        self.packets.push_back(packet);
    }

    /// Gives up the packet at the head. Inlined, the packet would be taken apart into registers and put together again,
    /// which takes four times as many instructions as to copy it.
    #[inline(never)]
    pub fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front();
        if let Some(packet) = &packet {
            self.bytes -= packet.size();
        }
        packet
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
