//! Slow starts, stage by stage and mark by mark.

use std::sync::Arc;

use windtunnel_cc::{
    AckSample, CubicParams, CubicVariant, Departure, EsspParams, ExitReason, ExitResponse, LimitedParams,
    LossFinder, LostSegment, MdsParams, Pacing, PathView, RapidParams, StandardParams, WindowedConfig,
    leonardo,
};
use windtunnel_units::{Bytes, Duration};

use crate::driver::{CE, CLEAN, Driver, MSS, SCE};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

/// ESSP on a flow that responds to SCE.
fn essp() -> WindowedConfig {
    let slow_start = Arc::new(EsspParams::default());
    WindowedConfig { slow_start, response: Arc::new(MdsParams::default()), ..Default::default() }
}

/// spec/mds section 5: the stages of ESSP.
#[test]
fn the_stages_are_leonardo_numbers() {
    let stages: Vec<u64> = (0..10).map(leonardo::k).collect();
    assert_eq!(stages, [1, 3, 5, 9, 15, 25, 41, 67, 109, 177]);
    for n in 2..leonardo::STAGES {
        assert_eq!(leonardo::k(n), 1 + leonardo::k(n - 1) + leonardo::k(n - 2));
    }
    for later in [leonardo::STAGES, 1000] {
        assert_eq!(leonardo::k(later), leonardo::k(leonardo::STAGES - 1));
        assert_eq!(leonardo::scale(later).to_bits(), leonardo::scale(leonardo::STAGES - 1).to_bits());
    }
}

/// spec/mds section 5: `S(0)` is the product over all stages, just below 4.2; each stage removes its own factor.
#[test]
fn the_pacing_scale_is_the_growth_to_come() {
    assert!((leonardo::scale(0) - 4.199_853_3).abs() < 5e-8, "{}", leonardo::scale(0));
    assert!((leonardo::scale(1) - leonardo::scale(0) / 2.0).abs() < 1e-12);
    assert!((leonardo::scale(2) - leonardo::scale(1) / (4.0 / 3.0)).abs() < 1e-12);
    assert!((leonardo::scale(leonardo::STAGES - 1) - 1.0).abs() < 1e-6);
}

/// spec/mds section 8: a signal that ends slow start leaves the ACK to the avoidance's growth, and the
/// next response waits for a round.
#[test]
fn leaving_slow_start_begins_a_round() {
    let config = WindowedConfig { slow_start: Arc::new(StandardParams::default()), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    assert_eq!(flow.ack(NS, 1, CE), Some(true));
    assert_eq!(flow.cwnd(), MSS * 100, "no exit response; a marked ACK grows nothing");
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));
    assert_eq!(flow.cc.control().ssthresh, MSS * 100);
    assert_eq!(flow.ack(NS, 1, CE), Some(false));
    assert_eq!(flow.ack(NS, 100, CE), Some(true));
    assert_eq!(flow.cwnd(), MSS * 50);
}

/// spec/mds section 5: the exit responses.
#[test]
fn exit_responses_adjust_cwnd() {
    for (exit, cwnd) in [(ExitResponse::None, MSS * 100), (ExitResponse::Half, MSS * 50)] {
        let slow_start = Arc::new(StandardParams { exit: Some(exit), ..StandardParams::default() });
        let mut flow = Driver::new(&WindowedConfig { slow_start, ..Default::default() }, MSS * 100, RTT);
        flow.ack(NS, 1, CE);
        assert_eq!(flow.cwnd(), cwnd);
    }
}

/// spec/mds section 5: `target` sets the flight of one srtt ago * minRTT / RTT.
#[test]
fn the_target_exit_sets_the_flight_of_one_srtt_ago() {
    let exit = ExitResponse::Target;
    let slow_start = Arc::new(StandardParams { exit: Some(exit), ..StandardParams::default() });
    let mut flow = Driver::new(&WindowedConfig { slow_start, ..Default::default() }, MSS * 100, RTT);
    flow.ack(NS, 1, CLEAN);
    // The first ACK left 99 segments in flight; the RTT then doubles.
    flow.rtt = RTT * 2;
    flow.ack(RTT * 2, 50, CLEAN);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 99 / 2);
}

