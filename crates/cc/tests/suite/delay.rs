//! Controllers that measure delay: the numbers of spec/congestion-control and of Linux's modules.

use std::sync::Arc;

use windtunnel_cc::{
    AvoidanceParams, CaState, CdgParams, ExitReason, IllinoisParams, LedbatParams, LedbatPpParams, NvParams,
    Style, VegasParams, VegasVariant, VenoParams, WindowedConfig, YeahParams,
};
use windtunnel_units::Duration;

use crate::driver::{CLEAN, Driver, MSS};
use crate::parts::none;

const BASE: Duration = Duration::from_millis(100);

/// A flow whose slow start grows from `segments` on.
fn seeking(avoidance: impl AvoidanceParams, segments: u64) -> Driver {
    let mut config = WindowedConfig { avoidance: Arc::new(avoidance), ..WindowedConfig::default() };
    config.resolve(Style::Linux);
    Driver::new(&config, MSS * segments, BASE)
}

/// A flow in congestion avoidance with this window, which has seen the base.
fn avoiding(avoidance: impl AvoidanceParams, segments: u64) -> Driver {
    let mut config =
        WindowedConfig { avoidance: Arc::new(avoidance), slow_start: none(), ..WindowedConfig::default() };
    config.resolve(Style::Linux);
    let mut flow = Driver::new(&config, MSS * segments, BASE);
    // The ACK that starts congestion avoidance does not count.
    flow.barred = true;
    flow.ack(Duration::from_nanos(1), 1, CLEAN);
    flow.barred = false;
    flow
}

/// A round trip with this much delay by queues. Returns the window after it, in segments.
fn round(flow: &mut Driver, queued: Duration) -> u64 {
    flow.rtt = BASE + queued;
    flow.round(1);
    flow.cwnd() / MSS
}

const MS: fn(u64) -> Duration = Duration::from_millis;

/// spec/congestion-control section 3.9, W = 100 and a base of 100 ms: `100 (r - base) / base` packets wait; below two the
/// window grows by one in a round trip, above four it shrinks by one.
#[test]
fn vegas_keeps_two_to_four_packets() {
    for (queued_ms, change) in [(0, 1), (1, 1), (2, 0), (4, 0), (5, -1), (50, -1)] {
        let mut flow = avoiding(VegasParams::default(), 100);
        let start = i64::try_from(round(&mut flow, MS(queued_ms))).unwrap();
        // The first of these rounds ends with the first ACK beyond it.
        let next = i64::try_from(round(&mut flow, MS(queued_ms))).unwrap();
        assert_eq!(next - start, change, "{queued_ms} ms");
    }
}

/// The paper's diff is `W (1 - base / r)`: 4.3 ms are 4.12 packets at W = 100, 4.1 ms are 3.94.
#[test]
fn the_papers_vegas_divides_by_the_round_trip() {
    for (queued_us, change) in [(1000, 1), (2100, 0), (4100, 0), (4500, -1)] {
        let params = VegasParams { variant: VegasVariant::Paper, ..VegasParams::default() };
        let mut flow = avoiding(params, 100);
        let queued = Duration::from_micros(queued_us);
        let start = i64::try_from(round(&mut flow, queued)).unwrap();
        let next = i64::try_from(round(&mut flow, queued)).unwrap();
        assert_eq!(next - start, change, "{queued_us} us");
    }
}

/// Slow start ends when more than one packet waits: Linux goes to the window that fills the path and one more, the
/// paper's Vegas gives up an eighth.
#[test]
fn vegas_leaves_slow_start_by_delay() {
    let mut flow = seeking(VegasParams::default(), 10);
    for w in [20, 40] {
        assert_eq!(round(&mut flow, MS(0)), w);
    }
    flow.rtt = BASE + MS(25);
    // The first ACKs of the round complete the one before, whose least round trip was the base.
    flow.round(1);
    let w = flow.cwnd() / MSS;
    flow.ack(MS(1), 1, CLEAN);
    assert_eq!(flow.cwnd() / MSS, w * 100 / 125 + 1);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Delay));
    let mut flow = seeking(VegasParams { variant: VegasVariant::Paper, ..VegasParams::default() }, 16);
    let mut last = 16;
    while !flow.avoids() {
        last = flow.cwnd() / MSS;
        flow.rtt = BASE + MS(last / 8);
        flow.ack(MS(1), 1, CLEAN);
    }
    assert_eq!(flow.cwnd() / MSS, last - last / 8);
}

