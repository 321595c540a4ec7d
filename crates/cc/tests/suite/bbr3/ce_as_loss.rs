//! CE as a loss: the draft's rules with marks instead of losses, counted or as echoes of RFC 3168.

use windtunnel_cc::ExitReason;

use super::*;

fn answers(ce: CeAnswer) -> Bbr3Params {
    Bbr3Params { ce: Some(ce), ..Bbr3Params::default() }
}

/// The same connection with an echo of RFC 3168 instead of counts.
fn echoing(mut flow: Flow) -> Flow {
    flow.cc.on_negotiated(Feedback::Classic);
    flow
}

impl Flow {
    /// CE is echoed; then the ACK arrives.
    fn echo(&mut self, ack: Ack) -> bool {
        let event =
            CongestionEvent { trigger: Trigger::Ce, window: self.cc.cwnd(), lost: Bytes::ZERO, rtt: None };
        let path = self.path(0);
        let answered = self.cc.on_congestion(&event, &path);
        self.ack(ack);
        answered
    }
}

/// A mark in CRUISE lowers the bounds of the short term with its round, as the loss in `undo_returns_the_bounds` does; the bound
/// is that of the window, 0.7 of 300.
#[test]
fn a_mark_lowers_the_short_term_bounds() {
    let mut counted = Flow::cruise(&*draft(), 100);
    counted.ack(Ack { marks: 1, ..within(100) });
    assert_eq!(counted.segments("inflight_short"), None, "the round goes on");
    counted.ack(round(60));
    assert_bound(counted.segments("inflight_short"), Some(210.0), "counted");

    let mut echoed = echoing(Flow::cruise(&*draft(), 100));
    assert!(echoed.echo(within(100)), "answered, so that CWR is sent");
    echoed.ack(round(60));
    assert_bound(echoed.segments("inflight_short"), Some(210.0), "echoed");

    let mut ignored = Flow::cruise(&answers(CeAnswer::None), 100);
    ignored.ack(Ack { marks: 50, ..within(100) });
    ignored.ack(round(60));
    assert_eq!(ignored.segments("inflight_short"), None, "not answered");
}

/// A probe ends at more than 2 % marked of what was in flight, and the long-term bound is where it was reached: of 1000 in flight 30
/// marked, 970 before them, and 0.02 x 970 / 0.98 of them. An undo of losses does not return it: a mark is not spurious.
#[test]
fn counted_marks_end_the_probe() {
    for (marks, ends) in [(20, false), (30, true)] {
        let mut flow = Flow::cruise(&*draft(), 100);
        flow.probe(round(100));
        flow.ack(Ack { marks, flight_then: 1000, in_flight: 1000, ..within(100) });
        assert_eq!(flow.mode(), if ends { DOWN } else { UP }, "{marks} marks");
        let bound = 970.0 + 0.02 * 970.0 / 0.98;
        assert_bound(flow.segments("inflight_long"), ends.then_some(bound), &format!("{marks} marks"));
        flow.undo();
        assert_eq!(flow.mode(), if ends { DOWN } else { UP }, "after an undo");
    }
}

/// An echo tells that any was marked: it ends the probe, and the bound is what was in flight but the one marked. While the path is
/// refilled there is no answer, and the echo is repeated.
#[test]
fn an_echo_ends_the_probe() {
    let mut flow = echoing(Flow::cruise(&*draft(), 100));
    flow.probe(round(100));
    assert!(flow.echo(Ack { flight_then: 300, in_flight: 300, ..within(100) }));
    assert_eq!(flow.mode(), DOWN);
    assert_bound(flow.segments("inflight_long"), Some(299.0), "the bound");

    let mut flow = echoing(Flow::cruise(&*draft(), 100));
    while flow.mode() != REFILL {
        flow.ack(Ack { after: ms(10), ..round(100) });
    }
    assert!(!flow.echo(within(100)), "no answer");
}

/// Startup: an echo ends it with its round; counts, if at least six ranges of segments and more than 2 % were marked.
#[test]
fn marks_end_startup() {
    let mut flow = echoing(Flow::new(&*draft()));
    flow.acks(2, round(100));
    assert!(flow.echo(within(100)));
    assert_eq!(flow.mode(), STARTUP);
    flow.ack(Ack { in_flight: 200, left: Some(299), ..round(125) });
    assert_eq!(flow.mode(), STARTUP, "the round of the mark");
    flow.ack(Ack { in_flight: 200, left: Some(300), ..round(157) });
    assert_eq!(flow.mode(), DRAIN);
    assert_eq!(flow.cc.slow_start_exit(), Some(ExitReason::Ce));

    for (ranges, ends) in [(5, false), (6, true)] {
        let mut flow = Flow::new(&*draft());
        flow.acks(2, round(100));
        for _ in 0..ranges {
            flow.ack(Ack { newly: 2, marks: 1, ..within(100) });
        }
        flow.ack(Ack { in_flight: 200, left: Some(200), ..round(125) });
        assert_eq!(flow.mode(), STARTUP, "{ranges} ranges, the round goes on");
        flow.ack(Ack { in_flight: 200, flight_then: 100, left: Some(203), ..round(157) });
        assert_eq!(flow.mode(), if ends { DRAIN } else { STARTUP }, "{ranges} ranges");
    }
}
