//! Connections without SACK, on which a sender detects one loss per round trip (007dbe1, "Exiting Startup Based on
//! Packet Loss" and `IsInflightTooHigh`): any loss is too much. Linux's third version has no such rule.

use super::*;

fn without_sack(mut flow: Flow) -> Flow {
    flow.cc.on_sack_refused();
    flow
}

/// In Startup, a loss of a recovery ends it.
#[test]
fn one_loss_ends_startup() {
    for (params, refused, state, ends) in [
        (draft(), true, CaState::Recovery, true),
        (draft_06(), true, CaState::Recovery, true),
        (draft(), true, CaState::Open, false),
        (draft(), false, CaState::Recovery, false),
        (linux(), true, CaState::Recovery, false),
    ] {
        let mut flow = Flow::new(&*params);
        if refused {
            flow = without_sack(flow);
        }
        flow.ack(round(100));
        flow.lose(loss(0));
        flow.state(state);
        flow.ack(Ack { lost: 1, in_flight: 400, flight_then: 1000, ..within(100) });
        let what = format!("{} {refused} {state:?}", params.name());
        assert_eq!(flow.mode(), if ends { DRAIN } else { STARTUP }, "{what}");
    }
}

/// A loss of a probe ends it, however many segments were in flight. `InflightAtLoss` then gives where the share would have
/// been reached: 999 before the loss, 0.02 x 999 = 19.98 = 0.98 x 20.3878.
#[test]
fn one_loss_ends_the_probe() {
    for (params, refused, mode, long) in [
        (draft(), true, DOWN, Some(1019.3878)),
        (draft_06(), true, DOWN, Some(1019.3878)),
        (draft(), false, UP, None),
        (linux(), true, UP, None),
    ] {
        let mut flow = Flow::cruise(&*params, 100);
        if refused {
            flow = without_sack(flow);
        }
        flow.probe(round(100));
        flow.lose(loss(0));
        assert_eq!(flow.mode(), mode, "{} {refused}", params.name());
        assert_bound(flow.segments("inflight_long"), long, params.name());
    }
}
