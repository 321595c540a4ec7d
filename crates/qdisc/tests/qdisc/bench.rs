//! A queue on the bench: the test provides the clock and the packets.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    Accounts, Accumulate, AckFilter, AqmInstances, Backlog, BrickWallParams, CakeParams, ChokeParams,
    CnqParams, CobaltParams, CobaltVariant, CodelMdsParams, CodelParams, CodelVariant, DelticMdsParams,
    DelticParams, Deltim2Params, DeltimParams, Diffserv, Dropped, DrrParams, DualPi2Params, DualPi2Scheduler,
    DualPi2Variant, DualSparseParams, Exceed, FifoParams, Filter, FlowHash, FlowMode, FqCodelParams,
    FqParams, FqPieParams, Incident, LfqParams, Likelihood, Limit, NthParams, NthSignal, Pi2Params,
    Pi2Variant, PieMdsParams, PieParams, PoliceParams, PrioParams, QueueCx, QueueDiscipline, QueueInit,
    QueueSpec, QueueStats, RampParams, RampPoliceParams, Ramped, RedIdle, RedMdsParams, RedParams,
    SceRampParams, SfbParams, SfqParams, SparseClassifier, StepParams, StepPoint, StepThreshold, TbfParams,
    VqPoliceParams, WrrParams,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet};

/// A kind of packet, as it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    NotEct,
    Ect0,
    Ect1,
    Mds,
}

impl Kind {
    pub(crate) const ALL: [Kind; 4] = [Kind::NotEct, Kind::Ect0, Kind::Ect1, Kind::Mds];
}

/// What left the queue.
#[derive(Debug)]
pub(crate) struct Left {
    pub(crate) seq: u64,
    pub(crate) flow: u32,
    pub(crate) ecn: Ecn,
    pub(crate) outcome: Outcome,
    pub(crate) sojourn: Duration,
}

/// A queue, and the counts of what went in and out.
#[derive(Debug)]
pub(crate) struct Bench {
    queue: Box<dyn QueueDiscipline>,
    pub(crate) rate: Rate,
    pub(crate) deliver_drops: bool,
    accounts: Accounts,
    pub(crate) incidents: Vec<Incident>,
}

