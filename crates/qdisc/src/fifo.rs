//! First in, first out, with any AQM and a limit (spec/queues-and-signalling section 1; Linux `sch_fifo`).
//!
//! A packet that does not fit is lost before the AQM hears of it; with head drop, room is made at the head
//! instead, and the signal is one queueing delay earlier. Packets that are queued stay when a limit that
//! depends on the rate shrinks.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::Packet;

use crate::aqm::{Aqm, NoAqm, PacketView, QueueView, Verdict};
use crate::discipline::{Backlog, DropReason, QueueCx, QueueDiscipline};
use crate::ecn::{EcnPolicy, Outcome};

/// How much a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limit {
    /// As much as arrives.
    #[default]
    Unlimited,
    /// This many packets.
    Packets(usize),
    /// This many bytes.
    Bytes(Bytes),
    /// What the link drains within this time at its current rate.
    Time(Duration),
}

/// One queue, in order of arrival.
#[derive(Debug)]
pub struct Fifo<A> {
    aqm: A,
    ecn: EcnPolicy,
    limit: Limit,
    head_drop: bool,
    packets: VecDeque<Packet>,
    bytes: Bytes,
    /// What [`Limit::Time`] amounts to at a rate: rates change seldom.
    time_limit: (Rate, Bytes),
}

impl<A: Aqm> Fifo<A> {
    /// Room that is allocated at once: about 100 ms at 100 Mbit/s. The queue doubles it as needed and
    /// never gives it back, so that a warm queue allocates nothing.
    const CAPACITY: usize = 1024;

    /// An empty queue.
    pub fn new(aqm: A, ecn: EcnPolicy, limit: Limit) -> Fifo<A> {
        Fifo {
            aqm,
            ecn,
            limit,
            head_drop: false,
            packets: VecDeque::with_capacity(Fifo::<A>::CAPACITY),
            bytes: Bytes::ZERO,
            time_limit: (Rate::ZERO, Bytes::ZERO),
        }
    }

    /// True if `size` more bytes are within the limit.
    #[inline]
    fn fits(&mut self, size: Bytes, rate: Rate) -> bool {
        match self.limit {
            Limit::Unlimited => true,
            Limit::Packets(limit) => self.packets.len() < limit,
            Limit::Bytes(limit) => self.bytes + size <= limit,
            // 8 * bytes / rate <= limit, without a division per packet.
            Limit::Time(limit) => {
                if self.time_limit.0 != rate {
                    self.time_limit = (rate, rate * limit);
                }
                self.bytes + size <= self.time_limit.1
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.size();
        Some(packet)
    }

    #[inline]
    fn view(&self, now: Time, rate: Rate) -> QueueView {
        QueueView {
            now,
            packets: self.packets.len(),
            bytes: self.bytes,
            head_waiting: self.packets.front().map(|head| now.since(head.enqueued_at)),
            rate,
        }
    }
}

impl Fifo<NoAqm> {
    /// Whether a packet that does not fit drives out the oldest ones instead of being lost itself. Only
    /// without an AQM, which would not see them leave.
    #[must_use]
    pub fn with_head_drop(mut self, head_drop: bool) -> Fifo<NoAqm> {
        self.head_drop = head_drop;
        self
    }
}

impl<A: Aqm> QueueDiscipline for Fifo<A> {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx<'_>) {
        cx.arrived();
        let size = packet.size();
        let class = self.ecn.classify(&packet);
        let full = !self.fits(size, cx.rate);
        if full {
            if cx.deliver_drops {
                // Nothing may be lost, so no room can be made: it is the arriving packet in any case.
                self.ecn.apply(Verdict::Drop, class, &mut packet, true);
                cx.count_drop(&packet, DropReason::Full);
            } else {
                while self.head_drop && !self.fits(size, cx.rate) {
                    let Some(head) = self.pop() else { break };
                    cx.drop(head, DropReason::Full);
                }
                if !self.fits(size, cx.rate) {
                    self.aqm.on_full();
                    cx.drop(packet, DropReason::Full);
                    return;
                }
            }
        }
        let view = PacketView { size, class, sojourn: Duration::ZERO };
        let mut verdict = self.aqm.on_enqueue(&view, &self.view(cx.now, cx.rate));
        if full && cx.deliver_drops {
            // A packet is dropped once.
            self.aqm.on_full();
            verdict = Verdict::Pass;
        }
        match self.ecn.apply(verdict, class, &mut packet, cx.deliver_drops) {
            Outcome::Passed => {}
            Outcome::Marked(signal) => cx.marked(&packet, signal),
            Outcome::Drop if cx.deliver_drops => cx.count_drop(&packet, DropReason::Aqm),
            Outcome::Drop => {
                cx.drop(packet, DropReason::Aqm);
                return;
            }
        }
        packet.enqueued_at = cx.now;
        self.bytes += size;
        self.packets.push_back(packet);
    }

    fn dequeue(&mut self, cx: &mut QueueCx<'_>) -> Option<Packet> {
        loop {
            let mut packet = self.pop()?;
            let class = self.ecn.classify(&packet);
            let sojourn = cx.now.since(packet.enqueued_at);
            let view = PacketView { size: packet.size(), class, sojourn };
            let verdict = self.aqm.on_dequeue(&view, &self.view(cx.now, cx.rate));
            let outcome = self.ecn.apply(verdict, class, &mut packet, cx.deliver_drops);
            if outcome == Outcome::Drop && !cx.deliver_drops {
                cx.drop(packet, DropReason::Aqm);
                continue;
            }
            cx.departed(&packet, outcome, sojourn);
            return Some(packet);
        }
    }

    #[inline]
    fn head_size(&self) -> Option<Bytes> {
        self.packets.front().map(Packet::size)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len(), bytes: self.bytes }
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx<'_>) {
        self.aqm.on_timer(&self.view(cx.now, cx.rate));
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(out);
    }
}
