//! What Linux's versions compare with the product of the path: what will be in flight when the next segment leaves
//! (`bbr_packets_in_net_at_edt`), in `ProbeBW` counted from before the ACK (`rs->prior_in_flight`). The draft compares what
//! the ACK leaves in flight (draft-ietf-ccwg-bbr-06 sections 5.3.2 and 5.3.3).

use super::*;

/// Drain is over when the product of 100 will be left as the next segment leaves: 10 ms later 10 segments fewer are in
/// flight. What was in flight before the ACK does not matter to it. It does for DOWN, which the draft leaves at once.
#[test]
fn drain_ends_at_the_next_departure() {
    for (params, in_flight, wait, last) in [
        (draft(), 110, 10, DRAIN),
        (draft(), 100, 0, CRUISE),
        (linux(), 110, 0, DRAIN),
        (linux(), 111, 10, DRAIN),
        (linux(), 110, 10, DOWN),
        (second(), 111, 10, DRAIN),
        (second(), 110, 10, DOWN),
    ] {
        let mut flow = Flow::new(&*params);
        flow.acks(4, Ack { in_flight: 300, ..round(100) });
        assert_eq!(flow.mode(), DRAIN);
        flow.ack(Ack {
            after: ms(10),
            in_flight,
            before: Some(300),
            wait: ms(wait),
            newly: 1,
            ..within(100)
        });
        assert_eq!(flow.mode(), last, "{} {in_flight} {wait} ms", params.name());
    }
}

/// Drain compares with the largest bandwidth in Linux, even if a loss has lowered that of the short term; in the draft
/// with the one that counts.
#[test]
fn drain_of_the_largest_bandwidth() {
    for (params, last) in [(draft(), DRAIN), (linux(), DOWN), (second(), DOWN)] {
        let mut flow = Flow::new(&*params);
        let queued = Ack { in_flight: 300, ..round(100) };
        flow.acks(4, queued);
        for number in 0..2 {
            flow.lose(loss(number));
            flow.ack(Ack { in_flight: 300, ..round(10) });
        }
        assert!(flow.bandwidth("bw").is_some_and(|bw| bw < 90.0), "{:?}", flow.bandwidth("bw"));
        assert_eq!(flow.mode(), DRAIN);
        flow.ack(Ack { after: ms(10), in_flight: 100, before: Some(300), newly: 1, ..within(10) });
        assert_eq!(flow.mode(), last, "{}", params.name());
    }
}

/// In Linux DOWN ends when at most the product was in flight before the ACK, less what leaves the path until the next departure.
#[test]
fn cruise_begins_by_what_was_in_flight() {
    for (params, before, wait, last) in [
        (linux(), 101, 0, DOWN),
        (linux(), 100, 0, CRUISE),
        (linux(), 110, 10, CRUISE),
        (second(), 101, 0, DOWN),
        (second(), 100, 0, CRUISE),
    ] {
        let mut flow = Flow::new(&*params);
        flow.acks(4, Ack { in_flight: 300, ..round(100) });
        flow.ack(Ack { after: ms(10), in_flight: 100, before: Some(300), newly: 1, ..within(100) });
        assert_eq!(flow.mode(), DOWN, "{}", params.name());
        flow.ack(Ack {
            after: ms(10),
            in_flight: 100,
            before: Some(before),
            wait: ms(wait),
            newly: 1,
            ..within(100)
        });
        assert_eq!(flow.mode(), last, "{} {before} {wait} ms", params.name());
    }
}

/// A probe after one that lost too much ends as the bound of 90 is in flight: in Linux before the ACK, with the burst of
/// two segments that leaves next.
#[test]
fn the_bound_is_reached_with_the_next_burst() {
    for (params, before, last) in
        [(draft(), 120, UP), (linux(), 87, UP), (linux(), 88, DOWN), (second(), 87, UP), (second(), 88, DOWN)]
    {
        let mut flow = Flow::bounded(&*params, 100, 90);
        flow.probe(Ack { in_flight: 60, flight_then: 60, ..round(100) });
        flow.ack(Ack {
            after: ms(1),
            newly: 1,
            in_flight: 60,
            before: Some(before),
            flight_then: 60,
            ..within(100)
        });
        assert_eq!(flow.mode(), last, "{} {before}", params.name());
    }
}