/// Every kind of queue, with its defaults (the brick wall with thresholds).
pub(crate) fn all_queues() -> Vec<QueueSpec> {
    let brick_wall = BrickWallParams {
        sce_threshold: Duration::from_millis(2),
        ce_threshold: Duration::from_millis(10),
        drop_threshold: Duration::from_millis(50),
    };
    vec![
        QueueSpec::new(FifoParams::default()),
        QueueSpec::new(FifoParams { headdrop: true }),
        QueueSpec::new(brick_wall),
        QueueSpec::new(RampParams::default()),
        QueueSpec::new(DelticParams::default()),
        QueueSpec::new(DelticMdsParams::default()),
        QueueSpec::new(DeltimParams::default()),
        QueueSpec::new(Deltim2Params::default()),
        QueueSpec::new(CodelParams::default()),
        QueueSpec::new(CodelParams {
            variant: CodelVariant::Rfc,
            ecn: true,
            newton: true,
            ce_threshold: Some(Duration::from_millis(1)),
            ..CodelParams::default()
        }),
        QueueSpec::new(CobaltParams::default()),
        QueueSpec::new(CobaltParams {
            variant: CobaltVariant::Cake,
            rtt: Duration::from_millis(2),
            target: Duration::from_micros(100),
            mtu_time: Duration::from_micros(100),
            ..CobaltParams::default()
        }),
        QueueSpec::new(FqCodelParams::default()),
        QueueSpec::new(FqCodelParams {
            hash: FlowHash::Jenkins,
            flows: 2,
            quantum: Bytes::new(300),
            memory_limit: Bytes::new(20_000),
            drop_batch: 2,
            ..FqCodelParams::default()
        }),
        QueueSpec::new(FqCodelParams::default()).with("aqm", PieParams { ecn: true, ..PieParams::default() }),
        QueueSpec::new(FqCodelParams::default()).with("aqm", DeltimParams::default()),
        QueueSpec::new(FqCodelParams { memory_limit: Bytes::new(20_000), ..FqCodelParams::default() })
            .with("aqm", CobaltParams::default()),
        QueueSpec::new(CakeParams::default()),
        QueueSpec::new(CakeParams {
            diffserv: Diffserv::Diffserv4,
            flow_mode: FlowMode::TripleIsolate,
            hash: FlowHash::Jenkins,
            flows: 8,
            mtu: Bytes::new(300),
            memlimit: Some(Bytes::new(20_000)),
            ingress: true,
            ack_filter: AckFilter::Aggressive,
            sce_thresh: Some(4),
            ..CakeParams::default()
        }),
        QueueSpec::new(CakeParams { flow_mode: FlowMode::Flowblind, wash: true, ..CakeParams::default() }),
        QueueSpec::new(FqParams::default()),
        QueueSpec::new(FqParams {
            hash: FlowHash::Jenkins,
            orphan_mask: 1,
            flow_limit: 5,
            ..FqParams::default()
        })
        .with("aqm", CodelParams::default()),
        QueueSpec::new(by_flow()).around("children", nested()),
        QueueSpec::new(FqPieParams::default()),
        QueueSpec::new(FqPieParams { ecn: true, memory_limit: Bytes::new(20_000), ..FqPieParams::default() }),
        QueueSpec::new(SfqParams::default()),
        QueueSpec::new(SfqParams { headdrop: true, depth: 5, flows: 3, ..SfqParams::default() })
            .with("aqm", CodelParams::default()),
        QueueSpec::new(DrrParams {
            quanta: [500, 1_500, 3_000].map(Bytes::new).to_vec(),
            filters: by_flow().filters,
            default_band: 1,
        })
        .around("children", nested()),
        QueueSpec::new(WrrParams { weights: vec![1, 2, 3], filters: by_flow().filters, default_band: 1 })
            .around("children", nested()),
        QueueSpec::new(PoliceParams::default()).around("child", [QueueSpec::new(FqCodelParams::default())]),
        QueueSpec::new(PoliceParams {
            rate: slow().rate,
            conform_exceed: Exceed::Mark,
            peakrate: Some(Rate::from_mbps(9)),
            mtu: Bytes::new(9_000),
            ..PoliceParams::default()
        }),
        QueueSpec::new(VqPoliceParams { rate: slow().rate, ..VqPoliceParams::default() }),
        QueueSpec::new(VqPoliceParams { rate: slow().rate, ..VqPoliceParams::default() })
            .with("aqm", PieParams::default())
            .around("child", [QueueSpec::new(FqCodelParams::default())]),
        QueueSpec::new(RampPoliceParams { rate: slow().rate, ..RampPoliceParams::default() }),
        QueueSpec::new(TbfParams::default()),
        QueueSpec::new(slow()).around("child", [QueueSpec::new(FqCodelParams::default())]),
        QueueSpec::new(slow()).around("child", [QueueSpec::new(by_flow()).around("children", nested())]),
        QueueSpec::new(PieParams::default()),
        QueueSpec::new(PieParams { ecn: true, dq_rate_estimator: true, ..PieParams::default() }),
        QueueSpec::new(RedParams::default()),
        QueueSpec::new(RedParams { ecn: true, gentle: true, idle: RedIdle::Linux, ..RedParams::default() }),
        QueueSpec::new(RedParams { ecn: true, adaptive_auto: true, ..RedParams::default() }),
        QueueSpec::new(Pi2Params::default()),
        QueueSpec::new(Pi2Params { variant: Pi2Variant::Paper, ..Pi2Params::default() }),
        QueueSpec::new(FqCodelParams::default()).with("aqm", Pi2Params::default()),
        QueueSpec::new(DualPi2Params::default()),
        QueueSpec::new(DualPi2Params {
            min_qlen_step: 2,
            overflow: true,
            drop_enqueue: true,
            any_ect: true,
            memlimit: Some(Bytes::new(40_000)),
            ..DualPi2Params::default()
        }),
        QueueSpec::new(DualPi2Params {
            variant: DualPi2Variant::Rfc,
            scheduler: Some(DualPi2Scheduler::TimeShiftedFifo),
            mds: true,
            ..DualPi2Params::default()
        }),
        QueueSpec::new(DualPi2Params {
            variant: DualPi2Variant::Rfc,
            scheduler: Some(DualPi2Scheduler::StrictPriority),
            ..DualPi2Params::default()
        })
        .with("classic", PieParams { ecn: true, ..PieParams::default() })
        .with("low_latency", CodelParams { ecn: true, ..CodelParams::default() }),
        QueueSpec::new(DualPi2Params { mds: true, ..DualPi2Params::default() })
            .with("classic", DeltimParams::default())
            .with("low_latency", Pi2Params::default()),
        QueueSpec::new(PieMdsParams::default()),
        QueueSpec::new(PieMdsParams { random: Likelihood::Coin, ..PieMdsParams::default() }),
        QueueSpec::new(RedMdsParams { accumulate: Accumulate::Shared, ..RedMdsParams::default() }),
        QueueSpec::new(CodelMdsParams::default()),
        QueueSpec::new(CodelMdsParams { codel_exact: true, ..CodelMdsParams::default() }),
        QueueSpec::new(FqCodelParams::default()).with("aqm", CodelMdsParams::default()),
        QueueSpec::new(NthParams { n: 3, ..NthParams::default() }),
        QueueSpec::new(NthParams { n: 2, signal: NthSignal::Drop }),
        QueueSpec::new(StepParams::default()),
        QueueSpec::new(StepParams {
            threshold: StepThreshold::Time(Duration::from_millis(1)),
            at: StepPoint::Dequeue,
        }),
        QueueSpec::new(Ramped::new(
            CodelParams { ecn: true, ..CodelParams::default() },
            SceRampParams::default(),
        )),
        QueueSpec::new(FqCodelParams::default()).with(
            "aqm",
            Ramped::new(
                PieParams { ecn: true, ..PieParams::default() },
                SceRampParams { thresh: Some(20), random: Likelihood::Recur, ..SceRampParams::default() },
            ),
        ),
        QueueSpec::new(CnqParams::default()),
        QueueSpec::new(CnqParams { hash: FlowHash::Jenkins, flows: 2 }).with("aqm", DeltimParams::default()),
        QueueSpec::new(LfqParams::default()),
        QueueSpec::new(LfqParams {
            mtu: Bytes::new(300),
            aqm_instances: AqmInstances::Flow,
            ..LfqParams::default()
        })
        .with("aqm", PieParams { ecn: true, ..PieParams::default() }),
        QueueSpec::new(DualSparseParams::default()),
        QueueSpec::new(DualSparseParams {
            classifier: SparseClassifier::Lfq,
            ll_limit: Duration::from_millis(2),
            ..DualSparseParams::default()
        })
        .with("aqm", CodelParams::default()),
        QueueSpec::new(SfbParams::default()),
        QueueSpec::new(SfbParams {
            rehash: Duration::from_millis(20),
            db: Duration::from_millis(10),
            target: Some(3),
            increment: Probability::clamped(0.2),
            ..SfbParams::default()
        })
        .with("aqm", CodelParams { ecn: true, ..CodelParams::default() }),
        QueueSpec::new(ChokeParams::default()),
        QueueSpec::new(ChokeParams {
            min: Some(1),
            max: Some(4),
            burst: Some(1),
            ecn: true,
            idle: RedIdle::Exact,
            ..ChokeParams::default()
        }),
    ]
}

