//! The SCE ramp next to any AQM: the table and the test points of spec/queues-and-signalling sections 15.2 and 15.3.

use windtunnel_qdisc::ecn::{EcnMode, EcnPolicy};
use windtunnel_qdisc::{
    Aqm, BrickWallParams, BuildAqm, CodelParams, FqCodelParams, Likelihood, Limit, NoAqm, Pi2Params,
    PieParams, PieRandom, QueueInit, QueueLength, QueueParams, QueueSpec, Ramped, SceRamp, SceRampParams,
    StepParams,
};
use windtunnel_units::{Bytes, Duration, Probability};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

fn ramp(params: &SceRampParams) -> SceRamp {
    params.ramp(Some(us(5_000))).unwrap()
}

fn thresh(n: u32) -> SceRampParams {
    SceRampParams { thresh: Some(n), ..SceRampParams::default() }
}

fn single() -> SceRampParams {
    SceRampParams { single: true, ..SceRampParams::default() }
}

/// At `sojourn_us`, if packets above 5 ms are over the target.
fn p(ramp: SceRamp, sojourn_us: u64) -> f64 {
    ramp.probability(us(sojourn_us), sojourn_us > 5_000)
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-12, "{got}, expected {expected}");
}

/// The published ramps with T = 5 ms: below, 0 at 2.5 ms to 1 at 5 ms; astride, 0 at 2.5, 1/N at 5, 1 at 10 ms; above, 0 at 5 ms
/// and 1 at 10 ms. N above 1024 is the latter.
#[test]
fn published() {
    let n20 = thresh(20);
    for (params, points) in [
        (SceRampParams::default(), [(2_500, 0.0), (3_750, 0.5), (5_000, 1.0), (7_500, 1.0), (50_000, 1.0)]),
        (thresh(1), [(0, 0.0), (2_501, 0.0004), (4_999, 0.9996), (5_001, 1.0), (10_000, 1.0)]),
        (n20, [(2_500, 0.0), (3_750, 0.025), (5_000, 0.05), (7_500, 0.525), (10_000, 1.0)]),
        (single(), [(2_500, 0.0), (5_000, 0.0), (5_001, 0.0002), (7_500, 0.5), (10_000, 1.0)]),
        (thresh(1_025), [(4_999, 0.0), (5_000, 0.0), (6_000, 0.2), (7_500, 0.5), (11_000, 1.0)]),
    ] {
        for (sojourn_us, expected) in points {
            near(p(ramp(&params), sojourn_us), expected);
        }
    }
    near(p(ramp(&thresh(1_024)), 5_000), 1.0 / 1024.0);
}

/// The equilibria of section 15.3, 50 Mbit/s and 80 ms: one Reno-SCE flow has 333 segments and needs 5.2 % of marks, which
/// the three ramps give at 2.63, 5.01 and 5.26 ms; two flows 7.2 %, at 2.68, 5.12 and 5.36 ms.
#[test]
fn equilibria() {
    for (window, sojourns_us) in [(333.0_f64, [2_630, 5_010, 5_260]), (167.0, [2_680, 5_120, 5_360])] {
        let marks = 1.0 / (1.0 + window.sqrt());
        for (params, sojourn_us) in [SceRampParams::default(), thresh(20), single()].iter().zip(sojourns_us) {
            // The table has three digits: within 5 us on the lower branch and 10 us on the upper.
            let (less, more) = (p(ramp(params), sojourn_us - 10), p(ramp(params), sojourn_us + 10));
            assert!(less < marks && marks < more, "{params:?}: {marks} from {less} to {more}");
        }
    }
}

