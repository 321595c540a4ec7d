//! A fixed delay.

use std::collections::VecDeque;

use windtunnel_units::{Duration, Time};
use windtunnel_wire::Packet;

/// Packets on their way through a fixed delay. It never reorders, so it is a ring buffer, and only its head needs an
/// event.
#[derive(Debug)]
pub(crate) struct DelayLine {
    delay: Duration,
    packets: VecDeque<Packet>,
}

impl DelayLine {
    pub(crate) fn new(delay: Duration) -> DelayLine {
        DelayLine { delay, packets: VecDeque::new() }
    }

    /// A packet enters. Returns when the head is due, if this packet is the head.
    #[inline]
    pub(crate) fn enter(&mut self, mut packet: Packet, now: Time) -> Option<Time> {
        packet.enqueued_at = now;
        self.packets.push_back(packet);
        (self.packets.len() == 1).then(|| now + self.delay)
    }

    /// The head leaves. Returns it, and when the next one is due.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<(Packet, Time)> {
        let packet = self.packets.pop_front()?;
        let next = self.packets.front().map_or(Time::NEVER, |p| p.enqueued_at + self.delay);
        Some((packet, next))
    }

    /// The packets for which there is room.
    pub(crate) fn room(&self) -> usize {
        self.packets.capacity()
    }

    /// The packets on their way.
    pub(crate) fn len(&self) -> usize {
        self.packets.len()
    }
}
