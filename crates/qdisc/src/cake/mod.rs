//! CAKE, Common Applications Kept Enhanced: a shaper, tins by DSCP, fair queueing of hosts and flows, and COBALT.
//!
//! Source: Linux `sch_cake`; Hoeiland-Joergensen et al., "Piece of CAKE", 2018; tc-cake(8); spec/queues-and-signalling
//! section 10. A packet is put into a tin ([`tins`]), and there into the queue of its flow ([`flow_queues`], [`isolation`]).
//! The [`shaper`] says when a packet may leave; then a tin is chosen, in it a flow ([`tin`]), and its first packet goes
//! past the flow's COBALT and the ramp of SCE ([`crate::SceRamp`]).
//!
//! When the memory is full, the flow with the most bytes loses its oldest packet, which its BLUE hears of: a flow that
//! does not respond loses more and more, and leaves room for the others.
//!
//! Why the constants are what they are. The quantum is a packet of Ethernet, and at low rates less, so that small packets of other
//! flows need not wait for a large one; the target is raised there, since a packet alone takes longer. 1024 queues in sets
//! of 8 make collisions of 100 flows as rare as those of a hash table of many times the size. The defaults here differ
//! from tc's in two: one tin (`besteffort`), and flows without hosts (`flows`), since most flows of a simulation have
//! hosts of their own.
//!
//! What has no meaning here: `split-gso`, because packets arrive cut already; `nat`, because addresses are not translated;
//! `autorate-ingress` and overrides by marks, which need what packets here do not carry. An empty CAKE in Linux sets a timer for
//! its decaying flows, but looks at none when it fires, and neither does this one. Hosts are always told apart for
//! certain.

mod ack_filter;
mod flow_queues;
mod framing;
mod isolation;
mod list;
mod params;
mod shaper;
mod tin;
mod tins;

use windtunnel_algorithm::RandomStream;
use windtunnel_prefetch::{MANY_FLOWS, prefetch};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{Dscp, FlowId, Packet};

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::cobalt_law::CobaltState;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::flows::{Pool, view};
use crate::gate::Gate;
use crate::hosts::FlowHosts;
use crate::limit::Room;
use crate::params::QueueInit;
use ack_filter::{Eagerness, superfluous};
use flow_queues::{Counts, Label};
use framing::Framing;
use shaper::Shaper;
use tin::{Flow, Set, Signals, Tin};

pub use framing::Cells;
pub use isolation::FlowMode;
pub use params::{AckFilter, CakeParams};
pub use tins::Diffserv;

/// CAKE's variables.
#[derive(Debug)]
struct Cake {
    gate: Gate,
    diffserv: Diffserv,
    framing: Framing,
    ingress: bool,
    wash: bool,
    filter: Option<Eagerness>,
    room: Room,
    memory: Bytes,
    memory_limit: Bytes,
    shaper: Shaper,
    tins: Vec<Tin>,
    /// The tin that was served last.
    turn: usize,
    /// The queues of all tins, in the order in which they were first used.
    flows: Vec<Flow>,
    labels: Vec<Label>,
    pool: Pool,
    hosts: FlowHosts,
    random: RandomStream,
    packets: usize,
    bytes: Bytes,
    filtered: u64,
    /// The flow whose first packet leaves next.
    chosen: Option<usize>,
}

/// The COBALT of a flow with this state. In ingress mode drops count.
#[inline]
fn signals<'q>(
    tin: &'q Tin,
    state: &'q mut CobaltState,
    ingress: bool,
    random: &'q mut RandomStream,
) -> Signals<'q> {
    let bulk_flows = if ingress { tin.bulk_flows() } else { 0 };
    Signals { law: &tin.law, ramp: tin.ramp.as_ref(), state, random, bulk_flows }
}

impl Cake {
    /// The memory that a packet takes in addition to its length.
    const OVERHEAD: Bytes = Bytes::new(256);

