//! PI2 as a queue (spec/queues-and-signalling section 7).

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{Likelihood, Limit, Pi2Params, Pi2Variant, QueueSpec, QueueStats};

use crate::bench::{Bench, Kind};
use crate::overload::Load;

const MS: u64 = 1_000_000;

fn bench(params: Pi2Params) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Packets(10_000));
    bench.cx.deliver_drops = false;
    bench
}

/// After the first update with a head that has waited since the start, p' = alpha (delay - target) + beta delay; classic
/// packets get its square, scalable ones k times it.
#[test]
fn first_update() {
    for (variant, interval_ms, p) in
        [(Pi2Variant::Rfc, 15, 3.0 * 0.015), (Pi2Variant::Paper, 32, 0.3125 * 0.012 + 3.125 * 0.032)]
    {
        let mut bench = bench(Pi2Params { variant, ..Pi2Params::default() });
        bench.arrive(0, Kind::Ect0);
        bench.run_timers(interval_ms * MS);
        for (name, value) in [("p", p), ("p_classic", p * p), ("p_scalable", 2.0 * p)] {
            assert!((bench.probed(name).unwrap() - value).abs() < 1e-12, "{name}");
        }
    }
}

/// What a queue counts under twice the load of its link, once it has settled.
fn overloaded(params: Pi2Params, kind: Kind) -> (QueueStats, f64) {
    let mut bench = bench(params);
    let load = Load { kind, service_ns: 1_200_000, interval_ns: 600_000 };
    load.run(&mut bench, 0..6_000 * MS, |_, _| {});
    let before = bench.stats();
    load.run(&mut bench, 6_000 * MS..12_000 * MS, |_, _| {});
    (bench.stats().since(&before), bench.probed("p").unwrap())
}

/// Traffic that does not respond at twice the link's rate: drops are half of the arrivals, hence p'^2 = 1/2, whatever the
/// packets' code points, and scalable ones that are not dropped are marked.
#[test]
fn unresponsive() {
    for variant in [Pi2Variant::Rfc, Pi2Variant::Paper] {
        for random in [Likelihood::Coin, Likelihood::Recur] {
            for kind in [Kind::NotEct, Kind::Ect0, Kind::Ect1] {
                let params = Pi2Params { variant, random: Some(random), ..Pi2Params::default() };
                let (stats, p) = overloaded(params, kind);
                let share = stats.drops_aqm as f64 / stats.arrived as f64;
                assert!((share - 0.5).abs() < 0.02, "{share} {variant:?} {random:?} {kind:?}");
                assert!((p * p - 0.5).abs() < 0.06, "{p} {variant:?} {random:?} {kind:?}");
                let marked = stats.ce as f64 / stats.departed as f64;
                assert!((marked - if kind == Kind::Ect1 { 1.0 } else { 0.0 }).abs() < 0.01, "{marked}");
            }
        }
    }
}

/// A queue of less than two packets is not signalled: a packet that leaves one behind passes, at any p'.
#[test]
fn short_queue() {
    let mut bench = bench(Pi2Params::default());
    for _ in 0..4 {
        bench.arrive(0, Kind::Ect1);
    }
    bench.run_timers(10_000 * MS);
    assert!(bench.probed("p").unwrap() > 0.999);
    let left: Vec<Outcome> =
        std::iter::from_fn(|| bench.dequeue(10_000 * MS)).map(|left| left.outcome).collect();
    assert_eq!(left[left.len() - 2..], [Outcome::Passed, Outcome::Passed]);
    assert!(bench.stats().drops_aqm + bench.stats().ce > 0);
}

/// A backlog of two full packets is signalled, one byte less is not; the paper's form looks at it on arrival, and
/// drops the packet there, the RFC's on departure. At p' = 1 every classic packet is dropped.
#[test]
fn two_packets_are_signalled() {
    for (variant, arriving) in [(Pi2Variant::Paper, 1), (Pi2Variant::Rfc, 0)] {
        for (last, dropped) in [(1_500, 1), (1_499, 0)] {
            let random = Some(Likelihood::Coin);
            let mut bench = bench(Pi2Params { variant, random, ..Pi2Params::default() });
            let sizes = if arriving == 1 { vec![1_500, last] } else { vec![1_500, 1_500, last] };
            for size in sizes {
                let packet = bench.packet(0, size, Kind::Ect0);
                bench.enqueue(0, packet);
            }
            bench.run_timers(60_000 * MS);
            assert!(bench.probed("p").unwrap() > 0.999_999);
            if arriving == 1 {
                bench.arrive(60_000 * MS, Kind::Ect0);
            }
            assert_eq!(bench.stats().drops_aqm, dropped * arriving, "{variant:?} {last}");
            while bench.dequeue(60_000 * MS).is_some() {}
            assert_eq!(bench.stats().drops_aqm, dropped, "{variant:?} {last}");
        }
    }
}