/// Below, astride and above at will: floor, knee and ceiling; the floor may be above the target, where the ramp then is
/// detached from it.
#[test]
fn explicit() {
    let params = SceRampParams {
        lo: Some(us(1_000)),
        hi: Some(us(21_000)),
        knee: Some(Probability::clamped(0.2)),
        ..SceRampParams::default()
    };
    for (sojourn_us, expected) in [(1_000, 0.0), (3_000, 0.1), (5_000, 0.2), (13_000, 0.6), (21_000, 1.0)] {
        near(p(ramp(&params), sojourn_us), expected);
    }
    let detached = SceRampParams { lo: Some(us(10_000)), ..single() };
    for (sojourn_us, expected) in [(5_000, 0.0), (10_000, 0.0), (15_000, 0.5), (20_000, 1.0), (30_000, 1.0)] {
        near(p(ramp(&detached), sojourn_us), expected);
    }
    // A straight ramp: its knee is at its end.
    let straight = SceRampParams { lo: Some(us(1)), target: Some(us(8_001)), ..SceRampParams::default() };
    let ramp = ramp(&straight);
    near(ramp.probability(us(4_001), false), 0.5);
    near(ramp.probability(us(8_001), false), 1.0);
}

/// A packet that the AQM does not count as above its target stays on the lower branch, however long it has waited.
#[test]
fn the_aqm_chooses_the_branch() {
    let ramp = ramp(&thresh(20));
    near(ramp.probability(us(7_500), false), 0.1);
    near(ramp.probability(us(7_500), true), 0.525);
    near(ramp.probability(us(500_000), false), 1.0);
    // Above the target by the AQM's rule at exactly T: both branches meet there.
    near(ramp.probability(us(5_000), true), ramp.probability(us(5_000), false));
    near(ramp.probability(us(2_500), true), 0.0);
}

/// A queue of `spec` in plain SCE mode.
fn bench(spec: &QueueSpec) -> Bench {
    let ecn = EcnPolicy { mode: EcnMode::Sce, ..EcnPolicy::default() };
    let init = QueueInit { age: Duration::ZERO, ecn, ..QueueInit::new(Limit::Unlimited, 1) };
    Bench::of(spec.build(&init))
}

fn codel() -> CodelParams {
    CodelParams { ecn: true, ..CodelParams::default() }
}

/// How many of `n` packets have SCE and CE that leave every 0.1 ms, after `sojourn_us`.
fn marks(spec: &QueueSpec, kind: Kind, sojourn_us: u64, n: u64) -> (u64, u64) {
    let mut bench = bench(spec);
    for at in 0..n {
        bench.arrive(at * 100_000, kind);
        if let Some(leaving) = (at * 100).checked_sub(sojourn_us) {
            let left = bench.dequeue((leaving + sojourn_us) * 1_000).unwrap();
            assert_eq!(left.sojourn, us(sojourn_us));
        }
    }
    (bench.stats().sce, bench.stats().ce)
}

/// With CoDel: the fraction of marks is the ramp's, within four standard deviations of 20000 draws; with sums it is
/// exact to one. CoDel's own marks come first, and their number does not change.
#[test]
fn with_codel() {
    let n = 20_000;
    for (sojourn_us, expected) in [(2_500, 0.0), (3_000, 0.01), (6_000, 0.24), (9_000, 0.81), (10_000, 1.0)] {
        let departures = (n - sojourn_us / 100) as f64;
        let plain = marks(&QueueSpec::new(codel()), Kind::Ect0, sojourn_us, n);
        assert_eq!(plain.0, 0);
        let spread = 4.0 * (departures * expected * (1.0 - expected)).sqrt();
        for (random, bound) in [(Likelihood::Coin, spread), (Likelihood::Recur, 1.0)] {
            let spec = QueueSpec::new(Ramped::new(codel(), SceRampParams { random, ..thresh(20) }));
            let (sce, ce) = marks(&spec, Kind::Ect0, sojourn_us, n);
            assert_eq!(ce, plain.1);
            // SCE that fell on packets with CE are lost: at most all of those.
            let wrong = sce as f64 - departures * expected;
            assert!(
                (-bound - ce as f64 - 1.0..=bound + 1.0).contains(&wrong),
                "{random:?} {sojourn_us}: {sce}"
            );
            assert_eq!(marks(&spec, Kind::NotEct, sojourn_us, n).0, 0);
            assert_eq!(marks(&spec, Kind::Ect1, sojourn_us, n).0, 0, "it has SCE already");
        }
    }
}

