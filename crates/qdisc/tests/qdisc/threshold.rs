//! Queues that signal by the sojourn time alone: brick wall and ramp.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{BrickWallParams, Limit, QueueSpec, RampParams, Signal};
use windtunnel_units::{Duration, Rate};

use crate::bench::{Bench, Kind};

const SCE: Outcome = Outcome::Marked(Signal::Sce);
const CE: Outcome = Outcome::Marked(Signal::Ce);

/// The outcome of one packet of kind `kind` after `sojourn_ns` in a queue of its own.
fn after(config: &QueueSpec, kind: Kind, sojourn_ns: u64) -> Outcome {
    let mut bench = Bench::new(config, Limit::Unlimited);
    bench.arrive(7, kind);
    bench.outcome(7 + sojourn_ns)
}

/// Thresholds are strict, and the most severe one that is exceeded counts (spec/queues-and-signalling
/// section 2).
#[test]
fn brick_wall_is_strict() {
    let config = QueueSpec::new(BrickWallParams {
        sce_threshold: Duration::from_millis(1),
        ce_threshold: Duration::from_millis(12),
        drop_threshold: Duration::from_millis(120),
    });
    assert_eq!(after(&config, Kind::Mds, 1_000_000), Outcome::Passed);
    assert_eq!(after(&config, Kind::Mds, 1_000_001), SCE);
    assert_eq!(after(&config, Kind::Ect0, 1_000_001), Outcome::Passed);
    for kind in [Kind::Mds, Kind::Ect0] {
        assert_eq!(after(&config, kind, 12_000_001), CE);
        assert_eq!(after(&config, kind, 120_000_000), CE);
        assert_eq!(after(&config, kind, 120_000_001), Outcome::Drop);
    }
    assert_eq!(after(&config, Kind::Mds, 12_000_000), SCE);
    assert_eq!(after(&config, Kind::Ect0, 12_000_000), Outcome::Passed);
    assert_eq!(after(&config, Kind::NotEct, 12_000_000), Outcome::Passed);
    assert_eq!(after(&config, Kind::NotEct, 12_000_001), Outcome::Drop);
}

/// A threshold of 0 is never exceeded.
#[test]
fn brick_wall_without_thresholds() {
    let config = QueueSpec::new(BrickWallParams::default());
    for kind in Kind::ALL {
        assert_eq!(after(&config, kind, 10_000_000_000), Outcome::Passed);
    }
}

