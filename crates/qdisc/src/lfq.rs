//! LFQ, Lightweight Fair Queueing: flows share bytes equally out of two bands, and sparse flows go first.
//!
//! Source: draft-morton-tsvwg-lightweight-fair-queueing-00; the reference implementation `sch_lfq_cobalt`; the authors'
//! simulation *lfqsim*; spec/queues-and-signalling section 11. The bulk band is scanned from its head: a packet whose
//! flow is skipped is passed over, another leaves from where it stands. A flow that has overdrawn its account is skipped
//! until the scan has reached the tail, which starts a sweep ([`crate::sparse`]). Each sweep gives each flow about an MTU
//! of bytes, so that flows are served as by deficit round robin, with one band for all. A flow that is neither queued
//! nor skipped goes to the sparse band, which has strict priority. No packet overtakes another of its flow.
//!
//! A full queue loses packets at the head of the bulk band, then of the sparse band. The AQM sees packets of the bulk
//! band; the last packet of a flow is not dropped, but keeps its mark. With `aqm_instances = "flow"` each flow has an AQM,
//! which sees what its flow has in the bulk band, though its head's waiting time is that of the whole band; in each
//! dequeue one AQM of a flow without packets, in turn, is told that its flow is idle.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, OutOfRange, Time};
use windtunnel_wire::{FlowId, Packet};

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, NoAqm, QueueView};
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::flows::{Buckets, Classifier, FlowHash};
use crate::gate::Gate;
use crate::limit::{Limit, Room};
use crate::params::{AqmSlot, QueueInit, QueueParams};
use crate::sparse::{self, BULK, BulkAqms, Deficits, LastOfFlow, SPARSE, ScanBand};
use crate::spec::Parts;

/// How many AQMs the bulk band has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AqmInstances {
    /// One for each flow, as in the reference implementation.
    #[default]
    Flow,
    /// One for all, as in the draft. Packets of a flow that sends little hardly wait in the bulk band, and keep CoDel from
    /// signalling to the others; COBALT is not kept.
    One,
}

/// LFQ's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-morton-tsvwg-lightweight-fair-queueing-00",
    "x-title" = "LFQ",
    "x-traits" = ["marks", "fair"]
))]
pub struct LfqParams {
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Flows that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
    /// What a flow may send between two sweeps. The reference takes 1514 B on Ethernet, where headers count.
    pub mtu: Bytes,
    /// Whether each flow has an AQM in the bulk band, or all have one together.
    pub aqm_instances: AqmInstances,
}

impl Default for LfqParams {
    fn default() -> LfqParams {
        LfqParams {
            hash: FlowHash::default(),
            flows: 65_536,
            mtu: Bytes::new(1_500),
            aqm_instances: AqmInstances::default(),
        }
    }
}

impl Params for LfqParams {
    const NAME: &'static str = "lfq";
    const SUMMARY: &'static str = "Lightweight Fair Queueing: sparse flows first, all others share bytes equally out of one scanned band";

    fn check(&self) -> Result<(), OutOfRange> {
        sparse::check_flows(self.flows)?;
        if !(Bytes::new(256)..=Bytes::new(65_536)).contains(&self.mtu) {
            return Err(OutOfRange::new("mtu", self.mtu, "from 256 B to 64 KiB"));
        }
        Ok(())
    }
}

impl QueueParams for LfqParams {
    fn default_limit(&self) -> Limit {
        sparse::DEFAULT_LIMIT
    }

    fn slots(&self) -> &'static [AqmSlot] {
        &[sparse::BULK_SLOT]
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let classifier = Classifier::new(self.hash, Buckets::Scaled(self.flows), init.seed);
        let per_flow = self.aqm_instances == AqmInstances::Flow;
        Box::new(Lfq {
            deficits: Deficits::new(classifier, self.mtu),
            sparse: Band::new(),
            bulk: ScanBand::default(),
            aqms: BulkAqms::new(sparse::bulk_aqm(parts), per_flow, init),
            no_aqm: Box::new(NoAqm),
            gate: Gate::new(init.ecn),
            room: Room::new(init.limit),
            decays: 0,
            chosen: None,
        })
    }
}

/// LFQ's variables.
#[derive(Debug)]
struct Lfq {
    deficits: Deficits,
    sparse: Band,
    bulk: ScanBand,
    aqms: BulkAqms,
    /// The sparse band's.
    no_aqm: Box<dyn Aqm>,
    gate: Gate,
    room: Room,
    /// The flow whose AQM decays next, if it has no packets.
    decays: usize,
    /// The band of the packet that leaves next: the first of the sparse one, or the one at the bulk band's scan.
    chosen: Option<usize>,
}

impl Lfq {
    /// The band whose turn it is. In the bulk band, the scan then is at the packet.
    fn next_band(&mut self) -> Option<usize> {
        if self.sparse.head().is_some() {
            return Some(SPARSE);
        }
        while self.bulk.head().is_some() {
            let Some(packet) = self.bulk.scanned() else {
                self.deficits.sweep();
                self.bulk.rewind();
                continue;
            };
            let flow = packet.flow;
            let account = self.deficits.of(flow);
            if !self.deficits.skips(account) {
                return Some(BULK);
            }
            self.bulk.advance();
        }
        None
    }