/// spec/mds section 5: slow start ends at the N-th SCE, half of tau unless given.
#[test]
fn standard_slow_start_ends_at_the_nth_sce() {
    for (exit_sce, n) in [(None, 32), (Some(5), 5)] {
        let params = StandardParams { exit_sce, ..StandardParams::default() };
        let config = WindowedConfig { slow_start: Arc::new(params), ..essp() };
        let mut flow = Driver::new(&config, MSS * 10, RTT);
        for count in 1..=n {
            assert!(!flow.avoids(), "before SCE {count}");
            flow.ack(NS, 1, SCE);
        }
        assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Sce));
    }
}

/// spec/mds section 5, base reduction: growth by `acked / (1 + K(n))` after n SCE, and the end when
/// cwnd / (1 + K(n)) is no more than a segment.
#[test]
fn base_reduction_divides_growth() {
    let params = StandardParams { base_reduction: true, ..StandardParams::default() };
    let config = WindowedConfig { slow_start: Arc::new(params), ..essp() };
    let mut flow = Driver::new(&config, MSS * 50, RTT);
    let mut last = flow.cwnd();
    for marks in [CLEAN, SCE, SCE, SCE, SCE, SCE] {
        flow.ack(NS, 1, marks);
        let divisor = MSS / (flow.cwnd() - last);
        last = flow.cwnd();
        assert!([2, 4, 6, 10, 16, 26].contains(&divisor), "{divisor}");
    }
    flow.ack(NS, 1, SCE);
    assert!(!flow.avoids(), "51 segments / 42 are more than one");
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Growth));
}

/// spec/mds section 5: a stage advance slows growth and pacing, waits for a round, and ESSP ends when
/// K(2 stage) reaches the window.
#[test]
fn essp_advances_once_per_round() {
    let mut flow = Driver::new(&essp(), MSS * 10, RTT);
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(leonardo::scale(0)));
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 11);
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.probe("essp_stage"), Some(1.0));
    assert_eq!(flow.cwnd(), MSS * 11 + MSS / 3, "no delay: nothing to leave out");
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(leonardo::scale(1)));
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.probe("essp_stage"), Some(1.0), "the same round");
    // K(4) = 15 is not less than the 12 segments at that time.
    flow.ack(NS, 12, SCE);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Sce));
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(1.0));
}

/// spec/mds section 5: a round trip above 1.25 minimal ones advances the stage and sets cwnd to what
/// the path holds; at exactly 1.25 it does not.
#[test]
fn essp_leaves_out_what_is_queued() {
    let mut flow = Driver::new(&essp(), MSS * 100, RTT);
    flow.rtt = RTT * 5 / 4;
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.probe("essp_stage"), Some(0.0));
    flow.rtt = RTT * 5 / 4 + NS;
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.probe("essp_stage"), Some(1.0));
    let path_rtt = RTT.as_nanos();
    let targeted = 101 * 1448 * path_rtt / (path_rtt * 5 / 4 + 1);
    assert_eq!(flow.cwnd(), Bytes::new(targeted + 1448 / 3));
}

/// spec/mds section 5: ESSP ends when K(2 stage) is not less than the window; K(2) = 5.
#[test]
fn essp_ends_when_its_steps_are_as_small_as_the_window() {
    for (segments, ends) in [(5, true), (6, false)] {
        let mut flow = Driver::new(&essp(), MSS * segments, RTT);
        flow.ack(NS, 1, SCE);
        assert_eq!(flow.avoids(), ends, "{segments} segments");
    }
}

