//! What the slow starts have in common: how marks end them, how they pace, and what `HyStart` does not watch.

use std::sync::Arc;

use windtunnel_cc::{
    AbeParams, AckSample, CaState, ControllerParams, ConventionalParams, CubicParams, DctcpParams,
    EsspParams, ExitReason, ExitResponse, Feedback, HystartParams, HystartPpParams, LimitedParams, MdsParams,
    Pacing, Phase, ResponseParams, SceParams, SlowStartGrowth, SlowStartParams, StandardParams, Style,
    VegasParams, WindowedConfig,
};
use windtunnel_units::Duration;

use crate::driver::{CE, CLEAN, Driver, MSS, Marks, SCE};
use crate::parts::{none, plain_response};

const RTT: Duration = Duration::from_millis(100);
const NS: Duration = Duration::from_nanos(1);

fn starting(slow_start: Arc<dyn SlowStartParams>) -> WindowedConfig {
    // CE leaves 0.8, which differs from half and from nothing.
    let response = Arc::new(ConventionalParams { ce_md: Some(0.8) });
    WindowedConfig { slow_start, response, ..WindowedConfig::default() }
}

fn flow(slow_start: impl SlowStartParams + 'static, segments: u64) -> Driver {
    Driver::new(&starting(Arc::new(slow_start)), MSS * segments, RTT)
}

/// The slow starts that end at a CE, with this exit response.
fn all_with(exit: ExitResponse) -> [Arc<dyn SlowStartParams>; 4] {
    [
        Arc::new(StandardParams { exit: Some(exit), ..StandardParams::default() }),
        Arc::new(LimitedParams { exit: Some(exit), ..LimitedParams::default() }),
        Arc::new(HystartParams { exit, ..HystartParams::default() }),
        Arc::new(HystartPpParams { exit: Some(exit), ..HystartPpParams::default() }),
    ]
}

/// spec/mds section 5: a CE ends slow start with nothing, half the window, or the decrease of congestion avoidance
/// (RFC 3168 section 6.1.2), which here leaves 0.8.
#[test]
fn ce_ends_all_by_their_exit_response() {
    for (exit, kept) in [(ExitResponse::None, 100), (ExitResponse::Half, 50), (ExitResponse::Md, 80)] {
        for slow_start in all_with(exit) {
            let mut flow = Driver::new(&starting(Arc::clone(&slow_start)), MSS * 100, RTT);
            assert_eq!(flow.ack(NS, 1, CE), Some(true));
            assert_eq!((flow.cwnd(), flow.avoids()), (MSS * kept, true), "{exit:?} {slow_start:?}");
            assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));
        }
    }
    // ESSP ends at CE where its steps are as small as the window: K(2) = 5.
    let mut flow = flow(EsspParams { exit: ExitResponse::Md, ..EsspParams::default() }, 5);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 4);
}

/// Endpoints of the document's style leave cwnd at CE and count all that an ACK acknowledges; Linux answers as in
/// congestion avoidance. Limited slow start takes this over, and RFC 5681's growth of a segment with each ACK where
/// it is asked for, as the classic start is.
#[test]
fn limited_slow_start_has_the_style_of_the_standard_one() {
    for (style, kept) in [(Style::Document, 100), (Style::Linux, 80)] {
        for slow_start in
            [LimitedParams::default().resolved(style), StandardParams::default().resolved(style)]
        {
            let slow_start = slow_start.expect("both depend on the style");
            let mut flow = Driver::new(&starting(slow_start), MSS * 100, RTT);
            flow.ack(NS, 1, CE);
            assert_eq!(flow.cwnd(), MSS * kept, "{style:?}");
        }
    }
    let growth = Some(SlowStartGrowth::PerAck);
    let limited = LimitedParams { growth, ..LimitedParams::default() };
    for (mut flow, segments) in [
        (flow(LimitedParams::default(), 10), 14),
        (flow(limited, 10), 11),
        (flow(StandardParams::classic(), 10), 11),
    ] {
        flow.ack(NS, 4, CLEAN);
        assert_eq!(flow.cwnd(), MSS * segments);
    }
    let mut flow = flow(StandardParams::classic(), 100);
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cwnd(), MSS * 80, "RFC 5681's start is left by the decrease");
}

