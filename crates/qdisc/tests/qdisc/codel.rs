//! CoDel's vectors: RFC 8289 section 5, Linux's control law, spec/queues-and-signalling section 4.

use windtunnel_qdisc::ecn::{Class, Outcome};
use windtunnel_qdisc::{
    Aqm, Codel, CodelParams, CodelVariant, Limit, PacketView, QueueSpec, QueueView, Signal, Verdict,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// A packet leaves every 0.1 ms after 20 ms in the queue, from 20 ms on, until `until_ms`: returns the times of the
/// signals, in nanoseconds after the first departure t0.
fn signals(params: CodelParams, kind: Kind, until_ms: u64) -> Vec<u64> {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    let mut signals = Vec::new();
    for at in (0..until_ms * MS).step_by(100_000) {
        bench.arrive(at, kind);
        let Some(leaving) = at.checked_sub(20 * MS) else { continue };
        // A dropped packet is replaced by one that arrived later: the queue is refilled so that every packet waits 20 ms.
        let before = bench.stats();
        let left = bench.dequeue(at).expect("packets are queued");
        if bench.stats().lost > before.lost {
            bench.arrive(at, kind);
        }
        if bench.stats().lost > before.lost || left.outcome == Outcome::Marked(Signal::Ce) {
            signals.push(leaving);
        }
    }
    signals
}

fn ecn() -> CodelParams {
    CodelParams { ecn: true, ..CodelParams::default() }
}

/// The test point of the spec: with the sojourn time held at 20 ms, the first signal is the first departure after t0 + 100 ms
/// (in the RFC at it), and the next ones follow it by 100, 170.7, 228.4, 278.4, 323.2, 364.0 and 401.8 ms: sums of
/// 100 ms / sqrt(count). Each comes with the first departure at or after its time.
#[test]
fn control_law() {
    let mut expected = vec![0.0];
    for count in 1..8 {
        expected.push(expected.last().unwrap() + 100.0 / f64::from(count).sqrt());
    }
    assert!((expected[7] - 401.8_f64).abs() < 0.05 && (expected[2] - 170.7_f64).abs() < 0.05);
    for (variant, first) in [(CodelVariant::Linux, 100_100_000), (CodelVariant::Rfc, 100_000_000)] {
        let signals = signals(CodelParams { variant, ..ecn() }, Kind::Ect0, 700);
        assert_eq!(signals[0], first, "{variant:?}");
        for (signal, expected) in signals.iter().zip(&expected) {
            let after = (signal - first) as f64 / 1e6;
            assert!((0.0..0.1 + 1e-6).contains(&(after - expected)), "{variant:?}: {after} for {expected}");
        }
        assert!(signals.len() > 8);
    }
}

/// What cannot be marked is dropped, at the same times: ECT(1) without the MDS identifier and Not-ECT; everything without
/// `ecn`.
#[test]
fn drops_and_marks_have_one_schedule() {
    let marks = signals(ecn(), Kind::Ect0, 400);
    for (params, kind) in
        [(ecn(), Kind::NotEct), (ecn(), Kind::Ect1), (CodelParams::default(), Kind::Ect0), (ecn(), Kind::Mds)]
    {
        let other = signals(params, kind, 400);
        assert_eq!(other.len(), marks.len(), "{kind:?}");
        for (a, b) in other.iter().zip(&marks) {
            assert!(a.abs_diff(*b) <= 200_000, "{kind:?}: {a} and {b}");
        }
    }
}

/// Linux's square root lags by one Newton step, r (3 - count r^2) / 2 from r = 1 on: the second gap is 50 ms instead of
/// 70.7 ms, and from the seventh on both laws agree to 1 %. With 16 bits it is exact to 1 in 10,000.
#[test]
fn newton() {
    let signals = signals(CodelParams { newton: true, ..ecn() }, Kind::Ect0, 2_000);
    let (mut root, mut expected) = (1.0, 0.0);
    for (count, signal) in (1..).zip(&signals) {
        let after = (signal - signals[0]) as f64 / 1e6;
        assert!((-0.1..0.2).contains(&(after - expected)), "{count}: {after} for {expected}");
        if count > 1 {
            root = root * (3.0 - f64::from(count) * root * root) / 2.0;
        }
        assert!(count < 7 || (root * f64::from(count).sqrt() - 1.0).abs() < 0.01);
        expected += 100.0 * root;
    }
    assert!(signals.len() > 50, "{}", signals.len());
}

/// A bench with `packets` of 1500 B that arrived at 0.
fn filled(params: CodelParams, packets: u64, kind: Kind) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    (0..packets).for_each(|_| bench.arrive(0, kind));
    bench
}

