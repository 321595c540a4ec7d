//! DualPI2 as a queue: who goes where, who is served, and what is marked by whom (spec/queues-and-signalling section 8).

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    BrickWallParams, DualPi2Params, DualPi2Scheduler, DualPi2Variant, Limit, QueueLength, QueueSpec, Signal,
};
use windtunnel_units::{Bytes, Duration, Probability};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};
use crate::overload::Load;

const SCE: Outcome = Outcome::Marked(Signal::Sce);
const CE: Outcome = Outcome::Marked(Signal::Ce);

/// The bands.
const L: usize = 0;
const C: usize = 1;

const MS: u64 = 1_000_000;

fn bench(params: DualPi2Params) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(10_000));
    bench.cx.deliver_drops = false;
    bench
}

fn linux() -> DualPi2Params {
    DualPi2Params::default()
}

fn rfc() -> DualPi2Params {
    DualPi2Params { variant: DualPi2Variant::Rfc, ..linux() }
}

/// The band that a packet goes to.
fn band_of(params: DualPi2Params, kind: Kind, ecn: Ecn) -> usize {
    let mut bench = bench(params);
    let mut packet = bench.packet(0, 1_500, kind);
    packet.ecn = ecn;
    bench.enqueue(0, packet);
    bench.bands().iter().position(|(_, backlog)| backlog.packets == 1).expect("a packet in a band")
}

/// RFC 9332 section 2.3: ECT(1) and CE go to L, everything else to C; `any_ect` takes ECT(0) as well. Packets with the MDS
/// identifier go to C where MDS is known, whatever ECN field they carry, and by that field where it is not.
#[test]
fn classifier() {
    use Ecn::{Ce, Ect0, Ect1, NotEct};
    for kind in [Kind::Ect0, Kind::Mds] {
        assert_eq!([NotEct, Ect0, Ect1, Ce].map(|ecn| band_of(linux(), kind, ecn)), [C, C, L, L]);
        let any_ect = DualPi2Params { any_ect: true, ..linux() };
        assert_eq!([NotEct, Ect0, Ect1, Ce].map(|ecn| band_of(any_ect.clone(), kind, ecn)), [C, L, L, L]);
    }
    let mds = DualPi2Params { mds: true, ..linux() };
    assert_eq!([Ect0, Ect1, Ce].map(|ecn| band_of(mds.clone(), Kind::Mds, ecn)), [C, C, C]);
    assert_eq!([Ect0, Ect1, Ce].map(|ecn| band_of(mds.clone(), Kind::Ect0, ecn)), [C, L, L]);
}

#[test]
fn names() {
    let names: Vec<String> = bench(linux()).bands().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["L", "C"]);
}

/// The share of the classic queue's bytes among 600 packets that leave two full queues, before p' is first updated.
fn classic_share(params: DualPi2Params, sizes: [u64; 2]) -> f64 {
    let mut bench = bench(params);
    for _ in 0..600 {
        for (kind, size) in [(Kind::Ect1, sizes[L]), (Kind::NotEct, sizes[C])] {
            let packet = bench.packet(0, size, kind);
            bench.enqueue(0, packet);
        }
    }
    for n in 0..600 {
        bench.dequeue(n * 1_000).expect("a packet");
    }
    let sent = |band: usize| bench.band_stats()[band].departed_bytes.as_f64();
    sent(C) / (sent(L) + sent(C))
}

/// spec/queues-and-signalling section 8: with both queues full the classic one gets 10 % of the bytes, or what
/// `classic_protection` says; the RFC's gets one packet in sixteen. Before the first packet of C 9 of L leave: the credit
/// starts at -80 % of an MTU and each adds 10 % of its length, so that it is positive after the ninth.
#[test]
fn classic_protection() {
    for sizes in [[1_500, 1_500], [500, 1_500], [1_500, 500]] {
        let share = classic_share(linux(), sizes);
        assert!((share - 0.1).abs() < 0.005, "{share} with {sizes:?}");
    }
    let protection = |p| DualPi2Params { classic_protection: Some(Probability::clamped(p)), ..linux() };
    for p in [0.0, 0.25, 0.5, 1.0] {
        let share = classic_share(protection(p), [1_500, 1_500]);
        assert!((share - p).abs() < 0.005, "{share} of {p}");
    }
    assert!((classic_share(rfc(), [1_500, 1_500]) - 1.0 / 16.0).abs() < 0.003);
    let strict = DualPi2Params { scheduler: Some(DualPi2Scheduler::StrictPriority), ..linux() };
    assert!(classic_share(strict, [1_500, 1_500]).abs() < 1e-9);

    let mut bench = bench(linux());
    for _ in 0..20 {
        bench.arrive(0, Kind::Ect1);
        bench.arrive(0, Kind::NotEct);
    }
    let first = (0..20).position(|_| bench.dequeue(0).expect("a packet").ecn == Ecn::NotEct);
    assert_eq!(first, Some(9));
}

