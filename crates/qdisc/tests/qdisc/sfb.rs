//! SFB's rules one by one: spec/queues-and-signalling section 9.1; Feng et al. 2001; tc-sfb(8); Linux `sch_sfb`.

use windtunnel_qdisc::{BrickWallParams, CobaltParams, Limit, QueueSpec, SfbParams};
use windtunnel_units::{Duration, Probability};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
/// The unit of probabilities.
const STEP: f64 = 1.0 / 65_536.0;

fn bench(params: SfbParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(1_000));
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, n: usize) {
    for _ in 0..n {
        let packet = bench.packet(flow, 1_500, Kind::Ect0);
        bench.enqueue(at, packet);
    }
}

fn drain(bench: &mut Bench, at: u64) {
    while bench.dequeue(at).is_some() {}
}

/// A flow that is found not to respond as soon as two of its packets are queued.
fn strict() -> SfbParams {
    SfbParams {
        target: Some(1),
        max: Some(900),
        increment: Probability::clamped(1.0),
        ..SfbParams::default()
    }
}

/// tc's defaults, by hand: a bin counts up to 20 packets without consequences; the 21st and each later one raise its
/// probability by 33 (0.0005 of 65536); from 25 on packets are lost. Packets that find the bin empty take 3 from it.
#[test]
fn a_bin() {
    let mut bench = bench(SfbParams::default());
    arrive(&mut bench, 0, 0, 20);
    assert_eq!(bench.probed("bins_p"), Some(0.0));
    arrive(&mut bench, 0, 0, 7);
    assert_eq!((bench.probed("bins_p"), bench.probe("bins_packets")), (Some(7.0 * 33.0 * STEP), 25));
    assert_eq!((bench.probe("bucket_drops"), bench.stats().lost), (2, 2));
    for n in 1..=5 {
        drain(&mut bench, n * MS);
        arrive(&mut bench, n * MS, 0, 1);
        assert_eq!(bench.probed("bins_p"), Some((7.0 * 33.0 - 3.0 * n as f64) * STEP));
    }
    drain(&mut bench, SECOND);
    assert_eq!(bench.probe("bins_packets"), 0);
}

/// `max` and `target`, one from the other as tc rounds them: 5/4 and 4/5.
#[test]
fn max_and_target() {
    for (max, target, room, rises) in
        [(None, Some(8), 10, 9), (None, Some(3), 4, 4), (Some(10), None, 10, 9), (Some(4), Some(2), 4, 3)]
    {
        let mut bench = bench(SfbParams { max, target, ..SfbParams::default() });
        let mut first = None;
        for n in 1..=20 {
            arrive(&mut bench, 0, 0, 1);
            first = first.or((bench.probed("bins_p") > Some(0.0)).then_some(n));
        }
        assert_eq!((bench.probe("bins_packets"), first), (room, Some(rises)), "{max:?} {target:?}");
    }
}

/// A packet is signalled with the flow's probability: with one half of 1, marked if it understands that and dropped if
/// not, 5000 of 10,000 with a standard deviation of 50. At three quarters, drops with 2 * 3/4 - 1 = 1/2 come before
/// marks of another quarter.
#[test]
fn signals() {
    for (p, kind, marks, drops) in
        [(0.5, Kind::Ect0, 5_000, 0), (0.5, Kind::NotEct, 0, 5_000), (0.75, Kind::Ect0, 2_500, 5_000)]
    {
        // Five packets in the bin: it neither rises nor falls.
        let params = SfbParams {
            target: Some(7),
            max: Some(8),
            increment: Probability::clamped(p),
            ..SfbParams::default()
        };
        let mut bench = bench(params);
        while bench.probed("bins_p") < Some(p) {
            arrive(&mut bench, 0, 0, 1);
        }
        while bench.backlog().packets > 5 {
            bench.dequeue(0);
        }
        let before = bench.stats();
        for _ in 0..10_000 {
            let packet = bench.packet(0, 1_500, kind);
            bench.enqueue(0, packet);
            if bench.backlog().packets > 5 {
                bench.dequeue(0);
            }
        }
        let (ce, lost) = (bench.stats().ce - before.ce, bench.stats().lost - before.lost);
        assert!(
            ce.abs_diff(marks) <= 200 && lost.abs_diff(drops) <= 200,
            "{p} {kind:?}: {ce} marks, {lost} drops"
        );
        // Each is counted as what it was.
        let count = |name| bench.probe(name).cast_unsigned();
        assert_eq!(count("marked"), bench.stats().ce, "{p} {kind:?}");
        assert_eq!(count("early_drops") + count("bucket_drops"), bench.stats().lost, "{p} {kind:?}");
    }
}

/// A flow whose probability has reached the end may send `penalty_burst` packets. As in Linux, tokens are counted anew
/// with each packet that finds none, in whole packets since the one before: of a flow that sends faster than
/// `penalty_rate` hardly more pass, and of one that sends more slowly all. By hand for 500 per second: after the first 5
/// packets there are 3 tokens in 6 ms, then one in 3 ms, then none in one.
#[test]
fn penalty() {
    for (penalty_rate, penalty_burst, passed) in
        [(10, 20, 20), (500, 5, 9), (1_000, 5, 500), (0, 20, 0), (10, 0, 0)]
    {
        let mut bench = bench(SfbParams { penalty_rate, penalty_burst, ..strict() });
        // One packet stays in the bin, which then cannot recover. The second packet finds it, and is the first to pay.
        arrive(&mut bench, 0, 0, 1);
        for n in 1..=500 {
            arrive(&mut bench, n * MS, 0, 1);
            while bench.backlog().packets > 1 {
                bench.dequeue(n * MS);
            }
        }
        let stored = bench.stats().arrived - bench.stats().lost - 1;
        assert_eq!(stored, passed, "{penalty_rate}, {penalty_burst}");
        assert_eq!(bench.stats().lost, bench.probe("penalty_drops") as u64);
    }
}

