//! The slow-start threshold that one connection leaves to the next (spec/congestion-control section 1.21).

use super::*;

/// Transfers of 1 MB one after another: 690 segments, where the path holds 83 and its queue 40.
const TRANSFERS: &str = r#"
duration = "20 s"
[bottleneck]
rate = "20 Mbit/s"
queue = { kind = "fifo", limit = "40 packets" }
[[flow]]
cc = "reno"
rtt = "50 ms"
app = { kind = "poisson", arrivals = 2.0, size = { kind = "fixed", value = "1 MB" }, max_active = 1 }
"#;

/// Returns the packets that overflowed, and the transfers that completed.
fn overflow(settings: &[&str]) -> (u64, u64) {
    let result = run(TRANSFERS, settings);
    let flow = flow(&result);
    (flow.drops.full, flow.transfers.as_ref().expect("transfers").completed)
}

/// Without memory each transfer overflows the queue in its slow start, where cwnd passes 123 segments on its way from 80 to
/// 160. With memory the first one does, and of those after it one at most loses a packet: from half of what fitted, each grows
/// by a segment per round trip, and is over before it is at 123 again; at 80 the last round of slow start just fills the queue.
#[test]
fn later_transfers_lose_nothing() {
    let (first, one) =
        overflow(&["duration=900 ms", "flow[0].app.arrivals=100.0", "tcp.ssthresh_metrics_save=true"]);
    assert!(one == 1 && first > 10, "{first} of {one}");
    let (forgetful, transfers) = overflow(&[]);
    assert!(
        transfers > 10 && forgetful >= first * transfers * 9 / 10,
        "{forgetful} of {transfers}, {first} each"
    );
    let (mindful, transfers) = overflow(&["tcp.ssthresh_metrics_save=true"]);
    assert!(transfers > 10 && (first..=first + 1).contains(&mindful), "{mindful} of {transfers}");
}

/// The threshold of a route stands for one that was left before: a good one spares the first transfer too, and is kept only
/// where it is remembered. One that is far too low is outgrown: each connection leaves half of the cwnd that it reached.
#[test]
fn a_route_has_a_threshold() {
    let save = "tcp.ssthresh_metrics_save=true";
    assert_eq!(overflow(&["tcp.initial_ssthresh=60", save]).0, 0);
    assert_eq!(overflow(&["tcp.initial_ssthresh=60"]).0, 0);
    let time_ms = |settings: &[&str]| {
        let result = run(TRANSFERS, settings);
        flow(&result).transfers.as_ref().and_then(|transfers| transfers.time_ms).expect("completed")
    };
    let (kept, same) = (time_ms(&["tcp.initial_ssthresh=4", save]), time_ms(&["tcp.initial_ssthresh=4"]));
    assert!(kept.max < same.max * 1.001, "{kept:?} {same:?}");
    assert!(kept.min < same.min * 0.9, "{kept:?} {same:?}");
}