/// The pace is that of the parameters, and the SCE before the one that ends slow start are counted. `HyStart` has no
/// least round trip of a round before its first sample.
#[test]
fn gains_and_counts() {
    let pacing_gain = 1.5;
    for slow_start in [
        Arc::new(StandardParams { pacing_gain, ..StandardParams::default() }) as Arc<dyn SlowStartParams>,
        Arc::new(HystartParams { pacing_gain, ..HystartParams::default() }),
        Arc::new(HystartPpParams { pacing_gain, ..HystartPpParams::default() }),
    ] {
        let flow = Driver::new(&starting(Arc::clone(&slow_start)), MSS * 100, RTT);
        assert_eq!(flow.cc.pacing(), Pacing::Gain(pacing_gain), "{slow_start:?}");
    }
    for slow_start in all_with(ExitResponse::None) {
        let response = Arc::new(MdsParams::default());
        let config = WindowedConfig { response, ..starting(slow_start) };
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.ack(NS, 1, SCE);
        flow.ack(NS, 1, SCE);
        assert_eq!(flow.probe("slow_start_sce"), Some(2.0), "{config:?}");
    }
    let mut flow = flow(HystartParams::default(), 100);
    assert!(flow.probe("round_least_rtt_s").is_some_and(f64::is_nan));
    flow.ack(NS, 1, CLEAN);
    assert_eq!(flow.probe("round_least_rtt_s"), Some(0.1));
}

/// A round with a round trip of 100 ms, and nine samples of the next one with 130 ms, more than an eighth longer. The
/// window does not grow.
fn with_delay(flow: &mut Driver) {
    flow.barred = true;
    let window = flow.cwnd() / MSS;
    flow.ack(NS, 1, CLEAN);
    flow.ack(NS, window - 1, CLEAN);
    flow.rtt = Duration::from_millis(130);
    flow.ack(NS, 2, CLEAN);
    for _ in 0..8 {
        flow.ack(NS, 1, CLEAN);
    }
}

/// Linux `hystart_low_window`: windows of less than 16 segments are not watched, windows of 16 are.
#[test]
fn hystart_watches_from_sixteen_segments_on() {
    for (segments, ends) in [(15, false), (16, true)] {
        let mut flow = flow(HystartParams { ack_train: false, ..HystartParams::default() }, segments);
        with_delay(&mut flow);
        assert_eq!(flow.avoids(), ends, "{segments} segments");
    }
}

/// Linux `hystart_ack_delta_us`: ACKs belong to one train up to 2 ms after one another. 52 of them last for 102 ms,
/// more than the round trip and a millisecond; one that is watched for neither sign ends nothing.
#[test]
fn a_train_has_gaps_of_up_to_two_milliseconds() {
    let spacing = Duration::from_millis(2);
    for (ack_train, gap, ends) in
        [(true, spacing, true), (true, spacing + NS, false), (false, spacing, false)]
    {
        let params = HystartParams { ack_train, delay: false, ..HystartParams::default() };
        let mut flow = flow(params, 200);
        flow.barred = true;
        for _ in 0..52 {
            flow.ack(gap, 1, CLEAN);
        }
        assert_eq!(flow.avoids(), ends, "{gap}");
    }
}

/// Linux `ca->found`: once slow start was left at a sign, growth back to ssthresh after an unused window is not
/// watched again.
#[test]
fn hystart_finds_the_capacity_once() {
    let mut flow = flow(HystartParams { ack_train: false, ..HystartParams::default() }, 100);
    with_delay(&mut flow);
    assert_eq!((flow.avoids(), flow.cc.slow_start_exit()), (true, Some(ExitReason::Delay)));
    flow.validate(MSS * 50);
    flow.rtt = RTT * 3;
    flow.barred = false;
    for segments in 51..100 {
        flow.ack(NS, 1, CLEAN);
        assert_eq!((flow.cwnd(), flow.avoids()), (MSS * segments, false));
    }
    assert_eq!(flow.cc.control().ssthresh, MSS * 100);
}

