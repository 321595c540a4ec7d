//! First in, first out, with any AQM and a limit (spec/queues-and-signalling section 1; Linux `sch_fifo`).
//!
//! A packet that does not fit is lost before the AQM hears of it; with head drop, room is made at the head
//! instead, and the signal is one queueing delay earlier.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, NoAqm};
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::ecn::{EcnMode, EcnPolicy};
use crate::gate::Gate;
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, QueueInit, QueueParams};
use crate::spec::Parts;

/// The plain queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Linux sch_fifo; RFC 9743 section 5.1",
    "x-title" = "FIFO",
    "x-traits" = ["passive"]
))]
pub struct FifoParams {
    /// Whether a full queue loses its oldest packets instead of the arriving one.
    pub headdrop: bool,
}

impl Params for FifoParams {
    const NAME: &'static str = "fifo";
    const ALIASES: &'static [&'static str] = &["pfifo", "bfifo"];
    const SUMMARY: &'static str = "First in, first out; signals only by the limit";
}

impl FifoParams {
    /// The limit of Linux's pfifo is the device's `txqueuelen`, which is 1000 on Ethernet.
    pub(crate) const DEFAULT_LIMIT: Limit = Limit::Packets(1_000);
}

impl QueueParams for FifoParams {
    fn default_limit(&self) -> Limit {
        FifoParams::DEFAULT_LIMIT
    }

    /// Linux's.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        EcnMode::Rfc3168
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Fifo::new(NoAqm, init.ecn, init.limit).with_head_drop(self.headdrop))
    }
}

/// One band, in order of arrival.
#[derive(Debug)]
pub struct Fifo<A> {
    aqm: A,
    gate: Gate,
    room: Room,
    band: Band,
    head_drop: bool,
    /// The packet at the head has been chosen.
    chosen: bool,
}

impl<A: Aqm> Fifo<A> {
    /// An empty queue.
    pub fn new(aqm: A, ecn: EcnPolicy, limit: Limit) -> Fifo<A> {
        Fifo {
            aqm,
            gate: Gate::new(ecn),
            room: Room::new(limit),
            band: Band::new(),
            head_drop: false,
            chosen: false,
        }
    }

    /// The packet at the head leaves to a place that is empty, unless the AQM drops it.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn release_head(&mut self, place: &mut Option<Packet>, replaces: bool, cx: &mut QueueCx) {
        self.band.take_into(place);
        if let Some(leaving) = place {
            let view = self.band.view(cx);
            if !self.gate.lets_out(&mut self.aqm, leaving, replaces, &view, cx) {
                lose(place, DropReason::Aqm, cx);
            }
        }
    }

    /// The queue is empty, or the AQM has dropped the packet at the head: the first of the others that it lets pass leaves.
    #[cold]
    fn dequeue_in_place(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) {
        while self.band.head().is_some() && place.is_none() {
            self.release_head(place, true, cx);
        }
        if place.is_none() {
            self.aqm.on_empty(cx.now);
        }
    }

    /// Loses packets at the head until one of `size` fits, but not a packet that has been chosen.
    fn make_room(&mut self, size: Bytes, cx: &mut QueueCx) -> bool {
        while !self.room.takes(self.band.backlog(), size, cx) {
            let oldest = if self.chosen { self.band.pop_second() } else { self.band.pop() };
            let Some(oldest) = oldest else { return false };
            cx.drop(oldest, DropReason::Full);
        }
        true
    }
}

/// The packet of a place is lost.
#[cold]
fn lose(place: &mut Option<Packet>, reason: DropReason, cx: &mut QueueCx) {
    if let Some(packet) = place.take() {
        cx.drop(packet, reason);
    }
}

impl Fifo<NoAqm> {
    /// Whether a packet that does not fit drives out the oldest ones instead of being lost itself. Only
    /// without an AQM, which would not see them leave.
    #[must_use]
    fn with_head_drop(mut self, head_drop: bool) -> Fifo<NoAqm> {
        self.head_drop = head_drop;
        self
    }
}

impl<A: Aqm> QueueDiscipline for Fifo<A> {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        self.enqueue_from(&mut Some(packet), cx);
    }

    fn enqueue_from(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) {
        let Some(packet) = place else { return };
        let class = self.gate.classify(packet, cx);
        let size = packet.size();
        let mut overflows = false;
        if !self.room.takes(self.band.backlog(), size, cx) {
            // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
            let made = self.head_drop && !cx.deliver_drops && self.make_room(size, cx);
            overflows = !made;
            if overflows && !self.gate.overflows(&mut self.aqm, packet, class, cx) {
                return lose(place, DropReason::Full, cx);
            }
        }
        let view = self.band.view(cx);
        if self.gate.lets_in(&mut self.aqm, packet, class, overflows, &view, cx) {
            self.band.put(place);
        } else {
            lose(place, DropReason::Aqm, cx);
        }
    }

    #[inline]
    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        let size = self.band.head().map(Packet::size);
        self.chosen = size.is_some();
        if !self.chosen {
            self.aqm.on_empty(cx.now);
        }
        size
    }

    #[inline(never)]
    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut packet = None;
        if std::mem::take(&mut self.chosen) {
            self.release_head(&mut packet, cx.replaces, cx);
        }
        packet
    }

    fn serve_and_choose(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen {
            self.release_head(place, cx.replaces, cx);
        }
        self.choose(cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut packet = None;
        self.dequeue_into(&mut packet, cx);
        packet
    }

    fn dequeue_into(&mut self, place: &mut Option<Packet>, cx: &mut QueueCx) {
        self.chosen = false;
        self.release_head(place, false, cx);
        if place.is_none() {
            self.dequeue_in_place(place, cx);
        }
    }

    /// An AQM that decides on arrival leaves nothing to decide on departure: `sch_fifo`, and `sch_red` around it.
    fn peeks(&self) -> bool {
        self.aqm.is_on_arrival()
    }

    #[inline]
    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        self.band.backlog()
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        self.aqm.on_timer(&self.band.view(cx));
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(out);
    }
}
