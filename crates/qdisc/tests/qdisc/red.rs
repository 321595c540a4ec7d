//! RED's rules one by one: spec/queues-and-signalling section 3; Floyd and Jacobson 1993; Adaptive RED 2001.

use windtunnel_qdisc::{Limit, QueueSpec, RedIdle, RedParams, RedRandom};
use windtunnel_units::{Bytes, Probability, Rate};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;
const US: u64 = 1_000;

fn bench(params: RedParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    bench
}

/// The test point of the specification: 30 to 90 kB, shift 5. With 1500-byte packets these are 20 and 60 packets.
fn test_point() -> RedParams {
    RedParams { burst: Some(55), ..band(30, 90) }
}

fn band(min_kb: u64, max_kb: u64) -> RedParams {
    let kb = |n| Some(Bytes::new(n * 1_000));
    RedParams { min: kb(min_kb), max: kb(max_kb), ecn: true, ..RedParams::default() }
}

/// W = 1/2: 2 + 1 - 20/10 <= (1 - 1/4) / (1/2), for packets of 10 kB, which are 10 ms of idle time.
fn half() -> RedParams {
    RedParams { avpkt: Bytes::new(10_000), burst: Some(2), bandwidth: Rate::from_mbps(8), ..band(20, 60) }
}

fn probed(bench: &Bench, name: &str) -> f64 {
    bench.probed(name).unwrap()
}

fn near(got: f64, expected: f64) {
    assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1e-3), "{got}, expected {expected}");
}

/// ECN-capable packets come and go with `packets` in the queue until the average equals that queue.
fn hold(bench: &mut Bench, at_ms: u64, packets: usize) {
    while bench.backlog().packets < packets {
        bench.arrive(at_ms * MS, Kind::Ect0);
    }
    while bench.backlog().packets > packets {
        bench.dequeue(at_ms * MS);
    }
    for _ in 0..3_000 {
        pass(bench, at_ms, Kind::Ect0);
    }
    near(probed(bench, "avg_bytes"), 1_500.0 * packets as f64);
}

/// A packet arrives, and one leaves if it stays. Whether it was signalled.
fn pass(bench: &mut Bench, at_ms: u64, kind: Kind) -> bool {
    let before = (bench.stats().ce + bench.stats().drops_aqm, bench.stats().lost);
    bench.arrive(at_ms * MS, kind);
    if bench.stats().lost == before.1 {
        bench.dequeue(at_ms * MS);
    }
    bench.stats().ce + bench.stats().drops_aqm > before.0
}

/// The lengths of `n` gaps: a signal after every packet is a gap of 1.
fn gaps(bench: &mut Bench, n: usize) -> Vec<u64> {
    let mut gaps = Vec::new();
    let mut gap = 0;
    while gaps.len() < n {
        gap += 1;
        if pass(bench, 0, Kind::Ect0) {
            gaps.push(std::mem::take(&mut gap));
        }
    }
    gaps
}

fn mean(gaps: &[u64]) -> f64 {
    gaps.iter().sum::<u64>() as f64 / gaps.len() as f64
}

/// The average of the backlogs that packets find, by hand for W = 1/2 and 1500-byte packets: 0, 1500, 3000, 4500,
/// 6000.
#[test]
fn average() {
    let mut bench = bench(half());
    for expected in [0.0, 750.0, 1_875.0, 3_187.5, 4_593.75] {
        bench.arrive(0, Kind::NotEct);
        near(probed(&bench, "avg_bytes"), expected);
    }
}

/// With the weight of the test point, 1/32: the first arrivals find 0, 1, 2 packets of 1500 bytes.
#[test]
fn average_at_the_test_point() {
    let mut bench = bench(test_point());
    let mut avg = 0.0;
    for queued in 0..200 {
        bench.arrive(0, Kind::Ect0);
        avg += (1_500.0 * f64::from(queued) - avg) / 32.0;
        near(probed(&bench, "avg_bytes"), avg);
    }
}