/// Constant bit rate at 1.01 times the link's: the first mark is on the first packet above the threshold,
/// and every later one is marked (spec/queues-and-signalling section 2, test point).
#[test]
fn brick_wall_marks_all_above() {
    let threshold = Duration::from_millis(12);
    let params = BrickWallParams { ce_threshold: threshold, ..BrickWallParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    let (service, interval) = (1_200_000, 1_188_118);
    let mut arrived = 0;
    let mut marked = 0;
    for n in 1..=3_000 {
        let now = n * service;
        while arrived * interval < now {
            bench.arrive(arrived * interval, Kind::Ect0);
            arrived += 1;
        }
        let left = bench.dequeue(now).unwrap();
        assert_eq!(left.outcome == CE, left.sojourn > threshold, "packet {n} after {}", left.sojourn);
        marked += u64::from(left.outcome == CE);
    }
    // Each packet waits 11882 ns longer than the one before; the first waits 1.2 ms.
    assert_eq!(marked, 3_000 - (12_000_000 - 1_200_000) / 11_882 - 1);
}

/// Without loss-free endpoints a dropped packet is replaced by the next one within the same dequeue.
#[test]
fn a_dropped_packet_is_replaced_by_the_next() {
    let params = BrickWallParams { drop_threshold: Duration::from_millis(5), ..BrickWallParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    for at_ms in [0, 1, 6] {
        bench.arrive(at_ms * 1_000_000, Kind::Ect0);
    }
    let left = bench.dequeue(10_000_000).unwrap();
    assert_eq!((left.seq, left.outcome, left.sojourn), (2, Outcome::Passed, Duration::from_millis(4)));
    assert_eq!((bench.stats().lost, bench.stats().drops_aqm, bench.drops().len()), (2, 2, 2));
    bench.arrive(11_000_000, Kind::Ect0);
    assert!(bench.dequeue(20_000_000).is_none());
    assert_eq!(bench.backlog().packets, 0);
}

fn ramp(min: Option<Duration>, max: Duration, tau: u32) -> QueueSpec {
    QueueSpec::new(RampParams { min, max, tau: tau.try_into().unwrap(), ..RampParams::default() })
}

/// How many of `n` packets of kind `kind` are marked at the sojourn time `sojourn_ns`.
fn marked(config: &QueueSpec, kind: Kind, sojourn_ns: u64, rate: Rate, n: u64) -> u64 {
    let mut bench = Bench::new(config, Limit::Unlimited);
    bench.cx.rate = rate;
    for i in 0..n {
        bench.arrive(i * 1_000_000_000, kind);
        bench.outcome(i * 1_000_000_000 + sojourn_ns);
    }
    bench.stats().sce + bench.stats().ce
}

/// No packets at or below `min`, all from `max` on, and half of them half-way between.
#[test]
fn ramp_ends() {
    let config = ramp(Some(Duration::from_millis(10)), Duration::from_millis(20), 64);
    let rate = Rate::from_mbps(10);
    let n = 20_000;
    assert_eq!(marked(&config, Kind::Mds, 0, rate, n), 0);
    assert_eq!(marked(&config, Kind::Mds, 10_000_000, rate, n), 0);
    assert_eq!(marked(&config, Kind::Mds, 20_000_000, rate, n), n);
    assert_eq!(marked(&config, Kind::Mds, 30_000_000, rate, n), n);
    for (sojourn_ns, p) in [(12_500_000, 0.25), (15_000_000, 0.5), (19_000_000, 0.9)] {
        let expected = n as f64 * p;
        // Four standard deviations of the binomial distribution.
        let spread = 4.0 * (expected * (1.0 - p)).sqrt();
        let got = marked(&config, Kind::Mds, sojourn_ns, rate, n) as f64;
        assert!((got - expected).abs() < spread, "{got} of {expected} at {sojourn_ns} ns");
    }
}

/// By default the ramp starts at the serialisation time of the packet at the current rate, 1.2 ms for
/// 1500 bytes at 10 Mbit/s, and ends at 100 ms (spec/mds section 4).
#[test]
fn ramp_defaults() {
    let config = QueueSpec::new(RampParams::default());
    let n = 20_000;
    assert_eq!(marked(&config, Kind::Mds, 1_200_000, Rate::from_mbps(10), n), 0);
    assert!(marked(&config, Kind::Mds, 1_200_000, Rate::from_mbps(100), n) > 0);
    assert!(marked(&config, Kind::Mds, 99_000_000, Rate::from_mbps(10), n) < n);
    assert_eq!(marked(&config, Kind::Mds, 100_000_000, Rate::from_mbps(10), n), n);
}

/// Every tau-th opportunity is CE for packets without the identifier, and a drop where CE is not
/// understood.
#[test]
fn ramp_gives_ce_at_every_tau_th_opportunity() {
    let config = ramp(None, Duration::from_millis(10), 4);
    for (kind, signal) in [(Kind::Ect0, CE), (Kind::Ect1, Outcome::Drop), (Kind::NotEct, Outcome::Drop)] {
        let mut bench = Bench::new(&config, Limit::Unlimited);
        for i in 0..40 {
            bench.arrive(i * 1_000_000_000, kind);
            let expected = if i % 4 == 3 { signal } else { Outcome::Passed };
            assert_eq!(bench.outcome(i * 1_000_000_000 + 10_000_000), expected, "{kind:?} {i}");
        }
    }
}

/// The same seed gives the same marks, another seed different ones.
#[test]
fn ramp_draws_from_its_seed() {
    let marks = |seed| {
        let config = ramp(Some(Duration::ZERO), Duration::from_millis(2), 64);
        let mut bench = Bench::with_seed(&config, Limit::Unlimited, seed);
        let mut marks = Vec::new();
        for i in 0..64 {
            bench.arrive(i * 1_000_000_000, Kind::Mds);
            marks.push(bench.outcome(i * 1_000_000_000 + 1_000_000));
        }
        marks
    };
    assert_eq!(marks(1), marks(1));
    assert_ne!(marks(1), marks(2));
}
