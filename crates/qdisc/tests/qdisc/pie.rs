//! PIE's rules one by one: spec/queues-and-signalling section 6, RFC 8033 sections 4 and 5.

use windtunnel_qdisc::ecn::{EcnMode, EcnPolicy};
use windtunnel_qdisc::{Limit, PieBurstMode, PieParams, PieRandom, PieVariant, QueueInit, QueueSpec};
use windtunnel_units::{Bytes, Duration, Probability};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// When p is updated in Linux with ticks of 1 ms, from 0 on, in ms: its timer makes 504 and 16 ms of half a second and 15
/// ms (`calc_index` in `kernel/time/timer.c`).
fn update(n: u64) -> u64 {
    504 + 16 * n
}

fn bench(params: PieParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    bench
}

fn linux() -> PieParams {
    PieParams::default()
}

fn rfc() -> PieParams {
    PieParams { variant: PieVariant::Rfc, ..linux() }
}

fn probed(bench: &Bench, name: &str) -> f64 {
    bench.probed(name).unwrap()
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-12 * expected.abs().max(1e-3), "{got}, expected {expected}");
}

/// A packet leaves after `sojourn_ms`, and one stays. The next update sees this delay.
fn delay(bench: &mut Bench, at_ms: u64, sojourn_ms: u64) {
    while bench.dequeue((at_ms - sojourn_ms) * MS).is_some() {}
    bench.arrive((at_ms - sojourn_ms) * MS, Kind::Ect0);
    bench.arrive((at_ms - sojourn_ms) * MS, Kind::Ect0);
    bench.dequeue(at_ms * MS).unwrap();
}

/// A Linux PIE at p = 0.02 * `steps`, without burst allowance, and the time at which p reaches that value. Its gains
/// are zero: each update above 250 ms adds 0.02 to p, which then stays. The last delay is `sojourn_ms`; one packet is
/// queued.
fn held(params: &PieParams, steps: u64, sojourn_ms: u64) -> (Bench, u64) {
    assert_eq!(params.variant, PieVariant::Linux);
    let mut bench = bench(PieParams { alpha: 0.0, beta: 0.0, max_burst: Duration::ZERO, ..params.clone() });
    delay(&mut bench, 490, 260);
    let last = update(steps - 1);
    bench.run_timers(last * MS);
    near(probed(&bench, "p"), 0.02 * steps as f64);
    delay(&mut bench, last + 1 + sojourn_ms, sojourn_ms);
    let end = last + 1 + sojourn_ms + 30;
    bench.run_timers(end * MS);
    (bench, end)
}

/// How many of `n` arrivals at `at_ms` get a signal, in a queue of 2 MTU and more.
fn signals(bench: &mut Bench, at_ms: u64, n: u64, size: u64, kind: Kind) -> Vec<bool> {
    let arrive = |_| {
        let before = bench.stats();
        let packet = bench.packet(0, size, kind);
        bench.enqueue(at_ms * MS, packet);
        (bench.stats().drops_aqm, bench.stats().ce) != (before.drops_aqm, before.ce)
    };
    (0..n).map(arrive).collect()
}

fn count(signals: &[bool]) -> usize {
    signals.iter().filter(|&&signal| signal).count()
}

/// With three packets the queue is not too short to drop from.
fn three_packets(bench: &mut Bench, at_ms: u64) {
    while bench.backlog().bytes < Bytes::new(4_500) {
        bench.arrive(at_ms * MS, Kind::NotEct);
    }
}

/// From p = 0, `qdelay` 20 ms, `qdelay_old` 0: p = 0.025625 / 2048 = 1.2512e-5 (test point of section 6); and the
/// first update is half a second after the start in Linux, by its timer, and `tupdate` in the RFC.
#[test]
fn test_point() {
    let mut bench = bench(linux());
    delay(&mut bench, 490, 20);
    bench.run_timers(504 * MS - 1);
    near(probed(&bench, "qdelay_s"), 0.020);
    near(probed(&bench, "p"), 0.0);
    bench.run_timers(504 * MS);
    near(probed(&bench, "p"), 0.025_625 / 2048.0);
    assert!((probed(&bench, "p") - 1.2512e-5).abs() < 1e-9);
    // Now in the row of 128, with no change of the delay: 0.125 * 5 ms / 128.
    bench.run_timers(520 * MS);
    near(probed(&bench, "p"), 0.025_625 / 2048.0 + 0.000_625 / 128.0);
    assert_eq!(bench.next_timer().unwrap().as_nanos(), 536 * MS);
}

