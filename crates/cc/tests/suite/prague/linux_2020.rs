//! The module of 2020 (`tcp_prague.c` 0.5): what its rules give, and which keys it has not.

use windtunnel_cc::{ExitReason, Params, PragueMode, PragueParams, PragueVariant};
use windtunnel_units::Duration;

use super::{NS, close, number, pace, prague};
use crate::driver::{CE, CLEAN, Driver, MSS, Marks};

fn of_2020(segments: u64, rtt: Duration) -> Driver {
    let params = PragueParams { variant: PragueVariant::Linux2020, ..PragueParams::default() };
    prague(&params, segments, rtt)
}

/// The average starts at 1, so the first mark leaves half: cwnd and ssthresh follow by a segment for each ACK. Further marks of
/// the round have no answer.
#[test]
fn the_first_mark_halves() {
    let mut flow = of_2020(100, Duration::from_millis(20));
    assert_eq!(flow.probe("alpha"), Some(1.0));
    assert_eq!(flow.ack(NS, 1, CE), Some(true));
    assert_eq!(flow.probe("window_segments"), Some(50.0));
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 99, MSS * 99));
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));
    assert_eq!(flow.ack(NS, 1, CE), Some(false));
    for _ in 0..10 {
        flow.ack(NS, 1, CE);
    }
    assert_eq!(flow.cwnd(), MSS * 88);
}

/// While slow start uses all that an ACK acknowledges unmarked, cwnd does not follow the carry: it goes on growing until an ACK
/// has marks alone.
#[test]
fn slow_start_ends_with_an_ack_of_marks_alone() {
    let mut flow = of_2020(100, Duration::from_millis(20));
    assert_eq!(flow.ack(NS, 2, CE), Some(true));
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 101, false));
    flow.ack(NS, 2, CLEAN);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 103, false));
    flow.ack(NS, 1, CE);
    assert_eq!((flow.cwnd(), flow.avoids()), (MSS * 102, true));
}

/// alpha is averaged each round trip and answered once in it, also below 25 ms: from 1, rounds without marks leave 15/16, and
/// (15/16)^2, and the next answer takes half of that share of cwnd.
#[test]
fn answers_are_a_round_trip_apart() {
    let rtt = Duration::from_millis(5);
    let mut flow = of_2020(100, rtt);
    flow.ack(NS, 1, CE);
    for _ in 0..60 {
        flow.ack(NS, 1, CLEAN);
    }
    // The round of the first mark has one mark in 61 segments and is over with the next ACK.
    flow.ack(rtt, 40, CLEAN);
    let first = 15.0 / 16.0 + 1.0 / 16.0 / 101.0;
    close(number(&flow, "alpha"), first, 1e-9);
    flow.ack(rtt, 60, CLEAN);
    let (alpha, before) = (first * 15.0 / 16.0, number(&flow, "window_segments"));
    close(number(&flow, "alpha"), alpha, 1e-9);
    let cwnd = flow.segments();
    assert_eq!(flow.ack(rtt, 60, CE), Some(true));
    let grown = 59.0 / cwnd;
    close(number(&flow, "window_segments"), before - alpha * cwnd / 2.0 + grown, 1e-9);
}

/// Growth is `1 / cwnd` for each segment at any round trip, long after slow start too; cwnd moves where the carry has a segment.
#[test]
fn growth_is_a_segment_per_round_trip() {
    for ms in [5, 10, 50] {
        let mut flow = of_2020(20, Duration::from_millis(ms));
        flow.ack(NS, 1, CE);
        for _ in 0..10 {
            flow.ack(NS, 1, CLEAN);
        }
        let mut windows = Vec::new();
        for _ in 0..20 {
            flow.round(1);
            windows.push(number(&flow, "window_segments"));
        }
        for pair in windows.windows(2) {
            close(pair[1] - pair[0], 1.0, 0.1);
        }
        assert_eq!(flow.probe("by_rate"), Some(0.0));
    }
}

/// Where all is marked, the average stays at 1, and cwnd falls to two segments. What would be below is forgotten, so that the
/// next unmarked segments grow from there.
#[test]
fn nothing_is_carried_below_two_segments() {
    let rtt = Duration::from_millis(10);
    let mut flow = of_2020(10, rtt);
    for _ in 0..100 {
        let segments = flow.cwnd() / MSS;
        flow.ack(rtt, segments, Marks { ce: segments as u32, sce: 0 });
    }
    // The last answer may not have been followed yet.
    for _ in 0..3 {
        flow.ack(NS, 1, CE);
    }
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS * 2, Some(2.0)));
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.probe("window_segments"), Some(2.5));
    close(pace(&flow), 2.0 * 1448.0 * 8.0 / 0.01 / 1e6, 1e-5);
}

/// A loss halves cwnd with its carry, and nothing grows until it is repaired. A timeout leaves one segment and the carry, so
/// that cwnd and ssthresh are two with the next ACK. An undo brings cwnd back and takes what the carry lost once more.
#[test]
fn losses_of_2020() {
    let mut flow = of_2020(100, Duration::from_millis(30));
    flow.lose();
    assert_eq!(flow.probe("window_segments"), Some(50.0));
    flow.ack(NS, 1, CLEAN);
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS * 99, Some(50.0)));
    assert_eq!(flow.probe("undo_cwnd_bytes"), Some((MSS * 100).as_f64()));
    flow.undo();
    assert_eq!(flow.probe("undos"), Some(1.0));
    assert_eq!((flow.cwnd(), flow.probe("window_segments")), (MSS * 100, Some(100.0 - 2.0 * 49.0)));

    let mut flow = of_2020(100, Duration::from_millis(30));
    flow.time_out(true);
    assert_eq!(flow.cwnd(), MSS);
    flow.ack(NS, 1, CLEAN);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS * 2, MSS * 2));
}

/// The pace is the larger of cwnd and what is in flight, over srtt, without a least value: 8 packets of 1500 bytes in 4 s are
/// 24 kbit/s. A burst is at most a 4096th of a second.
#[test]
fn the_pace_of_2020() {
    let mut flow = of_2020(8, Duration::from_secs(4));
    flow.ack(NS, 1, CE);
    let segments = flow.segments().max(8.0 - 1.0);
    close(pace(&flow), segments * 1448.0 * 8.0 / 4.0 / 1e6, 1e-3);
    let mut flow = of_2020(1000, Duration::from_millis(20));
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cc.control().send_quantum, Some(MSS * 24), "2 * 1001 / 0.02 / 4096");
}

/// The growth gate is open while data wait, also where cwnd is not used.
#[test]
fn growth_needs_a_used_window_or_waiting_data() {
    let mut flow = of_2020(20, Duration::from_millis(30));
    flow.unused = true;
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 21, "data wait");
    flow.app_limited = true;
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 21);
    flow.unused = false;
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 22);
}

/// Keys of later versions are refused by name.
#[test]
fn keys_of_later_versions() {
    let of_2020 = PragueParams { variant: PragueVariant::Linux2020, ..PragueParams::default() };
    assert!(of_2020.check().is_ok());
    for (params, key) in [
        (PragueParams { prague_cwnd_mode: PragueMode::Rate, ..of_2020.clone() }, "prague_cwnd_mode"),
        (PragueParams { prague_cwnd_transit: 5, ..of_2020.clone() }, "prague_cwnd_transit"),
        (PragueParams { prague_rtt_target: NS, ..of_2020.clone() }, "prague_rtt_target"),
        (PragueParams { prague_rtt_transition: 0, ..of_2020.clone() }, "prague_rtt_transition"),
    ] {
        assert_eq!(params.check().expect_err("a key of 0.7").key, key);
    }
}
