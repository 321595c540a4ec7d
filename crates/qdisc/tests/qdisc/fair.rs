//! Fair queues: RFC 8290 section 4, spec/queues-and-signalling section 5, tc-fq(8).

use std::collections::BTreeMap;

use proptest::prelude::*;
use windtunnel_qdisc::{
    CobaltParams, CobaltVariant, CodelParams, DropReason, FlowHash, FqCodelParams, FqParams, Limit,
    PieParams, QueueInit, QueueSpec, SfqParams,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn fq_codel(params: FqCodelParams, limit: Limit) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), limit);
    bench.cx.deliver_drops = false;
    bench
}

fn fq(params: FqParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(10_000));
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, size: u64, n: usize) {
    for _ in 0..n {
        let packet = bench.packet(flow, size, Kind::Ect0);
        bench.enqueue(at, packet);
    }
}

/// The flows of the next packets.
fn next(bench: &mut Bench, at: u64, n: usize) -> Vec<u32> {
    (0..n).filter_map(|_| bench.dequeue(at)).map(|left| left.flow).collect()
}

proptest! {
    /// Flows that always have packets share bytes within one quantum and one packet per flow of each other, whatever
    /// the lengths of their packets (Shreedhar and Varghese 1995, section 4).
    #[test]
    fn byte_fairness(
        sizes in prop::collection::vec(40_u64..=1_500, 2..6),
        quantum in 256_u64..3_000,
        linux in any::<bool>(),
    ) {
        let quantum = Bytes::new(quantum);
        let mut bench = if linux {
            fq(FqParams { quantum, initial_quantum: quantum, flow_limit: 100_000, ..FqParams::default() })
        } else {
            fq_codel(FqCodelParams { quantum, ..FqCodelParams::default() }, Limit::Unlimited)
        };
        for (flow, size) in (0..).zip(&sizes) {
            arrive(&mut bench, 0, flow, *size, 1_500);
        }
        let mut sent = vec![0_u64; sizes.len()];
        for _ in 0..1_000 {
            let left = bench.dequeue(1).unwrap();
            sent[left.flow as usize] += sizes[left.flow as usize];
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(most - least <= quantum.get() + 2 * 1_500, "{sent:?} with {quantum}");
        }
    }

    /// A flow that sends at most one packet per round of all others is served before them: it waits for the rest of the
    /// packet that is on the link, and for the new flows before it (RFC 8290 section 4.2).
    #[test]
    fn sparse_flows_do_not_wait(bulk in 1_u32..8, gap in 20_u64..40) {
        let mut bench = fq_codel(FqCodelParams::default(), Limit::Unlimited);
        for flow in 0..bulk {
            arrive(&mut bench, 0, flow, 1_500, 400);
        }
        next(&mut bench, 1, 3 * bulk as usize);
        for round in 0..20 {
            let at = 2 + round * 1_000;
            arrive(&mut bench, at, 100, 100, 1);
            prop_assert_eq!(next(&mut bench, at, 1), [100], "round {}", round);
            prop_assert!(!next(&mut bench, at, (gap as u32).max(bulk + 2) as usize).contains(&100));
        }
    }
}

/// New flows go first, for one quantum; then turns alternate. A flow that empties while it is new must pass through the
/// old ones before it is new again.
#[test]
fn new_flows_and_old_flows() {
    let mut bench = fq_codel(FqCodelParams::default(), Limit::Unlimited);
    arrive(&mut bench, 0, 0, 1_500, 6);
    arrive(&mut bench, 0, 1, 1_500, 6);
    assert_eq!(next(&mut bench, 1, 5), [0, 1, 0, 1, 0]);
    let lists = |bench: &Bench| (bench.probe("new_flows"), bench.probe("old_flows"));
    assert_eq!(lists(&bench), (0, 2));
    arrive(&mut bench, 2, 2, 700, 1);
    assert_eq!(lists(&bench), (1, 2));
    // Flow 2 is new and goes first. Of its quantum, 800 bytes are left.
    assert_eq!(next(&mut bench, 2, 1), [2]);
    arrive(&mut bench, 2, 2, 700, 1);
    assert_eq!(next(&mut bench, 2, 1), [2]);
    // Flow 2 is empty now, and passes through the old ones, 0 and 1. Flow 0 has used up its turn, so flow 1 is next,
    // and then flow 2, which is not new: its 100 bytes go before a quantum, and after them it has to wait for 0 and 1.
    assert_eq!(next(&mut bench, 2, 1), [1]);
    arrive(&mut bench, 2, 2, 700, 2);
    assert_eq!(next(&mut bench, 2, 4), [2, 0, 1, 2]);
}

