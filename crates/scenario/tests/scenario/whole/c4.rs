//! What C4's texts say about a flow alone (spec/ccwg-2026 section G), in whole runs.

use super::{MSS, PACKET, run};

/// Alone on a path, the rate becomes that of the link, and the round trip stays close to that of the path, with small bumps
/// where the flow probes (doc/c4-tests.md, the simple connection): the mean is within the threshold of a delay, which is a
/// quarter of the round trip at most. Nothing is lost any more.
#[test]
fn alone_it_fills_the_link_with_a_short_queue() {
    for (rate, rtt) in [(5.0, 20.0), (20.0, 80.0), (100.0, 30.0)] {
        let text = format!(
            "duration = \"30 s\"\n[bottleneck]\nrate = \"{rate} Mbit/s\"\n\
             queue = {{ kind = \"fifo\", limit = \"1 bdp\" }}\n[[flow]]\nrtt = \"{rtt} ms\"\ncc = \"c4\"\n\
             [[window]]\nname = \"steady\"\nfrom = \"10 s\"\nto = \"30 s\"\n"
        );
        let flow = &run(&text, &[]).summary.windows[0].flows[0];
        let goodput = flow.goodput_mbps / (rate * MSS / PACKET);
        let mean = flow.rtt_ms.as_ref().expect("round trips").mean;
        assert!(goodput > 15.0 / 16.0, "{rate} Mbit/s: {goodput} of the link");
        assert!(mean < 1.25 * rtt + PACKET * 8e-3 / rate, "{rate} Mbit/s: {mean} ms");
        assert_eq!(flow.sender.retransmits, Some(0), "{rate} Mbit/s");
    }
}
