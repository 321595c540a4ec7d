//! The numbers of the table `cc` by which the draft's example test cases can be checked.

use super::*;

/// The plateau: rounds without growth are counted, the third is the end, and the next probe counts anew.
#[test]
fn the_plateau_is_counted() {
    let mut flow = Flow::new(&*draft());
    for (count, now) in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (3.0, 1.0)] {
        flow.ack(Ack { in_flight: 200, ..round(100) });
        assert_eq!((flow.number("full_bw_count"), flow.number("full_bw_now")), (count, now));
    }
    assert_eq!((flow.mode(), flow.number("drain_start_round")), (DRAIN, flow.number("rounds")));
    assert_bound(flow.segments("in_flight"), Some(200.0), "at the ACK");
    assert_bound(flow.segments("cwnd"), Some(flow.cwnd()), "after it");
    flow.probe(round(100));
    assert_eq!((flow.number("full_bw_count"), flow.number("full_bw_now")), (0.0, 0.0));
}

/// Before Drain there is no round in which it started, and outside of the search no window of it. The wait that was drawn is two
/// to three seconds.
#[test]
fn numbers_that_do_not_exist_yet() {
    let flow = Flow::new(&*draft());
    assert!(flow.number("drain_start_round").is_nan() && flow.number("probe_rtt_cwnd_bytes").is_nan());
    assert_near(flow.number("wait_s"), 0.0, "before the first cycle");
    let flow = Flow::cruise(&*draft(), 100);
    assert!((2.0..=3.0).contains(&flow.number("wait_s")), "{}", flow.number("wait_s"));
}

/// Ranges of lost segments are counted until their loss round is over.
#[test]
fn lost_ranges_are_counted() {
    let mut flow = Flow::cruise(&*draft(), 100);
    for (number, ranges) in [(0, 1.0), (1, 1.0), (3, 2.0)] {
        flow.lose(loss(number));
        assert_near(flow.number("lost_ranges"), ranges, "ranges");
    }
    flow.ack(round(100));
    assert_near(flow.number("lost_ranges"), 0.0, "the next loss round");
}

/// What was in flight where a probe lost too much is kept, also where the application limited the sample, so that the bound stays.
#[test]
fn where_a_probe_lost_too_much() {
    for (app_limited, bound) in [(false, Some(80.0)), (true, None)] {
        let mut flow = Flow::cruise(&*draft(), 100);
        assert!(flow.segments("inflight_at_loss").is_none());
        flow.probe(Ack { app_limited, ..round(100) });
        assert_near(flow.number("app_limited"), f64::from(u8::from(app_limited)), "the sender");
        flow.lose(Loss { number: 0, flight_then: 81, lost: 80, app_limited });
        assert_bound(flow.segments("inflight_at_loss"), Some(80.0), "80 before the last of 81");
        assert_bound(flow.segments("inflight_long"), bound, &format!("limited: {app_limited}"));
    }
}

/// What would return is shown from the loss that saves it to the undo by which it returns, with the mode that losses ended; a save
/// counts, also where there is no bound, as before the first probe that lost too much.
#[test]
fn what_an_undo_gives_back() {
    assert_near(Flow::cruise(&*draft(), 100).number("undo_saves"), 0.0, "nothing was lost");
    let mut flow = Flow::bounded(&*draft(), 100, 100);
    assert_near(flow.number("undo_saves"), 1.0, "by the loss that set the bound");
    assert_eq!(flow.segments("undo_inflight_long"), None);
    flow.probe(round(100));
    let before = flow.segments("inflight_long");
    flow.lose(Loss { number: 0, flight_then: 61, lost: 60, app_limited: false });
    flow.congestion();
    assert_near(
        flow.number("undo_saves"),
        2.0,
        "by the first loss of the round, not by the recovery that it starts",
    );
    assert_bound(flow.segments("undo_inflight_long"), before, "the bound of before");
    assert!(before.is_some() && flow.segments("inflight_long") != before, "there was one, and it fell");
    assert_eq!((flow.segments("undo_inflight_short"), flow.bandwidth("undo_bw_short")), (None, None));
    assert_eq!((flow.mode(), flow.number("undo_mode") as u8), (DOWN, UP));
    flow.undo();
    assert_bound(flow.segments("inflight_long"), before, "it is back");
    assert_eq!((flow.number("undo_saves") as u8, flow.number("undos") as u8), (2, 1));
    assert!(flow.number("undo_mode").is_nan() && flow.segments("undo_inflight_long").is_none());
}

/// The names and their order are the same for every variant; Linux adds those of its answer to marks.
#[test]
fn variants_have_the_same_names() {
    let names = |params: &dyn ControllerParams| {
        let mut names = Vec::new();
        Flow::new(params).cc.probe(&mut |name, _| names.push(name));
        names
    };
    let own = names(&*draft());
    for params in [draft_06(), linux(), second()] {
        assert_eq!(names(&*params), own);
    }
    assert_eq!(names(&*marked())[..own.len()], own);
}
