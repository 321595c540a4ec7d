//! CAKE as a queue: spec/queues-and-signalling section 10, Linux `sch_cake`, tc-cake(8).

use windtunnel_qdisc::{
    AckFilter, CakeParams, Diffserv, DropReason, FlowHash, FlowHosts, FlowMode, HostPair, Limit, QueueInit,
    QueueSpec,
};
use windtunnel_units::{Bytes, Duration, Rate, Seq};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// One tin, in which flows are kept apart.
fn besteffort() -> CakeParams {
    CakeParams { diffserv: Diffserv::Besteffort, flow_mode: FlowMode::Flows, ..CakeParams::default() }
}

fn bench(params: CakeParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, size: u64) {
    let packet = bench.packet(flow, size, Kind::Ect0);
    bench.enqueue(at, packet);
}

fn arrive_in(bench: &mut Bench, at: u64, flow: u32, dscp: u8) {
    let mut packet = bench.packet(flow, 1_500, Kind::Ect0);
    packet.dscp = Dscp::new(dscp);
    bench.enqueue(at, packet);
}

/// The flows in the order in which the next packets leave at `at`.
fn order(bench: &mut Bench, at: u64, packets: usize) -> Vec<u32> {
    (0..packets).map(|_| bench.dequeue(at).expect("a packet").flow).collect()
}

/// How many packets of each of `flows` are among the next ones that leave.
fn shares(bench: &mut Bench, at: u64, packets: usize, flows: u32) -> Vec<usize> {
    let order = order(bench, at, packets);
    (0..flows).map(|flow| order.iter().filter(|other| **other == flow).count()).collect()
}

/// The times in ns at which a shaped queue gives its packets, asked when it says so.
fn departures(bench: &mut Bench, mut at: u64, packets: usize) -> Vec<(u64, u32)> {
    let mut left = Vec::new();
    while left.len() < packets {
        match bench.dequeue(at) {
            Some(packet) => left.push((at, packet.flow)),
            None => at = bench.next_ready(at).expect("packets wait for their time"),
        }
    }
    left
}

/// A shaper without a burst: packets leave at multiples of their duration, 1500 bytes at 12 Mbit/s every millisecond,
/// headers included; after idle time the first one leaves at once.
#[test]
fn shaper() {
    let params = CakeParams { bandwidth: Some(Rate::from_mbps(12)), ..besteffort() };
    let mut queue = bench(params.clone());
    (0..5).for_each(|_| arrive(&mut queue, 10 * MS, 0, 1_500));
    let times = |left: Vec<(u64, u32)>| left.into_iter().map(|(at, _)| at / 1_000).collect::<Vec<_>>();
    assert_eq!(times(departures(&mut queue, 10 * MS, 5)), [10_000, 11_000, 12_000, 13_000, 14_000]);
    assert_eq!(queue.next_ready(14 * MS), None);
    // The next one has its time 15 ms after the start, and later the clock does not lag behind.
    (0..2).for_each(|_| arrive(&mut queue, 14 * MS + 500_000, 0, 1_500));
    assert_eq!(times(departures(&mut queue, 14 * MS + 500_000, 2)), [15_000, 16_000]);
    (0..2).for_each(|_| arrive(&mut queue, 50 * MS, 0, 1_500));
    assert_eq!(times(departures(&mut queue, 50 * MS, 2)), [50_000, 51_000]);
    // An answer that comes late is made up for.
    (0..4).for_each(|_| arrive(&mut queue, 60 * MS, 0, 1_500));
    assert_eq!(order(&mut queue, 62 * MS, 3).len(), 3);
    assert!(queue.dequeue(62 * MS).is_none());
    // 100 bytes of headers make 1600 bytes, 1.0667 ms.
    let mut framed = bench(CakeParams { overhead: Bytes::new(100), ..params });
    (0..3).for_each(|_| arrive(&mut framed, 0, 0, 1_500));
    assert_eq!(times(departures(&mut framed, 0, 3)), [0, 1_066, 2_133]);
}

