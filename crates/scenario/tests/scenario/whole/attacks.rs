//! Receivers that misbehave, against senders with and without the defence
//! (Savage, Cardwell, Wetherall and Anderson 1999; spec/congestion-control section 5).

use windtunnel_sim::RunResult;

use super::{flow, run};

/// One flow over 100 ms and a path that is never full: only the window limits it.
fn wide(flow: &str, settings: &[&str]) -> RunResult {
    let text = format!(
        "duration = \"950 ms\"\n[bottleneck]\nrate = \"100 Gbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"1000000 packets\" }}\n\
         [[flow]]\nrtt = \"100 ms\"\niw = \"2 packets\"\n{flow}"
    );
    // The whole receive window is offered at once.
    let mut all = vec!["flow[0].tcp.window_growth=false", "flow[0].tcp.autotuning=false"];
    all.extend(settings);
    run(&text, &all)
}

/// The largest cwnd in segments, with what inflates it.
fn segments(result: &RunResult) -> f64 {
    flow(result).cwnd_bytes.as_ref().expect("TCP").max as f64 / 1448.0
}

const COUNTS_ACKS: &str = "cc = \"reno\"\n[flow.tcp]\ncount_acks = true\n";

/// In slow start a sender that counts ACKs adds M segments for each one that is acknowledged in M pieces: the window grows
/// by 1 + M in each round trip instead of 2. One that counts whole segments is not deceived.
#[test]
fn ack_division_multiplies_slow_start() {
    let honest = segments(&wide("cc = \"reno\"\n", &[]));
    let defended = segments(&wide("cc = \"reno\"\n", &["flow[0].ack={ division = 3 }"]));
    let deceived = segments(&wide(COUNTS_ACKS, &["flow[0].ack={ division = 3 }"]));
    assert!((defended / honest - 1.0).abs() < 0.02, "{honest} {defended}");
    // Growth by 4 instead of 2 in each of 8 round trips.
    let ratio = deceived / honest;
    assert!((ratio / 256.0 - 1.0).abs() < 0.03, "{honest} {deceived}");
}

/// 400 copies of the first ACK reach a sender with ten segments in flight: to Reno of 1990 they look like a loss, and like a segment
/// that left for each of them, so that it sends as many at once. A limit on the inflation leaves it what was outstanding; SACK
/// with PRR counts only what SACK reports.
#[test]
fn duplicate_acks_inflate_reno() {
    let sent = |settings: &[&str]| {
        let mut all = vec!["duration=250 ms", "flow[0].iw=10 packets"];
        all.extend(settings);
        flow(&wide("cc = \"reno\"\n", &all)).sent.expect("TCP")
    };
    let attack = "flow[0].ack={ policy = \"immediate\", duplicates = 400 }";
    let old = ["flow[0].tcp.sack=false", "flow[0].tcp.loss_detection=reno"];
    let unlimited = sent(&[attack, old[0], old[1], "flow[0].tcp.inflation=unlimited"]);
    let limited = sent(&[attack, old[0], old[1], "flow[0].tcp.inflation=entry"]);
    assert!(unlimited >= 400, "{unlimited}");
    assert!(limited <= 40, "{limited}");
    assert!(sent(&[attack]) <= sent(&["flow[0].ack.policy=immediate"]), "{}", sent(&[attack]));
}

/// Reno at 1 % loss and 100 ms has about 1.5 Mbit/s. A receiver that acknowledges before data arrive conceals every loss and
/// shortens the round trip: its sender takes the whole link, and never repairs anything.
#[test]
fn optimistic_acks_conceal_losses() {
    let text = "duration = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"200 packets\" }\n\
        impair = { kind = \"loss\", probability = \"1 %\" }\n[[flow]]\nrtt = \"100 ms\"\ncc = \"reno\"\n";
    let honest = run(text, &[]);
    let attack =
        "flow[0].ack={ optimistic = \"1 ms\", optimistic_step = \"3 kB\", optimistic_lead = \"200 kB\" }";
    let deceived = run(text, &[attack]);
    assert!(flow(&honest).goodput_mbps < 3.0, "{}", flow(&honest).goodput_mbps);
    assert!(flow(&deceived).goodput_mbps > 15.0, "{}", flow(&deceived).goodput_mbps);
    assert!(flow(&deceived).retransmits < Some(20), "{:?}", flow(&deceived).retransmits);
}

/// An attacker's connection still ends: the transfer completes, and everything is closed.
#[test]
fn attackers_finish() {
    for attack in ["division = 7", "duplicates = 20", "optimistic = \"1 ms\""] {
        let text = format!(
            "duration = \"20 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\nqueue = {{ kind = \"fifo\", limit = \"200 packets\" }}\n\
             [[flow]]\nrtt = \"40 ms\"\ncc = \"reno\"\napp = {{ kind = \"transfer\", size = \"2 MB\" }}\nack = {{ {attack} }}\n"
        );
        let result = run(&text, &[]);
        let transfers = result.summary.flows[0].transfers.as_ref().expect("a transfer");
        assert_eq!(transfers.completed, 1, "{attack}");
    }
}

/// An optimist that has claimed data beyond the end of a stream becomes honest with the FIN, however its segments arrive: it
/// does not count the ACKs of what never follows.
#[test]
fn an_optimist_hears_the_end() {
    for gro in ["0 ms", "2 ms"] {
        for size in (20..60).step_by(5) {
            let text = format!(
                "duration = \"5 s\"\n[bottleneck]\nrate = \"20 Mbit/s\"\n[[flow]]\ncc = \"reno\"\nrtt = \"40 ms\"\n\
                 ack = {{ optimistic = \"1 ms\", optimistic_lead = \"1 MB\" }}\ntcp = {{ gro = \"{gro}\" }}\n\
                 app = {{ kind = \"transfer\", size = \"{size} kB\" }}\n"
            );
            let result = run(&text, &[]);
            let transfers = flow(&result).transfers.as_ref().expect("a transfer");
            assert_eq!(transfers.completed, 1, "{size} kB, merged for {gro}");
        }
    }
}