/// CoDel counts a packet in a queue of one packet as below its target: the lower branch, 0.1 at 7.5 ms with N = 20 instead of
/// 0.525. An AQM without a rule of its own has the upper branch above the target.
#[test]
fn over_target_is_the_aqms_own() {
    let alone = |spec: &QueueSpec| {
        let mut bench = bench(spec);
        for i in 0..1_000 {
            bench.arrive(i * 10 * MS, Kind::Ect0);
            bench.dequeue(i * 10 * MS + 7_500_000).unwrap();
        }
        bench.probed("sce_p").unwrap()
    };
    near(alone(&QueueSpec::new(Ramped::new(codel(), thresh(20)))), 0.1);
    near(alone(&QueueSpec::new(Ramped::new(CodelParams { mtu: Bytes::ZERO, ..codel() }, thresh(20)))), 0.1);
    let wall = SceRampParams { target: Some(us(5_000)), ..thresh(20) };
    near(alone(&QueueSpec::new(Ramped::new(BrickWallParams::default(), wall))), 0.525);
    let short = Ramped::new(
        StepParams { threshold: QueueLength::Time(us(5_000)), ..StepParams::default() },
        thresh(20),
    );
    near(alone(&QueueSpec::new(short)), 0.525);
}

/// In the slot of a fair queue, and on an AQM that decides on arrival: a packet that arrived to a CE keeps it.
#[test]
fn in_a_slot() {
    let all = SceRampParams { lo: Some(Duration::ZERO), ..SceRampParams::default() };
    let wall = BrickWallParams { ce_threshold: us(8_000), ..BrickWallParams::default() };
    let all_target = SceRampParams { target: Some(us(1_000)), ..all };
    let spec = QueueSpec::new(FqCodelParams::default()).with("aqm", Ramped::new(wall, all_target));
    let mut bench = bench(&spec);
    for flow in 0..3 {
        let packet = bench.packet(flow, 1_500, Kind::Ect0);
        bench.enqueue(0, packet);
    }
    assert_eq!(bench.dequeue(MS / 2).map(|left| left.ecn == Ecn::Ce), Some(false));
    assert_eq!(bench.dequeue(2 * MS).unwrap().ecn, Ecn::Ect1);
    assert_eq!(bench.dequeue(9 * MS).unwrap().ecn, Ecn::Ce);

    let step = StepParams { threshold: QueueLength::Packets(0), ..StepParams::default() };
    let spec = QueueSpec::new(Ramped::new(
        step,
        SceRampParams { target: Some(us(1_000)), ..SceRampParams::default() },
    ));
    let mut bench = self::bench(&spec);
    bench.arrive(0, Kind::Ect0);
    bench.arrive(0, Kind::Ect0);
    assert_eq!(
        [bench.dequeue(5 * MS).unwrap().ecn, bench.dequeue(5 * MS).unwrap().ecn],
        [Ecn::Ect1, Ecn::Ce]
    );
}

/// The ramp's coins are not those of its AQM: with the same seed, PIE with a ramp decides as PIE alone does.
#[test]
fn its_own_coins() {
    let pie = PieParams { ecn: true, max_burst: Duration::ZERO, ..PieParams::default() };
    let ce = |spec: QueueSpec| {
        let mut bench = bench(&spec);
        let mut ce = Vec::new();
        for at in 0..20_000_u64 {
            bench.arrive(at * 1_100_000, Kind::Ect0);
            if at > 40 {
                ce.push(bench.dequeue(at * 1_100_000 + 1).unwrap().ecn == Ecn::Ce);
            }
        }
        ce
    };
    let alone = ce(QueueSpec::new(pie.clone()));
    assert_eq!(ce(QueueSpec::new(Ramped::new(pie, thresh(20)))), alone);
    assert!(alone.iter().filter(|&&ce| ce).count() > 100);
}

