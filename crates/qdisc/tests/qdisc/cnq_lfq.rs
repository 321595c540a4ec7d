//! CNQ and LFQ: spec/queues-and-signalling section 11. No packet overtakes another of its flow: `invariants`.

use windtunnel_qdisc::{
    AqmInstances, BrickWallParams, CnqParams, CobaltParams, CobaltVariant, CodelParams, FlowHash, LfqParams,
    Limit, PieParams, QueueParams, QueueSpec,
};
use windtunnel_units::{Bytes, Duration};

use crate::bench::{Bench, Kind};
use crate::lfqsim::{self, Flow, Outcome, about, exactly};

const MS: u64 = 1_000_000;

/// A simulated time of the published check is ten times as long; a longer one changes the results little.
const TICKS: u64 = 10_000_000;

/// The seven flows of the published check.
fn seven() -> [Flow; 7] {
    let flow = |size, interval, burst| Flow { size, interval, burst };
    [
        flow(about(1_200, 99), exactly(3_700), exactly(1)),
        flow(exactly(1_500), exactly(500), exactly(1)),
        flow(exactly(1_500), exactly(1_500), exactly(1)),
        flow(exactly(1_500), exactly(48_000), exactly(32)),
        flow(about(200, 50), about(10_000, 50), about(2, 2)),
        flow(about(50, 10), exactly(750), exactly(1)),
        flow(exactly(100), about(20_000, 100), exactly(1)),
    ]
}

fn near(what: &str, got: f64, published: f64, by: f64) {
    assert!((got - published).abs() <= by, "{what}: {got}, published {published}, within {by}");
}

/// LFQ's published throughputs and sojourns.
///
/// Flow 5 sends 1.51 packets every 10,000 ticks with a standard deviation of 1.09 per burst: in 1000 bursts 30.2 bytes
/// per 1000 ticks with one of 0.7, and 0.2 in the published run of 10,000; three of their sum are 2.2. Flow 6 sends 66.67
/// with one of 0.07 and may lose a few packets, flow 7 sends 5.00. Flows 1 to 4 share what these leave, each within two
/// MTUs of each other (0.3), so that the share varies by a quarter of 2.4, and 0.3.
///
/// Sojourns: the band needs 50,000 ticks to fill, half a per cent of the run, in which bulk flows wait less; with the
/// scatter over seeds, 1 %, and 2 % for the bursts of flow 4. Flows 5 to 7 wait for packets of random phase: the sojourn
/// of one packet scatters by about 3000, 4000 and 600 ticks. Divided by the square root of their number in both runs,
/// that gives the bounds 300, 200 and 100.
#[test]
fn published_numbers_of_lfq() {
    const THROUGHPUT: [(f64, f64); 7] =
        [(224.6, 0.9), (224.7, 0.9), (224.7, 0.9), (224.6, 0.9), (29.8, 2.2), (66.6, 0.3), (5.0, 0.05)];
    const SOJOURN: [(f64, f64); 7] = [
        (46_900.0, 469.0),
        (48_900.0, 489.0),
        (48_700.0, 487.0),
        (24_400.0, 488.0),
        (3_900.0, 300.0),
        (5_500.0, 200.0),
        (660.0, 100.0),
    ];
    for seed in [1, 2] {
        let outcomes = lfqsim::run(LfqParams::default(), 256_000, &seven(), TICKS, seed);
        let total: f64 = outcomes.iter().map(|flow| flow.throughput(TICKS)).sum();
        near("the link is never idle", total, 1_000.0, 0.2);
        for (n, flow) in outcomes.iter().enumerate() {
            let name = format!("flow {}, seed {seed}", n + 1);
            near(&name, flow.throughput(TICKS), THROUGHPUT[n].0, THROUGHPUT[n].1);
            near(&name, flow.sojourn(), SOJOURN[n].0, SOJOURN[n].1);
            assert_eq!(flow.late, 0, "{name}");
        }
        // Max-min: nothing of flow 7 is lost, and what is lost of 5 and 6 is not worth mentioning.
        assert_eq!(outcomes[6].offered, outcomes[6].sent + u64::from(outcomes[6].offered > outcomes[6].sent));
        let bytes = |n: usize| outcomes[n].bytes;
        assert!((0..4).all(|n| bytes(n).abs_diff(bytes(0)) <= 3_000), "{outcomes:?}");
    }
}

