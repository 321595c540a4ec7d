//! A ring of packets: what queues and delay lines are made of.
//!
//! A packet is 64 bytes, and a `VecDeque` moves it four times on its way in and out: as an argument, a result, and each
//! time through an `Option` that takes it apart. Here it moves once each, between its slot and a place of the caller's.

use std::mem;

use crate::Packet;

/// Packets, first in, first out. It doubles as needed and never gives room back, so that a warm ring allocates nothing.
#[derive(Debug, Default)]
pub struct PacketRing {
    /// A power of two of them, or none. The packets are in those from `head` on, and all others are empty.
    slots: Vec<Option<Packet>>,
    head: usize,
    len: usize,
}

impl PacketRing {
    /// An empty ring without memory.
    pub const fn new() -> PacketRing {
        PacketRing { slots: Vec::new(), head: 0, len: 0 }
    }

    /// The packets in it.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if it has no packet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The packets for which it has room.
    pub const fn capacity(&self) -> usize {
        self.slots.len()
    }

    /// The slot `n` behind the head.
    #[inline]
    const fn slot(&self, n: usize) -> usize {
        (self.head + n) & self.slots.len().wrapping_sub(1)
    }

    /// The packet with `n` others before it.
    #[inline]
    pub fn get(&self, n: usize) -> Option<&Packet> {
        if n < self.len { self.slots[self.slot(n)].as_ref() } else { None }
    }

    /// The packet that has been here longest.
    #[inline]
    pub fn front(&self) -> Option<&Packet> {
        self.slots.get(self.head)?.as_ref()
    }

    /// The packet that came last.
    #[inline]
    pub fn back(&self) -> Option<&Packet> {
        self.get(self.len.wrapping_sub(1))
    }

    /// Takes the packet from its place to the end of the ring.
    #[inline]
    pub fn put(&mut self, place: &mut Option<Packet>) {
        if self.len == self.slots.len() {
            self.grow();
        }
        let slot = self.slot(self.len);
        mem::swap(&mut self.slots[slot], place);
        self.len += 1;
    }

    /// A packet joins the end of the ring.
    #[inline]
    pub fn push(&mut self, packet: Packet) {
        self.put(&mut Some(packet));
    }

    /// Takes the packet that has been here longest to a place that is empty; nothing if there is none.
    #[inline]
    pub fn take_into(&mut self, place: &mut Option<Packet>) {
        debug_assert!(place.is_none());
        if self.len > 0 {
            mem::swap(&mut self.slots[self.head], place);
            self.head = self.slot(1);
            self.len -= 1;
        }
    }

    /// Gives up the packet that has been here longest.
    #[inline]
    pub fn pop(&mut self) -> Option<Packet> {
        let mut packet = None;
        self.take_into(&mut packet);
        packet
    }

    /// A packet enters with `before` others before it.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn insert(&mut self, before: usize, packet: Packet) {
        assert!(before <= self.len);
        self.push(packet);
        for n in (before + 1..self.len).rev() {
            let (this, earlier) = (self.slot(n), self.slot(n - 1));
            self.slots.swap(this, earlier);
        }
    }

    /// Gives up the packet with `before` others before it, which stay in order, as do those behind it.
    pub fn remove(&mut self, before: usize) -> Option<Packet> {
        if before >= self.len {
            return None;
        }
        if before < self.len / 2 {
            for n in (0..before).rev() {
                let (this, later) = (self.slot(n), self.slot(n + 1));
                self.slots.swap(this, later);
            }
            return self.pop();
        }
        for n in before + 1..self.len {
            let (this, earlier) = (self.slot(n), self.slot(n - 1));
            self.slots.swap(this, earlier);
        }
        self.len -= 1;
        let last = self.slot(self.len);
        self.slots[last].take()
    }

    #[cold]
    fn grow(&mut self) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize_with((2 * self.len).max(4), || None);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use windtunnel_units::Bytes;

    use super::*;
    use crate::FlowId;

    fn packet(number: u64) -> Packet {
        Packet::new(FlowId::new(0), Bytes::new(number), Bytes::ZERO)
    }

    proptest! {
        /// Whatever is done to it, it holds what a `VecDeque` holds.
        #[test]
        fn as_a_deque(steps in prop::collection::vec((0_u8..5, 0_usize..40), 1..300)) {
            let (mut ring, mut deque) = (PacketRing::new(), VecDeque::new());
            for (number, (step, at)) in (1..).zip(steps) {
                match step {
                    0 | 1 => {
                        ring.push(packet(number));
                        deque.push_back(number);
                    }
                    2 => {
                        let at = at % (deque.len() + 1);
                        ring.insert(at, packet(number));
                        deque.insert(at, number);
                    }
                    3 => prop_assert_eq!(ring.pop().map(|p| p.size().get()), deque.pop_front()),
                    _ => prop_assert_eq!(ring.remove(at).map(|p| p.size().get()), deque.remove(at)),
                }
                prop_assert_eq!(ring.len(), deque.len());
                prop_assert_eq!(ring.is_empty(), deque.is_empty());
                let held: Vec<u64> = (0..ring.len()).filter_map(|n| ring.get(n)).map(|p| p.size().get()).collect();
                prop_assert_eq!(&held, &deque.iter().copied().collect::<Vec<_>>());
                prop_assert_eq!(ring.front().map(|p| p.size().get()), deque.front().copied());
                prop_assert_eq!(ring.back().map(|p| p.size().get()), deque.back().copied());
                prop_assert!(ring.get(ring.len()).is_none());
                prop_assert!(ring.capacity() >= ring.len());
            }
        }
    }
}
