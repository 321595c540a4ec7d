//! What disciplines report of themselves: their bands by name, and their numbers, as tables and recorders ask for
//! them.

use windtunnel_qdisc::{
    AqmInstances, CakeParams, CnqParams, CodelParams, Diffserv, DrrParams, DualSparseParams, Filter,
    FlowHosts, FlowMode, FqCodelParams, FqParams, FqPieParams, HostPair, LfqParams, Limit, PoliceParams,
    PrioParams, QueueInit, QueueSpec, RampPoliceParams, ReplacedParams, SfqParams, SparseClassifier,
    TbfParams, TwinAfParams, VqPoliceParams, WrrParams,
};
use windtunnel_units::{Bytes, Rate, Time};

use crate::bench::{Bench, Kind};

/// What a queue reports after packets of 1500 B at once, three of flow 0 and then two of flow 1, when one packet has
/// left.
struct Report {
    spec: QueueSpec,
    /// Bands with their packets.
    bands: &'static [(&'static str, usize)],
    numbers: &'static [&'static str],
    /// The first of the numbers of the last band.
    of_band: Option<&'static str>,
}

const ONE: &[(&str, usize)] = &[("queue", 4)];
const FLOWS: &[(&str, usize)] = &[("flow 0", 2), ("flow 1", 2)];
/// The first packet of each flow is sparse.
const SPARSE: &[(&str, usize)] = &[("sparse", 1), ("bulk", 3)];
const CLASSES: &[(&str, usize)] = &[("band 0", 2), ("band 1", 2)];

fn report(
    spec: QueueSpec,
    bands: &'static [(&'static str, usize)],
    numbers: &'static [&'static str],
    of_band: impl Into<Option<&'static str>>,
) -> Report {
    Report { spec, bands, numbers, of_band: of_band.into() }
}

fn codel() -> QueueSpec {
    QueueSpec::new(CodelParams::default())
}

fn fair() -> QueueSpec {
    QueueSpec::new(FqCodelParams::default())
}

/// Flow n goes to band n.
fn by_number() -> Vec<Filter> {
    (0..2).map(|band| Filter { band, flows: vec![band], ..Filter::default() }).collect()
}

/// Queues of flows. A packet takes its length and 256 B of memory.
fn of_flows() -> Vec<Report> {
    const FQ: &[&str] = &["new_flows 2", "old_flows 0", "throttled_flows 0"];
    let new = CodelParams::default;
    let red = SfqParams { redflowlimit: Some(Bytes::new(60_000)), ..SfqParams::default() };
    vec![
        report(codel(), ONE, &["count 0", "lastcount 0", "dropping 0", "drop_next_s NaN"], "count"),
        report(QueueSpec::new(FqParams::default()), FLOWS, FQ, None),
        report(QueueSpec::new(FqParams::default()).with("aqm", new()), FLOWS, FQ, "count"),
        report(fair(), FLOWS, &["new_flows 2", "old_flows 0", "memory_bytes 7024"], "count"),
        report(
            QueueSpec::new(FqPieParams::default()),
            FLOWS,
            &["new_flows 2", "old_flows 0", "memory_bytes 7024", "overmemory_packets 0"],
            "p",
        ),
        report(QueueSpec::new(SfqParams::default()).with("aqm", new()), FLOWS, &["active_flows 2"], "count"),
        report(QueueSpec::new(red), FLOWS, &["active_flows 2"], "avg_bytes"),
        report(
            QueueSpec::new(CakeParams { diffserv: Diffserv::Besteffort, ..CakeParams::default() }),
            FLOWS,
            &[
                "sparse_flows 2",
                "bulk_flows 0",
                "decaying_flows 0",
                "memory_bytes 7024",
                "filtered_acks 0",
                "way_hits NaN",
                "way_misses NaN",
                "way_collisions NaN",
            ],
            "count",
        ),
    ]
}

/// Queues of two bands. Both sparse packets take tokens of the policer's 3000 B.
fn sparse_first() -> Vec<Report> {
    const DUAL: &[(&str, usize)] = &[("low latency", 1), ("main", 3)];
    let one = LfqParams { aqm_instances: AqmInstances::One, ..LfqParams::default() };
    let dual = |classifier| {
        let params = DualSparseParams { classifier, ..DualSparseParams::default() };
        QueueSpec::new(params).with("aqm", CodelParams::default())
    };
    vec![
        report(QueueSpec::new(CnqParams::default()), SPARSE, &["dummies 2"], "count"),
        report(QueueSpec::new(one), SPARSE, &["dirty_flows 2"], "count"),
        report(QueueSpec::new(LfqParams::default()), SPARSE, &["dirty_flows 2"], None),
        report(dual(SparseClassifier::Cnq), DUAL, &["owed_bytes 3000", "exceeding 0", "dummies 2"], "count"),
        report(
            dual(SparseClassifier::Lfq),
            DUAL,
            &["owed_bytes 3000", "exceeding 0", "dirty_flows 2"],
            "count",
        ),
        report(
            QueueSpec::new(TwinAfParams::default()),
            &[("default", 4), ("low delay", 0)],
            &["debt 0", "low_delay_debt 0"],
            "active_flows",
        ),
    ]
}

