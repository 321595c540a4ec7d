//! What holds until the next probe: the bounds that losses and marks set, their undoing, and the aggregation of ACKs.

use windtunnel_cc::{CaState, OffloadBudget, Params};

use super::*;

/// Each round with a loss in CRUISE leaves the largest of what the round delivered and 0.7 (Linux: 180/256) of the
/// bound: of bandwidth and amount in flight, which at first are `max_bw`, 100, and the window, 300. A round without
/// changes nothing, and the next probe forgets both.
#[test]
fn losses_lower_the_bounds() {
    let over_200_ms = Ack { newly: 60, interval: ms(200), ..round(160) };
    let low = 180.0 / 256.0;
    for (params, ack, bounds) in [
        // 0.7 x 100 and 0.7 x 300; the 60 delivered, and 0.7 x 210.
        (draft(), round(60), [(70.0, 210.0), (60.0, 147.0)]),
        (linux(), round(60), [(100.0 * low, 300.0 * low), (60.0, 300.0 * low * low)]),
        // 160 in 200 ms: a bandwidth of 80.
        (draft(), over_200_ms, [(80.0, 210.0), (80.0, 160.0)]),
    ] {
        let mut flow = Flow::cruise(&*params, 100);
        assert_near(flow.cwnd(), 300.0, "the window: two products, and a whole one that ACKs bring at once");
        flow.ack(ack);
        assert_eq!((flow.bandwidth("bw_short"), flow.segments("inflight_short")), (None, None));
        for (n, (bw, short)) in bounds.into_iter().enumerate() {
            flow.lose(loss(2 * n as u64));
            for _ in 0..2 {
                flow.ack(ack);
                assert_bound(flow.bandwidth("bw_short"), Some(bw), "bandwidth");
                assert_bound(flow.bandwidth("bw"), Some(bw), "the bandwidth that counts");
                assert_bound(flow.bandwidth("max_bw"), Some(100.0), "the largest");
                assert_bound(flow.segments("inflight_short"), Some(short), "in flight");
                assert_near(flow.cwnd(), short, "the window");
            }
        }
        flow.probe(ack);
        assert_eq!((flow.bandwidth("bw_short"), flow.segments("inflight_short")), (None, None));
    }
}

/// A bound starts from the window, and later from itself (section "Updating Congestion Signals": only an infinite bound is
/// initialised; Linux: `bbr_init_lower_bounds`): a timeout's window of one segment does not lower a bound of 210 at once.
#[test]
fn a_timeout_lowers_no_bound_that_is_set() {
    for params in [draft(), draft_06()] {
        let mut flow = Flow::cruise(&*params, 100);
        flow.ack(round(60));
        flow.lose(loss(0));
        flow.acks(2, round(60));
        assert_bound(flow.segments("inflight_short"), Some(210.0), "0.7 of 300");
        flow.time_out(true, 20);
        flow.lose(loss(2));
        flow.acks(2, Ack { in_flight: 1, flight_then: 1, ..round(1) });
        assert_bound(flow.segments("inflight_short"), Some(147.0), "0.7 of 210");
    }
}

/// Startup, REFILL and UP probe: losses there lower no bound of the short term. The loss that ends a probe does not
/// count in DOWN, either.
#[test]
fn probes_keep_the_bounds() {
    let mut starting = Flow::new(&*draft());
    starting.ack(round(100));
    let mut refilling = Flow::cruise(&*draft(), 100);
    refilling.ack(Ack { after: ms(3000), ..within(100) });
    let mut up = Flow::cruise(&*draft(), 100);
    up.probe(round(100));
    for (mut flow, mode) in [(starting, STARTUP), (refilling, REFILL), (up, UP)] {
        assert_eq!(flow.mode(), mode);
        flow.lose(loss(0));
        flow.ack(round(60));
        assert_eq!((flow.bandwidth("bw_short"), flow.segments("inflight_short")), (None, None), "{mode}");
    }
    let mut down = Flow::bounded(&*draft(), 100, 100);
    down.ack(Ack { in_flight: 95, ..round(60) });
    assert_eq!(
        (down.mode(), down.bandwidth("bw_short"), down.segments("inflight_short")),
        (DOWN, None, None)
    );
}

