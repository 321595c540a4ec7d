//! A tin: flows that take turns by deficit round robin, and the signals to each.
//!
//! Source: Linux `sch_cake`; spec/queues-and-signalling section 10. A flow that was idle is sparse, and sparse flows go before
//! the others for one quantum. One that has used it up is a bulk flow, and waits for its turn. A sparse flow that has used
//! it up and is empty takes part in the round, too, or it could come back as a sparse flow at once. A flow whose COBALT
//! has not come to rest stays on a list of decaying flows: each departure looks at one of them, as if it had been served
//! and found empty.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Time};

use super::flow_queues::FlowQueues;
use super::isolation::HostLoad;
use super::list::{Linked, Links, List};
use super::params::CakeParams;
use super::shaper::Threshold;
use super::tins::TinSpec;
use crate::aqm::cobalt_law::{CobaltLaw, CobaltState};
use crate::aqm::{Aqm, PacketView, QueueView, SceRamp, Signal, Verdict};
use crate::flows::Chain;
use crate::hosts::HostPair;

/// Where a flow is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    /// On no list.
    Idle,
    /// Among the new flows.
    Sparse,
    /// Empty, and in the round for its deficit's sake.
    SparseWait,
    /// In the round.
    Bulk,
    /// Empty, until its COBALT rests.
    Decaying,
}

/// A flow's queue.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) chain: Chain,
    /// Bytes that it may still send in this turn.
    pub(super) deficit: i64,
    links: Links,
    pub(super) set: Set,
    pub(super) tin: u8,
    pub(super) hosts: HostPair,
    pub(super) cobalt: CobaltState,
}

impl Linked for Flow {
    fn links(&mut self) -> &mut Links {
        &mut self.links
    }
}

impl Flow {
    pub(super) fn new(tin: usize, hosts: HostPair) -> Flow {
        Flow {
            chain: Chain::default(),
            deficit: 0,
            links: Links::none(),
            set: Set::Idle,
            tin: tin as u8,
            hosts,
            cobalt: CobaltState::unused(),
        }
    }

    /// The flow after it on its list.
    #[inline]
    pub(super) const fn after(&self) -> Option<usize> {
        self.links.after()
    }

    fn is_empty(&self) -> bool {
        self.chain.backlog().packets == 0
    }
}

/// A tin's variables.
#[derive(Debug)]
pub(super) struct Tin {
    pub(super) name: String,
    pub(super) queues_of_flows: FlowQueues,
    pub(super) threshold: Threshold,
    /// Bytes that it may still send in this turn of the tins, and how many a turn adds: used without a bandwidth.
    pub(super) deficit: i64,
    pub(super) weight: i64,
    pub(super) packets: u64,
    pub(super) law: CobaltLaw,
    pub(super) ramp: Option<SceRamp>,
    load: HostLoad,
    quantum: i64,
    new: List,
    old: List,
    decaying: List,
    /// Sparse flows, waiting ones among them.
    sparse: u32,
    bulk: u32,
}

impl Tin {
    /// An empty tin of a CAKE with these parameters.
    pub(super) fn new(spec: TinSpec, params: &CakeParams, seed: u64) -> Tin {
        let rate = params.bandwidth.map(|bandwidth| spec.share.of(bandwidth));
        let law = params.law(rate);
        Tin {
            name: spec.name,
            queues_of_flows: FlowQueues::new(params.flow_mode, params.hash, params.flows, seed),
            threshold: Threshold::new(rate),
            deficit: 0,
            weight: spec.weight,
            packets: 0,
            ramp: params.knee().map(|knee| SceRamp::around(law.target, knee)),
            law,
            load: HostLoad::new(params.flow_mode),
            quantum: params.quantum(rate).get().cast_signed(),
            new: List::new(),
            old: List::new(),
            decaying: List::new(),
            sparse: 0,
            bulk: 0,
        }
    }

    pub(super) const fn sparse_flows(&self) -> u32 {
        self.sparse
    }

    pub(super) const fn bulk_flows(&self) -> u32 {
        self.bulk
    }

    pub(super) const fn decaying_flows(&self) -> u32 {
        self.decaying.len()
    }