    /// CAKE with these parameters, empty.
    fn new(params: &CakeParams, init: &QueueInit) -> Cake {
        Cake {
            gate: Gate::new(init.ecn),
            diffserv: params.diffserv,
            framing: Framing { overhead: params.overhead, mpu: params.mpu, cells: params.atm },
            ingress: params.ingress,
            wash: params.wash,
            filter: match params.ack_filter {
                AckFilter::Off => None,
                AckFilter::On => Some(Eagerness::Moderate),
                AckFilter::Aggressive => Some(Eagerness::Aggressive),
            },
            room: Room::new(init.limit),
            memory: Bytes::ZERO,
            memory_limit: params.memory_limit(),
            shaper: Shaper::new(params.bandwidth),
            tins: params.diffserv.tins().into_iter().map(|spec| Tin::new(spec, params, init.seed)).collect(),
            turn: 0,
            flows: Vec::new(),
            labels: Vec::new(),
            pool: Pool::default(),
            hosts: FlowHosts::default(),
            random: RandomStream::new(init.seed),
            packets: 0,
            bytes: Bytes::ZERO,
            filtered: 0,
            chosen: None,
        }
    }

    /// The queue of a packet.
    #[inline]
    fn flow_of(&mut self, tin: usize, flow: FlowId) -> usize {
        let (flows, labels) = (&self.flows, &mut self.labels);
        let in_use = |queue: usize| flows.get(queue).is_some_and(|flow| flow.set != Set::Idle);
        let choice = self.tins[tin]
            .queues_of_flows
            .find(flow, &self.hosts, flows.len(), in_use, |label| labels.push(label));
        if choice.taken {
            self.take(tin, choice.queue, flow);
        }
        choice.queue
    }

    /// A flow takes a queue, perhaps a new one.
    #[cold]
    fn take(&mut self, tin: usize, at: usize, flow: FlowId) {
        let hosts = self.hosts.of(flow);
        if at == self.flows.len() {
            self.flows.push(Flow::new(tin, hosts));
        }
        self.tins[tin].take(&mut self.flows[at], hosts);
    }

    /// More is queued than fits.
    #[inline]
    fn is_over(&mut self, cx: &QueueCx) -> bool {
        self.memory > self.memory_limit || !self.room.holds(self.backlog(), cx.rate)
    }

    #[inline]
    fn entered(&mut self, tin: usize, size: Bytes) {
        self.packets += 1;
        self.bytes += size;
        self.memory += size + Cake::OVERHEAD;
        self.tins[tin].packets += 1;
    }

    #[inline]
    fn left(&mut self, at: usize, size: Bytes) {
        self.packets -= 1;
        self.bytes -= size;
        self.memory -= size + Cake::OVERHEAD;
        self.tins[usize::from(self.flows[at].tin)].packets -= 1;
    }

    /// A packet of `size` that was dropped has used the bandwidth, too.
    fn charge_dropped(&mut self, at: usize, size: Bytes, cx: &QueueCx) {
        let length = self.framing.length(size, cx.overhead);
        self.shaper.charge(length, true);
        self.tins[usize::from(self.flows[at].tin)].threshold.charge(length, cx.now);
    }

    /// Leaves out an ACK that the packet at the end of a queue replaces.
    #[cold]
    fn filter(&mut self, at: usize, eagerness: Eagerness, cx: &mut QueueCx) {
        let chain = &mut self.flows[at].chain;
        // The packet at the head may be on its way.
        let first = usize::from(self.chosen == Some(at));
        let Some(before) = chain.backlog().packets.checked_sub(1 + first) else { return };
        let Some(arrived) = chain.last(&self.pool) else { return };
        let queued = chain.packets(&self.pool).skip(first).take(before);
        let Some(index) = superfluous(queued, arrived, eagerness) else { return };
        let Some(ack) = chain.remove(first + index, &mut self.pool) else { return };
        self.left(at, ack.size());
        self.filtered += 1;
        if self.ingress {
            self.charge_dropped(at, ack.size(), cx);
        }
        cx.drop(ack, DropReason::Filtered);
    }

    /// The flow with the most bytes that can be dropped; of several, the oldest.
    fn longest(&self) -> Option<usize> {
        let bytes = |at: usize| {
            let chain = &self.flows[at].chain;
            let kept = if self.chosen == Some(at) { chain.head(&self.pool) } else { None };
            chain.backlog().bytes - kept.map_or(Bytes::ZERO, Packet::size)
        };
        let longest = (0..self.flows.len()).rev().max_by_key(|at| bytes(*at))?;
        (bytes(longest) > Bytes::ZERO).then_some(longest)
    }

