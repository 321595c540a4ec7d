//! Real TCP in the loop: it fills a link, repairs losses, and its timers expire when they should.

use std::sync::Arc;

use windtunnel_sim::application::{ApplicationConfig, TransferParams};
use windtunnel_sim::element::{
    AckThinningParams, Affects, DuplicationParams, ElementParams, LossParams, ScriptedLossParams,
};
use windtunnel_sim::{DequeuePoint, ElementSpec, PathHop, Simulation, TransferSummary, Transport};
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, FeedbackScheme};
use windtunnel_units::{Bytes, Duration, Probability};
use windtunnel_wire::{Dscp, Ecn};

use crate::fixtures::{PlainQueue, fixed, fixed_window, flow, link, network, path, reno, run};

/// Reno over 10 Mbit/s and 20 ms with room for 60 packets (more than a bandwidth-delay product): the link stays busy
/// through every reduction, losses are repaired without a timeout, and all data are delivered in order.
#[test]
fn reno_fills_a_link() {
    let result = run(path(vec![(reno(), ApplicationConfig::Bulk)], 20, vec![], vec![], 30));
    let (flow, queue) = (&result.summary.flows[0], &result.summary.queues[0]);
    assert!(queue.utilization > 0.98, "{}", queue.utilization);
    assert!(flow.sender.loss_episodes > Some(3) && flow.sender.rtos == Some(0), "{flow:?}");
    assert_eq!(flow.sender.retransmits, Some(flow.drops.full), "each drop is repaired once");
    assert!((flow.goodput_mbps - 10.0 * 1448.0 / 1500.0).abs() < 0.2, "{}", flow.goodput_mbps);
    let limited = flow.limited.expect("it was open");
    assert!(limited.cwnd > 0.95, "{limited:?}");
}

/// A transfer of 10 segments (one initial window) over 20 ms: one round trip for the handshake and one for the data; 10
/// segments of 1500 B take 12 ms at 10 Mbit/s, the SYN's 60 B 48 us and the 52 B of the handshake's ACK 41.6 us. The
/// receiver acknowledges the last one at once (an even number, or quickack mode).
#[test]
fn flow_completion_time_of_an_initial_window() {
    let transfer = TransferParams { size: Bytes::new(10 * 1448), ..TransferParams::default() };
    let result = run(path(vec![(reno(), ApplicationConfig::Transfer(transfer))], 20, vec![], vec![], 2));
    let transfers = result.summary.flows[0].transfers.as_ref().expect("a transfer");
    assert_eq!((transfers.completed, transfers.completed_bytes), (1, 14_480));
    let time = transfers.time_ms.expect("completed").max;
    assert!((time - (20.048 + 20.0416 + 12.0)).abs() < 1e-3, "{time}");
    assert!(result.summary.stalled.is_none(), "it is done: nothing wants to send");
}

/// Whichever kind of packet is lost (the first SYN, which costs 1 s, a segment in the middle, the last segment, or an
/// ACK), all bytes arrive once.
#[test]
fn repairs_what_is_lost() {
    let transfer = |lost: Vec<u64>| {
        let script = ScriptedLossParams { packets: lost, ..ScriptedLossParams::default() };
        let traffic = vec![(
            fixed(20),
            ApplicationConfig::Transfer(TransferParams {
                size: Bytes::new(100 * 1448),
                ..TransferParams::default()
            }),
        )];
        let result = run(path(traffic, 20, vec![Arc::new(script)], vec![], 10));
        let flow = result.summary.flows[0].clone();
        let TransferSummary { completed, time_ms: time, .. } = *flow.transfers.as_ref().expect("a transfer");
        assert_eq!(completed, 1);
        assert_eq!(flow.drops.wire, result.summary.elements[0].lost);
        (time.expect("completed").max, flow)
    };
    let (clean, _) = transfer(vec![]);
    let (syn, _) = transfer(vec![1]);
    assert!((syn - clean - 1000.0).abs() < 1.0, "{syn} {clean}");
    let (middle, flow) = transfer(vec![50]);
    let sender = flow.sender;
    assert_eq!((sender.retransmits, sender.loss_episodes, sender.rtos), (Some(1), Some(1), Some(0)));
    assert!(middle > clean && middle < clean + 60.0, "{middle} {clean}");
    // The SYN is packet 1, the ACK of its answer packet 2, segment n packet n + 2.
    let (_, flow) = transfer(vec![102]);
    assert_eq!((flow.sender.tlps, flow.sender.rtos), (Some(1), Some(0)), "{flow:?}");
}

