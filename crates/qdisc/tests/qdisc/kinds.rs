//! Every kind of queue, for the properties that all of them have.

use windtunnel_algorithm::Params;
use windtunnel_qdisc::{
    Accumulate, AckFilter, AqmInstances, BrickWallParams, BuildAqm, CakeParams, ChokeParams, CnqParams,
    CobaltParams, CobaltVariant, CodelAfParams, CodelMdsParams, CodelParams, CodelVariant, DeltimParams,
    Diffserv, DrrParams, DualPi2Params, DualPi2Scheduler, DualPi2Variant, DualSparseParams, Exceed,
    FifoParams, Filter, FlowHash, FlowMode, FqCodelParams, FqParams, FqPieParams, Kinds, LfqParams,
    Likelihood, NthParams, NthSignal, Pi2Params, Pi2Variant, PieMdsParams, PieParams, PoliceParams,
    PrioParams, QueueLength, QueueParams, QueueSpec, RampPoliceParams, Ramped, RedIdle, RedMdsParams,
    RedParams, ReplacedParams, SceRampParams, SfbParams, SfqParams, SparseClassifier, StepParams, StepPoint,
    TbfParams, TwinAfParams, VqPoliceParams, WrrParams,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate, Time};

/// Every kind of queue, with its defaults and with other parameters.
pub(crate) fn all_queues() -> Vec<QueueSpec> {
    let mut defaults = Defaults(Vec::new());
    windtunnel_qdisc::visit(&mut defaults);
    [defaults.0, aqms(), mds_and_sce(), fair(), by_flow_otherwise(), dual(), around()].concat()
}

/// Each kind with its defaults.
struct Defaults(Vec<QueueSpec>);

impl Kinds for Defaults {
    fn aqm<P: BuildAqm>(&mut self) {
        self.queue::<P>();
    }

    fn queue<P: Params + QueueParams>(&mut self) {
        self.0.push(QueueSpec::new(P::default()));
    }
}

/// AQMs in a queue of their own.
fn aqms() -> Vec<QueueSpec> {
    let brick_wall = BrickWallParams {
        sce_threshold: Duration::from_millis(2),
        ce_threshold: Duration::from_millis(10),
        drop_threshold: Duration::from_millis(50),
    };
    vec![
        QueueSpec::new(FifoParams { headdrop: true }),
        QueueSpec::new(brick_wall),
        QueueSpec::new(CodelParams {
            variant: CodelVariant::Rfc,
            ecn: true,
            newton: true,
            ce_threshold: Some(Duration::from_millis(1)),
            ..CodelParams::default()
        }),
        QueueSpec::new(CobaltParams {
            variant: CobaltVariant::Cake,
            rtt: Duration::from_millis(2),
            target: Duration::from_micros(100),
            mtu_time: Duration::from_micros(100),
            ..CobaltParams::default()
        }),
        QueueSpec::new(PieParams { ecn: true, dq_rate_estimator: true, ..PieParams::default() }),
        QueueSpec::new(RedParams { ecn: true, gentle: true, idle: RedIdle::Linux, ..RedParams::default() }),
        QueueSpec::new(RedParams { ecn: true, adaptive_auto: true, ..RedParams::default() }),
        QueueSpec::new(Pi2Params { variant: Pi2Variant::Paper, ..Pi2Params::default() }),
    ]
}

/// Variants of AQMs with MDS, markers, and AQMs with an SCE ramp.
fn mds_and_sce() -> Vec<QueueSpec> {
    vec![
        QueueSpec::new(PieMdsParams { random: Likelihood::Coin, ..PieMdsParams::default() }),
        QueueSpec::new(RedMdsParams { accumulate: Accumulate::Shared, ..RedMdsParams::default() }),
        QueueSpec::new(CodelMdsParams { codel_exact: true, ..CodelMdsParams::default() }),
        QueueSpec::new(NthParams { n: 3, ..NthParams::default() }),
        QueueSpec::new(NthParams { n: 2, signal: NthSignal::Drop }),
        QueueSpec::new(StepParams {
            threshold: QueueLength::Time(Duration::from_millis(1)),
            at: StepPoint::Dequeue,
        }),
        QueueSpec::new(Ramped::new(
            CodelParams { ecn: true, ..CodelParams::default() },
            SceRampParams::default(),
        )),
        QueueSpec::new(FqCodelParams::default()).with("aqm", CodelMdsParams::default()),
        QueueSpec::new(FqCodelParams::default()).with(
            "aqm",
            Ramped::new(
                PieParams { ecn: true, ..PieParams::default() },
                SceRampParams { thresh: Some(20), random: Likelihood::Recur, ..SceRampParams::default() },
            ),
        ),
    ]
}