/// Idle time starts when the last packet has been sent, 1.2 ms after it left the queue at 10 Mbit/s. From then on the
/// average halves every 10 ms, whether or not a packet that came was dropped.
#[test]
fn idle_time() {
    let mut bench = bench(RedParams { ecn: false, ..half() });
    for _ in 0..5 {
        bench.arrive(0, Kind::NotEct);
    }
    for k in 0..5 {
        bench.dequeue(k * 1_200 * US).unwrap();
    }
    let sent = 5 * 1_200 * US;
    // The last packet is still on the wire: this one finds no backlog, which counts with weight 1/2.
    bench.arrive(sent, Kind::NotEct);
    near(probed(&bench, "avg_bytes"), 4_593.75 / 2.0);
    bench.dequeue(sent).unwrap();
    bench.arrive(sent + 1_200 * US + 10 * MS, Kind::NotEct);
    near(probed(&bench, "avg_bytes"), 4_593.75 / 4.0);
    bench.dequeue(sent + 1_200 * US + 10 * MS).unwrap();
    bench.arrive(sent + 2_400 * US + 40 * MS, Kind::NotEct);
    near(probed(&bench, "avg_bytes"), 4_593.75 / 32.0);
}

/// Packets that find the queue empty and are dropped do not end idle time: each finds the average lower, by the square
/// root of 2 for each 5 ms. Above 60 kB they are dropped; below, the first one starts a gap.
#[test]
fn dropped_in_idle_time() {
    let mut bench = bench(half());
    hold(&mut bench, 0, 200);
    while bench.dequeue(0).is_some() {}
    // The first one arrives just as the last packet has been sent: there is no idle time, but no backlog either.
    let mut expected = 150_000.0;
    for k in 0..4 {
        bench.arrive(1_200 * US + k * 5 * MS, Kind::NotEct);
        near(probed(&bench, "avg_bytes"), expected);
        assert_eq!(bench.stats().lost, (k + 1).min(3));
        expected /= 2.0_f64.sqrt();
    }
    assert_eq!(bench.backlog().packets, 1);
}

/// Linux's table for idle time, in a queue: W = 1/2 and 10 ms a packet make l = ln 2 / 10 ms; 31 / l is 447 ms, cells
/// are 1024 us; the shift is floor(0.07098 i): 1 from cell 15 on, where the exact law still has 0.345.
#[test]
fn idle_time_of_linux() {
    let after = |idle, us: u64| {
        let mut bench = bench(RedParams { idle, ..half() });
        hold(&mut bench, 0, 10);
        while bench.dequeue(0).is_some() {}
        bench.arrive((1_200 + us) * US, Kind::Ect0);
        probed(&bench, "avg_bytes") / 15_000.0
    };
    near(after(RedIdle::Linux, 256), 0.75);
    near(after(RedIdle::Linux, 15 * 1_024), 0.5);
    near(after(RedIdle::Linux, 29 * 1_024), 0.25);
    near(after(RedIdle::Exact, 10_000), 0.5);
    near(after(RedIdle::Exact, 20_000), 0.25);
}

/// The probability at several averages: nothing below `min`, a line up to `max_p`, then every packet; gently a line up
/// to 1 at twice `max`, and every packet from there.
#[test]
fn probability() {
    let at = |gentle, packets| {
        let mut bench = bench(RedParams { gentle, ..test_point() });
        hold(&mut bench, 0, packets);
        probed(&bench, "p")
    };
    for (packets, plain, gentle) in [
        (10, 0.0, 0.0),
        (20, 0.0, 0.0),
        (30, 0.005, 0.005),
        (40, 0.01, 0.01),
        (59, 0.02 * 39.0 / 40.0, 0.02 * 39.0 / 40.0),
        (61, 1.0, 0.02 + 0.98 / 60.0),
        (90, 1.0, 0.51),
        (119, 1.0, 0.02 + 0.98 * 59.0 / 60.0),
        (121, 1.0, 1.0),
    ] {
        near(at(false, packets), plain);
        near(at(true, packets), gentle);
    }
}