/// CNQ's published numbers, with intervals that vary by a tick at least.
///
/// All flows wait as long as the bulk band is: 256,000 bytes of what arrives, 5.43 bytes per tick with head drop, are
/// 47,200 ticks. Flow 4's mean over few bursts varies by 10 %, as the published one's may.
///
/// Which packet is at the head when another drives it out depends on how flows 2 and 3, whose intervals are 500 and 1500,
/// lie to each other, and with a jitter of one tick this changes little in a run. The split between them is therefore one
/// draw of a wide distribution (15 runs of the published length: 601 to 674 and 205 to 282, standard deviations 25 and
/// 26), and so is each flow's part of the rest: the published run is within three standard deviations of eight of ours.
/// What flows 2 and 3 have together does not depend on it.
#[test]
fn published_numbers_of_cnq() {
    const THROUGHPUT: [f64; 7] = [67.0, 688.0, 198.0, 29.0, 4.8, 11.4, 1.0];
    const SOJOURN: [f64; 7] = [46_700.0, 46_600.0, 46_700.0, 46_800.0, 46_600.0, 46_800.0, 46_700.0];
    let jittered = seven().map(|flow| Flow { interval: flow.interval.or(1), ..flow });
    let runs: Vec<Vec<Outcome>> =
        (1..=8).map(|seed| lfqsim::run(CnqParams::default(), 256_000, &jittered, TICKS, seed)).collect();
    for n in 0..7 {
        let each: Vec<f64> = runs.iter().map(|run| run[n].throughput(TICKS)).collect();
        let mean = each.iter().sum::<f64>() / 8.0;
        let deviation = (each.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / 7.0).sqrt();
        near(&format!("flow {}", n + 1), mean, THROUGHPUT[n], 3.0 * deviation);
        let sojourn = runs.iter().map(|run| run[n].sojourn()).sum::<f64>() / 8.0;
        near(&format!("flow {}", n + 1), sojourn, SOJOURN[n], if n == 3 { 4_680.0 } else { 500.0 });
        assert!(runs.iter().all(|run| run[n].late == 0));
    }
    let both = runs.iter().map(|run| run[1].throughput(TICKS) + run[2].throughput(TICKS)).sum::<f64>() / 8.0;
    near("flows 2 and 3", both, 886.0, 9.0);
}

/// Two flows with exactly the link's rate and room for eight packets: the one whose packets always find the queue full
/// gets nothing at all. A jitter of one tick ends this (*lfqsim*, `config-cnqstarve` and `config-cnq2flow`).
#[test]
fn phase_effect_of_cnq() {
    let two = |jitter| [Flow { size: exactly(1_500), interval: about(1_500, jitter), burst: exactly(1) }; 2];
    let run = |jitter| {
        let outcomes = lfqsim::run(CnqParams::default(), 12_000, &two(jitter), 3_000_000, 1);
        [0, 1].map(|n| outcomes[n].throughput(3_000_000))
    };
    let [one, other] = run(0);
    assert!(one.min(other) < 5.0 && one.max(other) > 994.0, "{one} and {other}");
    let [one, other] = run(1);
    assert!(one.min(other) > 200.0, "{one} and {other}");
}

