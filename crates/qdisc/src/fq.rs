//! fq, Linux's fair queue: deficit round robin that favours new flows, with a limit per flow and a pace for each.
//!
//! Source: Linux `sch_fq` and its manual page `tc-fq`; it is the
//! queue of a host: a flow has a band with `flow_limit` packets; new flows go before old ones, with a credit of
//! `initial_quantum` at first and of `quantum` at each turn; a flow that has been away for `refill_delay` is given a
//! full quantum when it returns. With `maxrate` a band that has used up its credit waits until it may send again at
//! that rate, and is on no list meanwhile: the queue is not work-conserving. At `low_rate_threshold` or below every
//! packet is spaced, and above it every quantum, since timers cost time. A wait is shortened by the band's previous
//! lateness, by at most half.
//!
//! Why the constants are what they are. A quantum of two packets and a first one of ten are the initial window's burst
//! (RFC 6928) and a segment pair per turn. A sender limited by TCP small queues never has 100 packets in the queue.
//!
//! Some parts of `sch_fq` have no meaning in front of a link: a socket's pacing rate and earliest departure times, since
//! senders here space their packets before they arrive, so that `horizon` is never exceeded either. `buckets` sizes a
//! hash table. Priority bands need a priority that packets here do not carry. `orphan_mask` bounds the bands of packets
//! that are not of this host's sockets, with `hash = "jenkins"`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Rate, Time};
use windtunnel_wire::Packet;

use crate::accounts::QueueCx;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::flows::{AqmFactory, Buckets, Classifier, Fair, FlowHash, Flows, Rota, Turns};
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, AqmSlot, QueueInit, QueueParams, QueuePlace, kernel_ecn_mode};
use crate::spec::Parts;

/// fq's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux sch_fq; tc-fq(8)", "x-title" = "FQ", "x-traits" = ["fair", "holds"]))]
pub struct FqParams {
    /// How flows are told apart: for certain, as a host knows its own, or by a hash, as it does with packets that it
    /// forwards.
    pub hash: FlowHash,
    /// A mask of the hash bits that tell flows apart; 0 makes all flows collide.
    pub orphan_mask: u32,
    /// The most packets of one flow.
    pub flow_limit: u32,
    /// What a flow may send in one turn. Linux takes two packets with their Ethernet headers.
    pub quantum: Bytes,
    /// What a flow may send when it is met for the first time.
    pub initial_quantum: Bytes,
    /// How long a flow must have been away to receive a new quantum.
    pub refill_delay: Duration,
    /// The maximum rate of each flow; by default the link's rate.
    pub maxrate: Option<Rate>,
    /// The rate up to which every packet is spaced, instead of every quantum.
    pub low_rate_threshold: Rate,
    /// The sojourn time above which every packet that understands CE is marked; off by default.
    pub ce_threshold: Option<Duration>,
}

impl Default for FqParams {
    fn default() -> FqParams {
        FqParams {
            hash: FlowHash::default(),
            orphan_mask: 1_023,
            flow_limit: 100,
            quantum: Bytes::new(3_000),
            initial_quantum: Bytes::new(15_000),
            refill_delay: Duration::from_millis(40),
            maxrate: None,
            low_rate_threshold: Rate::from_bits_per_sec(550_000),
            ce_threshold: None,
        }
    }
}

impl Params for FqParams {
    const NAME: &'static str = "fq";
    const SUMMARY: &'static str =
        "Linux's fair queue: deficit round robin that favours new flows, with a pace for each";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.flow_limit == 0 {
            return Err(OutOfRange::new("flow_limit", self.flow_limit, "at least 1"));
        }
        if self.quantum < Bytes::new(256) || self.quantum > FqParams::MOST_QUANTUM {
            return Err(OutOfRange::new("quantum", self.quantum, "from 256 B to 1 MiB"));
        }
        if self.initial_quantum > FqParams::MOST_QUANTUM {
            return Err(OutOfRange::new("initial_quantum", self.initial_quantum, "at most 1 MiB"));
        }
        if self.maxrate == Some(Rate::ZERO) {
            return Err(OutOfRange::new("maxrate", Rate::ZERO, "more than 0 bit/s"));
        }
        Ok(())
    }
}

