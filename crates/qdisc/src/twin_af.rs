//! Twin-AF: two classes of CNQ with CodelAF, one of them with shorter times, which share the link by their flows.
//!
//! Source: draft-morton-tsvwg-codel-approx-fair-01; `sch_twin_codel_af` of the SCE reference repository;
//! spec/queues-and-signalling section 11. Packets with the code point `dscp` belong to the low-delay class, whose interval
//! and targets are a fifth of the other's: for paths that are known to be short. Each class is a CNQ ([`crate::CnqParams`])
//! whose bulk band has a [`CodelAf`], which weighs a flow's packets against those of both classes.
//!
//! The classes take turns such that each gets its flows' part of the link: a turn costs a class as many units as the other
//! has active flows, and the class with the smaller debt goes first. The low-delay class therefore gains nothing but delay.
//! What one class has not used is forgotten, since both debts fall by the smaller one.
//!
//! The reference has no limit. Here both classes share one; the class that holds more bytes loses its oldest packet.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange};
use windtunnel_wire::{Dscp, Packet};

use crate::accounts::QueueCx;
use crate::aqm::{CobaltParams, CodelAf, CodelAfParams};
use crate::discipline::{Backlog, QueueDiscipline};
use crate::flows::{Buckets, Classifier, FlowHash};
use crate::limit::{Limit, Room};
use crate::params::{QueueInit, QueueParams};
use crate::sparse::{self, Presence, Rooms, SparsePair};
use crate::spec::Parts;

/// Twin-AF's parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-morton-tsvwg-codel-approx-fair-01; chromi/sce sch_twin_codel_af",
    "x-title" = "Twin-AF",
    "x-traits" = ["marks"]
))]
pub struct TwinAfParams {
    /// How long packets may wait longer than the target; about the longest usual round trip.
    pub rtt: Duration,
    /// The weighted sojourn time that a flow may have.
    pub target: Duration,
    /// How many intervals of SCE there are in one of CE; 0 turns SCE off.
    pub sce: u32,
    /// The transmission time of a packet of full size, if it is known: packets that wait for up to 4 of them are never
    /// signalled.
    pub mtu_time: Duration,
    /// The code point of the low-delay class: the one that once asked to minimise delay.
    pub dscp: u8,
    /// By how much `rtt` and `target` of the low-delay class are shorter.
    pub divisor: NonZeroU32,
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Flows that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
}

impl Default for TwinAfParams {
    fn default() -> TwinAfParams {
        const FIVE: NonZeroU32 = NonZeroU32::new(5).unwrap();
        let CobaltParams { rtt, target, mtu_time, .. } = CobaltParams::default();
        let (hash, flows) = (FlowHash::default(), 65_536);
        TwinAfParams { rtt, target, sce: 4, mtu_time, dscp: 0b00_0100, divisor: FIVE, hash, flows }
    }
}

impl Params for TwinAfParams {
    const NAME: &'static str = "twin-af";
    const ALIASES: &'static [&'static str] = &["twin_codel_af"];
    const SUMMARY: &'static str =
        "Two classes of CNQ with CodelAF, one with shorter times by its code point, fair by flows";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.class(1))?;
        if !(1..=63).contains(&self.dscp) {
            return Err(OutOfRange::new("dscp", self.dscp, "from 1 to 63"));
        }
        let shortest = |time: Duration| time / u64::from(self.divisor.get());
        if shortest(self.target).is_zero() || shortest(self.rtt).as_nanos() < u64::from(self.sce) {
            let allowed = "at most the nanoseconds of target, and of rtt / sce";
            return Err(OutOfRange::new("divisor", self.divisor, allowed));
        }
        Ok(())
    }
}

impl TwinAfParams {
    /// The AQM of a class whose times are shorter by a divisor.
    fn class(&self, divisor: u32) -> CodelAfParams {
        let TwinAfParams { rtt, target, sce, mtu_time, hash, flows, .. } = *self;
        let divisor = u64::from(divisor);
        CodelAfParams { rtt: rtt / divisor, target: target / divisor, sce, mtu_time, hash, flows }
    }
}