/// The full queue's longest band loses packets at its head: half of its bytes, or `drop_batch` packets; the arriving
/// packet of another flow is stored. CoDel's count of that band rises by the same number.
#[test]
fn the_longest_band_pays() {
    for (drop_batch, dropped) in [(64, 25), (10, 10)] {
        let mut bench =
            fq_codel(FqCodelParams { drop_batch, ..FqCodelParams::default() }, Limit::Packets(60));
        arrive(&mut bench, 0, 1, 1_500, 10);
        arrive(&mut bench, 0, 2, 1_500, 50);
        arrive(&mut bench, 1, 3, 100, 1);
        let drops = bench.drops();
        assert_eq!(drops.len(), dropped);
        assert!(drops.iter().all(|d| d.flow.get() == 2 && d.reason == DropReason::Overlimit));
        assert_eq!(bench.stats().drops_overlimit, dropped as u64);
        let backlogs: Vec<usize> = bench.bands().iter().map(|(_, backlog)| backlog.packets).collect();
        assert_eq!(backlogs, [10, 50 - dropped, 1]);
        assert_eq!(bench.probed_band(1, "count"), Some(dropped as f64));
        // The oldest are gone.
        let first = std::iter::from_fn(|| bench.dequeue(2)).find(|left| left.flow == 2).unwrap();
        assert_eq!(first.seq, 10 + dropped as u64);
    }
}

/// Memory counts 256 bytes for each packet besides its length: 10 packets of 100 B fit 3,560 B.
#[test]
fn memory_limit() {
    let params = FqCodelParams { memory_limit: Bytes::new(3_560), ..FqCodelParams::default() };
    let mut bench = fq_codel(params, Limit::Unlimited);
    arrive(&mut bench, 0, 0, 100, 10);
    assert_eq!((bench.stats().lost, bench.probe("memory_bytes")), (0, 3_560));
    arrive(&mut bench, 0, 1, 100, 1);
    assert_eq!((bench.stats().drops_overlimit, bench.backlog().packets), (5, 6));
    while bench.dequeue(1).is_some() {}
    assert_eq!(bench.probe("memory_bytes"), 0);
}

/// A packet that has been chosen is served, though its band has to make room meanwhile.
#[test]
fn the_chosen_packet_is_spared() {
    let mut bench = fq_codel(FqCodelParams::default(), Limit::Packets(4));
    arrive(&mut bench, 0, 0, 1_500, 4);
    assert_eq!(bench.choose(1), Some(Bytes::new(1_500)));
    arrive(&mut bench, 1, 1, 100, 1);
    assert_eq!(bench.choose(2), Some(Bytes::new(1_500)), "not the new flow's");
    assert_eq!(bench.serve(3).map(|left| left.seq), Some(0));
    assert!(bench.drops().iter().all(|dropped| dropped.flow.get() == 0));
    assert_eq!(next(&mut bench, 3, 1), [1]);
}

