//! The receive window: how it limits a flow, and how it follows the flow (dynamic right-sizing).

use super::*;

/// 1 Gbit/s and 50 ms: more than any window here fills.
const LONG: &str = r#"
duration = "10 s"
[bottleneck]
rate = "1 Gbit/s"
queue = { kind = "fifo", limit = "unlimited" }
[[flow]]
cc = "reno"
rtt = "50 ms"
ack = "immediate"
[[window]]
name = "late"
from = "5 s"
to = "10 s"
"#;

/// The whole buffer is offered from the start.
const FIXED: [&str; 2] = ["tcp.window_growth=false", "tcp.autotuning=false"];

/// The window that the memory of a newly arrived packet provides: 160/256 of 2304 bytes.
const PACKET_IN_BUFFER: f64 = 1440.0;

/// The throughput of the whole segments in a window, per round trip: 50 ms and the serialisation of one segment.
fn window_in_a_round_trip(window: f64) -> f64 {
    f64::floor(window / MSS) * MSS * 8.0 / (0.05 + PACKET * 8.0 / 1e9) / 1e6
}

/// A receive buffer is the throughput times the round trip, fixed or with autotuning (its limit, less the packet that
/// is in it). The sender then waits for the receiver.
#[test]
fn a_buffer_limits_throughput() {
    for buffer in [65_536, 1 << 20, 4 << 20] {
        for autotuning in [false, true] {
            let setting = format!("tcp.receive_window={buffer} B");
            let fixed: &[&str] = if autotuning { &[] } else { &FIXED };
            let result = run(LONG, &[&[setting.as_str()], fixed].concat());
            let late = &result.summary.windows[0].flows[0];
            let what = format!("{buffer} bytes, autotuning {autotuning}");
            let window = f64::from(buffer) - if autotuning { PACKET_IN_BUFFER } else { 0.0 };
            assert_near(&what, late.goodput_mbps, window_in_a_round_trip(window), 0.005);
            let limited = late.limited.expect("a TCP flow");
            assert!(limited.receiver > 0.98, "{what}: {limited:?}");
        }
    }
}

/// Slow start doubles what is read in a round trip, and the window may then be twice that, and twice the growth on top:
/// six times what was read; it grows by two segments for each that arrives, so slow start is never limited. A transfer
/// takes as long as with a window that is large from the start; with one that stays at 64 KiB, a round trip for each 45
/// segments.
#[test]
fn the_window_follows_slow_start() {
    let time_ms = |settings: &[&str]| {
        let transfer = "flow[0].app={ kind = \"transfer\", size = \"5 MB\" }";
        let result = run(LONG, &[&[transfer], settings].concat());
        let transfers = flow(&result).transfers.as_ref().expect("a transfer");
        transfers.time_ms.as_ref().expect("it is complete").mean
    };
    let large = time_ms(&[&["tcp.receive_window=64 MiB"], &FIXED[..]].concat());
    let tuned = time_ms(&["tcp.receive_window=64 MiB"]);
    let fixed = time_ms(&[&["tcp.receive_window=64 KiB"], &FIXED[..]].concat());
    // 10, 20, ..., 2560 segments: nine round trips after the handshake, the last one with what is left of 3454.
    assert!((10.0 * 50.0..11.0 * 50.0).contains(&large), "{large} ms");
    assert_near("with autotuning", tuned, large, 1e-6);
    let rounds = f64::ceil(5e6 / (45.0 * MSS));
    assert_near("with 64 KiB", fixed, 50.0 * rounds, 0.05);
}

/// Every round trip has twice the throughput and twice the window of the one before, up to the limit of 4 MiB.
#[test]
fn throughput_grows_with_the_window() {
    let window = |n: u32| {
        let (from, to) = (n * 50 + 20, n * 50 + 70);
        format!("[[window]]\nname = \"{n}\"\nfrom = \"{from} ms\"\nto = \"{to} ms\"\n")
    };
    let windows = (1..11).map(window).collect::<Vec<_>>().concat();
    let result = run(&format!("{LONG}{windows}"), &["tcp.receive_window=4 MiB"]);
    let goodputs: Vec<f64> =
        result.summary.windows[1..].iter().map(|window| window.flows[0].goodput_mbps).collect();
    // The handshake takes a round trip, and half of one later, at 75 ms, the first 10 segments arrive; then 20, 40, ...
    for (n, goodput) in goodputs.iter().enumerate() {
        let segments = (10.0 * f64::from(1 << n)).min(f64::floor((4_194_304.0 - PACKET_IN_BUFFER) / MSS));
        assert_near(&format!("round trip {n}"), *goodput, segments * MSS * 8.0 / 0.05 / 1e6, 1e-6);
    }
}
