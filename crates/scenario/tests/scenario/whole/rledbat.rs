//! rLEDBAT (RFC 9840) over 10 Mbit/s and 40 ms: senders with CUBIC or Reno whose receivers run LEDBAT++ or LEDBAT. What the
//! flow gets is what it gets with the same controller at its sender.

use windtunnel_sim::RunResult;

use super::{ACKS, assert_near, flow, packet_columns, run};

const DEEP: &str = "\"1000 packets\"";
const SHALLOW: &str = "\"300 packets\"";
const AT_SENDER: [&str; 2] = ["cc = \"ledbat-pp\"", "cc = \"ledbat\""];
const AT_RECEIVER: [&str; 2] =
    ["cc = \"cubic\"\nrledbat = \"ledbat-pp\"", "cc = \"cubic\"\nrledbat = \"ledbat\""];

/// What flows have in the last 60 of 180 s, in Mbit/s, and the mean delay by the queue, in milliseconds. Each flow starts
/// 30 s after the one before it.
fn late(limit: &str, flows: &[&str]) -> (Vec<f64>, f64) {
    let flow =
        |(n, keys): (usize, &&str)| format!("[[flow]]\nrtt = \"40 ms\"\nstart = \"{} s\"\n{keys}\n", 30 * n);
    let text = format!(
        "duration = \"180 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = {limit} }}\n\
         [[window]]\nname = \"late\"\nfrom = \"120 s\"\nto = \"180 s\"\n{}",
        flows.iter().enumerate().map(flow).collect::<String>()
    );
    let result = run(&text, &[]);
    let window = &result.summary.windows[0];
    let queued = window.queues[0].sojourn_ms.as_ref().expect("packets").mean;
    (window.flows.iter().map(|flow| flow.throughput_mbps).collect(), queued)
}

/// The second flow's share of what two have, in percent.
fn second(limit: &str, flows: [&str; 2]) -> f64 {
    let (rates, _) = late(limit, &flows);
    100.0 * rates[1] / (rates[0] + rates[1])
}

/// Alone, LEDBAT fills the path and holds 100 ms; LEDBAT++ holds what it does at the sender, 60 ms but for its slowdowns.
#[test]
fn alone_it_holds_the_target() {
    let (rates, queued) = late(DEEP, &AT_RECEIVER[1..]);
    assert_near("rate", rates[0], 10.0, 0.01);
    assert_near("target", queued, 100.0, 0.02);
    let (at_sender, at_receiver) = (late(DEEP, &AT_SENDER[..1]), late(DEEP, &AT_RECEIVER[..1]));
    assert_near("rate", at_receiver.0[0], at_sender.0[0], 0.01);
    assert_near("delay", at_receiver.1, at_sender.1, 0.03);
    assert!(at_receiver.1 < 60.0 && at_receiver.0[0] > 9.0, "{at_receiver:?}");
}

/// CUBIC keeps a queue of more than 200 ms of 360: whatever the sender, its receiver leaves it two segments, less than 1 % of what
/// CUBIC has.
#[test]
fn yields_to_cubic_over_tail_drop() {
    for sender in ["cubic", "reno"] {
        for controller in ["ledbat-pp", "ledbat"] {
            let background = format!("cc = \"{sender}\"\nrledbat = \"{controller}\"");
            let left = 100.0 - second(SHALLOW, [&background, "cc = \"cubic\""]);
            assert!(left < 1.0, "{left} % by {controller} for {sender}");
        }
    }
}

/// The latecomer's advantage is the controller's, wherever it runs: a second LEDBAT takes the path, and two flows of LEDBAT++
/// share it.
#[test]
fn a_latecomer_takes_the_path_from_ledbat_alone() {
    let shared = second(DEEP, [AT_RECEIVER[0]; 2]);
    assert!((40.0..60.0).contains(&shared), "{shared} %");
    let taken = second(DEEP, [AT_RECEIVER[1]; 2]);
    assert!(taken > 90.0, "{taken} %");
}

/// A transfer that ends before there is congestion is not limited: every packet leaves as it does without.
#[test]
fn short_flows_are_not_limited() {
    let transfer = |keys: &str| {
        let text = format!(
            "duration = \"10 s\"\n[bottleneck]\nrate = \"100 Mbit/s\"\nqueue = \"fifo\"\n\
             [[flow]]\nrtt = \"40 ms\"\napp = {{ kind = \"transfer\", size = \"300 kB\" }}\n{keys}"
        );
        let result = run(&text, &[]);
        flow(&result).transfers.as_ref().expect("a transfer").time_ms.as_ref().expect("complete").mean
    };
    assert_near("time", transfer(AT_RECEIVER[0]), transfer("cc = \"cubic\""), 1e-9);
}

/// Section 4.1: no ACK moves the right edge of the window back, next to a flow of CUBIC and with losses on the way, although the
/// window falls: with LEDBAT++ to two segments in each slowdown, 2896 bytes, which are three units of 1 KiB. A second run
/// is the same.
#[test]
fn the_right_edge_never_moves_back() {
    for (keys, two_segments) in AT_RECEIVER.into_iter().zip([true, false]) {
        let text = format!(
            "duration = \"60 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = {SHALLOW} }}\n\
             impair = {{ kind = \"loss\", probability = \"0.1 %\" }}\n[record]\npackets = true\n\
             [[flow]]\nrtt = \"40 ms\"\n{keys}\n[[flow]]\nrtt = \"40 ms\"\ncc = \"cubic\"\nstart = \"20 s\"\n"
        );
        let result = run(&text, &[]);
        let edges = edges(&result);
        assert!(edges.len() > 1000, "{}", edges.len());
        assert!(edges.is_sorted_by_key(|(edge, _)| *edge), "{keys}");
        assert!(!edges.is_sorted_by_key(|(_, window)| *window), "{keys}: it falls");
        let least = edges.iter().map(|(_, window)| *window).min();
        assert!(!two_segments || least == Some(3 << 10), "{least:?}");
        assert_eq!(run(&text, &[]).summary.digest, result.summary.digest);
    }
}

/// The right edge and the window of each ACK of the first flow, in the order in which they left.
fn edges(result: &RunResult) -> Vec<(u64, u64)> {
    const RECEIVER: u64 = 3;
    let [taps, ways, flows, acks, windows] = packet_columns(result, ["tap", "dir", "flow", "ack", "window"]);
    (0..acks.len())
        .filter(|&i| (taps[i], ways[i], flows[i]) == (RECEIVER, ACKS, 0))
        .skip(1)
        .map(|i| (acks[i] + windows[i], windows[i]))
        .collect()
}
