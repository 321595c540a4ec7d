//! sfq: stochastic fairness queueing. Flows that a hash puts into buckets take turns by bytes.
//!
//! Source: `McKenney`, "Stochastic Fairness Queueing" (1990); Linux `sch_sfq` and its manual page `tc-sfq`;
//! spec/queues-and-signalling section 13. A flow that becomes active goes to the end of the round with an allotment of
//! `quantum` bytes; one that has used its allotment up, and at most a packet more, is given another and waits for its
//! next turn. A full queue loses the last packet of the flow that has the most packets, or with `headdrop` its first.
//! New flows are not favoured, as they are in `fq_codel`.
//!
//! Why the constants are what they are: 127 packets for all flows, and hence for one, are Linux's of 1999; 1024 buckets
//! keep collisions rare among tens of flows. A perturbation of the hash every 10 s ends those that there are, at the
//! price of reordering; it is off by default, as in Linux.
//!
//! Each flow can have RED, with tc's names ([`red`]), or any other AQM (`aqm`).

mod params;
mod red;

use std::sync::Arc;

use windtunnel_units::{Bytes, OutOfRange, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::aqm::NoAqm;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::ecn::EcnMode;
use crate::flows::{AqmFactory, Buckets, Classifier, Fair, Flows, Rota, Turns};
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, AqmSlot, QueueInit, QueueParams, QueuePlace, kernel_ecn_mode};
use crate::spec::Parts;

pub use params::SfqParams;
use red::{FlowAqm, FlowRed};

impl SfqParams {
    fn discipline<A: FlowAqm + 'static>(
        &self,
        init: &QueueInit,
        factory: AqmFactory<A>,
    ) -> Box<dyn QueueDiscipline> {
        let classifier = Classifier::new(self.hash, Buckets::Masked(self.divisor - 1), init.seed);
        Box::new(Fair(Sfq {
            flows: Flows::new(init, classifier, factory).perturbed_every(self.perturb),
            turns: Vec::new(),
            active: Rota::default(),
            room: Room::new(init.limit),
            params: self.clone(),
            chosen: None,
        }))
    }
}

impl QueueParams for SfqParams {
    /// Linux's.
    fn default_limit(&self) -> Limit {
        Limit::Packets(127)
    }

    fn slots(&self) -> &'static [AqmSlot] {
        const SUMMARY: &str = "The AQM of each flow; if left out, the limits alone.";
        &[AqmSlot { key: "aqm", summary: SUMMARY }]
    }

    fn check_aqms(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> Result<(), OutOfRange> {
        match self.redflowlimit.filter(|_| aqms.iter().any(Option::is_some)) {
            Some(limit) => Err(OutOfRange::new("redflowlimit", limit, "left out next to `aqm`")),
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
        Some(Arc::new(placed))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        match (parts.aqm(), self.flow_red()) {
            (Some(aqm), _) => {
                let aqm = Arc::clone(aqm);
                self.discipline(init, AqmFactory::new(move |init| aqm.build(init)))
            }
            (None, Some((red, limit))) => {
                let headdrop = self.headdrop;
                self.discipline(
                    init,
                    AqmFactory::new(move |init| FlowRed::new(red.clone(), limit, headdrop, init)),
                )
            }
            (None, None) => self.discipline(init, AqmFactory::new(|_| NoAqm)),
        }
    }
}

/// A flow's place in the round.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    /// Bytes that it may still send in this turn.
    allot: i64,
    /// The flow after it.
    next: u32,
    is_active: bool,
}

impl Turn {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// sfq's variables.
#[derive(Debug)]
struct Sfq<A> {
    flows: Flows<A>,
    turns: Vec<Turn>,
    active: Rota,
    room: Room,
    params: SfqParams,
    /// The flow whose first packet leaves next.
    chosen: Option<usize>,
}

impl<A: FlowAqm> Sfq<A> {
    fn quantum(&self) -> i64 {
        self.params.quantum.get().cast_signed()
    }