impl QueueParams for TwinAfParams {
    fn default_limit(&self) -> Limit {
        sparse::DEFAULT_LIMIT
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let class = |divisor| {
            let classifier = Classifier::new(self.hash, Buckets::Scaled(self.flows), init.seed);
            let aqm = CodelAf::new(&self.class(divisor), init.seed);
            let rooms = Rooms::Shared(Room::new(Limit::Unlimited));
            SparsePair::new(Presence::new(classifier), aqm, rooms, ["sparse", "bulk"], init)
        };
        Box::new(TwinAf {
            classes: [class(1), class(self.divisor.get())],
            debts: [0; 2],
            dscp: Dscp::new(self.dscp),
            room: Room::new(init.limit),
            chosen: None,
        })
    }
}

/// Twin-AF's variables.
#[derive(Debug)]
struct TwinAf {
    classes: [SparsePair<Presence, CodelAf>; 2],
    /// What each class has had before the other, in turns times flows.
    debts: [u64; 2],
    dscp: Dscp,
    room: Room,
    /// The class whose packet leaves next.
    chosen: Option<usize>,
}

impl TwinAf {
    const DEFAULT: usize = 0;
    const LOW_DELAY: usize = 1;

    /// Flows that want to send: those in the bulk band, and a flow for each packet in the sparse band.
    fn active(&mut self, class: usize) -> u64 {
        let sparse = self.classes[class].sparse_backlog().packets as u64;
        u64::from(self.classes[class].aqm().active()) + sparse
    }

    /// The class whose turn it is, which pays for it.
    fn turn(&mut self) -> Option<usize> {
        let waits = [0, 1].map(|class| self.classes[class].backlog().packets > 0);
        let class = match waits {
            [false, false] => return None,
            [false, true] => TwinAf::LOW_DELAY,
            [true, false] => TwinAf::DEFAULT,
            [true, true] => usize::from(self.debts[TwinAf::DEFAULT] >= self.debts[TwinAf::LOW_DELAY]),
        };
        self.debts[class] += self.active(1 - class);
        let least = self.debts[0].min(self.debts[1]);
        self.debts = self.debts.map(|debt| debt - least);
        Some(class)
    }

    /// Loses the oldest packets of the class that holds more, until one of `size` fits.
    #[cold]
    fn make_room(&mut self, size: Bytes, cx: &mut QueueCx) {
        while !self.room.takes(self.backlog(), size, cx) {
            let [one, other] = [0, 1].map(|class| self.classes[class].backlog().bytes);
            let more = usize::from(other > one);
            let classes = &mut self.classes;
            let lost = [more, 1 - more]
                .into_iter()
                .any(|class| cx.within_band(class, |cx| classes[class].lose_oldest(cx)));
            if !lost {
                return;
            }
        }
    }
}

impl QueueDiscipline for TwinAf {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
        if !cx.deliver_drops {
            self.make_room(packet.size(), cx);
        }
        let has_room = self.room.takes(self.backlog(), packet.size(), cx);
        let class = if packet.dscp == self.dscp { TwinAf::LOW_DELAY } else { TwinAf::DEFAULT };
        cx.within_band(class, |cx| self.classes[class].arrive(packet, has_room, cx));
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen.is_none() {
            self.chosen = self.turn();
        }
        let Some(class) = self.chosen else {
            self.classes.iter_mut().for_each(|class| class.aqm().decay(cx.now));
            return None;
        };
        self.classes[class].choose(cx)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let class = self.chosen.take()?;
        let elsewhere = self.classes[1 - class].backlog().packets;
        self.classes[class].aqm().set_elsewhere(elsewhere);
        let packet = cx.within_band(class, |cx| self.classes[class].serve(cx));
        self.classes[1 - class].aqm().decay(cx.now);
        self.classes.iter_mut().for_each(SparsePair::settle);
        packet
    }

    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        let [one, other] = [0, 1].map(|class| self.classes[class].backlog());
        Backlog { packets: one.packets + other.packets, bytes: one.bytes + other.bytes }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("debt", self.debts[TwinAf::DEFAULT] as f64);
        out("low_delay_debt", self.debts[TwinAf::LOW_DELAY] as f64);
    }

    fn bands(&self) -> usize {
        self.classes.len()
    }

    fn band_name(&self, band: usize) -> String {
        ["default", "low delay"][band].to_owned()
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.classes[band].backlog()
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.classes[band].probe_band(sparse::BULK, out);
    }
}
