//! FQ-CoDel: a fair queue by deficit round robin that favours new flows, with a CoDel (or another AQM) in each.
//!
//! Source: RFC 8290 sections 3 to 5; Linux `sch_fq_codel`; spec/queues-and-signalling section 5. Each flow has a band.
//! Bands with packets take turns: in a turn a band sends until its deficit is used up; each turn adds `quantum` bytes
//! to the deficit. A band that was empty joins the new bands, which go before the old ones for one quantum; then it is
//! an old band. A flow that sends less than its share therefore hardly waits, and the others share bytes equally. A
//! band that empties while it is new passes through the old ones before it can be new again, or else it could starve
//! them (RFC 8290 section 4.2).
//!
//! When the whole queue is full, the band with the most bytes loses packets at its head, where the signal is earliest:
//! half of its bytes or `drop_batch` packets, because finding this band costs time. CoDel's count includes these drops.
//!
//! Why the constants are what they are. One packet of full size per turn is the finest that keeps turns cheap. 1024
//! queues keep collisions rare among tens of flows (RFC 8290 section 5.2.4). 10240 packets and 32 MiB bound memory, not
//! delay.
//!
//! In Linux a packet's memory is its buffer's size; here it is its length and 256 bytes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_prefetch::MANY_FLOWS;
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::aqm::{Aqm, Codel, CodelParams, DsSelector};
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::flows::{AqmFactory, Buckets, Classifier, Fair, FlowHash, Flows, Rota, Turns};
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, AqmSlot, BuildAqm, QueueInit, QueueParams, QueuePlace, kernel_ecn_mode};
use crate::shared_keys::shared_keys;
use crate::spec::Parts;

/// FQ-CoDel's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 8290; Linux sch_fq_codel",
    "x-title" = "FQ-CoDel",
    "x-traits" = ["fair", "target", "codel"]
))]
pub struct FqCodelParams {
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Bands that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
    /// The seconds after which the hash gets another salt; 0 s is never.
    pub perturb: Duration,
    /// What a band may send in one turn. Linux takes 1514 B on Ethernet, where headers count.
    pub quantum: Bytes,
    /// How much memory all packets may take: their lengths, and 256 bytes for each.
    pub memory_limit: Bytes,
    /// The most packets that the longest band loses at once when the queue is full.
    pub drop_batch: u32,
    /// CoDel's target.
    pub target: Duration,
    /// CoDel's interval.
    pub interval: Duration,
    /// Whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// The sojourn time above which every packet that understands CE is marked, independently of the schedule; off by
    /// default.
    pub ce_threshold: Option<Duration>,
    /// The packets to which `ce_threshold` applies: value/mask on the DS byte.
    pub ce_threshold_selector: DsSelector,
    /// Whether CoDel's square root is approximated as in Linux, by one Newton step per drop with 16 bits: next to Linux's
    /// endpoints it is by default.
    pub newton: bool,
}

shared_keys! {
    FqCodelParams {
        hash: FlowHash::default(),
        flows: 1_024,
        perturb: Duration::ZERO,
        quantum: Bytes::new(1_500),
        memory_limit: Bytes::new(32 << 20),
        drop_batch: 64,
    }

    /// The CoDel of each band.
    fn codel: CodelParams = CodelParams { ecn: true, ..CodelParams::default() } => {
        target, interval, ecn, ce_threshold, ce_threshold_selector, newton,
    }
}

impl FqCodelParams {
    fn discipline<A: Aqm + 'static>(
        &self,
        init: &QueueInit,
        factory: AqmFactory<A>,
    ) -> Box<dyn QueueDiscipline> {
        Box::new(Fair(FqCodel::new(self, init, factory)))
    }
}

impl Params for FqCodelParams {
    const NAME: &'static str = "fq_codel";
    const ALIASES: &'static [&'static str] = &["fq-codel"];
    const SUMMARY: &'static str = "Fair queueing by deficit round robin that favours new flows, with CoDel or another AQM for each flow";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(1..=65_536).contains(&self.flows) {
            return Err(OutOfRange::new("flows", self.flows, "from 1 to 65536"));
        }
        if self.quantum < Bytes::new(256) {
            return Err(OutOfRange::new("quantum", self.quantum, "at least 256 B"));
        }
        if self.memory_limit == Bytes::ZERO {
            return Err(OutOfRange::new("memory_limit", self.memory_limit, "more than 0 B"));
        }
        if self.drop_batch == 0 {
            return Err(OutOfRange::new("drop_batch", self.drop_batch, "at least 1"));
        }
        Params::check(&self.codel())
    }
}

impl QueueParams for FqCodelParams {
    /// Linux's.
    fn default_limit(&self) -> Limit {
        Limit::Packets(10_240)
    }

