//! Datagrams: rates, delays and losses, computed by hand.

use std::sync::Arc;

use windtunnel_sim::application::{ApplicationConfig, CbrParams, MediaParams, ProbeParams, Protocol};
use windtunnel_sim::element::ScriptedLossParams;
use windtunnel_sim::{DatagramSummary, FlowSummary, RunResult, Transport};
use windtunnel_units::{Bytes, Duration, Rate};

use crate::fixtures::{path, reno, run};

fn probe() -> ApplicationConfig {
    ApplicationConfig::Probe(ProbeParams::default())
}

fn datagrams(result: &RunResult, flow: usize) -> (&FlowSummary, DatagramSummary) {
    let flow = &result.summary.flows[flow];
    (flow, flow.datagrams.expect("it sends datagrams"))
}

/// 64 bytes every 10 ms over an idle path of 20 ms and 10 Mbit/s: 51.2 us on the wire; the answer comes back without
/// delay. With numbers 11 and 12 lost, two of 100 are.
#[test]
fn an_idle_path_is_probed() {
    let script = ScriptedLossParams { packets: vec![11, 12], ..ScriptedLossParams::default() };
    let result = run(path(vec![(Transport::Udp, probe())], 20, vec![Arc::new(script)], vec![], 1));
    let (flow, probe) = datagrams(&result, 0);
    assert_eq!((probe.sent, probe.lost, probe.duplicates), (100, 2, 0));
    // Those of the last 20.0512 ms are still on their way.
    assert_eq!(probe.received, 100 - 2 - 2);
    let (one_way, rtt) = (probe.one_way_ms.expect("received"), flow.rtt_ms.expect("answered"));
    assert!((one_way.min - 20.0512).abs() < 1e-9 && (one_way.max - 20.0512).abs() < 1e-9);
    assert!((rtt.max - 20.0512).abs() < 1e-9);
    assert!(probe.jitter_ms.expect("more than one").abs() < 1e-9);
}

/// Behind a bulk flow that fills a queue of 60 packets (72 ms), the probe sees the queue: its delays equal the queue's
/// sojourn times, percentile by percentile, to the length of one packet.
#[test]
fn a_loaded_path_is_probed() {
    let traffic = vec![(Transport::Udp, probe()), (reno(), ApplicationConfig::Bulk)];
    let result = run(path(traffic, 20, vec![], vec![], 20));
    let (_, probe) = datagrams(&result, 0);
    let one_way = probe.one_way_ms.expect("received");
    let sojourn = result.summary.queues[0].sojourn_ms.expect("busy");
    assert!(sojourn.max > 60.0);
    for (seen, queued) in [(one_way.p50, sojourn.p50), (one_way.p95, sojourn.p95), (one_way.max, sojourn.max)]
    {
        assert!((seen - 20.0 - queued).abs() < 2.5, "{one_way:?} {sojourn:?}");
    }
    assert!(probe.jitter_ms.expect("many") > 0.1);
}

/// Constant bit rate: 1 Mbit/s of 1200 B are 104.17 datagrams per second, one every 9.6 ms; goodput excludes 28 B of
/// headers.
#[test]
fn constant_bit_rate() {
    let result = run(path(
        vec![(Transport::Udp, ApplicationConfig::Cbr(CbrParams::default()))],
        20,
        vec![],
        vec![],
        10,
    ));
    let (flow, cbr) = datagrams(&result, 0);
    assert_eq!(cbr.sent, 1042, "at 0, 9.6, ... 9993.6 ms");
    assert!((flow.throughput_mbps - 1.0).abs() < 0.005, "{}", flow.throughput_mbps);
    assert!((flow.goodput_mbps / flow.throughput_mbps - 1172.0 / 1200.0).abs() < 1e-6);
}

/// 20 Mbit/s are offered to a link of 10 Mbit/s. A source that does not respond loses half of its datagrams. A source
/// that responds keeps the link busy and loses 9.3 %, as in a fluid model of its rule (a report per round trip, 1
/// Mbit/s more for each, half after a loss; queue of 60 * 1200 B, path of 20 ms): it gains 13 Mbit/s in a second, and
/// overflows for a round trip or two before it knows.
#[test]
fn a_responsive_source_yields() {
    let run_at = |responsive| {
        let cbr = CbrParams { rate: Rate::from_mbps(20), responsive, ..CbrParams::default() };
        let result = run(path(vec![(Transport::Udp, ApplicationConfig::Cbr(cbr))], 20, vec![], vec![], 30));
        (datagrams(&result, 0).1.loss_ratio, result.summary.queues[0].utilization)
    };
    let (deaf, _) = run_at(false);
    assert!((deaf - 0.5).abs() < 0.01, "{deaf}");
    let (loss, utilization) = run_at(true);
    assert!((loss / 0.093 - 1.0).abs() < 0.1 && utilization > 0.98, "{loss} {utilization}");
}

/// 2.4 Mbit/s at 50 frames per second: 6000 B per frame in 5 datagrams of 1200 + 28 B, 4 ms apart. With a key frame of 5 times
/// the size in every 10, the others have 10/14 of the mean, and the rate is the same.
#[test]
fn media_over_udp() {
    let media = |keyframe_every| MediaParams {
        rate: Rate::from_bits_per_sec(2_400_000),
        frame_interval: Duration::from_millis(20),
        keyframe_every,
        keyframe_ratio: 5.0,
        protocol: Protocol::Udp,
        ..MediaParams::default()
    };
    let result =
        run(path(vec![(Transport::Udp, ApplicationConfig::Media(media(0)))], 20, vec![], vec![], 10));
    let (flow, plain) = datagrams(&result, 0);
    assert_eq!(plain.sent, 10 * 50 * 5);
    assert!((flow.throughput_mbps - 2.4 * 1228.0 / 1200.0).abs() < 0.01, "{}", flow.throughput_mbps);
    let delay = plain.one_way_ms.expect("received");
    assert!((delay.max - delay.min).abs() < 1e-9, "4 ms apart, none waits for another");

    let result =
        run(path(vec![(Transport::Udp, ApplicationConfig::Media(media(10)))], 20, vec![], vec![], 10));
    let (flow, _) = datagrams(&result, 0);
    assert!((flow.goodput_mbps - 2.4).abs() < 0.02, "{}", flow.goodput_mbps);
}

/// A probe's measurement is independent: its datagrams do not change when another flow joins and the path has room for
/// both.
#[test]
fn a_probe_is_not_disturbed() {
    let alone = run(path(vec![(Transport::Udp, probe())], 20, vec![], vec![], 2));
    let cbr = ApplicationConfig::Cbr(CbrParams::default());
    let both = run(path(vec![(Transport::Udp, probe()), (Transport::Udp, cbr)], 20, vec![], vec![], 2));
    assert_eq!(datagrams(&alone, 0).1.received, datagrams(&both, 0).1.received);
    assert!(datagrams(&both, 0).1.one_way_ms.expect("received").max < 20.0512 + 0.96 + 1e-9);
}

/// Bytes of a datagram are counted as IP packets: 64 B every 10 ms are 51.2 kbit/s.
#[test]
fn sizes_are_of_ip_packets() {
    let result = run(path(vec![(Transport::Udp, probe())], 20, vec![], vec![], 10));
    assert!((result.summary.queues[0].throughput_mbps - 0.0512).abs() < 1e-4);
    assert_eq!(result.summary.flows[0].received_bytes % Bytes::new(64).get(), 0);
}