/// A queue that is alone is not charged, and two empty queues give the credit back.
#[test]
fn credit() {
    let mut bench = bench(linux());
    let start = bench.probed("credit_bytes").expect("a credit");
    assert!((start + 1_200.0).abs() < 1e-6, "{start}");
    bench.arrive(0, Kind::Ect1);
    bench.dequeue(0);
    assert_eq!(bench.probed("credit_bytes"), Some(start));
    bench.arrive(0, Kind::Ect1);
    bench.arrive(0, Kind::NotEct);
    bench.dequeue(0);
    assert!((bench.probed("credit_bytes").unwrap() - start - 150.0).abs() < 1e-6);
    bench.dequeue(0);
    assert!((bench.probed("credit_bytes").unwrap() - start - 150.0).abs() < 1e-6);
    assert!(bench.dequeue(0).is_none());
    assert_eq!(bench.probed("credit_bytes"), Some(start));
}

/// With `time-shifted-fifo`, classic packets go first once they have waited `tshift` longer than the head of L.
#[test]
fn time_shifted_fifo() {
    let params = DualPi2Params { scheduler: Some(DualPi2Scheduler::TimeShiftedFifo), ..rfc() };
    let mut bench = bench(params);
    bench.arrive(0, Kind::NotEct);
    bench.arrive(49 * MS, Kind::Ect1);
    bench.arrive(51 * MS, Kind::NotEct);
    let order: Vec<Ecn> = (0..2).map(|_| bench.dequeue(52 * MS).expect("a packet").ecn).collect();
    assert_eq!(order, [Ecn::Ect1, Ecn::NotEct]);
    bench.arrive(102 * MS, Kind::Ect1);
    assert_eq!(bench.dequeue(102 * MS).expect("a packet").ecn, Ecn::NotEct);
}

/// p' follows the older of both heads: after 16 ms with a head that has waited that long, and no delay before,
/// p' = 41/256 (0.016 - 0.015) + 819/256 0.016; `p_C` is its square, and `p_CL` twice as large.
#[test]
fn first_update() {
    for kind in [Kind::Ect1, Kind::NotEct] {
        let mut bench = bench(linux());
        bench.arrive(0, kind);
        bench.run_timers(16 * MS);
        let p = 41.0 / 256.0 * 0.001 + 819.0 / 256.0 * 0.016;
        for (name, value) in [("p_prime", p), ("p_c", p * p), ("p_cl", 2.0 * p)] {
            assert!((bench.probed(name).unwrap() - value).abs() < 1e-12, "{name}");
        }
    }
}

/// Linux's step: a packet of L that has waited longer than 1 ms is marked by L's own AQM, however short the queue is; one
/// that arrived to a shorter queue than `min_qlen_step` is not. p' is still 0.
#[test]
fn native_step() {
    let mut bench = bench(linux());
    bench.arrive(0, Kind::Ect1);
    assert_eq!(bench.outcome(MS), Outcome::Passed);
    bench.arrive(MS, Kind::Ect1);
    assert_eq!(bench.outcome(2 * MS + 1), CE);
    assert_eq!([bench.probe("native_marks"), bench.probe("coupled_marks")], [1, 0]);
    bench.arrive(3 * MS, Kind::Ect0);
    assert_eq!(bench.outcome(6 * MS), Outcome::Passed);

    let params = DualPi2Params { min_qlen_step: 1, step_thresh: Some(QueueLength::Packets(1)), ..linux() };
    let mut spares = self::bench(params);
    for _ in 0..5 {
        spares.arrive(0, Kind::Ect1);
    }
    let outcomes: Vec<Outcome> = (0..5).map(|_| spares.outcome(9 * MS)).collect();
    assert_eq!(outcomes, [Outcome::Passed, CE, CE, Outcome::Passed, Outcome::Passed]);
}