    fn slots(&self) -> &'static [AqmSlot] {
        const SUMMARY: &str = "The AQM of each flow, in place of CoDel and its parameters in this table.";
        &[AqmSlot { key: "aqm", summary: SUMMARY }]
    }

    fn check_aqms(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> Result<(), OutOfRange> {
        const SET: &str = "left out with `aqm`, which takes its place";
        let default = FqCodelParams::default();
        let others = [
            ("target", self.target == default.target, self.target.to_string()),
            ("interval", self.interval == default.interval, self.interval.to_string()),
            ("ecn", self.ecn == default.ecn, self.ecn.to_string()),
            ("ce_threshold", self.ce_threshold.is_none(), self.ce_threshold.unwrap_or_default().to_string()),
            (
                "ce_threshold_selector",
                self.ce_threshold_selector == default.ce_threshold_selector,
                self.ce_threshold_selector.to_string(),
            ),
            ("newton", self.newton == default.newton, self.newton.to_string()),
        ];
        match others.into_iter().find(|(_, same, _)| !same && aqms.iter().any(Option::is_some)) {
            Some((key, _, value)) => Err(OutOfRange::new(key, value, SET)),
            None => Ok(()),
        }
    }

    /// Linux's.
    fn default_ecn_mode(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        kernel_ecn_mode(aqms)
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        let mut placed = self.clone();
        if !is_given("quantum") {
            placed.quantum += place.overhead;
        }
        if !is_given("newton") && !is_given("aqm") {
            placed.newton = place.linux;
        }
        Some(Arc::new(placed))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let codel = self.codel();
        match parts.aqm() {
            None => self.discipline::<Codel>(init, AqmFactory::new(move |init| codel.aqm(init))),
            Some(aqm) => {
                let aqm = Arc::clone(aqm);
                self.discipline::<Box<dyn Aqm>>(init, AqmFactory::new(move |init| aqm.build(init)))
            }
        }
    }
}

/// A band's place in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Bytes that it may still send in this turn.
    deficit: i64,
    /// The band after it on its list.
    next: u32,
    /// It is on a list.
    listed: bool,
}

impl Turn {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// What a full queue does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Overload {
    /// The longest band loses packets at its head, up to `drop_batch` at once; memory is limited, too.
    Shed { drop_batch: u32 },
    /// The arriving packet is lost. Packets that arrive while too much memory is in use are counted.
    Refuse { overmemory: u64 },
}

/// FQ-CoDel's variables.
#[derive(Debug)]
pub(crate) struct FqCodel<A> {
    flows: Flows<A>,
    turns: Vec<Turn>,
    new: Rota,
    old: Rota,
    quantum: i64,
    room: Room,
    memory: Bytes,
    memory_limit: Bytes,
    overload: Overload,
    /// The band whose first packet leaves next.
    chosen: Option<usize>,
}

impl<A: Aqm> FqCodel<A> {
    /// The memory that a packet takes in addition to its length.
    const OVERHEAD: Bytes = Bytes::new(256);

    /// The same that loses what arrives when it is full.
    pub(crate) fn refusing(self) -> FqCodel<A> {
        FqCodel { overload: Overload::Refuse { overmemory: 0 }, ..self }
    }

    pub(crate) fn new(params: &FqCodelParams, init: &QueueInit, factory: AqmFactory<A>) -> FqCodel<A> {
        let classifier = Classifier::new(params.hash, Buckets::Scaled(params.flows), init.seed);
        FqCodel {
            flows: Flows::new(init, classifier, factory).perturbed_every(params.perturb),
            turns: Vec::new(),
            new: Rota::default(),
            old: Rota::default(),
            quantum: params.quantum.get().cast_signed(),
            room: Room::new(init.limit),
            memory: Bytes::ZERO,
            memory_limit: params.memory_limit,
            overload: Overload::Shed { drop_batch: params.drop_batch },
            chosen: None,
        }
    }