/// Flows share bytes, whatever their packets' sizes are; a flow that was idle goes first, with one quantum.
#[test]
fn flows_share_bytes() {
    let mut queue = bench(besteffort());
    for _ in 0..200 {
        arrive(&mut queue, 0, 0, 1_500);
        (0..3).for_each(|_| arrive(&mut queue, 0, 1, 500));
    }
    let shared = shares(&mut queue, MS, 400, 2);
    assert!((97..=103).contains(&shared[0]), "{shared:?}");
    arrive(&mut queue, MS, 2, 1_500);
    arrive(&mut queue, MS, 2, 1_500);
    assert_eq!(order(&mut queue, MS, 1), [2]);
    assert_ne!(order(&mut queue, MS, 1), [2]);
}

/// `flowblind` is one queue, first in, first out; `hosts` keeps pairs of hosts apart.
#[test]
fn modes_of_flows() {
    let mut blind = bench(CakeParams { flow_mode: FlowMode::Flowblind, ..besteffort() });
    for flow in [3, 3, 3, 1, 2] {
        arrive(&mut blind, 0, flow, 1_500);
    }
    assert_eq!(order(&mut blind, MS, 5), [3, 3, 3, 1, 2]);
    assert_eq!(blind.bands()[0].0, "all");
    for (flow_mode, names) in [
        (FlowMode::Srchost, &["source 0", "source 3"][..]),
        (FlowMode::Dsthost, &["destination 0", "destination 1"]),
        (FlowMode::Hosts, &["hosts 0 to 0", "hosts 0 to 1", "hosts 3 to 1"]),
        (FlowMode::TripleIsolate, &["flow 0", "flow 1", "flow 2", "flow 3"]),
    ] {
        let mut queue =
            with_hosts(&CakeParams { flow_mode, ..besteffort() }, &[(0, 0), (0, 1), (0, 1), (3, 1)]);
        (0..4).for_each(|flow| arrive(&mut queue, 0, flow, 1_500));
        assert_eq!(queue.bands().iter().map(|(name, _)| &**name).collect::<Vec<_>>(), names);
    }
}

fn with_hosts(params: &CakeParams, hosts: &[(u32, u32)]) -> Bench {
    let init = QueueInit { age: Duration::ZERO, ..QueueInit::new(Limit::Unlimited, 1) };
    let mut queue = QueueSpec::new(params.clone()).build(&init);
    let pair = |&(source, destination): &(u32, u32)| HostPair { source, destination };
    queue.learn_hosts(&FlowHosts::new(hosts.iter().map(pair).collect()));
    let mut bench = Bench::of(queue);
    bench.cx.deliver_drops = false;
    bench
}

/// Host isolation: one host has three flows and another has one; each host gets half of the bandwidth where hosts that
/// send share it, and a quarter where they do not count. With `triple-isolate` the busier end counts.
#[test]
fn hosts_share() {
    // Flows 0 to 2 come from one host, and all go to the same one.
    let hosts = [(0, 9), (0, 9), (0, 9), (3, 9)];
    for (flow_mode, expected) in [
        (FlowMode::Flows, [300, 300, 300, 300]),
        (FlowMode::DualSrchost, [200, 200, 200, 600]),
        (FlowMode::DualDsthost, [300, 300, 300, 300]),
        (FlowMode::TripleIsolate, [300, 300, 300, 300]),
    ] {
        let params = CakeParams { flow_mode, memlimit: Some(Bytes::new(1 << 30)), ..besteffort() };
        let mut queue = with_hosts(&params, &hosts);
        for _ in 0..700 {
            (0..4).for_each(|flow| arrive(&mut queue, 0, flow, 1_500));
        }
        let shared = shares(&mut queue, MS, 1_200, 4);
        for (packets, expected) in shared.iter().zip(expected) {
            assert!(packets.abs_diff(expected) <= 12, "{flow_mode:?}: {shared:?}");
        }
    }
    let mut triple = with_hosts(
        &CakeParams { flow_mode: FlowMode::TripleIsolate, ..besteffort() },
        &[(0, 0), (0, 1), (0, 2), (3, 3)],
    );
    for _ in 0..700 {
        (0..4).for_each(|flow| arrive(&mut triple, 0, flow, 1_500));
    }
    let shared = shares(&mut triple, MS, 1_200, 4);
    assert!(shared[3].abs_diff(600) <= 12, "{shared:?}");
}