/// Queues around others: a number of the queue inside is left out if the one around it has one of the same name, and
/// a queue with one band has the numbers of the whole.
fn around() -> Vec<Report> {
    const FAIR_SHAPED: &[&str] =
        &["tokens_bytes 13500", "peak_tokens_bytes NaN", "new_flows 2", "old_flows 0", "memory_bytes 7024"];
    const FAIR_POLICED: &[&str] =
        &["tokens_bytes 7500", "peak_tokens_bytes NaN", "new_flows 2", "old_flows 0", "memory_bytes 7024"];
    let two = || [codel(), codel()];
    let prio = PrioParams { bands: 2, filters: by_number(), ..PrioParams::default() };
    let drr = DrrParams { quanta: vec![Bytes::new(1_500); 2], filters: by_number(), default_band: 0 };
    let wrr = WrrParams { weights: vec![1; 2], filters: by_number(), default_band: 0 };
    let tbf = || QueueSpec::new(TbfParams::default());
    let small = QueueSpec::new(TbfParams { burst: Bytes::new(6_000), ..TbfParams::default() });
    let police = || QueueSpec::new(PoliceParams::default());
    let rate = Some(Rate::from_mbps(12));
    let virtual_queue = QueueSpec::new(VqPoliceParams { rate, ..VqPoliceParams::default() });
    let ramp = QueueSpec::new(RampPoliceParams { rate, ..RampPoliceParams::default() });
    vec![
        report(QueueSpec::new(prio).around("children", two()), CLASSES, &[], "count"),
        report(QueueSpec::new(drr).around("children", two()), CLASSES, &["active_classes 2"], "count"),
        report(QueueSpec::new(wrr).around("children", two()), CLASSES, &["active_classes 2"], "count"),
        // The second queue has not had its turn.
        report(
            QueueSpec::new(ReplacedParams { at: vec![Time::NEVER] }).around("children", two()),
            &[("queue 0", 4), ("queue 1", 0)],
            &[],
            "count",
        ),
        report(tbf().around("child", [fair()]), FLOWS, FAIR_SHAPED, "count"),
        report(
            tbf().around("child", [small]),
            ONE,
            &["tokens_bytes 13500", "peak_tokens_bytes NaN"],
            "tokens_bytes",
        ),
        report(police().around("child", [fair()]), FLOWS, FAIR_POLICED, "count"),
        report(police(), ONE, &["tokens_bytes 7500", "peak_tokens_bytes NaN"], "tokens_bytes"),
        // Five packets of a millisecond each, in a bucket of 20 ms.
        report(
            virtual_queue.with("aqm", CodelParams::default()),
            ONE,
            &["virtual_queue_s 0.005", "count 0", "lastcount 0", "dropping 0", "drop_next_s NaN"],
            "virtual_queue_s",
        ),
        report(ramp, ONE, &["missing 0.25", "p 0"], "missing"),
    ]
}

/// Bands have names and packets, and the queue and its bands their numbers, in an order that does not change. The
/// values are by hand.
#[test]
fn bands_and_numbers() {
    for Report { spec, bands, numbers, of_band } in
        [of_flows(), sparse_first(), around()].into_iter().flatten()
    {
        let mut bench = Bench::new(&spec, Limit::Unlimited);
        for flow in [0, 0, 0, 1, 1] {
            let packet = bench.packet(flow, 1_500, Kind::NotEct);
            bench.enqueue(0, packet);
        }
        assert!(bench.dequeue(0).is_some());
        let backlogs = bench.bands();
        let backlogs: Vec<_> = backlogs.iter().map(|(name, backlog)| (&**name, backlog.packets)).collect();
        assert_eq!(backlogs, bands, "{spec:?}");
        assert_eq!(bench.numbers(), numbers, "{spec:?}");
        let of_last = bench.numbers_of_band(bands.len() - 1);
        let first = of_last.first().and_then(|number| number.split(' ').next());
        assert_eq!(first, of_band, "{spec:?}");
        let all = bench.backlog();
        assert_eq!((all.packets, all.bytes), (4, Bytes::new(6_000)), "{spec:?}");
        assert!(
            bench.bands().iter().all(|(_, backlog)| backlog.bytes.get() == 1_500 * backlog.packets as u64)
        );
    }
}

/// A queue inside of another learns which flows share hosts: with `srchost`, flows 0 and 1 of one host have one
/// queue.
#[test]
fn hosts_reach_the_queue_inside() {
    let cake = || {
        QueueSpec::new(CakeParams {
            diffserv: Diffserv::Besteffort,
            flow_mode: FlowMode::Srchost,
            ..CakeParams::default()
        })
    };
    let fifo = || QueueSpec::new(windtunnel_qdisc::FifoParams::default());
    let prio = QueueSpec::new(PrioParams { bands: 2, default_band: 0, ..PrioParams::default() });
    for spec in [
        cake(),
        prio.around("children", [cake(), fifo()]),
        QueueSpec::new(DrrParams::default()).around("children", [cake(), fifo()]),
        QueueSpec::new(TbfParams::default()).around("child", [cake()]),
        QueueSpec::new(PoliceParams::default()).around("child", [cake()]),
    ] {
        for (sources, order) in [([5, 5], [0, 0, 1, 1]), ([5, 6], [0, 1, 0, 1])] {
            let mut queue = spec.build(&QueueInit::new(Limit::Unlimited, 1));
            let pair = |source| HostPair { source, destination: 7 };
            queue.learn_hosts(&FlowHosts::new(sources.map(pair).to_vec()));
            let mut bench = Bench::of(queue);
            for flow in [0, 0, 1, 1] {
                let packet = bench.packet(flow, 1_500, Kind::NotEct);
                bench.enqueue(0, packet);
            }
            let left: Vec<u32> = std::iter::from_fn(|| bench.dequeue(0)).map(|left| left.flow).collect();
            assert_eq!(left, order, "{spec:?}");
        }
    }
}
