//! ngtcp2, compiled in, and as the shared library that the how-to makes: `make test-ngtcp2`.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use crate::facts::longest_wait;
use crate::library;
use crate::runs::{first, flow, parse, run, text};

/// 50 Mbit/s with 40 ms of round trip and a buffer of 1 BDP.
const BOTTLENECK: &str = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }";

/// An endless flow gets nearly the share of the link that a packet's payload has, with each controller.
#[test]
fn each_controller_keeps_the_link_busy() {
    for cc in ["\"cubic\"", "\"reno\"", "\"bbr\""] {
        let result = run(&text(20, BOTTLENECK, &[&flow("ngtcp2", cc, 40)]));
        let flow = first(&result);
        assert!(result.summary.stalled.is_none(), "{cc}: {:?}", result.summary.stalled);
        assert!((45.5..49.1).contains(&flow.goodput_mbps), "{cc}: {} Mbit/s", flow.goodput_mbps);
        let rtt = flow.rtt_ms.expect("ACKs came");
        // 40 ms, and the time for a full buffer.
        assert!((40.0..=80.6).contains(&rtt.min) && rtt.max <= 80.6, "{cc}: {rtt:?}");
        // Ten packets of 1472 bytes (RFC 9002 section 7.2).
        assert!(flow.cwnd_bytes.expect("it has a window").min <= 14_720, "{cc}");
    }
}

/// All that it draws comes from the seed, so that equal runs have equal digests, and no controller is named as one that
/// draws without it.
#[test]
fn equal_runs_have_equal_digests() {
    for cc in ["\"cubic\"", "\"reno\"", "\"bbr\""] {
        let text = text(5, BOTTLENECK, &[&flow("ngtcp2", cc, 40)]);
        assert_eq!(parse(&text).expect("a scenario").unseeded(), [""; 0], "{cc}");
        let [one, other] = [run(&text), run(&text)];
        assert_eq!(one.summary.digest, other.summary.digest, "{cc}");
    }
}

/// Marks of FQ-CoDel are answered: no packet is lost, and the queue stays short.
#[test]
fn marks_are_answered_without_losses() {
    let link = "rate = \"20 Mbps\"\nqueue = { kind = \"fq_codel\", ecn = true, limit = \"1000 packets\" }";
    for cc in ["\"cubic\"", "\"reno\""] {
        let result = run(&text(20, link, &[&flow("ngtcp2", cc, 40)]));
        let flow = first(&result);
        assert!(flow.ce_marks > 3, "{cc}: {} marks", flow.ce_marks);
        assert!(flow.sender.ecn_reductions > Some(3), "{cc}: {:?}", flow.sender);
        assert_eq!(flow.drops.aqm, 0, "{cc}");
    }
}

/// After each loss the window grows again within round trips: it computes K as RFC 9438 section 4.2, from the window at
/// the start of the epoch, and does not stand still for 1.1 s as those of quinn and noq do.
#[test]
fn cubic_grows_again_after_each_loss() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n";
    let longest = longest_wait(link, "ngtcp2", "\"cubic\"");
    assert!(longest < 0.3, "{longest} s");
}

/// 1 % of packets late by 5 ms cost it little: it undoes what they make it do.
#[test]
fn reordering_costs_little() {
    let link = "rate = \"50 Mbps\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n\
                impair = { kind = \"reordering\", probability = \"1 %\", delay = \"5 ms\" }";
    let goodput = first(&run(&text(30, link, &[&flow("ngtcp2", "\"cubic\"", 40)]))).goodput_mbps;
    assert!(goodput > 45.0, "{goodput} Mbit/s");
}

/// Messages have a stream each; a transfer of one packet is complete two round trips after its start.
#[test]
fn messages_have_streams() {
    let app = "app = { kind = \"request-response\", size = { kind = \"fixed\", value = \"1 kB\" }, \
               think = { kind = \"fixed\", value = \"50 ms\" } }";
    let link = "rate = \"100 Mbps\"\nqueue = \"fifo\"";
    let result = run(&text(30, link, &[&format!("{}\n{app}", flow("ngtcp2", "\"cubic\"", 50))]));
    let completed = first(&result).transfers.as_ref().expect("responses").completed;
    // 50 ms of round trip and 50 ms of thinking; the ACK of a single packet may wait for 25 ms. That is more streams
    // than may be open at once.
    assert!((235..=300).contains(&completed), "{completed}");
}

/// The commands of docs/how-to/quic-stack.md make a library of the same adapter; its run is the same, packet by packet.
#[test]
fn the_library_of_the_how_to_runs_as_what_is_compiled_in() {
    let repository =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a repository");
    let page = fs::read_to_string(repository.join("docs/how-to/quic-stack.md")).expect("the how-to");
    let (_, block) = page.split_once("mkdir -p build/ngtcp2\n").expect("commands");
    let (commands, _) = block.split_once("\n```\n").expect("the end of a block");
    let folder = library::folder().join("how-to");
    fs::create_dir_all(folder.join("build/ngtcp2")).expect("a folder to write to");
    // It is there if the test has run before.
    let _ = symlink(repository.join("crates"), folder.join("crates"));
    let status = Command::new("sh").args(["-ec", commands]).current_dir(&folder).status().expect("a shell");
    assert!(status.success(), "{commands}");

    let library = folder.join("libwt_ngtcp2.so");
    let loaded = format!("stack = {{ kind = \"library\", file = \"{}\" }}\ncc = \"reno\"", library.display());
    let built_in = "stack = \"ngtcp2\"\ncc = \"reno\"";
    let [loaded, built_in] = [&*loaded, built_in].map(|flow| library::run(flow, &library).summary.digest);
    assert_eq!(loaded, built_in);
}
