//! Each element alone: its effect on a stream of packets, against its definition.
//!
//! Seeds are fixed, so no test is flaky; the bounds say how unlikely a correct implementation would be to miss them
//! with a random seed: 4 standard deviations are 6 in 100,000, the Kolmogorov-Smirnov bound 1.95 is 1 in 1000.

use std::sync::Arc;

use windtunnel_units::{Bytes, Duration, Probability, Seq, Time};
use windtunnel_wire::{FlowId, Options, Packet, SackBlock, TcpFlags};

use super::*;
use crate::TimeDistribution;

mod middleboxes;
mod order;
mod periods;

const MTU: Bytes = Bytes::new(1500);

fn us(us: u64) -> Time {
    Time::from_nanos(us * 1000)
}

fn p(p: f64) -> Probability {
    Probability::new(p).unwrap()
}

fn data(flow: u32, number: u64) -> Packet {
    let mut packet = Packet::new(FlowId::new(flow), MTU, Bytes::new(1448));
    packet.seq = Seq::new(number);
    packet
}

fn ack(flow: u32, number: u64) -> Packet {
    let mut packet = Packet::new(FlowId::new(flow), Bytes::new(52), Bytes::ZERO);
    packet.ack = Seq::new(number);
    packet.flags = TcpFlags::ACK;
    packet
}

fn element(params: impl ElementParams) -> PlacedElement {
    PlacedElement::new(&ElementSpec {
        name: "medium".into(),
        config: Arc::new(params),
        only: None,
        during: None,
        seed: 1,
    })
}

/// All packets that leave an element, with their times, when packets arrive at the given times; and the lost
/// packets. Events at one time: arrivals first.
fn run(element: &mut PlacedElement, packets: Vec<(Time, Packet)>) -> (Vec<(Time, Packet)>, Vec<Packet>) {
    let (mut out, mut lost) = (Vec::new(), Vec::new());
    let mut last = Time::ZERO;
    let release = |element: &mut PlacedElement, until: Time, last: &mut Time, out: &mut Vec<_>| {
        while element.next_release() < until {
            let now = element.next_release().max(*last);
            *last = now;
            while let Some(packet) = element.release(now) {
                out.push((now, packet));
            }
        }
    };
    for (now, packet) in packets {
        release(element, now, &mut last, &mut out);
        last = now;
        match element.enter(packet, now) {
            Passage::On(packet) => out.push((now, packet)),
            Passage::Twice(packet, copy) => out.extend([(now, packet), (now, copy)]),
            Passage::Lost(packet) => lost.push(packet),
            Passage::Held => {}
            Passage::Replacing(passed, older) => {
                lost.push(older);
                out.extend(passed.map(|packet| (now, packet)));
            }
        }
        let stats = *element.stats();
        assert_eq!(stats.arrived + stats.duplicated, stats.passed + stats.lost + element.held());
        assert_eq!(stats.lost, lost.len() as u64);
        // Packets that left by `release` are counted too.
        assert_eq!(stats.passed, out.len() as u64);
    }
    release(element, Time::NEVER, &mut last, &mut out);
    assert_eq!(element.held(), 0, "everything is released in the end");
    (out, lost)
}

fn key(params: &impl ElementParams) -> Result<(), &'static str> {
    params.check().map_err(|error| error.key)
}

fn stream(n: u64, gap_us: u64) -> Vec<(Time, Packet)> {
    (1..=n).map(|i| (us(i * gap_us), data(0, i))).collect()
}

fn numbers(packets: &[(Time, Packet)]) -> Vec<u64> {
    packets.iter().map(|(_, packet)| packet.seq.get()).collect()
}

/// Within 4 standard deviations of a binomial distribution.
fn assert_binomial(count: u64, n: u64, p: f64) {
    let (mean, deviation) = (n as f64 * p, libm::sqrt(n as f64 * p * (1.0 - p)));
    assert!((count as f64 - mean).abs() < 4.0 * deviation, "{count} of {n} with probability {p}");
}