/// spec/mds section 5: a stage advance forgets the round trip, so that the next one without a sample
/// leaves cwnd.
#[test]
fn essp_uses_a_sample_once() {
    let mut flow = Driver::new(&essp(), MSS * 100, RTT);
    flow.rtt = RTT * 2;
    flow.ack(NS, 1, SCE);
    assert_eq!(flow.cwnd(), MSS * 50 + MSS / 3);
    flow.sampled = false;
    let before = flow.cwnd();
    flow.ack(NS, 100, SCE);
    assert_eq!(flow.probe("essp_stage"), Some(2.0));
    assert!(flow.cwnd() > before);
}

/// spec/mds section 5: with base reduction, a round trip's growth of one segment is too little.
#[test]
fn base_reduction_needs_more_than_a_segment_per_round() {
    let params = StandardParams { base_reduction: true, ..StandardParams::default() };
    let config = WindowedConfig { slow_start: Arc::new(params), ..essp() };
    for (segments, ends) in [(2, true), (3, false)] {
        let mut flow = Driver::new(&config, MSS * segments, RTT);
        flow.ack(NS, 1, CLEAN);
        assert_eq!(flow.avoids(), ends, "{segments} segments");
    }
}

/// RFC 3742 section 2 and spec/congestion-control section 2.4: up to `max_ssthresh` the window doubles; beyond it grows
/// by at least half of `max_ssthresh` per round trip, so that from two segments it takes 24 round trips to 1000
/// segments and 204 to 10,000. K is rounded down.
#[test]
fn limited_slow_start_is_linear_beyond_its_limit() {
    let config = WindowedConfig { slow_start: Arc::new(LimitedParams::default()), ..Default::default() };
    let mut flow = Driver::new(&config, MSS * 2, RTT);
    let (mut rounds, mut thousand) = (0, 0);
    while flow.segments() < 10_000.0 {
        let before = flow.segments();
        flow.round(1);
        rounds += 1;
        let growth = flow.segments() - before;
        if before <= 50.0 {
            assert!((growth / before - 1.0).abs() < 1e-9, "{growth} at {before}");
        } else if before > 100.0 {
            assert!((47.0..=100.0).contains(&growth), "{growth} at {before}");
        }
        if flow.segments() < 1000.0 {
            thousand = rounds + 1;
        }
    }
    assert!((20..=25).contains(&thousand), "{thousand} round trips to 1000");
    assert!((190..=212).contains(&rounds), "{rounds} round trips to 10,000");
}

fn rapid() -> WindowedConfig {
    let avoidance = Arc::new(CubicParams { variant: Some(CubicVariant::Rfc9438), ..CubicParams::default() });
    WindowedConfig { avoidance, slow_start: Arc::new(RapidParams::default()), ..Default::default() }
}

/// spec/ccwg-2026 section F.1: without a queue cwnd is 10, 30, 90, 270 segments, and more than the 333 of 40 Mbit/s and
/// 100 ms in the fourth round trip; standard slow start needs six. With a queue cwnd doubles, and with an ACK without a
/// sample the last ones count.
#[test]
fn rapid_start_trebles_without_a_queue() {
    let mut flow = Driver::new(&rapid(), MSS * 10, RTT);
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(1.0), "the first flight leaves over a round trip");
    for expected in [30, 90, 270, 810] {
        flow.round(1);
        assert_eq!(flow.cwnd(), MSS * expected);
    }
    assert_eq!(flow.cc.control().pacing, Pacing::Gain(2.0));
    assert_eq!(flow.probe("rapid_growth"), Some(3.0));
    // The flight that is under way saw no queue; the round after it does.
    flow.rtt = RTT + RTT / 9;
    flow.round(1);
    let before = flow.segments();
    flow.sampled = false;
    flow.round(1);
    assert!((flow.segments() / before - 2.0).abs() < 1e-9, "{} after {before}", flow.segments());
    assert_eq!(flow.probe("rapid_growth"), Some(2.0));
    let needs = flow.cc.needs();
    assert!(needs.paces_first && needs.loss_reports && !needs.own_window);
}