/// An ACK moves a timer without causing an event: besides the two events per segment (of the link and of the delay) and
/// the recorder's ticks, there is one when the earliest timer would have expired. That is a tail loss probe's, after
/// two round trips of 24 ms (20 segments at 10 Mbit/s): 625 times in 30 s, in which there are 25,000 ACKs.
#[test]
fn timers_cost_little() {
    let result = run(path(vec![(fixed(20), ApplicationConfig::Bulk)], 20, vec![], vec![], 30));
    let (packets, events) = (result.summary.packets, result.summary.events);
    let timers = events - 2 * packets - 3000;
    assert!(packets > 24_900 && timers <= 625 + 15, "{timers} besides those of {packets} segments");
}

/// TCP from before congestion control: 20 senders with a window of 16 segments of 512 bytes and a queue of 60. The
/// timer retransmits segments that still wait, so that the link is busy with copies (RFC 896): much less arrives than
/// with Reno on the same path.
#[test]
fn congestion_collapses() {
    let goodput = |transport: fn() -> Transport| {
        let mut network =
            path((0..20).map(|_| (transport(), ApplicationConfig::Bulk)).collect(), 100, vec![], vec![], 60);
        for flow in &mut network.flows {
            (flow.endpoint.mtu, flow.endpoint.headers) = (Bytes::new(552), Bytes::new(40));
        }
        network.links[0].rate =
            windtunnel_sim::LinkRate::Fixed(windtunnel_units::Rate::from_bits_per_sec(200_000));
        let summary = run(network).summary;
        let goodput: f64 = summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
        assert!(summary.queues[0].utilization > 0.97, "{}", summary.queues[0].utilization);
        assert!(summary.flows.iter().filter_map(|flow| flow.sender.retransmits).sum::<u64>() > 100);
        goodput / 0.2
    };
    let old = goodput(|| Transport::Bsd42(Box::<Bsd42Params>::default()));
    let new = goodput(reno);
    assert!(old < 0.7 * new && new > 0.75, "{old} {new}");
}

/// Two bottlenecks in series with a flow through both and one through each, and a slow way back that loses one ACK in
/// ten and thins the others: every flow gets its share of what the ACKs allow, and none starves.
#[test]
fn a_parking_lot_with_an_asymmetric_way_back() {
    let links = vec![
        link(10, 3, PlainQueue::new(60, 0), DequeuePoint::End),
        link(8, 4, PlainQueue::new(60, 0), DequeuePoint::End),
        link(1, 5, PlainQueue::new(60, 0), DequeuePoint::End),
    ];
    let back = vec![PathHop::Element(0), PathHop::Element(1), PathHop::Link(2)];
    let ways = [vec![PathHop::Link(0), PathHop::Link(1)], vec![PathHop::Link(0)], vec![PathHop::Link(1)]];
    let flows = ways.into_iter().enumerate().map(|(i, way)| {
        let mut spec = flow(i as u32, 10, false, way, back.clone(), Duration::from_millis(12));
        (spec.endpoint.ecn, spec.endpoint.dscp) = (Ecn::NotEct, Dscp::DEFAULT);
        spec.endpoint.feedback = FeedbackScheme::None;
        spec.transport = reno();
        spec
    });
    let mut network = network(links, flows.collect(), Duration::from_secs(60));
    let medium = |name: &str, config: Arc<dyn ElementParams>| ElementSpec {
        name: name.into(),
        config,
        only: None,
        during: None,
        seed: 3,
    };
    let loss = LossParams { probability: Probability::clamped(0.1), affects: Affects::Acks };
    network.elements =
        vec![medium("thinning", Arc::new(AckThinningParams::default())), medium("loss", Arc::new(loss))];
    let summary = run(network).summary;
    let rates: Vec<f64> = summary.flows.iter().map(|flow| flow.goodput_mbps).collect();
    assert!(summary.queues[0].utilization > 0.9 && summary.queues[1].utilization > 0.9, "{rates:?}");
    // The long flow meets two queues: less than either of the others, but not nothing.
    assert!(rates[0] > 0.3 && rates[0] < rates[1] && rates[0] < rates[2], "{rates:?}");
    assert!(summary.elements[1].lost > 1000);
}

/// Loss-free endpoints cannot handle copies.
#[test]
#[should_panic(expected = "loss-free endpoints take packets in order")]
fn ideal_endpoints_need_order() {
    let ideal = Transport::Ideal { cc: fixed_window(4), ack: AckParams::default() };
    let copies = Arc::new(DuplicationParams::default());
    let _ = Simulation::new(path(vec![(ideal, ApplicationConfig::Bulk)], 10, vec![copies], vec![], 1));
}
