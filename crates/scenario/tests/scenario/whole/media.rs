//! Links with listed opportunities, bursts as in 802.11, and reverse paths that lose or thin ACKs.

use std::fs;

use super::*;

/// 5 opportunities at 10 ms, 20 from 30 to 49 ms, one at 100 ms: 26 opportunities of 1504 bytes in 100 ms, repeated.
fn trace() -> Vec<u64> {
    [vec![10; 5], (30..50).collect(), vec![100]].concat()
}

/// A busy link sends at the opportunities of its trace and at no other time, and wastes none: at any departure the
/// bytes since the first one equal those of the opportunities since then, except for the part of one that the next
/// packet needs.
#[test]
fn a_busy_link_takes_every_opportunity() {
    let file = std::env::temp_dir().join(format!("windtunnel-whole-{}.trace", std::process::id()));
    let text = trace().iter().map(u64::to_string).collect::<Vec<_>>().join("\n");
    fs::write(&file, text).expect("the folder for temporary files can be written");
    let result = run(
        r#"
        duration = "5 s"
        tcp = { receive_window = "256 KiB" }
        record = { packets = true }
        [bottleneck]
        rate = "1 Gbit/s"
        queue = { kind = "fifo", limit = "unlimited" }
        [[flow]]
        cc = "reno"
        rtt = "40 ms"
        "#,
        &[&format!("bottleneck.rate={{ trace = '{}' }}", file.display())],
    );
    fs::remove_file(&file).expect("it is there");
    // From 1 s on the queue is never empty.
    let sent: Vec<Captured> = captured(&result, QUEUE_OUT, DATA)
        .into_iter()
        .filter(|packet| packet.at_ns >= 1_000_000_000)
        .collect();
    let opportunities: Vec<u64> = (0..50)
        .flat_map(|period| trace().into_iter().map(move |ms| (period * 100 + ms) * 1_000_000))
        .collect();
    let first = sent[0].at_ns;
    let mut bytes = 0;
    for packet in &sent[1..] {
        assert!(opportunities.binary_search(&packet.at_ns).is_ok(), "a departure at {} ns", packet.at_ns);
        bytes += packet.size;
        let before = opportunities.iter().filter(|&&at| first < at && at < packet.at_ns).count() as u64;
        let upto = opportunities.iter().filter(|&&at| first <= at && at <= packet.at_ns).count() as u64;
        // Packets that left by then had started before, and the opportunities before were used up.
        assert!(bytes <= upto * 1504, "{bytes} bytes in {upto} opportunities at {} ns", packet.at_ns);
        assert!(bytes + packet.size >= before * 1504, "{bytes} bytes after {before} at {} ns", packet.at_ns);
    }
    // 40 periods in 4 s, and one packet that started before or ends after.
    let all: u64 = sent.iter().map(|packet| packet.size).sum();
    assert!(all.abs_diff(40 * 26 * 1504) <= 1504 + 1500, "{all} bytes in 4 s");
}

/// A busy link followed by an element that collects bursts. At 100 Mbit/s 46 packets come within 5.5 ms (after 0, 120,
/// ..., 5400 us); at 300 Mbit/s the 64th comes before that. Nothing is lost, and the link is as busy.
#[test]
fn bursts_as_of_802_11() {
    for (rate, packets) in [(100.0, 46.0), (300.0, 64.0)] {
        let result = run(
            r#"
            duration = "5 s"
            tcp = { receive_window = "4 MiB" }
            [bottleneck]
            rate = "1 Mbit/s"
            queue = { kind = "fifo", limit = "unlimited" }
            impair = "aggregation"
            [[flow]]
            cc = "reno"
            rtt = "20 ms"
            [[window]]
            name = "late"
            from = "1 s"
            to = "5 s"
            "#,
            &[&format!("bottleneck.rate={rate} Mbit/s")],
        );
        let medium = &result.summary.elements[0];
        assert_near("packets of a burst", medium.passed as f64 / medium.bursts as f64, packets, 0.02);
        assert_eq!(flow(&result).sender.retransmits, Some(0));
        let late = &result.summary.windows[0].flows[0];
        assert_near("goodput", late.goodput_mbps, rate * MSS / PACKET, 0.002);
    }
}

/// Data at 100 Mbit/s, ACKs at 0.5 Mbit/s: 8333 packets per second, and room for 1202 ACKs of 52 bytes, one for 6.93
/// packets (RFC 3449 section 2.1).
const ASYMMETRIC: &str = r#"
duration = "10 s"
tcp = { receive_window = "1 MiB" }
record = { packets = true }
[[node]]
name = "server"
[[node]]
name = "modem"
[[node]]
name = "client"
[[link]]
name = "down"
from = "server"
to = "client"
rate = "100 Mbit/s"
queue = { kind = "fifo", limit = "unlimited" }
[[link]]
name = "lan"
from = "client"
to = "modem"
rate = "1 Gbit/s"
[[link]]
name = "up"
from = "modem"
to = "server"
rate = "500 kbit/s"
queue = { kind = "fifo", limit = "20 packets" }
[[flow]]
cc = "reno"
from = "server"
to = "client"
rtt = "20 ms"
ack = "immediate"
[[window]]
name = "late"
from = "2 s"
to = "10 s"
"#;