    /// There is room for a packet in the band of a flow, if another one may be active and it has not too many; with
    /// `headdrop`, room is made in it.
    fn admits(&mut self, band: usize, cx: &mut QueueCx) -> bool {
        let packets = self.flows.band_backlog(band).packets;
        let is_active = self.turns.get(band).is_some_and(|turn| turn.is_active);
        if !is_active && self.active.len() >= self.params.flows {
            return false;
        }
        if packets < self.params.depth as usize {
            return true;
        }
        if !self.params.headdrop || cx.deliver_drops {
            return false;
        }
        self.flows.shed(band, 1, self.chosen == Some(band), cx).0 > 0
    }

    /// More is queued than the queue holds.
    fn is_over(&mut self, cx: &QueueCx) -> bool {
        let Backlog { packets, bytes } = self.flows.backlog();
        packets > 0 && !self.room.takes(Backlog { packets: packets - 1, bytes: Bytes::ZERO }, bytes, cx)
    }

    /// The queue is too full after an arrival for the band `arrived`: the flow with the most packets loses one; of several
    /// `arrived`, else the newest band. In Linux it is the flow that got there last.
    #[cold]
    fn lose_of_longest(&mut self, arrived: usize, cx: &mut QueueCx) -> bool {
        let droppable = |band: &usize| {
            let packets = self.flows.band_backlog(*band).packets;
            if self.chosen == Some(*band) && packets == 1 { 0 } else { packets }
        };
        let longest = (0..self.flows.len()).max_by_key(|band| (droppable(band), *band == arrived));
        let Some(band) = longest.filter(|band| droppable(band) > 0) else { return false };
        if self.params.headdrop {
            self.flows.shed(band, 1, self.chosen == Some(band), cx);
        } else {
            self.flows.drop_last(band, cx);
        }
        true
    }

    /// A flow has packets: it takes turns, unless it does already.
    fn activate(&mut self, band: usize) {
        if band >= self.turns.len() {
            self.turns.resize(band + 1, Turn::default());
        }
        if !self.turns[band].is_active {
            self.turns[band] = Turn { allot: self.quantum(), next: 0, is_active: true };
            self.active.push(band, &mut self.turns, Turn::link);
        }
    }

    /// The turn of the first flow ends.
    fn turn_ends(&mut self, stays: bool) {
        let Some(band) = self.active.pop(&mut self.turns, Turn::link) else { return };
        if stays {
            self.active.push(band, &mut self.turns, Turn::link);
        } else {
            self.turns[band].is_active = false;
        }
    }
}

impl<A: FlowAqm> Turns for Sfq<A> {
    type Aqm = A;

    fn room(&mut self) -> &mut Room {
        &mut self.room
    }

    fn flows(&self) -> &Flows<A> {
        &self.flows
    }

    fn flows_mut(&mut self) -> &mut Flows<A> {
        &mut self.flows
    }

    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let band = self.flows.band_of(packet.flow, cx.now);
        let size = packet.size();
        let mut arrival = self.flows.arrive(band, packet, cx);
        // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
        let fits = !cx.deliver_drops || self.room.takes(self.flows.backlog(), size, cx);
        if !fits || !self.admits(band, cx) {
            match self.flows.refuse(band, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        if self.flows.admit(band, arrival, cx) {
            self.activate(band);
            if let Some(verdict) = self.flows.aqm(band).for_oldest() {
                self.flows.strike_oldest(band, verdict, self.chosen == Some(band), cx);
            }
            while !cx.deliver_drops && self.is_over(cx) && self.lose_of_longest(band, cx) {}
        }
    }

    fn chosen(&mut self) -> &mut Option<usize> {
        &mut self.chosen
    }

    fn next_band(&mut self, now: Time) -> Option<usize> {
        loop {
            let band = self.active.first()?;
            if self.flows.band_backlog(band).packets == 0 {
                self.flows.found_empty(band, now);
                self.turn_ends(false);
            } else if self.turns[band].allot <= 0 {
                self.turns[band].allot += self.quantum();
                self.turn_ends(true);
            } else {
                return Some(band);
            }
        }
    }

    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let packet = self.flows.release(band, replaces, cx)?;
        if self.flows.band_backlog(band).packets == 0 {
            self.flows.found_empty(band, cx.now);
            self.turn_ends(false);
        } else {
            self.turns[band].allot -= packet.size().get().cast_signed();
        }
        Some(packet)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("active_flows", f64::from(self.active.len()));
    }
}