/// The first updates: with `HZ` 1000 and 250 by the kernel's timer, in the RFC exactly.
#[test]
fn times_of_updates() {
    let tick = |ms| PieParams { tick: Duration::from_millis(ms), ..linux() };
    for (params, times) in [
        (linux(), [504, 520, 536]),
        (tick(4), [512, 532, 552]),
        (tick(10), [510, 540, 570]),
        (rfc(), [15, 30, 45]),
    ] {
        let mut bench = bench(params);
        for ms in times {
            assert_eq!(bench.next_timer().unwrap().as_nanos(), ms * MS);
            bench.run_timers(ms * MS);
        }
    }
}

/// Every row of the table is used: at a constant delay of 25 ms every update adds 0.125 Hz * 10 ms over the
/// divisor of the row that contains p.
#[test]
fn auto_tuning() {
    let mut bench = bench(PieParams { beta: 0.0, ..linux() });
    delay(&mut bench, 490, 25);
    let rows =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (0.1, 2.0), (2.0, 1.0)];
    let mut seen = 0;
    let mut p = 0.0_f64;
    for n in 0..800 {
        let row = rows.iter().position(|&(below, _)| p < below).unwrap();
        seen |= 1 << row;
        p += 0.00125 / rows[row].1;
        bench.run_timers(update(n) * MS);
        near(probed(&bench, "p"), p);
    }
    // The first update leads from 0 to 6.1e-7, the second out of the first row; all rows are seen.
    assert_eq!(seen, 0b111_1111);
}

/// From p = 0.1 on p rises by at most 0.02 per update; above 250 ms Linux adds 0.02 to that, the RFC does not.
#[test]
fn steps() {
    for (params, rise) in [(linux(), 0.02), (rfc(), 0.0)] {
        let update = |n| if params.variant == PieVariant::Linux { update(n) } else { 510 + 15 * n };
        let mut bench = bench(PieParams { alpha: 32.0, beta: 0.0, ..params });
        // Not above 250 ms: the cap alone.
        delay(&mut bench, 400, 250);
        let mut last = 0.0;
        let mut capped = 0;
        for n in 0..60 {
            bench.run_timers(update(n) * MS);
            let p = probed(&bench, "p");
            if last >= 0.1 && p < 1.0 {
                near(p - last, 0.02);
                capped += 1;
            }
            last = p;
        }
        assert!(capped > 20, "{capped}");

        let mut long = self::bench(PieParams { alpha: 0.0, beta: 0.0, ..params });
        delay(&mut long, 400, 251);
        for n in 0..3 {
            long.run_timers(update(n) * MS);
        }
        near(probed(&long, "p"), rise * 3.0);
    }
}

/// Two updates without delay: p loses 1/64, in the RFC 0.02. With packets in the queue Linux waits, as its delay is
/// not known.
#[test]
fn decay() {
    let (mut linux, now) = held(&linux(), 10, 20);
    while linux.dequeue(now * MS).is_some() {}
    near(probed(&linux, "qdelay_s"), 0.0);
    linux.run_timers((now + 15) * MS);
    near(probed(&linux, "p"), 0.2);
    linux.run_timers((now + 30) * MS);
    near(probed(&linux, "p"), 0.2 * 63.0 / 64.0);
    // Two packets in one nanosecond: the first leaves without delay, the second stays.
    linux.arrive((now + 31) * MS, Kind::Ect0);
    linux.arrive((now + 31) * MS, Kind::Ect0);
    linux.dequeue((now + 31) * MS).unwrap();
    linux.run_timers((now + 60) * MS);
    near(probed(&linux, "p"), 0.2 * 63.0 / 64.0);

    // In the RFC p falls by 2 Hz * 15 ms with the delay first.
    let mut rfc = bench(PieParams { alpha: 32.0, beta: 0.0, ..rfc() });
    delay(&mut rfc, 600, 240);
    rfc.run_timers(1_500 * MS);
    near(probed(&rfc, "p"), 1.0);
    while rfc.dequeue(1_500 * MS).is_some() {}
    let down = 2.0 * 0.015;
    rfc.run_timers(1_515 * MS);
    near(probed(&rfc, "p"), 1.0 - down);
    rfc.run_timers(1_530 * MS);
    near(probed(&rfc, "p"), (1.0 - 2.0 * down) * 0.98);
}