/// 1500 B take 1.2 ms at 10 Mbit/s. A flow keeps 17 packets (20 ms) in the bulk band; of a probe every 200 ms each packet
/// leaves at once, and of a probe every 10 ms only the first.
#[test]
fn a_flow_is_sparse_beyond_the_bulk_delay() {
    for (every_ms, sparse) in [(200, true), (10, false)] {
        let spec = QueueSpec::new(CnqParams::default()).with("aqm", BrickWallParams::default());
        let mut bench = Bench::new(&spec, Limit::Unlimited);
        let mut sojourns = Vec::new();
        for slot in 0..5_000_u64 {
            let now = slot * 1_200_000;
            while bench.backlog().packets < 17 {
                let packet = bench.packet(0, 1_500, Kind::NotEct);
                bench.enqueue(now, packet);
            }
            // The probe starts when the bulk band stands.
            if slot >= 100 && now % (every_ms * MS) < 1_200_000 {
                let packet = bench.packet(1, 1_500, Kind::NotEct);
                bench.enqueue(now, packet);
            }
            let left = bench.dequeue(now).unwrap();
            if left.flow == 1 {
                sojourns.push(left.sojourn);
            }
        }
        assert!(sojourns.len() > 20, "{every_ms} ms");
        assert_eq!(sojourns[0], Duration::ZERO);
        let rest = |sojourn: &Duration| (*sojourn < Duration::from_micros(1_200)) == sparse;
        assert!(sojourns[1..].iter().all(rest), "{every_ms} ms: {sojourns:?}");
        let bands = bench.band_stats();
        assert_eq!(bands[0].departed, 1 + if sparse { sojourns.len() as u64 } else { 1 });
    }
}

/// A full queue loses the oldest packets of the bulk band, then those of the sparse band; the arriving packet stays. The
/// packet that has been chosen stays, too.
#[test]
fn the_oldest_pays() {
    for queue in [QueueSpec::new(CnqParams::default()), QueueSpec::new(LfqParams::default())] {
        let mut bench = Bench::new(&queue, Limit::Packets(4));
        bench.cx.deliver_drops = false;
        let arrive = |bench: &mut Bench, flow| {
            let packet = bench.packet(flow, 1_000, Kind::NotEct);
            bench.enqueue(0, packet);
        };
        // Flow 0: one sparse packet and two bulk packets; flow 1: one sparse packet. The fifth drives out the first bulk one.
        for flow in [0, 0, 0, 1, 2] {
            arrive(&mut bench, flow);
        }
        let lost = |bench: &Bench| bench.band_stats().iter().map(|band| band.lost).collect::<Vec<_>>();
        assert_eq!(lost(&bench), [0, 1]);
        assert_eq!(bench.choose(0), Some(Bytes::new(1_000)));
        arrive(&mut bench, 3);
        arrive(&mut bench, 4);
        assert_eq!(lost(&bench), [1, 2], "the second bulk packet, then flow 1's: flow 0's is chosen");
        let flows: Vec<u32> = std::iter::from_fn(|| bench.dequeue(1)).map(|left| left.flow).collect();
        assert_eq!(flows, [0, 2, 3, 4], "{queue:?}");

        // Without a choice and a bulk packet, the oldest sparse packet goes.
        let mut bench = Bench::new(&queue, Limit::Packets(2));
        bench.cx.deliver_drops = false;
        (0..3).for_each(|flow| arrive(&mut bench, flow));
        let flows: Vec<u32> = std::iter::from_fn(|| bench.dequeue(1)).map(|left| left.flow).collect();
        assert_eq!(flows, [1, 2], "{queue:?}");
    }
}

/// Flows that always have packets share bytes within an MTU and a packet, whatever the sizes of their packets, and as
/// long as the AQM leaves them alone.
#[test]
fn lfq_is_fair_in_bytes() {
    let spec = QueueSpec::new(LfqParams::default()).with("aqm", BrickWallParams::default());
    let mut bench = Bench::new(&spec, Limit::Unlimited);
    let sizes = [1_500, 100, 700];
    for flow in 0..3 {
        for _ in 0..2_000 {
            let packet = bench.packet(flow, sizes[flow as usize], Kind::NotEct);
            bench.enqueue(0, packet);
        }
    }
    let mut sent = [0_u64; 3];
    for _ in 0..2_000 {
        let left = bench.dequeue(1).unwrap();
        sent[left.flow as usize] += sizes[left.flow as usize];
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= 2 * 1_500 + 1_500, "{sent:?}");
    }
}