/// With as many queues as a set has ways, eight flows have one each, and a ninth shares; flows known for certain never do.
#[test]
fn ways() {
    let bands = |hash| {
        let mut queue = bench(CakeParams { hash, flows: 8, ..besteffort() });
        (0..9).for_each(|flow| arrive(&mut queue, 0, flow, 1_500));
        (queue.bands().len(), queue.probed("way_collisions").unwrap())
    };
    let (queues, collisions) = bands(FlowHash::Jenkins);
    assert_eq!((queues, collisions as u64), (8, 1));
    let (queues, collisions) = bands(FlowHash::Perfect);
    assert_eq!((queues, collisions.is_nan()), (9, true));
}

/// A full queue drops the oldest packet of the longest flow, and that flow's BLUE hears of it.
#[test]
fn memory() {
    let mut queue = bench(CakeParams { memlimit: Some(Bytes::new(20 * 1_756)), ..besteffort() });
    (0..15).for_each(|_| arrive(&mut queue, 0, 0, 1_500));
    (0..5).for_each(|_| arrive(&mut queue, 10 * MS, 1, 1_500));
    assert_eq!(queue.stats().lost, 0);
    (0..3).for_each(|_| arrive(&mut queue, 10 * MS, 1, 1_500));
    let drops = queue.drops();
    assert_eq!(drops.len(), 3);
    assert!(drops.iter().all(|drop| drop.flow == FlowId::new(0) && drop.reason == DropReason::Overlimit));
    // Once per target.
    let p_drop = queue.probed_band(0, "p_drop").unwrap();
    assert!((p_drop - 1.0 / 256.0).abs() < 1e-12);
    assert_eq!(queue.probed_band(1, "p_drop").map(|p| p > 0.0), Some(false));
    assert_eq!(queue.probed("memory_bytes"), Some(20.0 * 1_756.0));
}

/// A flow that is found empty decays until its COBALT rests, 100 ms after its last packet, and is then forgotten: each
/// departure looks at one such flow.
#[test]
fn decaying() {
    let mut queue = bench(besteffort());
    let count = |queue: &Bench, name| queue.probed(name).unwrap() as u64;
    arrive(&mut queue, 0, 0, 100);
    order(&mut queue, 0, 1);
    (0..3).for_each(|_| arrive(&mut queue, MS, 1, 1_500));
    order(&mut queue, MS, 2);
    assert_eq!([count(&queue, "decaying_flows"), count(&queue, "bulk_flows")], [1, 1]);
    order(&mut queue, 50 * MS, 1);
    assert_eq!(count(&queue, "decaying_flows"), 1);
    arrive(&mut queue, 101 * MS, 1, 1_500);
    order(&mut queue, 101 * MS, 1);
    assert_eq!(count(&queue, "decaying_flows"), 0);
}

/// With a bandwidth, a tin within its threshold goes before those below it: voice up to a quarter, bulk up to a sixteenth
/// of the bandwidth; above it takes what is left. diffserv4, code points CS1, DF, CS6.
#[test]
fn thresholds_of_tins() {
    let rate = Rate::from_mbps(16);
    let params = CakeParams {
        bandwidth: Some(rate),
        diffserv: Diffserv::Diffserv4,
        memlimit: Some(Bytes::new(1 << 30)),
        ..besteffort()
    };
    let mut queue = bench(params.clone());
    let (bulk, voice) = (8, 48);
    for _ in 0..3_000 {
        arrive_in(&mut queue, 0, 0, 0);
        arrive_in(&mut queue, 0, 1, bulk);
        arrive_in(&mut queue, 0, 2, voice);
    }
    let left = departures(&mut queue, 0, 1_600);
    let packets = |flow| left.iter().filter(|(_, other)| *other == flow).count();
    assert!(packets(2).abs_diff(400) <= 8 && packets(1).abs_diff(100) <= 8, "{} {}", packets(2), packets(1));
    // Alone, bulk has everything.
    let mut alone = bench(params);
    (0..100).for_each(|_| arrive_in(&mut alone, 0, 1, bulk));
    let left = departures(&mut alone, 0, 100);
    assert_eq!(left[99].0, 99 * 750_000);
}