impl FqParams {
    /// Linux's for `quantum`.
    const MOST_QUANTUM: Bytes = Bytes::new(1 << 20);

    fn discipline<A: Aqm + 'static>(
        &self,
        init: &QueueInit,
        factory: AqmFactory<A>,
    ) -> Box<dyn QueueDiscipline> {
        Box::new(Fair(Fq::new(self, init, factory)))
    }
}

impl QueueParams for FqParams {
    /// Linux's.
    fn default_limit(&self) -> Limit {
        Limit::Packets(10_000)
    }

    fn slots(&self) -> &'static [AqmSlot] {
        const SUMMARY: &str = "The AQM of each flow; if left out, `ce_threshold` alone marks.";
        &[AqmSlot { key: "aqm", summary: SUMMARY }]
    }

    fn check_aqms(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> Result<(), OutOfRange> {
        match self.ce_threshold {
            Some(threshold) if aqms.iter().any(Option::is_some) => {
                Err(OutOfRange::new("ce_threshold", threshold, "left out with `aqm`, which takes its place"))
            }
            _ => Ok(()),
        }
    }

    /// Linux's.
    fn default_ecn_mode(&self, aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        kernel_ecn_mode(aqms)
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        let mut placed = self.clone();
        if !is_given("quantum") {
            placed.quantum += place.overhead * 2;
        }
        if !is_given("initial_quantum") {
            placed.initial_quantum += place.overhead * 10;
        }
        Some(Arc::new(placed))
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let threshold = self.ce_threshold;
        match parts.aqm() {
            None => self.discipline(init, AqmFactory::new(move |_| CeThreshold(threshold))),
            Some(aqm) => {
                let aqm = Arc::clone(aqm);
                self.discipline::<Box<dyn Aqm>>(init, AqmFactory::new(move |init| aqm.build(init)))
            }
        }
    }
}

/// Marks packets that waited longer, where a mark can reach the receiver, and drops nothing.
#[derive(Clone, Copy, Debug)]
struct CeThreshold(Option<Duration>);

impl Aqm for CeThreshold {
    fn on_dequeue(&mut self, packet: &PacketView, _queue: &QueueView) -> Verdict {
        let above = self.0.is_some_and(|threshold| packet.sojourn > threshold);
        if above && packet.markable() { Verdict::Mark(Signal::Ce) } else { Verdict::Pass }
    }
}

/// What a band does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On no list: it was empty when its turn came.
    Away {
        /// Since when; never yet, for a new flow.
        since: Option<Time>,
    },
    /// It takes turns.
    Listed,
    /// It waits for its next packet's time.
    Throttled,
}

/// A band in the round.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// The band after it on its list.
    next: u32,
    state: State,
    /// When it may send again.
    next_packet: Time,
}

impl Turn {
    fn link(&mut self) -> &mut u32 {
        &mut self.next
    }
}

/// fq's variables.
#[derive(Debug)]
struct Fq<A> {
    flows: Flows<A>,
    turns: Vec<Turn>,
    new: Rota,
    old: Rota,
    /// Bands that wait, the one that may send first on top.
    throttled: BinaryHeap<Reverse<(Time, usize)>>,
    room: Room,
    params: FqParams,
    /// The band whose first packet leaves next.
    chosen: Option<usize>,
}

impl<A: Aqm> Fq<A> {
    /// No packet waits longer for its pace.
    const LONGEST_WAIT: Duration = Duration::SECOND;

    fn new(params: &FqParams, init: &QueueInit, factory: AqmFactory<A>) -> Fq<A> {
        let classifier = Classifier::new(params.hash, Buckets::Masked(params.orphan_mask), init.seed);
        Fq {
            flows: Flows::new(init, classifier, factory),
            turns: Vec::new(),
            new: Rota::default(),
            old: Rota::default(),
            throttled: BinaryHeap::new(),
            room: Room::new(init.limit),
            params: params.clone(),
            chosen: None,
        }
    }