/// With an AQM for each flow, the flow that overloads the link is signalled, and the other is not. One COBALT for all
/// does the same; one CoDel signals to no flow: every other packet of flow 1, which is too early to be sparse, is in
/// the bulk band for less than CoDel's target, because the scan prefers its flow, and each starts CoDel's interval
/// anew.
#[test]
fn instances_of_the_aqm() {
    let lfq = |aqm_instances| QueueSpec::new(LfqParams { aqm_instances, ..LfqParams::default() });
    let codel = CodelParams { ecn: true, ..CodelParams::default() };
    for (queue, heavy_is_marked) in [
        (lfq(AqmInstances::Flow), true),
        (lfq(AqmInstances::One), true),
        (lfq(AqmInstances::Flow).with("aqm", codel.clone()), true),
        (lfq(AqmInstances::One).with("aqm", codel), false),
    ] {
        let mut bench = Bench::new(&queue, Limit::Unlimited);
        bench.cx.deliver_drops = false;
        let mut marks = [0, 0];
        for n in 0..40_000_u64 {
            let now = n * 1_200_000;
            for (flow, packets) in [(0, 1 + u64::from(n % 8 == 0)), (1, u64::from(n % 16 == 0) * 2)] {
                for _ in 0..packets {
                    let packet = bench.packet(flow, 1_500, Kind::Ect0);
                    bench.enqueue(now, packet);
                }
            }
            if let Some(left) = bench.dequeue(now) {
                let marked = left.outcome != windtunnel_qdisc::ecn::Outcome::Passed;
                marks[left.flow as usize] += u64::from(marked);
            }
        }
        assert_eq!((marks[0] > 100, marks[1]), (heavy_is_marked, 0), "{queue:?}: {marks:?}");
    }
}

/// The last packet of a flow is marked, but not dropped, whether the AQM drops or marks what does not understand
/// marks: a brick wall of 1 ms takes all others.
#[test]
fn the_last_packet_of_a_flow_is_not_dropped() {
    let ms = Duration::from_millis(1);
    let drops = || BrickWallParams { drop_threshold: ms, ..BrickWallParams::default() };
    let marks = || BrickWallParams { ce_threshold: ms, ..BrickWallParams::default() };
    for (wall, kind, left, marked) in [
        (drops(), Kind::Ect0, vec![(0, 0), (1, 3), (0, 2), (1, 5)], 0),
        (marks(), Kind::NotEct, vec![(0, 0), (1, 3), (0, 2), (1, 5)], 0),
        (marks(), Kind::Ect0, vec![(0, 0), (1, 3), (0, 1), (1, 4), (0, 2), (1, 5)], 4),
    ] {
        for aqm_instances in [AqmInstances::Flow, AqmInstances::One] {
            let params = LfqParams { aqm_instances, ..LfqParams::default() };
            let mut bench = Bench::new(&QueueSpec::new(params).with("aqm", wall.clone()), Limit::Unlimited);
            bench.cx.deliver_drops = false;
            for flow in [0, 0, 0, 1, 1, 1] {
                let packet = bench.packet(flow, 1_500, kind);
                bench.enqueue(0, packet);
            }
            let departures: Vec<(u32, u64)> =
                std::iter::from_fn(|| bench.dequeue(2 * MS)).map(|left| (left.flow, left.seq)).collect();
            // The first packets are sparse; of the others, those are left that were last of their flows.
            assert_eq!(departures, left);
            assert_eq!((bench.stats().drops_aqm, bench.stats().ce), (6 - left.len() as u64, marked));
        }
    }
}

/// The COBALT of CNQ and LFQ has no schedule of SCE. One for all flows hears when the queue is empty, of LFQ as of
/// CNQ: BLUE, which a full queue has raised by 1/256, falls by 1/4096 (spec/queues-and-signalling section 9).
#[test]
fn one_cobalt_for_all() {
    let one = || LfqParams { aqm_instances: AqmInstances::One, ..LfqParams::default() };
    for spec in [QueueSpec::new(CnqParams::default()), QueueSpec::new(one())] {
        let bench = Bench::new(&spec, Limit::Unlimited);
        assert!(bench.numbers_of_band(1).contains(&"sce_count NaN".to_owned()), "{spec:?}");
    }
    // CAKE's form does not look itself whether a packet was the last.
    let cobalt = || CobaltParams { variant: CobaltVariant::Cake, ..CobaltParams::default() };
    for spec in [QueueSpec::new(CnqParams::default()), QueueSpec::new(one())] {
        let mut bench = Bench::new(&spec.with("aqm", cobalt()), Limit::Packets(1));
        (0..2).for_each(|_| bench.arrive(10 * MS, Kind::Ect0));
        let p = |bench: &Bench| bench.probed_band(1, "p_drop").map(|p| p * 4_096.0);
        assert_eq!(p(&bench), Some(16.0), "with loss-free endpoints the second is delivered all the same");
        (0..2).for_each(|_| assert!(bench.dequeue(20 * MS).is_some()));
        assert_eq!((p(&bench), bench.choose(20 * MS), p(&bench)), (Some(16.0), None, Some(15.0)));
        assert!(bench.dequeue(30 * MS).is_none());
        assert_eq!(p(&bench), Some(14.0));
    }
}