/// A shaper that holds packets back at most rates, and lets all sizes pass.
fn slow() -> TbfParams {
    TbfParams { rate: Some(Rate::from_mbps(3)), burst: Bytes::new(9_000), ..TbfParams::default() }
}

/// Strict priority: each of the first three flows has a band.
fn by_flow() -> PrioParams {
    let filter = |flow| Filter { band: flow, flows: vec![flow], ..Filter::default() };
    PrioParams { filters: (0..3).map(filter).collect(), ..PrioParams::default() }
}

/// Queues of three kinds inside of another: with bands, a shaper, and with a timer.
fn nested() -> [QueueSpec; 3] {
    [
        QueueSpec::new(FqCodelParams::default()),
        QueueSpec::new(slow()).around("child", [QueueSpec::new(CodelParams::default())]),
        QueueSpec::new(PieParams::default()),
    ]
}

/// Gaps from 1 ns up to a number of microseconds, from a linear congruential generator (Knuth, MMIX).
pub(crate) fn random_gaps(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed | 1;
    move |most_us| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        1 + (state >> 33) % (most_us * 1_000)
    }
}

impl Bench {
    pub(crate) fn new(config: &QueueSpec, limit: Limit) -> Bench {
        Bench::with_seed(config, limit, 1)
    }

    /// A queue that is created at the start.
    pub(crate) fn with_seed(config: &QueueSpec, limit: Limit, seed: u64) -> Bench {
        Bench::of(config.build(&QueueInit { age: Duration::ZERO, ..config.init(limit, seed) }))
    }

    pub(crate) fn of(queue: Box<dyn QueueDiscipline>) -> Bench {
        Bench {
            queue,
            rate: Rate::from_mbps(10),
            deliver_drops: true,
            accounts: Accounts::default(),
            incidents: Vec::new(),
        }
    }

    pub(crate) fn packet(&mut self, flow: u32, size: u64, kind: Kind) -> Packet {
        let mut packet = Packet::new(FlowId::new(flow), Bytes::new(size), Bytes::ZERO);
        packet.seq = Seq::new(self.stats().arrived);
        packet.ecn = match kind {
            Kind::NotEct => Ecn::NotEct,
            Kind::Ect0 | Kind::Mds => Ecn::Ect0,
            Kind::Ect1 => Ecn::Ect1,
        };
        packet.dscp = if kind == Kind::Mds { Dscp::MDS } else { Dscp::DEFAULT };
        packet
    }

    /// What it has counted so far.
    pub(crate) fn stats(&self) -> QueueStats {
        self.accounts.total
    }