/// A queue of one packet or less after the departure is never signalled, however long its packets waited.
#[test]
fn one_packet_is_no_queue() {
    let mut bench = filled(ecn(), 1, Kind::Ect0);
    for n in 1..1_000 {
        bench.arrive(n * 100 * MS - 1, Kind::Ect0);
        assert_eq!(bench.outcome(n * 100 * MS), Outcome::Passed, "{n}");
    }
    // With two it is.
    let mut bench = filled(ecn(), 2, Kind::Ect0);
    let marked = (1..1_000).filter(|n| {
        bench.arrive(n * 100 * MS - 1, Kind::Ect0);
        bench.outcome(n * 100 * MS) != Outcome::Passed
    });
    assert!(marked.count() > 100);
}

/// One packet below the target ends the dropping state, and the interval starts again. If the next episode starts
/// within 16 intervals, it starts with the frequency that the last one had reached, and otherwise with the lowest.
#[test]
fn episodes() {
    for (pause_ms, again) in [(500, true), (2_000, false)] {
        let mut bench = filled(ecn(), 0, Kind::Ect0);
        let mut now = 0;
        let mut high = |bench: &mut Bench, ms: u64| {
            let end = now + ms * MS;
            while now < end {
                bench.arrive(now, Kind::Ect0);
                now += 100_000;
                if bench.backlog().packets > 200 {
                    bench.dequeue(now);
                }
            }
            now
        };
        let at = high(&mut bench, 700);
        let reached = bench.probe("count");
        assert!(reached >= 8 && bench.probe("dropping") == 1, "{reached}");
        while bench.dequeue(at).is_some() {}
        assert_eq!(bench.probe("dropping"), 0);
        let _ = high;
        let mut now = at + pause_ms * MS;
        while bench.probe("dropping") == 0 {
            bench.arrive(now, Kind::Ect0);
            now += 100_000;
            if bench.backlog().packets > 200 {
                bench.dequeue(now);
            }
        }
        let count = bench.probe("count");
        if again {
            assert!(count >= reached - 2 && count > 4, "{count} after {reached}");
        } else {
            assert_eq!(count, 1);
        }
    }
}

/// CoDel alone: a departure at this time, of a packet that has waited 20 ms, with others behind it.
fn leave(codel: &mut Codel, at_ms: u64) -> Verdict {
    let waited = Duration::from_millis(20);
    let packet = PacketView {
        size: Bytes::new(1500),
        flow: FlowId::new(0),
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        class: Class::Conventional,
        sojourn: waited,
        replaces: false,
    };
    let queue = QueueView {
        now: Time::from_nanos(at_ms * MS),
        packets: 100,
        bytes: Bytes::new(150_000),
        all_bytes: Bytes::new(150_000),
        head_waiting: Some(waited),
        rate: Rate::from_mbps(100),
    };
    codel.on_dequeue(&packet, &queue)
}

/// What a fair queue sheds counts as drops (Linux `fq_codel_drop`), but does not start an episode: the first episode
/// starts with the lowest frequency, however early in a run. An episode within 16 intervals of the last one continues
/// with what has been shed since.
#[test]
fn shed_packets_are_no_episode() {
    let count = |codel: &Codel| {
        let mut count = None;
        codel.probe(&mut |name, value| count = count.or((name == "count").then_some(value)));
        count
    };
    let mut codel = Codel::new(ecn());
    codel.on_shed(64, Time::ZERO);
    assert_eq!(leave(&mut codel, 10), Verdict::Pass);
    assert_eq!((leave(&mut codel, 111), count(&codel)), (Verdict::Mark(Signal::Ce), Some(1.0)));
    codel.on_empty(Time::from_nanos(120 * MS));
    codel.on_shed(64, Time::from_nanos(120 * MS));
    assert_eq!(leave(&mut codel, 130), Verdict::Pass);
    assert_eq!((leave(&mut codel, 231), count(&codel)), (Verdict::Mark(Signal::Ce), Some(64.0)));
    // The next drop of the first episode was due at 211 ms: 16 intervals are over at 1811 ms (RFC 8289 section 5.5).
    for (again, expected) in [(1_810, 64.0), (1_811, 1.0)] {
        let mut codel = Codel::new(ecn());
        for at in [10, 111] {
            leave(&mut codel, at);
        }
        codel.on_empty(Time::from_nanos(120 * MS));
        codel.on_shed(64, Time::from_nanos(120 * MS));
        for at in [1_700, again] {
            leave(&mut codel, at);
        }
        assert_eq!(count(&codel), Some(expected), "{again}");
    }
}