/// With one bucket all flows share a band, in order of arrival; where each flow has a band for certain, `flows` has no
/// meaning. Bands say what they are for.
#[test]
fn collisions_can_be_forced() {
    for (hash, order, names) in [
        (FlowHash::Jenkins, vec![0, 0, 1, 1], vec!["bucket 0"]),
        (FlowHash::Perfect, vec![0, 1, 0, 1], vec!["flow 0", "flow 1"]),
    ] {
        let mut bench =
            fq_codel(FqCodelParams { hash, flows: 1, ..FqCodelParams::default() }, Limit::Unlimited);
        arrive(&mut bench, 0, 0, 1_500, 2);
        arrive(&mut bench, 0, 1, 1_500, 2);
        assert_eq!(bench.bands().into_iter().map(|(name, _)| name).collect::<Vec<_>>(), names);
        assert_eq!(next(&mut bench, 1, 4), order);
    }
}

/// After `perturb`, a new salt assigns flows to other bands; queued packets stay where they are.
#[test]
fn perturb() {
    let params = FqCodelParams {
        hash: FlowHash::Jenkins,
        flows: 65_536,
        perturb: Duration::from_millis(10),
        ..FqCodelParams::default()
    };
    let mut bench = fq_codel(params, Limit::Unlimited);
    arrive(&mut bench, 0, 0, 1_500, 3);
    arrive(&mut bench, 10 * MS, 0, 1_500, 1);
    let backlogs: Vec<usize> = bench.bands().iter().map(|(_, backlog)| backlog.packets).collect();
    assert_eq!(backlogs, [3, 1]);
}

/// `perturb` has a timer of its own, from its first interval on; those of AQMs in bands do not change the salt, and 0
/// s never does.
#[test]
fn timer_of_perturb() {
    let params = |ms| FqCodelParams {
        hash: FlowHash::Jenkins,
        flows: 65_536,
        perturb: Duration::from_millis(ms),
        ..FqCodelParams::default()
    };
    let mut bench = fq_codel(params(10), Limit::Unlimited);
    for ms in [10, 20, 30] {
        assert_eq!(bench.next_timer().map(Time::as_nanos), Some(ms * MS));
        bench.run_timers(ms * MS);
    }
    for (ms, bands) in [(0, 1), (1_000, 1), (10, 2)] {
        let spec = QueueSpec::new(params(ms)).with("aqm", PieParams::default());
        let mut bench = Bench::of(spec.build(&QueueInit::new(Limit::Unlimited, 1)));
        arrive(&mut bench, 0, 0, 1_500, 1);
        // PIE's have been called every 15 ms.
        arrive(&mut bench, 40 * MS, 0, 1_500, 1);
        assert_eq!(bench.bands().len(), bands, "{ms} ms");
    }
}

/// The AQM of a flow hears when its turn comes and it is empty: BLUE, which has risen by 1/256 where a packet met
/// `flow_limit` or a longer queue, falls by 1/4096 (spec/queues-and-signalling section 9).
#[test]
fn an_empty_flow() {
    // CAKE's COBALT does not look itself whether a packet was the last.
    let cobalt = || CobaltParams { variant: CobaltVariant::Cake, ..CobaltParams::default() };
    let limited = FqParams { flow_limit: 1, ..FqParams::default() };
    for spec in [QueueSpec::new(limited), QueueSpec::new(SfqParams { depth: 1, ..SfqParams::default() })] {
        let mut bench = Bench::new(&spec.with("aqm", cobalt()), Limit::Packets(10));
        bench.cx.deliver_drops = false;
        arrive(&mut bench, 10 * MS, 0, 1_500, 2);
        let p = |bench: &Bench| bench.probed_band(0, "p_drop").map(|p| p * 4_096.0);
        assert_eq!((bench.stats().drops_full, p(&bench)), (1, Some(16.0)));
        // sfq looks at once whether the flow has more, and fq when its turn comes.
        assert_eq!(next(&mut bench, 20 * MS, 1), [0]);
        assert!(next(&mut bench, 30 * MS, 1).is_empty());
        assert_eq!(p(&bench), Some(15.0));
    }
}

