//! What the window does around losses, timeouts and undos, when it is not used, and when growth is not allowed.

use std::sync::Arc;

use windtunnel_cc::{
    AimdGrowth, AvoidanceParams, CubicParams, CubicVariant, ExitReason, FlowInit, HystartParams,
    HystartPpParams, MdsParams, RenoParams, SlowStartParams, SsthreshBase, StandardParams, Style,
    WindowedConfig,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CE, CLEAN, Driver, MSS, SCE, init};
use crate::parts::{none, plain_reno, standard};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

fn linux(avoidance: Arc<dyn AvoidanceParams>, slow_start: Arc<dyn SlowStartParams>) -> WindowedConfig {
    let mut config = WindowedConfig { avoidance, slow_start, ..Default::default() };
    config.resolve(Style::Linux);
    config
}

fn reno() -> WindowedConfig {
    linux(plain_reno(), standard())
}

fn cubic(variant: CubicVariant) -> Arc<dyn AvoidanceParams> {
    Arc::new(CubicParams { variant: Some(variant), ..CubicParams::default() })
}

/// A Reno that has lost once, and avoids congestion at `segments`.
fn avoiding(segments: u64) -> Driver {
    let mut flow = Driver::new(&reno(), MSS * (2 * segments), RTT);
    flow.lose();
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * segments, true));
    flow
}

/// spec/congestion-control section 1.1: in CWR and Recovery, and where the growth gate forbids it, neither the window
/// nor the credit grows.
#[test]
fn barred_acks_grow_nothing() {
    let mut flow = avoiding(10);
    flow.barred = true;
    flow.ack(NS, 100, CLEAN);
    flow.barred = false;
    flow.ack(NS, 9, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 10);

    for slow_start in [
        standard(),
        Arc::new(HystartParams::default()),
        Arc::new(HystartPpParams::default()),
        Arc::new(windtunnel_cc::EsspParams::default()),
    ] {
        let config = linux(plain_reno(), slow_start);
        let mut flow = Driver::new(&config, MSS * 10, RTT);
        flow.barred = true;
        flow.ack(NS, 5, CLEAN);
        assert_eq!(flow.cwnd(), MSS * 10, "{:?}", config.slow_start);
    }
}

/// An ACK that may not grow the window still carries information: the controller responds to SCE, and slow start sees
/// the delay.
#[test]
fn barred_acks_are_heard() {
    let response = Arc::new(MdsParams::default());
    let config = WindowedConfig { response, slow_start: none(), ..reno() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.barred = true;
    flow.ack(NS, 1, SCE);
    assert!(flow.cwnd() < MSS * 100);

    let config = linux(plain_reno(), Arc::new(HystartParams::default()));
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.barred = true;
    flow.ack(NS, 100, CLEAN);
    flow.rtt = RTT * 2;
    // Eight samples, 3 ms apart so that there is no train, and one more.
    (0..8).for_each(|_| {
        flow.ack(Duration::from_millis(3), 1, CLEAN);
    });
    assert!(!flow.avoids());
    flow.ack(Duration::from_millis(3), 1, CLEAN);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Delay));
    assert_eq!(flow.cwnd(), MSS * 100);
}

/// RFC 5681 equation 4 against Linux: a loss with 12 of 20 segments in flight leaves six, or ten; segments that limited
/// transmit sent beyond cwnd do not raise the base. CE halves cwnd either way (RFC 3168 section 6.1.2).
#[test]
fn ssthresh_is_computed_from_cwnd_or_the_flight() {
    for (ssthresh_base, of_twelve) in [(SsthreshBase::Cwnd, 10), (SsthreshBase::Flight, 6)] {
        let start = || Driver::from_init(&reno(), FlowInit { ssthresh_base, ..init(MSS * 20) }, RTT);
        let mut flow = start();
        flow.lose_of(MSS * 12);
        assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * of_twelve, MSS * of_twelve));
        let mut flow = start();
        flow.lose_of(MSS * 22);
        assert_eq!(flow.cwnd(), MSS * 10);
        let mut flow = start();
        flow.ack(NS, 1, CE);
        assert_eq!(flow.cwnd(), MSS * 10);
    }
}

/// A response never raises cwnd: from one segment, after a timeout, ssthresh is its floor of two, and slow start leads
/// up to it.
#[test]
fn a_loss_at_one_segment_leaves_one() {
    let mut flow = avoiding(10);
    flow.time_out(true);
    flow.lose();
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS, MSS * 2));
    flow.ack(NS, 1, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 2, true));
}

