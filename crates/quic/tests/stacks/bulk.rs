//! One bulk flow over each stack, with each of its controllers and with ours.

use crate::runs::{CONTROLLERS, OURS, first, flow, parse, run, text};

/// 50 Mbit/s with 40 ms of round trip and a buffer of 1 BDP.
const BOTTLENECK: &str = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }";

/// A packet of 1500 bytes carries at most 1472 in its datagram, and less in its streams: an endless flow with a buffer of
/// a BDP gets nearly that share of the link from each controller that answers losses with a part of its window.
#[test]
fn window_based_controllers_keep_the_link_busy() {
    for (stack, cc) in CONTROLLERS.into_iter().chain(OURS).filter(|(_, cc)| !cc.contains("bbr")) {
        let result = run(&text(20, BOTTLENECK, &[&flow(stack, cc, 40)]));
        let flow = first(&result);
        assert!(result.summary.stalled.is_none(), "{stack} {cc}: {:?}", result.summary.stalled);
        assert!((46.5..49.1).contains(&flow.goodput_mbps), "{stack} {cc}: {} Mbit/s", flow.goodput_mbps);
        let rtt = flow.rtt_ms.expect("ACKs came");
        // 40 ms, and the time for a full buffer.
        assert!((40.0..=80.6).contains(&rtt.min) && rtt.max <= 80.6, "{stack} {cc}: {rtt:?}");
        assert!(flow.sender.loss_episodes > Some(0) && flow.drops.full > 0, "{stack} {cc}: {flow:?}");
        // Ten packets of 1200 bytes, or of 1472 in a controller of ours; the least window of all is that at the start.
        let least = flow.cwnd_bytes.expect("it has a window").min;
        assert!([12_000, 14_720].contains(&least), "{stack} {cc}: {least} B");
        let exit = flow.slow_start_exit.map(|exit| exit.reason);
        let is_hystart = cc.contains("windtunnel = \"cubic\"");
        assert_eq!(exit, Some(if is_hystart { "ACK train" } else { "loss" }), "{stack} {cc}");
    }
}

/// The same scenario and seed give the same digest and summary, wherever keys and connection IDs come from. Controllers
/// that draw without a seed are named.
#[test]
fn equal_runs_have_equal_digests() {
    for (stack, cc) in CONTROLLERS.into_iter().chain(OURS) {
        let text = text(5, BOTTLENECK, &[&flow(stack, cc, 40)]);
        let unseeded = parse(&text).expect("a scenario").unseeded();
        if matches!((stack, cc), ("quinn", "\"bbr\"") | ("noq", "\"bbr3\"")) {
            assert_eq!(unseeded, [format!("{} of {stack}", cc.trim_matches('"'))]);
            continue;
        }
        assert_eq!(unseeded, [""; 0], "{stack} {cc}");
        let [one, other] = [run(&text), run(&text)];
        assert_eq!(one.summary.digest, other.summary.digest, "{stack} {cc}");
    }
}

/// What a stack does not tell is absent: no stack says how often it sent again, and only noq undoes reductions.
#[test]
fn what_a_stack_does_not_count_is_absent() {
    for (stack, undoes) in [("quinn", false), ("noq", true)] {
        let result = run(&text(2, BOTTLENECK, &[&flow(stack, "\"cubic\"", 40)]));
        let sender = first(&result).sender;
        assert_eq!([sender.retransmits, sender.rtos, sender.tlps], [None; 3], "{stack}");
        assert_eq!(sender.undos.is_some(), undoes, "{stack}");
        assert!(sender.sent > Some(4_000), "{stack}: {:?}", sender.sent);
    }
}

/// A receiver that is asked to leave 20 packets unacknowledged sends a tenth of the ACKs that one sends which acknowledges
/// every second packet.
#[test]
fn ack_frequency_thins_acks() {
    for stack in ["quinn", "noq"] {
        let acks = |stack: String| {
            let slow = "rate = \"50 Mbps\"\nqueue = \"fifo\"\n[reverse]\nrate = \"1 Gbps\"";
            let flow = format!("stack = {stack}\ncc = \"cubic\"\nrtt = \"40 ms\"");
            let result = run(&text(5, slow, &[&flow]));
            result.summary.queues[1].dequeued
        };
        let every_second = acks(format!("\"{stack}\""));
        let asked = acks(format!("{{ kind = \"{stack}\", ack_frequency = 20 }}"));
        assert!(asked * 5 < every_second, "{stack}: {asked} of {every_second}");
    }
}

/// Without packet protection the same packets leave at the same times: keys and ciphers have no part in a run. The digest
/// covers times, sizes, ECN fields and windows.
#[test]
fn null_crypto_changes_no_packet() {
    let link = "rate = \"20 Mbps\"\nqueue = { kind = \"codel\", ecn = true }";
    for stack in ["quinn", "noq"] {
        let digest = |more: &str| {
            let flow = format!("stack = {{ kind = \"{stack}\"{more} }}\ncc = \"cubic\"\nrtt = \"40 ms\"");
            run(&text(5, link, &[&flow])).summary.digest
        };
        assert_eq!(digest(", null_crypto = true"), digest(""), "{stack}");
    }
}
