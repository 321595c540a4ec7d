//! The least round trip, the mode that looks for it, and pauses, which replace it: first in -06, where a second filter
//! starts the search, then in the newest text.

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
        let mut flow = Flow::new(&*draft_06());
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
        let mut flow = Flow::new(&*draft_06());
        flow.acks(4, Ack { app_limited: true, ..round(100) });
        flow
    };
    for (mut flow, round_first, next) in [
        (Flow::cruise(&*draft_06(), 100), true, CRUISE),
        (Flow::cruise(&*draft_06(), 100), false, CRUISE),
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
        let mut flow = Flow::cruise(&*draft_06(), 100);
        flow.probe(round(100));
        flow.ack(Ack { app_limited, ..within(100) });
        assert_near(flow.pace(), 1.25 * 99.0, "UP");
        flow.idle(ms(6000));
        assert_near(flow.pace(), if app_limited { 99.0 } else { 1.25 * 99.0 }, "after the pause");
        flow.ack(within(100));
        assert_eq!(flow.mode() == PROBE_RTT, mode, "limited by the application: {app_limited}");
    }
    let mut flow = Flow::cruise(&*draft_06(), 100);
    let few = Ack { in_flight: 50, app_limited: true, ..within(100) };
    flow.ack(Ack { after: ms(5000), ..few });
    assert_eq!(flow.mode(), PROBE_RTT);
    flow.idle(ms(200));
    assert_eq!(flow.mode(), PROBE_RTT, "200 ms are not more than 200 ms");
    flow.idle(ms(1));
    assert_eq!(flow.mode(), CRUISE);
}

/// One filter of ten seconds: the least round trip counts for as long, and its end starts the search. The sample then takes its
/// place, and lower ones do. An equal one does not let the least last for longer.
#[test]
fn one_filter() {
    let risen = [
        (100, 90, 90, STARTUP),
        (5_201, 160, 90, STARTUP),
        (10_099, 150, 90, STARTUP),
        (10_100, 90, 90, STARTUP),
        (10_101, 160, 160, PROBE_RTT),
        (10_102, 170, 160, PROBE_RTT),
        (10_103, 140, 140, PROBE_RTT),
    ];
    let mut flow = Flow::new(&*draft());
    let start = flow.now;
    for (at, rtt, least, mode) in risen {
        let after = ms(at) - flow.now.since(start);
        flow.ack(Ack { after, rtt: ms(rtt), app_limited: true, ..round(100) });
        assert_near(flow.number("min_rtt_s"), ms(least).as_secs_f64(), &format!("at {at} ms"));
        assert_eq!(flow.mode(), mode, "at {at} ms");
    }
}

/// The window of the search is half of the product of before the least round trip expired, and is held: 50 segments where the
/// round trip was 100 ms, although it is 200 ms in the full queue, and 150 ms later. In -06 the window of the second search,
/// at which both filters have expired, follows the round trip: 100 and 75.
#[test]
fn the_window_of_the_search_is_that_of_before() {
    let standing = Ack { rtt: ms(200), in_flight: 200, newly: 1, ..within(100) };
    for (params, searches, first, second) in [(draft(), false, 50.0, 50.0), (draft_06(), true, 100.0, 75.0)] {
        let mut flow = Flow::cruise(&*params, 100);
        if searches {
            flow.ack(Ack { after: ms(4601), rtt: ms(200), ..standing });
            assert_eq!(flow.mode(), PROBE_RTT, "the first search of -06");
        } else {
            flow.ack(Ack { after: ms(9600), ..standing });
            assert_ne!(flow.mode(), PROBE_RTT, "ten seconds are not more than ten");
        }
        let rest = flow.now.since(Time::from_nanos(1_000_000_000));
        flow.ack(Ack { after: ms(10_001) - rest, ..standing });
        assert_eq!((flow.mode(), flow.number("min_rtt_s")), (PROBE_RTT, 0.2));
        assert_bound(flow.segments("probe_rtt_cwnd"), Some(first), "at entry");
        assert!(flow.cwnd() <= first, "{}", flow.cwnd());
        flow.ack(Ack { after: ms(10), rtt: ms(150), ..standing });
        assert_near(flow.number("min_rtt_s"), 0.15, "a lower one");
        assert_bound(flow.segments("probe_rtt_cwnd"), Some(second), "later");
        assert!(flow.cwnd() <= second, "{}", flow.cwnd());
    }
}

