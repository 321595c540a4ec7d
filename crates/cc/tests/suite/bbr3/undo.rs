//! Losses that turn out to have been none: what returns.

use windtunnel_cc::CaState;

use super::*;

/// Losses that were none: Startup goes on, also if they had ended it, and the bound that they set is none again.
#[test]
fn undo_returns_to_startup() {
    let mut flow = Flow::new(&*draft());
    flow.ack(round(100));
    flow.state(CaState::Recovery);
    for number in 0..6 {
        flow.lose(loss(2 * number));
    }
    flow.ack(Ack { lost: 3, in_flight: 200, ..round(100) });
    assert_eq!((flow.mode(), flow.number("pacing_gain")), (DRAIN, 0.5));
    flow.undo();
    assert_eq!((flow.mode(), flow.number("pacing_gain")), (STARTUP, 2.77));
    assert_eq!((flow.number("full_bw_reached"), flow.segments("inflight_long")), (0.0, None));
}

/// A plateau ends Startup, and a segment that was only late does not bring it back: the draft saves the mode where losses
/// end it (`CheckStartupHighLoss`, `HandleInflightTooHigh`), not with each loss.
#[test]
fn undo_does_not_undo_a_plateau() {
    for early in [true, false] {
        let mut flow = Flow::new(&*draft());
        flow.acks(3, round(100));
        if early {
            flow.lose(loss(0));
        }
        flow.ack(Ack { in_flight: 200, ..round(100) });
        assert_eq!(flow.mode(), DRAIN);
        if !early {
            flow.lose(loss(0));
        }
        flow.undo();
        assert_eq!(
            (flow.mode(), flow.number("full_bw_reached")),
            (DRAIN, 1.0),
            "before the plateau: {early}"
        );
    }
}

/// Losses end Startup, `ProbeRTT` comes, and then they turn out to have been none: `ProbeRTT` goes on, and Startup follows.
#[test]
fn undo_in_probe_rtt() {
    let mut flow = Flow::new(&*draft());
    flow.ack(round(100));
    flow.state(CaState::Recovery);
    for number in 0..6 {
        flow.lose(loss(2 * number));
    }
    flow.ack(Ack { lost: 3, in_flight: 200, ..round(100) });
    flow.ack(Ack { after: ms(10_001), in_flight: 200, ..within(100) });
    assert_eq!((flow.mode(), flow.number("full_bw_reached")), (PROBE_RTT, 1.0));
    flow.undo();
    assert_eq!((flow.mode(), flow.number("full_bw_reached")), (PROBE_RTT, 0.0));
    let quiet = Ack { in_flight: 4, app_limited: true, ..round(4) };
    flow.ack(quiet);
    flow.acks(3, quiet);
    assert_eq!(flow.mode(), STARTUP);
}

/// Linux returns the bounds from the start of the recovery and no mode (`bbr_ssthresh`, `bbr_undo_cwnd`): Startup and the
/// probe that losses ended are over, and the long-term bound that the first loss set stays.
#[test]
fn undo_in_linux() {
    let mut flow = Flow::new(&*linux());
    flow.ack(round(100));
    flow.state(CaState::Recovery);
    flow.congestion();
    for number in 0..6 {
        flow.lose(loss(2 * number));
    }
    flow.ack(Ack { lost: 3, in_flight: 200, ..round(100) });
    flow.undo();
    assert_eq!((flow.mode(), flow.segments("inflight_long")), (DRAIN, None));

    let mut flow = Flow::bounded(&*linux(), 100, 100);
    flow.congestion();
    flow.undo();
    assert_eq!((flow.mode(), flow.segments("inflight_long")), (DOWN, Some(100.0)));
}

/// A recovery saves the state when it starts, also in a round that had losses before (`OnEnterFastRecovery`, `OnEnterRTO`), and
/// before its own losses are handled. In CRUISE a loss of the round before leaves 210; the timeout finds a loss of the same
/// round, whose bounds follow; what returns is 210, and not the bound of before the first loss, which is none.
#[test]
fn a_recovery_saves_the_state_anew() {
    for timer in [true, false] {
        let mut flow = Flow::cruise(&*draft(), 100);
        flow.lose(loss(0));
        flow.congestion();
        flow.ack(round(60));
        assert_bound(flow.segments("inflight_short"), Some(210.0), "0.7 of 300");
        flow.lose(loss(2));
        flow.ack(within(60));
        // The second recovery starts in the loss round of the first.
        flow.lose(loss(4));
        if timer {
            flow.time_out(true, 300);
        } else {
            flow.congestion();
        }
        flow.ack(round(60));
        assert_bound(flow.segments("inflight_short"), Some(147.0), "0.7 of 210");
        flow.undo();
        assert_bound(flow.segments("inflight_short"), Some(210.0), "before the recovery");
    }
}

/// A probe ends by a loss of a round that had one before, and a recovery starts with it: the probe returns, since the recovery
/// starts before the loss is handled.
#[test]
fn a_probe_returns_that_ended_in_a_round_with_losses() {
    let mut flow = Flow::cruise(&*draft(), 100);
    flow.probe(round(100));
    flow.lose(loss(0));
    flow.congestion();
    flow.ack(within(100));
    assert_eq!(flow.mode(), UP);
    flow.lose(Loss { number: 2, flight_then: 101, lost: 100, app_limited: false });
    flow.congestion();
    assert_eq!((flow.mode(), flow.segments("inflight_long")), (DOWN, Some(100.0)));
    flow.undo();
    assert_eq!((flow.mode(), flow.segments("inflight_long")), (REFILL, None));
    assert_near(flow.number("undos"), 1.0, "counted");
}