/// RFC 2861: a window that was lowered in the first slow start does not end it: its exit is still to come. At
/// ssthresh itself congestion avoidance goes on.
#[test]
fn a_lower_window_is_no_exit() {
    let mut flow = flow(StandardParams::default(), 100);
    flow.validate(MSS * 50);
    assert_eq!((flow.cc.control().phase, flow.cc.slow_start_exit()), (Phase::SlowStart, None));
    flow.ack(NS, 1, CE);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));

    let config = WindowedConfig { slow_start: none(), ..WindowedConfig::default() };
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.lose();
    flow.validate(MSS * 50);
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh, flow.avoids()), (MSS * 50, MSS * 50, true));
    flow.validate(MSS * 49);
    assert!(!flow.avoids());
}

/// Linux `tcp_undo_cwnd_reduction`: cwnd and ssthresh become the larger of then and now, so that a threshold which
/// the growth since then has raised is reached in slow start.
#[test]
fn an_undo_can_leave_slow_start() {
    for (grown, slow) in [(140, true), (130, false)] {
        let config = WindowedConfig { slow_start: none(), ..WindowedConfig::default() };
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.ack(NS, 1, CLEAN);
        let before = flow.cwnd();
        flow.lose();
        while flow.cwnd() < MSS * grown {
            flow.round(1);
        }
        // Three quarters of the window are remembered: 105 or 97 segments. The window was 101, and ssthresh 100.
        flow.validate(MSS * 20);
        let ssthresh = flow.cc.control().ssthresh.max(MSS * 100);
        flow.undo();
        assert_eq!((flow.cwnd(), flow.cc.control().ssthresh), (before, ssthresh));
        assert_eq!(flow.avoids(), !slow, "{grown}");
    }
}

/// RFC 5681 section 3.1: ssthresh is at least two segments, and cwnd, one segment after a timeout, reaches it in slow
/// start.
#[test]
fn a_loss_after_a_timeout_leaves_slow_start_to_two_segments() {
    let mut flow = flow(StandardParams::default(), 10);
    flow.time_out(true);
    flow.lose();
    assert_eq!((flow.cwnd(), flow.cc.control().ssthresh, flow.avoids()), (MSS, MSS * 2, false));
}

/// What flows negotiate: marks of RFC 3168 for the conventional response and ABE, the share of marks for DCTCP (RFC
/// 8257), SCE for MDS. Only those with MDS in the handshake answer SCE of MDS.
#[test]
fn feedback_of_responses() {
    let responses: [(Arc<dyn ResponseParams>, Feedback); 5] = [
        (plain_response(), Feedback::Classic),
        (Arc::new(AbeParams::default()), Feedback::Classic),
        (Arc::new(DctcpParams::default()), Feedback::Shares),
        (Arc::new(SceParams::default()), Feedback::PlainSce),
        (Arc::new(MdsParams::default()), Feedback::Sce),
    ];
    for (response, feedback) in responses {
        assert_eq!(response.feedback(), feedback, "{response:?}");
        let config = WindowedConfig { response, ..WindowedConfig::default() };
        assert_eq!((config.needs().feedback, config.answers_sce()), (feedback, feedback == Feedback::Sce));
    }
}

/// Configurations are equal if all three parts are.
#[test]
fn a_configuration_is_its_parts() {
    let plain = WindowedConfig::default;
    assert_eq!(plain(), plain());
    assert_ne!(plain(), WindowedConfig { avoidance: Arc::new(CubicParams::default()), ..plain() });
    assert_ne!(plain(), WindowedConfig { slow_start: Arc::new(LimitedParams::default()), ..plain() });
    assert_ne!(plain(), WindowedConfig { response: Arc::new(AbeParams::default()), ..plain() });
    let exit = Some(ExitResponse::Half);
    assert_ne!(plain(), starting(Arc::new(StandardParams { exit, ..StandardParams::default() })));
}

