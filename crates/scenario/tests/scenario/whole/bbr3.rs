//! BBR's third and second versions against the tests of draft-ietf-ccwg-bbr and of spec/congestion-control section 3.23,
//! from the state that they record.

use windtunnel_sim::RunResult;

use super::bbr::{column, modes, numbers};
use super::{assert_near, flow, run};

const STARTUP: u8 = 0;
const DRAIN: u8 = 1;
const DOWN: u8 = 2;
const CRUISE: u8 = 3;
const REFILL: u8 = 4;
const UP: u8 = 5;
const PROBE_RTT: u8 = 6;

/// Payload that 10 Mbit/s carry.
const LINK: f64 = 10e6 * 1448.0 / 1500.0;

const VERSIONS: [&str; 3] = ["\"bbr3\"", "{ kind = \"bbr3\", variant = \"linux\" }", "\"bbr2\""];
/// The draft's text as posted.
const POSTED: &str = "{ kind = \"bbr3\", variant = \"draft-06\" }";

/// The seconds without a lower round trip after which `ProbeRTT` comes.
fn interval(cc: &str) -> u64 {
    if cc == VERSIONS[0] { 10 } else { 5 }
}

/// One flow alone: 10 Mbit/s, 40 ms, a queue of 300 packets.
fn alone(cc: &str, duration_s: u64, more: &str, app: &str) -> RunResult {
    let text = format!(
        "duration = \"{duration_s} s\"\n[record]\nstate = \"changes\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
         queue = {{ kind = \"fifo\", limit = \"300 packets\" }}\n{more}\n\
         [[flow]]\ncc = {cc}\nrtt = \"40 ms\"\nack = \"immediate\"\n{app}\n"
    );
    run(&text, &[])
}

/// Startup ends after three rounds without growth, with the bandwidth within 2 % of the link's; Drain ends when no more than
/// the product is in flight; then the cycle starts.
#[test]
fn startup_finds_the_bandwidth() {
    for cc in VERSIONS {
        let result = alone(cc, 2, "", "");
        let order: Vec<u8> = modes(&result).iter().map(|(_, mode)| *mode).collect();
        assert_eq!(order[..2], [STARTUP, DRAIN], "{cc}");
        // With nothing lost there is no bound that asks for headroom: DOWN may end with the same ACK.
        assert!([DOWN, CRUISE].contains(&order[2]), "{cc}: {order:?}");
        assert_near(cc, *column(&result, "max_bw_bit_per_s").last().expect("rows"), LINK, 0.02);
        let exit = flow(&result).slow_start_exit.as_ref().map(|exit| exit.reason);
        assert_eq!(exit, Some("bandwidth plateau"), "{cc}");
    }
}

/// The cycle runs down, cruise, refill, up; `ProbeRTT` comes from anywhere, lasts 200 ms and a round, and leads to cruise.
/// Probes are at most three seconds apart, and `ProbeRTT` comes every five seconds, with the draft's newest text every ten.
#[test]
fn the_cycle() {
    for cc in VERSIONS.into_iter().chain([POSTED]) {
        let result = alone(cc, 4 * interval(cc) + 2, "", "");
        let modes = modes(&result);
        for pair in modes.windows(2).skip(2) {
            let allowed: &[u8] = match pair[0].1 {
                DOWN => &[CRUISE, REFILL, PROBE_RTT],
                CRUISE => &[REFILL, PROBE_RTT],
                REFILL => &[UP, PROBE_RTT],
                UP => &[DOWN, PROBE_RTT],
                PROBE_RTT => &[CRUISE],
                _ => &[],
            };
            assert!(allowed.contains(&pair[1].1), "{cc}: {pair:?}");
        }
        let starts =
            |mode: u8| modes.iter().filter(|(_, m)| *m == mode).map(|(at, _)| *at).collect::<Vec<_>>();
        for pair in starts(UP).windows(2) {
            assert!(pair[1] - pair[0] < 3.6, "{cc}: probes at {pair:?}");
        }
        let probes = starts(PROBE_RTT);
        assert!((3..=4).contains(&probes.len()), "{cc}: {probes:?}");
        for pair in probes.windows(2) {
            let over = pair[1] - pair[0] - interval(cc) as f64;
            assert!((0.0..0.6).contains(&over), "{cc}: {pair:?}");
        }
        let after = |at: f64| modes.iter().map(|(t, _)| *t).find(|t| *t > at);
        for at in &probes[..2] {
            let lasted = after(*at).expect("it ends") - at;
            assert!((0.2..0.4).contains(&lasted), "{cc}: {lasted} s");
        }
        assert_near(cc, flow(&result).goodput_mbps * 1e6, LINK, 0.05);
    }
}

/// The gains of each state are those of the table; version 2 drains with 0.75.
#[test]
fn gains() {
    for (cc, startup, drain, down) in [
        (VERSIONS[0], 2.77, 0.5, 0.9),
        (VERSIONS[1], 710.0 / 256.0, 88.0 / 256.0, 0.91),
        (VERSIONS[2], 739.0 / 256.0, 88.0 / 256.0, 0.75),
    ] {
        let result = alone(cc, 8, "", "");
        for (gain, mode) in column(&result, "pacing_gain").into_iter().zip(numbers(&result, "mode")) {
            let expected = match mode {
                STARTUP => startup,
                DRAIN => drain,
                DOWN => down,
                UP => 1.25,
                _ => 1.0,
            };
            assert!((gain - expected).abs() < 1e-9, "{cc}: {gain} in {mode}");
        }
    }
}

/// With 1 % loss the rate stays near the link's, where a loss is less than the threshold of 2 % of the 333 packets in flight;
/// far above the threshold it falls, unlike version 1's. Means of four seeds: single ones have 0.79 to 0.86 at 1 %.
#[test]
fn losses_above_the_threshold_count() {
    for cc in VERSIONS {
        let goodput = |percent: u32| {
            let text = format!(
                "duration = \"30 s\"\n[bottleneck]\nrate = \"40 Mbit/s\"\n\
                 queue = {{ kind = \"fifo\", limit = \"330 packets\" }}\n\
                 impair = {{ kind = \"loss\", probability = \"{percent} %\" }}\n\
                 [[flow]]\ncc = {cc}\nrtt = \"100 ms\"\n"
            );
            let one = |seed| flow(&run(&text, &[&format!("seed={seed}")])).goodput_mbps * 1e6 / (4.0 * LINK);
            (1..=4).map(one).sum::<f64>() / 4.0
        };
        let (one, ten) = (goodput(1), goodput(10));
        assert!(one > 0.8, "{cc}: {one}");
        assert!(ten < 0.6 * one, "{cc}: {ten} {one}");
    }
}

/// An application that sends less than the path carries, without loss, never leaves Startup, because its samples say nothing
/// of the path.
#[test]
fn the_application_does_not_end_startup() {
    for cc in VERSIONS {
        let app = "app = { kind = \"request-response\", size = { kind = \"fixed\", value = \"5 kB\" }, \
                   think = { kind = \"fixed\", value = \"20 ms\" }, count = 40 }";
        let result = alone(cc, 4, "", app);
        assert!(numbers(&result, "mode").iter().all(|mode| *mode == STARTUP), "{cc}");
    }
}

/// Next to Reno, over a queue of one bandwidth-delay product, it leaves Reno more than version 1 does.
#[test]
fn room_for_reno() {
    let reno = |cc: &str| {
        let text = format!(
            "duration = \"60 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"67 packets\" }}\n\
             [[flow]]\ncc = {cc}\nrtt = \"40 ms\"\n[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\n"
        );
        run(&text, &[]).summary.flows[1].goodput_mbps
    };
    let first = reno("\"bbr\"");
    for cc in VERSIONS {
        assert!(reno(cc) > first, "{cc}: {}, version 1 {first}", reno(cc));
    }
}

/// The first time at which a mode starts, from `after` on, and the mode that follows.
fn first(result: &RunResult, mode: u8, after: f64) -> (f64, u8, f64) {
    let modes = modes(result);
    let pair = modes.windows(2).find(|pair| pair[0].1 == mode && pair[0].0 >= after).expect("the mode ends");
    (pair[0].0, pair[1].1, pair[1].0)
}

/// One flow whose link has `rate` from `at` on.
fn changed(cc: &str, at: f64, rate: &str) -> RunResult {
    let changes = format!("changes = [{{ at = \"{at} s\", rate = \"{rate}\" }}]");
    alone(cc, 10, &changes, "")
}

/// Drain, in the draft, lasts for three rounds at most: if the bandwidth falls below half of what Startup found when it starts, its pace
/// alone never drains the queue.
#[test]
fn drain_ends_after_three_rounds() {
    let (cc, entry) = (VERSIONS[0], first(&alone(VERSIONS[0], 2, "", ""), DRAIN, 0.0).0);
    let result = changed(cc, entry, "4 Mbit/s");
    let rounds = column(&result, "rounds");
    let spent: Vec<f64> = numbers(&result, "mode")
        .iter()
        .zip(rounds)
        .filter(|(mode, _)| **mode == DRAIN)
        .map(|(_, n)| n)
        .collect();
    let (from, to) = (spent[0], spent[spent.len() - 1]);
    // The fourth round ends it.
    assert!((to - from - 3.0).abs() < 0.5, "rounds {from} to {to}");
    let unlimited = changed(VERSIONS[1], first(&alone(VERSIONS[1], 2, "", ""), DRAIN, 0.0).0, "3 Mbit/s");
    let (from, _, to) = first(&unlimited, DRAIN, 0.0);
    assert!(to - from > 1.0, "without the limit, as in Linux, it lasts: {from} to {to}");
}

/// If the bandwidth falls by more than a tenth when DOWN starts, its pace of 0.9 does not drain the queue, and CRUISE, which needs that,
/// does not come: the next probe does, when it is due.
#[test]
fn down_leads_to_the_next_probe() {
    let entry = first(&alone(VERSIONS[0], 10, "", ""), UP, 0.0).2;
    let (from, next, to) = first(&changed(VERSIONS[0], entry, "8.5 Mbit/s"), DOWN, entry - 1e-6);
    assert_eq!(next, REFILL, "{from} to {to}");
    assert!((1.0..3.1).contains(&(to - from)), "{from} to {to}");
}

/// A flow that pauses has an empty queue without `ProbeRTT`: the phase is skipped if the seconds without a lower round
/// trip end in a pause.
#[test]
fn a_pause_replaces_probe_rtt() {
    for cc in VERSIONS.into_iter().chain([POSTED]) {
        let on = interval(cc) - 1;
        let app = format!(
            "app = {{ kind = \"on-off\", on = {{ kind = \"fixed\", value = \"{on} s\" }}, \
             off = {{ kind = \"fixed\", value = \"3 s\" }} }}"
        );
        let result = alone(cc, 60, "", &app);
        let modes = numbers(&result, "mode");
        assert!(modes.contains(&CRUISE) && !modes.contains(&PROBE_RTT), "{cc}");
    }
}

/// Flows over a queue that marks from a millisecond on, 40 Mbit/s, with DCTCP's receiver. Packets besides new
/// data are not ECN-capable, with the answer or without.
fn over_step(cc: &str, flows: u32, rtt_ms: u32) -> RunResult {
    let text = format!(
        "duration = \"10 s\"\n[bottleneck]\nrate = \"40 Mbit/s\"\n\
         queue = {{ kind = \"codel\", ce_threshold = \"1 ms\", limit = \"200 packets\" }}\n\
         [[flow]]\ncc = {cc}\nrtt = \"{rtt_ms} ms\"\necn = \"dctcp\"\ntcp.ecn_pp = \"off\"\ncount = {flows}\n"
    );
    run(&text, &[])
}

const ANSWERS: &str = "{ kind = \"bbr3\", variant = \"linux\", ecn_low = true }";

/// The answer to CE shortens the queue at a utilisation above 90 %. Alone, a flow has hardly a queue between its probes in any case;
/// several that share a link have one without the answer, since the bandwidths that they measure add up to more than the link's.
#[test]
fn marks_keep_the_queue_short() {
    for (flows, most) in [(1, 1.0), (2, 0.5), (4, 0.3)] {
        let [with, without] = [ANSWERS, VERSIONS[1]].map(|cc| {
            let result = over_step(cc, flows, 4);
            let queue = &result.summary.queues[0];
            assert!(queue.utilization > 0.9, "{cc}, {flows}: {}", queue.utilization);
            queue.sojourn_ms.as_ref().expect("packets").mean
        });
        assert!(with < most * without, "{flows} flows: {with} ms, {without} ms without");
    }
    let exit = over_step(ANSWERS, 1, 4).summary.flows[0].slow_start_exit.as_ref().map(|exit| exit.reason);
    assert_eq!(exit, Some("CE"));
}

/// Over more than 5 ms the marks are not answered: the run is the same packet by packet.
#[test]
fn marks_do_not_count_over_long_paths() {
    let digest = |cc: &str, rtt_ms: u32| over_step(cc, 2, rtt_ms).summary.digest;
    assert_eq!(digest(ANSWERS, 6), digest(VERSIONS[1], 6));
    assert_ne!(digest(ANSWERS, 4), digest(VERSIONS[1], 4));
}

/// One packet is 90 ms late, at 43 positions around the end of Startup (50 Mbit/s, 40 ms): it is taken for lost and then found to
/// have been late. A single loss ends neither Startup nor a probe in these versions, so that nothing leads back to Startup from
/// what a plateau ended.
#[test]
fn a_late_packet_does_not_bring_startup_back() {
    for cc in &VERSIONS[..2] {
        let mut undone = 0;
        for position in (60..=1740).step_by(40) {
            let text = format!(
                "duration = \"1 s\"\nendpoints = \"linux\"\n[record]\nstate = \"changes\"\n[bottleneck]\nrate = \"50 Mbit/s\"\n\
                 queue = {{ kind = \"fifo\", limit = \"600 packets\" }}\n\
                 impair = {{ kind = \"scripted-reordering\", packets = [{position}], delay = \"90 ms\", affects = \"data\" }}\n\
                 [[flow]]\ncc = {cc}\nrtt = \"40 ms\"\n"
            );
            let result = run(&text, &[]);
            undone += flow(&result).sender.undos.expect("counted");
            let order: Vec<u8> = modes(&result).iter().map(|(_, mode)| *mode).collect();
            assert!(!order[1..].contains(&STARTUP), "{cc}, packet {position}: {order:?}");
        }
        assert!(undone > 20, "{cc}: {undone} of 43 losses were found to be none");
    }
}

/// The draft's flow next to one of CUBIC, both with ECN, 50 Mbit/s and 40 ms.
fn next_to_cubic(cc: &str, queue: &str) -> RunResult {
    let text = format!(
        "duration = \"10 s\"\nendpoints = \"linux\"\n[bottleneck]\nrate = \"50 Mbit/s\"\nqueue = {queue}\n\
         [[flow]]\ncc = {cc}\nrtt = \"40 ms\"\necn = true\n[[flow]]\ncc = \"cubic\"\nrtt = \"40 ms\"\necn = true\n"
    );
    run(&text, &[])
}

/// A sender of ECT answers CE (draft-ietf-ccwg-bbr, section "ECN"): the queue of FQ-CoDel is at most a third of what it
/// is without the answer, and CUBIC has twice the rate in DualPI2's classic queue. Marks that are not answered do not
/// count as answered, and neither do they in BBR's first version.
#[test]
fn marks_are_losses_to_the_draft() {
    let fq_codel = "{ kind = \"fq_codel\", ecn_mode = \"rfc3168\" }";
    let [loss, none, first] = ["\"bbr3\"", "{ kind = \"bbr3\", ce = \"none\" }", "\"bbr\""].map(|cc| {
        let result = next_to_cubic(cc, fq_codel);
        let queue = result.summary.queues[0].sojourn_ms.as_ref().expect("packets").mean;
        (queue, result.summary.flows[0].sender.ecn_reductions.expect("it has a controller"))
    });
    assert!(loss.0 < none.0 / 3.0, "{} ms, {} ms without an answer", loss.0, none.0);
    assert!(loss.1 > 10, "{} answers", loss.1);
    assert_eq!((none.1, first.1), (0, 0), "answers that reduce nothing");

    let [loss, none] = ["\"bbr3\"", "{ kind = \"bbr3\", ce = \"none\" }"]
        .map(|cc| next_to_cubic(cc, "{ kind = \"dualpi2\" }").summary.flows[1].goodput_mbps);
    assert!(loss > 2.0 * none, "{loss} Mbit/s, {none} without an answer");
}
