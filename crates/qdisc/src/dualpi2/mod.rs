//! DualPI2: a low-latency queue for L4S traffic next to a classic one, coupled so that flows of both share the link.
//!
//! Source: RFC 9332 sections 2, 4.1 and appendix A; Linux `sch_dualpi2`; tc-dualpi2(8); spec/queues-and-signalling section
//! 8. Packets with ECT(1) or CE go to the queue "L", all others to "C". A PI controller holds the older of both heads at a
//! target delay ([`crate::aqm`], PI2): classic packets are signalled with p'^2, those of L are marked with k p', so that
//! classic traffic makes scalable traffic leave room for it, and additionally by the length of L itself. L goes first, within
//! limits ([`DualPi2Scheduler`]).
//!
//! Why the constants are what they are. k = 2 gives about equal rates to Reno and to a DCTCP-like flow whose round trips
//! differ by the target. L's own mark at 1 ms is far below the target, and rare while classic traffic keeps k p' above zero. 10 %
//! protect the classic queue from an unresponsive flow in L. The gains suit round trips of up to 100 ms (RFC 9332 appendix
//! A.1); Linux rounds them to 1/256 Hz. From k p' = 1 on marks cannot tell more, and drops of classic strength come in addition.
//!
//! With `mds = true` packets with the MDS identifier go to C, whatever ECN field they carry, and get SCE there.

mod laws;
mod native;
mod params;
mod scheduler;
mod slot;

pub use params::{DualPi2Params, DualPi2Variant};
pub use scheduler::DualPi2Scheduler;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{Dscp, Ecn, Packet};

use crate::accounts::QueueCx;
use crate::aqm::QueueView;
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::ecn::{EcnMode, EcnPolicy};
use crate::gate::Gate;
use crate::limit::Room;
use crate::params::QueueInit;
use laws::Laws;
use native::Native;
use scheduler::Scheduler;
use slot::Slot;

/// The bands.
const LOW_LATENCY: usize = 0;
const CLASSIC: usize = 1;

/// DualPI2's variables.
#[derive(Debug)]
struct DualPi2 {
    bands: [Band; 2],
    /// The classic queue's may know MDS; the low-latency queue's does not.
    gates: [Gate; 2],
    laws: Laws,
    scheduler: Scheduler,
    room: Room,
    /// The RFC keeps room for a packet of this size, whatever size arrives.
    largest: Bytes,
    memory_limit: Option<Bytes>,
    /// The identifier of packets that go to the classic queue.
    mds: Option<Dscp>,
    any_ect: bool,
    /// The band whose first packet leaves next.
    chosen: Option<usize>,
}

impl DualPi2 {
    /// The memory that a packet takes in addition to its length.
    const OVERHEAD: Bytes = Bytes::new(256);

    fn new(params: &DualPi2Params, native: Native, classic: Option<Slot>, init: &QueueInit) -> DualPi2 {
        let mds = params.mds.then_some(init.ecn.mds);
        let mode = if params.mds { EcnMode::Mds } else { init.ecn.mode };
        DualPi2 {
            bands: [Band::new(), Band::new()],
            gates: [Gate::new(init.ecn), Gate::new(EcnPolicy { mode, ..init.ecn })],
            laws: Laws::new(params, native, classic, &init.aqm()),
            scheduler: Scheduler::new(
                params.scheduler(),
                params.classic_protection(),
                params.tshift,
                params.mtu,
            ),
            room: Room::new(init.limit),
            largest: if params.variant == DualPi2Variant::Rfc { params.mtu } else { Bytes::ZERO },
            memory_limit: params.memlimit,
            mds,
            any_ect: params.any_ect,
            chosen: None,
        }
    }

    /// The band that a packet belongs to.
    #[inline]
    fn classify(&self, packet: &Packet) -> usize {
        let low_latency = match packet.ecn {
            Ecn::NotEct => false,
            Ecn::Ect0 => self.any_ect,
            Ecn::Ect1 | Ecn::Ce => true,
        };
        if low_latency && !self.mds.is_some_and(|mds| packet.is_mds(mds)) { LOW_LATENCY } else { CLASSIC }
    }

    #[inline]
    fn fits(&mut self, size: Bytes, cx: &QueueCx) -> bool {
        let backlog = self.backlog();
        let remembers =
            |limit: Bytes| backlog.bytes + size + DualPi2::OVERHEAD * (backlog.packets as u64 + 1) <= limit;
        self.room.takes(backlog, size.max(self.largest), cx) && self.memory_limit.is_none_or(remembers)
    }

