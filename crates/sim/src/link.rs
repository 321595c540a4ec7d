//! A link: a queue, and a transmitter that serialises one packet at a time.

mod params;
mod ring;

use std::sync::Arc;

use windtunnel_qdisc::{Departure, Incident, Limit, QueueCx, QueueDiscipline, QueueStats};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::Packet;

use crate::network::LinkSpec;
use crate::rate_trace::{RateTrace, TraceCursor};

pub use params::{Change, DequeuePoint, LinkParams, LinkRate};
use ring::Ring;

/// No packet is shorter, in bytes: an IP header.
const LEAST_PACKET: u64 = 20;

/// The state of the transmitter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transmitter {
    Idle,
    /// The packet that the queue has chosen is on the wire and still counts as queued ([`DequeuePoint::End`]).
    Chosen,
    /// The packet in the slot [`Link::wire`] is on the wire ([`DequeuePoint::Start`]).
    Departed,
    /// A shaper holds its packets back.
    Waiting,
}

/// A link of the network.
#[derive(Debug)]
pub(crate) struct Link {
    queue: Box<dyn QueueDiscipline>,
    /// What the queue knows of the link, and has accounted for. The rate of a trace is its mean; headers below IP count
    /// in the queue and on the wire.
    cx: QueueCx,
    trace: Option<(Arc<RateTrace>, TraceCursor)>,
    dequeue_point: DequeuePoint,
    transmitter: Transmitter,
    /// The packet that has left the queue and is on the wire, in the slot `wire`. In the other slot, the packet that has
    /// left the link in this event: it stays where it is, because to move a packet takes a dozen instructions.
    slots: [Option<Packet>; 2],
    wire: usize,
    /// The packets behind it that have left the queue, if the device takes any.
    ring: Option<Box<Ring>>,
    /// How the last packet left the queue; with a ring, how the one on the wire did.
    departure: Departure,
    /// How the packet left the queue that has left the link.
    left_by: Departure,
    /// The discipline asked for a timer when it was made; a discipline that did not never will.
    timed: bool,
    /// The time of the discipline's timer as [`Link::moved_timer`] told it last.
    timer: Time,
    /// The last length serialised and its duration: most packets have the same length.
    last_transfer: (Bytes, Duration),
    busy_since: Time,
    busy: Duration,
}

