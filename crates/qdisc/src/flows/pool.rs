//! Packets of many bands in one place: a thousand bands need no more memory than their packets.

use windtunnel_prefetch::prefetch;
use windtunnel_units::Bytes;
use windtunnel_wire::Packet;

use crate::discipline::Backlog;

/// No slot.
pub(crate) const NONE: u32 = u32::MAX;

/// Slots for packets. It grows as needed and never gives room back, so that a warm pool allocates nothing.
#[derive(Debug)]
pub(crate) struct Pool {
    packets: Vec<Option<Packet>>,
    /// The slot after each, in its chain or among those that are free.
    next: Vec<u32>,
    free: u32,
}

impl Default for Pool {
    fn default() -> Pool {
        Pool { packets: Vec::new(), next: Vec::new(), free: NONE }
    }
}

impl Pool {
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    fn put(&mut self, packet: Packet) -> u32 {
        let slot = self.free;
        if slot == NONE {
            self.packets.push(Some(packet));
            self.next.push(NONE);
            return self.next.len() as u32 - 1;
        }
        self.free = self.next[slot as usize];
        self.packets[slot as usize] = Some(packet);
        self.next[slot as usize] = NONE;
        slot
    }

    /// The packet in a slot.
    #[inline]
    pub(crate) fn packet(&self, slot: u32) -> Option<&Packet> {
        self.packets.get(slot as usize)?.as_ref()
    }

    /// The same, to be changed.
    pub(super) fn packet_mut(&mut self, slot: u32) -> Option<&mut Packet> {
        self.packets.get_mut(slot as usize)?.as_mut()
    }

    /// Gives up the packet in `slot`, and the slot after it.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    fn take(&mut self, slot: u32) -> (Option<Packet>, u32) {
        let next = std::mem::replace(&mut self.next[slot as usize], self.free);
        self.free = slot;
        (self.packets[slot as usize].take(), next)
    }
}

/// The packets of one band, in order of arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    head: u32,
    tail: u32,
    packets: u32,
    bytes: Bytes,
}

impl Default for Chain {
    fn default() -> Chain {
        Chain { head: NONE, tail: NONE, packets: 0, bytes: Bytes::ZERO }
    }
}