/// The numbers of the specification: at the middle of the band with `max_p` 0.02 p is 0.01, gaps are uniform from 1 to
/// 100 packets, 50.5 on average. 20000 gaps have a mean with a standard error of 28.87 / sqrt(20000) = 0.204; the
/// chi-square of 100 equal bins has mean 99 and standard deviation 14.07.
#[test]
fn gaps_are_uniform() {
    let mut bench = bench(test_point());
    hold(&mut bench, 0, 40);
    gaps(&mut bench, 1);
    let gaps = gaps(&mut bench, 20_000);
    assert!(gaps.iter().all(|gap| (1..=100).contains(gap)));
    assert!((mean(&gaps) - 50.5).abs() < 4.0 * 0.204, "{}", mean(&gaps));
    let bin = |gap| gaps.iter().filter(|&&g| g == gap).count() as f64;
    let chi_square: f64 = (1..=100).map(|gap| (bin(gap) - 200.0) * (bin(gap) - 200.0) / 200.0).sum();
    assert!((chi_square - 99.0).abs() < 4.0 * 14.07, "{chi_square}");
}

/// At any average within the band, all gaps are at most ceil(1/p), and the frequency of signals is that of uniform
/// gaps, one in (k (k + 1) / 2 + (x - k) (k + 1)) / x packets with x = 1/p and k its whole part.
#[test]
fn frequency_follows_the_average() {
    for packets in [22, 25, 33, 50, 59] {
        let p = 0.02 * (packets as f64 - 20.0) / 40.0;
        let (x, k) = (1.0 / p, (1.0 / p).floor());
        let expected = (k * (k + 1.0) / 2.0 + (x - k) * (k + 1.0)) / x;
        let mut bench = bench(test_point());
        hold(&mut bench, 0, packets);
        gaps(&mut bench, 1);
        let gaps = gaps(&mut bench, 3_000);
        // 1e-9 of an average is the rounding of the thresholds.
        assert!(gaps.iter().all(|&gap| gap as f64 <= x.ceil() + 1e-6 * x), "{packets}");
        let error = x / 12.0_f64.sqrt() / 3_000.0_f64.sqrt();
        assert!((mean(&gaps) - expected).abs() < 4.0 * error, "{packets}: {} {expected}", mean(&gaps));
    }
}

/// Method 1 of the paper, coins: gaps are geometric, with mean 100 and standard deviation 99.5, and some are longer
/// than 100. Adding up: every hundredth packet, give or take the rounding of a sum.
#[test]
fn coin_and_recur() {
    let of = |random| {
        let mut bench = bench(RedParams { random, ..test_point() });
        hold(&mut bench, 0, 40);
        gaps(&mut bench, 1);
        gaps(&mut bench, 10_000)
    };
    let coin = of(RedRandom::Coin);
    assert!((mean(&coin) - 100.0).abs() < 4.0 * 0.995, "{}", mean(&coin));
    // P(gap > 100) = 0.99^100 = 0.366; the standard deviation of the count of 10000 is 48.
    let long = coin.iter().filter(|&&gap| gap > 100).count() as f64;
    assert!((long - 3_660.0).abs() < 4.0 * 48.2, "{long}");
    let recur = of(RedRandom::Recur);
    assert!(recur.iter().all(|gap| (99..=101).contains(gap)));
    assert!((mean(&recur) - 100.0).abs() < 0.01);
}