/// The same in the text's numbers: 5 MB/s and 40 ms, and samples of 80 ms when the least expires, leave 100 000 bytes.
#[test]
fn the_window_of_the_search_in_bytes() {
    let mut flow = Flow::new(&*draft());
    let rate = Rate::from_bits_per_sec(40_000_000);
    for _ in 0..4 {
        flow.rated(rate, ms(40), ms(40));
    }
    assert_eq!(flow.mode(), CRUISE);
    flow.rated(rate, ms(10_000), ms(80));
    assert_eq!((flow.mode(), flow.number("min_rtt_s")), (PROBE_RTT, 0.08));
    assert_near(flow.number("probe_rtt_cwnd_bytes"), 100_000.0, "0.5 x 5e6 x 0.040");
    assert_eq!(flow.cc.cwnd(), Bytes::new(100_000));
}

/// A search that lasts for longer than ten seconds keeps its window, although the least round trip expires again.
#[test]
fn a_long_search_keeps_its_window() {
    let mut flow = Flow::cruise(&*draft(), 100);
    let queued = Ack { rtt: ms(300), in_flight: 200, newly: 1, app_limited: true, ..within(100) };
    for after in [9_601, 10_001, 10_001] {
        flow.ack(Ack { after: ms(after), ..queued });
        assert_eq!((flow.mode(), flow.cwnd()), (PROBE_RTT, 50.0), "after {after} ms");
    }
}

/// The end of a search schedules the next one and leaves the least round trip as it is: ten seconds later, not more.
#[test]
fn the_end_schedules_the_next() {
    let mut flow = Flow::cruise(&*draft(), 100);
    let few = Ack { in_flight: 50, app_limited: true, rtt: ms(110), newly: 1, ..within(100) };
    flow.ack(Ack { after: ms(9_601), ..few });
    assert_eq!((flow.mode(), flow.number("min_rtt_s")), (PROBE_RTT, 0.11));
    flow.ack(Ack { after: ms(100), left: None, ..few });
    flow.ack(Ack { after: ms(101), rtt: ms(130), ..few });
    assert_eq!((flow.mode(), flow.number("min_rtt_s")), (CRUISE, 0.11));
    assert!(flow.segments("probe_rtt_cwnd").is_none());
    flow.ack(Ack { after: ms(10_000), rtt: ms(130), ..few });
    assert_ne!(flow.mode(), PROBE_RTT, "ten seconds after the end");
    assert_near(flow.number("min_rtt_s"), 0.11, "still");
    flow.ack(Ack { after: ms(1), rtt: ms(130), ..few });
    assert_eq!((flow.mode(), flow.number("min_rtt_s")), (PROBE_RTT, 0.13));
}

/// After twelve seconds without data there is no search, and the first sample is the least round trip. The restart is seen with
/// the first ACK and is over with the next.
#[test]
fn idle_for_longer_than_the_filter() {
    let mut flow = Flow::cruise(&*draft(), 100);
    flow.ack(Ack { app_limited: true, ..within(100) });
    assert_eq!((flow.number("restarting"), flow.number("restarts")), (0.0, 0.0));
    flow.idle(ms(12_000));
    flow.ack(Ack { rtt: ms(130), app_limited: true, in_flight: 50, ..within(100) });
    assert_near(flow.number("min_rtt_s"), 0.13, "the first sample");
    assert_eq!((flow.number("restarting"), flow.number("restarts")), (1.0, 1.0));
    assert_ne!(flow.mode(), PROBE_RTT);
    flow.ack(Ack { after: ms(10), rtt: ms(140), in_flight: 50, ..within(100) });
    assert_eq!((flow.number("restarting"), flow.number("restarts")), (0.0, 1.0));
    assert_ne!(flow.mode(), PROBE_RTT);
}

/// Startup that lasts for longer than ten seconds, since the application limits it, is interrupted by a search and goes on.
#[test]
fn a_search_in_startup() {
    let mut flow = Flow::new(&*draft());
    let limited = Ack { app_limited: true, in_flight: 50, ..round(100) };
    flow.acks(100, limited);
    assert_eq!(flow.mode(), STARTUP, "ten seconds");
    flow.ack(limited);
    assert_eq!(flow.mode(), PROBE_RTT);
    flow.acks(3, limited);
    assert_eq!((flow.mode(), flow.number("full_bw_reached")), (STARTUP, 0.0));
}