/// Kolmogorov-Smirnov: the largest distance of the samples' distribution from `cdf`.
fn assert_distribution(mut samples: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    samples.sort_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = samples.iter().enumerate().fold(0.0_f64, |d, (i, x)| {
        let f = cdf(*x);
        d.max((f - i as f64 / n).abs()).max(((i + 1) as f64 / n - f).abs())
    });
    assert!(distance < 1.95 / libm::sqrt(n), "distance {distance}");
}

/// Bernoulli losses: their share, and that a loss after a loss is no more or less likely than any other (independence).
#[test]
fn losses_are_independent() {
    let n = 200_000;
    let mut medium = element(LossParams { probability: p(0.05), affects: Affects::All });
    let (_, lost) = run(&mut medium, stream(n, 1));
    assert_binomial(lost.len() as u64, n, 0.05);
    let pairs = lost.windows(2).filter(|w| w[1].seq.get() == w[0].seq.get() + 1).count() as u64;
    assert_binomial(pairs, lost.len() as u64, 0.05);
}

/// Gilbert-Elliott with losses in the bad state only: the share p/(p+r); bursts are geometric with mean 1/r, and so are the
/// gaps between them with mean 1/p.
#[test]
fn gilbert_elliott_bursts() {
    let params = GilbertElliottParams { p: p(0.01), r: p(0.25), ..GilbertElliottParams::default() };
    let mut medium = element(params);
    let n = 400_000;
    let (_, lost) = run(&mut medium, stream(n, 1));
    let begins = |w: &&[Packet]| w[1].seq.get() > w[0].seq.get() + 1;
    let bursts = lost.windows(2).filter(begins).count() as u64 + 1;
    // A burst ends at a packet with probability r, a gap with probability p: both counts are binomial.
    assert_binomial(bursts, lost.len() as u64, 0.25);
    assert_binomial(bursts, n - lost.len() as u64, 0.01);
    let share = lost.len() as f64 / n as f64;
    assert!((share / (0.01 / 0.26) - 1.0).abs() < 0.05, "{share}");
}

/// Losses in both states: the share is (r good + p bad) / (p + r), whichever state loses.
#[test]
fn gilbert_elliott_loses_in_both_states() {
    let params = GilbertElliottParams {
        p: p(0.2),
        r: p(0.3),
        loss_good: p(0.1),
        loss_bad: p(0.6),
        affects: Affects::All,
    };
    let mut medium = element(params);
    let (_, lost) = run(&mut medium, stream(200_000, 1));
    let expected = (0.3 * 0.1 + 0.2 * 0.6) / 0.5;
    assert!((lost.len() as f64 / 200_000.0 / expected - 1.0).abs() < 0.03, "{}", lost.len());
}

/// Every 10th packet of each flow, or of all together; ACKs are not counted.
#[test]
fn periodic_losses() {
    let mixed =
        || (1..=100).flat_map(|i| [(us(i), data(0, i)), (us(i), ack(0, i)), (us(i), data(1, i))]).collect();
    let lost = |per_flow| {
        let params = PeriodicLossParams { every: 10, per_flow, affects: Affects::Data };
        let (_, lost) = run(&mut element(params), mixed());
        lost.iter().map(|packet| (packet.flow.get(), packet.seq.get())).collect::<Vec<_>>()
    };
    let each: Vec<_> = (1..=10).flat_map(|i| [(0, i * 10), (1, i * 10)]).collect();
    assert_eq!(lost(true), each);
    // Together: the 10th, 20th, ... of 200 data packets are the 5th, 10th, ... of flow 1.
    assert_eq!(lost(false), (1..=20).map(|i| (1, i * 5)).collect::<Vec<_>>());
}

/// Exactly the listed packets.
#[test]
fn scripted_losses() {
    let params = ScriptedLossParams { packets: vec![1, 4, 5, 100], ..ScriptedLossParams::default() };
    let (out, lost) = run(&mut element(params), stream(10, 1));
    assert_eq!(lost.iter().map(|packet| packet.seq.get()).collect::<Vec<_>>(), [1, 4, 5]);
    assert_eq!(numbers(&out), [2, 3, 6, 7, 8, 9, 10]);
}