/// A probe that lost too much sets the long-term bound alone: CRUISE after it has no bound of the short term (Linux
/// lowers only one that exists).
#[test]
fn cruise_sets_no_bound() {
    for params in [draft(), linux(), second()] {
        let mut flow = Flow::bounded(&*params, 100, 100);
        flow.ack(Ack { after: ms(10), in_flight: 80, flight_then: 80, ..round(100) });
        assert_eq!((flow.mode(), flow.segments("inflight_short")), (CRUISE, None), "{}", params.name());
    }
}

/// If the losses were none, the bounds of before return: those of the short term in CRUISE, that of the long term
/// with the probe, which REFILL prepares. A probe that goes on goes on, and `ProbeRTT` is not left.
#[test]
fn undo_returns_the_bounds() {
    let mut flow = Flow::cruise(&*draft(), 100);
    flow.lose(loss(0));
    flow.ack(round(60));
    assert_bound(flow.bandwidth("bw_short"), Some(100.0), "the largest since the loss round started");
    assert_bound(flow.segments("inflight_short"), Some(210.0), "0.7 of 300");
    flow.undo();
    assert_eq!(flow.mode(), CRUISE);
    assert_eq!((flow.bandwidth("bw_short"), flow.segments("inflight_short")), (None, None));

    let mut flow = Flow::bounded(&*draft(), 100, 100);
    flow.undo();
    assert_eq!((flow.mode(), flow.segments("inflight_long")), (REFILL, None));
    assert_near(flow.number("pacing_gain"), 1.0, "the gain of REFILL");

    let mut flow = Flow::cruise(&*draft(), 100);
    flow.probe(round(100));
    flow.lose(loss(0));
    flow.undo();
    assert_eq!(flow.mode(), UP);
    flow.lose(loss(2));
    flow.ack(Ack { after: ms(10_000), ..within(100) });
    assert_eq!(flow.mode(), PROBE_RTT);
    flow.undo();
    assert_eq!(flow.mode(), PROBE_RTT);
}

/// What ACKs deliver beyond the bandwidth of 10 segments in 10 ms since it was last met: the largest counts, for ten
/// rounds, and an ACK without a sample does not. In Startup it counts for one round.
#[test]
fn aggregation() {
    let mut flow = Flow::new(&*draft());
    flow.acks(4, Ack { newly: 1, ..round(100) });
    let path = flow.path(0);
    flow.cc.on_cwnd_validation(MSS * 200, &path);
    for (after, newly, interval, extra) in [
        // The one segment of the last ACK is less than 10: the count starts anew.
        (10, 30, RTT, 30.0),
        (10, 30, RTT, 50.0),
        (10, 25, Duration::ZERO, 50.0),
        (0, 25, RTT, 65.0),
        (30, 50, RTT, 85.0),
        (200, 70, RTT, 85.0),
        (10, 70, RTT, 130.0),
        (0, 300, RTT, 200.0),
    ] {
        flow.ack(Ack { after: ms(after), newly, interval, ..within(100) });
        assert_bound(flow.segments("extra_acked"), Some(extra), &format!("{newly} after {after} ms"));
        flow.cc.on_cwnd_validation(MSS * 200, &path);
    }
    let single = Ack { newly: 1, ..round(100) };
    flow.ack(Ack { after: ms(1000), ..single });
    flow.acks(9, single);
    assert_bound(flow.segments("extra_acked"), Some(200.0), "ten rounds");
    flow.ack(single);
    assert!(flow.segments("extra_acked") < Some(200.0), "eleven");

    let mut starting = Flow::new(&*draft());
    for (newly, extra) in [(9, 9.0), (1, 9.0), (1, 1.0)] {
        starting.ack(Ack { newly, app_limited: true, ..round(100) });
        assert_bound(starting.segments("extra_acked"), Some(extra), "in Startup");
    }
}

