//! The least round trip, the mode that looks for it, and pauses, which replace it.

use super::*;

/// The round trips of Startup's ACKs, at times since the connection was established. The lowest counts for ten
/// seconds, after which the lowest since the last search takes its place. More than five seconds without a lower one
/// start a search.
#[test]
fn least_round_trip() {
    let risen = [
        (100, 100, 100, STARTUP),
        (200, 90, 90, STARTUP),
        (300, 150, 90, STARTUP),
        (5_200, 150, 90, STARTUP),
        (5_201, 160, 90, PROBE_RTT),
        (10_200, 170, 90, PROBE_RTT),
        (10_201, 170, 160, PROBE_RTT),
        (10_202, 140, 140, PROBE_RTT),
    ];
    // An equal one does not let the least last for longer.
    let equal = [
        (100, 90, 90, STARTUP),
        (5_101, 90, 90, PROBE_RTT),
        (10_100, 150, 90, PROBE_RTT),
        (10_102, 150, 150, PROBE_RTT),
    ];
    for round_trips in [&risen[..], &equal] {
        let mut flow = Flow::new(&*draft());
        let start = flow.now;
        for &(at, rtt, least, mode) in round_trips {
            let after = ms(at) - flow.now.since(start);
            flow.ack(Ack { after, rtt: ms(rtt), app_limited: true, ..round(100) });
            assert_near(flow.number("min_rtt_s"), ms(least).as_secs_f64(), &format!("at {at} ms"));
            assert_eq!(flow.mode(), mode, "at {at} ms");
        }
    }
}

/// `ProbeRTT` holds half of a product, and lasts for 200 ms and a round from when no more is in flight. Its samples
/// are marked as limited by the application. Then the window of before returns, and CRUISE, or Startup if the path
/// was never full. The next search is five seconds away. A round trip as low as the least one is not lower.
#[test]
fn search() {
    let starting = || {
        let mut flow = Flow::new(&*draft());
        flow.acks(4, Ack { app_limited: true, ..round(100) });
        flow
    };
    for (mut flow, round_first, next) in [
        (Flow::cruise(&*draft(), 100), true, CRUISE),
        (Flow::cruise(&*draft(), 100), false, CRUISE),
        (starting(), true, STARTUP),
    ] {
        let here = Ack { app_limited: true, in_flight: 200, newly: 1, ..within(100) };
        flow.ack(Ack { after: ms(4600), ..here });
        assert_ne!(flow.mode(), PROBE_RTT, "five seconds are not more than five");
        assert!(!flow.cc.control().app_limited);
        let before = flow.cwnd();
        flow.ack(Ack { after: ms(1), ..here });
        assert_eq!(flow.mode(), PROBE_RTT);
        assert!(flow.cc.control().app_limited);
        assert_near(flow.number("prior_cwnd_bytes") / MSS.as_f64(), before, "saved");
        assert_near(flow.cwnd(), 50.0, "half of a product");
        let more = Ack { in_flight: 51, newly: 10, ..round(100) };
        flow.acks(3, more);
        let few = Ack { in_flight: 50, ..here };
        flow.ack(few);
        let (round_over, time_over) =
            (Ack { after: ms(100), left: None, ..few }, Ack { after: ms(100), ..few });
        for ack in if round_first { [round_over, time_over] } else { [time_over, time_over] } {
            flow.ack(ack);
            assert_eq!((flow.mode(), flow.cwnd()), (PROBE_RTT, 50.0), "200 ms are not more than 200 ms");
        }
        flow.ack(Ack { after: ms(1), left: if round_first { Some(0) } else { None }, ..few });
        assert_eq!(flow.mode(), next, "round first: {round_first}");
        assert!(flow.cwnd() >= before, "{} {before}", flow.cwnd());
        flow.ack(Ack { after: ms(1000), ..few });
        assert!(!flow.cc.control().app_limited);
        flow.ack(Ack { after: ms(4000), ..few });
        assert_ne!(flow.mode(), PROBE_RTT, "five seconds after the end");
        flow.ack(Ack { after: ms(1), ..few });
        assert_eq!(flow.mode(), PROBE_RTT);
    }
}

/// A pause of a sender with nothing to send replaces a search, and ends one that has lasted. The cycle goes on at the
/// pace of the bandwidth, until an ACK comes. A pause for another reason, such as a closed window, changes nothing.
#[test]
fn pauses() {
    for (app_limited, mode) in [(true, false), (false, true)] {
        let mut flow = Flow::cruise(&*draft(), 100);
        flow.probe(round(100));
        flow.ack(Ack { app_limited, ..within(100) });
        assert_near(flow.pace(), 1.25 * 99.0, "UP");
        flow.idle(ms(6000));
        assert_near(flow.pace(), if app_limited { 99.0 } else { 1.25 * 99.0 }, "after the pause");
        flow.ack(within(100));
        assert_eq!(flow.mode() == PROBE_RTT, mode, "limited by the application: {app_limited}");
    }
    let mut flow = Flow::cruise(&*draft(), 100);
    let few = Ack { in_flight: 50, app_limited: true, ..within(100) };
    flow.ack(Ack { after: ms(5000), ..few });
    assert_eq!(flow.mode(), PROBE_RTT);
    flow.idle(ms(200));
    assert_eq!(flow.mode(), PROBE_RTT, "200 ms are not more than 200 ms");
    flow.idle(ms(1));
    assert_eq!(flow.mode(), CRUISE);
}
