//! Rules for the result of any run.
//!
//! Each number is compared with others that were counted elsewhere: losses of flows with those of queues and media,
//! bytes of the summary with the receivers' streams. With a capture, a stream is assembled again from the packets that
//! arrived undamaged, and must have the same length.

use std::collections::BTreeMap;

use windtunnel_scenario::{Endpoints, Link, LinkRate, Scenario, Transport};
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::recorder::columns::Table;
use windtunnel_sim::{
    FlowSummary, Percentiles, QueueSummary, RunResult, SenderSummary, StreamState, Summary,
};
use windtunnel_tcp::bsd42::OutOfOrder;
use windtunnel_units::Seq;

use crate::tables;

/// The largest relative error of times in summaries, which come from histograms.
const RESOLUTION: f64 = 0.005;

/// # Panics
/// If a rule is violated; the message says which.
pub(crate) fn check(scenario: &Scenario, result: &RunResult, streams: &[StreamState]) {
    let summary = &result.summary;
    match &summary.stalled {
        Some(stalled) => {
            assert!(!stalled.why.is_empty() && summary.duration_s <= scenario.duration.as_secs_f64());
        }
        None => assert!((summary.duration_s / scenario.duration.as_secs_f64() - 1.0).abs() < 1e-9),
    }
    for (flow, (group, member)) in summary.flows.iter().zip(scenario.flows()) {
        assert_eq!(flow.name, member.name);
        check_flow(flow, claims(&group.transport), summary.duration_s);
        if let ApplicationConfig::Transfer(transfer) = &group.application {
            let most = transfer.size.get() * member.active.len() as u64;
            assert!(payload(flow, summary.duration_s) <= most, "{}: more than the transfer", flow.name);
        }
        // An optimist's ACKs leave before the data arrive: no time that the sender measures has a bound.
        if claims(&group.transport) {
            continue;
        }
        // bsd42 counts round trips in ticks of 500 ms, and takes the ACK of an original for that of a retransmission.
        if let Some(rtt) = flow.rtt_ms.as_ref().filter(|_| !matches!(group.transport, Transport::Bsd42(_))) {
            let path = flow.path_rtt_ms * (1.0 - RESOLUTION);
            // A delay may fall below that of the start.
            let varies =
                scenario.links.iter().any(|link| link.params.changes.iter().any(|c| c.delay.is_some()));
            assert!(varies || rtt.min >= path, "{}: a round trip of {} ms in {path}", flow.name, rtt.min);
        }
        if scenario.links.iter().all(has_one_rate) {
            let by_size = flow.transfers.iter().flat_map(|transfers| &transfers.by_size);
            let least = by_size.map(|class| class.slowdown.min).fold(1.0, f64::min);
            assert!(least >= 1.0 - 1e-9, "{}: slowdown {least}: faster than an empty path", flow.name);
        }
    }
    summary.queues.iter().for_each(check_queue);
    check_losses(scenario, summary);
    for stream in streams.iter().filter(|stream| !has_many(scenario, stream.flow)) {
        let flow = &summary.flows[stream.flow];
        assert_eq!(payload(flow, summary.duration_s), stream.delivered.get(), "{}: goodput", flow.name);
    }
    for table in &result.tables {
        let rows = table.columns[0].1.len();
        assert!(table.columns.iter().all(|(_, column)| column.len() == rows), "{}: ragged", table.name);
        if table.name == "packets" {
            check_capture(scenario, table, streams);
        }
    }
    tables::check(scenario, result);
}

/// Neither a trace nor a change makes it faster than it was at the start.
pub(crate) fn has_one_rate(link: &Link) -> bool {
    !matches!(link.rate, Some(LinkRate::Trace { .. })) && link.params.changes.is_empty()
}

/// The flow stands for many connections.
fn has_many(scenario: &Scenario, flow: usize) -> bool {
    let group = scenario.flows().nth(flow).map(|(group, _)| &group.application);
    matches!(group, Some(ApplicationConfig::Poisson(_)))
}

/// Bytes delivered in order, from the goodput.
fn payload(flow: &FlowSummary, duration_s: f64) -> u64 {
    (bits(flow.goodput_mbps, duration_s) / 8.0).round() as u64
}

/// The bytes that pass at a rate in Mbit/s.
pub(crate) fn bits(mbps: f64, duration_s: f64) -> f64 {
    mbps * 1e6 * duration_s
}

