//! CHOKe's rules one by one: spec/queues-and-signalling section 3.1; Pan, Prabhakar and Psounis 2000; Linux `sch_choke`.

use windtunnel_qdisc::{ChokeParams, Limit, QueueSpec, RedIdle};
use windtunnel_units::{Bytes, Probability, Rate};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// A weight of 1/4: 3 + 1 - 2 = 2 is at most (1 - (3/4)^3) * 4 = 2.31, and more than (1 - (1/2)^3) * 2 = 1.75.
fn quarter() -> ChokeParams {
    ChokeParams { min: Some(2), max: Some(6), burst: Some(3), ..ChokeParams::default() }
}

fn bench(params: ChokeParams, limit: usize) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(limit));
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, kind: Kind) {
    let packet = bench.packet(flow, 1_000, kind);
    bench.enqueue(at, packet);
}

fn avg(bench: &Bench) -> f64 {
    bench.probed("avg_packets").unwrap()
}

/// By hand: packets that find 0, 1, 2, 3 and 4 others move the average to 0, 1/4, 1/4 + 2/4, 3/4 + 3/4, and
/// 1.5 + (4 - 1)/4, because only the whole packets of the average count. That is more than `min`: the fifth packet and the
/// one that is drawn are of one flow, and both are dropped.
#[test]
fn average_and_match() {
    let mut bench = bench(quarter(), 1_000);
    for expected in [0.0, 0.25, 0.75, 1.5, 2.25] {
        arrive(&mut bench, 0, 0, Kind::Ect0);
        assert!((avg(&bench) - expected).abs() < 1e-12, "{} not {expected}", avg(&bench));
    }
    assert_eq!((bench.backlog().packets, bench.stats().drops_aqm, bench.probe("matched")), (3, 2, 1));
}

/// Idle time leaves the average with as many binary places as the weight, as in Linux, whose average is an integer: a rest
/// below 1/4 would stay in it for ever. An average of 1.5 that falls by a part of itself is then 1.25, and with two packets
/// queued it comes to rest at exactly `min`, which is not above it: nothing is drawn.
#[test]
fn no_rest_of_idle_time() {
    let mut bench = bench(ChokeParams { idle: RedIdle::Exact, ..quarter() }, 1_000);
    (0..4).for_each(|_| arrive(&mut bench, 0, 0, Kind::Ect0));
    while bench.dequeue(0).is_some() {}
    // A packet of 1000 B takes 0.8 ms at 10 Mbit/s: e^(-0.05 ln(4/3) / 0.8) of 1.5 are left, 1.47.
    arrive(&mut bench, MS / 20, 0, Kind::Ect0);
    assert!((avg(&bench) - 1.25).abs() < 1e-12, "{}", avg(&bench));
    arrive(&mut bench, MS / 20, 0, Kind::Ect0);
    for flow in 1..100 {
        arrive(&mut bench, MS, flow, Kind::Ect0);
        bench.dequeue(MS);
    }
    assert!((avg(&bench) - 2.0).abs() < 1e-12, "{}", avg(&bench));
    arrive(&mut bench, MS, 0, Kind::Ect0);
    assert_eq!((bench.probe("matched"), bench.stats().lost), (0, 0));
}

/// A packet is matched with the probability that the one drawn is of its flow, here one of ten, wherever that is in the
/// queue: 40 of 400 draws for each place, with a standard deviation of 6; four deviations are allowed. Packets of other
/// flows are never matched.
#[test]
fn draws_are_uniform() {
    let params = ChokeParams { min: Some(2), max: Some(1_000), burst: Some(3), ..ChokeParams::default() };
    let mut matches = [0_u32; 10];
    for seed in 0..4_000 {
        let mut bench = Bench::with_seed(&QueueSpec::new(params.clone()), Limit::Unlimited, seed);
        bench.cx.deliver_drops = false;
        (0..10).for_each(|flow| arrive(&mut bench, 0, flow, Kind::NotEct));
        assert_eq!(bench.probe("matched"), 0);
        let flow = seed as u32 % 10;
        arrive(&mut bench, 0, flow, Kind::NotEct);
        matches[flow as usize] += bench.probe("matched") as u32;
    }
    assert!(matches.iter().all(|matched| (16..=64).contains(matched)), "{matches:?}");
}