/// Without a bandwidth, the shares are weights: 1024 for best effort, 64 for bulk, 512 for video, 256 for voice.
#[test]
fn weights_of_tins() {
    let mut queue = bench(CakeParams {
        diffserv: Diffserv::Diffserv4,
        memlimit: Some(Bytes::new(1 << 30)),
        ..besteffort()
    });
    for _ in 0..2_000 {
        for (flow, dscp) in [(0, 0), (1, 8), (2, 34), (3, 46)] {
            arrive_in(&mut queue, 0, flow, dscp);
        }
    }
    let shared = shares(&mut queue, MS, 1_856, 4);
    for (packets, expected) in shared.iter().zip([1_024, 64, 512, 256]) {
        assert!(packets.abs_diff(expected) <= 6, "{shared:?}");
    }
    assert_eq!(queue.bands()[2].0, "video, flow 2");
}

/// `wash` clears the DSCP after the tin is known.
#[test]
fn wash() {
    let params = CakeParams { wash: true, diffserv: Diffserv::Diffserv4, ..besteffort() };
    let mut queue = bench(params);
    arrive_in(&mut queue, 0, 0, 46);
    assert_eq!(queue.bands()[0].0, "voice, flow 0");
    assert_eq!(queue.leaving(0).dscp, Dscp::DEFAULT);
}

fn ack(bench: &Bench, flow: u32, number: u64) -> Packet {
    let mut packet = Packet::new(FlowId::new(flow), Bytes::new(52), Bytes::ZERO);
    packet.seq = Seq::new(bench.stats().arrived);
    packet.flags = TcpFlags::ACK;
    packet.ack = Seq::new(number);
    packet.ecn = Ecn::NotEct;
    packet
}

/// The ACK filter leaves the newest ACKs of each flow, two or with `aggressive` one, and never the packet that has been
/// chosen to leave. With loss-free endpoints it leaves all.
#[test]
fn ack_filter() {
    for (ack_filter, left) in
        [(AckFilter::Off, vec![1, 2, 3, 4, 5]), (AckFilter::On, vec![4, 5]), (AckFilter::Aggressive, vec![5])]
    {
        for ideal in [false, true] {
            let mut queue = bench(CakeParams { ack_filter, ..besteffort() });
            queue.cx.deliver_drops = ideal;
            for number in 1..=5 {
                let packet = ack(&queue, 0, number);
                queue.enqueue(0, packet);
            }
            let numbers: Vec<u64> =
                (0..queue.backlog().packets).map(|_| queue.leaving(0).ack.get()).collect();
            assert_eq!(numbers, if ideal { vec![1, 2, 3, 4, 5] } else { left.clone() }, "{ack_filter:?}");
        }
    }
    let mut queue = bench(CakeParams { ack_filter: AckFilter::Aggressive, ..besteffort() });
    let packet = ack(&queue, 0, 1);
    queue.enqueue(0, packet);
    queue.choose(0);
    for number in 2..=5 {
        let packet = ack(&queue, 0, number);
        queue.enqueue(0, packet);
    }
    assert_eq!(queue.leaving(0).ack, Seq::new(1));
    assert_eq!(queue.leaving(0).ack, Seq::new(5));
    assert_eq!(queue.probed("filtered_acks"), Some(3.0));
    // Each is a drop of its own kind, not one of the AQM.
    let stats = queue.stats();
    assert_eq!((stats.drops_filtered, stats.drops_aqm, stats.drops()), (3, 0, 3));
}