/// An unresponsive flow into a queue whose p' is held by what it does to the delay: the shares of CE and drops in its own
/// queue are what p' says. At p' between 0 and 0.5 all L packets are marked with 2 p', and above they are dropped with
/// p'^2 as well; the rest is marked. The law's own tests have the exact shares.
#[test]
fn overload() {
    for (params, kind, may_drop) in [
        (linux(), Kind::Ect1, true),
        (linux(), Kind::Ect0, true),
        (DualPi2Params { overflow: true, ..linux() }, Kind::Ect1, false),
        (DualPi2Params { drop_enqueue: true, ..linux() }, Kind::Ect1, true),
        (rfc(), Kind::Ect1, true),
        (rfc(), Kind::Ect0, true),
    ] {
        let name = format!("{params:?} {kind:?}");
        let mut bench = bench(params);
        // Twice what the link carries.
        let load = Load { kind, service_ns: 1_200_000, interval_ns: 600_000 };
        load.run(&mut bench, 0..6_000 * MS, |_, _| {});
        let before = bench.stats();
        load.run(&mut bench, 6_000 * MS..9_000 * MS, |_, _| {});
        let stats = bench.stats().since(&before);
        let aqm = stats.drops_aqm as f64 / stats.arrived as f64;
        if may_drop {
            // The queue is held by drops alone.
            assert!((aqm - 0.5).abs() < 0.03, "{aqm}: {name}");
            assert!(bench.probed("p_prime").unwrap() > 0.5, "{name}");
        } else {
            assert_eq!(stats.drops_aqm, 0, "{name}");
            assert_eq!(bench.probed("p_prime"), Some(0.5), "{name}");
        }
        if kind == Kind::Ect1 {
            assert!(stats.ce as f64 > 0.99 * stats.departed as f64, "{name}");
        }
    }
}

/// Packets in a backlog of less than two full ones are not signalled by p' in Linux's form, even if p' is 1.
#[test]
fn short_backlog() {
    for kind in [Kind::Ect1, Kind::Ect0] {
        let mut bench = bench(DualPi2Params { step_thresh: Some(QueueLength::Packets(9)), ..linux() });
        for _ in 0..4 {
            bench.arrive(0, kind);
        }
        // A head that has waited for 10 s.
        bench.run_timers(10_000 * MS);
        assert!(bench.probed("p_prime").unwrap() > 0.999);
        let mut left = Vec::new();
        while let Some(packet) = bench.dequeue(10_000 * MS) {
            left.push(packet.outcome);
        }
        // The first two leave 4500 B and 3000 B, and are dropped; the others are spared.
        assert_eq!(left, [Outcome::Passed, Outcome::Passed], "{kind:?}");
        assert_eq!(bench.stats().drops_aqm, 2, "{kind:?}");
    }
}

/// MDS in the classic queue: SCE at `64 p_C` to packets with the identifier, which stay in order with others in C; where
/// that is too much, CE or drops. Packets of L are as before.
#[test]
fn mds_in_the_classic_queue() {
    let mut bench = bench(DualPi2Params { mds: true, ..linux() });
    let load = Load { kind: Kind::Mds, service_ns: 120_000, interval_ns: 119_000 };
    let (mut packets, mut told, mut expected) = (0, 0.0, 0.0);
    load.run(&mut bench, 0..3_000 * MS, |bench, left| {
        packets += 1;
        expected += 64.0 * bench.probed("p_c").expect("p_C");
        told += match left.outcome {
            SCE => 1.0,
            CE | Outcome::Drop => 64.0,
            Outcome::Passed => 0.0,
        };
    });
    told += 64.0 * bench.stats().drops_aqm as f64;
    expected += 64.0 * bench.stats().drops_aqm as f64 * bench.probed("p_c").expect("p_C");
    assert!(bench.stats().sce > 100, "{:?}", bench.stats());
    assert!((told / expected - 1.0).abs() < 0.1, "{told} and {expected} in {packets}");
    let mut unaware = self::bench(linux());
    load.run(&mut unaware, 0..3_000 * MS, |_, _| {});
    assert_eq!(unaware.stats().sce, 0);
    assert!(unaware.stats().ce > 0);
}

/// Both queues take another AQM: here thresholds, which show who decided.
#[test]
fn slots() {
    let above =
        |ms| BrickWallParams { ce_threshold: Duration::from_millis(ms), ..BrickWallParams::default() };
    let spec = QueueSpec::new(linux()).with("low_latency", above(3)).with("classic", above(7));
    let mut bench = Bench::new(&spec, Limit::Unlimited);
    for (kind, waits, outcome) in [
        (Kind::Ect1, 2, Outcome::Passed),
        (Kind::Ect1, 4, CE),
        (Kind::Ect0, 4, Outcome::Passed),
        (Kind::Ect0, 8, CE),
    ] {
        bench.arrive(0, kind);
        assert_eq!(bench.outcome(waits * MS), outcome, "{kind:?} {waits}");
    }
    assert_eq!([bench.probe("native_marks"), bench.probe("coupled_marks")], [1, 0]);
}

