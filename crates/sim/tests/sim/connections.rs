//! Real TCP in the loop: it fills a link, repairs what is lost, and its timers come when they should.

use windtunnel_sim::application::{ApplicationConfig, TransferParams};
use windtunnel_sim::impairment::{ImpairmentConfig, ScriptedLossParams};
use windtunnel_units::Bytes;

use crate::fixtures::{fixed, path, reno, run};

/// Reno over 10 Mbit/s and 20 ms with room for 60 packets (more than a bandwidth-delay product): the link stays busy through
/// every reduction, losses are repaired without a timeout, and all that is delivered is in order.
#[test]
fn reno_fills_a_link() {
    let result = run(path(vec![(reno(), ApplicationConfig::Bulk)], 20, vec![], vec![], 30));
    let (flow, queue) = (&result.summary.flows[0], &result.summary.queues[0]);
    assert!(queue.utilization > 0.98, "{}", queue.utilization);
    assert!(flow.loss_episodes > 3 && flow.rtos == 0, "{flow:?}");
    assert_eq!(flow.retransmits, flow.drops.full, "each drop is repaired once");
    assert!((flow.goodput_mbps - 10.0 * 1448.0 / 1500.0).abs() < 0.2, "{}", flow.goodput_mbps);
    let limited = flow.limited.expect("it was open");
    assert!(limited.cwnd > 0.95, "{limited:?}");
}

/// A transfer of 10 segments (one initial window) over 20 ms: one round trip for the handshake and one for the data; 10
/// segments of 1500 B take 12 ms at 10 Mbit/s and the SYN's 60 B 48 us. The receiver acknowledges the last one at once (an
/// even number, or quickack mode).
#[test]
fn flow_completion_time_of_an_initial_window() {
    let transfer = TransferParams { size: Bytes::new(10 * 1448) };
    let result = run(path(vec![(reno(), ApplicationConfig::Transfer(transfer))], 20, vec![], vec![], 2));
    let transfers = result.summary.flows[0].transfers.expect("a transfer");
    assert_eq!((transfers.completed, transfers.completed_bytes), (1, 14_480));
    let time = transfers.time_ms.expect("completed").max;
    assert!((time - (20.048 + 20.0 + 12.0)).abs() < 1e-3, "{time}");
    assert!(result.summary.stalled.is_none(), "it is done: nothing wants to send");
}

/// Losses of every kind of packet: the first SYN (1 s), a segment in the middle, the last one (tail), and an ACK: all bytes
/// arrive once.
#[test]
fn repairs_what_is_lost() {
    let transfer = |lost: Vec<u64>| {
        let script = ScriptedLossParams { packets: lost, ..ScriptedLossParams::default() };
        let traffic =
            vec![(fixed(20), ApplicationConfig::Transfer(TransferParams { size: Bytes::new(100 * 1448) }))];
        let result = run(path(traffic, 20, vec![ImpairmentConfig::ScriptedLoss(script)], vec![], 10));
        let flow = result.summary.flows[0].clone();
        assert_eq!(flow.transfers.expect("a transfer").completed, 1);
        assert_eq!(flow.drops.wire, result.summary.impairments[0].lost);
        (flow.transfers.and_then(|t| t.time_ms).expect("completed").max, flow)
    };
    let (clean, _) = transfer(vec![]);
    let (syn, _) = transfer(vec![1]);
    assert!((syn - clean - 1000.0).abs() < 1.0, "{syn} {clean}");
    let (middle, flow) = transfer(vec![50]);
    assert_eq!((flow.retransmits, flow.loss_episodes, flow.rtos), (1, 1, 0));
    assert!(middle > clean && middle < clean + 60.0, "{middle} {clean}");
    // The SYN is packet 1, segment n packet n + 1.
    let (_, flow) = transfer(vec![101]);
    assert_eq!((flow.tlps, flow.rtos), (1, 0), "{flow:?}");
}
