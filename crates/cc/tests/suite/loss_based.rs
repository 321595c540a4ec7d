//! Linux's loss-based controllers and the binomial ones: numbers that spec/congestion-control gives, and the law of each.

use std::sync::Arc;

use schemars::schema_for;
use windtunnel_cc::{
    AvoidanceParams, BicParams, BinomialParams, CaState, ControllerParams, HighspeedParams, HtcpParams,
    HyblaParams, IiadParams, Kinds, Params, ResponseParams, SlowStartParams, SqrtParams, Style,
    WestwoodParams, WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CLEAN, Driver, MSS};
use crate::parts::{none, standard};

const RTT: Duration = Duration::from_millis(100);
const GAP: Duration = Duration::from_millis(1);

/// A flow in congestion avoidance with a window of `w`.
fn avoiding<P: AvoidanceParams>(params: P, w: u64, rtt: Duration) -> Driver {
    let mut config = WindowedConfig { avoidance: Arc::new(params), slow_start: none(), ..Default::default() };
    config.resolve(Style::Linux);
    Driver::new(&config, MSS * w, rtt)
}

/// A flow in slow start.
fn starting<P: AvoidanceParams>(params: P, w: u64, rtt: Duration) -> Driver {
    let mut config =
        WindowedConfig { avoidance: Arc::new(params), slow_start: standard(), ..Default::default() };
    config.resolve(Style::Linux);
    Driver::new(&config, MSS * w, rtt)
}

/// The window after `count` ACKs of a segment each.
fn acks(flow: &mut Driver, count: u64) -> Bytes {
    for _ in 0..count {
        flow.ack(GAP, 1, CLEAN);
    }
    flow.cwnd()
}