/// Nothing is dropped until the allowance of 150 ms is used up: in Linux by the time between departures, in the RFC's
/// mode by updates. It is restored when congestion has gone.
#[test]
fn burst_allowance() {
    let mut by_departures = bench(linux());
    for at in [0, 10, 30, 60, 100] {
        by_departures.arrive(at * MS, Kind::Ect0);
        by_departures.arrive(at * MS, Kind::Ect0);
        by_departures.dequeue(at * MS).unwrap();
        // The first departure has none before it.
        near(probed(&by_departures, "burst_s"), 0.150 - at as f64 * 1e-3);
    }
    by_departures.dequeue(400 * MS).unwrap();
    near(probed(&by_departures, "burst_s"), 0.0);
    // Empty, p = 0: the first update starts again.
    while by_departures.dequeue(401 * MS).is_some() {}
    by_departures.run_timers(update(0) * MS);
    near(probed(&by_departures, "burst_s"), 0.150);
    // Idle time before the first departure after that does not belong to the burst.
    by_departures.arrive(900 * MS, Kind::Ect0);
    by_departures.dequeue(905 * MS).unwrap();
    near(probed(&by_departures, "burst_s"), 0.150);

    let params = PieParams { burst_mode: PieBurstMode::Rfc, ..rfc() };
    let mut by_updates = bench(params);
    // 15 packets, one every 20 ms: the delay rises to 280 ms while departures do not count.
    for _ in 0..15 {
        by_updates.arrive(0, Kind::Ect0);
    }
    let mut expected = 0.150;
    for n in 1..15 {
        by_updates.dequeue((n * 20) * MS).unwrap();
        let updates = n * 20 / 15;
        // The updates up to 15 ms saw no delay: p = 0 and the allowance stays whole.
        expected = (0.150 - 0.015 * (updates - 1) as f64).max(0.0);
        near(probed(&by_updates, "burst_s"), expected);
    }
    near(expected, 0.0);
}

/// With an allowance nothing is signalled at any p; without, most packets are.
#[test]
fn burst_bypasses_the_drop() {
    let run = |max_burst| {
        let params = PieParams { alpha: 0.0, beta: 0.0, max_burst, ..linux() };
        let mut bench = bench(params);
        delay(&mut bench, 490, 260);
        bench.run_timers(1_200 * MS);
        near(probed(&bench, "p"), 44.0 * 0.02);
        three_packets(&mut bench, 1_201);
        count(&signals(&mut bench, 1_201, 100, 1_500, Kind::NotEct))
    };
    assert_eq!(run(Duration::from_secs(1)), 0);
    assert!(run(Duration::ZERO) > 80);
}

/// Below half of the target nothing is dropped while p < 0.2. Linux looks at the last departure, the RFC at the
/// last update.
#[test]
fn half_target_gate() {
    // p = 0.18 and 0.2, at 7 ms and at 8 ms; half of the target is 7.5 ms.
    for (steps, sojourn_ms, dropped) in [(9, 7, false), (9, 8, true), (11, 7, true), (11, 8, true)] {
        let (mut bench, now) = held(&linux(), steps, sojourn_ms);
        three_packets(&mut bench, now);
        let signals = signals(&mut bench, now, 100, 1_500, Kind::NotEct);
        assert_eq!(count(&signals) > 0, dropped, "{steps} steps, {sojourn_ms} ms");
    }
    // Of two delays, the first is that at the last update, the second that of the last departure.
    let after = |variant, first_ms: u64, second_ms: u64| {
        let params = PieParams { variant, alpha: 32.0, beta: 0.0, max_burst: Duration::ZERO, ..linux() };
        let mut bench = bench(params);
        delay(&mut bench, 600, 20);
        let mut update = 0;
        while probed(&bench, "p") < 0.1 {
            update = bench.next_timer().unwrap().as_nanos() / MS;
            bench.run_timers(update * MS);
        }
        delay(&mut bench, update + 1 + first_ms, first_ms);
        delay(&mut bench, update + 16 + second_ms, second_ms);
        let now = update + 16 + second_ms;
        near(probed(&bench, "qdelay_s"), second_ms as f64 * 1e-3);
        assert!(probed(&bench, "p") < 0.2);
        three_packets(&mut bench, now);
        count(&signals(&mut bench, now, 100, 1_500, Kind::NotEct)) > 0
    };
    assert!(!after(PieVariant::Linux, 12, 1));
    assert!(after(PieVariant::Rfc, 12, 1));
    assert!(after(PieVariant::Linux, 1, 12));
    assert!(!after(PieVariant::Rfc, 1, 12));
}

