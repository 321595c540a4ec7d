//! A link: a queue, and a transmitter that serialises one packet at a time.

mod params;
mod ring;

use std::sync::Arc;

use windtunnel_qdisc::{Accounts, Departure, Incident, Limit, QueueCx, QueueDiscipline, QueueStats};
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
    /// The packet [`Link::on_wire`] is on the wire ([`DequeuePoint::Start`]).
    Departed,
    /// A shaper holds its packets back.
    Waiting,
}

/// What a link needs from the rest of the simulation for one call.
pub(crate) struct LinkCx<'a> {
    pub(crate) now: Time,
    pub(crate) incidents: &'a mut Vec<Incident>,
}

/// A link of the network.
#[derive(Debug)]
pub(crate) struct Link {
    queue: Box<dyn QueueDiscipline>,
    /// For a trace, its mean.
    rate: Rate,
    /// Packets that the queue would drop are delivered ([`QueueCx::deliver_drops`]).
    deliver_drops: bool,
    trace: Option<(Arc<RateTrace>, TraceCursor)>,
    /// Headers below IP, of each packet: they count in the queue and on the wire.
    overhead: Bytes,
    dequeue_point: DequeuePoint,
    transmitter: Transmitter,
    /// The packet that has left the queue and is on the wire.
    on_wire: Option<Packet>,
    /// The packet that has left the link in this event: in a place of its own, because a packet that is taken apart on
    /// its way costs 50 instructions.
    leaving: Option<Packet>,
    /// The packets behind it that have left the queue, if the device takes any.
    ring: Option<Box<Ring>>,
    /// How the last packet left the queue; with a ring, how the one on the wire did.
    departure: Departure,
    accounts: Accounts,
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
            rate: spec.rate.mean(),
            deliver_drops,
            trace: match spec.rate {
                LinkRate::Fixed(_) => None,
                LinkRate::Trace { opportunities, .. } => Some((opportunities, TraceCursor::default())),
            },
            overhead: spec.params.overhead,
            dequeue_point: spec.params.dequeue_point.unwrap_or_default(),
            transmitter: Transmitter::Idle,
            on_wire: None,
            leaving: None,
            ring: Ring::new(spec.params.ring),
            departure: Departure::NONE,
            accounts: Accounts::default(),
            last_transfer: (Bytes::ZERO, Duration::ZERO),
            busy_since: Time::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// Whether no two packets leave at the same moment, if `most` is the highest rate to which it changes.
    pub(crate) fn spreads(&self, most: Rate) -> bool {
        let least = most.max(self.rate).transfer_time(Bytes::new(LEAST_PACKET));
        self.trace.is_none() && !least.is_zero()
    }

