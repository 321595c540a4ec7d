//! Pace, window and bursts in all modes, and the window across losses.

use windtunnel_cc::{CaState, OffloadBudget, PacingNeed};

use super::*;

/// The gains of pace and window in each mode, and the pace: the gain times the bandwidth of 100 less 1 %.
#[test]
fn gains() {
    let v2 = 739.0 / 256.0;
    for (params, startup, drain, down, up) in [
        (draft(), (2.77, 2.0), (0.5, 2.0), 0.9, 2.25),
        (linux(), (710.0 / 256.0, 2.0), (88.0 / 256.0, 2.0), 0.91, 2.25),
        (second(), (v2, v2), (88.0 / 256.0, v2), 0.75, 2.0),
    ] {
        let mut flow = Flow::new(&*params);
        let queued = Ack { in_flight: 200, ..round(100) };
        let later = Ack { after: ms(3000), ..within(100) };
        for (ack, mode, (pacing, cwnd)) in [
            (queued, STARTUP, startup),
            (queued, STARTUP, startup),
            (queued, STARTUP, startup),
            (queued, DRAIN, drain),
            (round(100), CRUISE, (1.0, 2.0)),
            (later, REFILL, (1.0, 2.0)),
            (round(100), UP, (1.25, up)),
        ] {
            flow.ack(ack);
            let what = format!("{} mode {mode}", params.name());
            assert_eq!(flow.mode(), mode, "{what}");
            assert_eq!((flow.number("pacing_gain"), flow.number("cwnd_gain")), (pacing, cwnd), "{what}");
            assert_near(flow.pace(), pacing * 99.0, &what);
        }
        // What ACKs bring at once is 100, and a probe has two segments more.
        flow.ack(round(100));
        assert_near(flow.cwnd(), up * 100.0 + 100.0 + 2.0, "UP");
        flow.lose(Loss { number: 0, flight_then: 400, lost: 100, app_limited: true });
        flow.ack(queued);
        assert_eq!((flow.mode(), flow.number("pacing_gain"), flow.number("cwnd_gain")), (DOWN, down, 2.0));
        assert_near(flow.pace(), down * 99.0, "DOWN");
        flow.ack(Ack { after: ms(10_000), ..queued });
        assert_eq!(
            (flow.mode(), flow.number("pacing_gain"), flow.number("cwnd_gain")),
            (PROBE_RTT, 1.0, 0.5)
        );
    }
}

/// A burst lasts a millisecond at the pace of 0.99 times the bandwidth; it has two segments at least, also large
/// ones, and else 64 KiB at most.
#[test]
fn bursts() {
    // 400 segments in 100 ms are 4 in 1 ms, and 0.99 x 4 x 1448 = 5734.08 bytes.
    for (product, quantum) in [(100, 2 * 1448), (400, 5734), (10_000, 65_536)] {
        let flow = Flow::cruise(&*draft(), product);
        assert_eq!(flow.cc.control().send_quantum, Some(Bytes::new(quantum)), "{product}");
    }
    let large = draft().build(FlowInit::new(Bytes::new(40_000)));
    assert_eq!(large.control().send_quantum, Some(Bytes::new(80_000)));
}

/// Of a product of one segment the window has room for three bursts of two, and in UP for two segments more. A path
/// for that much is drained with as much in flight. With QUIC there is room for one burst, so that the least window, four,
/// counts.
#[test]
fn least_windows() {
    let quic = Bbr3Params { offload: Some(OffloadBudget::Quic), ..Bbr3Params::default() };
    for (params, room) in [(draft(), 6), (Box::new(quic), 4)] {
        let mut flow = Flow::new(&*params);
        let ack = Ack { newly: 1, in_flight: room + 1, ..round(1) };
        flow.acks(4, ack);
        assert_eq!(flow.mode(), DRAIN);
        flow.ack(Ack { in_flight: room, ..ack });
        assert_ne!(flow.mode(), DRAIN);
        assert_near(flow.cwnd(), room as f64, "bursts in hosts, or the least window");
        flow.acks(3, ack);
        assert_eq!((flow.mode(), flow.cwnd()), (UP, room as f64 + 2.0));
    }
}

/// A congestion event and a new timeout save the window, which returns when the repair is over: the last one that was
/// good, or the larger of two if it was not. After a timeout the window is what is in flight and a segment more, at
/// least four segments with the next ACK.
#[test]
fn the_window_returns_after_a_repair() {
    let saved = |flow: &Flow| flow.segments("prior_cwnd").expect("a number");
    let one = Ack { newly: 1, ..within(100) };
    let mut flow = Flow::cruise(&*draft(), 100);
    assert!(flow.congestion(), "it answers");
    assert_near(saved(&flow), 300.0, "the first");
    flow.state(CaState::Recovery);
    flow.time_out(false, 20);
    flow.ack(one);
    assert_near(flow.cwnd(), 22.0, "in recovery");
    flow.ack(one);
    assert_near(flow.cwnd(), 23.0, "still in recovery");
    for _ in 0..2 {
        flow.time_out(true, 0);
        flow.state(CaState::Loss);
        assert_near(flow.cwnd(), 1.0, "the timeout");
        assert_near(saved(&flow), 300.0, "the larger of two");
    }
    flow.ack(one);
    assert_near(flow.cwnd(), 4.0, "the least window");
    flow.state(CaState::Open);
    flow.ack(one);
    assert_near(flow.cwnd(), 300.0, "repaired");

    let path = flow.path(0);
    flow.cc.on_cwnd_validation(MSS * 150, &path);
    flow.ack(one);
    assert_near(flow.cwnd(), 151.0, "nothing to return from");
    flow.congestion();
    assert_near(saved(&flow), 151.0, "a good one replaces a larger one");
    flow.time_out(false, 20);
    flow.congestion();
    flow.time_out(true, 20);
    assert_near(saved(&flow), 21.0, "the last ACK was a good one");
    flow.cc.on_cwnd_validation(MSS * 150, &path);
    flow.ack(Ack { after: ms(10_000), ..one });
    assert_eq!(flow.mode(), PROBE_RTT);
    flow.time_out(true, 20);
    assert!(saved(&flow) > 149.0, "ProbeRTT's window is not a good one: {}", saved(&flow));
}

/// What BBR asks of its sender, among it a send buffer of three windows, as Linux's `sndbuf_expand`.
#[test]
fn needs() {
    for (params, feedback) in
        [(draft(), Feedback::Classic), (linux(), Feedback::None), (second(), Feedback::None)]
    {
        let needs = params.build(FlowInit::new(MSS)).needs();
        assert_eq!((needs.pacing, needs.feedback), (PacingNeed::Always, feedback));
        assert!(
            needs.rate_samples && needs.loss_reports && needs.states && needs.every_ack && needs.own_window
        );
        assert_eq!(needs.send_buffer_windows, 3);
    }
}
