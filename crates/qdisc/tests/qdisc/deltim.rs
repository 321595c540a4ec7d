//! DelTiM and DelTiM2, computed by hand from spec/mds section 4. Burst 5 ms, so R = 200.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Deltim2Params, DeltimParams, Limit, QueueSpec};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn deltim() -> Bench {
    Bench::new(&QueueSpec::new(DeltimParams::default()), Limit::Unlimited)
}

fn deltim2() -> Bench {
    Bench::new(&QueueSpec::new(Deltim2Params::default()), Limit::Unlimited)
}

/// Two packets at once. When the first leaves, the second has waited 1 ms; the jitter is
/// 1 ms * 1 ms = 1 us; `delta` = 999 us, `sigma` = 999 us * 1 ms = 999 ns. When the second leaves, none
/// waits: `delta` returns to its old value, `sigma` stays.
fn after_two_packets() -> Bench {
    let mut bench = deltim();
    bench.arrive(0, Kind::Mds);
    bench.arrive(0, Kind::Mds);
    bench.outcome(MS);
    assert_eq!(bench.probe("acc"), 999_999 * 200);
    bench.outcome(2 * MS);
    assert_eq!(bench.probe("acc"), 999 * 200);
    bench
}

/// The set point is one packet: a single packet causes no error, however long its transmission takes.
#[test]
fn one_packet_is_no_queue() {
    let mut bench = deltim();
    for i in 0..1_000 {
        bench.arrive(i * 100 * MS, Kind::Mds);
        assert_eq!(bench.outcome((i * 100 + 99) * MS), Outcome::Passed);
        assert_eq!(bench.probe("acc"), 0);
    }
}

/// The accumulator keeps the busy share of the burst: `acc * (1 - min(idle, T) / T)`, up to the rounding of
/// the scaling to whole nanoseconds (spec/mds section 8).
#[test]
fn idle_scaling() {
    for (idle_ns, left) in [
        (500_000, 179_820),
        (MS, 159_840),
        (2 * MS, 119_880),
        (4 * MS, 39_960),
        (5 * MS - 1, 0),
        (5 * MS, 0),
        (6 * MS, 0),
        (20_000 * MS, 0),
    ] {
        let mut bench = after_two_packets();
        bench.arrive(2 * MS + idle_ns, Kind::Mds);
        bench.outcome(3 * MS + idle_ns);
        let acc = bench.probe("acc");
        assert!((acc - left).abs() <= 1, "{acc} after {idle_ns} ns, expected {left}");
    }
}

/// A packet that arrives in the same nanosecond in which the last one left does not end an idle spell: the control law
/// runs.
#[test]
fn no_idle_time_no_scaling() {
    let mut bench = after_two_packets();
    bench.arrive(2 * MS, Kind::Mds);
    bench.arrive(2 * MS, Kind::Mds);
    bench.outcome(3 * MS);
    // The jitter was last updated at 1 ms and starts its interval again at 2 ms:
    // (1 ms^2 + 1 us * 999 ms) / 1 s = 1999 ns.
    assert_eq!(bench.probe("acc"), (999 + 998_001 + 998) * 200);
}

/// The oscillators advance while packets are queued, not in idle time: in the end 2.0 ms * acc of one busy
/// spell, after 1 ms or 10 s of idle time.
#[test]
fn oscillators_do_not_advance_in_idle_time() {
    let advance = |idle_ns: u64| {
        let mut bench = after_two_packets();
        let before = bench.probe("mds_osc");
        bench.arrive(2 * MS + idle_ns, Kind::Mds);
        bench.outcome(4 * MS + idle_ns);
        (bench.probe("acc"), bench.probe("mds_osc") - before)
    };
    let (acc, phase) = advance(MS);
    assert_eq!(phase, acc * 2_000_000 / 1_000_000_000 * 200);
    assert_eq!(advance(10_000 * MS), (0, 0));
}