/// The first packet in the band starts a gap and is never signalled, at any p; the same holds for the first one after
/// the average was outside the band. With `max_p` = 1 and W = 1/2, 1500-byte packets.
#[test]
fn first_packet_of_the_band() {
    let params = RedParams { probability: Probability::ONE, ..half() };
    for packets in [39, 39, 26] {
        let mut bench = bench(params.clone());
        hold(&mut bench, 0, packets);
        // 20 to 60 kB are 13.3 to 40 packets; p is at least 0.475, so that gaps are at most 3.
        assert!(gaps(&mut bench, 100).into_iter().all(|gap| gap <= 3));
        hold(&mut bench, 0, 2);
        // From 2 packets up to the band again: the average is 3 kB, and with 40 packets queued at once 31.5 kB.
        while bench.backlog().packets < 40 {
            let marks = bench.stats().ce;
            let below = probed(&bench, "avg_bytes") < 20_000.0;
            bench.arrive(0, Kind::Ect0);
            if below {
                assert_eq!(bench.stats().ce, marks, "the first one at {} B", probed(&bench, "avg_bytes"));
            }
        }
    }
}

/// What a signal does, in the band (p = 1/2) and above it.
#[test]
fn verdicts() {
    let of = |params: RedParams, packets, kind| {
        let mut bench = bench(RedParams { probability: Probability::ONE, ..params });
        // The queue holds packets that can be marked, with all settings of the switches for hard signals.
        for _ in 0..3_000 {
            bench.arrive(0, Kind::Ect0);
            while bench.backlog().packets > packets {
                bench.dequeue(0);
            }
        }
        let before = bench.stats();
        for _ in 0..100 {
            pass(&mut bench, 0, kind);
        }
        let (ce, lost) = (bench.stats().ce - before.ce, bench.stats().drops_aqm - before.drops_aqm);
        (ce > 0, lost > 0)
    };
    let (nothing, marked, dropped) = ((false, false), (true, false), (false, true));
    let ecn = || RedParams { gentle: false, ..half() };
    let nodrop = || RedParams { nodrop: true, ..ecn() };
    for (hard, packets) in [(false, 26), (true, 60)] {
        assert_eq!(of(ecn(), packets, Kind::Ect0), marked, "{hard}");
        assert_eq!(of(ecn(), packets, Kind::Mds), marked, "{hard}");
        assert_eq!(of(ecn(), packets, Kind::NotEct), dropped, "{hard}");
        assert_eq!(of(ecn(), packets, Kind::Ect1), marked, "{hard}");
        assert_eq!(of(nodrop(), packets, Kind::NotEct), nothing, "{hard}");
        for kind in [Kind::Ect0, Kind::Ect1] {
            assert_eq!(of(nodrop(), packets, kind), marked, "{hard} {kind:?}");
        }
    }
    let harddrop = RedParams { harddrop: true, ..ecn() };
    assert_eq!(of(harddrop.clone(), 26, Kind::Ect0), marked);
    let plain = RedParams { ecn: false, ..ecn() };
    assert_eq!(of(plain, 26, Kind::Ect0), dropped);
}

/// Hard signals are drops with `harddrop`, to packets that could be marked: nothing is accepted while the average is
/// above `max`.
#[test]
fn harddrop() {
    let accepted = |harddrop| {
        let mut bench = bench(RedParams { harddrop, ..half() });
        // One burst, before the average of W = 1/2 follows: 45 packets.
        for _ in 0..45 {
            bench.arrive(0, Kind::Ect0);
        }
        let queued = bench.backlog().packets;
        for _ in 0..100 {
            bench.arrive(0, Kind::Ect0);
        }
        bench.backlog().packets - queued
    };
    assert_eq!((accepted(false), accepted(true)), (100, 0));
}