/// A queue below 2 MTU is too short to drop from; in the RFC, so is one of 2 MTU.
#[test]
fn short_queue_gate() {
    for (variant, backlog, dropped) in [
        (PieVariant::Linux, 2_999, false),
        (PieVariant::Linux, 3_000, true),
        (PieVariant::Rfc, 3_000, false),
        (PieVariant::Rfc, 3_001, true),
    ] {
        // p = 1 or, in Linux, more.
        let params = PieParams { variant, alpha: 32.0, beta: 0.0, max_burst: Duration::ZERO, ..linux() };
        let mut bench = bench(params);
        delay(&mut bench, 600, 240);
        bench.run_timers(1_500 * MS);
        assert!(probed(&bench, "p") >= 1.0);
        let filler = bench.packet(0, backlog - 1_500, Kind::NotEct);
        bench.enqueue(1_500 * MS, filler);
        assert_eq!(bench.backlog().bytes, Bytes::new(backlog));
        bench.arrive(1_500 * MS, Kind::NotEct);
        assert_eq!(bench.stats().drops_aqm, u64::from(dropped), "{variant:?} {backlog}");
    }
}

/// No signal before the probabilities of the packets passed add up to 0.85: 5 packets at p = 0.18. The sum starts
/// again after each signal, and after a tail drop.
#[test]
fn derandomized() {
    let (mut bench, now) = held(&linux(), 9, 20);
    three_packets(&mut bench, now);
    let start = probed(&bench, "accu");
    let signals = signals(&mut bench, now, 10_000, 1_500, Kind::NotEct);
    let mut accu = start;
    for (i, &signal) in signals.iter().enumerate() {
        accu += 0.18;
        assert!(!signal || accu > 0.85 - 1e-9, "packet {i} at {accu}");
        if signal {
            accu = 0.0;
        }
    }
    near(probed(&bench, "accu"), accu);
    // 4 packets without a coin, then 1 / p on average: 10000 / (4 + 5.556) are 1046. The variance of the gap is
    // (1 - p) / p^2 = 25.3, that of the count 10000 * 25.3 / 9.556^3, so 17 is a standard deviation.
    let expected = 10_000.0 / (4.0 + 1.0 / 0.18);
    assert!((count(&signals) as f64 - expected).abs() < 4.0 * 17.0, "{} of {expected}", count(&signals));
}

/// A tail drop resets the sum; so does one that is delivered with CE, which is counted as one drop.
#[test]
fn tail_drop_resets_accu() {
    for deliver_drops in [false, true] {
        let params = PieParams { alpha: 0.0, beta: 0.0, max_burst: Duration::ZERO, ..linux() };
        let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(5));
        bench.cx.deliver_drops = deliver_drops;
        delay(&mut bench, 490, 260);
        bench.run_timers(update(0) * MS);
        near(probed(&bench, "p"), 0.02);
        // One packet stayed. The first packet to arrive finds less than 2 MTU in the queue; the other three are
        // counted.
        for _ in 0..4 {
            bench.arrive(505 * MS, Kind::NotEct);
        }
        near(probed(&bench, "accu"), 0.06);
        bench.arrive(505 * MS, Kind::NotEct);
        near(probed(&bench, "accu"), 0.0);
        assert_eq!((bench.stats().drops_full, bench.stats().drops_aqm, bench.drops().len()), (1, 0, 1));
        assert_eq!(bench.stats().lost, u64::from(!deliver_drops));
        // At p >= 1 too.
        bench.run_timers(1_500 * MS);
        near(probed(&bench, "p"), 63.0 * 0.02);
        bench.arrive(1_500 * MS, Kind::NotEct);
        assert_eq!((bench.stats().drops_full, bench.stats().drops_aqm, bench.drops().len()), (2, 0, 2));
        near(probed(&bench, "accu"), 0.0);
    }
}

