//! UP: what ends a probe, and the long-term bound that it raises or finds.

use super::*;

/// Losses of a probe above 2 % (Linux: 5/256) end it. The long-term bound is then what was in flight up to the point
/// in the lost segment at which the share was reached, but at least 0.7 (Linux: 180/256) of the product of 100; if
/// the application was the limit, there is none.
#[test]
fn losses_end_the_probe() {
    let case = |flight_then, lost, app_limited| Loss { number: 0, flight_then, lost, app_limited };
    for (params, loss, mode, long) in [
        (draft(), case(200, 4, false), UP, None),
        // Before it 199, and 4 of them lost: more than 2 %.
        (draft(), case(200, 5, false), DOWN, Some(199.0)),
        (draft(), case(200, 5, true), DOWN, None),
        // Before it 119, and 2 of them lost: 2.38 - 2 = 0.98 x 0.3878.
        (draft(), case(120, 3, false), DOWN, Some(119.3878)),
        (draft(), case(60, 3, false), DOWN, Some(70.0)),
        // Before it 199, and 3 lost: 199 x 5 / 256 - 3 = 0.88672 = 251 / 256 x 0.90438.
        (linux(), case(200, 4, false), DOWN, Some(199.9044)),
        (linux(), case(60, 3, false), DOWN, Some(70.3125)),
    ] {
        let mut flow = Flow::cruise(&*params, 100);
        flow.lose(loss);
        assert_eq!((flow.mode(), flow.segments("inflight_long")), (CRUISE, None), "no probe: {loss:?}");
        flow.probe(round(100));
        flow.lose(loss);
        let what = format!("{} {loss:?}", params.name());
        assert_eq!(flow.mode(), mode, "{what}");
        assert_bound(flow.segments("inflight_long"), long, &what);
        if mode == DOWN {
            flow.lose(case(300, 100, false));
            assert_bound(flow.segments("inflight_long"), long, "the probe is over");
        }
    }
}

/// Linux also sees the losses of a probe in the samples of its ACKs, and then takes what was in flight as the bound;
/// the draft waits for the report of the loss. Elsewhere than in a probe neither does anything.
#[test]
fn samples_with_losses() {
    for (params, mode, long) in [(draft(), UP, None), (linux(), DOWN, Some(200.0))] {
        let mut flow = Flow::cruise(&*params, 100);
        let lossy = Ack { after: ms(10), lost: 5, flight_then: 200, in_flight: 150, ..within(100) };
        flow.ack(lossy);
        assert_eq!((flow.mode(), flow.segments("inflight_long")), (CRUISE, None));
        flow.probe(round(100));
        flow.ack(lossy);
        assert_eq!((flow.mode(), flow.segments("inflight_long")), (mode, long), "{}", params.name());
    }
}

/// A plateau of three rounds ends a probe, unless the long-term bound is what limits the flow: then the search for a
/// plateau starts anew with the bandwidth of now. In version 2 no plateau does.
#[test]
fn plateau_ends_the_probe() {
    // The bound, if there is one; whether the window limits the flow; the end.
    for (params, bound, cwnd_limited, last) in [
        (draft(), None, true, DOWN),
        (linux(), None, false, DOWN),
        (draft(), Some(100), false, DOWN),
        (draft(), Some(100), true, UP),
        (second(), None, true, UP),
    ] {
        let mut flow = match bound {
            None => Flow::cruise(&*params, 100),
            Some(bound) => Flow::bounded(&*params, 100, bound),
        };
        let calm = Ack { after: ms(10), in_flight: 80, flight_then: 80, ..round(100) };
        flow.probe(calm);
        assert_bound(flow.bandwidth("full_bw"), Some(100.0), "the search starts at the bandwidth of now");
        flow.acks(4, within(80));
        let ack = Ack { cwnd_limited, newly: 1, ..calm };
        flow.acks(2, ack);
        assert_eq!((flow.mode(), flow.number("pacing_gain")), (UP, 1.25));
        flow.ack(ack);
        assert_eq!(flow.mode(), last, "{} {bound:?} {cwnd_limited}", params.name());
        if bound.is_some() && cwnd_limited {
            assert_bound(flow.bandwidth("full_bw"), Some(100.0), "the baseline");
        }
    }
}

