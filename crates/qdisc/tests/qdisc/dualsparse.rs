//! The sparse-flow dual queue: spec/queues-and-signalling section 12. What it is for: `scenario/tests/scenario/sparse`.

use windtunnel_qdisc::{CobaltParams, DualSparseParams, Limit, QueueSpec, SparseClassifier};
use windtunnel_units::{Duration, Probability, Rate};
use windtunnel_wire::Dscp;

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn bench(params: DualSparseParams, limit: Limit) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), limit);
    bench.cx.deliver_drops = false;
    bench
}

fn with(classifier: SparseClassifier) -> DualSparseParams {
    DualSparseParams { classifier, ..DualSparseParams::default() }
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, size: u64) {
    let packet = bench.packet(flow, size, Kind::NotEct);
    bench.enqueue(at, packet);
}

/// Packets in either queue.
fn held(bench: &Bench) -> [usize; 2] {
    let bands = bench.bands();
    assert_eq!([&*bands[0].0, &*bands[1].0], ["low latency", "main"]);
    [bands[0].1.packets, bands[1].1.packets]
}

/// As in CNQ: the first packet of a flow is sparse; the second is not, even after the first has left, until the main queue
/// has moved on.
#[test]
fn by_presence() {
    let mut bench = bench(with(SparseClassifier::Cnq), Limit::Unlimited);
    for (flow, expected) in [(0, [1, 0]), (0, [1, 1]), (1, [2, 1])] {
        arrive(&mut bench, 0, flow, 100);
        assert_eq!(held(&bench), expected);
    }
    let flows = [0, 0].map(|_| bench.dequeue(0).unwrap().flow);
    assert_eq!((flows, held(&bench)), ([0, 1], [0, 1]));
    // Flow 1's dummy is behind flow 0's packet.
    arrive(&mut bench, 0, 1, 100);
    assert_eq!(held(&bench), [0, 2]);
    while bench.dequeue(0).is_some() {}
    arrive(&mut bench, 0, 1, 100);
    assert_eq!(held(&bench), [1, 0]);
}

/// As in LFQ: a packet overdraws the account, and the flow is skipped until the main queue has been emptied of what it
/// held.
#[test]
fn by_deficit() {
    let mut bench = bench(with(SparseClassifier::Lfq), Limit::Unlimited);
    arrive(&mut bench, 0, 0, 1_500);
    arrive(&mut bench, 0, 0, 1_500);
    bench.dequeue(0);
    arrive(&mut bench, 0, 1, 1_500);
    assert_eq!(held(&bench), [1, 1]);
    bench.dequeue(0);
    // Flow 1 has no packet, but is skipped: no sweep since.
    arrive(&mut bench, 0, 1, 1_500);
    assert_eq!(held(&bench), [0, 2]);
    while bench.dequeue(0).is_some() {}
    // Later, for the policer's sake.
    arrive(&mut bench, 100 * MS, 1, 1_500);
    assert_eq!(held(&bench), [1, 0]);
}

/// 1 % of 10 Mbit/s are 12.5 kB/s: after two packets of 1500 B a third is sparse 120 ms later, and none before. A fixed
/// rate of 1 Mbit/s takes 12 ms.
#[test]
fn by_rate() {
    for (sparse_rate, wait_ms) in [(None, 120), (Some(Rate::from_mbps(1)), 12)] {
        let mut bench =
            bench(DualSparseParams { sparse_rate, ..with(SparseClassifier::Rate) }, Limit::Unlimited);
        for at in [0, 0, wait_ms * MS - MS] {
            arrive(&mut bench, at, 0, 1_500);
        }
        assert_eq!(held(&bench), [2, 1]);
        arrive(&mut bench, wait_ms * MS, 0, 1_500);
        assert_eq!(held(&bench), [3, 1]);
    }
}

/// The code point decides.
#[test]
fn by_code_point() {
    let mut bench = bench(DualSparseParams { dscp: 46, ..with(SparseClassifier::Dscp) }, Limit::Unlimited);
    for (dscp, expected) in [(46, [1, 0]), (45, [1, 1]), (0, [1, 2])] {
        let mut packet = bench.packet(0, 100, Kind::NotEct);
        packet.dscp = Dscp::new(dscp);
        bench.enqueue(0, packet);
        assert_eq!(held(&bench), expected);
    }
}