/// The paper's slow start doubles in every second round trip.
#[test]
fn the_papers_slow_start_waits_every_second_round_trip() {
    let mut flow = seeking(VegasParams { variant: VegasVariant::Paper, ..VegasParams::default() }, 10);
    let windows: Vec<u64> = (0..6).map(|_| round(&mut flow, MS(0))).collect();
    let grown = |a: u64, b: u64| b as f64 / a as f64;
    assert!(grown(10, windows[5]) > 4.0 && grown(10, windows[5]) < 16.0, "{windows:?}");
}

/// Outside of Open, Vegas is Reno: one segment per window of ACKs, whatever the delay.
#[test]
fn vegas_is_reno_while_something_is_amiss() {
    let mut flow = avoiding(VegasParams::default(), 100);
    flow.state(CaState::Disorder);
    for w in [101, 102] {
        assert_eq!(round(&mut flow, MS(50)), w);
    }
}

/// spec/congestion-control section 3.10: W = 100, base 100 ms. At 102 ms 1.96 packets wait, and a loss takes a fifth; at
/// 110 ms 9.1, and it takes a half.
#[test]
fn veno_tells_chance_from_congestion() {
    for (queued_ms, left) in [(2, 80), (10, 50)] {
        let mut flow = avoiding(VenoParams::default(), 100);
        round(&mut flow, MS(queued_ms));
        let w = flow.cwnd() / MSS;
        flow.lose();
        assert_eq!(flow.cwnd() / MSS, w * left / 100);
    }
}

/// A congested window grows in every second round trip.
#[test]
fn veno_lingers_on_a_full_path() {
    let mut flow = avoiding(VenoParams::default(), 100);
    let start = round(&mut flow, MS(20));
    for _ in 0..8 {
        round(&mut flow, MS(20));
    }
    assert_eq!(flow.cwnd() / MSS, start + 4);
}

/// Illinois grows by ten segments per round trip on an empty path, by less where delay is seen, and below `win_thresh` as Reno.
#[test]
fn illinois_grows_by_what_delay_allows() {
    let grown = |queued: u64| {
        let mut flow = avoiding(IllinoisParams::default(), 200);
        round(&mut flow, MS(0));
        for _ in 0..3 {
            round(&mut flow, MS(100));
        }
        round(&mut flow, MS(queued));
        let before = round(&mut flow, MS(queued));
        for _ in 0..10 {
            round(&mut flow, MS(queued));
        }
        flow.cwnd() / MSS - before
    };
    assert!((2..=3).contains(&grown(100)), "0.3 segments per round trip, not {} in ten", grown(100));
    assert!((22..=26).contains(&grown(10)), "2.5 segments per round trip, not {} in ten", grown(10));
    let mut flow = avoiding(IllinoisParams::default(), 200);
    let start = round(&mut flow, MS(0));
    assert_eq!(round(&mut flow, MS(0)) - start, 10);
    let mut flow = avoiding(IllinoisParams { win_thresh: 100, theta: 5 }, 50);
    round(&mut flow, MS(0));
    let start = round(&mut flow, MS(0));
    assert_eq!(round(&mut flow, MS(0)) - start, 1);
}

/// A timeout makes Illinois careful.
#[test]
fn illinois_forgets_its_curve_at_a_timeout() {
    let mut flow = avoiding(IllinoisParams::default(), 200);
    round(&mut flow, MS(0));
    round(&mut flow, MS(0));
    assert_eq!((flow.probe("alpha_segments"), flow.probe("beta")), (Some(10.0), Some(0.125)));
    flow.time_out(true);
    flow.state(CaState::Loss);
    assert_eq!((flow.probe("alpha_segments"), flow.probe("beta")), (Some(1.0), Some(0.5)));
}

/// spec/congestion-control section 3.14: W = 800 with 20 packets queued gives up 100, with 300 queued 300, and with more
/// than a half of it queued 400.
#[test]
fn yeah_gives_up_what_is_queued() {
    for (queued_us, left) in [(2565, 700), (60_000, 500)] {
        let mut flow = avoiding(YeahParams::default(), 800);
        round(&mut flow, Duration::from_micros(queued_us));
        round(&mut flow, Duration::from_micros(queued_us));
        let queued = flow.probe("queued_packets").unwrap() as u64;
        let w = flow.cwnd() / MSS;
        flow.lose();
        let cut = queued.min(w / 2).max(w / 8);
        assert_eq!(flow.cwnd() / MSS, w - cut, "near {left}");
    }
}

