//! The n-th marker: exactly every n-th packet.

use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{FqCodelParams, Limit, NthParams, NthSignal, QueueSpec};

use crate::bench::{Bench, Kind};

/// Which of `n` arrivals of a kind get a signal, numbered from 1, and what they all carry.
fn signalled(params: NthParams, kind: Kind, n: u64) -> (Vec<u64>, [u64; 3]) {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    let signalled = |at: &u64| {
        let before = bench.cx.incidents.len();
        bench.arrive(*at, kind);
        bench.cx.incidents.len() > before
    };
    let all = (1..=n).filter(signalled).collect();
    (all, [bench.stats().sce, bench.stats().ce, bench.stats().drops_aqm])
}

/// Every n-th packet gets what is asked for, the n-th first, however long the queue is; a CE is a drop for packets that
/// do not understand it.
#[test]
fn every_nth() {
    let of = |n, signal, kind| signalled(NthParams { n, signal }, kind, 20);
    let fifth = vec![5, 10, 15, 20];
    assert_eq!(of(5, NthSignal::Ce, Kind::Ect0), (fifth.clone(), [0, 4, 0]));
    assert_eq!(of(5, NthSignal::Ce, Kind::Mds), (fifth.clone(), [0, 4, 0]));
    assert_eq!(of(5, NthSignal::Ce, Kind::NotEct), (fifth.clone(), [0, 0, 4]));
    assert_eq!(of(5, NthSignal::Drop, Kind::Ect0), (fifth.clone(), [0, 0, 4]));
    assert_eq!(of(5, NthSignal::Sce, Kind::Mds), (fifth, [4, 0, 0]));
    assert_eq!(of(5, NthSignal::Sce, Kind::Ect0), (vec![], [0, 0, 0]));
    assert_eq!(of(1, NthSignal::Ce, Kind::Ect0).1, [0, 20, 0]);
    assert_eq!(of(21, NthSignal::Ce, Kind::Ect0).1, [0, 0, 0]);
}

/// A million packets have a million n-ths, without remainder.
#[test]
fn exact() {
    for n in [7, 100, 4_001] {
        let mut bench =
            Bench::new(&QueueSpec::new(NthParams { n, ..NthParams::default() }), Limit::Unlimited);
        for at in 0..1_000_000 {
            bench.arrive(at, Kind::Ect0);
            bench.dequeue(at);
            bench.cx.incidents.clear();
        }
        assert_eq!(bench.stats().ce, 1_000_000 / n);
    }
}

/// In a fair queue each flow has a count of its own.
#[test]
fn per_flow() {
    let spec =
        QueueSpec::new(FqCodelParams::default()).with("aqm", NthParams { n: 3, ..NthParams::default() });
    let mut bench = Bench::new(&spec, Limit::Unlimited);
    for flow in [0, 0, 1, 0, 1, 2, 1] {
        let packet = bench.packet(flow, 1_500, Kind::Ect0);
        bench.enqueue(0, packet);
    }
    let ce: Vec<u64> = bench.band_stats().iter().map(|stats| stats.ce).collect();
    assert_eq!(ce, [1, 1, 0]);
    while let Some(left) = bench.dequeue(1) {
        assert_eq!(left.outcome, Outcome::Passed);
    }
}

/// n is not 0.
#[test]
fn limits_of_the_parameters() {
    let check = |n| QueueSpec::new(NthParams { n, ..NthParams::default() }).check();
    assert_eq!(check(1), Ok(()));
    assert_eq!(check(0).unwrap_err().to_string(), "n = 0 is out of range: at least 1 packet");
}

/// It reports how many packets of its count have arrived.
#[test]
fn probe() {
    let mut bench = Bench::new(&QueueSpec::new(NthParams { n: 3, ..NthParams::default() }), Limit::Unlimited);
    let arrived = (0..5).map(|at| {
        bench.arrive(at, Kind::Ect0);
        bench.probed("arrived_packets")
    });
    assert_eq!(arrived.collect::<Vec<_>>(), [1.0, 2.0, 0.0, 1.0, 2.0].map(Some));
}
