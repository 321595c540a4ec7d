//! SFB, Stochastic Fair Blue: BLUE in a Bloom filter of bins, which finds flows that do not respond and limits them.
//!
//! Source: Feng, Kandlur, Saha and Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness",
//! 2001; Linux `sch_sfb`; tc-sfb(8); spec/queues-and-signalling section 9.1. The law is in [`law`]. The queue inside is
//! first in, first out, with any AQM; in Linux it can be any discipline that does not drop what it has queued, because
//! SFB's bins do not learn of such drops. Here they do.

mod law;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::aqm::{Aqm, NoAqm, PacketView, QueueView, Verdict};
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::ecn::EcnMode;
use crate::gate::Gate;
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, AqmSlot, QueueInit, QueueParams, kernel_ecn_mode};
use crate::spec::Parts;
use law::{Hashes, Law};

/// SFB's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Feng, Kandlur, Saha, Shin 2001; Linux sch_sfb",
    "x-title" = "SFB",
    "x-traits" = ["marks"]
))]
pub struct SfbParams {
    /// After which time flows move to other bins; 0 s is never.
    pub rehash: Duration,
    /// How long before that the other bins learn of flows that do not respond; 0 s is never.
    pub db: Duration,
    /// Packets of a flow's shortest bin from which on its packets are dropped; five quarters of `target` if left out.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub max: Option<u32>,
    /// Packets of a bin from which on its probability rises; four fifths of `max` if left out, and 20 if that is too.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub target: Option<u32>,
    /// By what the probability rises with each packet.
    pub increment: Probability,
    /// By what it falls with each packet that finds the bin empty.
    pub decrement: Probability,
    /// Packets per second up to which flows that do not respond may send together; 0 is none. As in Linux, while they
    /// send faster nothing of them passes.
    pub penalty_rate: u32,
    /// How many packets of theirs pass before that; 0 is none.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub penalty_burst: u32,
}

impl Default for SfbParams {
    fn default() -> SfbParams {
        SfbParams {
            rehash: Duration::from_secs(600),
            db: Duration::from_secs(60),
            max: None,
            target: None,
            increment: Probability::clamped(0.0005),
            decrement: Probability::clamped(0.00005),
            penalty_rate: 10,
            penalty_burst: 20,
        }
    }
}

impl SfbParams {
    /// What a bin can count.
    const MOST: u32 = 65_535;

    /// `target` and `max`, one from the other as tc rounds them.
    fn bin(&self) -> (u32, u32) {
        let max = self.max.unwrap_or_else(|| self.target.map_or(25, |target| (target * 5 + 1) / 4));
        (self.target.unwrap_or((max * 4 + 3) / 5), max)
    }
}

impl Params for SfbParams {
    const NAME: &'static str = "sfb";
    const SUMMARY: &'static str =
        "Stochastic Fair Blue: finds flows that do not respond by a Bloom filter of marking probabilities";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, packets) in [("max", self.max), ("target", self.target)] {
            if let Some(packets) = packets.filter(|packets| !(1..=SfbParams::MOST).contains(packets)) {
                return Err(OutOfRange::new(key, packets, "from 1 to 65535 packets"));
            }
        }
        let (target, max) = self.bin();
        if max > SfbParams::MOST {
            return Err(OutOfRange::new("target", target, "at most 52428 packets where `max` is left out"));
        }
        if max < target {
            return Err(OutOfRange::new("max", max, "`target` or more"));
        }
        for (key, step) in [("increment", self.increment), ("decrement", self.decrement)] {
            if law::fixed(step) == 0 {
                return Err(OutOfRange::new(
                    key,
                    step,
                    "at least 0.00001: probabilities are multiples of 2^-16",
                ));
            }
        }
        if self.db > self.rehash && !self.rehash.is_zero() {
            return Err(OutOfRange::new("db", self.db, "`rehash` at most"));
        }
        Ok(())
    }
}

