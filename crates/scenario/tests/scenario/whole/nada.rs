//! NADA's laws (RFC 8698; spec/ccwg-2026 section K.2), in whole runs.

use windtunnel_sim::RunResult;

use super::{run, share, steady};

const RTT: u32 = 50;
/// What packets of full size leave of 10 Mbit/s for media, in Mbit/s.
const PAYLOAD: f64 = 10.0 * 1460.0 / 1500.0;
/// A packet of full size lasts longer on the link than the first ones, which have half of a frame at 150 kbit/s each and make the base delay, in
/// ms.
const LONGER: f64 = (1500.0 - 665.0) * 8.0 / 10e3;
const DEEP: &str = "{ kind = \"fifo\", limit = \"4 bdp\" }";
const CUBIC: &str = "[[flow]]\nrtt = \"50 ms\"\ncc = \"cubic\"\n";

/// A flow of media whose encoder can do this many Mbit/s.
fn media(cc: &str, most: f64) -> String {
    over(RTT, cc, most)
}

fn over(rtt: u32, cc: &str, most: f64) -> String {
    format!(
        "[[flow]]\nrtt = \"{rtt} ms\"\ncc = {cc}\n\
         app = {{ kind = \"media\", protocol = \"rtp\", rate = \"{most} Mbit/s\", min_rate = \"150 kbit/s\" }}\n"
    )
}

/// Two minutes over 10 Mbit/s, measured over the last one.
fn minutes(queue: &str, link: &str, flows: &str) -> RunResult {
    let text = format!(
        "duration = \"120 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {queue}\n{link}\n{flows}\n\
         [[window]]\nname = \"steady\"\nfrom = \"60 s\"\nto = \"120 s\"\n"
    );
    run(&text, &[])
}

fn mean_sojourn(result: &RunResult) -> f64 {
    steady(result).1.sojourn_ms.expect("packets").mean
}

fn assert_near(value: f64, expected: f64, tolerance: f64) {
    assert!((value - expected).abs() <= tolerance, "{value}, not {expected}");
}

/// Equation 5: alone, a flow takes the path, and the queue is where `XREF RMAX / r` is: the longer, the more the encoder could use. One that can
/// use half of the path makes no queue. Nothing is lost.
#[test]
fn alone_it_fills_the_path_with_the_queue_of_its_fixed_point() {
    for most in [12.0, 15.0, 30.0, 50.0] {
        let result = minutes(DEEP, "", &media("\"nada\"", most));
        assert!(steady(&result).1.utilization > 0.999, "{most} Mbit/s");
        assert_near(mean_sojourn(&result), 10.0 * most / PAYLOAD - LONGER, 0.1);
        assert_eq!(steady(&result).0[0].datagrams.expect("RTP").lost, 0);
    }
    let result = minutes(DEEP, "", &media("\"nada\"", 5.0));
    assert_near(steady(&result).0[0].goodput_mbps, 5.0, 0.05);
    assert!(mean_sojourn(&result) < 0.1);
}

/// Flows see one queue, so that `PRIO XREF RMAX / r` is the same for all: they share in proportion to the priority, whatever their round trips are, and
/// the queue is that of the sum of priorities.
#[test]
fn flows_share_by_priority_and_not_by_round_trip() {
    for (rtts, prios) in [
        ([50, 50], [1.0, 1.0]),
        ([20, 100], [1.0, 1.0]),
        ([50, 50], [1.0, 2.0]),
        ([20, 100], [1.0, 2.0]),
        ([50, 50], [0.5, 2.0]),
    ] {
        let flow = |n: usize| over(rtts[n], &format!("{{ kind = \"nada\", prio = {:?} }}", prios[n]), 15.0);
        let result = minutes(DEEP, "", &[flow(0), flow(1)].concat());
        let sum = prios[0] + prios[1];
        assert_near(share(&result), prios[0] / sum, 0.01);
        assert_near(mean_sojourn(&result), 10.0 * 15.0 * sum / PAYLOAD - LONGER, 1.5);
        assert!(steady(&result).1.utilization > 0.999);
    }
}

