//! A propagation delay, which may change during a run.

use windtunnel_prefetch::{prefetch, prefetch_behind};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::{FlowId, Packet, PacketRing};

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
    packets: PacketRing,
    /// When a packet entered last.
    last_entry: Time,
    /// How the delay changes; nothing if it does not.
    varying: Option<Varying>,
}

/// A delay that changes. A packet keeps the delay with which it enters.
#[derive(Clone, Copy, Debug)]
struct Varying {
    /// What a packet that enters now takes longer than with the shortest delay of the run.
    extra: Duration,
    /// Packets may overtake those that entered with a longer delay.
    reorder: bool,
    /// The latest stamp of any packet: in order, none has an earlier one after it.
    latest: Time,
}

impl Varying {
    /// The stamp of a packet that enters at `now`.
    fn stamp(&mut self, now: Time) -> Time {
        let stamp = now + self.extra;
        let stamp = if self.reorder { stamp } else { stamp.max(self.latest) };
        self.latest = self.latest.max(stamp);
        stamp
    }
}

impl DelayLine {
    pub(crate) fn new(delay: Duration, ranks: Ranks) -> DelayLine {
        DelayLine { delay, ranks, packets: PacketRing::new(), last_entry: Time::NEVER, varying: None }
    }

    /// A line whose delay will change, and is never shorter than `shortest`.
    pub(crate) fn varying(delay: Duration, shortest: Duration, ranks: Ranks) -> DelayLine {
        let extra = delay.saturating_sub(shortest);
        let varying = Varying { extra, reorder: false, latest: Time::ZERO };
        DelayLine { varying: Some(varying), ..DelayLine::new(shortest, ranks) }
    }

    /// An empty line like this one was when it was new.
    pub(crate) fn twin(&self) -> DelayLine {
        DelayLine { varying: self.varying, ..DelayLine::new(self.delay, self.ranks) }
    }

    /// The delay of each packet; none if it changes.
    pub(crate) fn fixed_delay(&self) -> Option<Duration> {
        self.varying.is_none().then_some(self.delay)
    }

    /// Packets that enter from now on take this long; `reorder` if they may overtake others.
    pub(crate) fn set_delay(&mut self, delay: Duration, reorder: bool) {
        let latest = self.varying.map_or(Time::ZERO, |varying| varying.latest);
        self.varying = Some(Varying { extra: delay.saturating_sub(self.delay), reorder, latest });
    }

    /// The packet of a place enters at the time with which it is stamped. Returns true if it is the head now.
    #[inline]
    pub(crate) fn enter(&mut self, place: &mut Option<Packet>) -> bool {
        let Some(packet) = place else { return false };
        let now = packet.enqueued_at;
        if std::mem::replace(&mut self.last_entry, now) == now || self.varying.is_some() {
            return self.enter_among(place);
        }
        self.packets.put(place);
        self.packets.len() == 1
    }

    /// A packet enters that may have to pass others: those that entered at the same time or, where the delay changes,
    /// with a longer delay. There it is stamped with the time at which it would have entered to arrive when it does, were
    /// the delay always the shortest.
    #[inline(never)]
    fn enter_among(&mut self, place: &mut Option<Packet>) -> bool {
        let Some(mut packet) = place.take() else { return false };
        if let Some(varying) = &mut self.varying {
            packet.enqueued_at = varying.stamp(packet.enqueued_at);
        }
        let entry = (packet.enqueued_at, self.ranks.of(packet.flow));
        let mut position = self.packets.len();
        while let Some(other) = position.checked_sub(1).and_then(|before| self.packets.get(before))
            && (other.enqueued_at, self.ranks.of(other.flow)) > entry
        {
            position -= 1;
        }
        self.packets.insert(position, packet);
        position == 0
    }

    /// The head leaves.
    #[inline]
    pub(crate) fn leave(&mut self) -> Option<Packet> {
        self.packets.pop()
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
        /// Each packet takes the delay with which it entered, and in order at least as long as the one before it.
        #[test]
        fn delays_change(
            steps in prop::collection::vec((0_u64..30, prop::option::of(5_u64..50), any::<bool>()), 1..100),
        ) {
            let shortest = steps.iter().filter_map(|step| step.1).min().unwrap_or(5).min(20);
            let mut line =
                DelayLine::varying(Duration::from_nanos(20), Duration::from_nanos(shortest), Ranks::same(0));
            let (mut delay, mut reorder, mut latest, mut due) = (20, false, 0, Vec::new());
            let mut now = 0;
            for (number, (passed, change, overtakes)) in (0_u64..).zip(steps) {
                now += passed;
                if let Some(new) = change {
                    (delay, reorder) = (new, overtakes);
                    line.set_delay(Duration::from_nanos(new), overtakes);
                }
                let arrives = if reorder { now + delay } else { (now + delay).max(latest) };
                latest = latest.max(arrives);
                due.push((arrives, number));
                line.enter(&mut Some(packet(0, number, Time::from_nanos(now))));
            }
            due.sort_unstable();
            for (arrives, number) in due {
                prop_assert_eq!(line.next().1, Time::from_nanos(arrives));
                prop_assert_eq!(line.leave().map(|packet| packet.size()), Some(Bytes::new(number)));
            }
        }

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
                    let is_head = shared.enter(&mut Some(packet(flow, number, now)));
                    prop_assert_eq!(is_head, shared.ahead(0).map(Packet::size) == Some(Bytes::new(number)));
                    apart[flow as usize].enter(&mut Some(packet(flow, number, now)));
                }
                prop_assert_eq!(shared.len(), apart.iter().map(DelayLine::len).sum::<usize>());
            }
        }
    }
}