    /// Makes room for one more packet of `size`, at the cost of the longest band. Returns whether there is room.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut QueueCx) -> bool {
        let Overload::Shed { drop_batch } = self.overload else { return false };
        while !self.fits(size, cx) {
            let Some(band) = self.flows.longest() else { return false };
            let is_chosen = self.chosen == Some(band);
            let (packets, bytes) = self.flows.shed(band, drop_batch, is_chosen, cx);
            self.memory -= bytes + FqCodel::<A>::OVERHEAD * u64::from(packets);
            if packets == 0 {
                return false;
            }
        }
        true
    }

    #[inline]
    fn fits(&mut self, size: Bytes, cx: &QueueCx) -> bool {
        let memory = self.memory + size + FqCodel::<A>::OVERHEAD;
        let is_within = memory <= self.memory_limit;
        self.room.takes(self.flows.backlog(), size, cx) && (is_within || self.tolerates())
    }

    /// Too much memory is in use: whether a packet may enter all the same.
    #[cold]
    fn tolerates(&mut self) -> bool {
        match &mut self.overload {
            Overload::Shed { .. } => false,
            Overload::Refuse { overmemory } => {
                *overmemory += 1;
                true
            }
        }
    }

    /// A band has packets: it takes turns, as a new one unless it does already.
    #[inline]
    fn list(&mut self, band: usize) {
        if band >= self.turns.len() {
            self.turns.resize(band + 1, Turn { deficit: 0, next: 0, listed: false });
        }
        if !self.turns[band].listed {
            self.turns[band] = Turn { deficit: self.quantum, next: 0, listed: true };
            self.new.push(band, &mut self.turns, Turn::link);
        }
    }

    /// The band that has its turn after `band`, unless a new one comes in between.
    #[inline]
    fn after(&self, band: usize) -> Option<usize> {
        Rota::linked(self.turns[band].next).or_else(|| self.old.first())
    }

    /// Asks for the memory of the bands that follow `band`.
    #[inline]
    fn look_ahead(&self, band: usize, cx: &QueueCx) {
        if let Some(next) = self.after(band) {
            self.flows.prefetch_head(next);
            if let Some(then) = self.after(next) {
                self.flows.prefetch_band(then);
                cx.prefetch_band(then);
            }
        }
    }

    /// The band whose turn it is leaves the front of its list, for the end of the old ones or for none.
    #[inline]
    fn turn_ends(&mut self, was_new: bool, stays: bool) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        if let Some(band) = list.pop(&mut self.turns, Turn::link) {
            if stays {
                self.old.push(band, &mut self.turns, Turn::link);
            } else {
                self.turns[band].listed = false;
            }
        }
    }
}

impl<A: Aqm> Turns for FqCodel<A> {
    type Aqm = A;

    #[inline]
    fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    fn flows(&self) -> &Flows<A> {
        &self.flows
    }

    #[inline]
    fn flows_mut(&mut self) -> &mut Flows<A> {
        &mut self.flows
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let band = self.flows.band_of(packet.flow, cx.now);
        let size = packet.size();
        let mut arrival = self.flows.arrive(band, packet, cx);
        if !self.fits(size, cx) {
            // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
            let made = !cx.deliver_drops && self.make_room(size, cx);
            cx.enter_band(band);
            if !made {
                match self.flows.refuse(band, arrival, cx) {
                    Some(refused) => arrival = refused,
                    None => return,
                }
            }
        }
        if self.flows.admit(band, arrival, cx) {
            self.memory += size + FqCodel::<A>::OVERHEAD;
            self.list(band);
        }
    }

    #[inline]
    fn chosen(&mut self) -> &mut Option<usize> {
        &mut self.chosen
    }

    #[inline]
    fn next_band(&mut self, now: Time) -> Option<usize> {
        loop {
            let is_new = self.new.first();
            let band = is_new.or_else(|| self.old.first())?;
            let turn = &mut self.turns[band];
            if turn.deficit <= 0 {
                turn.deficit += self.quantum;
                self.turn_ends(is_new.is_some(), true);
            } else if self.flows.band_backlog(band).packets > 0 {
                return Some(band);
            } else {
                self.flows.found_empty(band, now);
                // A band that has been new must pass through the old ones.
                self.turn_ends(is_new.is_some(), is_new.is_some() && self.old.first().is_some());
            }
        }
    }

    #[inline]
    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        if self.turns.len() >= MANY_FLOWS {
            self.look_ahead(band, cx);
        }
        let before = self.flows.backlog();
        let packet = self.flows.release(band, replaces, cx);
        let after = self.flows.backlog();
        self.memory -=
            before.bytes - after.bytes + FqCodel::<A>::OVERHEAD * (before.packets - after.packets) as u64;
        if let Some(packet) = &packet {
            self.turns[band].deficit -= packet.size().get().cast_signed();
        }
        packet
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("new_flows", f64::from(self.new.len()));
        out("old_flows", f64::from(self.old.len()));
        out("memory_bytes", self.memory.as_f64());
        if let Overload::Refuse { overmemory } = self.overload {
            out("overmemory_packets", overmemory as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the parameters of CoDel reaches the CoDel of a band.
    #[test]
    fn codel_of_a_band() {
        let ms = Duration::from_millis;
        let selector = DsSelector::new(1, 3);
        let params = FqCodelParams {
            target: ms(2),
            interval: ms(30),
            ecn: false,
            ce_threshold: Some(ms(1)),
            ce_threshold_selector: selector,
            newton: true,
            ..FqCodelParams::default()
        };
        let expected = CodelParams {
            target: ms(2),
            interval: ms(30),
            ecn: false,
            ce_threshold: Some(ms(1)),
            ce_threshold_selector: selector,
            newton: true,
            ..CodelParams::default()
        };
        assert_eq!(params.codel(), expected);
    }
}
