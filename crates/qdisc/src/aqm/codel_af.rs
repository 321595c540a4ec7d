//! CodelAF, CoDel with approximate fairness: flows in one queue are signalled by their part of it.
//!
//! Source: draft-morton-tsvwg-codel-approx-fair-01; `sch_cnq_codel_af` of the SCE reference repository;
//! spec/queues-and-signalling section 11. Each flow has a COBALT of its own ([`super::cobalt_law`]), which decides on the
//! *weighted* sojourn time `s * b * a / B`: of `B` packets in the queue `b` are the flow's, and `a` flows have packets in
//! it. A flow with exactly its fair part of the queue is seen as it waits, one with twice that as if it waited twice as
//! long; so the flow that fills the queue slows down first, without a queue for each flow. The rule of 4 packets'
//! transmission times holds for the time itself. The last packet of a flow is marked, but not dropped.
//!
//! The flows of packets that left without passing the AQM, because a scheduler took them for sparse, count as idle at
//! that moment, and in each dequeue one flow without packets, in turn, learns that it is idle: their frequencies decay.
//!
//! Unlike in the reference, a flow with packets counts among the `a` flows also for its own last packet, so that a fair
//! part is always a fair part, and the schedule of SCE is timed as that of CE: the reference reflects its next time about
//! the present, and starts from 0, which postpones the first SCE by as long as the system has run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::FlowId;

use super::cobalt::CobaltParams;
use super::cobalt_law::{CobaltLaw, CobaltState};
use super::cobalt_sce::SceSchedule;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::flows::{Buckets, Classifier, FlowHash};
use crate::params::{AqmInit, BuildAqm};
use crate::sparse;

/// CodelAF's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-morton-tsvwg-codel-approx-fair-01; chromi/sce sch_cnq_codel_af",
    "x-title" = "CoDel-AF",
    "x-traits" = ["marks", "target"]
))]
pub struct CodelAfParams {
    /// How long packets may wait longer than the target; about the longest usual round trip.
    pub rtt: Duration,
    /// The weighted sojourn time that a flow may have.
    pub target: Duration,
    /// How many intervals of SCE there are in one of CE; 0 turns SCE off.
    pub sce: u32,
    /// The transmission time of a packet of full size, if it is known: packets that wait for up to 4 of them are never
    /// signalled.
    pub mtu_time: Duration,
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Flows that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
}

impl Default for CodelAfParams {
    fn default() -> CodelAfParams {
        let CobaltParams { rtt, target, mtu_time, .. } = CobaltParams::default();
        CodelAfParams { rtt, target, sce: 0, mtu_time, hash: FlowHash::default(), flows: 65_536 }
    }
}

impl CodelAfParams {
    /// The COBALT of each flow.
    fn cobalt(&self) -> CobaltParams {
        let CodelAfParams { rtt, target, sce, mtu_time, .. } = *self;
        CobaltParams { rtt, target, sce: Some(sce), mtu_time, ..CobaltParams::default() }
    }
}

impl Params for CodelAfParams {
    const NAME: &'static str = "codel-af";
    const ALIASES: &'static [&'static str] = &["codel_af"];
    const SUMMARY: &'static str =
        "COBALT for each flow of one queue, which sees a flow wait longer the more of the queue it fills";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.cobalt())?;
        sparse::check_flows(self.flows)
    }
}

impl BuildAqm for CodelAfParams {
    type Aqm = CodelAf;

    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> CodelAf {
        CodelAf::new(self, init.seed)
    }
}

/// What is known of a flow.
#[derive(Clone, Copy, Debug)]
struct Share {
    state: CobaltState,
    some_congestion: Option<SceSchedule>,
    /// Its packets in the queue.
    queued: u32,
}

/// CodelAF's variables.
#[derive(Debug)]
pub struct CodelAf {
    law: CobaltLaw,
    /// That of a flow that has not been met.
    fresh: Share,
    classifier: Classifier,
    flows: Vec<Share>,
    /// Flows that have packets in the queue.
    active: u32,
    /// Packets in the other queues that share this queue's link.
    elsewhere: usize,
    /// The flow that decays next, if it has no packets.
    decays: usize,
    /// The flow of the packet that left last, and how long it waited as it was seen.
    last: (usize, Duration),
    random: RandomStream,
}

