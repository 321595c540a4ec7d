//! Points of the draft's text that can be taken literally (docs/packs/bbr3-text-points.md), next to what is done.

use windtunnel_cc::{CaState, Params, TextPoint};

use super::*;

/// The draft's rules as they are here, and with one point taken literally.
fn both(point: TextPoint) -> [Box<dyn ControllerParams>; 2] {
    [None, Some(point)]
        .map(|literal| Box::new(Bbr3Params { literal, ..Bbr3Params::default() }) as Box<dyn ControllerParams>)
}

/// Of 200 segments in flight 10 are lost, and 9 before the last one: (0.02 x 199 - 9) / 0.98 is -5.12, so that the text
/// has 193.88 as the bound, and not the 199 before it.
#[test]
fn losses_that_began_before_the_segment() {
    for (params, bound) in both(TextPoint::LostPrefix).iter().zip([199.0, 193.8776]) {
        let mut flow = Flow::cruise(&**params, 100);
        flow.probe(round(100));
        flow.lose(Loss { number: 0, flight_then: 200, lost: 10, app_limited: false });
        assert_eq!(flow.mode(), DOWN);
        assert_bound(flow.segments("inflight_long"), Some(bound), "the bound");
    }
}

/// 50 segments begin an interval, and 50 more after 10 ms make 90 more than the bandwidth of one per millisecond explains.
/// After the pause ten in 10 ms are explained, unless the 100 count still.
#[test]
fn aggregation_after_a_pause() {
    for (params, extra) in both(TextPoint::IdleAggregation).iter().zip([90.0, 100.0]) {
        let mut flow = Flow::cruise(&**params, 100);
        let limited = |newly| Ack { after: ms(10), newly, app_limited: true, ..within(100) };
        flow.acks(12, Ack { newly: 1, ..round(100) });
        flow.ack(Ack { after: ms(1000), newly: 1, ..limited(1) });
        flow.acks(2, limited(50));
        assert_bound(flow.segments("extra_acked"), Some(90.0), "before");
        flow.idle(ms(1000));
        flow.ack(limited(10));
        assert_bound(flow.segments("extra_acked"), Some(extra), "after");
    }
}

/// A bandwidth of 60 takes the place of 100 at the end of the next cycle, or of the one after it.
#[test]
fn cycles_of_the_largest_bandwidth() {
    for (params, seen) in both(TextPoint::ThreeCycles).iter().zip([[60.0, 60.0], [100.0, 60.0]]) {
        let mut flow = Flow::cruise(&**params, 100);
        for max_bw in seen {
            flow.probe(round(60));
            flow.acks(5, Ack { after: ms(10), ..round(60) });
            assert_bound(flow.bandwidth("max_bw"), Some(max_bw), "after a cycle");
        }
    }
}

/// The losses of Startup set a bound of 150. Drain's window has it, if the table is taken literally.
#[test]
fn window_of_drain() {
    for (params, cwnd) in both(TextPoint::DrainBound).iter().zip([300.0, 150.0]) {
        let mut flow = Flow::new(&**params);
        flow.ack(round(100));
        flow.ack(within(100));
        flow.state(CaState::Recovery);
        for number in 0..6 {
            flow.lose(loss(2 * number));
        }
        flow.ack(Ack { left: Some(100), lost: 3, ..round(100) });
        let last =
            Ack { left: Some(200), lost: 3, sample: 150, interval: ms(150), in_flight: 200, ..round(100) };
        flow.ack(last);
        assert_eq!(flow.mode(), DRAIN);
        assert_bound(flow.segments("inflight_long"), Some(150.0), "the bound");
        flow.state(CaState::Open);
        assert_near(flow.cwnd(), cwnd, "the window");
    }
}

/// The points are those of the draft's text: Linux's rules refuse them by name.
#[test]
fn points_belong_to_the_draft() {
    for (variant, refused) in
        [(Bbr3Variant::Draft, None), (Bbr3Variant::Draft06, None), (Bbr3Variant::Linux, Some("literal"))]
    {
        let params = Bbr3Params { variant, literal: Some(TextPoint::DrainBound), ..Bbr3Params::default() };
        assert_eq!(params.check().err().map(|error| error.key), refused);
    }
}
