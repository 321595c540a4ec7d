//! One controller has the same windows in every sender: driven alone, hosted, and as one of the stacks' own.

mod alone;
#[expect(dead_code, reason = "nothing asks for the time")]
#[path = "../../../quic/src/clock.rs"]
mod clock;
mod drive;
#[expect(dead_code, reason = "the example moves data")]
#[path = "../../examples/loopback/end.rs"]
mod end;
mod noq;
mod quinn;
mod stacks;
#[path = "../../../quic/src/tls.rs"]
mod tls;

use std::sync::Arc;

use windtunnel_cc::{ControllerParams, EcnFeedback, Marked, PragueParams, Style, WindowedConfig, catalogue};
use windtunnel_hosted::Marks;
use windtunnel_units::{Bytes, Duration, Time};

use crate::alone::Alone;
use crate::clock::instant;
use crate::drive::{END, LONG_BEFORE, MSS, ROUND_TRIP, Sender, windows};
use crate::stacks::hosted;

/// The expectation is the controller itself, told of the same packets by a sender that is written apart.
#[test]
fn a_controller_has_the_same_windows_everywhere() {
    for params in catalogue(Style::Linux) {
        let name = params.name();
        let alone = windows(&mut Alone::new(&*params));
        // NADA's is two seconds of the highest rate, and its pace moves.
        let moves = alone.iter().any(|window| *window != alone[0]);
        assert_eq!(moves, name != "nada", "{name}: the window moves");
        assert_eq!(windows(&mut hosted(&params)), alone, "{name}, hosted");
        assert_eq!(windows(&mut quinn::Adapted::new(&params)), alone, "{name} in quinn");
        assert_eq!(windows(&mut noq::Adapted::new(&params)), alone, "{name} in noq");
    }
}

/// A stack copies its controller for a new path, where it starts anew (RFC 9000 section 9.4): the copy has the initial
/// window, and packets that left before it do not move it.
#[test]
fn a_new_path_has_a_fresh_controller() {
    for params in catalogue(Style::Linux) {
        let fresh = hosted(&params).window();
        let (mut old_quinn, mut old_noq) = (quinn::Adapted::new(&params), noq::Adapted::new(&params));
        windows(&mut old_quinn);
        windows(&mut old_noq);
        let copies: [Box<dyn Sender>; 2] =
            [Box::new(old_quinn.on_new_path()), Box::new(old_noq.on_new_path())];
        for mut copy in copies {
            assert_eq!(copy.window(), fresh, "{}", params.name());
            copy.lost(END, LONG_BEFORE);
            copy.acked(END, LONG_BEFORE, 0);
            assert_eq!(copy.window(), fresh, "{}", params.name());
        }
    }
}

/// Both packets of a window are reported, the first by CE and the second, which left no later, as lost. RFC 9002
/// section 7.3.2 has one recovery period for both. A controller that answers CE in proportion answers the loss by more, as
/// in TCP (Linux `dctcp_react_to_loss`); Reno has answered.
#[test]
fn a_loss_in_the_answer_to_ce() {
    let window = |params: Arc<dyn ControllerParams>, is_lost: bool| {
        let marks = Marks::default();
        let mut controller = hosted(&params).hearing(marks.clone());
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        // Unmarked round trips, so that the average of marks is that of a few.
        for round in 0..20 {
            let sent = at(40 * round);
            (0..10).for_each(|_| controller.sent(sent));
            (0..10).for_each(|_| controller.acked(sent + ROUND_TRIP, sent, 0));
        }
        let sent = at(1_000);
        (0..10).for_each(|_| controller.sent(sent));
        let packet = Marked { bytes: Bytes::new(MSS.into()), packets: 1 };
        marks.add(EcnFeedback { ce: packet, ..EcnFeedback::default() });
        let now = sent + ROUND_TRIP;
        controller.acked(now, sent, 0);
        controller.on_congestion(instant(now), instant(sent), false, 0);
        if is_lost {
            controller.lost(now, sent);
        }
        // Prague follows its fractional window by a segment for each ACK.
        (0..150).for_each(|_| controller.sent(now));
        (0..150).for_each(|_| controller.acked(now + ROUND_TRIP, now, 0));
        controller.window() / u64::from(MSS)
    };
    let reno: Arc<dyn ControllerParams> = Arc::new(WindowedConfig::default());
    assert_eq!(window(reno.clone(), true), window(reno, false), "Reno answers once");
    let prague: Arc<dyn ControllerParams> = Arc::new(PragueParams::default());
    let [lost, kept] = [window(prague.clone(), true), window(prague, false)];
    assert!(lost * 3 / 2 < kept, "Prague answers the loss: {lost} segments, {kept} without it");
}