    /// The packet whose turn it is leaves, unless the AQM drops it.
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        cx.enter_band(band);
        let packet = if band == SPARSE { self.sparse.pop() } else { self.bulk.pull() }?;
        let (flow, size) = (packet.flow, packet.size());
        let account = self.deficits.of(flow);
        self.deficits.left(account, size, true);
        let all_bytes = self.backlog().bytes;
        if band == SPARSE {
            let view = view(self.sparse.backlog(), all_bytes, self.sparse.head(), cx);
            return self.gate.release(&mut self.no_aqm, packet, replaces, &view, cx);
        }
        let (aqm, held) = self.aqms.left(account, size);
        let view = view(held, all_bytes, self.bulk.head(), cx);
        if self.deficits.backlog(account) == 0 {
            self.gate.release(&mut LastOfFlow(aqm), packet, replaces, &view, cx)
        } else {
            self.gate.release(aqm, packet, replaces, &view, cx)
        }
    }

    /// An AQM in turn learns that its flow is idle, if it is.
    fn decay(&mut self, now: Time) {
        if self.aqms.per_flow() && self.deficits.len() > 0 {
            self.decays = (self.decays + 1) % self.deficits.len();
            if self.deficits.backlog(self.decays) == 0 {
                self.aqms.idle(self.decays, now);
            }
        }
    }

    /// Loses the oldest packets until one of `size` fits, but not the one that has been chosen.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut QueueCx) {
        while !self.room.takes(self.backlog(), size, cx) {
            let victim = match self.bulk.lose(self.chosen == Some(BULK)) {
                Some(packet) => Some((BULK, packet)),
                None if self.chosen == Some(SPARSE) => {
                    self.sparse.pop_second().map(|packet| (SPARSE, packet))
                }
                None => self.sparse.pop().map(|packet| (SPARSE, packet)),
            };
            let Some((band, victim)) = victim else { return };
            let account = self.deficits.of(victim.flow);
            self.deficits.left(account, victim.size(), false);
            if band == BULK {
                self.aqms.left(account, victim.size()).0.on_lost(victim.flow);
            }
            cx.enter_band(band);
            cx.drop(victim, DropReason::Full);
        }
    }

    fn store(&mut self, packet: Packet, band: usize, account: usize) {
        self.deficits.arrived(account);
        if band == SPARSE {
            self.sparse.push(packet);
        } else {
            self.aqms.entered(account, packet.size());
            self.bulk.push(packet);
        }
    }

    /// The band and the account of an arriving packet.
    fn classify(&mut self, flow: FlowId, now: Time) -> (usize, usize) {
        let account = self.deficits.of(flow);
        self.aqms.meet(account, now);
        (if self.deficits.is_sparse(account) { SPARSE } else { BULK }, account)
    }
}

fn view(held: Backlog, all_bytes: Bytes, head: Option<&Packet>, cx: &QueueCx) -> QueueView {
    let Backlog { packets, bytes } = held;
    let head_waiting = head.map(|head| cx.now.since(head.enqueued_at));
    QueueView { now: cx.now, packets, bytes, all_bytes, head_waiting, rate: cx.rate }
}

impl QueueDiscipline for Lfq {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let size = packet.size();
        // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
        if !cx.deliver_drops {
            self.make_room(size, cx);
        }
        let (band, account) = self.classify(packet.flow, cx.now);
        cx.enter_band(band);
        let mut arrival = self.gate.arrive(packet, cx);
        let backlog = self.backlog();
        let fits = self.room.takes(backlog, size, cx);
        let (head, held) = match band {
            SPARSE => (self.sparse.head(), self.sparse.backlog()),
            _ => (self.bulk.head(), self.aqms.held(account)),
        };
        let view = view(held, backlog.bytes, head, cx);
        let aqm = if band == SPARSE { &mut self.no_aqm } else { self.aqms.of(account) };
        if !fits {
            match self.gate.refuse(aqm, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        if let Some(packet) = self.gate.admit(aqm, arrival, &view, cx) {
            self.store(packet, band, account);
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen.is_none() {
            self.chosen = self.next_band();
        }
        match self.chosen {
            Some(SPARSE) => self.sparse.head().map(Packet::size),
            Some(_) => self.bulk.scanned().map(Packet::size),
            None => {
                self.aqms.all_idle(cx.now);
                None
            }
        }
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let band = self.chosen.take()?;
        self.decay(cx.now);
        self.release(band, false, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        self.decay(cx.now);
        let mut replaces = false;
        while let Some(band) = self.chosen.take().or_else(|| self.next_band()) {
            let packet = self.release(band, replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
        }
        self.aqms.all_idle(cx.now);
        None
    }

    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        let (sparse, bulk) = (self.sparse.backlog(), self.bulk.backlog());
        Backlog { packets: sparse.packets + bulk.packets, bytes: sparse.bytes + bulk.bytes }
    }

    fn next_timer(&self) -> Option<Time> {
        self.aqms.next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let all_bytes = self.backlog().bytes;
        let head = self.bulk.head();
        self.aqms.on_timer(cx.now, |held| view(held, all_bytes, head, cx));
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("dirty_flows", self.deficits.dirty() as f64);
    }

    fn bands(&self) -> usize {
        2
    }

    fn band_name(&self, band: usize) -> String {
        ["sparse", "bulk"][band].to_owned()
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        if band == SPARSE { self.sparse.backlog() } else { self.bulk.backlog() }
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        if band == BULK {
            self.aqms.probe(out);
        }
    }
}