/// FQ-CoDel, fq and CAKE.
fn fair() -> Vec<QueueSpec> {
    vec![
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
        QueueSpec::new(FqParams {
            hash: FlowHash::Jenkins,
            orphan_mask: 1,
            flow_limit: 5,
            ..FqParams::default()
        })
        .with("aqm", CodelParams::default()),
        QueueSpec::new(FqCodelParams::default()).with("aqm", Pi2Params::default()),
    ]
}

/// Other queues that look at flows.
fn by_flow_otherwise() -> Vec<QueueSpec> {
    vec![
        QueueSpec::new(FqPieParams { ecn: true, memory_limit: Bytes::new(20_000), ..FqPieParams::default() }),
        QueueSpec::new(SfqParams { headdrop: true, depth: 5, flows: 3, ..SfqParams::default() })
            .with("aqm", CodelParams::default()),
        QueueSpec::new(SfqParams { redflowlimit: Some(Bytes::new(60_000)), ..SfqParams::default() }),
        QueueSpec::new(SfqParams {
            redflowlimit: Some(Bytes::new(20_000)),
            ecn: true,
            headdrop: true,
            ..SfqParams::default()
        }),
        QueueSpec::new(CnqParams { hash: FlowHash::Jenkins, flows: 2 }).with("aqm", DeltimParams::default()),
        QueueSpec::new(CodelAfParams {
            sce: 4,
            hash: FlowHash::Jenkins,
            flows: 2,
            ..CodelAfParams::default()
        }),
        QueueSpec::new(CnqParams::default())
            .with("aqm", CodelAfParams { sce: 4, ..CodelAfParams::default() }),
        QueueSpec::new(FqCodelParams { memory_limit: Bytes::new(20_000), ..FqCodelParams::default() })
            .with("aqm", CodelAfParams::default()),
        QueueSpec::new(SfqParams::default()).with("aqm", CodelAfParams::default()),
        QueueSpec::new(TwinAfParams {
            dscp: windtunnel_wire::Dscp::MDS.get(),
            hash: FlowHash::Jenkins,
            flows: 2,
            ..TwinAfParams::default()
        }),
        QueueSpec::new(LfqParams { aqm_instances: AqmInstances::One, ..LfqParams::default() })
            .with("aqm", CodelAfParams::default()),
        QueueSpec::new(LfqParams {
            mtu: Bytes::new(300),
            aqm_instances: AqmInstances::Flow,
            ..LfqParams::default()
        })
        .with("aqm", PieParams { ecn: true, ..PieParams::default() }),
        QueueSpec::new(DualSparseParams {
            classifier: SparseClassifier::Lfq,
            ll_limit: Duration::from_millis(2),
            ..DualSparseParams::default()
        })
        .with("aqm", CodelParams::default()),
        QueueSpec::new(SfbParams {
            rehash: Duration::from_millis(20),
            db: Duration::from_millis(10),
            target: Some(3),
            increment: Probability::clamped(0.2),
            ..SfbParams::default()
        })
        .with("aqm", CodelParams { ecn: true, ..CodelParams::default() }),
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

/// DualPI2.
fn dual() -> Vec<QueueSpec> {
    vec![
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
    ]
}

/// Queues around others.
fn around() -> Vec<QueueSpec> {
    vec![
        QueueSpec::new(by_flow()).around("children", nested()),
        QueueSpec::new(DrrParams {
            quanta: [500, 1_500, 3_000].map(Bytes::new).to_vec(),
            filters: by_flow().filters,
            default_band: 1,
        })
        .around("children", nested()),
        QueueSpec::new(WrrParams { weights: vec![1, 2, 3], filters: by_flow().filters, default_band: 1 })
            .around("children", nested()),
        QueueSpec::new(ReplacedParams { at: [20_000_000, 50_000_000].map(Time::from_nanos).to_vec() })
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
        QueueSpec::new(slow()).around("child", [QueueSpec::new(FqCodelParams::default())]),
        QueueSpec::new(slow()).around("child", [QueueSpec::new(by_flow()).around("children", nested())]),
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