/// A flow next to one that does not respond is left alone, unless it shares all eight bins: with 16 per level, of 200
/// flows almost none. The new salt of every `rehash` frees those. The flow that does not respond is known in the next
/// bins at once, if they have learnt for the time `db` and packets of the flow have passed in it; else it has to be
/// found again.
#[test]
fn rehash() {
    for (db, is_penalized) in [(50, true), (0, false)] {
        let params = SfbParams {
            rehash: Duration::from_millis(100),
            db: Duration::from_millis(db),
            penalty_rate: 100,
            ..strict()
        };
        let mut bench = bench(params);
        let mut bad = |at_ms: u64| {
            let before = bench.probe("penalty_drops");
            arrive(&mut bench, at_ms * MS, 0, 1);
            bench.probe("penalty_drops") - before
        };
        assert!((0..60).map(&mut bad).sum::<i64>() > 30);
        // After a pause, three packets pass.
        assert_eq!([95, 96, 97, 98, 99].map(&mut bad), [0, 0, 0, 1, 1]);
        assert_eq!(bad(101), i64::from(is_penalized), "db = {db} ms");
        for flow in 1..=200 {
            arrive(&mut bench, 101 * MS, flow, 1);
        }
        let drops = bench.probe("penalty_drops").cast_unsigned();
        assert_eq!(bench.stats().lost, drops);
        assert_eq!(bench.backlog().packets as u64, 60 + 6 + 200 - drops);
    }
}

/// The limit of the queue, and the AQM inside: drops of either leave no packets in the bins.
#[test]
fn the_queue_inside() {
    let wall = BrickWallParams { drop_threshold: Duration::from_millis(1), ..BrickWallParams::default() };
    let spec = QueueSpec::new(SfbParams::default()).with("aqm", wall);
    let mut bench = Bench::new(&spec, Limit::Packets(10));
    bench.cx.deliver_drops = false;
    arrive(&mut bench, 0, 0, 12);
    assert_eq!((bench.stats().drops_full, bench.probe("bins_packets")), (2, 10));
    assert_eq!(bench.probe("queue_drops"), 2);
    assert!(bench.dequeue(2 * MS).is_none());
    assert_eq!((bench.stats().drops_aqm, bench.probe("bins_packets")), (10, 0));
}

/// The AQM inside hears of a full queue, also where the packet is delivered all the same: COBALT's BLUE rises by
/// 1/256. It hears when the queue is empty, too, and BLUE falls by 1/4096.
#[test]
fn the_aqm_inside_hears() {
    for deliver_drops in [false, true] {
        let spec = QueueSpec::new(SfbParams::default()).with("aqm", CobaltParams::default());
        let mut bench = Bench::new(&spec, Limit::Packets(3));
        bench.cx.deliver_drops = deliver_drops;
        arrive(&mut bench, 10 * MS, 0, 4);
        assert_eq!(bench.probed("p_drop").map(|p| p * 4_096.0), Some(16.0), "{deliver_drops}");
        drain(&mut bench, 10 * MS);
        assert_eq!(bench.choose(20 * MS), None);
        assert_eq!(bench.probed("p_drop").map(|p| p * 4_096.0), Some(15.0), "{deliver_drops}");
    }
}

/// The ends of the ranges are within them: probabilities are multiples of 2^-16, bins count up to 65535, and the next
/// bins may learn all the time.
#[test]
fn ends_of_the_ranges() {
    let plain = SfbParams::default;
    for params in [
        SfbParams { max: Some(65_535), ..plain() },
        SfbParams { target: Some(52_428), ..plain() },
        SfbParams { max: Some(10), target: Some(10), ..plain() },
        SfbParams { decrement: Probability::clamped(1e-5), ..plain() },
        SfbParams { db: Duration::from_secs(600), ..plain() },
        SfbParams { rehash: Duration::ZERO, ..plain() },
    ] {
        assert_eq!(QueueSpec::new(params.clone()).check(), Ok(()), "{params:?}");
    }
}

/// Parameters that mean nothing are refused, with key and value.
#[test]
fn refusals() {
    let plain = SfbParams::default;
    for (params, fault) in [
        (SfbParams { max: Some(0), ..plain() }, "max = 0 is out of range: from 1 to 65535 packets"),
        (SfbParams { target: Some(0), ..plain() }, "target = 0"),
        (SfbParams { target: Some(60_000), ..plain() }, "target = 60000 is out of range: at most 52428"),
        (
            SfbParams { max: Some(10), target: Some(11), ..plain() },
            "max = 10 is out of range: `target` or more",
        ),
        (SfbParams { increment: Probability::ZERO, ..plain() }, "increment = 0"),
        (SfbParams { decrement: Probability::clamped(1e-6), ..plain() }, "decrement = "),
        (SfbParams { db: Duration::from_secs(601), ..plain() }, "db = 601 s"),
    ] {
        let refused = QueueSpec::new(params).check().unwrap_err().to_string();
        assert!(refused.starts_with(fault), "{refused}");
    }
}