impl CodelAf {
    /// CodelAF with these parameters and its own random stream.
    pub fn new(params: &CodelAfParams, seed: u64) -> CodelAf {
        let cobalt = params.cobalt();
        let schedule = |interval| SceSchedule::new(interval, cobalt.sce_target());
        CodelAf {
            law: cobalt.law(),
            fresh: Share {
                state: CobaltState::new(),
                some_congestion: cobalt.sce_interval().map(schedule),
                queued: 0,
            },
            classifier: Classifier::new(params.hash, Buckets::Scaled(params.flows), seed),
            flows: Vec::new(),
            active: 0,
            elsewhere: 0,
            decays: 0,
            last: (0, Duration::ZERO),
            random: RandomStream::new(seed),
        }
    }

    /// Flows that have packets in the queue.
    pub(crate) const fn active(&self) -> u32 {
        self.active
    }

    /// Sets the number of packets in the other queues that share its link.
    pub(crate) const fn set_elsewhere(&mut self, packets: usize) {
        self.elsewhere = packets;
    }

    fn share(&mut self, flow: FlowId) -> usize {
        let share = self.classifier.band_of(flow);
        if share == self.flows.len() {
            self.flows.push(self.fresh);
        }
        share
    }

    /// How long a packet of a flow waited, weighted by the flow's part of the queue with this packet.
    fn weighted(&self, share: usize, packet: &PacketView, queue: &QueueView) -> Duration {
        let own = u128::from(self.flows[share].queued.max(1)) * u128::from(self.active.max(1));
        let all = (queue.packets + 1 + self.elsewhere) as u128;
        let ns = u128::from(packet.sojourn.as_nanos()) * own / all;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// A packet of a flow has left the queue. Returns whether it was the last of its flow.
    fn left(&mut self, share: usize) -> bool {
        let queued = &mut self.flows[share].queued;
        let was_last = *queued == 1;
        *queued = queued.saturating_sub(1);
        self.active -= u32::from(was_last);
        was_last
    }

    /// A flow is idle.
    fn idle(&mut self, share: usize, now: Time) {
        let Share { state, some_congestion, .. } = &mut self.flows[share];
        self.law.empty(state, now);
        if let Some(sce) = some_congestion {
            sce.empty(now, self.law.form);
        }
    }

    /// A flow in turn learns that it is idle, if it is.
    pub(crate) fn decay(&mut self, now: Time) {
        if self.flows.is_empty() {
            return;
        }
        self.decays = (self.decays + 1) % self.flows.len();
        if self.flows[self.decays].queued == 0 {
            self.idle(self.decays, now);
        }
    }
}

impl Aqm for CodelAf {
    fn on_enqueue(&mut self, packet: &PacketView, _queue: &QueueView) -> Verdict {
        let share = self.share(packet.flow);
        let queued = &mut self.flows[share].queued;
        self.active += u32::from(*queued == 0);
        *queued += 1;
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let share = self.share(packet.flow);
        let waited = self.weighted(share, packet, queue);
        let is_last = self.left(share);
        self.last = (share, waited);
        let (law, now) = (self.law, queue.now);
        let Share { state, some_congestion, .. } = &mut self.flows[share];
        let marks_sce = some_congestion
            .as_mut()
            .is_some_and(|sce| sce.marks(packet, waited, law.mtu_time, now, law.form));
        let over = waited > law.target && packet.sojourn > law.mtu_time * 4;
        let decision = law.decide(state, (waited, over, packet.markable()), now, &mut self.random);
        if let Some(sce) = some_congestion
            && law.overflows(waited)
        {
            sce.full(now);
        }
        self.decay(now);
        match decision.verdict(is_last) {
            Verdict::Pass if marks_sce => Verdict::Mark(Signal::Sce),
            verdict => verdict,
        }
    }

    fn on_empty(&mut self, now: Time) {
        self.decay(now);
    }

    fn on_lost(&mut self, flow: FlowId) {
        let share = self.share(flow);
        self.left(share);
    }

    fn on_sparse(&mut self, flow: FlowId, now: Time) {
        let share = self.share(flow);
        self.idle(share, now);
        self.decay(now);
    }

    /// Reports the weighted sojourn time of the packet that left last, and the count and probability of its flow.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let (share, waited) = self.last;
        let CobaltState { schedule, blue } = self.flows.get(share).unwrap_or(&self.fresh).state;
        out("active_flows", f64::from(self.active));
        out("weighted_s", waited.as_secs_f64());
        out("count", f64::from(schedule.count()));
        out("p_drop", blue.p_drop().get());
    }
}