impl QueueParams for SfbParams {
    /// In Linux, the length of the device's transmit queue: 1000 packets on Ethernet.
    fn default_limit(&self) -> Limit {
        Limit::Packets(1_000)
    }

    fn slots(&self) -> &'static [AqmSlot] {
        &[AqmSlot { key: "aqm", summary: "The AQM of the queue inside: by default none." }]
    }

    /// Linux's.
    fn default_ecn_mode(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        kernel_ecn_mode(aqms)
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let inside = parts.aqm();
        Box::new(Sfb {
            law: Law::new(self, init),
            inside: inside.map_or_else(|| Box::new(NoAqm) as Box<dyn Aqm>, |aqm| aqm.build(&init.aqm())),
            gate: Gate::new(init.ecn),
            room: Room::new(init.limit),
            band: Band::new(),
            hashes: VecDeque::new(),
            queue_drops: 0,
            chosen: false,
        })
    }
}

/// SFB's variables.
#[derive(Debug)]
struct Sfb {
    law: Law,
    inside: Box<dyn Aqm>,
    gate: Gate,
    room: Room,
    band: Band,
    /// The bins of each queued packet, in the order of the band.
    hashes: VecDeque<Hashes>,
    queue_drops: u64,
    /// The packet at the head has been chosen.
    chosen: bool,
}

/// SFB decides first; the AQM inside decides about the packets that SFB leaves alone.
struct Both<'a> {
    sfb: Verdict,
    inside: &'a mut Box<dyn Aqm>,
}

impl std::fmt::Debug for Both<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Both").field("sfb", &self.sfb).finish_non_exhaustive()
    }
}

impl Aqm for Both<'_> {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.sfb {
            Verdict::Pass => self.inside.on_enqueue(packet, queue),
            verdict => verdict,
        }
    }

    fn on_full(&mut self, now: Time) {
        self.inside.on_full(now);
    }
}

impl Sfb {
    fn release(&mut self, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let packet = self.band.pop()?;
        if let Some(hashes) = self.hashes.pop_front() {
            self.law.left(hashes);
        }
        let view = self.band.view(cx);
        self.gate.release(&mut self.inside, packet, replaces, &view, cx)
    }
}

impl QueueDiscipline for Sfb {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let (flow, size) = (packet.flow, packet.size());
        let mut arrival = self.gate.arrive(packet, cx);
        if !self.room.takes(self.band.backlog(), size, cx) {
            self.queue_drops += 1;
            match self.gate.refuse(&mut self.inside, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        let (sfb, hashes) = self.law.decide(flow, arrival.is_markable(), cx.now);
        let view = self.band.view(cx);
        let mut both = Both { sfb, inside: &mut self.inside };
        if let Some(packet) = self.gate.admit(&mut both, arrival, &view, cx) {
            self.band.push(packet);
            self.hashes.push_back(hashes);
            self.law.stored(hashes);
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        let size = self.band.head().map(Packet::size);
        self.chosen = size.is_some();
        if !self.chosen {
            self.inside.on_empty(cx.now);
        }
        size
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        if std::mem::take(&mut self.chosen) { self.release(false, cx) } else { None }
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        self.chosen = false;
        let mut replaces = false;
        while self.band.head().is_some() {
            let packet = self.release(replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
        }
        self.inside.on_empty(cx.now);
        None
    }

    /// `sfb_peek` is that of the FIFO inside.
    fn peeks(&self) -> bool {
        self.inside.is_on_arrival()
    }

    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        self.band.backlog()
    }

    fn next_timer(&self) -> Option<Time> {
        self.inside.next_timer()
    }

    fn on_timer(&mut self, cx: &mut QueueCx) {
        let view = self.band.view(cx);
        self.inside.on_timer(&view);
    }

    /// As tc shows them, and then the numbers of the AQM inside.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("queue_drops", self.queue_drops as f64);
        self.law.probe(out);
        self.inside.probe(out);
    }
}