/// With marks, 1 - alpha / 3 of the window is left; a round without leaves that as it is. A loss in the cycle, also
/// one that only a sample shows, keeps marks that cease from leading to a probe; the next cycle forgets it. Where
/// round trips are too long for marks to count, they end no probe.
#[test]
fn marks() {
    let mut flow = Flow::cruise(&*marked(), 100);
    flow.state(CaState::Cwr);
    flow.ack(Ack { marks: 10, ..round(100) });
    let short = flow.segments("inflight_short").expect("a bound");
    assert!((200.0..300.0).contains(&short), "{short}");
    flow.acks(3, round(100));
    assert_bound(flow.segments("inflight_short"), Some(short), "rounds without marks");
    flow.state(CaState::Open);
    let mut lossy = Flow::cruise(&*marked(), 100);
    flow.ack(round(100));
    assert_ne!(flow.mode(), CRUISE, "the marks have ceased");

    lossy.state(CaState::Cwr);
    lossy.ack(Ack { marks: 10, lost: 1, ..round(100) });
    lossy.state(CaState::Open);
    lossy.acks(2, round(100));
    assert_eq!(lossy.mode(), CRUISE, "a loss in the cycle");
    lossy.probe(round(100));
    lossy.acks(3, round(100));
    assert_ne!(lossy.mode(), UP, "a plateau");
    lossy.state(CaState::Cwr);
    lossy.ack(Ack { marks: 10, in_flight: 200, ..within(100) });
    lossy.state(CaState::Open);
    lossy.ack(Ack { in_flight: 200, ..within(100) });
    assert_eq!(lossy.mode(), REFILL, "marks and no loss in the next cycle");

    let variant = Bbr3Variant::Linux;
    let short_only = Bbr3Params { ecn_max_rtt: ms(99), variant, ecn_low: true, ..Bbr3Params::default() };
    let mut flow = Flow::cruise(&short_only, 100);
    flow.probe(round(100));
    flow.ack(Ack { marks: 60, ..within(100) });
    assert_eq!(flow.mode(), UP);
}

/// `ecn_low` is Linux's answer to CE and `ce` the draft's: each variant refuses the other's. So it is with `ecn_max_rtt`, and with
/// the draft's room for hosts.
#[test]
fn each_variant_has_its_answer_to_marks() {
    let (draft, draft_06, linux) = (Bbr3Variant::Draft, Bbr3Variant::Draft06, Bbr3Variant::Linux);
    for (variant, ecn_low, ce, refused) in [
        (draft, true, None, Some("ecn_low")),
        (draft_06, true, None, Some("ecn_low")),
        (draft, false, None, None),
        (draft, false, Some(CeAnswer::Loss), None),
        (draft_06, false, Some(CeAnswer::None), None),
        (linux, true, None, None),
        (linux, false, None, None),
        (linux, false, Some(CeAnswer::Loss), Some("ce")),
        (linux, true, Some(CeAnswer::None), Some("ce")),
    ] {
        let params = Bbr3Params { variant, ecn_low, ce, ..Bbr3Params::default() };
        assert_eq!(params.check().err().map(|error| error.key), refused, "{params:?}");
    }
    for (variant, ecn_max_rtt, offload, refused) in [
        (draft, ms(6), None, Some("ecn_max_rtt")),
        (draft_06, ms(6), None, Some("ecn_max_rtt")),
        (draft, ms(5), Some(OffloadBudget::Quic), None),
        (linux, ms(6), None, None),
        (linux, ms(5), Some(OffloadBudget::Tcp), Some("offload")),
        (linux, ms(5), Some(OffloadBudget::Quic), Some("offload")),
    ] {
        let params = Bbr3Params { variant, ecn_max_rtt, offload, ..Bbr3Params::default() };
        assert_eq!(params.check().err().map(|error| error.key), refused, "{params:?}");
    }
}