/// Version 2 ends a probe when 1.25 products, and the two segments that a probe has more, are in flight, after more
/// than the least round trip. The next burst, of two segments here, counts. The others wait for a plateau.
#[test]
fn volume_ends_the_probe_of_version_2() {
    for (params, last) in [(second(), DOWN), (draft(), UP), (linux(), UP)] {
        let mut flow = Flow::cruise(&*params, 100);
        flow.probe(round(100));
        for (after, in_flight) in [(50, 200), (50, 200), (1, 124)] {
            flow.ack(Ack { after: ms(after), in_flight, ..within(100) });
            assert_eq!(flow.mode(), UP, "{in_flight} after {after} ms");
        }
        flow.ack(Ack { after: ms(1), in_flight: 125, ..within(100) });
        assert_eq!(flow.mode(), last, "{}", params.name());
    }
}

/// After a probe that lost too much, the next one ends as soon as the bound is in flight, as a precaution; and if its
/// last round shows no loss either, another follows at once. After a plateau, or in flight of less than the bound,
/// none does.
#[test]
fn precautionary_end() {
    for (in_flight, ended, again) in [(100, 1, true), (99, 3, false)] {
        let mut flow = Flow::bounded(&*draft(), 100, 100);
        let calm = Ack { after: ms(10), in_flight: 80, flight_then: 80, ..round(100) };
        flow.ack(calm);
        assert_eq!(flow.mode(), CRUISE, "no probe at once after one that lost");
        flow.probe(calm);
        for n in 1..=ended {
            assert_eq!(flow.mode(), UP, "{n} {in_flight}");
            flow.ack(Ack { in_flight, ..calm });
        }
        assert_eq!(flow.mode(), DOWN, "{in_flight}");
        flow.ack(calm);
        assert_eq!(flow.mode() == REFILL, again, "{in_flight}");
        flow.ack(Ack { left: Some(0), ..calm });
        assert_eq!(flow.mode() == REFILL, again, "{in_flight}: a round of its own");
        flow.ack(calm);
        assert_eq!(flow.mode() == UP, again, "{in_flight}");
    }
}

/// The bound of 100 rises by a segment for each W / 2^k delivered while the window is full up to it, k being the
/// rounds of the probe; what was in flight without too much loss raises it, too.
#[test]
fn the_bound_rises() {
    let mut flow = Flow::bounded(&*draft(), 100, 100);
    let calm = Ack { after: ms(10), in_flight: 80, flight_then: 80, ..round(100) };
    flow.probe(calm);
    let inside = Ack { left: Some(0), cwnd_limited: true, ..calm };
    let start = Ack { left: None, ..inside };
    for (ack, newly, long) in [
        // One segment per window of 100.
        (inside, 99, 100.0),
        (inside, 1, 101.0),
        (Ack { cwnd_limited: false, ..inside }, 200, 101.0),
        // The next round, whose ACK still counts in the old one: 50 of 100; then one per 101 / 2.
        (start, 50, 101.0),
        (inside, 51, 103.0),
        // One per 103 / 4: 27, which leaves 1.25; 25.25; 26.25.
        (start, 1, 103.0),
        (inside, 26, 104.0),
        (inside, 24, 104.0),
        (inside, 1, 105.0),
        // The window of 105 is not full up to what was in flight.
        (Ack { flight_then: 120, ..inside }, 1, 120.0),
        (inside, 30, 120.0),
        // At 120 it is: 0.5 left, and 103 / 4 per segment.
        (inside, 26, 121.0),
    ] {
        flow.ack(Ack { newly, ..ack });
        assert_eq!(flow.mode(), UP);
        assert_bound(flow.segments("inflight_long"), Some(long), &format!("{newly} {ack:?}"));
    }
}
