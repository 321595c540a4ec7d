//! Impairments of selected packets: `only`.

use windtunnel_sim::RunResult;

use super::{packet_columns, run};

/// Two streams of datagrams with different code points of the ECN field over a link that is fast enough for both, so that
/// neither changes what the other meets; `impair` is behind the link.
fn streams(impair: &str) -> RunResult {
    let text = format!(
        "duration = \"10 s\"\nrecord = {{ packets = true }}\n\
         bottleneck = {{ rate = \"100 Mbit/s\", queue = {{ kind = \"fifo\", ecn_mode = \"rfc3168\" }}, impair = {impair} }}\n\
         [[flow]]\nname = \"a\"\nrtt = \"20 ms\"\napp = {{ kind = \"cbr\", rate = \"2 Mbit/s\" }}\nstart = \"1 ms\"\n\
         [[flow]]\nname = \"b\"\nrtt = \"20 ms\"\napp = {{ kind = \"cbr\", rate = \"3 Mbit/s\" }}\necn = true\n"
    );
    run(&text, &[])
}

/// All captured packets of a flow: when, where, and which.
fn packets_of(result: &RunResult, flow: u64) -> Vec<[u64; 3]> {
    let [at, tap, seq, flows] = packet_columns(result, ["t_ns", "tap", "seq", "flow"]);
    (0..at.len()).filter(|&row| flows[row] == flow).map(|row| [at[row], tap[row], seq[row]]).collect()
}

/// Only the selected flow is impaired, whichever condition selects it; every packet of the other is where it is without the
/// impairment, at the same time.
#[test]
fn others_do_not_notice() {
    let plain = streams("[]");
    for kind in [
        "\"loss\", probability = \"10 %\"",
        "\"jitter\", mean = \"5 ms\", deviation = \"5 ms\"",
        "\"jitter\", mean = \"5 ms\", deviation = \"5 ms\", reorder = true",
        "\"linear-delay\"",
        "\"burst-delay\", probability = \"50 %\"",
        "\"aggregation\"",
        "\"outage\", times = [{ from = \"2 s\", to = \"4 s\" }], hold = true",
        "\"duplication\"",
    ] {
        for (only, selected, other) in [
            ("flows = [0]", 0, 1),
            ("flows = [1]", 1, 0),
            ("ecn = [\"ect0\"]", 1, 0),
            ("ecn = [\"not-ect\"]", 0, 1),
        ] {
            let result = streams(&format!("{{ kind = {kind}, only = {{ {only} }} }}"));
            assert_eq!(packets_of(&result, other), packets_of(&plain, other), "{kind} {only}");
            assert_ne!(packets_of(&result, selected), packets_of(&plain, selected), "{kind} {only}");
        }
        let unused = streams(&format!("{{ kind = {kind}, only = {{ dscp = [62] }} }}"));
        assert_eq!(unused.summary.digest, plain.summary.digest, "{kind}");
    }
}

/// Losses of one of two connections, on its way and on that of its ACKs: the other loses nothing there.
#[test]
fn losses_of_one_connection() {
    let lossy = "{ kind = \"loss\", probability = \"2 %\", only = { flows = [1] } }";
    let text = format!(
        "duration = \"10 s\"\nreverse = {{ impair = {lossy} }}\n\
         bottleneck = {{ rate = \"20 Mbit/s\", queue = {{ kind = \"fifo\", limit = \"1 bdp\" }}, impair = {lossy} }}\n\
         [[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n[[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n"
    );
    let summary = run(&text, &[]).summary;
    let wire: Vec<u64> = summary.flows.iter().map(|flow| flow.drops.wire).collect();
    let lost: u64 = summary.elements.iter().map(|element| element.lost).sum();
    assert!(
        wire[0] == 0 && wire[1] > 20 && summary.elements.iter().all(|element| element.lost > 10),
        "{wire:?} {lost}"
    );
    for element in &summary.elements {
        assert_eq!(element.arrived, element.passed + element.lost + element.held);
    }
}