/// spec/congestion-control section 1.12: after a timeout slow start goes up to ssthresh; section 1.4: the part of the
/// last ACK beyond it counts for the avoidance in the same call. At 8 segments, one segment of an ACK of 12 reaches
/// ssthresh, which is 9; the other 11 are credit, which at 9 segments adds one more.
#[test]
fn slow_starts_leftover_is_the_avoidances() {
    let mut flow = avoiding(18);
    flow.time_out(true);
    assert_eq!(flow.cc.control().ssthresh, MSS * 9);
    flow.ack(NS, 7, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 8, false));
    flow.ack(NS, 12, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 10, true));
    assert_eq!(flow.cc.control().ssthresh, MSS * 9);
    // Two of the eleven are left as credit; eight more are needed.
    flow.ack(NS, 7, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 10);
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 11);
}

/// spec/congestion-control section 1.6: a validated window is lowered, three quarters of it are remembered, and slow
/// start leads back up to that; CUBIC's curve goes on. In the flow's own slow start ssthresh stays unknown.
#[test]
fn an_unused_window_is_remembered() {
    let mut flow = avoiding(20);
    (0..20).for_each(|_| flow.round(1));
    assert_eq!(flow.cwnd(), MSS * 40);
    flow.validate(MSS * 25);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 25, MSS * 30));
    flow.ack(NS, 4, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 29, false));
    flow.ack(NS, 1, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 30, true));
    flow.validate(MSS * 100);
    assert_eq!(flow.cwnd(), MSS * 30, "validation does not raise");

    let mut flow = Driver::new(&reno(), MSS * 10, RTT);
    flow.ack(NS, 10, CLEAN);
    flow.validate(MSS * 12);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 12, Bytes::MAX));

    let mut flow = Driver::new(&linux(cubic(CubicVariant::Linux), none()), MSS * 100, RTT);
    flow.lose();
    flow.round(1);
    let curve = (flow.probe("w_max_segments"), flow.probe("k_s"));
    flow.validate(MSS * 40);
    (0..3).for_each(|_| flow.round(1));
    assert!(flow.avoids());
    assert_eq!((flow.probe("w_max_segments"), flow.probe("k_s")), curve);
}

/// spec/congestion-control section 1.12: after a loss or a timeout, an undo restores the larger window and ssthresh, which the
/// state shows until then; a CE is not undone. Linux's CUBIC still forgets its curve, RFC 9438's restores it (section 4.9).
#[test]
fn undo_restores_the_window() {
    for (variant, restores) in [(CubicVariant::Linux, false), (CubicVariant::Rfc9438, true)] {
        for timeout in [false, true] {
            let mut flow = Driver::new(&linux(cubic(variant), none()), MSS * 200, RTT);
            flow.lose();
            flow.round(1);
            let w_max = flow.probe("w_max_segments");
            let before = (flow.cwnd(), flow.cc.control().ssthresh);
            if timeout {
                flow.time_out(true);
            } else {
                flow.lose();
            }
            assert!(flow.cwnd() < before.0);
            let saved = [flow.probe("undo_cwnd_bytes"), flow.probe("undo_ssthresh_bytes")];
            assert_eq!(saved, [Some(before.0.as_f64()), Some(before.1.as_f64())]);
            assert_eq!(flow.probe("undos"), Some(0.0));
            flow.undo();
            assert_eq!((flow.cwnd(), flow.cc.control().ssthresh, flow.avoids()), (before.0, before.1, true));
            assert_eq!(flow.probe("undos"), Some(1.0));
            assert!(flow.probe("undo_cwnd_bytes").is_some_and(f64::is_nan), "nothing is saved any more");
            assert_eq!(flow.probe("w_max_segments") == w_max, restores, "{variant:?}");
        }
    }
    let mut flow = Driver::new(&linux(plain_reno(), none()), MSS * 200, RTT);
    flow.ack(NS, 1, CE);
    flow.undo();
    assert_eq!(flow.cwnd(), MSS * 100);
}

/// A spurious loss in the flow's own slow start: it goes on, with ssthresh unknown as before (section 1.12).
#[test]
fn a_spurious_loss_does_not_end_slow_start() {
    let mut flow = Driver::new(&reno(), MSS * 10, RTT);
    flow.lose();
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Loss));
    flow.undo();
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 10, Bytes::MAX));
    assert_eq!((flow.avoids(), flow.cc.slow_start_exit()), (false, None));
    flow.round(1);
    assert_eq!(flow.cwnd(), MSS * 20);
}