/// What is no ramp is refused, with the key.
#[test]
fn refused() {
    let refused =
        |params: SceRampParams, target: Option<Duration>| params.ramp(target).unwrap_err().to_string();
    let five = Some(us(5_000));
    let knee = Some(Probability::clamped(0.1));
    for (params, fault) in [
        (thresh(0), "thresh = 0 is out of range: at least 1"),
        (SceRampParams { single: true, ..thresh(2) }, "thresh = 2 is out of range: left out with `single`"),
        (SceRampParams { knee, ..thresh(2) }, "thresh = 2 is out of range: left out with `knee`"),
        (SceRampParams { knee, ..single() }, "single = true is out of range: left out with `knee`"),
        (SceRampParams { target: Some(Duration::ZERO), ..thresh(2) }, "target = 0 s"),
        (SceRampParams { lo: five, ..thresh(2) }, "lo = 5 ms is out of range: less than the target"),
        (SceRampParams { hi: five, ..thresh(2) }, "hi = 5 ms is out of range: more than `lo` and the target"),
        (SceRampParams { hi: Some(us(4_999)), ..thresh(1) }, "hi = 4.999 ms"),
        (SceRampParams { lo: five, hi: five, ..single() }, "hi = 5 ms"),
    ] {
        assert!(refused(params.clone(), five).starts_with(fault), "{fault}: {}", refused(params, five));
    }
    assert!(ramp(&SceRampParams { hi: five, ..thresh(1) }).probability(us(6_000), true) >= 1.0);
    let fault = refused(SceRampParams::default(), None);
    assert!(fault.starts_with("target = nothing is out of range"), "{fault}");
    assert!(QueueSpec::new(Ramped::new(BrickWallParams::default(), thresh(2))).check().is_err());
    assert_eq!(QueueSpec::new(Ramped::new(codel(), thresh(2))).check(), Ok(()));
    assert_eq!(codel().target(), five);
}

/// PIE tosses a coin with p = 1/2 for each packet that arrives, and the ramp one with 1/2 for each that leaves, in
/// the same order. Of the packets that PIE does not mark, the ramp marks half, which equal coins would not.
#[test]
fn coins_of_both_are_independent() {
    let pie = PieParams {
        alpha: 0.0,
        beta: 0.0,
        ecn: true,
        ecn_prob: Probability::ONE,
        max_burst: Duration::ZERO,
        random: PieRandom::Coin,
        ..PieParams::default()
    };
    let half = SceRampParams { target: Some(us(200_000)), ..thresh(2) };
    let mut bench = bench(&QueueSpec::new(Ramped::new(pie, half)));
    let mut before = bench.stats();
    // Each update above 250 ms adds 0.02 to p, for the 25th time at 888 ms. Packets that arrived before have left at
    // 1100 ms.
    for at in 0..21_100_u64 {
        if at == 1_100 {
            before = bench.stats();
        }
        bench.arrive(at * MS, Kind::Ect0);
        let waits = if at <= 888 { 300 } else { 200 };
        while bench.backlog().packets > waits {
            bench.dequeue(at * MS);
        }
    }
    near(bench.probed("p").unwrap(), 0.5);
    near(bench.probed("sce_p").unwrap(), 0.5);
    // Four standard deviations of 20000 coins with 1/2, and with 1/4.
    let stats = bench.stats().since(&before);
    let (ce, sce) = (stats.ce as f64, stats.sce as f64);
    assert!((ce - 10_000.0).abs() < 4.0 * 70.8 && (sce - 5_000.0).abs() < 4.0 * 61.3, "{ce} {sce}");
}

/// Where an AQM has no rule of its own, packets are above the knee when they have waited for longer than the target
/// (section 15.2). How a queue reads the ECN field is up to its AQM, not to the ramp.
#[test]
fn without_a_rule_of_the_aqm() {
    assert_eq!(NoAqm.over_target(), None);
    let target = us(5_000);
    let waits = [target - Duration::from_nanos(1), target, target + Duration::from_nanos(1)];
    assert_eq!(waits.map(|waited| ramp(&thresh(20)).is_above(waited)), [false, false, true]);
    let of_pi2 = QueueParams::default_ecn_mode(&Ramped::new(Pi2Params::default(), thresh(20)), &[]);
    let of_codel = QueueParams::default_ecn_mode(&Ramped::new(codel(), thresh(20)), &[]);
    assert_eq!((of_pi2, of_codel), (EcnMode::L4s, EcnMode::Mds));
}