/// `limit` is that of both queues together, and so is `memlimit`: 256 B for each packet plus its length. The RFC keeps
/// room for a full packet.
#[test]
fn limits() {
    let most = |params: DualPi2Params, limit, size| {
        let mut bench = Bench::new(&QueueSpec::new(params), limit);
        bench.cx.deliver_drops = false;
        for n in 0..100 {
            let packet = bench.packet(0, size, if n % 2 == 0 { Kind::Ect1 } else { Kind::NotEct });
            bench.enqueue(0, packet);
        }
        bench.backlog().packets
    };
    assert_eq!(most(linux(), Limit::Packets(30), 1_500), 30);
    for (memlimit, packets) in [(10 * 1_756, 10), (10 * 1_756 - 1, 9)] {
        let params = DualPi2Params { memlimit: Some(Bytes::new(memlimit)), ..linux() };
        assert_eq!(most(params, Limit::Unlimited, 1_500), packets);
    }
    // 27 packets of 500 B, and room for 1500 B.
    assert_eq!(most(rfc(), Limit::Bytes(Bytes::new(15_000)), 500), 28);
    assert_eq!(most(linux(), Limit::Bytes(Bytes::new(15_000)), 500), 30);
}

/// With `drop_enqueue` p' signals to packets that arrive, those of L with 2 p' and those of C with its square, and to
/// none that leaves: after the first update 2 p' is 0.103 and p'^2 is 0.0026. Four standard deviations of 20,000
/// coins.
#[test]
fn signals_on_arrival() {
    let params = DualPi2Params { drop_enqueue: true, ..linux() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.arrive(0, Kind::Ect0);
    bench.arrive(0, Kind::Ect0);
    let n = 20_000;
    for kind in [Kind::Ect1, Kind::Ect0] {
        (0..n).for_each(|_| bench.arrive(16 * MS, kind));
    }
    let p = 41.0 / 256.0 * 0.001 + 819.0 / 256.0 * 0.016;
    for (band, p) in [(L, 2.0 * p), (C, p * p)] {
        let (ce, expected) = (bench.band_stats()[band].ce as f64, f64::from(n) * p);
        assert!((ce - expected).abs() < 4.0 * expected.sqrt(), "{ce}, expected {expected}");
    }
    let ce = bench.stats().ce;
    assert_eq!(bench.probe("coupled_marks") as u64, bench.band_stats()[L].ce);
    while bench.dequeue(16 * MS).is_some() {}
    assert_eq!(bench.stats().ce, ce);
}

/// The RFC's low-latency queue has the larger of two probabilities: the ramp is 1 for packets that have waited for 5
/// ms with others behind them, and the sum of the first ones exceeds 1 from the second on; the ramp is 0 without
/// delay, and 2 p' after the first update with a delay of 15 ms is 0.09. The marks are counted by the larger one.
#[test]
fn native_and_coupled_marks() {
    let counted = |bench: &Bench| [bench.probe("native_marks"), bench.probe("coupled_marks")];
    let mut ramp = bench(rfc());
    (0..10).for_each(|_| ramp.arrive(0, Kind::Ect1));
    let p_native: Vec<Option<f64>> = (0..10)
        .map(|_| {
            ramp.dequeue(5 * MS);
            ramp.probed("p_native")
        })
        .collect();
    assert_eq!(p_native, [[Some(1.0); 9].as_slice(), &[Some(0.0)]].concat());
    assert_eq!(counted(&ramp), [8, 0]);

    let mut coupled = bench(rfc());
    coupled.arrive(0, Kind::Ect0);
    coupled.run_timers(15 * MS);
    (0..1_000).for_each(|_| coupled.arrive(15 * MS, Kind::Ect1));
    while coupled.dequeue(15 * MS).is_some() {}
    let [native, marks] = counted(&coupled);
    assert!(native == 0 && (89..=90).contains(&marks), "{native} {marks}");
    assert_eq!(coupled.probed("p_native"), Some(0.0));

    let mut step = bench(linux());
    for (arrives_ms, leaves_ms, p_native) in [(0, 2, 1.0), (3, 4, 0.0)] {
        step.arrive(arrives_ms * MS, Kind::Ect1);
        step.dequeue(leaves_ms * MS);
        assert_eq!(step.probed("p_native"), Some(p_native));
    }
}

/// The queue commits its choice: the chosen packet is served, though one arrives meanwhile that would have gone
/// first.
#[test]
fn choice_is_kept() {
    let mut bench = bench(linux());
    assert_eq!(bench.choose(0), None);
    assert!(bench.serve(0).is_none());
    for (kind, size) in [(Kind::Ect0, 1_000), (Kind::Ect1, 500)] {
        let packet = bench.packet(0, size, kind);
        bench.enqueue(0, packet);
        assert_eq!(bench.choose(0), Some(Bytes::new(1_000)));
    }
    let served = [(); 2].map(|()| (bench.choose(0), bench.serve(0).map(|left| left.ecn)));
    assert_eq!(
        served,
        [(Some(Bytes::new(1_000)), Some(Ecn::Ect0)), (Some(Bytes::new(500)), Some(Ecn::Ect1))]
    );
}
