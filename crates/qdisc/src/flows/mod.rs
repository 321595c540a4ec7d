//! What all fair queues have in common: bands by flow, each with an AQM of its own, which share a pool of packets.
//!
//! A packet's flow has a band ([`Classifier`]); a band keeps a list of packets in the [`Pool`] and the state of its
//! AQM. The discipline decides which band to serve, and links bands in [`Rota`]s.

mod classifier;
mod longest;
mod pool;
mod rota;
mod turns;

use std::fmt;

use windtunnel_prefetch::prefetch;
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{FlowId, Packet};

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, QueueView, Verdict};
use crate::discipline::Backlog;
use crate::gate::{Arrival, Gate};
use crate::params::{AqmInit, QueueInit};

pub use classifier::FlowHash;
pub(crate) use classifier::{Buckets, Classifier, five_tuple, hash, jenkins};
use longest::Longest;
pub(crate) use pool::{Chain, NONE, Pool};
pub(crate) use rota::Rota;
pub(crate) use turns::{Fair, Turns};

/// Makes the AQMs of bands.
pub(crate) struct AqmFactory<A>(Box<dyn Fn(&AqmInit) -> A + Send>);

impl<A> AqmFactory<A> {
    pub(crate) fn new(make: impl Fn(&AqmInit) -> A + Send + 'static) -> AqmFactory<A> {
        AqmFactory(Box::new(make))
    }
}

impl<A> fmt::Debug for AqmFactory<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AqmFactory")
    }
}

/// The band of a flow.
#[derive(Debug)]
struct FlowBand<A> {
    chain: Chain,
    aqm: A,
}

/// The bands of a fair queue.
#[derive(Debug)]
pub(crate) struct Flows<A> {
    bands: Vec<FlowBand<A>>,
    pool: Pool,
    classifier: Classifier,
    gate: Gate,
    factory: AqmFactory<A>,
    init: AqmInit,
    /// An AQM without packets, if AQMs have timers: it keeps the time while there is no band yet.
    clock: Option<A>,
    /// The first of all AQMs' timers.
    next_timer: Option<Time>,
    /// How often flows get other buckets, and when next; never with 0 s.
    perturb: Duration,
    next_perturb: Time,
    bytes: Bytes,
    packets: usize,
    longest: Longest,
}

impl<A: Aqm> Flows<A> {
    pub(crate) fn new(init: &QueueInit, classifier: Classifier, factory: AqmFactory<A>) -> Flows<A> {
        let clock = Some((factory.0)(&init.aqm())).filter(|aqm| aqm.next_timer().is_some());
        Flows {
            bands: Vec::new(),
            pool: Pool::default(),
            classifier,
            gate: Gate::new(init.ecn),
            factory,
            init: init.aqm(),
            next_timer: clock.as_ref().and_then(Aqm::next_timer),
            clock,
            perturb: Duration::ZERO,
            next_perturb: Time::ZERO,
            bytes: Bytes::ZERO,
            packets: 0,
            longest: Longest::default(),
        }
    }

