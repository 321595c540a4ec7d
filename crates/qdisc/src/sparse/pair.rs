//! The queue of two bands: sparse flows with strict priority, all others behind an AQM.

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::{BULK, Gone, SPARSE, SparseRule};
use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, NoAqm, QueueView};
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::gate::Gate;
use crate::limit::Room;
use crate::params::QueueInit;

/// The names of both bands.
pub(crate) type PairNames = [&'static str; 2];

/// How much the bands hold, and who pays when one is full.
#[derive(Clone, Debug)]
pub(crate) enum Rooms {
    /// Both together: the oldest packet of the bulk band goes, else that of the sparse band.
    Shared(Room),
    /// Both together, and the sparse band by itself: the arriving packet goes.
    Apart { sparse: Room, all: Room },
}

/// The queue.
#[derive(Debug)]
pub(crate) struct SparsePair<R, A> {
    rule: R,
    aqm: A,
    gate: Gate,
    bands: [Band; 2],
    rooms: Rooms,
    names: PairNames,
    /// The band whose first packet leaves next.
    chosen: Option<usize>,
}

impl<R: SparseRule, A: Aqm> SparsePair<R, A> {
    /// An empty queue.
    pub(crate) fn new(rule: R, aqm: A, rooms: Rooms, names: PairNames, init: &QueueInit) -> SparsePair<R, A> {
        SparsePair {
            rule,
            aqm,
            gate: Gate::new(init.ecn),
            bands: [Band::new(), Band::new()],
            rooms,
            names,
            chosen: None,
        }
    }

    fn view(&self, band: usize, cx: &QueueCx) -> QueueView {
        let Backlog { packets, bytes } = self.bands[band].backlog();
        QueueView { packets, bytes, all_bytes: self.backlog().bytes, ..self.bands[band].view(cx) }
    }

    fn fits(&mut self, band: usize, size: Bytes, cx: &QueueCx) -> bool {
        let both = self.backlog();
        match &mut self.rooms {
            Rooms::Shared(room) => room.takes(both, size, cx),
            Rooms::Apart { sparse, all } => {
                let fits = all.takes(both, size, cx);
                fits && (band == BULK || sparse.fits(self.bands[SPARSE].backlog(), size, cx.rate))
            }
        }
    }

    /// Loses the oldest packets until one of `size` fits, but not the one that has been chosen.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut QueueCx) {
        while !self.fits(BULK, size, cx) && self.lose_oldest(cx) {}
    }

    /// Loses the oldest packet of the bulk band, else of the sparse band, but not the one that has been chosen. Returns
    /// whether there was one.
    pub(crate) fn lose_oldest(&mut self, cx: &mut QueueCx) -> bool {
        self.rule.bulk_turn();
        let Some((band, victim)) = [BULK, SPARSE].into_iter().find_map(|band| self.oldest(band)) else {
            return false;
        };
        let (flow, size) = (victim.flow, victim.size());
        cx.enter_band(band);
        cx.drop(victim, DropReason::Full);
        self.rule.left(Gone { flow, size, band, served: false });
        if band == BULK {
            self.aqm.on_lost(flow);
        }
        true
    }

    fn oldest(&mut self, band: usize) -> Option<(usize, Packet)> {
        let packets = &mut self.bands[band];
        let oldest = if self.chosen == Some(band) { packets.pop_second() } else { packets.pop() };
        oldest.map(|packet| (band, packet))
    }

    /// The band whose turn it is.
    fn next_band(&mut self) -> Option<usize> {
        if self.bands[SPARSE].head().is_some() {
            return Some(SPARSE);
        }
        self.rule.bulk_turn();
        self.bands[BULK].head().map(|_| BULK)
    }

    /// The first packet of a band leaves, unless the AQM drops it.
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        cx.enter_band(band);
        let packet = self.bands[band].pop()?;
        self.rule.left(Gone { flow: packet.flow, size: packet.size(), band, served: true });
        let view = self.view(band, cx);
        if band == SPARSE {
            self.aqm.on_sparse(packet.flow, cx.now);
            self.gate.release(&mut NoAqm, packet, replaces, &view, cx)
        } else {
            self.gate.release(&mut self.aqm, packet, replaces, &view, cx)
        }
    }
}

impl<R: SparseRule, A: Aqm> SparsePair<R, A> {
    /// The AQM of the bulk band.
    pub(crate) const fn aqm(&mut self) -> &mut A {
        &mut self.aqm
    }

    /// The backlog of the sparse band.
    pub(crate) fn sparse_backlog(&self) -> Backlog {
        self.bands[SPARSE].backlog()
    }

    /// A packet has left: if no packet of a sparse flow waits, the bulk band's turn has come.
    pub(crate) fn settle(&mut self) {
        if self.bands[SPARSE].head().is_none() {
            self.rule.bulk_turn();
        }
    }

    /// A packet arrives; `has_room` says whether it also fits into what surrounds both bands.
    pub(crate) fn arrive(&mut self, packet: Packet, has_room: bool, cx: &mut QueueCx) {
        let (flow, size) = (packet.flow, packet.size());
        let band = if self.rule.is_sparse(&packet, cx) { SPARSE } else { BULK };
        cx.enter_band(band);
        let mut arrival = self.gate.arrive(packet, cx);
        if !(has_room && self.fits(band, size, cx)) {
            let refused = if band == SPARSE {
                self.gate.refuse(&mut NoAqm, arrival, cx)
            } else {
                self.gate.refuse(&mut self.aqm, arrival, cx)
            };
            let Some(refused) = refused else { return };
            arrival = refused;
        }
        let view = self.view(band, cx);
        let admitted = if band == SPARSE {
            self.gate.admit(&mut NoAqm, arrival, &view, cx)
        } else {
            self.gate.admit(&mut self.aqm, arrival, &view, cx)
        };
        if let Some(packet) = admitted {
            self.bands[band].push(packet);
            self.rule.stored(flow, band);
        }
    }
}

impl<R: SparseRule, A: Aqm> QueueDiscipline for SparsePair<R, A> {
    fn room(&mut self) -> Option<&mut Room> {
        match &mut self.rooms {
            Rooms::Shared(room) | Rooms::Apart { all: room, .. } => Some(room),
        }
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
        if matches!(self.rooms, Rooms::Shared(_)) && !cx.deliver_drops {
            self.make_room(packet.size(), cx);
        }
        self.arrive(packet, true, cx);
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen.is_none() {
            self.chosen = self.next_band();
        }
        let Some(band) = self.chosen else {
            self.aqm.on_empty(cx.now);
            return None;
        };
        self.bands[band].head().map(Packet::size)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.chosen.take()?;
        self.release(band, false, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut replaces = false;
        while let Some(band) = self.chosen.take().or_else(|| self.next_band()) {
            let packet = self.release(band, replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
        }
        self.aqm.on_empty(cx.now);
        None
    }

    fn backlog(&self) -> Backlog {
        let [sparse, bulk] = [SPARSE, BULK].map(|band| self.bands[band].backlog());
        Backlog { packets: sparse.packets + bulk.packets, bytes: sparse.bytes + bulk.bytes }
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let view = self.view(BULK, cx);
        self.aqm.on_timer(&view);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.rule.probe(out);
    }

    fn bands(&self) -> usize {
        self.bands.len()
    }

    fn band_name(&self, band: usize) -> String {
        self.names[band].to_owned()
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.bands[band].backlog()
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        if band == BULK {
            self.aqm.probe(out);
        }
    }
}