/// LFQ looks at one idle flow per departure, in turn, and tells its AQM that it is empty (spec/queues-and-signalling
/// section 11). 64 packets of flow 1 that meet a full queue raise its BLUE to a quarter; 1024 times, at 12 ms each,
/// bring it back to nothing, and without them it drops packets.
#[test]
fn idle_flows_decay() {
    for (departures, is_calm) in [(10, false), (2_100, true)] {
        let mut bench = Bench::new(&QueueSpec::new(LfqParams::default()), Limit::Bytes(Bytes::new(1_500)));
        let arrive = |bench: &mut Bench, at: u64, flow, size| {
            let packet = bench.packet(flow, size, Kind::NotEct);
            bench.enqueue(at, packet);
        };
        assert!(bench.dequeue(0).is_none(), "no flow has been met");
        arrive(&mut bench, 0, 0, 1_500);
        assert!(bench.dequeue(0).is_some());
        for n in 1..=64 {
            (0..2).for_each(|_| arrive(&mut bench, n * 6 * MS, 1, 1_500));
            (0..2).for_each(|_| assert!(bench.dequeue(n * 6 * MS).is_some()));
        }
        for n in 100..100 + departures {
            arrive(&mut bench, n * 6 * MS, 0, 1_500);
            assert!(bench.dequeue(n * 6 * MS).is_some());
        }
        let before = bench.stats().drops_aqm;
        let end = 20_000 * MS;
        // All of these fit.
        for _ in 0..37 {
            arrive(&mut bench, end, 1, 40);
        }
        while bench.dequeue(end).is_some() {}
        assert_eq!(bench.stats().drops_aqm == before, is_calm, "{departures}");
    }
}

/// Timers of AQMs are called: PIE's probability rises in the bulk band.
#[test]
fn timers() {
    for queue in [
        QueueSpec::new(CnqParams::default()),
        QueueSpec::new(LfqParams::default()),
        QueueSpec::new(LfqParams { aqm_instances: AqmInstances::Flow, ..LfqParams::default() }),
    ] {
        let mut bench = Bench::new(&queue.with("aqm", PieParams::default()), Limit::Unlimited);
        bench.cx.deliver_drops = false;
        for n in 0..5_000_u64 {
            for _ in 0..2 {
                let packet = bench.packet(0, 1_500, Kind::NotEct);
                bench.enqueue(n * 1_200_000, packet);
            }
            bench.dequeue(n * 1_200_000);
        }
        assert!(bench.stats().drops_aqm > 1_000, "{:?}", bench.stats());
    }
}

/// Parameters that mean nothing are refused, with key and value.
#[test]
fn refusals() {
    fn refused(params: impl QueueParams) -> String {
        QueueSpec::new(params).check().unwrap_err().to_string()
    }
    assert_eq!(
        refused(CnqParams { flows: 0, ..CnqParams::default() }),
        "flows = 0 is out of range: from 1 to 65536"
    );
    let hash = FlowHash::Jenkins;
    assert!(refused(LfqParams { flows: 65_537, hash, ..LfqParams::default() }).starts_with("flows = 65537"));
    for mtu in [255, 65_537] {
        let mtu = Bytes::new(mtu);
        assert!(refused(LfqParams { mtu, ..LfqParams::default() }).starts_with("mtu = "));
    }
    let aqm = CodelParams { target: Duration::ZERO, ..CodelParams::default() };
    let nested = QueueSpec::new(CnqParams::default()).with("aqm", aqm);
    assert!(nested.check().unwrap_err().to_string().starts_with("target = 0 s"));
}