    /// Drops the oldest packets of the longest flows until the rest fits.
    #[cold]
    fn shed(&mut self, cx: &mut QueueCx) {
        while self.is_over(cx) {
            let Some(at) = self.longest() else { return };
            let flow = &mut self.flows[at];
            let oldest = if self.chosen == Some(at) {
                flow.chain.pop_second(&mut self.pool)
            } else {
                flow.chain.pop(&mut self.pool)
            };
            let Some(oldest) = oldest else { return };
            self.tins[usize::from(flow.tin)].law.full(&mut flow.cobalt, cx.now);
            self.left(at, oldest.size());
            if self.ingress {
                self.charge_dropped(at, oldest.size(), cx);
            }
            cx.enter_band(at);
            cx.drop(oldest, DropReason::Overlimit);
        }
    }

    /// The tin that is served next: with a bandwidth the last of those within their thresholds, or else the one that will
    /// be first; without, by weighted turns.
    #[inline]
    fn choose_tin(&mut self, now: Time) -> Option<usize> {
        if self.tins.len() == 1 {
            return self.tins[0].has_flows().then_some(0);
        }
        let tin = if self.shaper.is_limited() { self.tin_by_time(now) } else { self.tin_by_turns() }?;
        self.turn = tin;
        Some(tin)
    }

    fn tin_by_time(&self, now: Time) -> Option<usize> {
        let busy = self.tins.iter().enumerate().filter(|(_, tin)| tin.has_flows());
        // All times that have come are alike; of equal tins the last is the first.
        busy.rev().min_by_key(|(_, tin)| tin.threshold.next().max(now)).map(|(at, _)| at)
    }