    /// What its bands have counted so far.
    pub(crate) fn band_stats(&self) -> &[QueueStats] {
        &self.accounts.bands
    }

    /// What it dropped.
    pub(crate) fn drops(&self) -> Vec<Dropped> {
        let dropped = |incident: &Incident| match incident {
            Incident::Dropped(dropped) => Some(*dropped),
            Incident::Marked { .. } => None,
        };
        self.incidents.iter().filter_map(dropped).collect()
    }

    /// Runs the queue's timers that are due at `at_ns`. Arrivals and departures do that first.
    pub(crate) fn run_timers(&mut self, at_ns: u64) {
        while let Some(now) = self.queue.next_timer().filter(|next| next.as_nanos() <= at_ns) {
            let mut cx =
                QueueCx::new(now, self.rate, self.deliver_drops, &mut self.accounts, &mut self.incidents);
            self.queue.on_timer(&mut cx);
        }
    }

    /// When the queue's next timer is due.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.queue.next_timer()
    }

    pub(crate) fn enqueue(&mut self, at_ns: u64, packet: Packet) {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let mut cx =
            QueueCx::new(now, self.rate, self.deliver_drops, &mut self.accounts, &mut self.incidents);
        self.queue.enqueue(packet, &mut cx);
    }

    /// One 1500-byte packet arrives.
    pub(crate) fn arrive(&mut self, at_ns: u64, kind: Kind) {
        let packet = self.packet(0, 1500, kind);
        self.enqueue(at_ns, packet);
    }

    pub(crate) fn dequeue(&mut self, at_ns: u64) -> Option<Left> {
        self.leave(at_ns, |queue, cx| queue.dequeue(cx))
    }

    /// The packet that leaves; there must be one.
    pub(crate) fn leaving(&mut self, at_ns: u64) -> Packet {
        let now = Time::from_nanos(at_ns);
        let mut cx =
            QueueCx::new(now, self.rate, self.deliver_drops, &mut self.accounts, &mut self.incidents);
        self.queue.dequeue(&mut cx).expect("a packet is queued")
    }

    /// A packet leaves (there must be one); returns what was done to it.
    pub(crate) fn outcome(&mut self, at_ns: u64) -> Outcome {
        self.dequeue(at_ns).expect("a packet is queued").outcome
    }

    pub(crate) fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The queue chooses the packet that leaves next; returns its length.
    pub(crate) fn choose(&mut self, at_ns: u64) -> Option<Bytes> {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let mut cx =
            QueueCx::new(now, self.rate, self.deliver_drops, &mut self.accounts, &mut self.incidents);
        self.queue.choose(&mut cx)
    }

    /// The chosen packet leaves, or is dropped.
    pub(crate) fn serve(&mut self, at_ns: u64) -> Option<Left> {
        self.leave(at_ns, |queue, cx| queue.serve(cx))
    }

    fn leave(
        &mut self,
        at_ns: u64,
        step: impl Fn(&mut dyn QueueDiscipline, &mut QueueCx<'_>) -> Option<Packet>,
    ) -> Option<Left> {
        self.run_timers(at_ns);
        let now = Time::from_nanos(at_ns);
        let mut cx =
            QueueCx::new(now, self.rate, self.deliver_drops, &mut self.accounts, &mut self.incidents);
        let packet = step(self.queue.as_mut(), &mut cx)?;
        let (outcome, sojourn) = cx.departure().expect("a packet that leaves is accounted for");
        Some(Left { seq: packet.seq.get(), flow: packet.flow.get(), ecn: packet.ecn, outcome, sojourn })
    }

    /// The queue's bands: name and backlog.
    pub(crate) fn bands(&self) -> Vec<(String, Backlog)> {
        (0..self.queue.bands())
            .map(|band| (self.queue.band_name(band), self.queue.band_backlog(band)))
            .collect()
    }

    /// When to ask a queue again that gave no packet.
    pub(crate) fn next_ready(&self, at_ns: u64) -> Option<u64> {
        self.queue.next_ready(Time::from_nanos(at_ns)).map(Time::as_nanos)
    }

    /// An internal number of a band, if the band has it.
    pub(crate) fn probed_band(&self, band: usize, name: &str) -> Option<f64> {
        let mut found = None;
        self.queue.probe_band(band, &mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found
    }

    /// An internal integer of the queue; 0 if it does not have it.
    pub(crate) fn probe(&self, name: &str) -> i64 {
        self.probed(name).map_or(0, |value| value as i64)
    }

    /// An internal number of the queue, if the queue has it.
    pub(crate) fn probed(&self, name: &str) -> Option<f64> {
        let mut found = None;
        self.queue.probe(&mut |n, value| {
            if n == name {
                found = Some(value);
            }
        });
        found
    }
}