/// An empty path: a segment for each hundred acknowledged; more than 80 packets queued: they are given up at once.
#[test]
fn yeah_is_scalable_and_empties_the_queue() {
    let mut flow = avoiding(YeahParams::default(), 800);
    let start = round(&mut flow, MS(0));
    assert_eq!(round(&mut flow, MS(0)), start + start / 100);
    flow.rtt = BASE + MS(25);
    let mut before = flow.cwnd();
    while flow.cwnd() >= before {
        before = flow.cwnd();
        flow.ack(MS(1), 1, CLEAN);
    }
    let queued = flow.probe("queued_packets").unwrap();
    assert!((150.0..200.0).contains(&queued), "a fifth of the window: {queued}");
    assert_eq!(flow.cwnd(), before - MSS * queued as u64);
    assert_eq!(flow.probe("slow_rounds"), Some(1.0));
}

/// RFC 6817 section 2.4.2: the window starts with two segments (`INIT_CWND`) and without slow start. It grows by one in a
/// round trip without a queue, stands at TARGET, and shrinks by one in a round trip at twice that, to two at least
/// (`MIN_CWND`).
#[test]
fn ledbat_holds_its_target() {
    let mut flow = seeking(LedbatParams::default(), 10);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 2, true));
    let mut change = |queued_ms| {
        // The first of these rounds replaces the samples that the filter has.
        round(&mut flow, MS(queued_ms));
        let before = flow.segments();
        round(&mut flow, MS(queued_ms));
        (flow.segments() - before, flow.segments())
    };
    while change(0).1 < 40.0 {}
    // At 40 segments: a round has whole ACKs, and the window moves by one meanwhile.
    let within = 2.0 / 40.0;
    for (queued_ms, expected) in [(0, 1.0), (50, 0.5), (100, 0.0), (150, -0.5), (200, -1.0)] {
        let (changed, segments) = change(queued_ms);
        assert!((changed - expected).abs() <= within * f64::abs(expected), "{queued_ms} ms: {changed}");
        assert!(segments > 39.0, "{segments}");
    }
    for _ in 0..100 {
        change(200);
    }
    assert!((change(200).1 - 2.0).abs() < 1e-9);
}

/// RFC 6817 section 2.4.2: a loss halves the window, to two segments at least; a timeout leaves one segment, from which the
/// next ACK leads to two, and then there is no slow start either.
#[test]
fn ledbat_answers_losses_as_reno() {
    let mut flow = seeking(LedbatParams::default(), 10);
    while flow.segments() < 20.0 {
        round(&mut flow, MS(0));
    }
    let before = flow.cwnd();
    flow.lose();
    assert_eq!(flow.cwnd(), before.scale(0.5));
    flow.time_out(true);
    assert_eq!(flow.cwnd(), MSS);
    assert_eq!((round(&mut flow, MS(0)), flow.avoids()), (2, true));
    round(&mut flow, MS(0));
    assert!(flow.segments() < 3.01, "{}", flow.segments());
    flow.lose();
    assert_eq!(flow.cwnd(), MSS * 2);
}

/// draft-irtf-iccrg-ledbat-plus-plus: the window starts with two segments; slow start ends at 3/4 of the target. Two round
/// trips later the flow slows down to two segments for two round trips, and grows back to where it was.
#[test]
fn ledbat_pp_slows_down_after_slow_start() {
    let mut flow = seeking(LedbatPpParams::default(), 10);
    assert_eq!(flow.cwnd(), MSS * 2);
    // GAIN is 1/2 at 100 ms.
    assert_eq!(round(&mut flow, MS(0)), 3);
    while !flow.avoids() {
        round(&mut flow, MS(46));
    }
    let w = flow.cwnd();
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Delay));
    let ended = flow.now;
    while flow.cwnd() > MSS * 2 {
        flow.ack(MS(10), 1, CLEAN);
    }
    let started = flow.now;
    assert!(started.since(ended) <= MS(2 * 146 + 10) + MS(146), "two round trips");
    assert!(flow.cc.control().ssthresh >= w);
    while flow.cwnd() == MSS * 2 {
        flow.ack(MS(10), 1, CLEAN);
    }
    assert!(flow.now.since(started) >= MS(2 * 146), "frozen for two round trips");
    while !flow.avoids() {
        round(&mut flow, MS(0));
    }
    assert!(flow.cwnd() >= w);
}

/// Linux's modules ask for what they need, and for nothing else.
#[test]
fn needs() {
    let cdg = avoiding(CdgParams::default(), 10).cc.needs();
    assert!(cdg.own_reductions && cdg.states && cdg.delivery_reports && !cdg.rate_samples);
    let nv = avoiding(NvParams::default(), 10).cc.needs();
    assert!(nv.rate_samples && nv.states && !nv.delivery_reports);
}