impl Link {
    /// # Panics
    /// If the parameters are out of range.
    pub(crate) fn new(spec: LinkSpec, deliver_drops: bool) -> Link {
        if let Err(error) = spec.params.check() {
            panic!("{}: {error}", spec.name);
        }
        Link {
            timed: spec.queue.next_timer().is_some(),
            timer: Time::NEVER,
            queue: spec.queue,
            cx: QueueCx::new(spec.rate.mean(), spec.params.overhead, deliver_drops),
            trace: match spec.rate {
                LinkRate::Fixed(_) => None,
                LinkRate::Trace { opportunities, .. } => Some((opportunities, TraceCursor::default())),
            },
            dequeue_point: spec.params.dequeue_point.unwrap_or_default(),
            transmitter: Transmitter::Idle,
            slots: [None, None],
            wire: 0,
            ring: Ring::new(spec.params.ring),
            departure: Departure::NONE,
            left_by: Departure::NONE,
            last_transfer: (Bytes::ZERO, Duration::ZERO),
            busy_since: Time::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// Whether no two packets leave at the same moment, if `most` is the highest rate to which it changes.
    pub(crate) fn spreads(&self, most: Rate) -> bool {
        let least = most.max(self.cx.rate).transfer_time(Bytes::new(LEAST_PACKET));
        self.trace.is_none() && !least.is_zero()
    }

    /// A packet arrives, and is taken from its place. Returns the time of the transmitter's next event, if it changed.
    #[inline]
    pub(crate) fn arrive(&mut self, place: &mut Option<Packet>, now: Time) -> Option<Time> {
        if self.cx.overhead != Bytes::ZERO {
            frame(place, self.cx.overhead);
        }
        self.queue.enqueue_from(place, self.cx.at(now));
        match self.transmitter {
            Transmitter::Idle | Transmitter::Waiting => Some(self.start(now)),
            Transmitter::Chosen | Transmitter::Departed => {
                if self.ring.is_some() {
                    self.fill_ring(now);
                }
                None
            }
        }
    }

    /// The transmitter's event: the packet on the wire has left the link, unless the queue dropped it at the end of its
    /// transmission, and the next transmission starts. The packet waits in [`Link::leaving`]. Returns the time of the
    /// transmitter's next event.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn complete(&mut self, now: Time) -> Time {
        match std::mem::replace(&mut self.transmitter, Transmitter::Idle) {
            Transmitter::Chosen => {
                self.busy += now.since(self.busy_since);
                let next = self.queue.serve_and_choose(&mut self.slots[self.wire ^ 1], self.cx.at(now));
                self.left_by = self.cx.departure();
                self.transmit(next, Transmitter::Chosen, now)
            }
            Transmitter::Departed => {
                self.busy += now.since(self.busy_since);
                self.wire ^= 1;
                self.left_by = self.departure;
                self.start(now)
            }
            Transmitter::Idle | Transmitter::Waiting => self.start(now),
        }
    }

    /// How the packet left the queue that has left in this event.
    #[inline]
    pub(crate) const fn left_by(&self) -> Departure {
        self.left_by
    }

    /// The packet that has left in this event, with the headers that it had before the link.
    #[inline]
    pub(crate) fn leaving(&mut self) -> Option<&mut Packet> {
        if self.cx.overhead != Bytes::ZERO {
            self.unframe();
        }
        self.slots[self.wire ^ 1].as_mut()
    }

    #[cold]
    fn unframe(&mut self) {
        if let Some(packet) = &mut self.slots[self.wire ^ 1] {
            packet.unframe(self.cx.overhead);
        }
    }

    /// The same packet, as it is.
    #[inline]
    pub(crate) fn left(&self) -> Option<&Packet> {
        self.slots[self.wire ^ 1].as_ref()
    }

    /// The place of that packet.
    #[inline]
    pub(crate) const fn left_mut(&mut self) -> &mut Option<Packet> {
        &mut self.slots[self.wire ^ 1]
    }

    /// Starts a transmission, if there is a packet. Returns the time of the transmitter's next event.
    #[inline(never)]
    fn start(&mut self, now: Time) -> Time {
        match self.dequeue_point {
            DequeuePoint::End => {
                let size = self.queue.choose(self.cx.at(now));
                self.transmit(size, Transmitter::Chosen, now)
            }
            DequeuePoint::Start => {
                if self.ring.is_none() {
                    self.queue.dequeue_into(&mut self.slots[self.wire], self.cx.at(now));
                    self.departure = self.cx.departure();
                } else {
                    self.slots[self.wire] = self.take_from_ring(now);
                }
                let size = self.slots[self.wire].as_ref().map(Packet::size);
                self.transmit(size, Transmitter::Departed, now)
            }
        }
    }

    /// The packet that the wire gets next, by way of the ring.
    #[cold]
    fn take_from_ring(&mut self, now: Time) -> Option<Packet> {
        self.fill_ring(now);
        let (packet, departure) = self.ring.as_mut()?.pop()?;
        self.departure = departure;
        self.fill_ring(now);
        Some(packet)
    }

    /// The driver takes packets out of the queue while its ring has room.
    #[cold]
    fn fill_ring(&mut self, now: Time) {
        while self.ring.as_ref().is_some_and(|ring| ring.has_room()) {
            let Some(packet) = self.queue.dequeue(self.cx.at(now)) else { break };
            let departure = self.cx.departure();
            if let Some(ring) = &mut self.ring {
                ring.push(packet, departure);
            }
        }
    }

    /// Transmits a packet of `size`, if there is one. Returns the time of the transmitter's next event.
    #[inline]
    fn transmit(&mut self, size: Option<Bytes>, transmitter: Transmitter, now: Time) -> Time {
        let Some(size) = size else { return self.wait(now) };
        self.transmitter = transmitter;
        self.busy_since = now;
        match &mut self.trace {
            None => now + self.transfer_time(size),
            Some((trace, cursor)) => cursor.transmit(trace, size, now),
        }
    }

    /// No packet may leave now. Returns when one may.
    #[cold]
    fn wait(&mut self, now: Time) -> Time {
        let ready = self.queue.next_ready(now);
        self.transmitter = if ready.is_some() { Transmitter::Waiting } else { Transmitter::Idle };
        ready.unwrap_or(Time::NEVER)
    }

    /// Sets the rate, from the next packet on; a trace ends.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.cx.rate = rate;
        self.trace = None;
        self.last_transfer = (Bytes::ZERO, Duration::ZERO);
    }