/// spec/queues-and-signalling section 15.3: an SCE is recent for W + 1 ACKs; a spread CE takes a quarter of a segment
/// for each one acknowledged with ECE.
#[test]
fn recent_sce_and_spread_ce() {
    let sce = |ce_spread| {
        let response = Arc::new(SceParams { ce_spread, ..SceParams::default() });
        let config = WindowedConfig { slow_start: none(), response, ..WindowedConfig::default() };
        let mut flow = Driver::new(&config, MSS * 100, RTT);
        flow.barred = true;
        flow
    };
    for (acks, kept) in [(99, 0.875), (101, 0.75)] {
        let mut flow = sce(false);
        flow.ack(NS, 1, SCE);
        assert_eq!(flow.probe("recent_sce_acks"), Some(101.0));
        for _ in 0..acks {
            flow.ack(NS, 1, CLEAN);
        }
        let before = flow.segments();
        flow.ack(NS, 1, CE);
        assert!((flow.segments() / before - kept).abs() < 1e-3, "{acks}");
    }
    let mut flow = sce(true);
    flow.ack(NS, 2, Marks { ce: 2, sce: 0 });
    assert!((flow.segments() - 99.5).abs() < 1e-3, "{}", flow.segments());
}

/// RFC 3465 section 2.3: in the window after a timeout limited slow start, too, grows by a segment with each ACK.
#[test]
fn limited_byte_counting_is_careful_after_a_timeout() {
    let growth = Some(SlowStartGrowth::Abc);
    let mut flow = flow(LimitedParams { growth, ..LimitedParams::default() }, 12);
    flow.time_out(true);
    flow.ack(NS, 11, CLEAN);
    assert_eq!(flow.cwnd(), MSS * 2);
}

/// Linux `tcp_vegas_cong_avoid`: in slow start Vegas grows whether or not the window was used, unless the ACK may not
/// raise it; in other states it is Reno, which grows a used window alone. `tcp_vegas_cwnd_event` enables it at a
/// restart after idle time.
#[test]
fn vegas_grows_an_unused_window() {
    for (state, restarts, may_raise, grows) in [
        (CaState::Open, false, true, true),
        (CaState::Open, false, false, false),
        (CaState::Disorder, false, true, false),
        (CaState::Disorder, true, true, true),
    ] {
        let avoidance = Arc::new(VegasParams::default());
        let mut config = WindowedConfig { avoidance, ..WindowedConfig::default() };
        config.resolve(Style::Linux);
        let mut flow = Driver::new(&config, MSS * 10, RTT);
        flow.state(state);
        let path = flow.path();
        if restarts {
            flow.cc.on_cwnd_restart(&path);
        }
        let ack = AckSample {
            acked: MSS,
            newly_delivered: MSS,
            rtt: Some(RTT),
            may_raise,
            growth_barred: true,
            ..AckSample::default()
        };
        flow.cc.on_ack(&ack, &path);
        assert_eq!(flow.cwnd(), MSS * if grows { 11 } else { 10 }, "{state:?} {restarts} {may_raise}");
    }
}

/// RFC 9438 section 4.7: fast convergence sets `W_max` to cwnd * (1 + beta)/2. With DCTCP's response beta is the part
/// that it left, so that `W_max` is in the middle between the windows before and after.
#[test]
fn fast_convergence_follows_the_response() {
    let mut config = WindowedConfig {
        avoidance: Arc::new(CubicParams::default()),
        slow_start: none(),
        response: Arc::new(DctcpParams::default()),
    };
    config.resolve(Style::Linux);
    let mut flow = Driver::new(&config, MSS * 100, RTT);
    flow.ack(NS, 1, CE);
    let before = flow.segments();
    flow.barred = true;
    flow.ack(NS, 200, CE);
    let after = flow.segments();
    assert!(after < before && before < 100.0, "{before} {after}");
    let w_max = flow.probe("w_max_segments").expect("CUBIC");
    assert!((w_max - f64::midpoint(before, after)).abs() <= 1.0, "{before} {after}: {w_max}");
}