/// The same section, for the whole controller: of 300 segments 100 are lost and 200 arrive, and cwnd is 0.7 of those;
/// CUBIC's plateau is twice what arrived. The sender leaves the window to the recovery while it lasts. CE instead of
/// losses leaves 0.7 of 300.
#[test]
fn rapid_start_finds_the_window_in_recovery() {
    for (lost, end) in [(100_u64, 140), (0, 210)] {
        // The floor of an initial window of 100 segments is that of the largest overshoot, 70.
        let mut flow = Driver::new(&rapid(), MSS * 100, RTT);
        flow.round(1);
        assert_eq!(flow.cwnd(), MSS * 300);
        if lost > 0 {
            flow.lose();
        } else {
            flow.ack(NS, 0, CE);
        }
        let first = if lost > 0 { 0.9 } else { 0.0 };
        assert!((flow.segments() - (270.0 - first)).abs() < 0.01, "{}", flow.segments());
        assert!(flow.avoids() && flow.cc.recovers_itself());
        assert_eq!(flow.cc.slow_start_exit(), Some(if lost > 0 { ExitReason::Loss } else { ExitReason::Ce }));
        let recover = flow.probe("recover_seq");
        let path = flow.path();
        let left = |n: u64| PathView { in_flight: MSS * (300 - n), ..path };
        let departure = Departure {
            sent: flow.now,
            in_flight: MSS,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            app_limited: false,
        };
        let ack = AckSample { newly_delivered: MSS, growth_barred: true, ..AckSample::default() };
        (1..300 - lost).for_each(|n| flow.cc.on_ack(&ack, &left(n + u64::from(lost > 0))));
        for _ in 1..lost {
            let segment =
                LostSegment { seq: path.una, payload: MSS, departure, lost: MSS, found_by: LossFinder::Ack };
            flow.cc.on_lost(&segment, &path);
        }
        // All that was sent is acknowledged.
        let recovered = PathView { una: path.una + MSS * 300, in_flight: Bytes::ZERO, ..path };
        assert_eq!(recover, Some(recovered.una.get() as f64));
        flow.cc.on_recovered(&recovered);
        assert!((flow.segments() - f64::from(end)).abs() < 0.01, "{} of {lost}", flow.segments());
        assert_eq!(flow.cc.control().ssthresh, flow.cwnd());
        assert!(!flow.cc.recovers_itself());
        let plateau = flow.probe("w_max_segments").expect("CUBIC");
        assert!((plateau - 2.0 * f64::from(end) / 0.7).abs() < 0.01, "{plateau}");
    }
}

/// A second loss in that recovery is a response like any other; a timeout ends it and is answered by half as usual; an
/// undo returns to slow start, where the next loss starts another recovery.
#[test]
fn other_answers_end_the_recovery_of_rapid_start() {
    let lost = || {
        let mut flow = Driver::new(&rapid(), MSS * 300, RTT);
        flow.lose();
        assert!(flow.cc.recovers_itself());
        flow
    };
    let mut flow = lost();
    let before = flow.cwnd();
    flow.lose();
    assert!(!flow.cc.recovers_itself());
    assert_eq!(flow.cwnd(), before.scale(0.7));
    let mut flow = lost();
    flow.time_out(true);
    assert!(!flow.cc.recovers_itself());
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (MSS, before.scale(0.7)));
    let mut flow = lost();
    flow.undo();
    assert!(!flow.cc.recovers_itself() && !flow.avoids());
    assert_eq!(flow.cwnd(), MSS * 300);
    flow.lose();
    assert!(flow.cc.recovers_itself());
}

/// RFC 8985 section 7.4.2: a reduction that is over with the ACK that began it leaves the recovery to its flight.
#[test]
fn a_reduction_at_once_goes_on() {
    let mut flow = Driver::new(&rapid(), MSS * 300, RTT);
    flow.lose();
    let path = flow.path();
    flow.cc.on_recovered(&path);
    let before = flow.cwnd();
    flow.ack(NS, 1, CLEAN);
    assert!((flow.segments() - before.as_f64() / MSS.as_f64() + 0.2).abs() < 0.01);
    flow.ack(RTT, 300, CLEAN);
    assert!(!flow.cc.recovers_itself());
}