    /// Sets the limit of the queue, if it has one that may change; queued packets stay.
    pub(crate) fn set_limit(&mut self, limit: Limit) {
        if let Some(room) = self.queue.room() {
            room.set(limit);
        }
    }

    pub(crate) const fn stats(&self) -> &QueueStats {
        &self.cx.accounts.total
    }

    /// Reads the counters of the queue's bands; none for a queue without separate bands. Packets on the wire and in the ring
    /// count as leaving when they have left the link, as they do in the queue's own record.
    pub(crate) fn read_bands(&self, into: &mut Vec<QueueStats>) {
        into.clear();
        into.extend_from_slice(&self.cx.accounts.bands);
        let on_wire = self.slots[self.wire].iter().map(|packet| (packet, &self.departure));
        let in_ring =
            self.ring.iter().flat_map(|ring| ring.iter()).map(|(packet, departure)| (packet, departure));
        for (packet, departure) in on_wire.chain(in_ring) {
            if let Some(band) = departure.band() {
                into[band].return_packet(packet.size() - self.cx.overhead, departure);
            }
        }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.cx.rate
    }

    pub(crate) fn queue(&self) -> &dyn QueueDiscipline {
        self.queue.as_ref()
    }

    /// The packets that have left the queue and not the link: the one on the wire, and those in the ring.
    pub(crate) fn holds(&self) -> usize {
        usize::from(self.transmitter == Transmitter::Departed)
            + self.ring.as_ref().map_or(0, |ring| ring.len())
    }

    /// When the discipline wants its timer called.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        if self.timed { self.queue.next_timer() } else { None }
    }

    /// The same, if it has changed since the last call.
    #[inline]
    pub(crate) fn moved_timer(&mut self) -> Option<Time> {
        let next = self.next_timer()?;
        (std::mem::replace(&mut self.timer, next) != next).then_some(next)
    }

    /// Packets in the queue.
    #[inline]
    pub(crate) const fn backlog(&self) -> u64 {
        self.cx.accounts.total.queued()
    }

    /// The discipline's timer.
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.queue.on_timer(self.cx.at(now));
    }

    /// Whether the queue has dropped or marked packets that are not recorded yet.
    #[inline]
    pub(crate) const fn has_incidents(&self) -> bool {
        !self.cx.incidents.is_empty()
    }

    /// Takes what the queue has dropped or marked, for `other`, which is empty.
    pub(crate) const fn swap_incidents(&mut self, other: &mut Vec<Incident>) {
        std::mem::swap(&mut self.cx.incidents, other);
    }

    /// The time that the transmitter was busy since the last call.
    pub(crate) fn take_busy(&mut self, now: Time) -> Duration {
        if matches!(self.transmitter, Transmitter::Chosen | Transmitter::Departed) {
            self.busy += now.since(self.busy_since);
            self.busy_since = now;
        }
        std::mem::take(&mut self.busy)
    }

    #[inline]
    fn transfer_time(&mut self, size: Bytes) -> Duration {
        if self.last_transfer.0 != size {
            self.last_transfer = (size, self.cx.rate.transfer_time(size));
        }
        self.last_transfer.1
    }
}

/// A packet gets the headers of the link.
#[cold]
fn frame(place: &mut Option<Packet>, overhead: Bytes) {
    if let Some(packet) = place {
        packet.frame(overhead);
    }
}
