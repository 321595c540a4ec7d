//! Elements, overhead and rate traces in the loop.

use std::sync::Arc;

use windtunnel_qdisc::{FifoParams, Limit, QueueInit, QueueSpec};
use windtunnel_sim::application::{ApplicationConfig, CbrParams, ProbeParams};
use windtunnel_sim::element::*;
use windtunnel_sim::{LinkRate, Network, PathHop, Simulation, Transport, parse_mahimahi};
use windtunnel_tcp::AckParams;
use windtunnel_units::{Bytes, Duration, Probability, Rate, Time};

use crate::fixtures::{Traffic, fixed, fixed_window, path, reno, run, scream};

fn p(p: f64) -> Probability {
    Probability::new(p).expect("a probability")
}

/// One element of each kind; all of them act within a few seconds.
fn every_element() -> Vec<Arc<dyn ElementParams>> {
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    let outage = OutageTime { from: at(1000), to: at(1100) };
    vec![
        Arc::new(OutageParams { times: vec![outage], hold: false }),
        Arc::new(OutageParams { times: vec![outage], hold: true }),
        Arc::new(AckThinningParams::default()),
        Arc::new(LossParams { probability: p(0.02), affects: Affects::All }),
        Arc::new(GilbertElliottParams { p: p(0.01), ..GilbertElliottParams::default() }),
        Arc::new(PeriodicLossParams { every: 100, ..PeriodicLossParams::default() }),
        Arc::new(ScriptedLossParams { packets: vec![2, 50], ..ScriptedLossParams::default() }),
        Arc::new(CorruptionParams { probability: p(0.02), affects: Affects::All }),
        Arc::new(DuplicationParams { probability: p(0.1), affects: Affects::All }),
        Arc::new(AggregationParams::default()),
        Arc::new(JitterParams { reorder: true, ..JitterParams::default() }),
        Arc::new(JitterParams { distribution: JitterShape::Pareto.into(), ..JitterParams::default() }),
        Arc::new(JitterParams {
            distribution: JitterShape::Wifi.into(),
            deviation: None,
            ..JitterParams::default()
        }),
        Arc::new(ReorderingParams { probability: p(0.1), ..ReorderingParams::default() }),
    ]
}

fn mixed_traffic() -> Vec<Traffic> {
    vec![
        (reno(), ApplicationConfig::Bulk),
        (Transport::Udp, ApplicationConfig::Cbr(CbrParams { responsive: true, ..CbrParams::default() })),
        (Transport::Udp, ApplicationConfig::Probe(ProbeParams::default())),
        scream(),
    ]
}

fn assert_conserved(network: Network) {
    let mut simulation = Simulation::new(network);
    for ms in (0..3000).step_by(3) {
        simulation.run_until(Time::ZERO + Duration::from_millis(ms));
        assert_eq!(
            simulation.sent() + simulation.duplicated(),
            simulation.arrived() + simulation.corrupted() + simulation.lost() + simulation.in_network(),
            "at {ms} ms"
        );
    }
    let result = simulation.finish();
    for medium in &result.summary.elements {
        assert_eq!(
            medium.arrived + medium.duplicated,
            medium.passed + medium.lost + medium.held,
            "{medium:?}"
        );
    }
    let lost: u64 = result.summary.flows.iter().map(|flow| flow.drops.wire + flow.ack_drops.wire).sum();
    assert_eq!(lost, result.summary.elements.iter().map(|medium| medium.lost).sum::<u64>());
    assert!(result.summary.flows[0].goodput_mbps > 0.05, "{:?}", result.summary.flows[0]);
}

/// Packets are conserved at any time, with each element in each direction and with all elements on one path, for TCP, media over RTP
/// and datagrams and a queue that overflows.
#[test]
fn packets_are_conserved() {
    for config in every_element() {
        assert_conserved(path(mixed_traffic(), 10, vec![config.clone()], vec![], 3));
        assert_conserved(path(mixed_traffic(), 10, vec![], vec![config], 3));
    }
    let mut all = every_element();
    all.sort_by_key(|element| element.stage());
    assert_conserved(path(mixed_traffic(), 10, all, vec![], 3));
}

/// Equal networks give equal digests with every element at work; another seed for one of the elements gives another
/// digest.
#[test]
fn runs_repeat() {
    let digest = |seed| {
        let mut network = path(mixed_traffic(), 10, every_element(), vec![], 3);
        network.elements[3].seed ^= seed;
        run(network).summary.digest
    };
    assert_eq!(digest(0), digest(0));
    assert_ne!(digest(0), digest(1));
}

/// Goodput is what the application gets: neither duplicates nor retransmissions count, and nothing is missing.
#[test]
fn goodput_counts_bytes_once() {
    let media: Vec<Arc<dyn ElementParams>> = vec![
        Arc::new(LossParams { probability: p(0.01), affects: Affects::All }),
        Arc::new(DuplicationParams { probability: p(0.2), affects: Affects::All }),
        Arc::new(ReorderingParams::default()),
    ];
    let result = run(path(vec![(reno(), ApplicationConfig::Bulk)], 10, media, vec![], 5));
    let flow = &result.summary.flows[0];
    let delivered = flow.goodput_mbps * 5.0 * 1e6 / 8.0;
    let (sent, again) = (flow.sender.sent.expect("counted"), flow.sender.retransmits.expect("counted"));
    let sent_once = (sent - again) as f64 * 1448.0;
    assert!(delivered <= sent_once && delivered > 0.95 * sent_once, "{delivered} of {sent_once}");
    assert!(flow.received_bytes as f64 > 1.15 * delivered, "duplicates arrive");
}