    /// How many bands there are.
    pub(crate) fn len(&self) -> usize {
        self.bands.len()
    }

    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes }
    }

    pub(crate) fn band_backlog(&self, band: usize) -> Backlog {
        self.bands[band].chain.backlog()
    }

    pub(crate) fn band_name(&self, band: usize) -> String {
        self.classifier.name(band)
    }

    /// The same with other buckets for flows after each interval; packets stay where they are. 0 s is never.
    pub(crate) fn perturbed_every(self, interval: Duration) -> Flows<A> {
        Flows { perturb: interval, next_perturb: Time::ZERO + interval, ..self }
    }

    /// The band of a flow. A flow that is met for the first time may get a new one.
    #[inline]
    pub(crate) fn band_of(&mut self, flow: FlowId, now: Time) -> usize {
        let band = self.classifier.band_of(flow);
        if band == self.bands.len() {
            self.add_band(now);
        }
        band
    }

    #[cold]
    fn add_band(&mut self, now: Time) {
        /// 2^64 divided by the golden ratio: seeds of successive bands differ in all bits (Knuth).
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let seed = self.init.seed.wrapping_add((self.bands.len() as u64 + 1).wrapping_mul(GOLDEN));
        let init = AqmInit { seed, now, age: self.init.age + now.since_start(), ..self.init };
        self.bands.push(FlowBand { chain: Chain::default(), aqm: (self.factory.0)(&init) });
        self.next_timer = self.first_timer();
    }

    /// A packet arrives for a band.
    #[inline]
    pub(crate) fn arrive(&self, band: usize, packet: Packet, cx: &mut QueueCx) -> Arrival {
        cx.enter_band(band);
        self.gate.arrive(packet, cx)
    }

    /// There is no room for it: see [`Gate::refuse`].
    pub(crate) fn refuse(&mut self, band: usize, arrival: Arrival, cx: &mut QueueCx) -> Option<Arrival> {
        self.gate.refuse(&mut self.bands[band].aqm, arrival, cx)
    }

    /// It enters the band, unless the AQM drops it. Returns whether it did.
    #[inline]
    pub(crate) fn admit(&mut self, band: usize, arrival: Arrival, cx: &mut QueueCx) -> bool {
        let FlowBand { chain, aqm } = &mut self.bands[band];
        let view = view(chain, &self.pool, self.bytes, cx);
        let Some(packet) = self.gate.admit(aqm, arrival, &view, cx) else { return false };
        self.bytes += packet.size();
        self.packets += 1;
        chain.push(packet, &mut self.pool);
        self.longest.changed(band, chain.backlog().bytes);
        true
    }

    /// Asks for the memory of a band.
    #[inline]
    pub(crate) fn prefetch_band(&self, band: usize) {
        prefetch(&self.bands[band]);
    }

    /// Asks for the memory of the packet at the head of a band.
    #[inline]
    pub(crate) fn prefetch_head(&self, band: usize) {
        self.bands[band].chain.prefetch(&self.pool);
    }

    /// The length of the packet at the head of a band.
    #[inline]
    pub(crate) fn head_size(&self, band: usize) -> Option<Bytes> {
        self.bands[band].chain.head(&self.pool).map(Packet::size)
    }

    /// A band was to be served and is empty.
    #[inline]
    pub(crate) fn found_empty(&mut self, band: usize, now: Time) {
        self.bands[band].aqm.on_empty(now);
    }

    /// The packet at the head of a band leaves, unless the AQM drops it. `replaces`: see [`Gate::release`]. It
    /// is not inlined, so that the AQM is inlined here, once.
    #[inline(never)]
    pub(crate) fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        cx.enter_band(band);
        let FlowBand { chain, aqm } = &mut self.bands[band];
        let packet = chain.pop(&mut self.pool)?;
        self.bytes -= packet.size();
        self.packets -= 1;
        self.longest.changed(band, chain.backlog().bytes);
        let view = view(chain, &self.pool, self.bytes, cx);
        self.gate.release(aqm, packet, replaces, &view, cx)
    }

    /// The band that holds the most bytes; of several, the oldest.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        self.longest.find(self.bands.iter().map(|band| band.chain.backlog().bytes))
    }

    /// Drops packets at the head of a band until half of its bytes are gone or `most` packets. The packet at the
    /// head stays if it `is_chosen`. Returns how many packets went, and their bytes.
    pub(crate) fn shed(&mut self, band: usize, most: u32, is_chosen: bool, cx: &mut QueueCx) -> (u32, Bytes) {
        cx.enter_band(band);
        let FlowBand { chain, aqm } = &mut self.bands[band];
        let half = Bytes::new(chain.backlog().bytes.get() / 2);
        let (mut packets, mut bytes) = (0, Bytes::ZERO);
        while packets < most && (packets == 0 || bytes < half) {
            let oldest = if is_chosen { chain.pop_second(&mut self.pool) } else { chain.pop(&mut self.pool) };
            let Some(oldest) = oldest else { break };
            packets += 1;
            bytes += oldest.size();
            aqm.on_lost(oldest.flow);
            cx.drop(oldest, DropReason::Overlimit);
        }
        self.bytes -= bytes;
        self.packets -= packets as usize;
        self.longest.changed(band, chain.backlog().bytes);
        aqm.on_shed(packets, cx.now);
        (packets, bytes)
    }

    /// Applies a verdict on an arriving packet to the first packet of its band instead, or to the second if the first
    /// `is_chosen`.
    pub(crate) fn strike_oldest(&mut self, band: usize, verdict: Verdict, is_chosen: bool, cx: &mut QueueCx) {
        cx.enter_band(band);
        let FlowBand { chain, aqm } = &mut self.bands[band];
        let Some(oldest) = chain.oldest(usize::from(is_chosen), &mut self.pool) else { return };
        if !self.gate.strike(verdict, oldest, cx) {
            return;
        }
        let lost = if is_chosen { chain.pop_second(&mut self.pool) } else { chain.pop(&mut self.pool) };
        if let Some(lost) = lost {
            self.bytes -= lost.size();
            self.packets -= 1;
            self.longest.changed(band, chain.backlog().bytes);
            aqm.on_lost(lost.flow);
            cx.drop(lost, DropReason::Aqm);
        }
    }

    /// The AQM of a band.
    pub(crate) fn aqm(&mut self, band: usize) -> &mut A {
        &mut self.bands[band].aqm
    }

    /// Drops the packet of a band that arrived last.
    pub(crate) fn drop_last(&mut self, band: usize, cx: &mut QueueCx) {
        cx.enter_band(band);
        let FlowBand { chain, aqm } = &mut self.bands[band];
        if let Some(last) = chain.pop_last(&mut self.pool) {
            self.bytes -= last.size();
            self.packets -= 1;
            self.longest.changed(band, chain.backlog().bytes);
            aqm.on_lost(last.flow);
            cx.drop(last, DropReason::Overlimit);
            aqm.on_shed(1, cx.now);
        }
    }

    /// When the next timer of an AQM is due, or flows get other buckets.
    #[inline]
    pub(crate) fn next_timer(&self) -> Option<Time> {
        let perturb = (!self.perturb.is_zero()).then_some(self.next_perturb);
        perturb.into_iter().chain(self.next_timer).min()
    }

    fn first_timer(&self) -> Option<Time> {
        let clock = self.clock.as_ref()?.next_timer();
        self.bands.iter().map(|band| band.aqm.next_timer()).chain([clock]).flatten().min()
    }

    /// Calls the timers that are due.
    pub(crate) fn on_timer(&mut self, cx: &QueueCx) {
        if !self.perturb.is_zero() && self.next_perturb <= cx.now {
            self.classifier.perturb();
            self.next_perturb = cx.now + self.perturb;
        }
        let due = |aqm: &A| aqm.next_timer().is_some_and(|next| next <= cx.now);
        for FlowBand { chain, aqm } in &mut self.bands {
            if due(aqm) {
                aqm.on_timer(&view(chain, &self.pool, self.bytes, cx));
            }
        }
        if let Some(clock) = self.clock.as_mut().filter(|clock| due(clock)) {
            clock.on_timer(&view(&Chain::default(), &self.pool, self.bytes, cx));
        }
        self.next_timer = self.first_timer();
    }

    pub(crate) fn probe_band(&self, band: usize, out: &mut dyn FnMut(&'static str, f64)) {
        self.bands[band].aqm.probe(out);
    }
}

/// What an AQM may know of the queue in `chain`.
#[inline]
pub(crate) fn view(chain: &Chain, pool: &Pool, all_bytes: Bytes, cx: &QueueCx) -> QueueView {
    let Backlog { packets, bytes } = chain.backlog();
    let head_waiting: Option<Duration> = chain.head(pool).map(|head| cx.now.since(head.enqueued_at));
    QueueView { now: cx.now, packets, bytes, all_bytes, head_waiting, rate: cx.rate }
}
