//! A link: a queue, and a transmitter that serialises one packet at a time.

use std::sync::Arc;

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Incident, QueueCx, QueueDiscipline, QueueStats};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::Packet;

use crate::network::{DequeuePoint, LinkRate, LinkSpec};
use crate::rate_trace::{RateTrace, TraceCursor};

/// What the transmitter does.
#[derive(Debug)]
enum Transmitter {
    Idle,
    /// The head of the queue is on the wire, and still queued ([`DequeuePoint::End`]).
    Head,
    /// This packet is on the wire ([`DequeuePoint::Start`]).
    Packet(Departure),
    /// A shaper holds its packets back.
    Waiting,
}

/// A packet that left the queue.
#[derive(Debug)]
pub(crate) struct Departure {
    pub(crate) packet: Packet,
    pub(crate) outcome: Outcome,
    pub(crate) sojourn: Duration,
    /// The queue was empty afterwards.
    pub(crate) emptied: bool,
}

/// What a link needs of the rest of the simulation for one call.
pub(crate) struct LinkCx<'a> {
    pub(crate) now: Time,
    pub(crate) deliver_drops: bool,
    pub(crate) incidents: &'a mut Vec<Incident>,
}

/// A link of the network.
#[derive(Debug)]
pub(crate) struct Link {
    queue: Box<dyn QueueDiscipline>,
    /// Of a trace, its mean.
    rate: Rate,
    trace: Option<(Arc<RateTrace>, TraceCursor)>,
    /// Headers below IP, of each packet.
    overhead: Bytes,
    dequeue_point: DequeuePoint,
    transmitter: Transmitter,
    stats: QueueStats,
    /// The discipline asked for a timer when it was made; one that does not never will.
    timed: bool,
    /// The last length serialised and the time that it took: most packets have one length.
    last_transfer: (Bytes, Duration),
    busy_since: Time,
    busy: Duration,
}

impl Link {
    pub(crate) fn new(spec: LinkSpec) -> Link {
        Link {
            timed: spec.queue.next_timer().is_some(),
            queue: spec.queue,
            rate: spec.rate.mean(),
            trace: match spec.rate {
                LinkRate::Fixed(_) => None,
                LinkRate::Trace(trace) => Some((trace, TraceCursor::default())),
            },
            overhead: spec.overhead,
            dequeue_point: spec.dequeue_point,
            transmitter: Transmitter::Idle,
            stats: QueueStats::default(),
            last_transfer: (Bytes::ZERO, Duration::ZERO),
            busy_since: Time::ZERO,
            busy: Duration::ZERO,
        }
    }

    /// A packet arrives. Returns when the transmitter's next event is, if that changed.
    #[inline]
    pub(crate) fn arrive(&mut self, packet: Packet, cx: &mut LinkCx<'_>) -> Option<Time> {
        let mut queue_cx = QueueCx::new(cx.now, self.rate, cx.deliver_drops, &mut self.stats, cx.incidents);
        self.queue.enqueue(packet, &mut queue_cx);
        match self.transmitter {
            Transmitter::Idle | Transmitter::Waiting => Some(self.start(cx)),
            Transmitter::Head | Transmitter::Packet(_) => None,
        }
    }

    /// The transmitter's event: a packet has left the link (if any). Call [`Link::start`] afterwards.
    #[inline]
    pub(crate) fn complete(&mut self, cx: &mut LinkCx<'_>) -> Option<Departure> {
        match std::mem::replace(&mut self.transmitter, Transmitter::Idle) {
            Transmitter::Head => {
                self.busy += cx.now.since(self.busy_since);
                self.dequeue(cx)
            }
            Transmitter::Packet(departure) => {
                self.busy += cx.now.since(self.busy_since);
                Some(departure)
            }
            Transmitter::Idle | Transmitter::Waiting => None,
        }
    }

    /// Starts the next transmission, if there is one. Returns the time of the transmitter's next event.
    #[inline]
    pub(crate) fn start(&mut self, cx: &mut LinkCx<'_>) -> Time {
        let Some(ready) = self.queue.next_ready(cx.now) else {
            self.transmitter = Transmitter::Idle;
            return Time::NEVER;
        };
        if ready > cx.now {
            self.transmitter = Transmitter::Waiting;
            return ready;
        }
        let size = match self.dequeue_point {
            DequeuePoint::End => match self.queue.head_size() {
                Some(size) => {
                    self.transmitter = Transmitter::Head;
                    size
                }
                None => return Time::NEVER,
            },
            DequeuePoint::Start => match self.dequeue(cx) {
                Some(departure) => {
                    let size = departure.packet.size();
                    self.transmitter = Transmitter::Packet(departure);
                    size
                }
                None => return Time::NEVER,
            },
        };
        self.busy_since = cx.now;
        match &mut self.trace {
            None => cx.now + self.transfer_time(size),
            Some((trace, cursor)) => cursor.transmit(trace, size + self.overhead, cx.now),
        }
    }

    /// Sets the rate, from the next packet on; a trace ends.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.trace = None;
        self.last_transfer = (Bytes::ZERO, Duration::ZERO);
    }

    pub(crate) const fn stats(&self) -> &QueueStats {
        &self.stats
    }

    pub(crate) const fn rate(&self) -> Rate {
        self.rate
    }

    pub(crate) fn queue(&self) -> &dyn QueueDiscipline {
        self.queue.as_ref()
    }

    /// True while a packet that has left the queue is on the wire.
    pub(crate) const fn holds_packet(&self) -> bool {
        matches!(self.transmitter, Transmitter::Packet(_))
    }

    /// When the discipline wants its timer called.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        if self.timed { self.queue.next_timer() } else { None }
    }

    /// Packets in the queue.
    #[inline]
    pub(crate) const fn backlog(&self) -> u64 {
        self.stats.arrived - self.stats.departed - self.stats.lost
    }

    /// The discipline's timer.
    pub(crate) fn on_timer(&mut self, cx: &mut LinkCx<'_>) {
        let mut queue_cx = QueueCx::new(cx.now, self.rate, cx.deliver_drops, &mut self.stats, cx.incidents);
        self.queue.on_timer(&mut queue_cx);
    }

    /// The time that the transmitter was busy since the last call.
    pub(crate) fn take_busy(&mut self, now: Time) -> Duration {
        if matches!(self.transmitter, Transmitter::Head | Transmitter::Packet(_)) {
            self.busy += now.since(self.busy_since);
            self.busy_since = now;
        }
        std::mem::take(&mut self.busy)
    }

    fn dequeue(&mut self, cx: &mut LinkCx<'_>) -> Option<Departure> {
        let mut queue_cx = QueueCx::new(cx.now, self.rate, cx.deliver_drops, &mut self.stats, cx.incidents);
        let packet = self.queue.dequeue(&mut queue_cx)?;
        let (outcome, sojourn) = queue_cx.departure().unwrap_or((Outcome::Passed, Duration::ZERO));
        Some(Departure { packet, outcome, sojourn, emptied: self.backlog() == 0 })
    }

    #[inline]
    fn transfer_time(&mut self, size: Bytes) -> Duration {
        if self.last_transfer.0 != size {
            self.last_transfer = (size, self.rate.transfer_time(size + self.overhead));
        }
        self.last_transfer.1
    }
}
