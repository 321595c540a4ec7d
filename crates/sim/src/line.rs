//! A fixed delay.

use std::collections::VecDeque;

use windtunnel_prefetch::{prefetch, prefetch_behind};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::{FlowId, Packet};

/// The ranks of arrivals among events of the same time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranks {
    first: u32,
    step: u32,
}

impl Ranks {
    /// All arrivals have this rank.
    pub(crate) const fn same(rank: u32) -> Ranks {
        Ranks { first: rank, step: 0 }
    }

    /// Arrivals for flow `n` have the rank `first + n step`.
    pub(crate) const fn by_flow(first: u32, step: u32) -> Ranks {
        Ranks { first, step }
    }

    #[inline]
    pub(crate) const fn of(self, flow: FlowId) -> u32 {
        self.first + flow.get() * self.step
    }
}

/// Packets on their way through a fixed delay. It never reorders, so it is a ring buffer, and only its head needs an
/// event. Packets that enter at the same time are in the order of their ranks.
#[derive(Debug)]
pub(crate) struct DelayLine {
    delay: Duration,
    ranks: Ranks,
    packets: VecDeque<Packet>,
    /// When a packet entered last.
    last_entry: Time,
}

impl DelayLine {
    pub(crate) fn new(delay: Duration, ranks: Ranks) -> DelayLine {
        DelayLine { delay, ranks, packets: VecDeque::new(), last_entry: Time::NEVER }
    }

    /// A packet enters at the time with which it is stamped. Returns true if it is the head now.
    #[inline]
    pub(crate) fn enter(&mut self, packet: Packet) -> bool {
        let now = packet.enqueued_at;
        if std::mem::replace(&mut self.last_entry, now) == now {
            return self.enter_among(packet);
        }
        self.packets.push_back(packet);
        self.packets.len() == 1
    }

    /// A packet enters that may have to pass some of those that entered at the same time.
    #[inline(never)]
    fn enter_among(&mut self, packet: Packet) -> bool {
        let (now, rank, ranks) = (packet.enqueued_at, self.ranks.of(packet.flow), self.ranks);
        let follows = |other: &&Packet| other.enqueued_at == now && ranks.of(other.flow) > rank;
        let position = self.packets.len() - self.packets.iter().rev().take_while(follows).count();
        self.packets.insert(position, packet);
        position == 0
    }

    /// The head leaves.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// The rank of the head's arrival, and when it is due.
    #[inline]
    pub(crate) fn next(&self) -> (u32, Time) {
        self.packets
            .front()
            .map_or((0, Time::NEVER), |head| (self.ranks.of(head.flow), head.enqueued_at + self.delay))
    }

    /// The packet that leaves after `n` others.
    #[inline]
    pub(crate) fn ahead(&self, n: usize) -> Option<&Packet> {
        self.packets.get(n)
    }

    /// Asks for the memory of the packet that leaves after `n` others, and of the one that enters then.
    #[inline]
    pub(crate) fn prefetch(&self, n: usize) {
        if let (Some(packet), Some(last)) = (self.packets.get(n), self.packets.back()) {
            prefetch(packet);
            prefetch_behind(last, n);
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windtunnel_units::Bytes;

    use super::*;

    /// Packets, by the bytes that they carry.
    fn packet(flow: u32, number: u64, now: Time) -> Packet {
        let mut packet = Packet::new(FlowId::new(flow), Bytes::new(number), Bytes::ZERO);
        packet.enqueued_at = now;
        packet
    }

    proptest! {
        /// A line that several flows share gives its packets up as lines of their own would: the earliest first, and of
        /// several at the same time those of the first flow first (decision 0003).
        #[test]
        fn shared_as_apart(
            steps in prop::collection::vec((0_u64..3, 0_u32..4, any::<bool>()), 1..200),
        ) {
            const DELAY: Duration = Duration::from_nanos(10);
            let mut shared = DelayLine::new(DELAY, Ranks::by_flow(7, 2));
            let mut apart: Vec<DelayLine> =
                (0..4).map(|flow| DelayLine::new(DELAY, Ranks::same(7 + 2 * flow))).collect();
            let mut now = Time::ZERO;
            for (number, (passed, flow, leaves)) in (1..).zip(steps) {
                now += Duration::from_nanos(passed);
                let head = shared.next();
                let first = apart.iter().map(|line| (line.next().1, line.next().0)).min().unwrap();
                prop_assert_eq!((head.1, head.0), first);
                if leaves {
                    let one = apart.iter_mut().min_by_key(|line| (line.next().1, line.next().0)).unwrap();
                    prop_assert_eq!(shared.leave(), one.leave());
                } else {
                    let is_head = shared.enter(packet(flow, number, now));
                    prop_assert_eq!(is_head, shared.ahead(0).map(Packet::size) == Some(Bytes::new(number)));
                    apart[flow as usize].enter(packet(flow, number, now));
                }
                prop_assert_eq!(shared.len(), apart.iter().map(DelayLine::len).sum::<usize>());
            }
        }
    }
}