impl Chain {
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets as usize, bytes: self.bytes }
    }

    /// The packet that arrived first.
    #[inline]
    pub(crate) fn head<'p>(&self, pool: &'p Pool) -> Option<&'p Packet> {
        pool.packet(self.head)
    }

    /// The packet with `before` (none or one) before it, to be changed.
    pub(super) fn oldest<'p>(&self, before: usize, pool: &'p mut Pool) -> Option<&'p mut Packet> {
        let slot = if before == 0 { self.head } else { *pool.next.get(self.head as usize)? };
        pool.packet_mut(slot)
    }

    /// Asks for the memory of the first two packets.
    #[inline]
    pub(crate) fn prefetch(&self, pool: &Pool) {
        let Some(second) = pool.next.get(self.head as usize) else { return };
        for slot in [self.head, *second] {
            if let Some(packet) = pool.packets.get(slot as usize) {
                prefetch(packet);
            }
        }
    }

    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Packet, pool: &mut Pool) {
        self.bytes += packet.size();
        self.packets += 1;
        let slot = pool.put(packet);
        if self.tail == NONE {
            self.head = slot;
        } else {
            pool.next[self.tail as usize] = slot;
        }
        self.tail = slot;
    }

    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    pub(crate) fn pop(&mut self, pool: &mut Pool) -> Option<Packet> {
        if self.head == NONE {
            return None;
        }
        let (packet, next) = pool.take(self.head);
        self.head = next;
        if next == NONE {
            self.tail = NONE;
        }
        self.left(packet)
    }

    /// The packet that arrived last.
    #[inline]
    pub(crate) fn last<'p>(&self, pool: &'p Pool) -> Option<&'p Packet> {
        pool.packets.get(self.tail as usize)?.as_ref()
    }

    /// The packets, in order of arrival.
    pub(crate) fn packets<'p>(&self, pool: &'p Pool) -> impl Iterator<Item = &'p Packet> + use<'p> {
        let mut slot = self.head;
        std::iter::from_fn(move || {
            let packet = pool.packets.get(slot as usize)?.as_ref();
            slot = pool.next[slot as usize];
            packet
        })
    }

    /// Gives up the packet before which there are `before` others.
    pub(crate) fn remove(&mut self, before: usize, pool: &mut Pool) -> Option<Packet> {
        let Some(steps) = before.checked_sub(1) else { return self.pop(pool) };
        let mut slot = self.head;
        for _ in 0..steps {
            slot = *pool.next.get(slot as usize)?;
        }
        self.take_after(slot, pool)
    }

    /// Gives up the packet behind the first.
    pub(crate) fn pop_second(&mut self, pool: &mut Pool) -> Option<Packet> {
        if self.head == NONE { None } else { self.take_after(self.head, pool) }
    }

    /// The slot of the first packet, or [`NONE`].
    #[inline]
    pub(crate) const fn first(&self) -> u32 {
        self.head
    }

    /// The slot behind the slot `before`, or the first one behind [`NONE`]; [`NONE`] behind the last.
    #[inline]
    pub(crate) fn slot_after(&self, before: u32, pool: &Pool) -> u32 {
        pool.next.get(before as usize).copied().unwrap_or(self.head)
    }

    /// Gives up the packet behind the slot `before`, or the first one behind [`NONE`].
    pub(crate) fn take_after(&mut self, before: u32, pool: &mut Pool) -> Option<Packet> {
        if before == NONE {
            return self.pop(pool);
        }
        let slot = *pool.next.get(before as usize)?;
        if slot == NONE {
            return None;
        }
        let (packet, next) = pool.take(slot);
        pool.next[before as usize] = next;
        if next == NONE {
            self.tail = before;
        }
        self.left(packet)
    }

    /// Gives up the packet that arrived last. Chains are linked forwards: this takes a step for each packet.
    pub(super) fn pop_last(&mut self, pool: &mut Pool) -> Option<Packet> {
        if self.head == self.tail {
            return self.pop(pool);
        }
        let mut before = self.head;
        while pool.next[before as usize] != self.tail {
            before = pool.next[before as usize];
        }
        let (packet, _) = pool.take(self.tail);
        pool.next[before as usize] = NONE;
        self.tail = before;
        self.left(packet)
    }

    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    fn left(&mut self, packet: Option<Packet>) -> Option<Packet> {
        let packet = packet?;
        self.packets -= 1;
        self.bytes -= packet.size();
        Some(packet)
    }
}

const _: () = assert!(size_of::<Option<Packet>>() == 64, "a slot is one cache line");

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use windtunnel_wire::FlowId;

    use super::*;

    proptest! {
        /// Chains behave as queues do, whatever is taken from them, and the pool is no larger than what they held at
        /// most.
        #[test]
        fn chains(steps in prop::collection::vec((0_usize..3, 0_u8..5), 1..300)) {
            let mut pool = Pool::default();
            let mut chains = [Chain::default(); 3];
            let mut models = [const { VecDeque::new() }; 3];
            let mut most = 0;
            for (n, (which, step)) in (1_u64..).zip(steps) {
                let (chain, model) = (&mut chains[which], &mut models[which]);
                let left = match step {
                    0 | 1 => {
                        chain.push(Packet::new(FlowId::new(0), Bytes::new(n), Bytes::ZERO), &mut pool);
                        model.push_back(n);
                        continue;
                    }
                    2 => (chain.pop(&mut pool), model.pop_front()),
                    3 => (chain.pop_last(&mut pool), model.pop_back()),
                    _ => (chain.pop_second(&mut pool), model.remove(1)),
                };
                prop_assert_eq!(left.0.map(|packet| packet.size().get()), left.1);
                prop_assert_eq!(chain.backlog().bytes.get(), model.iter().sum::<u64>());
                prop_assert_eq!(chain.backlog().packets, model.len());
                prop_assert_eq!(chain.head(&pool).map(|head| head.size().get()), model.front().copied());
                most = most.max(models.iter().map(VecDeque::len).sum());
            }
            prop_assert!(pool.next.len() <= most + 300);
        }
    }
}