    /// A band has packets: if it was away, it takes turns as a new one.
    #[inline]
    fn list(&mut self, band: usize, now: Time) {
        if band >= self.turns.len() {
            let credit = self.params.initial_quantum.get().cast_signed();
            let state = State::Away { since: None };
            self.turns.resize(band + 1, Turn { credit, next: 0, state, next_packet: Time::ZERO });
        }
        let turn = &mut self.turns[band];
        if let State::Away { since } = turn.state {
            if since.is_some_and(|since| now > since + self.params.refill_delay) {
                turn.credit = turn.credit.max(self.params.quantum.get().cast_signed());
            }
            turn.state = State::Listed;
            self.new.push(band, &mut self.turns, Turn::link);
        }
    }

    /// The band whose turn it is leaves the front of its list, for `state`.
    #[inline]
    fn turn_ends(&mut self, was_new: bool, state: State) {
        let list = if was_new { &mut self.new } else { &mut self.old };
        let Some(band) = list.pop(&mut self.turns, Turn::link) else { return };
        self.turns[band].state = state;
        match state {
            State::Listed => self.old.push(band, &mut self.turns, Turn::link),
            State::Throttled => self.throttled.push(Reverse((self.turns[band].next_packet, band))),
            State::Away { .. } => {}
        }
    }

    /// Bands whose time has come take turns again, as old ones.
    fn wake(&mut self, now: Time) {
        while let Some(Reverse((at, band))) = self.throttled.peek().copied()
            && at <= now
        {
            self.throttled.pop();
            self.turns[band].state = State::Listed;
            self.old.push(band, &mut self.turns, Turn::link);
        }
    }

    /// When a band may send again, after a packet of `size` has left it.
    fn pace(&mut self, band: usize, size: Bytes, rate: Rate, now: Time) {
        let turn = &mut self.turns[band];
        let spaced = if rate <= self.params.low_rate_threshold {
            turn.credit = 0;
            size
        } else if turn.credit > 0 {
            return;
        } else {
            size.max(self.params.quantum)
        };
        let wait = rate.transfer_time(spaced).min(Fq::<A>::LONGEST_WAIT);
        // The band makes up for lateness that a real clock's granularity or other bands' turns caused.
        let late = if turn.next_packet == Time::ZERO { Duration::ZERO } else { now.since(turn.next_packet) };
        turn.next_packet = now + wait.saturating_sub(late.min(wait / 2));
    }
}

impl<A: Aqm> Turns for Fq<A> {
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
        let of_flow = self.flows.band_backlog(band).packets;
        if !self.room.fits(self.flows.backlog(), size, cx.rate) || of_flow >= self.params.flow_limit as usize
        {
            match self.flows.refuse(band, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        if self.flows.admit(band, arrival, cx) {
            self.list(band, cx.now);
        }
    }

    #[inline]
    fn chosen(&mut self) -> &mut Option<usize> {
        &mut self.chosen
    }

    fn next_band(&mut self, now: Time) -> Option<usize> {
        self.wake(now);
        loop {
            let is_new = self.new.first();
            let band = is_new.or_else(|| self.old.first())?;
            let was_new = is_new.is_some();
            let turn = &mut self.turns[band];
            if turn.credit <= 0 {
                turn.credit += self.params.quantum.get().cast_signed();
                self.turn_ends(was_new, State::Listed);
            } else if self.flows.band_backlog(band).packets == 0 {
                self.flows.found_empty(band, now);
                // A band that has been new must pass through the old ones.
                let passes = was_new && self.old.first().is_some();
                self.turn_ends(
                    was_new,
                    if passes { State::Listed } else { State::Away { since: Some(now) } },
                );
            } else if now < turn.next_packet {
                self.turn_ends(was_new, State::Throttled);
            } else {
                return Some(band);
            }
        }
    }

    fn release(&mut self, band: usize, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let packet = self.flows.release(band, replaces, cx)?;
        self.turns[band].credit -= packet.size().get().cast_signed();
        if let Some(rate) = self.params.maxrate {
            self.pace(band, packet.size(), rate, cx.now);
        }
        Some(packet)
    }

    fn next_ready(&self) -> Option<Time> {
        self.throttled.peek().map(|Reverse((at, _))| *at)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("new_flows", f64::from(self.new.len()));
        out("old_flows", f64::from(self.old.len()));
        out("throttled_flows", self.throttled.len() as f64);
    }
}
