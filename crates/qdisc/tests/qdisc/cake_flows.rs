//! What CAKE does with its flows: the lists on which they are, who pays when it is full, and who serves in place of a
//! packet that was dropped (spec/queues-and-signalling section 10).

use windtunnel_qdisc::{AckFilter, CakeParams, Diffserv, DropReason, FlowMode, Limit, QueueSpec};
use windtunnel_units::{Bytes, Duration, Rate, Seq};
use windtunnel_wire::{Dscp, FlowId, Packet, TcpFlags};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// One tin, in which flows are kept apart.
fn besteffort() -> CakeParams {
    CakeParams { diffserv: Diffserv::Besteffort, flow_mode: FlowMode::Flows, ..CakeParams::default() }
}

fn bench(params: CakeParams, limit: Limit) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), limit);
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, packets: usize) {
    for _ in 0..packets {
        let packet = bench.packet(flow, 1_500, Kind::NotEct);
        bench.enqueue(at, packet);
    }
}

/// The flow of the next packet, and how many flows are sparse, in the round, and decaying after it.
fn next(bench: &mut Bench, at: u64) -> (u32, [i64; 3]) {
    let flow = bench.dequeue(at).expect("a packet").flow;
    (flow, sets(bench))
}

fn sets(bench: &Bench) -> [i64; 3] {
    ["sparse_flows", "bulk_flows", "decaying_flows"].map(|name| bench.probe(name))
}

/// By hand, with quanta of one packet. A sparse flow that is empty and has used up its quantum waits in the round for
/// its deficit's sake and still counts as sparse; a packet makes it a bulk flow. When its turn comes and it is empty,
/// it decays, since its COBALT does not rest for 100 ms; a packet then makes it sparse again.
#[test]
fn sets_of_flows() {
    let plain = || bench(besteffort(), Limit::Unlimited);
    let mut queue = plain();
    arrive(&mut queue, 0, 0, 1);
    arrive(&mut queue, 0, 1, 3);
    assert_eq!(sets(&queue), [2, 0, 0]);
    assert_eq!(next(&mut queue, 0), (0, [2, 0, 0]));
    assert_eq!(next(&mut queue, 0), (1, [2, 0, 0]), "flow 0 waits");
    arrive(&mut queue, 0, 0, 1);
    assert_eq!(sets(&queue), [1, 1, 0]);
    assert_eq!(next(&mut queue, 0), (0, [0, 2, 0]));
    assert_eq!(next(&mut queue, 0), (1, [0, 2, 0]));
    assert_eq!(next(&mut queue, 0), (1, [0, 1, 1]), "flow 0 was found empty");
    arrive(&mut queue, 0, 0, 1);
    assert_eq!(sets(&queue), [1, 1, 0]);

    // Without a packet while it waits, it leaves the round as a sparse flow.
    let mut queue = plain();
    arrive(&mut queue, 0, 0, 1);
    arrive(&mut queue, 0, 1, 3);
    assert_eq!([(); 3].map(|()| next(&mut queue, 0)), [(0, [2, 0, 0]), (1, [2, 0, 0]), (1, [0, 1, 1])]);
}

/// The flow with the most bytes pays with its oldest packets, whichever came first. The packet that has been chosen
/// stays and does not count: of two flows with six packets each, the one that is about to send is the shorter.
#[test]
fn the_longest_flow_pays() {
    let memlimit = |packets: u64| CakeParams { memlimit: Some(Bytes::new(packets * 1_756)), ..besteffort() };
    let ids = |flows: &[u32]| {
        let mut queue = bench(memlimit(11), Limit::Unlimited);
        for (id, flow) in flows.iter().enumerate() {
            let mut packet = queue.packet(*flow, 1_500, Kind::NotEct);
            packet.seq = Seq::new(id as u64);
            queue.enqueue(0, packet);
            if id == 0 {
                assert_eq!(queue.choose(0), Some(Bytes::new(1_500)));
            }
        }
        let dropped: Vec<u32> = queue.drops().iter().map(|drop| drop.flow.get()).collect();
        let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(1)).map(|left| left.seq).collect();
        let lost: Vec<u64> = (0..flows.len() as u64).filter(|id| !left.contains(id)).collect();
        assert_eq!(queue.probe("memory_bytes"), 0, "all have left");
        (dropped, lost)
    };
    // The packets of flow 0 are 0 to 5, and the first of them is chosen; those of flow 1 are 6 to 11.
    assert_eq!(ids(&[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]), (vec![1], vec![6]));
    // Alone, flow 0 keeps its first.
    assert_eq!(ids(&[0; 13]), (vec![0, 0], vec![1, 2]));
    assert_eq!(ids(&[0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0]), (vec![1], vec![2]));
}

/// CAKE holds no more than its limit, in packets, bytes, or time at the link's rate: of 5 packets of 1500 B, 3 stay.
#[test]
fn limits() {
    for limit in [
        Limit::Packets(3),
        Limit::Bytes(Bytes::new(4_500)),
        Limit::Bytes(Bytes::new(5_999)),
        Limit::Time(Duration::from_micros(3_600)),
    ] {
        let mut queue = bench(besteffort(), limit);
        arrive(&mut queue, 0, 0, 5);
        assert_eq!((queue.backlog().packets, queue.stats().drops_overlimit), (3, 2), "{limit:?}");
    }
}