/// The part of a large window that a loss leaves, where the parameters state one (`x-kept`).
struct Kept(Vec<&'static str>);

impl Kinds for Kept {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        let Some(stated) = schema_for!(P).get("x-kept").and_then(serde_json::Value::as_f64) else { return };
        let mut flow = avoiding(P::default(), 10_000, RTT);
        flow.lose();
        let kept = flow.segments() / 10_000.0;
        assert!((kept - stated).abs() < 0.01, "{}: a loss leaves {kept}, not {stated}", P::NAME);
        self.0.push(P::NAME);
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {}

    fn response<P: Params + ResponseParams>(&mut self) {}

    fn controller<P: Params + ControllerParams>(&mut self) {}
}

/// What parameters state is what their algorithm does.
#[test]
fn a_loss_leaves_what_parameters_state() {
    let mut kept = Kept(Vec::new());
    windtunnel_cc::visit(&mut kept);
    assert!(kept.0.contains(&"cubic"), "{:?}", kept.0);
}

/// spec/congestion-control section 3.7: a loss at 100 leaves 79 and remembers 100; one at 90 remembers 80 (fast
/// convergence, 90 * 1843 / 2048). Up to 14 segments a loss halves.
#[test]
fn bic_remembers_its_maximum() {
    let mut bic = avoiding(BicParams::default(), 100, RTT);
    bic.lose();
    assert_eq!((bic.cwnd(), bic.probe("w_max_segments")), (MSS * 79, Some(100.0)));
    let mut bic = avoiding(BicParams::default(), 100, RTT);
    bic.lose();
    while bic.segments() < 90.0 {
        bic.ack(GAP, 1, CLEAN);
    }
    bic.lose();
    assert_eq!((bic.cwnd(), bic.probe("w_max_segments")), (MSS * 71, Some(80.0)));
    let mut low = avoiding(BicParams::default(), 14, RTT);
    low.lose();
    assert_eq!(low.cwnd(), MSS * 7);
}

/// The paper's binary search: the increase per round trip is a quarter of the distance to the last maximum, at most 16
/// segments and at least a fifth of one; beyond the maximum it grows again. Linux's is twice that with delayed ACKs.
#[test]
fn bic_searches_for_its_maximum() {
    let mut bic = avoiding(BicParams::default(), 1000, RTT);
    bic.lose();
    let mut rounds = Vec::new();
    for _ in 0..120 {
        let before = bic.segments();
        bic.round(2);
        rounds.push((before, bic.segments() - before));
    }
    for (w, growth) in rounds {
        let expected = match w {
            w if w < 992.0 => ((1000.0 - w) / 4.0).floor().min(16.0),
            w if w < 1000.0 => 0.2,
            w if w < 1004.0 => 0.2,
            // Maximum probing: the step grows by a third in each round trip.
            w if w < 1048.0 => continue,
            _ => 16.0,
        };
        let expected = 2.0 * expected;
        assert!((growth - expected).abs() <= 0.25 * expected + 1.5, "{growth} at {w}, not {expected}");
    }
    assert!(bic.segments() > 1100.0, "maximum probing");
}

/// spec/congestion-control section 3.5: at 1000 segments the increase is 8 per round trip and a loss takes
/// floor(1000 * 83 / 256) = 324.
#[test]
fn highspeed_at_a_thousand_segments() {
    let mut highspeed = avoiding(HighspeedParams {}, 1000, RTT);
    highspeed.round(1);
    // The window that must be acknowledged grows meanwhile.
    assert!((1007.0..=1008.0).contains(&highspeed.segments()), "{}", highspeed.segments());
    let mut highspeed = avoiding(HighspeedParams {}, 999, RTT);
    assert_eq!(acks(&mut highspeed, 125), MSS * 1000);
    highspeed.lose();
    assert_eq!(highspeed.cwnd(), MSS * 676);
}

/// Up to 38 segments `HighSpeed` TCP is Reno (RFC 3649 section 5).
#[test]
fn highspeed_is_reno_at_low_windows() {
    let mut highspeed = avoiding(HighspeedParams {}, 20, RTT);
    assert_eq!(acks(&mut highspeed, 20), MSS * 21);
    highspeed.lose();
    assert_eq!(highspeed.cwnd(), MSS * 11, "the part given up is rounded down");
}

/// H-TCP at 100 ms: Reno's segment per round trip in the first second, then f = 1 + 10 D + (D / 2)^2 of them
/// (spec/congestion-control section 3.6).
#[test]
fn htcp_grows_by_the_time_since_congestion() {
    let mut htcp = avoiding(HtcpParams::default(), 1000, RTT);
    for round in 0..50 {
        let before = htcp.segments();
        htcp.round(1);
        let growth = htcp.segments() - before;
        let beyond = (f64::from(round) * 0.1 - 0.9).max(0.0);
        let f = 1.0 + 10.0 * beyond + beyond * beyond / 4.0;
        assert!((growth - f).abs() <= 2.0 + 0.1 * f, "{growth} in round {round}, not {f}");
    }
}

/// The decrease is minRTT / maxRTT from the second loss at a stable throughput on.
#[test]
fn htcp_gives_up_the_queue() {
    let mut htcp = avoiding(HtcpParams { use_bandwidth_switch: false, ..HtcpParams::default() }, 200, RTT);
    htcp.round(1);
    for rtt in [110, 120, 130] {
        htcp.rtt = Duration::from_millis(rtt);
        htcp.round(1);
    }
    for (loss, kept) in [(1, 0.5), (2, 100.0 / 128.5)] {
        let before = htcp.segments();
        htcp.lose();
        let share = htcp.segments() / before;
        assert!((share - kept).abs() < 0.02, "loss {loss}: {share}, not {kept}");
    }
}

/// spec/congestion-control section 3.8: the first window is rho; in slow start an ACK adds 2^rho - 1 (50 ms: 3, 100 ms:
/// 15).
#[test]
fn hybla_starts_by_its_round_trip() {
    for (ms, rho) in [(25, 1), (50, 2), (100, 4)] {
        let mut hybla = starting(HyblaParams::default(), 10, Duration::from_millis(ms));
        assert_eq!(hybla.cwnd(), MSS * rho, "{ms} ms");
        hybla.ack(GAP, 1, CLEAN);
        assert_eq!(hybla.cwnd(), MSS * (rho + (1 << rho) - 1), "{ms} ms");
    }
}

/// The law of Hybla: rates of flows with different round trips grow equally per second, as Reno's at 25 ms. Linux counts
/// growth in 128ths of a segment, rounded down, which is exact enough while the window is small.
#[test]
fn hybla_does_not_depend_on_the_round_trip() {
    let rates = [50, 100, 200].map(|ms| {
        let rtt = Duration::from_millis(ms);
        let mut hybla = starting(HyblaParams::default(), 10, rtt);
        let rate = |flow: &Driver| flow.segments() / rtt.as_secs_f64();
        let rho = rtt.ratio(Duration::from_millis(25));
        while rate(&hybla) < 800.0 * rho {
            hybla.ack(GAP, 1, CLEAN);
        }
        while rate(&hybla) > 500.0 * rho {
            hybla.lose();
        }
        let (start, before) = (hybla.now, rate(&hybla));
        while hybla.now.since(start) < Duration::from_millis(400) {
            hybla.round(1);
        }
        (rate(&hybla) - before) / hybla.now.since(start).as_secs_f64()
    });
    for rate in rates {
        assert!((rate / 1600.0 - 1.0).abs() < 0.15, "{rates:?} segments/s^2, not 1600");
    }
}

/// Westwood+ leaves recovery with bandwidth times the smallest round trip: on a path without a queue that is the window
/// itself, so that a random loss takes hardly anything.
#[test]
fn westwood_keeps_what_the_path_carries() {
    let mut westwood = avoiding(WestwoodParams {}, 100, RTT);
    for _ in 0..100 {
        westwood.round(1);
    }
    let before = westwood.segments();
    let path = westwood.path();
    westwood.lose();
    westwood.cc.on_state(CaState::Recovery, &path);
    assert!((westwood.segments() / before - 0.5).abs() < 0.01, "Reno's window while it recovers");
    let path = westwood.path();
    westwood.cc.on_recovered(&path);
    // The filters are a few round trips behind the window, which grew by one in each.
    let share = westwood.segments() / before;
    assert!((0.85..=1.0).contains(&share), "{share}");
}

/// With a queue that doubles the round trip, bandwidth times the smallest round trip is a half.
#[test]
fn westwood_drains_the_queue() {
    let mut westwood = avoiding(WestwoodParams {}, 100, RTT);
    westwood.round(1);
    westwood.rtt = RTT * 2;
    for _ in 0..100 {
        westwood.round(1);
    }
    let before = westwood.segments();
    let path = westwood.path();
    westwood.cc.on_state(CaState::Recovery, &path);
    westwood.cc.on_recovered(&path);
    let share = westwood.segments() / before;
    assert!((0.4..=0.5).contains(&share), "{share}");
}

/// Bansal and Balakrishnan: a round trip adds alpha / W^k, a loss takes beta W^l.
#[test]
fn binomial_moves_by_powers_of_the_window() {
    for (k, l) in [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.25, 0.75)] {
        let params = BinomialParams { alpha: 10.0, beta: 0.5, k, l };
        let mut flow = avoiding(params, 100, RTT);
        for _ in 0..100 {
            flow.round(1);
        }
        let growth = flow.segments() - 100.0;
        let middle = f64::midpoint(flow.segments(), 100.0);
        let expected = 100.0 * 10.0 / libm::pow(middle, k);
        assert!((growth / expected - 1.0).abs() < 0.1, "k = {k}: {growth}, not {expected}");
        let before = flow.segments();
        flow.lose();
        let taken = before - flow.segments();
        assert!((taken / (0.5 * libm::pow(before, l)) - 1.0).abs() < 0.01, "l = {l}: {taken}");
    }
}

/// SQRT and IIAD are members of the family.
#[test]
fn presets_are_binomial() {
    let whole = |k, l| BinomialParams { k, l, ..BinomialParams::default() };
    for loss in [false, true] {
        let sqrt = (avoiding(SqrtParams::default(), 60, RTT), avoiding(whole(0.5, 0.5), 60, RTT));
        let iiad = (avoiding(IiadParams::default(), 60, RTT), avoiding(whole(1.0, 0.0), 60, RTT));
        for (mut preset, mut member) in [sqrt, iiad] {
            if loss {
                preset.lose();
                member.lose();
            }
            assert_eq!(acks(&mut preset, 5000), acks(&mut member, 5000));
        }
    }
}
