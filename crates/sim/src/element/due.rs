//! Packets that are held until they are due: in order, or each by its own time.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::{Passage, Tally};

/// Packets that a varying delay holds: in order, or each by its own time.
#[derive(Debug)]
pub(super) enum Held {
    InOrder(InOrder),
    ByTime(ByTime),
}

impl Held {
    pub(super) fn new(reorder: bool) -> Held {
        if reorder { Held::ByTime(ByTime::default()) } else { Held::InOrder(InOrder::default()) }
    }

    pub(super) fn enter(&mut self, packet: Packet, due: Time, now: Time) -> Passage {
        match self {
            Held::InOrder(packets) => packets.enter(packet, due, now),
            Held::ByTime(packets) => packets.enter(packet, due),
        }
    }

    pub(super) fn next_due(&self) -> Time {
        match self {
            Held::InOrder(packets) => packets.next_due(),
            Held::ByTime(packets) => packets.next_due(),
        }
    }

    pub(super) fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        match self {
            Held::InOrder(packets) => packets.release(now),
            Held::ByTime(packets) => packets.release(now, &mut tally.reordered),
        }
    }
}

/// Packets in order of arrival; each leaves when it and all packets before it are due.
#[derive(Debug, Default)]
pub(super) struct InOrder {
    /// `enqueued_at` is the time at which a packet is due: never earlier than that of the packet before it.
    packets: VecDeque<Packet>,
}

impl InOrder {
    /// Adds a packet that is due at `due`; it leaves at once if that is now and no packet is before it.
    pub(super) fn enter(&mut self, mut packet: Packet, due: Time, now: Time) -> Passage {
        let ahead = self.packets.back().map(|last| last.enqueued_at);
        if due <= now && ahead.is_none() {
            return Passage::On(packet);
        }
        packet.enqueued_at = ahead.map_or(due, |ahead| due.max(ahead));
        self.packets.push_back(packet);
        Passage::Held
    }

    pub(super) fn next_due(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |head| head.enqueued_at)
    }

    pub(super) fn release(&mut self, now: Time) -> Option<Packet> {
        if self.next_due() > now {
            return None;
        }
        self.packets.pop_front()
    }
}

/// Packets that each leave at their own time; those of the same nanosecond leave in order of arrival.
#[derive(Debug, Default)]
pub(super) struct ByTime {
    packets: BinaryHeap<Reverse<Due>>,
    arrived: u64,
    order: Order,
}

/// The order in which packets leave (RFC 4737).
#[derive(Debug, Default)]
pub(super) struct Order {
    /// One more than the number of the latest packet that has left.
    next_expected: u64,
}

impl Order {
    /// The packet with this arrival number leaves. True if it is reordered, that is, if a later one has left before
    /// it (RFC 4737 section 3.3).
    pub(super) fn leaves(&mut self, number: u64) -> bool {
        let reordered = number < self.next_expected;
        self.next_expected = self.next_expected.max(number + 1);
        reordered
    }
}

#[derive(Debug)]
struct Due {
    at: Time,
    number: u64,
    packet: Packet,
}

impl ByTime {
    /// Adds a packet that is due at `due`.
    pub(super) fn enter(&mut self, packet: Packet, due: Time) -> Passage {
        self.packets.push(Reverse(Due { at: due, number: self.arrived, packet }));
        self.arrived += 1;
        Passage::Held
    }

    pub(super) fn next_due(&self) -> Time {
        self.packets.peek().map_or(Time::NEVER, |Reverse(head)| head.at)
    }

    /// Counts in `reordered` the packets that leave after a later one.
    pub(super) fn release(&mut self, now: Time, reordered: &mut u64) -> Option<Packet> {
        if self.next_due() > now {
            return None;
        }
        let Reverse(Due { number, packet, .. }) = self.packets.pop()?;
        *reordered += u64::from(self.order.leaves(number));
        Some(packet)
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Due {}