    /// It has flows to serve, which may be empty.
    #[inline]
    pub(super) const fn has_flows(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// A flow's share of a turn: the quantum, divided by its host's load and rounded at random.
    #[inline]
    fn quantum_of(&self, hosts: HostPair, random: &mut RandomStream) -> i64 {
        if !self.load.counts() {
            return self.quantum;
        }
        match self.load.of(hosts) {
            1 => self.quantum,
            load => (self.quantum as f64 / f64::from(load) + random.uniform()) as i64,
        }
    }

    /// A packet has entered a flow.
    #[inline]
    pub(super) fn entered(&mut self, at: usize, flows: &mut [Flow], random: &mut RandomStream) {
        let flow = &mut flows[at];
        match flow.set {
            Set::Sparse | Set::Bulk => {}
            Set::SparseWait => {
                flow.set = Set::Bulk;
                self.sparse -= 1;
                self.becomes_bulk(flow.hosts);
            }
            Set::Idle | Set::Decaying => {
                flow.deficit = self.quantum_of(flow.hosts, random);
                let before = std::mem::replace(&mut flow.set, Set::Sparse);
                if before == Set::Decaying {
                    self.decaying.remove(at, flows);
                }
                self.new.push(at, flows);
                self.sparse += 1;
            }
        }
    }

    fn becomes_bulk(&mut self, hosts: HostPair) {
        self.bulk += 1;
        self.load.add(hosts);
    }

    /// A flow that collides with another one takes its queue, and its hosts count from now on.
    pub(super) fn take(&mut self, flow: &mut Flow, hosts: HostPair) {
        if flow.set == Set::Bulk {
            self.load.remove(flow.hosts);
            self.load.add(hosts);
        }
        flow.hosts = hosts;
    }

    /// The first flow in order of service.
    #[inline]
    fn front(&self, look_at_decaying: bool) -> Option<usize> {
        if look_at_decaying && let Some(at) = self.decaying.first() {
            return Some(at);
        }
        if let Some(at) = self.new.first() {
            return Some(at);
        }
        if let Some(at) = self.old.first() {
            return Some(at);
        }
        self.decaying.first()
    }

    /// The flow whose turn it is, and which has a packet; nothing if a flow was found empty, after which the tins are to be
    /// asked again. `look_at_decaying` holds once in a departure.
    #[expect(clippy::inline_always, reason = "asked at each departure: 50 instructions")]
    #[inline(always)]
    pub(super) fn next_flow(
        &mut self,
        flows: &mut [Flow],
        look_at_decaying: &mut bool,
        now: Time,
        random: &mut RandomStream,
    ) -> Option<usize> {
        loop {
            let at = self.front(std::mem::take(look_at_decaying))?;
            let flow = &mut flows[at];
            if flow.deficit <= 0 {
                flow.deficit += self.quantum_of(flow.hosts, random);
                self.turn_ends(at, flows);
            } else if flow.is_empty() {
                self.found_empty(at, flows, now);
                return None;
            } else {
                return Some(at);
            }
        }
    }

    fn list_of(&mut self, set: Set) -> &mut List {
        match set {
            Set::Sparse => &mut self.new,
            Set::SparseWait | Set::Bulk => &mut self.old,
            Set::Idle | Set::Decaying => &mut self.decaying,
        }
    }

    /// The flow at the front of its list has used up its deficit: it goes to the end of the round.
    #[inline]
    fn turn_ends(&mut self, at: usize, flows: &mut [Flow]) {
        match flows[at].set {
            Set::SparseWait | Set::Bulk => self.old.rotate(flows),
            Set::Sparse | Set::Idle | Set::Decaying => self.joins_round(at, flows),
        }
    }

    /// A flow that was not in the round takes part in it.
    #[inline(never)]
    fn joins_round(&mut self, at: usize, flows: &mut [Flow]) {
        let flow = &mut flows[at];
        let before = flow.set;
        if before == Set::Sparse {
            if flow.is_empty() {
                flow.set = Set::SparseWait;
            } else {
                flow.set = Set::Bulk;
                self.sparse -= 1;
                self.becomes_bulk(flow.hosts);
            }
        }
        self.list_of(before).remove(at, flows);
        self.old.push(at, flows);
    }

    /// A flow was to be served and is empty.
    #[inline(never)]
    fn found_empty(&mut self, at: usize, flows: &mut [Flow], now: Time) {
        let flow = &mut flows[at];
        self.law.empty(&mut flow.cobalt, now);
        let rests = flow.cobalt.rests(now);
        let before = std::mem::replace(&mut flow.set, if rests { Set::Idle } else { Set::Decaying });
        match before {
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::Bulk => {
                self.bulk -= 1;
                self.load.remove(flow.hosts);
            }
            Set::Idle | Set::Decaying => {}
        }
        self.list_of(before).remove(at, flows);
        if !rests {
            self.decaying.push(at, flows);
        }
    }
}

/// COBALT and the ramp of SCE for one flow, as the gate asks an AQM.
#[derive(Debug)]
pub(super) struct Signals<'q> {
    pub(super) law: &'q CobaltLaw,
    pub(super) ramp: Option<&'q SceRamp>,
    pub(super) state: &'q mut CobaltState,
    pub(super) random: &'q mut RandomStream,
    /// The flows whose packets keep each other waiting; 0 unless drops count.
    pub(super) bulk_flows: u32,
}