/// In ingress mode drops use the bandwidth, too, and the second clock keeps packets coming at two thirds of it. Without it
/// the drops cost nothing.
#[test]
fn ingress() {
    let goodput = |ingress: bool| {
        let mut queue = bench(CakeParams {
            bandwidth: Some(Rate::from_mbps(12)),
            memlimit: Some(Bytes::new(50 * 1_756)),
            ingress,
            ..besteffort()
        });
        let (mut at, mut left) = (0, 0_u32);
        // Packets arrive at 48 Mbit/s.
        for n in 0..40_000_u64 {
            let arrival = n * 250_000;
            while at <= arrival {
                if queue.dequeue(at).is_some() {
                    left += 1;
                } else {
                    at = queue.next_ready(at).unwrap_or(arrival + 1).max(at + 1);
                }
            }
            arrive(&mut queue, arrival, 0, 1_500);
        }
        f64::from(left) / 10_000.0
    };
    let (egress, ingress) = (goodput(false), goodput(true));
    assert!((egress - 1.0).abs() < 0.01, "{egress}");
    assert!((ingress - 2.0 / 3.0).abs() < 0.02, "{ingress}");
}

/// COBALT's schedule for each flow: of two flows the one that waits too long is marked, from the first packet over the
/// target on, since its queue is new, and `100 ms / sqrt(n)` later from the second to the nth time. SCE by the ramp, below
/// the target, in a queue that may mark it.
#[test]
fn signals_by_flow() {
    let mut queue = bench(CakeParams { sce: true, ..besteffort() });
    for _ in 0..2_000 {
        let packet = queue.packet(0, 1_500, Kind::Mds);
        queue.enqueue(0, packet);
    }
    let mut marks = [0; 2];
    for n in 0..1_000 {
        let at = n * MS;
        let packet = queue.packet(1, 100, Kind::Mds);
        queue.enqueue(at, packet);
        for _ in 0..2 {
            let left = queue.dequeue(at).expect("packets are queued");
            marks[left.flow as usize] += u32::from(left.ecn == Ecn::Ce);
        }
    }
    let mut due = 6.0;
    let times = (2..).map_while(|n| {
        due += 100.0 / f64::from(n).sqrt();
        (due < 1_000.0).then_some(due)
    });
    let expected = 1 + times.count() as u32;
    assert!(marks[0].abs_diff(expected) <= 1 && marks[1] == 0, "{marks:?} for {expected}");
    let stats = queue.band_stats();
    assert!(stats[0].sce > 900 && stats[1].sce == 0, "{stats:?}");
}

/// Values for which CAKE is not defined are refused.
#[test]
fn limits_of_the_parameters() {
    let refused = |params| QueueSpec::new(params).check().unwrap_err().to_string();
    let default = besteffort;
    for (params, fault) in [
        (CakeParams { bandwidth: Some(Rate::from_bits_per_sec(511)), ..default() }, "bandwidth = 511 bit/s"),
        (CakeParams { flows: 0, ..default() }, "flows = 0"),
        (CakeParams { flows: 1_023, ..default() }, "flows = 1023"),
        (CakeParams { target: Duration::ZERO, ..default() }, "target = 0 s"),
        (CakeParams { target: Duration::from_millis(100), ..default() }, "target = 100 ms"),
        (CakeParams { rtt: Duration::from_secs(1_001), ..default() }, "rtt = 1001 s"),
        (CakeParams { memlimit: Some(Bytes::ZERO), ..default() }, "memlimit = 0 B"),
        (CakeParams { overhead: Bytes::new(257), ..default() }, "overhead = 257 B"),
        (CakeParams { mpu: Bytes::new(257), ..default() }, "mpu = 257 B"),
        (CakeParams { mtu: Bytes::new(299), ..default() }, "mtu = 299 B"),
        (CakeParams { sce_thresh: Some(0), ..default() }, "sce_thresh = 0"),
        (CakeParams { sce_thresh: Some(2), sce: true, ..default() }, "sce_thresh = 2"),
        (CakeParams { sce_single: true, sce: true, ..default() }, "sce_single = true"),
    ] {
        assert!(refused(params.clone()).starts_with(fault), "{fault}: {}", refused(params));
    }
}