    /// A packet arrives, and is taken from its place. Returns the time of the transmitter's next event, if it changed.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: &mut Option<Packet>, cx: &mut LinkCx<'_>) -> Option<Time> {
        let mut packet = packet.take()?;
        if self.overhead != Bytes::ZERO {
            packet.frame(self.overhead);
        }
        self.queue.enqueue(
            packet,
            &mut queue_cx(self.rate, self.overhead, self.deliver_drops, &mut self.accounts, cx),
        );
        match self.transmitter {
            Transmitter::Idle | Transmitter::Waiting => Some(self.start(cx)),
            Transmitter::Chosen | Transmitter::Departed => {
                if self.ring.is_some() {
                    self.fill_ring(cx);
                }
                None
            }
        }
    }

    /// The transmitter's event: the packet on the wire has left the link, unless the queue dropped it at the end of its
    /// transmission, and the next transmission starts. The packet waits in [`Link::leaving`]. Returns how it left the
    /// queue, and the time of the transmitter's next event.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub(crate) fn complete(&mut self, cx: &mut LinkCx<'_>) -> (Departure, Time) {
        match std::mem::replace(&mut self.transmitter, Transmitter::Idle) {
            Transmitter::Chosen => {
                self.busy += cx.now.since(self.busy_since);
                let mut next = None;
                self.leaving = self.leave(cx, |queue, cx| queue.serve_and_choose(&mut next, cx));
                (self.departure, self.transmit(next, Transmitter::Chosen, cx.now))
            }
            Transmitter::Departed => {
                self.busy += cx.now.since(self.busy_since);
                self.leaving = self.on_wire.take();
                (self.departure, self.start(cx))
            }
            Transmitter::Idle | Transmitter::Waiting => (Departure::NONE, self.start(cx)),
        }
    }

    /// The packet that has left in this event, with the headers that it had before the link.
    #[inline]
    pub(crate) fn leaving(&mut self) -> Option<&mut Packet> {
        if self.overhead != Bytes::ZERO {
            self.unframe();
        }
        self.leaving.as_mut()
    }

    #[cold]
    fn unframe(&mut self) {
        if let Some(packet) = &mut self.leaving {
            packet.unframe(self.overhead);
        }
    }

    /// The same packet, as it is.
    #[inline]
    pub(crate) fn left(&self) -> Option<&Packet> {
        self.leaving.as_ref()
    }

    /// Takes that packet.
    #[inline]
    pub(crate) fn take_leaving(&mut self) -> Option<Packet> {
        self.leaving.take()
    }

    /// Starts a transmission, if there is a packet. Returns the time of the transmitter's next event.
    #[inline(never)]
    fn start(&mut self, cx: &mut LinkCx<'_>) -> Time {
        match self.dequeue_point {
            DequeuePoint::End => {
                let mut queue_cx =
                    queue_cx(self.rate, self.overhead, self.deliver_drops, &mut self.accounts, cx);
                let size = self.queue.choose(&mut queue_cx);
                self.transmit(size, Transmitter::Chosen, cx.now)
            }
            DequeuePoint::Start => {
                self.on_wire = match &mut self.ring {
                    None => self.leave(cx, |queue, cx| queue.dequeue(cx)),
                    Some(_) => self.take_from_ring(cx),
                };
                let size = self.on_wire.as_ref().map(Packet::size);
                self.transmit(size, Transmitter::Departed, cx.now)
            }
        }
    }

    /// The packet that the wire gets next, by way of the ring.
    #[cold]
    fn take_from_ring(&mut self, cx: &mut LinkCx<'_>) -> Option<Packet> {
        self.fill_ring(cx);
        let (packet, departure) = self.ring.as_mut()?.pop()?;
        self.departure = departure;
        self.fill_ring(cx);
        Some(packet)
    }

    /// The driver takes packets out of the queue while its ring has room.
    #[cold]
    fn fill_ring(&mut self, cx: &mut LinkCx<'_>) {
        let on_wire = self.departure;
        while self.ring.as_ref().is_some_and(|ring| ring.has_room()) {
            let Some(packet) = self.leave(cx, |queue, cx| queue.dequeue(cx)) else { break };
            let departure = self.departure;
            if let Some(ring) = &mut self.ring {
                ring.push(packet, departure);
            }
        }
        self.departure = on_wire;
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
        self.rate = rate;
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
        &self.accounts.total
    }

    /// Reads the counters of the queue's bands; none for a queue without separate bands. Packets on the wire and in the ring
    /// count as leaving when they have left the link, as they do in the queue's own record.
    pub(crate) fn read_bands(&self, into: &mut Vec<QueueStats>) {
        into.clear();
        into.extend_from_slice(&self.accounts.bands);
        let on_wire = self.on_wire.iter().map(|packet| (packet, &self.departure));
        let in_ring =
            self.ring.iter().flat_map(|ring| ring.iter()).map(|(packet, departure)| (packet, departure));
        for (packet, departure) in on_wire.chain(in_ring) {
            if let Some(band) = departure.band() {
                into[band].return_packet(packet.size() - self.overhead, departure);
            }
        }
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
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
        self.accounts.total.queued()
    }

    /// The discipline's timer.
    pub(crate) fn on_timer(&mut self, cx: &mut LinkCx<'_>) {
        self.queue.on_timer(&mut queue_cx(
            self.rate,
            self.overhead,
            self.deliver_drops,
            &mut self.accounts,
            cx,
        ));
    }

    /// The time that the transmitter was busy since the last call.
    pub(crate) fn take_busy(&mut self, now: Time) -> Duration {
        if matches!(self.transmitter, Transmitter::Chosen | Transmitter::Departed) {
            self.busy += now.since(self.busy_since);
            self.busy_since = now;
        }
        std::mem::take(&mut self.busy)
    }

    /// A packet leaves the queue by `step`, if one does.
    #[inline]
    fn leave(
        &mut self,
        cx: &mut LinkCx<'_>,
        step: impl FnOnce(&mut dyn QueueDiscipline, &mut QueueCx<'_>) -> Option<Packet>,
    ) -> Option<Packet> {
        let mut queue_cx = queue_cx(self.rate, self.overhead, self.deliver_drops, &mut self.accounts, cx);
        let packet = step(self.queue.as_mut(), &mut queue_cx);
        self.departure = queue_cx.departure();
        packet
    }

    #[inline]
    fn transfer_time(&mut self, size: Bytes) -> Duration {
        if self.last_transfer.0 != size {
            self.last_transfer = (size, self.rate.transfer_time(size));
        }
        self.last_transfer.1
    }
}

/// The queue's context for one call.
#[inline]
const fn queue_cx<'c>(
    rate: Rate,
    overhead: Bytes,
    deliver_drops: bool,
    accounts: &'c mut Accounts,
    cx: &'c mut LinkCx<'_>,
) -> QueueCx<'c> {
    let mut of_queue = QueueCx::new(cx.now, rate, deliver_drops, accounts, cx.incidents);
    of_queue.overhead = overhead;
    of_queue
}