/// Enough packets for `n` dequeues, one every 0.5 ms, are queued from the start; returns `acc` after each dequeue.
fn standing_queue(n: u64) -> Vec<i64> {
    let mut bench = deltim2();
    for _ in 0..=n {
        bench.arrive(0, Kind::Mds);
    }
    let leave = |i| {
        bench.outcome(i * MS / 2);
        bench.probe("acc")
    };
    (1..=n).map(leave).collect()
}

/// DelTiM2 runs its law once per update, with the shortest waiting time within the burst. That is the
/// 499.75 us that the second packet had waited after 0.5 ms (jitter 0.5 ms * 0.5 ms = 250 ns): `delta`
/// once, then `sigma` = 499.75 us * 1 ms = 499 ns per update, until it leaves the window of 5 ms.
#[test]
fn deltim2_controls_the_standing_queue() {
    let acc = standing_queue(13);
    let first = (499_750 + 499) * 200;
    assert_eq!(acc[..2], [0, first]);
    let updates = [0, 1, 1, 2, 2, 3, 3, 4, 4];
    assert_eq!(acc[2..11], updates.map(|n| first + n * 499 * 200));
    // At 6 ms the interval that ended at 1 ms is out of the window. The shortest is now that of 1.5 ms, minus the
    // jitter after three intervals of 0.5 ms: 250, 499, 748 ns.
    let least = 1_500_000 - 748;
    let sigma = 1_499;
    assert_eq!(acc[11], first + 4 * 499 * 200 + (least - 499_750 + sigma) * 200);
}

/// A queue that empties within every burst causes no error.
#[test]
fn deltim2_ignores_bursts_that_drain() {
    let mut bench = deltim2();
    for burst in 0..100 {
        let start = burst * 4 * MS;
        for _ in 0..4 {
            bench.arrive(start, Kind::Mds);
        }
        for i in 1..=4 {
            bench.outcome(start + i * MS);
        }
    }
    // Only the first burst, before the queue was first seen empty, causes an error: at most its 3 ms of `sigma`.
    let acc = bench.probe("acc");
    assert!(acc <= 3 * 3_000 * 200, "{acc}");
}

/// A DelTiM2 queue that has run its law at 1, 2 and 3 ms, and is empty.
fn deltim2_after_three_packets() -> Bench {
    let mut bench = deltim2();
    for _ in 0..3 {
        bench.arrive(0, Kind::Mds);
    }
    for i in 1..=3 {
        bench.outcome(i * MS);
    }
    assert!(bench.probe("acc") > 0);
    bench
}

/// The idle scaling handles an interval with idle time, here 1 ms in a window of 5; idle times of one
/// interval add up.
#[test]
fn deltim2_idle_scaling() {
    let near = |got: i64, expected: i64| assert!((got - expected).abs() <= 1, "{got}, expected {expected}");
    let mut bench = deltim2_after_three_packets();
    let acc = bench.probe("acc");
    bench.arrive(4 * MS, Kind::Mds);
    bench.outcome(5 * MS);
    near(bench.probe("acc"), acc - acc / 5);

    // 0.3 ms idle, 0.1 ms busy, 0.5 ms idle, 0.1 ms busy: the interval is over, 0.8 ms of it idle.
    let mut bench = deltim2_after_three_packets();
    bench.arrive(3_300_000, Kind::Mds);
    bench.outcome(3_400_000);
    assert_eq!(bench.probe("acc"), acc);
    bench.arrive(3_900_000, Kind::Mds);
    bench.outcome(4_000_000);
    near(bench.probe("acc"), acc - acc * 8 / 50);
}

/// DelTiM2's oscillators advance while packets are queued, not in idle time.
#[test]
fn deltim2_oscillators_do_not_advance_in_idle_time() {
    let mut bench = deltim2_after_three_packets();
    let before = bench.probe("mds_osc");
    bench.arrive(4 * MS, Kind::Mds);
    bench.outcome(6 * MS);
    assert_eq!(bench.probe("mds_osc") - before, bench.probe("acc") * 2_000_000 / 1_000_000_000 * 200);
}