/// CoDel in one band does not know about the others: a flow that overloads the link gets signals, and a flow next to
/// it that sends little gets none.
#[test]
fn each_flow_has_its_own_codel() {
    let mut bench = fq_codel(FqCodelParams::default(), Limit::Unlimited);
    let mut marks = BTreeMap::from([(0, 0), (1, 0)]);
    for n in 0..20_000_u64 {
        let at = n * 120_000;
        arrive(&mut bench, at, 0, 1_500, 2);
        if n.is_multiple_of(20) {
            arrive(&mut bench, at, 1, 100, 1);
        }
        let left = bench.dequeue(at).unwrap();
        *marks.get_mut(&left.flow).unwrap() +=
            u64::from(left.outcome != windtunnel_qdisc::ecn::Outcome::Passed);
    }
    assert!(marks[&0] > 100 && marks[&1] == 0, "{marks:?}");
}

/// Datagrams at 12 Mbit/s over 10 Mbit/s. By Newton steps from 1 (`codel_Newton_step`), `1 / sqrt(count)` is 1, 0.5, 0.5625 and
/// 0.488 for counts of 1 to 4, so that drops are 100, 50, 56 and 49 ms apart. A kernel 7.3.4 drops at 0.14, 0.24, 0.29, 0.34
/// and 0.39 s. By exact roots they are 100, 71, 58 and 50 ms apart. A packet is on the wire for 1.2 ms.
#[test]
fn newton_steps_in_each_band() {
    for (newton, apart) in [(true, [100.0, 50.0, 56.25, 48.8]), (false, [100.0, 70.7, 57.7, 50.0])] {
        let params = FqCodelParams { newton, ecn: false, ..FqCodelParams::default() };
        let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
        bench.cx.deliver_drops = false;
        let (mut drops, mut arrived) = (Vec::new(), 0);
        for at in (0..500 * MS).step_by(1_200_000) {
            while arrived * MS <= at {
                arrive(&mut bench, arrived * MS, 0, 1_500, 1);
                arrived += 1;
            }
            let before = bench.stats().drops_aqm;
            bench.dequeue(at);
            drops.extend((bench.stats().drops_aqm > before).then_some(at as f64 / 1e6));
        }
        let mut due = drops[0];
        for (drop, apart) in drops[1..].iter().zip(apart) {
            due += apart;
            assert!((0.0..1.3).contains(&(drop - due)), "{drop} ms, due at {due} ms: {drops:?}");
        }
    }
}

/// Any AQM can take the place of CoDel. With PIE, each band has a timer from the time at which the queue was created,
/// and packets of the flow that exceeds its share are dropped.
#[test]
fn pie_in_each_band() {
    let spec = QueueSpec::new(FqCodelParams::default()).with("aqm", PieParams::default());
    let init = QueueInit::new(Limit::Packets(10_000), 1);
    let mut bench = Bench::of(spec.build(&init));
    bench.cx.deliver_drops = false;
    let first = bench.next_timer().expect("PIE has a timer, before there is any flow");
    assert!(first.as_nanos() <= 16 * MS);
    for n in 0..20_000_u64 {
        let at = n * 120_000;
        arrive(&mut bench, at, 0, 1_500, 2);
        if n.is_multiple_of(4) {
            arrive(&mut bench, at, 1, 1_500, 1);
        }
        bench.dequeue(at);
    }
    let [heavy, light] = bench.band_stats() else { panic!("two bands") };
    assert!(heavy.drops_aqm > 1_000 && light.drops_aqm == 0, "{heavy:?} {light:?}");
    assert!(bench.probed_band(0, "p").is_some_and(|p| p > 0.1));
}