    fn tin_by_turns(&mut self) -> Option<usize> {
        if !self.tins.iter().any(Tin::has_flows) {
            return None;
        }
        let mut at = self.turn;
        loop {
            let tin = &mut self.tins[at];
            if tin.deficit >= 0 && tin.has_flows() {
                return Some(at);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            at = (at + 1) % self.tins.len();
        }
    }

    /// The flow whose turn it is, if a packet may leave.
    #[expect(clippy::inline_always, reason = "asked at each departure")]
    #[inline(always)]
    fn next_flow(&mut self, now: Time) -> Option<usize> {
        if self.packets == 0 || (self.shaper.is_limited() && now < self.shaper.ready()) {
            return None;
        }
        let mut look_at_decaying = true;
        loop {
            let tin = self.choose_tin(now)?;
            let flow =
                self.tins[tin].next_flow(&mut self.flows, &mut look_at_decaying, now, &mut self.random);
            if flow.is_some() {
                return flow;
            }
        }
    }

    /// Asks for the memory of the flows that follow `at`.
    #[inline]
    fn look_ahead(&self, at: usize, cx: &QueueCx) {
        if let Some(next) = self.flows[at].after() {
            self.flows[next].chain.prefetch(&self.pool);
            if let Some(then) = self.flows[next].after() {
                prefetch(&self.flows[then]);
                cx.prefetch_band(then);
            }
        }
    }

    /// The first packet of a flow leaves, unless COBALT drops it. `replaces`: COBALT has just dropped another one.
    #[expect(clippy::inline_always, reason = "a packet is moved through it, on the path of every packet")]
    #[inline(always)]
    fn release(&mut self, at: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        cx.enter_band(at);
        if self.flows.len() >= MANY_FLOWS {
            self.look_ahead(at, cx);
        }
        let flow = &mut self.flows[at];
        let tin = &mut self.tins[usize::from(flow.tin)];
        let packet = flow.chain.pop(&mut self.pool)?;
        let size = packet.size();
        self.packets -= 1;
        self.bytes -= size;
        self.memory -= size + Cake::OVERHEAD;
        tin.packets -= 1;
        let length = self.framing.length(size, cx.overhead);
        let view = view(&flow.chain, &self.pool, self.bytes, cx);
        let mut signals = signals(tin, &mut flow.cobalt, self.ingress, &mut self.random);
        let packet = self.gate.release(&mut signals, packet, replaces, &view, cx);
        if packet.is_some() || self.ingress {
            flow.deficit -= length.get().cast_signed();
            tin.deficit -= length.get().cast_signed();
            if self.shaper.is_limited() {
                self.shaper.charge(length, packet.is_none());
                tin.threshold.charge(length, cx.now);
            }
        }
        packet
    }

    /// The flow that serves another packet in place of one that COBALT dropped: the same, unless that cost it its turn.
    #[cold]
    fn replacement(&mut self, at: usize, now: Time) -> Option<usize> {
        if !self.ingress {
            return Some(at);
        }
        let tin = &mut self.tins[usize::from(self.flows[at].tin)];
        let flow = tin.next_flow(&mut self.flows, &mut false, now, &mut self.random);
        flow.or_else(|| self.next_flow(now))
    }
}

impl QueueDiscipline for Cake {
    fn enqueue(&mut self, mut packet: Packet, cx: &mut QueueCx) {
        let tin = self.diffserv.tin(packet.dscp);
        if self.wash {
            packet.rewrite_dscp(Dscp::DEFAULT);
        }
        let at = self.flow_of(tin, packet.flow);
        let size = packet.size();
        cx.enter_band(at);
        let mut arrival = self.gate.arrive(packet, cx);
        if self.tins[tin].packets == 0 {
            self.tins[tin].threshold.wake(cx.now);
            if self.packets == 0 {
                self.shaper.wake(cx.now);
            }
        }
        self.entered(tin, size);
        let is_over = self.is_over(cx);
        let flow = &mut self.flows[at];
        let mut signals = signals(&self.tins[tin], &mut flow.cobalt, self.ingress, &mut self.random);
        if is_over && cx.deliver_drops {
            // With loss-free endpoints no room can be made: the arriving packet is delivered all the same.
            match self.gate.refuse(&mut signals, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        let view = view(&flow.chain, &self.pool, self.bytes - size, cx);
        let Some(packet) = self.gate.admit(&mut signals, arrival, &view, cx) else {
            return self.left(at, size);
        };
        flow.chain.push(packet, &mut self.pool);
        self.tins[tin].entered(at, &mut self.flows, &mut self.random);
        if !cx.deliver_drops {
            if let Some(eagerness) = self.filter {
                self.filter(at, eagerness, cx);
            }
            if is_over {
                self.shed(cx);
            }
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        if self.chosen.is_none() {
            self.chosen = self.next_flow(cx.now);
        }
        self.flows[self.chosen?].chain.head(&self.pool).map(Packet::size)
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let at = self.chosen.take()?;
        self.release(at, false, cx)
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        let mut at = self.chosen.take().or_else(|| self.next_flow(cx.now))?;
        let mut replaces = false;
        loop {
            let packet = self.release(at, replaces, cx);
            if packet.is_some() {
                return packet;
            }
            replaces = true;
            at = self.replacement(at, cx.now)?;
        }
    }

    fn next_ready(&self, _now: Time) -> Option<Time> {
        (self.packets > 0).then(|| self.shaper.ready())
    }

    fn learn_hosts(&mut self, hosts: &FlowHosts) {
        self.hosts = hosts.clone();
    }

    #[inline]
    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let sum = |of: fn(&Tin) -> u32| self.tins.iter().map(|tin| f64::from(of(tin))).sum();
        out("sparse_flows", sum(Tin::sparse_flows));
        out("bulk_flows", sum(Tin::bulk_flows));
        out("decaying_flows", sum(Tin::decaying_flows));
        out("memory_bytes", self.memory.as_f64());
        out("filtered_acks", self.filtered as f64);
        let ways = |of: fn(Counts) -> u64| {
            let counts: Option<Vec<u64>> =
                self.tins.iter().map(|tin| tin.queues_of_flows.counts().map(of)).collect();
            counts.map_or(f64::NAN, |counts| counts.into_iter().sum::<u64>() as f64)
        };
        out("way_hits", ways(|counts| counts.hits));
        out("way_misses", ways(|counts| counts.misses));
        out("way_collisions", ways(|counts| counts.collisions));
    }

    fn bands(&self) -> usize {
        self.flows.len()
    }

    fn band_name(&self, band: usize) -> String {
        let name = self.labels[band].name();
        let tin = &self.tins[usize::from(self.flows[band].tin)].name;
        if self.tins.len() == 1 { name } else { format!("{tin}, {name}") }
    }

    fn classes(&self) -> Vec<String> {
        if self.tins.len() == 1 {
            return Vec::new();
        }
        self.tins.iter().map(|tin| tin.name.clone()).collect()
    }

    fn class_of(&self, band: usize) -> usize {
        usize::from(self.flows[band].tin)
    }

    fn band_backlog(&self, band: usize) -> Backlog {
        self.flows[band].chain.backlog()
    }

    fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        let Flow { cobalt, deficit, .. } = &self.flows[band];
        out("count", f64::from(cobalt.schedule.count()));
        out("dropping", f64::from(u8::from(cobalt.schedule.is_over())));
        out("next_s", cobalt.schedule.next().map_or(f64::NAN, Time::as_secs_f64));
        out("p_drop", cobalt.blue.p_drop().get());
        out("deficit_bytes", *deficit as f64);
    }
}