/// Every half second: above 60 % of the band `max_p` rises by a quarter of itself or by 0.01, whichever is less, until
/// it is above 0.5; below 40 % it falls by a tenth, until it is below 0.01; in between it stays.
#[test]
fn adaptive() {
    let params = RedParams { adaptive: true, ..test_point() };
    let mut up = bench(params.clone());
    hold(&mut up, 0, 45);
    let mut expected = 0.02_f64;
    for n in 1..60 {
        up.run_timers(n * 500 * MS - 1);
        near(probed(&up, "max_p"), expected);
        if expected <= 0.5 {
            expected += (expected / 4.0).min(0.01);
        }
        up.run_timers(n * 500 * MS);
        near(probed(&up, "max_p"), expected);
    }
    // By hand: 0.025, 0.03125, 0.0390625, 0.048828125, then steps of 0.01.
    near(expected, 0.508_828_125);

    let mut down = bench(params.clone());
    hold(&mut down, 0, 35);
    let mut expected = 0.02;
    for n in 1..20 {
        down.run_timers(n * 500 * MS);
        // 0.02 * 0.9^7 = 0.00957 is the first below 0.01.
        if n <= 7 {
            expected *= 0.9;
        }
        near(probed(&down, "max_p"), expected);
    }

    // Its target is 54 to 66 kB, 36 to 44 packets.
    for packets in [37, 40, 43] {
        let mut still = bench(params.clone());
        hold(&mut still, 0, packets);
        still.run_timers(5_000 * MS);
        near(probed(&still, "max_p"), 0.02);
    }

    // Idle time counts: after a while the average is below the band.
    let mut idle = bench(params);
    hold(&mut idle, 0, 45);
    while idle.dequeue(0).is_some() {}
    idle.run_timers(1_000 * MS);
    near(probed(&idle, "max_p"), 0.02 * 0.9 * 0.9);
    near(probed(&idle, "avg_bytes"), 67_500.0);
    assert!(bench(test_point()).next_timer().is_none(), "no timer where nothing is adapted");
}

/// Adaptive RED's automatic band follows the link's rate: 5 packets of 1500 bytes at 10 Mbit/s, half of 5 ms at
/// 100 Mbit/s, 31.25 kB; the average stays.
#[test]
fn automatic() {
    let params =
        RedParams { adaptive_auto: true, avpkt: Bytes::new(1_500), ecn: true, ..RedParams::default() };
    let mut bench = bench(params);
    hold(&mut bench, 0, 0);
    let thresholds = |bench: &mut Bench| {
        let signalled = (1..200).find(|&packets| {
            while bench.backlog().packets < packets {
                bench.arrive(0, Kind::Ect0);
            }
            for _ in 0..100_000 {
                pass(bench, 0, Kind::Ect0);
            }
            probed(bench, "p") > 0.0
        });
        signalled.unwrap()
    };
    assert_eq!(thresholds(&mut bench), 6);
    let avg = probed(&bench, "avg_bytes");
    bench.cx.rate = Rate::from_mbps(100);
    bench.run_timers(500 * MS);
    near(probed(&bench, "avg_bytes"), avg);
    near(probed(&bench, "p"), 0.0);
    // 31.25 kB are 20.8 packets.
    assert_eq!(thresholds(&mut bench), 21);
}

/// Adaptive RED's average on a link of 1000 packets of 1000 B per second: a packet has the weight 1 - exp(-1/1000),
/// and idle time takes exp(-t) of it at any rate, counted from the end of the last transmission even if the rate
/// changes meanwhile.
#[test]
fn automatic_average() {
    let mut bench = bench(RedParams { adaptive_auto: true, ecn: true, ..RedParams::default() });
    bench.cx.rate = Rate::from_mbps(8);
    let weight = 1.0 - libm::exp(-1e-3);
    let mut avg = 0.0;
    for queued in 0..10 {
        bench.arrive(9_000 * MS, Kind::Ect0);
        avg += weight * (1_500.0 * f64::from(queued) - avg);
        near(probed(&bench, "avg_bytes"), avg);
    }
    while bench.dequeue(9_998_500 * US).is_some() {}
    // 1500 B at 8 Mbit/s are 1.5 ms.
    bench.cx.rate = Rate::from_mbps(80);
    bench.arrive(10_500 * MS, Kind::Ect0);
    near(probed(&bench, "avg_bytes"), avg * libm::exp(-0.5));
}