impl Signals<'_> {
    #[inline]
    fn sce(&mut self, sojourn: Duration, over: bool) -> bool {
        self.ramp.is_some_and(|ramp| self.random.uniform() < ramp.probability(sojourn, over))
    }
}

impl Aqm for Signals<'_> {
    fn on_full(&mut self, now: Time) {
        self.law.full(self.state, now);
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let over = self.law.is_over(packet.sojourn, self.bulk_flows);
        let seen = (packet.sojourn, over, packet.markable());
        let decision = self.law.decide(self.state, seen, queue.now, self.random);
        let sce = self.sce(packet.sojourn, over);
        // The last packet is kept: a queue of one packet needs none to be dropped.
        match decision.verdict(queue.packets == 0) {
            Verdict::Pass if sce => Verdict::Mark(Signal::Sce),
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cake::{Diffserv, FlowMode};

    /// A tin in which the hosts that send share the rate.
    fn by_source() -> Tin {
        let params = CakeParams { flow_mode: FlowMode::DualSrchost, ..CakeParams::default() };
        Tin::new(Diffserv::Besteffort.tins().remove(0), &params, 1)
    }

    fn from(source: u32) -> HostPair {
        HostPair { source, destination: 0 }
    }

    /// A share of 1500 / 7 bytes is rounded to 214 or 215 at random, and right on average: of 10,000 draws the mean
    /// is within four standard deviations of 0.0045 of 214.286 (`cake_flow_get_quantum`).
    #[test]
    fn shares_are_rounded_at_random() {
        let (mut tin, mut random) = (by_source(), RandomStream::new(1));
        (0..7).for_each(|_| tin.becomes_bulk(from(3)));
        let draws: Vec<i64> = (0..10_000).map(|_| tin.quantum_of(from(3), &mut random)).collect();
        assert!(draws.iter().all(|draw| [214, 215].contains(draw)));
        let mean = draws.iter().sum::<i64>() as f64 / 10_000.0;
        assert!((mean - 1_500.0 / 7.0).abs() < 0.018, "{mean}");
        assert_eq!(tin.quantum_of(from(4), &mut random), 1_500, "no bulk flow");
    }

    /// Where a flow takes the queue of another, a bulk one, the load moves from the old host to the new one; a queue
    /// that is not in the round counts for neither.
    #[test]
    fn load_follows_the_host() {
        let mut tin = by_source();
        let mut queue = Flow::new(0, from(1));
        for source in [1, 1, 2] {
            tin.becomes_bulk(from(source));
        }
        tin.take(&mut queue, from(2));
        assert_eq!([1, 2].map(|source| tin.load.of(from(source))), [2, 1]);
        assert_eq!(queue.hosts, from(2));
        let mut bulk = Flow { set: Set::Bulk, ..Flow::new(0, from(1)) };
        tin.take(&mut bulk, from(2));
        assert_eq!([1, 2].map(|source| tin.load.of(from(source))), [1, 2]);
    }
}
