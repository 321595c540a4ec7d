//! The start: what ends Startup and Drain, and pace and window until then.

use windtunnel_cc::{CaState, ExitReason, Phase};

use super::*;

/// Losses end Startup after a whole round of a recovery in which at least 6 ranges (version 2: 8) and more than 2 %
/// (Linux: 5/256) were lost. The long-term bound is then what was delivered, if that is more than the product.
#[test]
fn losses_end_startup() {
    let (rec, open) = (CaState::Recovery, CaState::Open);
    // Version; state; whether it holds since before the round; ranges, and segments in each; lost of 100; the end.
    let cases = [
        (draft(), rec, true, 6, 1, 3, true),
        (draft(), rec, true, 6, 1, 2, false),
        (linux(), rec, true, 6, 1, 2, true),
        (draft(), rec, true, 5, 1, 3, false),
        (draft(), rec, true, 5, 3, 3, false),
        (second(), rec, true, 7, 1, 3, false),
        (second(), rec, true, 8, 1, 3, true),
        (draft(), open, true, 6, 1, 3, false),
        (draft(), rec, false, 6, 1, 3, false),
    ];
    for (params, state, early, ranges, in_each, lost, ends) in cases {
        let mut flow = Flow::new(&*params);
        flow.ack(round(100));
        flow.ack(within(100));
        if early {
            flow.state(state);
        }
        for number in 0..ranges * in_each {
            flow.lose(loss(number + number / in_each));
        }
        // A round starts, but not with what left after the losses.
        flow.ack(Ack { left: Some(100), lost: 3, ..round(100) });
        assert_eq!(flow.mode(), STARTUP);
        flow.state(state);
        // 150 segments in 150 ms: the bandwidth is the same.
        let last =
            Ack { left: Some(200), lost, sample: 150, interval: ms(150), in_flight: 200, ..round(100) };
        flow.ack(last);
        let what = format!("{} {state:?} {early} {ranges} x {in_each} {lost}", params.name());
        assert_eq!(flow.mode(), if ends { DRAIN } else { STARTUP }, "{what}");
        assert_bound(flow.segments("inflight_long"), ends.then_some(150.0), &what);
        assert_eq!(flow.cc.slow_start_exit(), ends.then_some(ExitReason::Other("loss rate")), "{what}");
    }
}

/// A loss in the last round of Startup lowers the short-term bounds in the first of Drain. Linux starts Drain without
/// the signals of Startup.
#[test]
fn a_loss_before_drain() {
    for (params, counts) in [(draft(), true), (linux(), false), (second(), false)] {
        let mut flow = Flow::new(&*params);
        flow.acks(3, round(100));
        flow.ack(within(100));
        flow.lose(loss(0));
        for (left, lowered) in [(300, false), (400, counts)] {
            flow.ack(Ack { left: Some(left), in_flight: 400, ..round(100) });
            assert_eq!((flow.mode(), flow.segments("inflight_short").is_some()), (DRAIN, lowered));
        }
    }
}

/// Three rounds in which the bandwidth grows by less than a quarter end Startup. Samples within a round and those
/// that the application limits do not count, and growth by a quarter starts the count anew.
#[test]
fn plateau_ends_startup() {
    let mut flow = Flow::new(&*draft());
    let limited = Ack { app_limited: true, ..round(100) };
    for (ack, full_bw) in [
        (round(100), 100.0),
        (within(100), 100.0),
        (within(100), 100.0),
        (limited, 100.0),
        (limited, 100.0),
        (round(124), 100.0),
        (round(124), 100.0),
        (round(125), 125.0),
        (round(156), 125.0),
        (round(156), 125.0),
    ] {
        flow.ack(ack);
        assert_eq!((flow.mode(), flow.number("full_bw_reached")), (STARTUP, 0.0), "{ack:?}");
        assert_eq!(flow.cc.control().phase, Phase::SlowStart);
        assert_bound(flow.bandwidth("full_bw"), Some(full_bw), "full_bw");
    }
    flow.ack(Ack { in_flight: 400, ..round(156) });
    assert_eq!((flow.mode(), flow.number("full_bw_reached")), (DRAIN, 1.0));
    assert_eq!(flow.cc.control().phase, Phase::CongestionAvoidance);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Other("bandwidth plateau")));
    assert_near(flow.number("rounds"), 9.0, "rounds");
}

/// Drain with a queue that stays: the draft ends it after more than three rounds, Linux and version 2 do not.
#[test]
fn longest_drain() {
    for (params, last) in [(draft(), DOWN), (linux(), DRAIN), (second(), DRAIN)] {
        let mut flow = Flow::new(&*params);
        let queued = Ack { in_flight: 200, ..round(100) };
        flow.acks(4, queued);
        for _ in 0..3 {
            assert_eq!(flow.mode(), DRAIN);
            flow.ack(queued);
        }
        assert_eq!(flow.mode(), DRAIN, "three rounds");
        flow.ack(queued);
        assert_eq!(flow.mode(), last, "four rounds: {}", params.name());
    }
}

/// The first pace is 2.77 of the initial window (Linux: of the window, less the margin) per round trip, or per millisecond until
/// there is one. Until the path is full the bandwidth takes its place only where it is faster. A window after a lost SYN
/// sets it anew.
#[test]
fn first_pace() {
    for (params, margin) in [(draft(), 1.0), (draft_06(), 1.0), (linux(), 0.99), (second(), 0.99)] {
        let mut flow = Flow::new(&*params);
        let gain = flow.number("pacing_gain");
        let (first, no_rtt) = (gain * margin * 10.0, PathView { srtt: Duration::ZERO, ..flow.path(0) });
        assert_near(flow.pace(), first, "ten segments");
        flow.cc.on_established(&no_rtt);
        assert_near(flow.pace(), first * 100.0, "per millisecond");
        let faster = 0.99 * gain * 20.0;
        let held = if margin < 1.0 { [(2, first), (2, first)] } else { [(2, first), (10, first)] };
        for (sample, pace) in held.into_iter().chain([(20, faster), (10, faster)]) {
            flow.ack(Ack { newly: 1, ..round(sample) });
            assert_near(flow.pace(), pace, &format!("{sample} segments"));
        }
        let path = flow.path(0);
        flow.cc.on_cwnd_validation(MSS, &path);
        assert_near(flow.pace(), gain * margin, "one segment");
        assert_near(flow.cwnd(), 1.0, "the window");
    }
    // 2.77 x 10 x 1448 x 8 bits in 1 ms.
    let unestablished = draft().build(FlowInit::new(MSS)).control().pacing;
    assert_eq!(unestablished, Pacing::Rate(Rate::from_bits_per_sec(320_876_800)));
}

/// The window of Startup grows by what is delivered until that is as much as the initial window; from then on, only
/// if the window is below its aim.
#[test]
fn startup_window() {
    let mut flow = Flow::new(&*draft());
    // Of one segment per round trip the aim is three bursts of two segments, or 2 and what ACKs bring at once, 9.
    for (newly, sample, cwnd) in [(4, 1, 14.0), (6, 1, 14.0), (6, 100, 20.0)] {
        flow.ack(Ack { newly, sample, ..round(1) });
        assert_near(flow.cwnd(), cwnd, &format!("{newly} {sample}"));
    }
}