/// What an optimist claims is complete although it may be lost.
fn check_flow(flow: &FlowSummary, claims: bool, duration_s: f64) {
    let name = &flow.name;
    let payload = payload(flow, duration_s);
    assert!(payload <= flow.received_bytes, "{name}: {payload} of {} bytes", flow.received_bytes);
    let throughput = flow.received_bytes as f64 * 8.0 / 1e6 / duration_s;
    assert!((throughput - flow.throughput_mbps).abs() <= 1e-9 * throughput, "{name}: throughput");
    let SenderSummary { sent, retransmits, rtos, spurious_rtos, .. } = flow.sender;
    if let Some(sent) = sent {
        assert!(retransmits <= Some(sent), "{name}: {retransmits:?} retransmits of {sent} sent");
    }
    assert!(spurious_rtos <= rtos, "{name}: {spurious_rtos:?} of {rtos:?} RTOs");
    if let Some(cwnd) = flow.cwnd_bytes {
        assert!(cwnd.mean.is_finite() && cwnd.min <= cwnd.max, "{name}: {cwnd:?}");
        assert!(cwnd.mean <= cwnd.max as f64 * (1.0 + 1e-9), "{name}: {cwnd:?}");
    }
    assert!(flow.cwnd_limited.is_none_or(|share| (0.0..=1.0).contains(&share)), "{name}: {flow:?}");
    check_what_is_told(flow);
    flow.rtt_ms.iter().for_each(|rtt| check_percentiles(name, rtt));
    if let Some(l) = flow.limited {
        let sum = l.cwnd + l.application + l.receiver + l.pacing + l.handshake + l.host + l.send_buffer;
        assert!((sum - 1.0).abs() < 1e-6, "{name}: {l:?}");
    }
    if let Some(transfers) = &flow.transfers {
        assert!(transfers.rejected + transfers.completed <= transfers.arrived, "{name}: {transfers:?}");
        let delivered = claims || transfers.completed_bytes <= payload;
        assert!(delivered, "{name}: {transfers:?}, but {payload} bytes delivered");
        transfers.time_ms.iter().for_each(|time| check_percentiles(name, time));
        let by_size: u64 = transfers.by_size.iter().map(|class| class.completed).sum();
        assert_eq!(by_size, transfers.completed, "{name}: {transfers:?}");
        for class in &transfers.by_size {
            check_percentiles(name, &class.time_ms);
            check_percentiles(name, &class.slowdown);
            assert!(class.up_to_bytes.is_none_or(|most| class.above_bytes < most), "{name}: {class:?}");
        }
    }
    if let Some(datagrams) = &flow.datagrams {
        assert!(datagrams.received + datagrams.lost <= datagrams.sent, "{name}: {datagrams:?}");
        assert!((0.0..=1.0).contains(&datagrams.loss_ratio), "{name}: {datagrams:?}");
        datagrams.one_way_ms.iter().for_each(|time| check_percentiles(name, time));
    }
}

/// A summary leaves out values that make no sense for a flow: datagrams are not sent again, and have a window and answer losses only
/// over RTP.
fn check_what_is_told(flow: &FlowSummary) {
    let sender = &flow.sender;
    let of_repair = [sender.retransmits, sender.spurious_rtos, sender.tlps, sender.undos];
    let of_control = [sender.loss_episodes, sender.rtos];
    let datagrams = flow.datagrams.is_some();
    let udp = datagrams && flow.cwnd_bytes.is_none();
    assert!(of_repair.iter().all(|count| count.is_none() || !datagrams), "{}: {of_repair:?}", flow.name);
    assert!(of_control.iter().all(|count| count.is_none() == udp), "{}: {of_control:?}", flow.name);
    assert!(of_repair.iter().all(Option::is_some) || of_repair.iter().all(Option::is_none), "{}", flow.name);
    assert!(!udp || (flow.cwnd_bytes, flow.cwnd_limited) == (None, None), "{}: {flow:?}", flow.name);
}

fn check_percentiles(name: &str, p: &Percentiles) {
    let ordered = [p.min, p.p50, p.p95, p.p99, p.max];
    let rises = ordered.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 2.0 * RESOLUTION));
    let mean = p.mean >= p.min * (1.0 - RESOLUTION) && p.mean <= p.max * (1.0 + RESOLUTION);
    assert!(p.min >= 0.0 && rises && mean && p.max.is_finite(), "{name}: {p:?}");
}