/// Up to `min` nothing happens, and above `max` everything is signalled: marked with `ecn` if it understands that. In
/// between, at 14 packets of 10 to 20 with `probability` 50 %, p is 20 %: gaps are uniform from 1 to 5, every third packet
/// on average, 333 of 1000 with a standard deviation of 9. No two packets are of one flow, so that none is matched.
#[test]
fn signals_of_red() {
    let params = ChokeParams {
        min: Some(10),
        max: Some(20),
        burst: Some(10),
        probability: Probability::clamped(0.5),
        ecn: true,
        ..ChokeParams::default()
    };
    for (held, signals) in [(10_u32, 0..=0), (14, 297..=369), (40, 1_000..=1_000)] {
        let mut bench = bench(params.clone(), 1_000);
        let mut flow = 0;
        let mut pass = |bench: &mut Bench, kind| {
            while bench.backlog().packets <= held as usize {
                flow += 1;
                arrive(bench, MS, flow, kind);
            }
            bench.dequeue(MS);
        };
        (0..200).for_each(|_| pass(&mut bench, Kind::Ect0));
        let before = bench.stats();
        (0..1_000).for_each(|_| pass(&mut bench, Kind::Ect0));
        assert!(
            signals.contains(&(bench.stats().ce - before.ce)),
            "{held}: {}",
            bench.stats().ce - before.ce
        );
        assert_eq!((bench.stats().lost, bench.probe("matched")), (0, 0));
        // What does not understand marks is dropped.
        if held == 40 {
            (0..10).for_each(|n| arrive(&mut bench, MS, 1_000_000 + n, Kind::NotEct));
            assert_eq!(bench.stats().drops_aqm, 10);
        }
    }
}

/// Above `max` every packet is signalled, however small the probability is at `max` itself (step 4 of
/// spec/queues-and-signalling section 3.1): here the ramp would reach 3 % at 40 packets.
#[test]
fn every_packet_above_max() {
    let params =
        ChokeParams { min: Some(10), max: Some(30), burst: Some(10), ecn: true, ..ChokeParams::default() };
    let mut bench = bench(params, 1_000);
    for flow in 0..400 {
        arrive(&mut bench, MS, flow, Kind::Ect0);
        if bench.backlog().packets > 40 {
            bench.dequeue(MS);
        }
    }
    let before = bench.stats().ce;
    for flow in 400..500 {
        arrive(&mut bench, MS, flow, Kind::Ect0);
        bench.dequeue(MS);
    }
    assert_eq!((bench.stats().ce - before, bench.probe("matched")), (100, 0));
}

/// The limit holds for packets that are not matched.
#[test]
fn limit() {
    let mut bench = bench(ChokeParams { min: Some(50), max: Some(90), ..ChokeParams::default() }, 30);
    for flow in 0..40 {
        arrive(&mut bench, 0, flow, Kind::NotEct);
    }
    assert_eq!((bench.backlog().packets, bench.stats().drops_full), (30, 10));
}

/// A packet that has been chosen to leave is not drawn: arrivals of its flow take all others with them.
#[test]
fn the_chosen_packet_is_spared() {
    let mut bench = bench(quarter(), 100);
    (0..4).for_each(|at| arrive(&mut bench, at, 0, Kind::NotEct));
    assert_eq!(bench.choose(5), Some(Bytes::new(1_000)));
    (0..3).for_each(|_| arrive(&mut bench, 5, 0, Kind::NotEct));
    assert_eq!((bench.backlog().packets, bench.probe("matched")), (1, 3));
    assert_eq!(bench.serve(6).map(|left| left.seq), Some(0));
}

/// In idle time the average falls as RED's in Linux: a packet of 1000 B is a millisecond at 8 Mbit/s, so that with the
/// weight 1/4 a shift by one comes after 1 / -ln(3/4) = 3.5 ms.
#[test]
fn idle_time() {
    let params = ChokeParams { bandwidth: Rate::from_mbps(8), ..quarter() };
    let mut bench = bench(params, 100);
    for _ in 0..4 {
        arrive(&mut bench, 0, 0, Kind::NotEct);
    }
    while bench.dequeue(0).is_some() {}
    assert!((avg(&bench) - 1.5).abs() < 1e-12);
    arrive(&mut bench, 5 * MS, 0, Kind::NotEct);
    assert!((avg(&bench) - 0.75).abs() < 1e-12, "{}", avg(&bench));
}

/// Parameters that mean nothing are refused, with key and value.
#[test]
fn refusals() {
    let plain = ChokeParams::default;
    for (params, fault) in [
        (ChokeParams { min: Some(0), ..plain() }, "min = 0"),
        (
            ChokeParams { max: Some(131_072), ..plain() },
            "max = 131072 is out of range: from 1 to 131071 packets",
        ),
        (
            ChokeParams { min: Some(60), max: Some(60), ..plain() },
            "max = 60 is out of range: more than `min`",
        ),
        (ChokeParams { max: Some(5), ..plain() }, "max = 5 is out of range: at least 6 packets"),
        (ChokeParams { max: Some(1), ..plain() }, "max = 1"),
        (ChokeParams { min: Some(1), ..plain() }, "min = 1 is out of range: at least 2 packets"),
        (ChokeParams { avpkt: Bytes::ZERO, ..plain() }, "avpkt = 0 B"),
        (ChokeParams { probability: Probability::ZERO, ..plain() }, "probability = 0"),
        (ChokeParams { bandwidth: Rate::ZERO, ..plain() }, "bandwidth = 0 bit/s"),
        (ChokeParams { min: Some(20), burst: Some(5), ..plain() }, "burst = 5"),
    ] {
        let refused = QueueSpec::new(params).check().unwrap_err().to_string();
        assert!(refused.starts_with(fault), "{refused}");
    }
    assert!(QueueSpec::new(ChokeParams { min: Some(400), ..plain() }).check().is_ok(), "max follows min");
}