/// All sparse flows together have 10 % of 10 Mbit/s, 125 kB/s, and 3000 B at once: of 40 flows' packets of 300 B, ten are
/// sparse, and another one 2.4 ms later. With a depth of 100 ms it is 41 packets, which leave 200 B of 12,500: one more is
/// sparse after 2.3 ms, with 287 B more, and none after that.
#[test]
fn the_policer() {
    for (ll_depth, sparse) in [(10, 10), (100, 41)] {
        let ll_depth = Duration::from_millis(ll_depth);
        let mut bench = bench(DualSparseParams { ll_depth, ..DualSparseParams::default() }, Limit::Unlimited);
        for flow in 0..60 {
            arrive(&mut bench, 0, flow, 300);
        }
        assert_eq!(held(&bench), [sparse, 60 - sparse]);
        assert_eq!(bench.probed("exceeding"), Some((60 - sparse) as f64));
        for (flow, at) in [(100, 2_300_000), (101, 2_400_000)] {
            arrive(&mut bench, at, flow, 300);
        }
        assert_eq!(held(&bench)[0], sparse + 1);
    }
}

/// The low-latency queue holds `ll_limit` at the link's rate: 2 ms are 2500 B. Both together hold the queue's limit.
#[test]
fn limits() {
    let params = DualSparseParams {
        ll_share: Probability::clamped(1.0),
        ll_limit: Duration::from_millis(2),
        ..DualSparseParams::default()
    };
    let mut bench = bench(params, Limit::Packets(20));
    for flow in 0..10 {
        arrive(&mut bench, 0, flow, 300);
    }
    assert_eq!((held(&bench), bench.stats().drops_full), ([8, 0], 2));
    for _ in 0..20 {
        arrive(&mut bench, 0, 0, 300);
    }
    assert_eq!((held(&bench), bench.stats().drops_full), ([8, 12], 10));
}

/// The arriving packet is the one that is lost. The AQM of the main queue hears where that is full, and not of the
/// low-latency queue: COBALT's BLUE rises by 1/256.
#[test]
fn who_pays_and_who_hears() {
    let params = DualSparseParams {
        ll_share: Probability::clamped(1.0),
        ll_limit: Duration::from_millis(2),
        ..DualSparseParams::default()
    };
    let spec = QueueSpec::new(params).with("aqm", CobaltParams::default());
    let mut bench = Bench::new(&spec, Limit::Packets(10));
    bench.cx.deliver_drops = false;
    let p = |bench: &Bench| bench.probed_band(1, "p_drop").map(|p| p * 256.0);
    for flow in 0..9 {
        arrive(&mut bench, 10 * MS, flow, 300);
    }
    assert_eq!((held(&bench), bench.stats().drops_full, p(&bench)), ([8, 0], 1, Some(0.0)));
    for _ in 0..3 {
        arrive(&mut bench, 10 * MS, 0, 300);
    }
    assert_eq!((held(&bench), bench.stats().drops_full, p(&bench)), ([8, 2], 2, Some(1.0)));
    let left: Vec<u64> = std::iter::from_fn(|| bench.dequeue(10 * MS)).map(|left| left.seq).collect();
    assert_eq!(left, [0, 1, 2, 3, 4, 5, 6, 7, 9, 10]);
}

/// The ends of the ranges are within them.
#[test]
fn ends_of_the_ranges() {
    let plain = DualSparseParams::default;
    let second = Duration::SECOND;
    for params in [
        DualSparseParams { dscp: 63, ..plain() },
        DualSparseParams { dscp: 0, ..plain() },
        DualSparseParams { ll_depth: second, ll_limit: second, ..plain() },
    ] {
        assert_eq!(QueueSpec::new(params.clone()).check(), Ok(()), "{params:?}");
    }
}

/// Parameters that mean nothing are refused, with key and value.
#[test]
fn refusals() {
    let plain = DualSparseParams::default;
    let long = Duration::from_millis(1_001);
    for (params, fault) in [
        (DualSparseParams { flows: 0, ..plain() }, "flows = 0"),
        (
            DualSparseParams { sparse_rate: Some(Rate::ZERO), ..with(SparseClassifier::Rate) },
            "sparse_rate = 0 bit/s",
        ),
        (
            DualSparseParams { sparse_rate: Some(Rate::from_mbps(1)), ..plain() },
            "sparse_rate = 1 Mbit/s is out of range: left out: it belongs to",
        ),
        (DualSparseParams { dscp: 64, ..plain() }, "dscp = 64 is out of range: from 0 to 63"),
        (DualSparseParams { ll_share: Probability::ZERO, ..plain() }, "ll_share = 0"),
        (DualSparseParams { ll_depth: Duration::ZERO, ..plain() }, "ll_depth = 0 s"),
        (DualSparseParams { ll_limit: long, ..plain() }, "ll_limit = 1001 ms"),
    ] {
        let refused = QueueSpec::new(params).check().unwrap_err().to_string();
        assert!(refused.starts_with(fault), "{refused}");
    }
}