/// A flow has room for `flow_limit` packets, and the queue for its limit: packets that do not fit are lost on arrival.
#[test]
fn limits_of_fq() {
    let mut bench = fq(FqParams { flow_limit: 3, ..FqParams::default() });
    arrive(&mut bench, 0, 0, 1_500, 5);
    arrive(&mut bench, 0, 1, 1_500, 2);
    assert_eq!((bench.backlog().packets, bench.stats().drops_full), (5, 2));
    assert!(bench.drops().iter().all(|dropped| dropped.flow.get() == 0));
}

/// The first turn of a flow is `initial_quantum` long, later ones `quantum`; after 40 ms without packets a flow
/// returns with a quantum at least, and before that with what it had left.
#[test]
fn credits_of_fq() {
    let mut bench = fq(FqParams::default());
    arrive(&mut bench, 0, 0, 1_500, 20);
    arrive(&mut bench, 0, 1, 1_500, 20);
    let expected = [vec![0; 10], vec![1; 10], vec![0, 0, 1, 1, 0, 0]].concat();
    assert_eq!(next(&mut bench, 1, 26), expected);
    while bench.dequeue(2).is_some() {}
    for (pause, first) in [(39, [0, 5, 0]), (41, [0, 0, 5])] {
        let mut bench = fq(FqParams::default());
        arrive(&mut bench, 0, 0, 1_500, 9);
        arrive(&mut bench, 0, 0, 1_499, 1);
        next(&mut bench, 0, 11);
        // One byte of its credit is left: it returns with that, enough for one packet, or with a quantum of two.
        arrive(&mut bench, pause * MS, 0, 1_500, 2);
        arrive(&mut bench, pause * MS, 5, 1_500, 1);
        assert_eq!(next(&mut bench, pause * MS, 3), first, "{pause} ms");
    }
}

/// With `maxrate` a flow leaves at that rate, and the link waits for it; above the threshold in bursts of a quantum.
#[test]
fn pacing_of_fq() {
    for (mbit, burst) in [(0.5, 1), (12.0, 2)] {
        let maxrate = Some(Rate::from_bits_per_sec((mbit * 1e6) as u64));
        let mut bench = fq(FqParams { maxrate, initial_quantum: Bytes::new(1_500), ..FqParams::default() });
        arrive(&mut bench, 0, 0, 1_500, 100);
        let (mut now, mut times) = (0, Vec::new());
        while times.len() < 50 {
            if bench.dequeue(now).is_some() {
                times.push(now);
            } else {
                let ready = bench.next_ready(now).expect("packets wait");
                assert!(ready > now);
                now = ready;
            }
        }
        let packet = (1_500.0 * 8.0 / mbit * 1e3) as u64;
        let rate = 49.0 * packet as f64 / (times[49] - times[0]) as f64;
        assert!((rate - 1.0).abs() < 0.05, "{mbit} Mbit/s: {rate}");
        let together = times.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap();
        assert_eq!(together, burst, "{mbit} Mbit/s");
    }
}

/// A paced flow makes up for lateness, but for no more than half of a wait (`fq_dequeue`). By hand, at 0.5 Mbit/s 24
/// ms for each packet: 6 ms late, the next wait is 18 ms; 52 ms late, it is 12 ms. At 12 Mbit/s nothing waits before
/// the credit of 15,000 B is used up, and then for as long as a quantum of 3000 B takes.
#[test]
fn lateness_of_fq() {
    let paced = |kbit: u64| {
        let maxrate = Some(Rate::from_bits_per_sec(kbit * 1_000));
        let mut bench = fq(FqParams { maxrate, ..FqParams::default() });
        arrive(&mut bench, 0, 0, 1_500, 20);
        bench
    };
    let mut slow = paced(500);
    for (asked, leaves, ready) in
        [(0, 1, 24), (23, 0, 24), (30, 1, 48), (100, 1, 112), (111, 0, 112), (112, 1, 136)]
    {
        assert_eq!(next(&mut slow, asked * MS, 2).len(), leaves, "{asked} ms");
        assert_eq!(slow.next_ready(asked * MS), Some(ready * MS), "{asked} ms");
    }
    let mut fast = paced(12_000);
    assert_eq!(next(&mut fast, 0, 20).len(), 10);
    assert_eq!(fast.next_ready(0), Some(2 * MS));
}