/// The base delay is the least since the start, so that a flow that starts later counts the queue of the first one to its path, and has more.
#[test]
fn a_latecomer_has_more() {
    let later = media("\"nada\"", 15.0).replace("[[flow]]", "[[flow]]\nstart = \"20 s\"");
    let result = minutes(DEEP, "", &[media("\"nada\"", 15.0), later].concat());
    let least = 10.0 * 15.0 / PAYLOAD;
    assert!((0.3..0.45).contains(&share(&result)), "{}", share(&result));
    assert!(mean_sojourn(&result) > 2.0 * least, "{}", mean_sojourn(&result));
}

/// Equation 1: next to CUBIC over tail drop, losses come regularly, and a long queue counts little. NADA has half of a fair share or more, and CUBIC a quarter
/// or more (the limits of spec/ccwg-2026 section K.3, case 5.6). Without warping the queue of four bandwidth-delay products starves it.
#[test]
fn warping_keeps_a_share_next_to_cubic() {
    let shares =
        |cc: &str, queue: &str| share(&minutes(queue, "", &[media(cc, 15.0).as_str(), CUBIC].concat()));
    for bdp in ["0.5", "1", "2", "4"] {
        let share = shares("\"nada\"", &format!("{{ kind = \"fifo\", limit = \"{bdp} bdp\" }}"));
        assert!((0.25..0.875).contains(&share), "{bdp} BDP: {share}");
    }
    let plain = shares("{ kind = \"nada\", qth = \"10 s\" }", DEEP);
    assert!(plain < 0.125, "{plain}");
}

/// Equation 2: a mark for each fiftieth packet takes the place of 8 ms of the queue, and a loss of each hundredth that of 10 ms. The path is full all the same.
/// A loss of each fiftieth is 40 ms, more than the queue that there would be: the rate is where `XREF RMAX / r` is that, without any queue.
#[test]
fn marks_and_losses_take_the_place_of_delay() {
    let nth = |n: u32, ecn: &str| {
        let flow = media(&format!("\"nada\"\necn = {ecn}"), 30.0);
        minutes(&format!("{{ kind = \"nth\", n = {n} }}"), "", &flow)
    };
    let marked = nth(50, "true");
    assert_near(mean_sojourn(&marked), 10.0 * 30.0 / PAYLOAD - LONGER - 8.0, 0.5);
    assert_eq!(steady(&marked).0[0].datagrams.expect("RTP").lost, 0);
    let lossy = nth(100, "false");
    assert_near(mean_sojourn(&lossy), 10.0 * 30.0 * 0.99 / PAYLOAD - LONGER - 10.0, 1.5);
    for result in [&marked, &lossy] {
        assert!(steady(result).1.utilization > 0.999);
    }
    let limited = nth(50, "false");
    // The encoder gets up to 5 % less than the rate, because frames wait (section 5.2.2).
    let goodput = steady(&limited).0[0].goodput_mbps;
    assert!((0.98 * 7.5 * 0.95..=0.98 * 7.5).contains(&goodput), "{goodput}");
    assert!(mean_sojourn(&limited) < 0.1);
}

/// CoDel that marks has half the delay of a FIFO queue, without a loss. Its delay is not less than that of CoDel that drops: marks do not end the ramp-up,
/// as losses do (section 4.2), so that the queue comes back each time that it is empty for `LOGWIN`. Dropping costs 2 % of the packets and more.
#[test]
fn marks_instead_of_losses() {
    let codel = |ecn: &str| {
        let flow = media(&format!("\"nada\"\necn = {ecn}"), 30.0);
        minutes("{ kind = \"codel\", ecn = true }", "", &flow)
    };
    let (marks, losses) = (codel("true"), codel("false"));
    let fifo = minutes(DEEP, "", &media("\"nada\"", 30.0));
    assert!(mean_sojourn(&marks) < 0.55 * mean_sojourn(&fifo), "{}", mean_sojourn(&marks));
    assert!(mean_sojourn(&losses) < mean_sojourn(&marks), "{}", mean_sojourn(&losses));
    let lost = |result: &RunResult| steady(result).0[0].datagrams.expect("RTP").lost;
    assert_eq!(lost(&marks), 0);
    assert!(lost(&losses) > 1000, "{}", lost(&losses));
    for result in [&marks, &losses] {
        assert!(steady(result).1.utilization > 0.9);
    }
    // Marks that are worth 50 ms would leave 6 Mbit/s and no queue, if they ended the ramp-up.
    let many = minutes("{ kind = \"nth\", n = 20 }", "", &media("\"nada\"\necn = true", 30.0));
    let sojourn = steady(&many).1.sojourn_ms.expect("packets");
    assert!(sojourn.min < 1.0 && sojourn.max > 50.0, "{sojourn:?}");
    assert!(steady(&many).1.utilization > 0.98);
}