/// An element on the way back sees the ACKs: with a window that overflows no queue (ACKs with SACK always pass),
/// seven of eight are left out, and the link is still busy.
#[test]
fn acks_are_thinned() {
    let thinning = AckThinningParams { keep_every: 8, ..AckThinningParams::default() };
    let traffic = vec![(fixed(40), ApplicationConfig::Bulk)];
    let result = run(path(traffic, 10, vec![], vec![Arc::new(thinning)], 5));
    let medium = &result.summary.elements[0];
    let share = medium.lost as f64 / medium.arrived as f64;
    assert!((share - 7.0 / 8.0).abs() < 0.005, "{medium:?}");
    assert!(result.summary.flows[0].goodput_mbps > 9.5, "{}", result.summary.flows[0].goodput_mbps);
}

/// Link-layer headers take their time on the wire: 1500 B and 38 B at 10 Mbit/s are 1.2304 ms.
#[test]
fn overhead_is_serialised() {
    let probe = ApplicationConfig::Probe(ProbeParams { size: Bytes::new(1500), ..ProbeParams::default() });
    let mut network = path(vec![(Transport::Udp, probe)], 20, vec![], vec![], 1);
    network.links[0].params.overhead = Bytes::new(38);
    let one_way = run(network).summary.flows[0].datagrams.and_then(|d| d.one_way_ms).expect("received");
    assert!((one_way.min - 21.2304).abs() < 1e-9 && (one_way.max - 21.2304).abs() < 1e-9, "{one_way:?}");
}

/// A queue counts link-layer headers as Linux's `qdisc_pkt_len` does: a byte limit of B holds B // 1514 packets of 1500
/// bytes on Ethernet. 10 packets arrive at once at 1 Mbit/s; one is in service.
#[test]
fn overhead_counts_in_the_queue() {
    for (overhead, stored) in [(0, 5), (14, 4)] {
        let cbr =
            CbrParams { rate: Rate::from_mbps(1_000), packet_size: Bytes::new(1500), ..CbrParams::default() };
        let mut network = path(vec![(Transport::Udp, ApplicationConfig::Cbr(cbr))], 20, vec![], vec![], 1);
        network.links[0].rate = LinkRate::Fixed(Rate::from_mbps(1));
        network.links[0].params.overhead = Bytes::new(overhead);
        let spec = QueueSpec::new(FifoParams::default());
        network.links[0].queue = spec.build(&QueueInit::new(Limit::Bytes(Bytes::new(7_500)), 1));
        let queue = run(network).summary.queues.remove(0);
        assert_eq!(queue.backlog_max_packets, stored, "{overhead}");
    }
}

/// A trace of one packet per 2 ms, and a pause of 50 ms in each 100 ms: a saturated link has 26 opportunities per 100
/// ms. Each takes 1504 bytes, which is 1.0027 packets.
#[test]
fn a_link_follows_its_trace() {
    let text: String = (0..25).map(|i| format!("{}\n", i * 2)).chain(["100\n".to_owned()]).collect();
    let trace = Arc::new(parse_mahimahi(&text).expect("a trace"));
    let cbr = CbrParams { rate: Rate::from_mbps(8), packet_size: Bytes::new(1500), ..CbrParams::default() };
    let mut network = path(vec![(Transport::Udp, ApplicationConfig::Cbr(cbr))], 20, vec![], vec![], 10);
    network.links[0].rate = LinkRate::Trace { file: "a trace".into(), opportunities: Arc::clone(&trace) };
    let result = run(network);
    let queue = &result.summary.queues[0];
    let mean = trace.mean_rate().as_mbps();
    assert!((mean - 26.0 * 1504.0 * 8.0 / 0.1 / 1e6).abs() < 1e-6);
    assert!((queue.throughput_mbps / mean - 1.0).abs() < 0.01, "{} of {mean}", queue.throughput_mbps);
    assert!((queue.rate_mbps - mean).abs() < 1e-6);
    // The longest wait is that of a packet that arrives as the 60th in the queue just after 34 ms of a period. 7 leave
    // up to 48 ms, 52 in the next two periods, and this one at their end: it waits 300 - 34 ms. Arrivals are 1.5 ms
    // apart.
    let longest = queue.sojourn_ms.expect("busy").max;
    assert!((266.0 - 1.5..=266.0).contains(&longest), "{longest}");
}

/// Loss-free endpoints on a medium that loses: the run ends when nothing moves any more, and says why. Its summary has
/// what was measured until then.
#[test]
fn a_stalled_run_says_why() {
    let ideal = Transport::Ideal { cc: fixed_window(4), ack: AckParams::default() };
    let loss = Arc::new(LossParams { probability: p(0.2), affects: Affects::Data });
    let result = run(path(vec![(ideal, ApplicationConfig::Bulk)], 10, vec![loss], vec![], 1000));
    let stalled = result.summary.stalled.expect("stalled");
    assert!(stalled.t_s < 5.0 && (stalled.t_s - result.summary.duration_s).abs() < 1e-9);
    assert!(stalled.why.contains("flow0 waits for ACKs"), "{}", stalled.why);
    assert!(result.summary.flows[0].received_bytes > 0 && result.summary.queues[0].dequeued > 0);
}

/// A flow may pass media at any place of its path: before the bottleneck, the queue's delay comes after them.
#[test]
fn media_before_the_bottleneck() {
    let loss = ScriptedLossParams { packets: (1..=50).collect(), ..ScriptedLossParams::default() };
    let probe = ApplicationConfig::Probe(ProbeParams::default());
    let mut network = path(vec![(Transport::Udp, probe)], 20, vec![Arc::new(loss)], vec![], 2);
    network.flows[0].forward.swap(0, 1);
    assert_eq!(network.flows[0].forward[0], PathHop::Element(0));
    let result = run(network);
    assert_eq!(result.summary.queues[0].dequeued, 200 - 50);
}
