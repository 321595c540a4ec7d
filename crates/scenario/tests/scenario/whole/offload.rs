//! Bursts at the sender (GSO) and merged segments at the receiver (GRO): spec/congestion-control sections 1.14 and
//! 1.16.

use super::*;

/// A window of 512 KiB over 100 Mbit/s and 20 ms (250 kB): the link is busy, and a packet leaves it every 120 us. Nothing is
/// pushed: PSH ends a merge.
const BUSY: &str = r#"
duration = "5 s"
tcp = { receive_window = "512 KiB", window_growth = false, autotuning = false, write_size = "0 B" }
record = { packets = true }
window = [{ name = "late", from = "1 s", to = "5 s" }]
[bottleneck]
rate = "100 Mbit/s"
queue = { kind = "fifo", limit = "unlimited" }
[[flow]]
cc = "reno"
rtt = "20 ms"
"#;

/// Data packets that leave for each ACK that comes back, after the first second.
fn packets_per_ack(result: &RunResult) -> f64 {
    let count =
        |way| captured(result, SENDER, way).iter().filter(|packet| packet.at_ns > 1_000_000_000).count();
    count(DATA) as f64 / count(ACKS) as f64
}

/// A card that is polled 1 ms after the first packet holds 9 packets by then, which arrived after 0, 120, ..., 960 us:
/// there is one ACK for nine packets, not for two (delayed ACKs) or one. With timestamps a poll makes two segments of
/// them, and two ACKs, since not all nine left the sender in one millisecond. The link is as busy as without GRO.
#[test]
fn gro_merges_what_a_poll_finds() {
    let without = "tcp.timestamps=false";
    for (settings, expected) in [
        (&["tcp.gro=1 ms", without][..], 9.0),
        (&["tcp.gro=1 ms", without, "flow[0].ack=immediate"], 9.0),
        (&["tcp.gro=1 ms"], 4.5),
        (&["tcp.gro=100 us", "flow[0].ack=immediate"], 1.0),
        (&["flow[0].ack=immediate"], 1.0),
        (&[], 2.0),
    ] {
        let result = run(BUSY, settings);
        assert_near(&format!("{settings:?}"), packets_per_ack(&result), expected, 0.005);
        let late = &result.summary.windows[0].flows[0];
        let mss = if settings.contains(&without) { MSS + 12.0 } else { MSS };
        assert_near(&format!("{settings:?}: goodput"), late.goodput_mbps, 100.0 * mss / PACKET, 0.001);
        assert_eq!(flow(&result).sender.retransmits, Some(0));
    }
}

/// The largest IP packet has 65535 bytes: the data of 45 packets, however long the poll waits (6 ms are 50 packets: 45
/// and 5; the same poll acknowledges the second one).
#[test]
fn gro_stops_at_the_largest_packet() {
    let result = run(BUSY, &["tcp.gro=5.99 ms"]);
    assert_near("packets per ACK", packets_per_ack(&result), 25.0, 0.01);
}

/// A window of 48 KiB over 20 ms, 10 Gbit/s and paced: 33 segments per round trip, each at its paced time. With GSO
/// several leave at once, at most the amount of a 1024th of a second at the pacing rate (and no more than an ACK
/// releases). Nothing is pushed, so that GRO merges each burst, which takes some microseconds on the wire, but never two of them: one ACK for each
/// burst. Either way the throughput is one window per round trip.
#[test]
fn gso_bursts_are_acknowledged_as_one() {
    let paced = r#"
        duration = "5 s"
        tcp = { receive_window = "48 KiB", window_growth = false, autotuning = false, gro = "20 us", write_size = "0 B" }
        record = { packets = true, events = true }
        [bottleneck]
        rate = "10 Gbit/s"
        [[flow]]
        cc = "reno"
        rtt = "20 ms"
        ack = "immediate"
        pacing = true
    "#;
    for gso in [false, true] {
        let result = run(paced, &[&format!("tcp.gso={gso}")]);
        let data = captured(&result, SENDER, DATA);
        // The first ten are not paced; after the handshake, one ACK each.
        let bursts: Vec<usize> = data
            .iter()
            .filter(|packet| packet.payload > 0)
            .skip(10)
            .collect::<Vec<_>>()
            .chunk_by(|a, b| a.at_ns == b.at_ns)
            .map(<[_]>::len)
            .collect();
        let acks = captured(&result, SENDER, ACKS).len();
        let largest = bursts.iter().max().copied().unwrap_or_default();
        let expected = if gso { 2..=most_in_a_burst(&result) } else { 1..=1 };
        assert!(expected.contains(&largest), "gso = {gso}: {largest} at once");
        // SYN-ACK, the first ten, and at the end what is still in flight: at most a window.
        assert!(acks.abs_diff(bursts.len()) <= 34, "gso = {gso}: {} bursts, {acks} ACKs", bursts.len());
        let expected = f64::floor(48.0 * 1024.0 / MSS) * MSS * 8.0 / 0.02 / 1e6;
        assert_near("goodput", flow(&result).goodput_mbps, expected, 0.02);
    }
}

/// spec/congestion-control section 1.14: the pacing rate is twice cwnd per round trip, because ssthresh was never set.
fn most_in_a_burst(result: &RunResult) -> usize {
    let cwnd = flow(result).cwnd_bytes.map_or(0, |cwnd| cwnd.max);
    let rate = 2.0 * cwnd as f64 / 0.02;
    (rate / 1024.0 / MSS) as usize
}