fn check_queue(queue: &QueueSummary) {
    assert!((0.0..=1.0 + 1e-9).contains(&queue.utilization), "{}: {queue:?}", queue.name);
    queue.sojourn_ms.iter().for_each(|sojourn| check_percentiles(&queue.name, sojourn));
}

/// The losses of all flows, of data and of ACKs, equal those of all queues and media.
fn check_losses(scenario: &Scenario, summary: &Summary) {
    for i in &summary.elements {
        assert_eq!(i.arrived + i.duplicated, i.passed + i.lost + i.held, "{i:?}");
    }
    let of_flows = |count: fn(&FlowSummary) -> u64| summary.flows.iter().map(count).sum::<u64>();
    let of_queues = |count: fn(&QueueSummary) -> u64| summary.queues.iter().map(count).sum::<u64>();
    assert_eq!(
        of_flows(|f| f.drops.full + f.ack_drops.full),
        of_queues(|q| q.drops.full),
        "drops of full queues"
    );
    assert_eq!(of_flows(|f| f.drops.aqm + f.ack_drops.aqm), of_queues(|q| q.drops.aqm), "drops by AQMs");
    let of_media: u64 = summary.elements.iter().map(|i| i.lost).sum();
    assert_eq!(of_flows(|f| f.drops.wire + f.ack_drops.wire), of_media, "losses of media");
    let damaged: u64 = summary.elements.iter().map(|i| i.corrupted).sum();
    assert!(
        of_flows(|f| f.corrupted) <= damaged + summary.elements.iter().map(|i| i.duplicated).sum::<u64>()
    );
    if scenario.endpoints == Endpoints::Ideal {
        assert_eq!(of_media, 0);
    } else if summary.elements.iter().all(|i| i.duplicated == 0) {
        assert!(of_flows(|f| f.ce_marks) <= of_queues(|q| q.ce), "CE that no queue set");
    }
}

/// The packets that arrived undamaged form the stream that the receiver delivered.
fn check_capture(scenario: &Scenario, table: &Table, streams: &[StreamState]) {
    let [tap, dir, flow, proto, seq, payload, drop] =
        ["tap", "dir", "flow", "proto", "seq", "payload", "drop"].map(|name| tables::numbers(table, name));
    let mut received: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for i in 0..tap.len() {
        if (tap[i], dir[i], proto[i], drop[i]) == (3, 0, 6, 0) && payload[i] > 0 {
            received.entry(flow[i]).or_default().push((seq[i], seq[i] + payload[i]));
        }
    }
    for stream in streams.iter().filter(|stream| !has_many(scenario, stream.flow)) {
        let mut ranges = received.remove(&(stream.flow as u64)).unwrap_or_default();
        ranges.sort_unstable();
        let first = Seq::FIRST_DATA.get();
        let end = ranges.iter().fold(first, |end, (from, to)| if *from <= end { end.max(*to) } else { end });
        let delivered = (stream.rcv_nxt.get() - u64::from(stream.ended)).max(first);
        let group = scenario.flows().nth(stream.flow).map(|(group, _)| group);
        if group.is_some_and(|group| claims(&group.transport)) {
            continue;
        }
        // GRO holds packets back; a receiver of bsd42 may discard data that come out of order.
        let withheld = group.is_some_and(|group| match &group.transport {
            Transport::Tcp { params, .. } => params.gro.is_some(),
            Transport::Bsd42(params) => params.out_of_order == OutOfOrder::Drop,
            Transport::Ideal { .. } | Transport::Udp | Transport::Rtp { .. } | Transport::Foreign(_) => false,
        });
        assert!(delivered <= end, "{stream:?}: delivered more than arrived");
        // So may PAWS, where a path has reordered; and what is beyond the window is cut off, which probes of it are.
        let cut = ranges.iter().any(|(from, to)| *from < delivered && delivered < *to);
        let withheld = withheld || stream.too_old > 0 || cut;
        assert!(withheld || delivered == end, "{stream:?}: what arrived reaches to {end}");
    }
}

/// True if the receiver acknowledges what has not arrived.
pub(crate) fn claims(transport: &Transport) -> bool {
    matches!(transport, Transport::Tcp { ack, .. } if !ack.optimistic.is_zero())
}
