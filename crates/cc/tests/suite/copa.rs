//! Copa's rules, as section 2 of the paper (NSDI 2018) and spec/congestion-control section 3.24 have them.

use windtunnel_cc::{AckSample, ControllerParams, CopaParams, ExitReason, FlowInit, Pacing};
use windtunnel_units::{Bytes, Duration, Rate};

use crate::driver::{CLEAN, Driver, MSS};

const BASE: Duration = Duration::from_millis(100);

fn copa(params: &CopaParams) -> Driver {
    Driver::of(params.build(FlowInit::new(MSS)), BASE)
}

fn probe(driver: &Driver, name: &str) -> f64 {
    driver.probe(name).expect("a number of Copa")
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, not {expected}");
}

/// A flow that left slow start at a round trip of 120 ms.
fn steady(params: &CopaParams) -> Driver {
    let mut driver = copa(params);
    driver.round(1);
    driver.round(1);
    driver.rtt = Duration::from_millis(120);
    // The least of half a round trip grows when that has passed.
    driver.round(1);
    assert!(driver.avoids());
    driver
}

/// Slow start doubles the window in each round trip, paced at twice the window per round trip. With 10 ms of queue the
/// target is 1/(0.5 * 0.01) = 200 segments per second: 40 segments in 110 ms are more.
#[test]
fn slow_start_ends_at_the_target() {
    let mut driver = copa(&CopaParams::default());
    driver.round(1);
    assert_eq!(driver.cwnd(), MSS * 20);
    driver.round(1);
    assert_eq!(driver.cwnd(), MSS * 40);
    assert_eq!(driver.cc.pacing(), Pacing::Rate(Rate::of(MSS * 80, BASE)));
    driver.rtt = Duration::from_millis(110);
    driver.ack(Duration::from_millis(1), 1, CLEAN);
    assert!(!driver.avoids(), "the standing round trip is still the path's");
    driver.ack(Duration::from_millis(60), 1, CLEAN);
    assert!(driver.avoids());
    assert_eq!(driver.cc.slow_start_exit(), Some(ExitReason::Delay));
    assert_near(probe(&driver, "queueing_s"), 0.01);
}

/// For each segment that arrives the window moves by v / (delta * cwnd) towards the target.
#[test]
fn a_segment_moves_the_window_by_v_over_delta_cwnd() {
    for delta in [0.5, 0.25, 1.0] {
        let mut driver = steady(&CopaParams { delta, ..CopaParams::default() });
        let mut before = probe(&driver, "cwnd_packets");
        driver.ack(Duration::from_millis(1), 1, CLEAN);
        let mut after = probe(&driver, "cwnd_packets");
        assert!((before - after - 1.0 / (delta * before)).abs() < 1e-9, "down: {before} {after}");
        driver.rtt = BASE;
        before = after;
        driver.ack(Duration::from_millis(1), 2, CLEAN);
        after = probe(&driver, "cwnd_packets");
        assert!((after - before - 2.0 / (delta * before)).abs() < 1e-9, "up: {before} {after}");
    }
}

/// After three round trips in one direction the velocity doubles in each; on the other side of the target it is 1 again.
#[test]
fn velocity_doubles_after_three_round_trips() {
    let mut driver = steady(&CopaParams::default());
    driver.rtt = BASE;
    let mut velocities = Vec::new();
    for _ in 0..7 {
        driver.round(1);
        velocities.push(probe(&driver, "velocity"));
    }
    let first = velocities.iter().position(|v| *v > 1.0).expect("it doubles");
    assert!(first >= 3, "{velocities:?}");
    for pair in velocities[first - 1..].windows(2) {
        assert_near(pair[1], 2.0 * pair[0]);
    }
    driver.rtt = Duration::from_millis(150);
    driver.ack(Duration::from_millis(60), 1, CLEAN);
    driver.ack(Duration::from_millis(60), 1, CLEAN);
    assert_near(probe(&driver, "velocity"), 1.0);
}