/// Damaged packets go on, marked; duplicates are equal and adjacent; both at their rates.
#[test]
fn damage_and_duplication() {
    let n = 100_000;
    let params = CorruptionParams { probability: p(0.02), affects: Affects::All };
    let mut medium = element(params);
    let (out, _) = run(&mut medium, stream(n, 1));
    let damaged = out.iter().filter(|(_, packet)| packet.is_corrupted()).count() as u64;
    assert_eq!((out.len() as u64, medium.stats().tally.corrupted), (n, damaged));
    assert_binomial(damaged, n, 0.02);

    let params = DuplicationParams { probability: p(0.02), affects: Affects::All };
    let mut medium = element(params);
    let (out, _) = run(&mut medium, stream(n, 1));
    let doubled = out.windows(2).filter(|w| w[0].1 == w[1].1 && w[0].0 == w[1].0).count() as u64;
    assert_eq!((out.len() as u64, medium.stats().duplicated), (n + doubled, doubled));
    assert_binomial(doubled, n, 0.02);
}

fn jitter(shape: JitterShape, mean_us: u64, deviation_us: u64, reorder: bool) -> PlacedElement {
    element(JitterParams {
        distribution: shape.into(),
        mean: Some(Duration::from_micros(mean_us)),
        deviation: Some(Duration::from_micros(deviation_us)),
        reorder,
    })
}

/// Delays in microseconds of packets that do not meet each other: 1 s apart.
fn delays(medium: &mut PlacedElement) -> Vec<f64> {
    let (out, _) = run(medium, stream(20_000, 1_000_000));
    let delay = |(at, packet): &(Time, Packet)| at.since(us(packet.seq.get() * 1_000_000));
    out.iter().map(|packet| delay(packet).as_nanos_f64() / 1e3).collect()
}

/// Each distribution against its closed form. The part below zero becomes a probability at zero.
#[test]
fn jitter_has_its_distribution() {
    let fixed = JitterParams {
        distribution: JitterShape::Fixed.into(),
        mean: Some(Duration::from_micros(700)),
        deviation: None,
        reorder: false,
    };
    let fixed = delays(&mut element(fixed));
    assert!(fixed.iter().all(|delay| (delay - 700.0).abs() < 1e-9));
    let uniform = delays(&mut jitter(JitterShape::Uniform, 700, 300, false));
    assert_distribution(uniform, |x| ((x - 400.0) / 600.0).clamp(0.0, 1.0));
    let normal = delays(&mut jitter(JitterShape::Normal, 1000, 200, false));
    assert_distribution(normal, |x| 0.5 * (1.0 + libm::erf((x - 1000.0) / 200.0 / libm::sqrt(2.0))));
    // Mean 800 and standard deviation 400: shape 1 + sqrt(5), least value 800 (1 - 1/shape) = 552.8.
    let pareto = delays(&mut jitter(JitterShape::Pareto, 800, 400, false));
    let shape = 1.0 + libm::sqrt(5.0);
    let least = 800.0 * (1.0 - 1.0 / shape);
    let mean = pareto.iter().sum::<f64>() / pareto.len() as f64;
    // 4 standard errors of 400 / sqrt(20,000).
    assert!((mean - 800.0).abs() < 4.0 * 400.0 / libm::sqrt(20_000.0), "{mean}");
    assert_distribution(pareto, |x| 1.0 - libm::pow(least / x.max(least), shape));
    let cut = delays(&mut jitter(JitterShape::Uniform, 100, 300, false));
    let zeros = cut.iter().filter(|delay| **delay == 0.0).count() as u64;
    assert_binomial(zeros, 20_000, 200.0 / 600.0);
}