/// ACKs for every packet fill the reverse path: ACKs that find no room are lost, and its queue is part of every round
/// trip. If one ACK of eight passes, the reverse path is idle for an eighth of the time and empty for the next ACK;
/// data are as fast.
#[test]
fn thinned_acks_fit_a_slow_way_back() {
    let late = |settings: &[&str]| {
        let result = run(ASYMMETRIC, settings);
        let window = &result.summary.windows[0];
        let (flow, up) = (&window.flows[0], &window.queues[2]);
        assert_eq!(up.name, "up");
        let sojourn = up.sojourn_ms.as_ref().expect("ACKs passed").p50;
        assert_eq!(result.summary.flows[0].sender.rtos, Some(0));
        (flow.goodput_mbps, up.utilization, up.dequeued as f64 / 8.0, up.drops.full, sojourn)
    };
    let busy = 100.0 * MSS / PACKET;
    let (packets, ack) = (100e6 / 8.0 / PACKET, 52.0 * 8.0);

    let (goodput, utilization, acks, dropped, sojourn) =
        late(&["link[1].impair={ kind = \"ack-thinning\", keep_every = 8 }"]);
    assert_near("goodput, thinned", goodput, busy, 0.005);
    assert_near("ACKs per second, thinned", acks, packets / 8.0, 0.005);
    assert_near("utilisation, thinned", utilization, packets / 8.0 * ack / 500e3, 0.005);
    assert_eq!((dropped, sojourn), (0, 0.0), "an ACK finds the reverse path empty");

    let (goodput, utilization, acks, dropped, sojourn) = late(&[]);
    assert_near("goodput, all ACKs", goodput, busy, 0.005);
    assert_near("utilisation, all ACKs", utilization, 1.0, 0.001);
    assert_near("ACKs per second, all", acks, 500e3 / ack, 0.005);
    assert_near("lost ACKs per second", dropped as f64 / 8.0, packets - 500e3 / ack, 0.005);
    // Each waits for the 19 or 20 before it.
    assert_near("wait", sojourn, 19.5 * ack / 500e3 * 1e3, 0.05);
}

/// ACKs are cumulative: the next one makes up for a lost one. Three of ten are lost; data are as fast, none are
/// retransmitted, and no timer expires.
#[test]
fn lost_acks_cost_nothing() {
    let loss = "link[1].impair={ kind = \"loss\", probability = \"30 %\" }";
    let result = run(ASYMMETRIC, &[loss, "link[2].rate=100 Mbit/s"]);
    let late = &result.summary.windows[0].flows[0];
    assert_near("goodput", late.goodput_mbps, 100.0 * MSS / PACKET, 0.005);
    assert_eq!((flow(&result).sender.retransmits, flow(&result).sender.rtos), (Some(0), Some(0)));
    let (data, acks) = (captured(&result, SENDER, DATA).len(), captured(&result, SENDER, ACKS).len());
    // 80,000 ACKs: four standard deviations are 0.9 % of the expected value.
    assert_near("ACKs for a packet", acks as f64 / data as f64, 0.7, 0.02);
}

/// A call on a path of 50 ms each way at 12 Mbit/s, 25 frames a second of at most 5000 bytes; the path is out from 2 s to 3 s.
fn call(cc: &str, protocol: &str) -> RunResult {
    let text = format!(
        r#"
        duration = "10 s"
        [bottleneck]
        rate = "12 Mbit/s"
        impair = {{ kind = "outage", times = [{{ from = "2 s", to = "3 s" }}] }}
        [[flow]]
        cc = "{cc}"
        rtt = "100 ms"
        app = {{ kind = "media", protocol = "{protocol}", rate = "1 Mbit/s", frame_interval = "40 ms" }}
        [[window]]
        name = "before"
        from = "1 s"
        to = "2 s"
        [[window]]
        name = "out"
        from = "2 s"
        to = "4 s"
        [[window]]
        name = "after"
        from = "8 s"
        to = "9 s"
        "#
    );
    run(&text, &[])
}

/// Over TCP a frame takes the way of 50 ms and the 3.5 ms of its four packets; the timer of a delayed ACK may add 40 ms, and with a pace
/// over RTP a frame takes most of an interval. Of the 25 frames a second none is late, but for those of the outage and those that wait
/// behind them; there is one freeze, which begins with the last frame before the outage.
#[test]
fn frames_of_a_call_and_an_outage() {
    for (cc, protocol) in [("cubic", "tcp"), ("scream", "rtp")] {
        let result = call(cc, protocol);
        let of = |window: usize| result.summary.windows[window].flows[0].frames.expect("frames");
        let late = |window| (of(window).late_ratio.expect("some were made") * of(window).made as f64).round();
        for window in [0, 2] {
            assert_eq!((of(window).made, of(window).freezes, late(window) as u64), (25, 0, 0), "{protocol}");
            let delay = of(window).delay_ms.expect("some arrived");
            assert!(delay.min > 50.0 && delay.max < 53.5 + 40.0, "{protocol}: {delay:?}");
        }
        let out = of(1);
        assert_eq!((out.made, out.freezes), (50, 1), "{protocol}: {out:?}");
        assert!((0.5..0.8).contains(&out.frozen_ratio), "{protocol}: a second of two and more, {out:?}");
        assert!(late(1) >= 25.0, "{protocol}: {}", late(1));
        let all = result.summary.flows[0].frames.expect("frames");
        assert!((247..250).contains(&all.made), "{protocol}: {}; the last ones are under way", all.made);
    }
}

/// Datagrams without a controller have frames, but their sender does not know what became of them; what sends no frames has none.
#[test]
fn no_frames_without_media_or_feedback() {
    let flow = |keys: &str| {
        format!("duration = \"1 s\"\n[bottleneck]\nrate = \"10 Mbit/s\"\n[[flow]]\nrtt = \"20 ms\"\n{keys}\n")
    };
    for keys in ["app = \"media\"", "cc = \"reno\"\napp = { kind = \"request-response\" }", "cc = \"reno\""] {
        assert!(run(&flow(keys), &[]).summary.flows[0].frames.is_none(), "{keys}");
    }
}