/// A queue that does not empty in five round trips is filled by others: 1/delta grows by one in each round trip, a loss
/// halves it, and an empty queue ends the mode. Without the mode, delta stays and losses change nothing.
#[test]
fn competes_where_the_queue_does_not_empty() {
    let mut driver = steady(&CopaParams::default());
    for _ in 0..5 {
        driver.round(1);
    }
    while probe(&driver, "competing") == 0.0 {
        driver.round(1);
    }
    let inverse = 1.0 / probe(&driver, "delta");
    for n in 1..=6 {
        driver.round(1);
        assert!((1.0 / probe(&driver, "delta") - inverse - f64::from(n)).abs() < 1e-9);
    }
    let (inverse, cwnd) = (1.0 / probe(&driver, "delta"), driver.cwnd());
    driver.lose();
    assert!((1.0 / probe(&driver, "delta") - inverse / 2.0).abs() < 1e-9);
    for _ in 0..4 {
        driver.lose();
    }
    assert_near(probe(&driver, "delta"), 0.5);
    assert_eq!(driver.cwnd(), cwnd, "the window follows the target alone");
    driver.rtt = BASE;
    driver.ack(Duration::from_millis(1), 1, CLEAN);
    assert_eq!((probe(&driver, "competing"), probe(&driver, "delta")), (0.0, 0.5));

    let mut driver = steady(&CopaParams { mode_switching: false, ..CopaParams::default() });
    for _ in 0..20 {
        driver.round(1);
    }
    assert_eq!((probe(&driver, "competing"), probe(&driver, "delta")), (0.0, 0.5));
}

/// The velocity multiplies the step of a segment. What an application limits does not grow.
#[test]
fn velocity_multiplies_the_step() {
    let mut driver = steady(&CopaParams::default());
    driver.rtt = BASE;
    while probe(&driver, "velocity") < 4.0 {
        driver.round(1);
    }
    let (before, velocity) = (probe(&driver, "cwnd_packets"), probe(&driver, "velocity"));
    driver.ack(Duration::from_millis(1), 1, CLEAN);
    let step = probe(&driver, "cwnd_packets") - before;
    assert!((step - velocity / (0.5 * before)).abs() < 1e-9, "{step}");
    let before = probe(&driver, "cwnd_packets");
    let ack = AckSample { newly_delivered: MSS, app_limited: true, ..AckSample::default() };
    let path = driver.path();
    driver.cc.on_ack(&ack, &path);
    assert_near(probe(&driver, "cwnd_packets"), before);
}

/// The competitive mode starts with the delta of the default mode.
#[test]
fn the_competitive_mode_starts_with_the_same_delta() {
    let mut driver = steady(&CopaParams { delta: 0.25, ..CopaParams::default() });
    while probe(&driver, "competing") == 0.0 {
        driver.ack(Duration::from_millis(1), 1, CLEAN);
    }
    // A round trip that ends with the same ACK has raised 1/delta by one.
    assert!((0.2..=0.25).contains(&probe(&driver, "delta")), "{}", probe(&driver, "delta"));
}

/// A timeout leaves two segments and a new slow start.
#[test]
fn a_timeout_starts_again() {
    let mut driver = steady(&CopaParams::default());
    driver.time_out(true);
    assert_eq!(driver.cwnd(), MSS * 2);
    assert!(!driver.avoids());
}

/// Whatever the round trips are, the window stays between two segments and what a TCP can announce.
#[test]
fn the_window_is_bounded() {
    let mut driver = copa(&CopaParams::default());
    for step in 0..40_000_u64 {
        driver.rtt = Duration::from_micros(1 + step * 7919 % 300_000);
        driver.ack(Duration::from_micros(step * 31 % 5000), step % 50, CLEAN);
        if step % 997 == 0 {
            driver.lose();
        }
        if step % 9973 == 0 {
            driver.time_out(true);
        }
        assert!(driver.cwnd() >= MSS * 2 && driver.cwnd() <= Bytes::new(MSS.get() << 20));
        assert!(probe(&driver, "delta") > 0.0 && probe(&driver, "velocity") >= 1.0);
    }
}
