//! COBALT's vectors: spec/queues-and-signalling section 9, the SCE reference repository, Linux `sch_cake`.

use windtunnel_qdisc::ecn::{Class, Outcome};
use windtunnel_qdisc::{
    Aqm, Cobalt, CobaltParams, CobaltVariant, Limit, PacketView, QueueSpec, QueueView, Signal, Verdict,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

const VARIANTS: [CobaltVariant; 2] = [CobaltVariant::Standalone, CobaltVariant::Cake];

/// A packet that leaves.
#[derive(Clone, Copy)]
struct Leaving {
    class: Class,
    ecn: Ecn,
    sojourn_ms: f64,
    /// Packets that stay.
    behind: usize,
}

const CONVENTIONAL: Leaving =
    Leaving { class: Class::Conventional, ecn: Ecn::Ect0, sojourn_ms: 20.0, behind: 10 };
const NOT_ECT: Leaving = Leaving { class: Class::NotEct, ecn: Ecn::NotEct, ..CONVENTIONAL };
const SCE: Leaving = Leaving { class: Class::Sce, ..CONVENTIONAL };

fn leave(cobalt: &mut Cobalt, at_ns: u64, leaving: Leaving) -> Verdict {
    let Leaving { class, ecn, sojourn_ms, behind } = leaving;
    let packet = PacketView {
        size: Bytes::new(1_500),
        flow: FlowId::new(0),
        dscp: Dscp::DEFAULT,
        ecn,
        class,
        sojourn: Duration::from_nanos((sojourn_ms * 1e6) as u64),
        replaces: false,
    };
    let bytes = Bytes::new(1_500) * behind as u64;
    let queue = QueueView {
        now: Time::from_nanos(at_ns),
        packets: behind,
        bytes,
        all_bytes: bytes,
        head_waiting: None,
        rate: Rate::from_mbps(100),
    };
    cobalt.on_dequeue(&packet, &queue)
}

/// The times in ms, from t0 on, at which packets are signalled that leave every 0.1 ms.
fn signals(params: &CobaltParams, leaving: Leaving, until_ms: u64, signal: Verdict) -> Vec<f64> {
    const T0: u64 = 7 * MS;
    let mut cobalt = Cobalt::new(params, 1);
    let at = (0..until_ms * MS).step_by(100_000);
    at.filter(|at| leave(&mut cobalt, T0 + at, leaving) == signal).map(|at| at as f64 / 1e6).collect()
}

fn probed(cobalt: &Cobalt, name: &str) -> f64 {
    let mut number = None;
    cobalt.probe(&mut |n, value| number = number.or((n == name).then_some(value)));
    number.expect("COBALT reports it")
}

fn count(cobalt: &Cobalt, name: &str) -> u64 {
    probed(cobalt, name) as u64
}

/// `interval (1 + 1/sqrt 2 + 1/sqrt 3 + ...)` for the first signals.
fn law(interval_ms: f64, signals: u32) -> Vec<f64> {
    let mut at = 0.0;
    let spaced = |count: u32| {
        at += interval_ms / f64::from(count).sqrt();
        at
    };
    (1..=signals).map(spaced).collect()
}

fn assert_follows(signals: &[f64], law: &[f64]) {
    assert!(signals.len() >= law.len(), "{signals:?}");
    for (signal, law) in signals.iter().zip(law) {
        // The first departure at or after the time; times are rounded to nanoseconds.
        assert!((-1e-4..0.1).contains(&(signal - law)), "{signal} for {law}");
    }
}

/// The test point of the spec: with the sojourn time held over the target from t0 on, signals come 100, 170.7, 228.4,
/// 278.4, ... ms after t0; the second spacing is already interval / sqrt(2), unlike CoDel's. What cannot be marked is
/// dropped at the same times.
#[test]
fn control_law() {
    let expected = law(100.0, 30);
    for (expected, published) in expected.iter().zip([100.0, 170.7, 228.4, 278.4]) {
        assert!((expected - published).abs() < 0.05);
    }
    for variant in VARIANTS {
        let params = CobaltParams { variant, ..CobaltParams::default() };
        let marks = signals(&params, CONVENTIONAL, 1_200, Verdict::Mark(Signal::Ce));
        assert_follows(&marks, &expected);
        assert_eq!(signals(&params, NOT_ECT, 1_200, Verdict::Drop), marks);
        let l4s = Leaving { class: Class::L4s, ecn: Ecn::Ect1, ..CONVENTIONAL };
        assert_eq!(signals(&params, l4s, 1_200, Verdict::Drop), marks);
    }
}

/// A sojourn time equal to the target is not over it, and neither is one of 4 packets' transmission times.
#[test]
fn not_over_target() {
    let at_target = Leaving { sojourn_ms: 5.0, ..CONVENTIONAL };
    let slow = CobaltParams { mtu_time: Duration::from_millis(5), ..CobaltParams::default() };
    for (params, leaving) in [(CobaltParams::default(), at_target), (slow, CONVENTIONAL)] {
        assert_eq!(signals(&params, leaving, 2_000, Verdict::Mark(Signal::Ce)), [0.0; 0]);
        let longer = Leaving { sojourn_ms: leaving.sojourn_ms + 0.001, ..leaving };
        assert_ne!(signals(&params, longer, 2_000, Verdict::Mark(Signal::Ce)), [0.0; 0]);
    }
}

/// SCE has the schedule of a quarter of the interval over half of the target: between the targets there is SCE alone,
/// from 25 ms on, and above both, CE takes the place of SCE on packets for which both are due.
#[test]
fn some_congestion() {
    let between = Leaving { sojourn_ms: 4.0, ..SCE };
    let sce = signals(&CobaltParams::default(), between, 500, Verdict::Mark(Signal::Sce));
    assert_follows(&sce, &law(25.0, 40));
    assert_eq!(signals(&CobaltParams::default(), between, 2_000, Verdict::Mark(Signal::Ce)), [0.0; 0]);
    assert_follows(
        &signals(&CobaltParams::default(), SCE, 1_000, Verdict::Mark(Signal::Ce)),
        &law(100.0, 20),
    );
    // sce = 2 halves the interval, sce = 0 turns the schedule off, and CAKE's form has none.
    let two = CobaltParams { sce: Some(2), ..CobaltParams::default() };
    assert_follows(&signals(&two, between, 500, Verdict::Mark(Signal::Sce)), &law(50.0, 10));
    let off = CobaltParams { sce: Some(0), ..CobaltParams::default() };
    let cake = CobaltParams { variant: CobaltVariant::Cake, ..CobaltParams::default() };
    for params in [off, cake] {
        assert_eq!(signals(&params, SCE, 1_000, Verdict::Mark(Signal::Sce)), [0.0; 0]);
    }
}

/// An SCE opportunity waits for a packet that can be marked: after 200 ms of packets that cannot, each of the next ones is
/// marked until the schedule has caught up, after as many as were due in 200 ms.
#[test]
fn sce_opportunities_wait() {
    let mut cobalt = Cobalt::new(&CobaltParams::default(), 1);
    let conventional = Leaving { sojourn_ms: 4.0, ..CONVENTIONAL };
    let already = Leaving { class: Class::Sce, ecn: Ecn::Ect1, ..conventional };
    for at in 0..=200 {
        let leaving = if at % 2 == 0 { conventional } else { already };
        assert_eq!(leave(&mut cobalt, at * MS, leaving), Verdict::Pass);
    }
    assert_eq!(count(&cobalt, "sce_count"), 1);
    let due = law(25.0, 100).into_iter().filter(|at| *at <= 200.0).count();
    let eligible = Leaving { sojourn_ms: 4.0, ..SCE };
    for n in 0..due {
        assert_eq!(leave(&mut cobalt, 200 * MS, eligible), Verdict::Mark(Signal::Sce), "{n}");
    }
    assert_eq!(leave(&mut cobalt, 200 * MS, eligible), Verdict::Pass);
}

/// Once packets wait no longer than the target, the count falls at the frequency at which it rose: by one at each of the
/// times `interval / sqrt(count)`. A new episode continues at the frequency that is left.
#[test]
fn count_decays() {
    for variant in VARIANTS {
        let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
        (0..1_000).for_each(|at| {
            leave(&mut cobalt, at * MS, CONVENTIONAL);
        });
        let most = count(&cobalt, "count");
        assert!(most > 20);
        let short = Leaving { sojourn_ms: 1.0, ..CONVENTIONAL };
        let mut fallen = Vec::new();
        let mut last = most;
        for at in (1_000 * MS..4_000 * MS).step_by(100_000) {
            assert_eq!(leave(&mut cobalt, at, short), Verdict::Pass);
            let now = count(&cobalt, "count");
            assert!(now == last || now == last - 1);
            if now < last {
                fallen.push(at as f64 / 1e6);
            }
            last = now;
        }
        assert_eq!((last, fallen.len()), (0, most as usize));
        // The count is `most - n` after the nth fall.
        for (n, pair) in fallen.windows(2).enumerate().take(fallen.len() - 2) {
            let spacing = 100.0 / (most as f64 - 1.0 - n as f64).sqrt();
            assert!((pair[1] - pair[0] - spacing).abs() < 0.11, "{n}: {pair:?} for {spacing}");
        }
    }
}

/// BLUE's test points: overflow that lasts raises its probability to 25 % in 64 events, which take at least 320 ms since
/// it changes once per target at most; from there it takes 1024 events of an empty queue back to 0.
#[test]
fn blue() {
    for variant in VARIANTS {
        let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
        let (mut at, mut rises) = (0, 0);
        while probed(&cobalt, "p_drop") < 0.25 {
            let before = probed(&cobalt, "p_drop");
            cobalt.on_full(Time::from_nanos(at));
            rises += u32::from(probed(&cobalt, "p_drop") > before);
            at += MS / 10;
        }
        assert_eq!(rises, 64);
        assert!((320 * MS..330 * MS).contains(&at), "{at}");
        let mut falls = 0;
        while probed(&cobalt, "p_drop") > 0.0 {
            at += 5 * MS + 1;
            cobalt.on_empty(Time::from_nanos(at));
            falls += 1;
        }
        assert_eq!(falls, 1_024);
    }
}

/// BLUE drops at random with its probability, ECN-capable packets too; the standard error of 20,000 draws at 25 % is 61.
/// It stops at 100 %.
#[test]
fn blue_drops_what_could_be_marked() {
    let mut cobalt = Cobalt::new(&CobaltParams::default(), 7);
    (1..=64).for_each(|n| cobalt.on_full(Time::from_nanos(n * 6 * MS)));
    let short = Leaving { sojourn_ms: 1.0, ..CONVENTIONAL };
    let drops = (0..20_000).filter(|_| leave(&mut cobalt, 400 * MS, short) == Verdict::Drop).count();
    assert!((4_700..5_300).contains(&drops), "{drops}");
    (1..=400).for_each(|n| cobalt.on_shed(1, Time::from_nanos((400 + n * 6) * MS)));
    assert!(probed(&cobalt, "p_drop") >= 1.0);
}

/// A packet that has waited longer than four round trips is an overflow where COBALT is alone, without any limit.
#[test]
fn long_waits_overflow() {
    for (variant, sojourn_ms, p_drop) in [
        (CobaltVariant::Standalone, 400.0, 0.0),
        (CobaltVariant::Standalone, 400.1, 1.0 / 256.0),
        (CobaltVariant::Cake, 10_000.0, 0.0),
    ] {
        let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
        leave(&mut cobalt, 20_000 * MS, Leaving { sojourn_ms, ..CONVENTIONAL });
        assert!((probed(&cobalt, "p_drop") - p_drop).abs() < 1e-12, "{variant:?} {sojourn_ms}");
    }
}

/// The last packet of a queue is never dropped: alone it is no queue and ends the episode, and in CAKE's form it may be
/// marked.
#[test]
fn last_packet() {
    let last = |leaving| Leaving { behind: 0, ..leaving };
    let alone = CobaltParams::default();
    let cake = CobaltParams { variant: CobaltVariant::Cake, ..CobaltParams::default() };
    for leaving in [CONVENTIONAL, NOT_ECT] {
        let mut cobalt = Cobalt::new(&alone, 1);
        for at in 0..1_000 {
            assert_eq!(leave(&mut cobalt, at * MS, last(leaving)), Verdict::Pass);
        }
    }
    assert_follows(&signals(&cake, last(CONVENTIONAL), 500, Verdict::Mark(Signal::Ce)), &law(100.0, 8));
    assert_eq!(signals(&cake, last(NOT_ECT), 2_000, Verdict::Drop), [0.0; 0]);
}

/// In a queue of its own: each signal takes a packet that cannot be marked, and the next one leaves instead. Once packets
/// have waited longer than 400 ms, each is an overflow, which makes a signal due at once: all of those are lost but the
/// last, and BLUE starts.
#[test]
fn in_a_queue() {
    let mut bench = Bench::new(&QueueSpec::new(CobaltParams::default()), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    (0..2_000).for_each(|_| bench.arrive(0, Kind::NotEct));
    for at in 0..=380 {
        let left = bench.dequeue((20 + at) * MS).expect("packets are queued");
        assert_eq!(left.outcome, Outcome::Passed);
    }
    let scheduled = law(100.0, 100).into_iter().filter(|at| *at <= 380.0).count() as u64;
    assert_eq!((bench.stats().lost, bench.probed("p_drop")), (scheduled, Some(0.0)));
    // The first one makes the signal due, and leaves itself.
    assert_eq!(bench.dequeue(401 * MS).expect("a packet").outcome, Outcome::Passed);
    assert_eq!(bench.probed("p_drop"), Some(1.0 / 256.0));
    bench.dequeue(402 * MS).expect("the last packet");
    assert_eq!((bench.stats().departed, bench.stats().lost), (383, 2_000 - 383));
}

/// The intervals are at most the round-trip time of the longest path, and the target is shorter; CAKE's form has no SCE
/// schedule.
#[test]
fn limits_of_the_parameters() {
    let refused = |params| QueueSpec::new(params).check().unwrap_err().to_string();
    let default = CobaltParams::default;
    let s = Duration::from_secs;
    for (params, fault) in [
        (CobaltParams { target: Duration::ZERO, ..default() }, "target = 0 s"),
        (CobaltParams { target: s(1), rtt: s(1), ..default() }, "target = 1 s"),
        (CobaltParams { rtt: s(1_001), ..default() }, "rtt = 1001 s"),
        (CobaltParams { mtu_time: s(1_001), ..default() }, "mtu_time = 1001 s"),
        (CobaltParams { sce: Some(4), variant: CobaltVariant::Cake, ..default() }, "sce = 4"),
        (
            CobaltParams {
                sce: Some(101),
                rtt: Duration::from_nanos(100),
                target: Duration::from_nanos(1),
                ..default()
            },
            "sce = 101",
        ),
    ] {
        assert!(refused(params.clone()).starts_with(fault), "{}", refused(params));
    }
    let ns = Duration::from_nanos;
    let longest = CobaltParams {
        target: ns(999_999_999_999),
        rtt: s(1_000),
        mtu_time: s(1_000),
        sce: Some(u32::MAX),
        ..default()
    };
    let shortest = CobaltParams { target: ns(99), rtt: ns(100), sce: Some(100), ..default() };
    for params in [longest, shortest] {
        assert_eq!(QueueSpec::new(params).check(), Ok(()));
    }
}

/// SCE is not for a sojourn time of half of the target, nor for one of 2 packets' transmission times: the first comes
/// 25 ms after the first packet above both.
#[test]
fn not_over_the_target_of_sce() {
    let slow = CobaltParams { mtu_time: Duration::from_millis(5), ..CobaltParams::default() };
    for (params, most_ms) in [(CobaltParams::default(), 2.5), (slow, 10.0)] {
        let first = |sojourn_ms| {
            let leaving = Leaving { sojourn_ms, ..SCE };
            signals(&params, leaving, 100, Verdict::Mark(Signal::Sce)).first().copied()
        };
        assert_eq!([first(most_ms), first(most_ms + 0.001)], [None, Some(25.0)], "{most_ms}");
    }
}

/// An overflow makes the signals of both schedules due at once, an SCE for a packet between the two targets; and the
/// next overflow is heard by BLUE when more than the target has passed.
#[test]
fn overflow_makes_signals_due() {
    let between = Leaving { sojourn_ms: 4.0, ..SCE };
    for (leaving, signal) in [(CONVENTIONAL, Signal::Ce), (between, Signal::Sce)] {
        let mut cobalt = Cobalt::new(&CobaltParams::default(), 1);
        assert_eq!(leave(&mut cobalt, 9 * MS, leaving), Verdict::Pass);
        cobalt.on_full(Time::from_nanos(10 * MS));
        assert_eq!(leave(&mut cobalt, 11 * MS, leaving), Verdict::Mark(signal));
        // A wait of more than four round trips is one as well.
        let mut cobalt = Cobalt::new(&CobaltParams::default(), 1);
        leave(&mut cobalt, 1_000 * MS, Leaving { sojourn_ms: 401.0, ..leaving });
        assert_eq!(leave(&mut cobalt, 1_001 * MS, leaving), Verdict::Mark(signal));
    }
    let mut cobalt = Cobalt::new(&CobaltParams::default(), 1);
    for (at, heard) in [(10 * MS, 1.0), (15 * MS, 1.0), (15 * MS + 1, 2.0)] {
        cobalt.on_full(Time::from_nanos(at));
        assert!((probed(&cobalt, "p_drop") * 256.0 - heard).abs() < 1e-9, "{at}");
    }
}

/// Steps 1 and 2 of the section, by variant. Over the target at 0, the signal is due at 100 ms; below it at 10 ms, a
/// queue of its own starts another wait, to 110 ms, and CAKE's does not. Over it again at 200 ms, after a pause, a
/// queue of its own forgets the signal that was due, and CAKE's gives it.
#[test]
fn entering_and_leaving() {
    let short = Leaving { sojourn_ms: 1.0, ..CONVENTIONAL };
    for (variant, falls_ms, verdict, next_s) in [
        (CobaltVariant::Standalone, 110, Verdict::Pass, 0.3),
        (CobaltVariant::Cake, 100, Verdict::Mark(Signal::Ce), 0.3 + 0.1 / 2.0_f64.sqrt()),
    ] {
        let entered_and_left = || {
            let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
            assert_eq!(leave(&mut cobalt, 0, CONVENTIONAL), Verdict::Pass);
            assert!((probed(&cobalt, "next_s") - 0.1).abs() < 1e-9);
            assert_eq!(leave(&mut cobalt, 10 * MS, short), Verdict::Pass);
            assert!(probed(&cobalt, "next_s").is_nan());
            cobalt
        };
        let mut falls = entered_and_left();
        let counts = [falls_ms - 1, falls_ms].map(|at| {
            leave(&mut falls, at * MS, short);
            count(&falls, "count")
        });
        assert_eq!(counts, [1, 0], "{variant:?}");
        let mut again = entered_and_left();
        assert_eq!(leave(&mut again, 200 * MS, CONVENTIONAL), verdict, "{variant:?}");
        assert!((probed(&again, "next_s") - next_s).abs() < 1e-9, "{variant:?}");
    }
}

/// Step 5: marks that became due while no packet left do not pile up, so that two are given; drops are made up for.
#[test]
fn overdue_signals() {
    let due = law(100.0, 100).into_iter().filter(|at| *at <= 1_000.0).count();
    for variant in VARIANTS {
        for (leaving, signal, expected) in
            [(CONVENTIONAL, Verdict::Mark(Signal::Ce), 2), (NOT_ECT, Verdict::Drop, due)]
        {
            let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
            assert_eq!(leave(&mut cobalt, 0, leaving), Verdict::Pass);
            let signals = (0..100).take_while(|_| leave(&mut cobalt, 1_000 * MS, leaving) == signal).count();
            assert_eq!(signals, expected, "{variant:?} {signal:?}");
        }
    }
}

/// An empty queue ends the episode, and the count falls: in CAKE by one at each event that finds the next time
/// passed, in a queue of its own as far as time has passed, from a wait of 100 ms / sqrt(7) = 37.8 ms on. Packets
/// were over the target from 0 to 400 ms: six signals, at 100, 170.7, 228.4, 278.4, 323.2 and 364 ms, and the next at
/// 401.8 ms.
#[test]
fn empty_queue() {
    for (variant, counts) in
        [(CobaltVariant::Standalone, [7, 7, 7, 6, 0]), (CobaltVariant::Cake, [7, 6, 6, 6, 5])]
    {
        let mut cobalt = Cobalt::new(&CobaltParams { variant, ..CobaltParams::default() }, 1);
        (0..=400).for_each(|at| {
            leave(&mut cobalt, at * MS, SCE);
        });
        assert!(variant == CobaltVariant::Cake || count(&cobalt, "sce_count") > 7);
        for (at, expected) in [401, 402, 438, 439, 10_000].into_iter().zip(counts) {
            cobalt.on_empty(Time::from_nanos(at * MS));
            assert_eq!(count(&cobalt, "count"), expected, "{variant:?} at {at} ms");
            assert_eq!(count(&cobalt, "dropping"), 0);
        }
        assert_eq!(count(&cobalt, "sce_count"), 0, "{variant:?}");
    }
}
