//! Delays that change with time: ramps and bursts.

use super::*;

fn delays_of(out: &[(Time, Packet)], gap_us: u64) -> Vec<f64> {
    let delay = |(at, packet): &(Time, Packet)| at.since(us(packet.seq.get() * gap_us)).as_nanos_f64() / 1e3;
    out.iter().map(delay).collect()
}

fn is(a: f64, b: f64) -> bool {
    a.total_cmp(&b).is_eq()
}

fn linear(reorder: bool) -> PlacedElement {
    let (min, max) = (Duration::from_micros(200), Duration::from_micros(1200));
    element(LinearDelayParams { min, max, period: Duration::from_millis(100), reorder })
}

/// From 200 us to 1200 us in 100 ms: 10 us per ms. A packet at 37 ms into a period has 570 us, exactly; and packets that enter
/// at times that are spread evenly over the period have delays that are spread evenly.
#[test]
fn a_ramp_is_a_straight_line() {
    let (out, _) = run(&mut linear(true), stream(1000, 1000));
    for (at, packet) in &out {
        let (n, delay) = (packet.seq.get(), at.since(us(packet.seq.get() * 1000)));
        assert_eq!(delay, Duration::from_micros(200 + 10 * (n % 100)), "{n}");
    }
    // 1.00003 ms apart, so that each period is entered at other times.
    let spread = (1..=20_000_u64).map(|n| (Time::from_nanos(n * 1_000_030), data(0, n)));
    let (out, _) = run(&mut linear(true), spread.collect());
    let delays = out
        .iter()
        .map(|(at, packet)| at.since(Time::from_nanos(packet.seq.get() * 1_000_030)).as_nanos_f64() / 1e3);
    assert_distribution(delays.collect(), |x| ((x - 200.0) / 1000.0).clamp(0.0, 1.0));
}

/// At the end of a period the delay falls by 1 ms. Packets 0.1 ms apart: with `reorder` ten of the new period leave before
/// the last of the old one, without it they wait for it, and none is early.
#[test]
fn a_ramp_keeps_the_order() {
    let (out, _) = run(&mut linear(false), stream(1100, 100));
    assert!(numbers(&out).is_sorted());
    // Number 999 entered at 99.9 ms with 1199 us: it leaves at 101.099 ms, and so do those that entered up to 100.8 ms.
    let together: Vec<u64> =
        out.iter().filter(|(at, _)| *at == us(101_099)).map(|(_, packet)| packet.seq.get()).collect();
    assert_eq!(together, (999..=1008).collect::<Vec<_>>());
    let mut free = linear(true);
    let (out, _) = run(&mut free, stream(1100, 100));
    assert!(!numbers(&out).is_sorted());
    assert!(free.stats().tally.reordered > 0);
}

fn bursts(min_ms: u64, max_ms: u64, probability: f64) -> PlacedElement {
    element(BurstDelayParams {
        min_period: Duration::from_millis(min_ms),
        max_period: Duration::from_millis(max_ms),
        probability: p(probability),
        latency: Duration::from_micros(500),
        reorder: true,
    })
}

/// Periods of 10 ms with a packet each ms: each period is delayed as a whole or not at all, and how many are is
/// binomial; so is the number of bursts that follow a burst (independence).
#[test]
fn bursts_take_whole_periods() {
    let (periods, share) = (20_000, 0.3);
    let (mut out, _) = run(&mut bursts(10, 10, share), stream(periods * 10, 1000));
    out.sort_by_key(|(_, packet)| packet.seq.get());
    let delays = delays_of(&out, 1000);
    // The first period has the packets 1 to 9, because the one at 0 does not exist.
    let whole: Vec<&[f64]> = delays[9..].chunks_exact(10).collect();
    assert!(whole.iter().all(|period| period.iter().all(|delay| is(*delay, period[0]))));
    let burst: Vec<bool> = whole.iter().map(|period| period[0] > 0.0).collect();
    assert!(whole.iter().all(|period| period[0] == 0.0 || is(period[0], 500.0)));
    let count = burst.iter().filter(|burst| **burst).count() as u64;
    assert_binomial(count, burst.len() as u64, share);
    let pairs = burst.windows(2).filter(|pair| pair[0] && pair[1]).count() as u64;
    assert_binomial(pairs, count, share);
}

/// Lengths of periods are even between the two, here 10 ms to 30 ms. With a probability of one half a stretch of equal delays
/// is a period or several; so the lengths are seen where two changes follow each other and no third period can fit: those
/// below 20 ms. Given that it is below 20 ms, a stretch is one period, and even from 10 to 20 ms.
#[test]
fn lengths_of_periods_are_even() {
    let (mut out, _) = run(&mut bursts(10, 30, 0.5), stream(2_000_000, 100));
    out.sort_by_key(|(_, packet)| packet.seq.get());
    let delays = delays_of(&out, 100);
    let stretches = delays.chunk_by(|a, b| is(*a, *b)).map(|stretch| stretch.len() as f64 * 0.1);
    let single: Vec<f64> = stretches.skip(1).filter(|ms| *ms < 19.95).collect();
    // A change is seen to 0.1 ms; the half of it is below what this many samples can tell.
    assert!(single.len() > 1000, "{}", single.len());
    let n = single.len() as f64;
    let mean = single.iter().sum::<f64>() / n;
    // The mean of an even distribution from 10 to 20, within 4 of its standard errors 10 / sqrt(12 n).
    assert!((mean - 15.0).abs() < 4.0 * 10.0 / libm::sqrt(12.0 * n) + 0.05, "{mean}");
    assert!(single.iter().all(|ms| *ms > 9.85));
}

/// In order, a packet behind a burst waits for the last of the burst: probability 1 delays all by the same.
#[test]
fn certain_bursts_are_a_fixed_delay() {
    let (out, _) = run(&mut bursts(1, 7, 1.0), stream(1000, 100));
    assert!(delays_of(&out, 100).iter().all(|delay| is(*delay, 500.0)));
    let (out, _) = run(&mut bursts(1, 7, 0.0), stream(1000, 100));
    assert!(delays_of(&out, 100).iter().all(|delay| *delay == 0.0));
}