    #[inline]
    fn view(&self, band: usize, cx: &QueueCx) -> QueueView {
        let Backlog { packets, bytes } = self.bands[band].backlog();
        QueueView {
            now: cx.now,
            packets,
            bytes,
            all_bytes: self.backlog().bytes + cx.held.bytes,
            // Only an AQM in a slot, and p' at its updates, look at it.
            head_waiting: self.laws.have_slots().then(|| self.bands[band].head_waiting(cx.now)).flatten(),
            rate: cx.rate,
        }
    }

    #[inline]
    fn has_packets(&self, band: usize) -> bool {
        self.bands[band].backlog().packets > 0
    }

    /// The band that sends next.
    #[inline]
    fn next_band(&mut self, now: Time) -> Option<usize> {
        let band = match (self.has_packets(LOW_LATENCY), self.has_packets(CLASSIC)) {
            (true, true) => {
                let waiting = |band: usize| self.bands[band].head_waiting(now).unwrap_or_default();
                return Some(self.scheduler.choose(waiting));
            }
            (true, false) => Some(LOW_LATENCY),
            (false, true) => Some(CLASSIC),
            (false, false) => {
                self.scheduler.reset();
                None
            }
        };
        if self.laws.have_slots() {
            self.tell_empty(now);
        }
        band
    }

    #[cold]
    fn tell_empty(&mut self, now: Time) {
        for band in [LOW_LATENCY, CLASSIC] {
            if !self.has_packets(band) {
                self.laws.on_empty(band, now);
            }
        }
    }

    /// The AQM has dropped the first packet of a band: the first of the others that it lets pass leaves.
    #[cold]
    fn dequeue_in_place(&mut self, mut dropped_from: usize, cx: &mut QueueCx) -> Option<Packet> {
        while let Some(band) = self.next_band(cx.now) {
            let packet = self.release(band, dropped_from == band, cx);
            if packet.is_some() {
                return packet;
            }
            dropped_from = band;
        }
        None
    }

    /// The first packet of a band leaves, unless the AQM drops it. `replaces`: see [`Gate::release`].
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let packet = self.bands[band].pop()?;
        cx.enter_band(band);
        let view = self.view(band, cx);
        let packet = self.gates[band].release(&mut self.laws.of(band), packet, replaces, &view, cx)?;
        // Packets that are dropped are not charged, and none while the other queue is empty.
        if self.has_packets(1 - band) {
            self.scheduler.sent(band, packet.size());
        }
        Some(packet)
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let band = self.classify(&packet);
        cx.enter_band(band);
        let mut arrival = self.gates[band].arrive(packet, cx);
        if !self.fits(arrival.packet().size(), cx) {
            match self.gates[band].refuse(&mut self.laws.of(band), arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        let view = self.view(band, cx);
        let Some(packet) = self.gates[band].admit(&mut self.laws.of(band), arrival, &view, cx) else {
            return;
        };
        if band == LOW_LATENCY {
            self.laws.stored(view.packets);
        }
        self.bands[band].push(packet);
    }

    #[inline]
    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen.is_none() {
            self.chosen = self.next_band(cx.now);
        }
        self.bands[self.chosen?].head().map(Packet::size)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.chosen.take()?;
        self.release(band, false, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = match self.chosen.take() {
            Some(band) => band,
            None => self.next_band(cx.now)?,
        };
        let packet = self.release(band, false, cx);
        if packet.is_some() { packet } else { self.dequeue_in_place(band, cx) }
    }

    #[inline]
    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        let [low_latency, classic] = [LOW_LATENCY, CLASSIC].map(|band| self.bands[band].backlog());
        Backlog { packets: low_latency.packets + classic.packets, bytes: low_latency.bytes + classic.bytes }
    }

    fn next_timer(&self) -> Option<Time> {
        Some(self.laws.next_timer())
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let [low_latency, classic] = [LOW_LATENCY, CLASSIC].map(|band| QueueView {
            head_waiting: self.bands[band].head_waiting(cx.now),
            ..self.view(band, cx)
        });
        self.laws.on_timer([&low_latency, &classic]);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.laws.probe(out);
        self.laws.probe_low_latency(out);
        out("credit_bytes", self.scheduler.credit());
    }

    fn bands(&self) -> usize {
        self.bands.len()
    }

    fn band_name(&self, band: usize) -> String {
        (if band == LOW_LATENCY { "L" } else { "C" }).to_owned()
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.bands[band].backlog()
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.laws.probe_slot(band, out);
        if band == LOW_LATENCY {
            self.laws.probe_low_latency(out);
            out("credit_bytes", self.scheduler.credit());
        } else {
            self.laws.probe(out);
        }
    }
}
