//! A device's transmit ring: packets that a driver has taken out of the queue before it can transmit them. The queue's
//! AQM has timed them up to then, and they no longer count for its limit (Linux's `qdisc_run` fills a ring until the
//! driver stops it).

use std::collections::VecDeque;

use windtunnel_qdisc::Departure;
use windtunnel_wire::Packet;

/// The ring. It allocates nothing after it was made.
#[derive(Debug)]
pub(super) struct Ring {
    packets: VecDeque<(Packet, Departure)>,
    size: usize,
}

impl Ring {
    /// An empty ring for this many packets; none, for no packets.
    pub(super) fn new(packets: u32) -> Option<Box<Ring>> {
        let size = packets as usize;
        (size > 0).then(|| Box::new(Ring { packets: VecDeque::with_capacity(size), size }))
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn has_room(&self) -> bool {
        self.packets.len() < self.size
    }

    pub(super) fn push(&mut self, packet: Packet, departure: Departure) {
        self.packets.push_back((packet, departure));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(Packet, Departure)> {
        self.packets.iter()
    }

    pub(super) fn pop(&mut self) -> Option<(Packet, Departure)> {
        self.packets.pop_front()
    }
}