/// spec/congestion-control section 3.3: a timeout resets Linux's CUBIC after ssthresh was computed by it (70 of 100),
/// and HyStart runs again: in the slow start after it delay ends growth below ssthresh.
#[test]
fn a_timeout_restarts_hystart() {
    let slow_start = Arc::new(HystartParams::default());
    let mut flow = Driver::new(&linux(cubic(CubicVariant::Linux), slow_start), MSS * 100, RTT);
    flow.lose();
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.probe("w_max_segments"), Some(100.0));
    flow.time_out(true);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS, MSS * 49));
    assert_eq!(flow.probe("w_max_segments"), Some(0.0));
    // All segments in flight are acknowledged, which ends the round; then the path has a longer delay.
    let spaced = Duration::from_millis(3);
    flow.barred = true;
    flow.ack(spaced, 70, CLEAN);
    flow.barred = false;
    while flow.cwnd() < MSS * 8 {
        flow.ack(spaced, 1, CLEAN);
    }
    flow.rtt = RTT * 2;
    while !flow.avoids() {
        flow.ack(spaced, 1, CLEAN);
    }
    let control = flow.cc.control();
    assert!(control.ssthresh < MSS * 49, "{}", control.ssthresh);
    assert_eq!(control.ssthresh, control.cwnd);
}

/// spec/congestion-control section 2.3: HyStart++ is off after the first loss: delay does not end a later slow start.
#[test]
fn hystart_pp_is_for_the_first_slow_start() {
    let slow_start = Arc::new(HystartPpParams::default());
    let config = linux(plain_reno(), slow_start);
    let mut flow = Driver::new(&config, MSS * 200, RTT);
    flow.time_out(true);
    while !flow.avoids() {
        flow.rtt += NS * 100_000;
        flow.ack(NS, 1, CLEAN);
    }
    assert_eq!(flow.cwnd(), MSS * 100);
}

/// spec/congestion-control section 2.3: unpaced, an ACK grows HyStart++ by eight segments at most; CE halves in either
/// phase.
#[test]
fn hystart_pp_in_the_style_of_linux() {
    let slow_start = Arc::new(HystartPpParams::default());
    let config = linux(plain_reno(), slow_start);
    let mut flow = Driver::from_init(&config, FlowInit { paced: false, ..init(MSS * 40) }, RTT);
    flow.ack(NS, 20, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 48);
    flow.ack(NS, 1, CE);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 24, true));
}

/// Tahoe, spec/congestion-control section 1.7: at 20 segments a loss (the sender reports a timeout) leaves one segment
/// and ssthresh 10, regained in log2(10) = 3.3 round trips; with RFC 5681's growth.
#[test]
fn tahoe_starts_over() {
    let reno = Arc::new(RenoParams { growth: Some(AimdGrowth::PerAck) });
    let config = linux(reno, Arc::new(StandardParams::classic()));
    let mut flow = Driver::new(&config, MSS * 20, RTT);
    flow.time_out(true);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS, MSS * 10));
    let windows = [1, 2, 4, 8].map(|w| {
        assert_eq!(flow.cwnd(), MSS * w);
        flow.round(1);
        flow.avoids()
    });
    assert_eq!(windows, [false, false, false, true]);
    assert!(flow.cwnd() >= MSS * 10 && flow.cwnd() < MSS * 11);
}

/// An initial window of one segment (Jacobson 1988; RFC 5681 section 3.1 allows it) stays one: the floor of two applies
/// to responses. It doubles each round trip. Congestion avoidance from the first ACK on adds 1/cwnd for each: 1 + 1, 2
/// + 1/2 + 1/2.5 = 2.9, 2.9 + 1/2.9 + 1/3.2 = 3.6.
#[test]
fn initial_window_of_one() {
    let reno = || Arc::new(RenoParams { growth: Some(AimdGrowth::PerAck) });
    let standard: Arc<dyn SlowStartParams> = Arc::new(StandardParams::classic());
    for (slow_start, expected) in [(standard, [1, 2, 4, 8]), (none(), [1, 2, 2, 3])] {
        let mut flow = Driver::new(&linux(reno(), slow_start), MSS, RTT);
        let windows = expected.map(|_| {
            let window = flow.cwnd();
            flow.round(1);
            window / MSS
        });
        assert_eq!(windows, expected);
    }
    assert_eq!(Driver::new(&linux(reno(), none()), Bytes::ZERO, RTT).cwnd(), MSS, "one at least");
}