/// With loss-free endpoints no packet of a full queue is lost, but the flow's BLUE hears of it all the same: p rises
/// by 1/256.
#[test]
fn blue_hears_of_a_full_queue() {
    let mut queue = bench(besteffort(), Limit::Packets(3));
    queue.cx.deliver_drops = true;
    arrive(&mut queue, 10 * MS, 0, 3);
    assert_eq!(queue.probed_band(0, "p_drop").map(|p| p * 256.0), Some(0.0));
    arrive(&mut queue, 10 * MS, 0, 1);
    assert_eq!(queue.probed_band(0, "p_drop").map(|p| p * 256.0), Some(1.0));
    assert_eq!((queue.backlog().packets, queue.stats().drops_full), (4, 1));
}

/// A flow's COBALT drops the second packet that it sees too late, in either flow. The next packet of the same flow
/// takes its place; in ingress mode the dropped one has cost the flow its turn, and the other flow is next. The last
/// packet of a flow is not dropped.
#[test]
fn replaced_by_whose_turn_it_is() {
    let run = |ingress, packets| {
        let mut queue = bench(CakeParams { ingress, ..besteffort() }, Limit::Unlimited);
        (0..packets).for_each(|_| (0..2).for_each(|flow| arrive(&mut queue, 0, flow, 1)));
        let flows = [(); 3].map(|()| queue.dequeue(10 * MS).expect("a packet").flow);
        let drops: Vec<u32> = queue.drops().iter().map(|drop| drop.flow.get()).collect();
        assert!(queue.drops().iter().all(|drop| drop.reason == DropReason::Aqm));
        (flows, drops)
    };
    assert_eq!(run(false, 9), ([0, 1, 0], vec![0]));
    assert_eq!(run(true, 9), ([0, 1, 0], vec![0, 1]));
    assert_eq!(run(false, 2), ([0, 1, 0], vec![]));
    assert_eq!(run(true, 2), ([0, 1, 0], vec![]));
}

/// The times in us at which a shaped queue gives its packets, asked when it says so, and the flows.
fn departures(bench: &mut Bench, from: u64, packets: usize) -> (Vec<u64>, Vec<u32>) {
    let (mut at, mut left) = (from, Vec::new());
    while left.len() < packets {
        match bench.dequeue(at) {
            Some(packet) => left.push(((at - from) / 1_000, packet.flow)),
            None => at = bench.next_ready(at).expect("packets wait for their time"),
        }
    }
    left.into_iter().unzip()
}

/// In ingress mode packets that a full queue drops use the bandwidth, too, by hand at a packet per millisecond: two
/// that were dropped move the clock on by 2 ms, and the second clock, of 1.5 ms for each that leaves, lets the others
/// through.
#[test]
fn dropped_packets_use_the_bandwidth() {
    for (ingress, times) in [(false, [0, 1_000, 2_000]), (true, [0, 1_500, 3_000])] {
        let params = CakeParams { bandwidth: Some(Rate::from_mbps(12)), ingress, ..besteffort() };
        let mut queue = bench(params, Limit::Packets(3));
        arrive(&mut queue, 0, 0, 5);
        assert_eq!(queue.stats().lost, 2);
        assert_eq!(departures(&mut queue, 0, 3).0, times, "{ingress}");
    }
}

/// A tin that is empty saves no credit, also after a drop: its clock is set to now with the next packet. By hand at
/// 16 Mbit/s, 0.75 ms for each packet: voice, within a quarter of that, sends one packet in four of the link's.
#[test]
fn an_empty_tin_saves_nothing() {
    let params =
        CakeParams { bandwidth: Some(Rate::from_mbps(16)), diffserv: Diffserv::Diffserv4, ..besteffort() };
    let mut queue = bench(params, Limit::Packets(20));
    let voice = |queue: &mut Bench, at, packets| {
        for _ in 0..packets {
            let mut packet = queue.packet(1, 1_500, Kind::NotEct);
            packet.dscp = Dscp::new(46);
            queue.enqueue(at, packet);
        }
    };
    voice(&mut queue, 0, 21);
    assert_eq!((departures(&mut queue, 0, 20).1, queue.stats().lost), (vec![1; 20], 1));
    voice(&mut queue, 1_000 * MS, 8);
    arrive(&mut queue, 1_000 * MS, 0, 8);
    assert_eq!(departures(&mut queue, 1_000 * MS, 8).1, [1, 0, 0, 0, 1, 0, 0, 0]);
}

/// The memory of what is left out, dropped by COBALT or by the limit, and served is free again.
#[test]
fn memory_is_free_again() {
    let params = CakeParams {
        ack_filter: AckFilter::Aggressive,
        memlimit: Some(Bytes::new(20 * 1_756)),
        ..besteffort()
    };
    let mut queue = bench(params, Limit::Unlimited);
    for number in 1..=5 {
        let mut ack = Packet::new(FlowId::new(9), Bytes::new(52), Bytes::ZERO);
        (ack.flags, ack.ack) = (TcpFlags::ACK, Seq::new(number));
        queue.enqueue(0, ack);
    }
    assert_eq!((queue.backlog().packets, queue.probe("memory_bytes")), (1, 52 + 256));
    arrive(&mut queue, 0, 0, 30);
    assert_eq!(queue.probe("memory_bytes"), 52 + 256 + 19 * 1_756);
    while queue.dequeue(10 * MS).is_some() {}
    let stats = queue.stats();
    assert_eq!((stats.drops_filtered, stats.drops_overlimit, stats.drops_aqm > 0), (4, 11, true));
    assert_eq!((queue.backlog().packets, queue.backlog().bytes), (0, Bytes::ZERO));
    assert_eq!(queue.probe("memory_bytes"), 0);
}