/// A coin for every packet signals with p itself; `recur` exactly so, without a coin.
#[test]
fn coin_and_recur() {
    let run = |random| {
        let (mut bench, now) = held(&PieParams { random, ..linux() }, 15, 20);
        three_packets(&mut bench, now);
        signals(&mut bench, now, 10_000, 1_500, Kind::NotEct)
    };
    // p = 0.3; four standard deviations of the binomial distribution.
    let coin = count(&run(PieRandom::Coin)) as f64;
    assert!((coin - 3_000.0).abs() < 4.0 * 2_100.0_f64.sqrt(), "{coin}");
    let recur = run(PieRandom::Recur);
    assert!(count(&recur).abs_diff(3_000) <= 1, "{}", count(&recur));
    assert!(recur.windows(5).all(|five| (1..=2).contains(&count(five))));
}

/// `ecn`: CE to packets that understand it, up to p = 10 %; above, and without `ecn`, drops. Packets that do not
/// understand CE are dropped in any case, and so is L4S in an MDS queue (section 0.3).
#[test]
fn mark_or_drop() {
    let run = |ecn, steps: u64, kind, mode| {
        let params = PieParams {
            ecn,
            ecn_prob: Probability::clamped(0.1),
            alpha: 0.0,
            beta: 0.0,
            max_burst: Duration::ZERO,
            ..linux()
        };
        let policy = EcnPolicy { mode, ..EcnPolicy::default() };
        let mut bench = Bench::of(QueueSpec::new(params).build(&QueueInit {
            ecn: policy,
            age: Duration::ZERO,
            ..QueueInit::new(Limit::Unlimited, 1)
        }));
        bench.cx.deliver_drops = false;
        delay(&mut bench, 490, 260);
        let now = update(steps - 1);
        bench.run_timers(now * MS);
        three_packets(&mut bench, now);
        let signals = signals(&mut bench, now, 500, 1_500, kind);
        assert!(count(&signals) > 10, "{}", count(&signals));
        assert_eq!(bench.stats().sce, 0);
        let marked = bench.stats().ce == count(&signals) as u64;
        assert_eq!(bench.stats().lost, if marked { 0 } else { count(&signals) as u64 });
        marked
    };
    for (kind, mode, understood) in [
        (Kind::Ect0, EcnMode::Mds, true),
        (Kind::Mds, EcnMode::Mds, true),
        (Kind::NotEct, EcnMode::Mds, false),
        (Kind::Ect1, EcnMode::Mds, false),
        (Kind::Ect1, EcnMode::Rfc3168, true),
        (Kind::Ect0, EcnMode::Sce, true),
        (Kind::Ect0, EcnMode::None, false),
    ] {
        assert_eq!(run(true, 4, kind, mode), understood, "{kind:?} {mode:?}");
        assert!(!run(true, 6, kind, mode), "{kind:?} {mode:?} above 10 %");
        assert!(!run(false, 4, kind, mode), "{kind:?} {mode:?} without ecn");
    }
}

/// With bytemode a packet of half an MTU counts half, at most an MTU whole, a longer one as if it were not on.
#[test]
fn bytemode() {
    let added = |bytemode, size| {
        let params = PieParams { bytemode, mtu: Bytes::new(1_500), ..linux() };
        let (mut bench, now) = held(&params, 15, 20);
        three_packets(&mut bench, now);
        let before = probed(&bench, "accu");
        signals(&mut bench, now, 1, size, Kind::NotEct);
        probed(&bench, "accu") - before
    };
    for (bytemode, size, expected) in
        [(true, 750, 0.15), (true, 1_500, 0.3), (true, 150, 0.03), (true, 9_000, 0.3), (false, 750, 0.3)]
    {
        near(added(bytemode, size), expected);
    }
}