/// `ce_threshold` of fq marks what can be marked and has waited longer, and drops nothing.
#[test]
fn threshold_of_fq() {
    let params = FqParams { ce_threshold: Some(Duration::from_millis(1)), ..FqParams::default() };
    for (kind, marks) in [(Kind::Ect0, 1), (Kind::NotEct, 0)] {
        let mut bench = fq(params.clone());
        for _ in 0..2 {
            let packet = bench.packet(0, 1_500, kind);
            bench.enqueue(0, packet);
        }
        assert_eq!(bench.outcome(MS), windtunnel_qdisc::ecn::Outcome::Passed);
        bench.dequeue(MS + 1);
        assert_eq!((bench.stats().ce, bench.stats().lost), (marks, 0), "{kind:?}");
    }
}

/// Parameters that mean nothing are refused, with key and value; so is a parameter of an AQM that another one replaces.
#[test]
fn refusals() {
    let refused = |spec: QueueSpec| spec.check().unwrap_err().to_string();
    let fq_codel = FqCodelParams::default;
    for (params, fault) in [
        (FqCodelParams { flows: 0, ..fq_codel() }, "flows = 0 is out of range: from 1 to 65536"),
        (FqCodelParams { flows: 65_537, ..fq_codel() }, "flows = 65537"),
        (FqCodelParams { quantum: Bytes::new(255), ..fq_codel() }, "quantum = 255 B"),
        (FqCodelParams { drop_batch: 0, ..fq_codel() }, "drop_batch = 0"),
        (FqCodelParams { memory_limit: Bytes::ZERO, ..fq_codel() }, "memory_limit = 0 B"),
        (FqCodelParams { target: Duration::ZERO, ..fq_codel() }, "target = 0 s"),
    ] {
        assert!(refused(QueueSpec::new(params)).starts_with(fault), "{fault}");
    }
    let fq = FqParams::default;
    for (params, fault) in [
        (FqParams { flow_limit: 0, ..fq() }, "flow_limit = 0"),
        (FqParams { quantum: Bytes::new(1), ..fq() }, "quantum = 1 B"),
        (FqParams { quantum: Bytes::new(2 << 20), ..fq() }, "quantum = "),
        (FqParams { initial_quantum: Bytes::new(2 << 20), ..fq() }, "initial_quantum = "),
        (FqParams { maxrate: Some(Rate::ZERO), ..fq() }, "maxrate = 0 bit/s"),
    ] {
        assert!(refused(QueueSpec::new(params)).starts_with(fault), "{fault}");
    }
    // The ends of the ranges are within them.
    let most = Bytes::new(1 << 20);
    assert!(QueueSpec::new(FqParams { quantum: most, initial_quantum: most, ..fq() }).check().is_ok());
    let least = FqCodelParams { quantum: Bytes::new(256), flows: 65_536, ..fq_codel() };
    assert!(QueueSpec::new(least).check().is_ok());
    let codel = CodelParams { interval: Duration::ZERO, ..CodelParams::default() };
    assert!(refused(QueueSpec::new(codel.clone())).starts_with("interval = 0 s"));
    assert!(refused(QueueSpec::new(fq_codel()).with("aqm", codel)).starts_with("interval = 0 s"));
    let target = FqCodelParams { target: Duration::from_millis(1), ..fq_codel() };
    let both = QueueSpec::new(target).with("aqm", CodelParams::default());
    assert!(refused(both).starts_with("target = 1 ms is out of range: left out with `aqm`"));
    let threshold = FqParams { ce_threshold: Some(Duration::from_millis(1)), ..fq() };
    assert!(
        refused(QueueSpec::new(threshold).with("aqm", CodelParams::default())).starts_with("ce_threshold")
    );
}