/// The capacity falls from 10 to 3 Mbit/s, and the queue overflows. Once no loss came for seven mean intervals the flow is at the fixed point of that
/// rate. One whose fixed point is a queue above `QTH` does not come back there: from there on a longer queue counts for less, so that it grows until it
/// overflows again. Without a loss before, it stays at it.
#[test]
fn after_losses_the_fixed_point_must_be_below_the_threshold_of_warping() {
    let drop = "changes = [{ at = \"20 s\", rate = \"3 Mbit/s\" }]";
    let slow = 0.3 * PAYLOAD;
    let longer = 1500.0 * 8.0 / 3e3 - 665.0 * 8.0 / 10e3;
    let back = minutes(DEEP, drop, &media("\"nada\"", 10.0));
    assert!(back.summary.flows[0].datagrams.expect("RTP").lost > 0);
    assert_eq!(steady(&back).0[0].datagrams.expect("RTP").lost, 0);
    assert_near(mean_sojourn(&back), 10.0 * 10.0 / slow - longer, 1.0);
    let lost = minutes(DEEP, drop, &media("\"nada\"", 15.0));
    assert!(steady(&lost).0[0].datagrams.expect("RTP").lost > 0);
    let never = minutes(DEEP, "", &media("\"nada\"", 50.0));
    assert!(mean_sojourn(&never) + LONGER > 50.0, "{}", mean_sojourn(&never));
}

/// An outage of four seconds: the timeout takes the rate, and the flow is back at its fixed point.
#[test]
fn comes_back_after_an_outage() {
    let outage = "impair = [{ kind = \"outage\", times = [{ from = \"20 s\", to = \"24 s\" }] }]";
    let result = minutes(DEEP, outage, &media("\"nada\"", 15.0));
    assert!(result.summary.flows[0].sender.rtos.expect("a controller") >= 1);
    assert_near(mean_sojourn(&result), 10.0 * 15.0 / PAYLOAD - LONGER, 0.1);
}

/// Other data over TCP have the RFC's range, 150 kbit/s to 1.5 Mbit/s: over 1 Mbit/s the queue is `XREF RMAX / r`, and over 10 there is none. Marks
/// are heard as counts, and as echoes, one in a round trip: one of a hundred takes the place of 2 ms.
#[test]
fn carries_bulk_over_tcp() {
    let bulk = |rate: &str, queue: &str, ecn: &str| {
        let text = format!(
            "duration = \"120 s\"\n[bottleneck]\nrate = \"{rate}\"\nqueue = {queue}\n\
             [[flow]]\nrtt = \"{RTT} ms\"\ncc = \"nada\"\n{ecn}\n\
             [[window]]\nname = \"steady\"\nfrom = \"60 s\"\nto = \"120 s\"\n"
        );
        run(&text, &[])
    };
    let payload = 1448.0 / 1500.0;
    assert_near(mean_sojourn(&bulk("1 Mbit/s", DEEP, "")), 10.0 * 1.5 / payload, 0.1);
    let fast = bulk("10 Mbit/s", DEEP, "");
    assert_near(steady(&fast).0[0].goodput_mbps, 1.5, 0.01);
    for ecn in ["ecn = true", "ecn = \"accecn\""] {
        let marked = bulk("1 Mbit/s", "{ kind = \"nth\", n = 100 }", ecn);
        assert_near(mean_sojourn(&marked), 10.0 * 1.5 / payload - 2.0, 0.7);
    }
}