/// What is left out is filled in where the distribution has it, and only there; a table is one of the distributions.
#[test]
fn jitter_as_it_is_written() {
    let read = |text: &str| serde_json::from_str::<JitterParams>(text).unwrap();
    let ms = |ms| Some(Duration::from_millis(ms));
    assert_eq!(read("{}"), JitterParams::default());
    let normal = read(r#"{"distribution": "normal", "mean": "5 ms"}"#);
    assert_eq!((normal.mean, normal.deviation), (ms(5), ms(1)));
    let wifi = read(r#"{"distribution": "wifi"}"#);
    assert_eq!((wifi.mean, wifi.deviation), (ms(1), None));
    let listed = read(r#"{"distribution": {"kind": "listed", "values": ["1 ms", "3 ms"]}}"#);
    assert_eq!((listed.mean, listed.deviation), (None, None));
    for params in [normal, wifi, listed] {
        Params::check(&params).unwrap();
        assert_eq!(read(&serde_json::to_string(&params).unwrap()), params);
    }
    for wrong in [
        r#"{"distribution": "poisson"}"#,
        r#"{"distribution": {"values": ["1 ms"]}}"#,
        r#"{"distribution": 3}"#,
    ] {
        assert!(serde_json::from_str::<JitterParams>(wrong).is_err(), "{wrong}");
    }
}

/// Measured delays: a list has its values in equal shares, and a cumulative distribution its straight lines.
#[test]
fn jitter_of_measured_delays() {
    let table = |text: &str| element(serde_json::from_str::<JitterParams>(text).unwrap());
    let listed = delays(&mut table(
        r#"{"distribution": {"kind": "listed", "values": ["1 ms", "4 ms", "1 ms", "9 ms"]}}"#,
    ));
    for (value, share) in [(1000.0, 0.5), (4000.0, 0.25), (9000.0, 0.25)] {
        assert_binomial(
            listed.iter().filter(|delay| (**delay - value).abs() < 1e-6).count() as u64,
            20_000,
            share,
        );
    }
    let points = r#"[{"value": "0 ms", "probability": 0}, {"value": "2 ms", "probability": 0.8}, {"value": "10 ms", "probability": 1}]"#;
    let cdf =
        delays(&mut table(&format!(r#"{{"distribution": {{"kind": "empirical", "points": {points}}}}}"#)));
    assert_distribution(
        cdf,
        |x| if x < 2000.0 { 0.8 * x / 2000.0 } else { 0.8 + 0.2 * (x - 2000.0) / 8000.0 },
    );
}

/// Wi-Fi in place: the mean is 0.684 ms for the short part and 6 ms for the long one (`wifi.rs`), within 4 standard errors
/// of 24 ms / sqrt(20,000); no packet overtakes another where they meet.
#[test]
fn jitter_of_wifi() {
    let params = || JitterParams {
        distribution: JitterShape::Wifi.into(),
        mean: Some(Duration::from_millis(7)),
        deviation: None,
        reorder: false,
    };
    let apart = delays(&mut element(params()));
    let mean = apart.iter().sum::<f64>() / apart.len() as f64;
    assert!((mean - 6684.0).abs() < 4.0 * 24_000.0 / libm::sqrt(20_000.0), "{mean}");
    let (out, lost) = run(&mut element(params()), stream(20_000, 1000));
    assert!(lost.is_empty() && numbers(&out).is_sorted());
}

/// 802.11-like: packets 50 us apart in bursts of 16, so that a burst lasts 0.75 ms and none waits for 5.5 ms; and 1 ms apart:
/// a burst has what comes within 5.5 ms of its first packet, which are six.
#[test]
fn aggregation_bursts() {
    let params = AggregationParams { packets: 16, ..AggregationParams::default() };
    let mut medium = element(params.clone());
    let (out, _) = run(&mut medium, stream(160, 50));
    for (n, burst) in out.chunk_by(|a, b| a.0 == b.0).enumerate() {
        assert_eq!((burst.len(), burst[0].0), (16, us((n as u64 + 1) * 16 * 50)));
    }
    assert!(numbers(&out).is_sorted());
    assert_eq!(medium.stats().tally.bursts, 10);

    let (out, _) = run(&mut element(params), stream(60, 1000));
    for (n, burst) in out.chunk_by(|a, b| a.0 == b.0).enumerate() {
        assert_eq!((burst.len(), burst[0].0), (6, us(n as u64 * 6000 + 1000 + 5500)));
    }
}

/// From 10 ms to 20 ms nothing passes: a packet at 10 ms is lost, one at 20 ms is not. With `hold` they leave at 20 ms, in
/// order, and before what comes at 20 ms. Outages that touch are one.
#[test]
fn outages() {
    let outage = |hold, times: &[(u64, u64)]| {
        let time = |(from, to): &(u64, u64)| OutageTime { from: us(from * 1000), to: us(to * 1000) };
        let params = OutageParams { times: times.iter().map(time).collect(), hold };
        run(&mut element(params), stream(30, 1000))
    };
    let (out, lost) = outage(false, &[(10, 20)]);
    assert_eq!(lost.iter().map(|packet| packet.seq.get()).collect::<Vec<_>>(), (10..20).collect::<Vec<_>>());
    assert_eq!(out.len(), 20);
    for times in [&[(10, 20)][..], &[(10, 15), (15, 20)]] {
        let (out, lost) = outage(true, times);
        assert!(lost.is_empty() && numbers(&out).is_sorted());
        for (at, packet) in &out {
            let arrived = us(packet.seq.get() * 1000);
            let held = (10..=20).contains(&packet.seq.get());
            assert_eq!(*at, if held { us(20_000) } else { arrived });
        }
    }
}

/// Of ACKs 1 ms apart every fourth passes, and the last one passes after the flush time; data, handshakes, SACKs and
/// changes of the echo pass.
#[test]
fn ack_thinning() {
    let params = AckThinningParams { keep_every: 4, flush: Some(Duration::from_millis(5)) };
    let acks = (1..=10).map(|i| (us(i * 1000), ack(0, i))).collect();
    let (out, lost) = run(&mut element(params.clone()), acks);
    let passed: Vec<_> = out.iter().map(|(at, packet)| (packet.ack.get(), at.as_nanos() / 1000)).collect();
    assert_eq!(passed, [(4, 4000), (8, 8000), (10, 15_000)]);
    assert_eq!(lost.len(), 7);

    let mut special = vec![ack(0, 1), ack(0, 2), data(0, 3), ack(0, 4), ack(0, 5), ack(0, 6)];
    let mut options = Options::default();
    options.sack.push(SackBlock { start: Seq::new(9), end: Seq::new(10) });
    special[1].set_options(options);
    special[3].flags |= TcpFlags::ECE;
    special[4].flags |= TcpFlags::SYN;
    let timed = special.into_iter().enumerate().map(|(i, packet)| (us(i as u64 * 1000), packet)).collect();
    let (out, lost) = run(&mut element(params), timed);
    assert_eq!(lost.iter().map(|packet| packet.ack.get()).collect::<Vec<_>>(), [1]);
    assert_eq!(out.len(), 5);
}

/// Without a flush time all but every n-th are lost; flows are thinned separately.
#[test]
fn ack_thinning_without_flush() {
    let params = AckThinningParams { keep_every: 3, flush: None };
    let acks = (1..=9).flat_map(|i| [(us(i * 1000), ack(0, i)), (us(i * 1000), ack(1, i))]).collect();
    let (out, _) = run(&mut element(params), acks);
    let passed: Vec<_> = out.iter().map(|(_, packet)| (packet.flow.get(), packet.ack.get())).collect();
    assert_eq!(passed, [(0, 3), (1, 3), (0, 6), (1, 6), (0, 9), (1, 9)]);
}

/// A stream of ACKs between the data does not change the fate of the data: random elements draw only for packets
/// that concern them.
#[test]
fn draws_are_for_packets_that_concern() {
    let lost = |with_acks: bool| {
        let params = LossParams { probability: p(0.1), affects: Affects::Data };
        let packets = (1..=1000).flat_map(|i| {
            let ack = with_acks.then(|| (us(i), ack(0, i)));
            [Some((us(i), data(0, i))), ack].into_iter().flatten()
        });
        let (_, lost) = run(&mut element(params), packets.collect());
        lost.iter().map(|packet| packet.seq.get()).collect::<Vec<_>>()
    };
    assert_eq!(lost(true), lost(false));
}

/// Invalid parameters are reported, with the key at fault.
#[test]
fn parameters_are_checked() {
    let span = |from, to| OutageTime { from: us(from), to: us(to) };
    let outages = |times| OutageParams { times, hold: false };
    assert_eq!(key(&outages(vec![span(5, 5)])), Err("times"));
    assert_eq!(key(&outages(vec![span(5, 9), span(8, 10)])), Err("times"));
    assert_eq!(key(&outages(vec![span(5, 9), span(9, 10)])), Ok(()));
    let scripted = |packets| ScriptedLossParams { packets, ..Default::default() };
    assert_eq!(key(&scripted(vec![0])), Err("packets"));
    assert_eq!(key(&scripted(vec![2, 2])), Err("packets"));
    let reordered = |packets, overtaken_by, delay| {
        let params = ScriptedReorderingParams { packets, overtaken_by, delay, ..Default::default() };
        key(&params)
    };
    assert_eq!(reordered(vec![3, 2], Some(1), None), Err("packets"));
    assert_eq!(reordered(vec![2, 3], None, None), Err("overtaken_by"));
    assert_eq!(reordered(vec![2, 3], Some(0), None), Err("overtaken_by"));
    assert_eq!(reordered(vec![2, 3], None, Some(Duration::ZERO)), Err("delay"));
    assert_eq!(reordered(vec![2, 3], Some(1), Some(Duration::from_nanos(1))), Ok(()));
    let periodic = PeriodicLossParams { every: 1, ..Default::default() };
    assert_eq!(key(&periodic), Err("every"));
    let thinning = AckThinningParams { keep_every: 0, flush: None };
    assert_eq!(key(&thinning), Err("keep_every"));
    let aggregation = AggregationParams { packets: 0, ..Default::default() };
    assert_eq!(key(&aggregation), Err("packets"));
    let pareto = JitterParams {
        distribution: JitterShape::Pareto.into(),
        deviation: Some(Duration::ZERO),
        ..Default::default()
    };
    assert_eq!(key(&pareto), Err("deviation"));
    // The default has a deviation and a mean, which these have not.
    for shape in [JitterShape::Fixed, JitterShape::Wifi] {
        assert_eq!(key(&JitterParams { distribution: shape.into(), ..Default::default() }), Err("deviation"));
    }
    let measured = TimeDistribution::Listed { values: vec![Duration::SECOND] };
    let table = |table| JitterParams {
        distribution: JitterDistribution::Table(table),
        mean: None,
        deviation: None,
        reorder: false,
    };
    assert_eq!(key(&table(measured.clone())), Ok(()));
    let mean = Some(Duration::SECOND);
    assert_eq!(key(&JitterParams { mean, ..table(measured) }), Err("mean"));
    assert_eq!(key(&table(TimeDistribution::Listed { values: Vec::new() })), Err("distribution"));
    let ms = Duration::from_millis;
    let linear = |min, max, period| LinearDelayParams { min, max, period, reorder: false };
    assert_eq!(key(&linear(ms(2), ms(1), ms(1))), Err("max"));
    assert_eq!(key(&linear(ms(2), ms(2), Duration::ZERO)), Err("period"));
    let burst = |min_period, max_period| BurstDelayParams { min_period, max_period, ..Default::default() };
    assert_eq!(key(&burst(Duration::from_micros(999), ms(1))), Err("min_period"));
    assert_eq!(key(&burst(ms(2), ms(1))), Err("max_period"));
    assert_eq!(key(&burst(ms(1), ms(1))), Ok(()));
}

/// Each element with its defaults: they are valid, and survive a trip through a scenario's text; a stream of data and ACKs
/// passes with all packets accounted for (`run`), in order where the element says so.
#[test]
fn every_element() {
    struct Check;

    impl Kinds for Check {
        fn element<P: Params + ElementParams>(&mut self) {
            let params = P::default();
            let text = serde_json::to_string(&params).unwrap();
            assert_eq!(serde_json::from_str::<P>(&text).unwrap(), params);
            Params::check(&params).unwrap();
            let keeps_order = params.keeps_order();
            let packets = (1..=2000).map(|n| {
                let packet = if n % 3 == 0 { ack(1, n) } else { data(0, n) };
                (us(n * 100), packet)
            });
            let (out, _) = run(&mut element(params), packets.collect());
            let data: Vec<u64> =
                out.iter().filter(|(_, it)| it.payload() > Bytes::ZERO).map(|(_, it)| it.seq.get()).collect();
            assert!(!keeps_order || data.is_sorted_by(|a, b| a < b), "{}", P::NAME);
        }
    }

    visit(&mut Check);
}
