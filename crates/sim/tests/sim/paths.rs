//! Paths: the total time of a packet's journey, computed by hand.

use windtunnel_sim::{Action, Change, DequeuePoint, PathHop, Simulation};
use windtunnel_units::{Duration, Rate, Time};

use crate::fixtures::{PlainQueue, dumbbell, flow, link, network};

/// One segment at a time over one link: RTT = path + own serialisation (spec/mds section 2: the sojourn includes it).
/// 1500 B at 100 Mbit/s take 120 us; the SYN's 52 B take 4.16 us.
#[test]
fn rtt_of_a_lone_segment() {
    let result = Simulation::new(dumbbell(&[1], 1000, 0, Duration::from_secs(1))).finish();
    let rtt = result.summary.flows[0].rtt_ms.expect("samples");
    assert!((rtt.min - 20.00416).abs() < 1e-9, "{}", rtt.min);
    assert!((rtt.max - 20.12).abs() < 1e-9, "{}", rtt.max);
    let sojourn = result.summary.queues[0].sojourn_ms.expect("samples");
    assert!((sojourn.max - 0.12).abs() < 1e-9);
}

/// With the dequeue at the start of serialisation the sojourn time excludes it, the round trip does not.
#[test]
fn dequeue_at_the_start() {
    let mut spec = dumbbell(&[1], 1000, 0, Duration::from_secs(1));
    spec.links[0].params.dequeue_point = Some(DequeuePoint::Start);
    let result = Simulation::new(spec).finish();
    assert!((result.summary.flows[0].rtt_ms.expect("samples").max - 20.12).abs() < 1e-9);
    assert!(result.summary.queues[0].sojourn_ms.expect("samples").max < 1e-9);
}

/// A driver's ring takes packets out of the queue: a saturated link keeps its round trip, and with a ring of three packets
/// the queue times each of them for three serialisations (0.12 ms) less. Nothing is lost count of.
#[test]
fn a_ring_takes_packets_out_of_the_queue() {
    let [without, with] = [0, 3].map(|ring| {
        let mut spec = dumbbell(&[400], 1000, 0, Duration::from_secs(1));
        (spec.links[0].params.dequeue_point, spec.links[0].params.ring) = (Some(DequeuePoint::Start), ring);
        let summary = Simulation::new(spec).finish().summary;
        let rtt = summary.flows[0].rtt_ms.expect("samples").max;
        (summary.queues[0].sojourn_ms.expect("samples").max, rtt, summary.flows[0].throughput_mbps)
    });
    assert!((without.0 - with.0 - 0.36).abs() < 1e-9, "{without:?} {with:?}");
    assert_eq!((without.1, without.2), (with.1, with.2));
}

/// Two bottlenecks in series and a slow way back: the round trip is the sum of all serialisations and delays.
#[test]
fn series_of_links_and_a_reverse_path() {
    let links = vec![
        link(100, 3, PlainQueue::new(100, 0), DequeuePoint::End),
        link(10, 4, PlainQueue::new(100, 0), DequeuePoint::End),
        link(1, 5, PlainQueue::new(100, 0), DequeuePoint::End),
    ];
    let forward = vec![PathHop::Link(0), PathHop::Link(1)];
    let flows = vec![flow(0, 1, false, forward, vec![PathHop::Link(2)], Duration::from_millis(12))];
    let result = Simulation::new(network(links, flows, Duration::from_secs(1))).finish();
    // 3 + 4 + 5 ms of propagation; 1500 B at 100 and 10 Mbit/s: 0.12 + 1.2 ms; the 52 B ACK at 1 Mbit/s: 0.416 ms.
    let expected = 12.0 + 0.12 + 1.2 + 0.416;
    assert!((result.summary.flows[0].rtt_ms.expect("samples").max - expected).abs() < 1e-9);
}

/// Windows that fill the pipe: the link is always busy after the first round trip, and the two flows share it in
/// proportion to their windows.
#[test]
fn full_windows_fill_the_link() {
    let result = Simulation::new(dumbbell(&[100, 300], 10_000, 0, Duration::from_secs(4))).finish();
    let queue = &result.summary.queues[0];
    assert!(queue.utilization > 0.98, "{}", queue.utilization);
    let share = result.summary.flows[1].throughput_mbps / result.summary.flows[0].throughput_mbps;
    assert!((share - 3.0).abs() < 0.1, "{share}");
}

/// A rate change takes effect with the next packet; a stopped flow drains and then sends nothing.
#[test]
fn rate_changes_and_stops() {
    let mut spec = dumbbell(&[1000], 10_000, 0, Duration::from_secs(3));
    let at = |s| Time::ZERO + Duration::from_secs(s);
    spec.links[0].params.changes =
        vec![Change { at: Some(at(1)), rate: Some(Rate::from_mbps(10)), ..Change::default() }];
    spec.plan.push((at(2), Action::Stop(0)));
    spec.windows = [(0, 1), (1, 2)]
        .map(|(a, b)| windtunnel_sim::Window { name: format!("{a}"), from: at(a), to: at(b) })
        .into();
    let result = Simulation::new(spec).finish();
    let rate = |w: usize| result.summary.windows[w].queues[0].throughput_mbps;
    assert!((rate(0) - 100.0).abs() < 3.0, "{}", rate(0));
    assert!((rate(1) - 10.0).abs() < 0.1, "{}", rate(1));
    // 1000 segments of 1500 B in flight at 2 s take 1.2 s at 10 Mbit/s: the link is busy to the end.
    assert!(result.summary.flows[0].last_packet_s.expect("received") > 2.9);
}
