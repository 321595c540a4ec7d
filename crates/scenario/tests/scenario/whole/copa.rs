//! Copa's laws (NSDI 2018, sections 2 and 3; spec/congestion-control section 3.24), in whole runs.

use windtunnel_sim::RunResult;

use super::{MSS, PACKET, run};

const RTT_MS: f64 = 40.0;
/// A packet's time on the link, in ms.
const PACKET_MS: f64 = PACKET * 8.0 / 10e3;
/// What fills the link, in Mbit/s of data.
const FULL: f64 = 10.0 * MSS / PACKET;

/// Flows over 10 Mbit/s and a queue of `limit`, measured from a quarter of the run on.
fn steady(flows: &[&str], seconds: u32, limit: &str, more: &str) -> RunResult {
    let tables: Vec<String> = flows
        .iter()
        .map(|cc| format!("[[flow]]\nrtt = \"{RTT_MS} ms\"\nack = \"immediate\"\ncc = {cc}"))
        .collect();
    let text = format!(
        "duration = \"{seconds} s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n\
         queue = {{ kind = \"fifo\", limit = \"{limit}\" }}\n{more}\n{}\n\
         [[window]]\nname = \"steady\"\nfrom = \"{} s\"\nto = \"{seconds} s\"\n",
        tables.join("\n"),
        seconds / 4
    );
    run(&text, &[])
}

fn goodputs(result: &RunResult) -> Vec<f64> {
    result.summary.windows[0].flows.iter().map(|flow| flow.goodput_mbps).collect()
}

/// The mean queue in packets: what the round trip has beyond the path and the packet's own time on the link.
fn queued(result: &RunResult) -> f64 {
    let rtt = result.summary.windows[0].flows[0].rtt_ms.as_ref().expect("round trips").mean;
    (rtt - RTT_MS - PACKET_MS) / PACKET_MS
}

/// Sections 2.1 and 3: n flows share the path, which is full, and hold about n/delta packets in the queue. The window swings around
/// that. The default finds no competing flow, so nothing is lost; other deltas are tested without the other mode.
#[test]
fn n_flows_hold_n_over_delta_packets() {
    for (n, delta, switches) in
        [(1, 0.5, true), (2, 0.5, true), (4, 0.5, true), (1, 0.25, false), (2, 0.25, false), (4, 1.0, false)]
    {
        let cc = format!("{{ kind = \"copa\", delta = {delta}, mode_switching = {switches} }}");
        let result = steady(&vec![cc.as_str(); n], 40, "4 bdp", "");
        let rates = goodputs(&result);
        let (sum, expected) = (rates.iter().sum::<f64>(), n as f64 / delta);
        assert!(sum > 0.98 * FULL, "{n} flows: {rates:?}");
        for rate in &rates {
            assert!((rate * n as f64 / sum - 1.0).abs() < 0.15, "{n} flows: {rates:?}");
        }
        let queued = queued(&result);
        assert!((0.5 * expected..=1.75 * expected).contains(&queued), "{n} flows, delta {delta}: {queued}");
        assert_eq!(result.summary.flows[0].sender.retransmits, Some(0), "{n} flows lose nothing");
    }
}

/// Section 2.2: the competitive mode keeps a share next to Reno, which starves the default mode.
#[test]
fn keeps_its_share_next_to_reno() {
    let share = |cc: &str| {
        let rates = goodputs(&steady(&[cc, "\"reno\""], 120, "2 bdp", ""));
        rates[0] / (rates[0] + rates[1])
    };
    let (competing, alone) = (share("\"copa\""), share("{ kind = \"copa\", mode_switching = false }"));
    assert!((0.35..0.65).contains(&competing), "{competing}");
    assert!(alone < 0.15, "{alone}");
}

/// Losses that no queue makes change nothing: 1 % of them costs 1 % of the path, and the flow does not enter the
/// competitive mode.
#[test]
fn withstands_random_losses() {
    let result = steady(&["\"copa\""], 40, "4 bdp", "impair = [{ kind = \"loss\", probability = \"1 %\" }]");
    let rate = goodputs(&result)[0];
    assert!(rate > 0.96 * FULL, "{rate}");
    assert!(queued(&result) < 6.0, "{}", queued(&result));
}
