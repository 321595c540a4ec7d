//! Policers: spec/queues-and-signalling sections 14.2 and 14.3, tc-police(8).

use proptest::prelude::*;
use windtunnel_qdisc::{
    BrickWallParams, CobaltParams, CobaltVariant, DelticMdsParams, DropReason, Exceed, Limit, Pi2Params,
    PoliceParams, QueueSpec, RampPoliceParams, TbfParams, VqPoliceParams,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn bench(spec: &QueueSpec) -> Bench {
    let mut bench = Bench::new(spec, Limit::Unlimited);
    (bench.cx.rate, bench.cx.deliver_drops) = (Rate::from_mbps(1_000), false);
    bench
}

/// A packet per millisecond conforms to this rate.
fn police(conform_exceed: Exceed) -> PoliceParams {
    let rate = Some(Rate::from_mbps(12));
    PoliceParams { rate, burst: Bytes::new(3_000), conform_exceed, ..PoliceParams::default() }
}

fn arrive(bench: &mut Bench, at: u64, kind: Kind) -> (u64, u64) {
    let before = bench.stats();
    bench.arrive(at, kind);
    let after = bench.stats();
    (after.lost - before.lost, after.ce - before.ce)
}

/// By hand: two packets of a full bucket pass, the third exceeds and leaves the bucket as it is, so that one passes a
/// millisecond later. It counts as policed. With `pass` it passes, and takes nothing either.
#[test]
fn single_rate() {
    let mut bench = bench(&QueueSpec::new(police(Exceed::Drop)));
    let lost = [0, 0, 0, MS / 2, MS, MS].map(|at| arrive(&mut bench, at, Kind::Ect0).0);
    assert_eq!(lost, [0, 0, 1, 1, 0, 1]);
    assert!(bench.drops().iter().all(|drop| drop.reason == DropReason::Policed));
    assert_eq!((bench.stats().drops_policed, bench.stats().arrived, bench.backlog().packets), (3, 6, 3));

    let mut bench = self::bench(&QueueSpec::new(police(Exceed::Pass)));
    let lost = [0, 0, 0, 0, MS].map(|at| arrive(&mut bench, at, Kind::Ect0).0);
    assert_eq!(lost, [0; 5]);
    assert_eq!(bench.probe("tokens_bytes"), 0);
}

/// With `mark` a packet that understands CE gets it and takes tokens, and the bucket may owe twice its depth: four
/// packets more, and then packets are lost. A packet that does not understand CE is lost at once.
#[test]
fn marking() {
    let mut bench = bench(&QueueSpec::new(police(Exceed::Mark)));
    let seen = [Kind::Ect0; 7].map(|kind| arrive(&mut bench, 0, kind));
    assert_eq!(seen, [(0, 0), (0, 0), (0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]);
    assert_eq!(bench.probe("tokens_bytes"), -6_000);
    assert_eq!(arrive(&mut bench, MS, Kind::NotEct), (1, 0));
    assert_eq!(arrive(&mut bench, MS, Kind::Ect0), (0, 1));
}

/// `overhead` counts for each packet, which counts for `mpu` at least: of 3000 B, a packet of 1500 B with 100 B of
/// headers leaves 1400 B, and one of 40 B that counts as 200 B leaves 1200 B.
#[test]
fn overhead_and_mpu() {
    let [overhead, mpu] = [100, 200].map(Bytes::new);
    let mut bench = bench(&QueueSpec::new(PoliceParams { overhead, mpu, ..police(Exceed::Drop) }));
    for (size, tokens) in [(1_500, 1_400), (40, 1_200)] {
        let packet = bench.packet(0, size, Kind::NotEct);
        bench.enqueue(0, packet);
        assert_eq!(bench.probe("tokens_bytes"), tokens);
    }
}

/// With loss-free endpoints a packet that exceeds the rate is delivered, counts as policed, and takes no tokens.
#[test]
fn loss_free() {
    let mut bench = bench(&QueueSpec::new(police(Exceed::Drop)));
    bench.cx.deliver_drops = true;
    let seen = [Kind::Ect0; 3].map(|kind| arrive(&mut bench, 0, kind).0);
    assert_eq!((seen, bench.stats().drops_policed, bench.backlog().packets), ([0; 3], 1, 3));
    assert_eq!(bench.probe("tokens_bytes"), 0);
    let marked = [(); 3].map(|()| bench.leaving(0).ecn == windtunnel_wire::Ecn::Ce);
    assert_eq!(marked, [false, false, true]);
}

/// A policer in front of a shaper says when that wants to be asked again.
#[test]
fn in_front_of_a_shaper() {
    let rate = Some(Rate::from_mbps(12));
    let shaper = TbfParams { rate, burst: Bytes::new(1_500), ..TbfParams::default() };
    let spec = QueueSpec::new(PoliceParams::default()).around("child", [QueueSpec::new(shaper)]);
    let mut bench = bench(&spec);
    (0..2).for_each(|_| assert_eq!(arrive(&mut bench, 0, Kind::Ect0), (0, 0)));
    assert_eq!(bench.choose(0), Some(Bytes::new(1_500)));
    assert!(bench.serve(0).is_some() && bench.choose(0).is_none());
    assert_eq!(bench.next_ready(0), Some(MS));
}

/// A second bucket limits bursts: at a peak rate of 24 Mbit/s, a packet per half of a millisecond.
#[test]
fn peak_rate() {
    let params = PoliceParams { peakrate: Some(Rate::from_mbps(24)), ..police(Exceed::Drop) };
    let mut bench = bench(&QueueSpec::new(params));
    let lost = [0, 0, MS / 2, MS / 2, MS].map(|at| arrive(&mut bench, at, Kind::Ect0).0);
    assert_eq!(lost, [0, 1, 0, 1, 0]);
}

/// The virtual queue of 12 Mbit/s grows by a millisecond with each packet of 1500 B, and the AQM hears of it: a brick wall
/// marks from 3 ms on. What would wait longer than the burst of 5 ms is lost and does not join.
#[test]
fn virtual_queue() {
    let params = VqPoliceParams { rate: Some(Rate::from_mbps(12)), burst: Duration::from_millis(5) };
    let wall = BrickWallParams { ce_threshold: Duration::from_millis(3), ..BrickWallParams::default() };
    let mut bench = bench(&QueueSpec::new(params).with("aqm", wall));
    let seen = [Kind::Ect0; 8].map(|kind| arrive(&mut bench, 0, kind));
    let marked = seen.iter().position(|(_, ce)| *ce > 0).expect("a mark");
    // The n-th packet meets n ms; a brick wall marks above its threshold or from it on.
    assert!((3..=4).contains(&marked), "{seen:?}");
    assert_eq!(seen.map(|(lost, _)| lost), [0, 0, 0, 0, 0, 0, 1, 1]);
    // A millisecond later there is room for one.
    assert_eq!(arrive(&mut bench, MS, Kind::Ect0).0, 0);
    assert_eq!(arrive(&mut bench, MS, Kind::Ect0).0, 1);
}

/// Without an AQM, DelTiC-MDS holds the virtual queue at half of `burst`, and not at all of it
/// (spec/queues-and-signalling section 14.3).
#[test]
fn default_law() {
    let burst = Duration::from_millis(20);
    let marks = |target: Option<Duration>| {
        let rate = Some(Rate::from_mbps(12));
        let mut spec = QueueSpec::new(VqPoliceParams { rate, burst });
        if let Some(target) = target {
            spec = spec.with("aqm", DelticMdsParams { target, ..DelticMdsParams::default() });
        }
        let mut bench = bench(&spec);
        // 13 Mbit/s in packets of 1500 B.
        (0..3_000).map(|n| arrive(&mut bench, n * 923_077, Kind::Ect0)).collect::<Vec<_>>()
    };
    let default = marks(None);
    assert!(default.iter().any(|(_, ce)| *ce > 0));
    assert_eq!(default, marks(Some(burst / 2)));
    assert_ne!(default, marks(Some(burst)));
}

/// A law that runs by the clock reads how long the virtual queue is: PI2's probability rises where 40 ms wait, and
/// stays 0 where nothing does.
#[test]
fn law_with_a_timer() {
    for (packets, rises) in [(40, true), (0, false)] {
        let params = VqPoliceParams { rate: Some(Rate::from_mbps(12)), burst: Duration::from_millis(100) };
        let mut bench = bench(&QueueSpec::new(params).with("aqm", Pi2Params::default()));
        (0..packets).for_each(|_| bench.arrive(0, Kind::Ect0));
        // A packet per millisecond leaves the length as it is.
        for ms in 1..=200 {
            arrive(&mut bench, ms * MS, Kind::Ect0);
        }
        assert_eq!(bench.probed("p").map(|p| p > 0.0), Some(rises), "{packets}");
    }
}

/// The AQM of a virtual queue hears once of each time that it is empty, and whenever it is full: COBALT's BLUE rises
/// by 1/256 with the packet that would wait longer than the burst, and falls by 1/4096 with each of the packets that
/// find no other.
#[test]
fn full_and_empty() {
    let params = VqPoliceParams { rate: Some(Rate::from_mbps(12)), burst: Duration::from_millis(5) };
    // CAKE's COBALT does not look itself whether a packet was the last.
    let cobalt = CobaltParams { variant: CobaltVariant::Cake, ..CobaltParams::default() };
    let mut bench = bench(&QueueSpec::new(params).with("aqm", cobalt));
    let p = |bench: &Bench| bench.probed("p_drop").map(|p| p * 4_096.0);
    (0..7).for_each(|_| _ = arrive(&mut bench, 10 * MS, Kind::Ect0));
    assert_eq!((bench.stats().drops_policed, p(&bench)), (1, Some(16.0)));
    for (ms, expected) in [(15, 16.0), (16, 16.0), (100, 15.0), (200, 14.0)] {
        arrive(&mut bench, ms * MS, Kind::Ect0);
        assert_eq!(p(&bench), Some(expected), "{ms} ms");
    }
}

/// Parameters that mean nothing are refused, and the ends of the ranges are within them.
#[test]
fn refusals() {
    let plain = || police(Exceed::Drop);
    let zero = Some(Rate::ZERO);
    let hard_burst = Some(Bytes::new(9_000));
    let virtual_queue = |rate, nanos| VqPoliceParams { rate, burst: Duration::from_nanos(nanos) };
    for (spec, fault) in [
        (QueueSpec::new(PoliceParams { rate: zero, ..plain() }), "rate = 0 bit/s"),
        (QueueSpec::new(PoliceParams { peakrate: zero, ..plain() }), "peakrate = 0 bit/s"),
        (QueueSpec::new(PoliceParams { burst: Bytes::ZERO, ..plain() }), "burst = 0 B"),
        (QueueSpec::new(PoliceParams { mtu: Bytes::ZERO, ..plain() }), "mtu = 0 B"),
        (QueueSpec::new(PoliceParams { hard_burst, ..plain() }), "hard_burst = 9 kB"),
        (QueueSpec::new(PoliceParams { hard_burst, ..police(Exceed::Pass) }), "hard_burst = 9 kB"),
        (QueueSpec::new(virtual_queue(zero, 2)), "rate = 0 bit/s"),
        (QueueSpec::new(virtual_queue(None, 1)), "burst = 1 ns"),
        (QueueSpec::new(RampPoliceParams { rate: zero, ..RampPoliceParams::default() }), "rate = 0 bit/s"),
    ] {
        let error = spec.check().unwrap_err().to_string();
        assert!(error.starts_with(fault), "{error}");
    }
    for spec in [
        QueueSpec::new(PoliceParams { hard_burst, ..police(Exceed::Mark) }),
        QueueSpec::new(virtual_queue(None, 2)),
    ] {
        assert_eq!(spec.check(), Ok(()));
    }
}

/// The ramp, held where 74 % of the bucket are missing: the probability is `(0.24 / 0.5)^2 / 64`, and an
/// MDS packet gets SCE 64 times as often as another gets CE.
#[test]
fn ramp() {
    let rate = Some(Rate::from_mbps(12));
    let burst = Duration::from_millis(100);
    for kind in [Kind::Mds, Kind::Ect0] {
        let mut bench =
            bench(&QueueSpec::new(RampPoliceParams { rate, burst, ..RampPoliceParams::default() }));
        for _ in 0..75 {
            arrive(&mut bench, 0, kind);
        }
        let before = bench.stats();
        for at in 1..=2_560 {
            bench.dequeue(at * MS);
            arrive(&mut bench, at * MS, kind);
        }
        let after = bench.stats();
        // Each packet finds 74 ms of 75: a millisecond has gone since the one before, which added one.
        let p = 0.48 * 0.48 / 64.0;
        let signals = (after.sce - before.sce + after.ce - before.ce) as f64;
        let expected = 2_560.0 * if kind == Kind::Mds { 64.0 * p } else { p };
        assert!((signals - expected).abs() <= 1.0, "{kind:?} {signals} of {expected}");
        assert_eq!(after.lost, 0);
    }
    let full = QueueSpec::new(RampPoliceParams { rate, burst, ..RampPoliceParams::default() });
    let mut bench = bench(&full);
    let lost: u64 = (0..101).map(|_| arrive(&mut bench, 0, Kind::Ect0).0).sum();
    assert_eq!(lost, 1, "an empty bucket");
    assert!(
        QueueSpec::new(RampPoliceParams { start: Probability::clamped(1.0), ..RampPoliceParams::default() })
            .check()
            .is_err()
    );
}

proptest! {
    /// What passes a policer within any time is bounded by its bucket, as a shaper's departures are.
    #[test]
    fn bounded(arrivals in prop::collection::vec((0_u64..3 * MS, 40_u64..=1_500), 1..200)) {
        let mut bench = bench(&QueueSpec::new(police(Exceed::Drop)));
        let (mut now, mut passed) = (0, Vec::new());
        for (gap, size) in arrivals {
            now += gap;
            let lost = bench.stats().lost;
            let packet = bench.packet(0, size, Kind::NotEct);
            bench.enqueue(now, packet);
            if bench.stats().lost == lost {
                passed.push((now, size));
            }
        }
        for (first, (from, _)) in passed.iter().enumerate() {
            let mut bytes = 0;
            for (at, size) in &passed[first..] {
                bytes += size;
                prop_assert!(bytes * 8_000 <= 3_000 * 8_000 + 12 * (at - from));
            }
        }
    }
}