/// Several drops can be due in one departure: each replaced packet is asked about, and the count rises with each.
#[test]
fn several_drops_in_one_departure() {
    let mut bench = filled(CodelParams::default(), 400, Kind::NotEct);
    bench.dequeue(10 * MS);
    bench.dequeue(111 * MS);
    assert_eq!((bench.stats().lost, bench.probe("count")), (1, 1));
    // Due at 211, 281.7, 339.4 and 389.4 ms: four at 390 ms.
    let left = bench.dequeue(390 * MS).unwrap();
    assert_eq!((bench.stats().lost, bench.probe("count"), left.seq), (5, 5, 7));
}

/// The first drop's replacement is delivered even if more would be due.
#[test]
fn the_first_replacement_is_delivered() {
    let mut bench = filled(CodelParams::default(), 400, Kind::NotEct);
    bench.dequeue(10 * MS);
    let left = bench.dequeue(5_000 * MS).unwrap();
    assert_eq!((bench.stats().lost, left.seq), (1, 2));
}

/// `ce_threshold` marks every packet above it that can be marked and that the selector takes, and drops none.
#[test]
fn ce_threshold() {
    let ms = Duration::from_millis;
    for (kind, selector, marked) in [
        (Kind::Ect0, "0x00/0x00", true),
        (Kind::Ect0, "0x01/0x03", false),
        (Kind::Ect1, "0x01/0x03", true),
        (Kind::Ect1, "0x02/0x03", false),
        (Kind::NotEct, "0x00/0x00", false),
        (Kind::Mds, "0xac/0xfc", true),
    ] {
        let params = CodelParams {
            ce_threshold: Some(ms(1)),
            ce_threshold_selector: selector.parse().unwrap(),
            ..CodelParams::default()
        };
        let mut bench = filled(params, 10, kind);
        assert_eq!(bench.outcome(MS), Outcome::Passed);
        let left = bench.dequeue(MS + 1).unwrap();
        assert_eq!(left.ecn == Ecn::Ce, marked, "{kind:?} {selector}");
        assert_eq!(bench.stats().lost, 0);
    }
}

/// A link that decides at the end of transmissions: a drop is not replaced, and the schedule goes on with the next packet.
#[test]
fn drops_at_the_end_of_transmissions() {
    let mut bench = filled(CodelParams::default(), 4_000, Kind::NotEct);
    let mut lost = Vec::new();
    for n in 1..3_000_u64 {
        assert_eq!(bench.choose(n * 100_000), Some(Bytes::new(1_500)));
        if bench.serve(n * 100_000).is_none() {
            lost.push(n);
        }
    }
    // Packets are above the target from 5 ms on: 105.1 ms, and 100 ms later, 70.7, ... after it.
    assert_eq!(lost[..2], [1_051, 2_051]);
    assert_eq!(lost.get(2), Some(&2_759));
}

/// The interval is at most the round-trip time of the longest path, 1000 s, and neither it nor the target is 0.
#[test]
fn limits_of_the_parameters() {
    let allowed = |target: u64, interval: u64| {
        let [target, interval] = [target, interval].map(Duration::from_secs);
        QueueSpec::new(CodelParams { target, interval, ..CodelParams::default() }).check().is_ok()
    };
    assert!(allowed(1, 1) && allowed(1, 1_000));
    assert!(!allowed(1, 1_001) && !allowed(1, 0) && !allowed(0, 1));
}

/// Without `ecn`, packets that understand CE are dropped, too, and none is marked (Linux's default).
#[test]
fn no_marks_without_ecn() {
    for (params, marks) in [(CodelParams::default(), false), (ecn(), true)] {
        let mut bench = filled(params, 400, Kind::Ect0);
        for at in [10, 111, 212, 283] {
            bench.dequeue(at * MS);
        }
        assert_eq!((bench.stats().ce, bench.stats().drops_aqm), if marks { (3, 0) } else { (0, 3) });
    }
}

/// An episode within 16 intervals of one that had a single further signal starts with the lowest frequency, and
/// Linux's square root with it: the next signal is due after 100 ms.
#[test]
fn newton_starts_again_with_the_count() {
    let mut codel = Codel::new(CodelParams { newton: true, ..ecn() });
    let mark = Verdict::Mark(Signal::Ce);
    assert_eq!([10, 111, 212].map(|at| leave(&mut codel, at)), [Verdict::Pass, mark, mark]);
    codel.on_empty(Time::from_nanos(220 * MS));
    assert_eq!(
        [230, 331, 430, 431].map(|at| leave(&mut codel, at)),
        [Verdict::Pass, mark, Verdict::Pass, mark]
    );
}
