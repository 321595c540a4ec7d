//! CodelAF and Twin-AF: spec/queues-and-signalling section 11.

use windtunnel_qdisc::ecn::{Class, Outcome};
use windtunnel_qdisc::{
    Aqm, CnqParams, CobaltParams, CodelAf, CodelAfParams, FqCodelParams, LfqParams, Limit, PacketView,
    QueueParams, QueueSpec, QueueView, SfqParams, Signal, TwinAfParams, Verdict,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn alone() -> QueueSpec {
    QueueSpec::new(CodelAfParams::default())
}

fn arrive(bench: &mut Bench, at: u64, flow: u32, kind: Kind) {
    let packet = bench.packet(flow, 1_500, kind);
    bench.enqueue(at, packet);
}

/// A queue of 20 packets that one flow keeps full at a packet per millisecond: when, in milliseconds after the first packet
/// over the target, is something marked?
fn marks(spec: &QueueSpec, slots: u64) -> Vec<u64> {
    let mut bench = Bench::new(spec, Limit::Unlimited);
    let mut marks = Vec::new();
    let mut since = None;
    for slot in 0..slots {
        while bench.backlog().packets < 20 {
            arrive(&mut bench, slot * MS, 0, Kind::Ect0);
        }
        let left = bench.dequeue(slot * MS).unwrap();
        if left.sojourn > Duration::from_millis(5) {
            let start = *since.get_or_insert(slot);
            if left.outcome != Outcome::Passed {
                marks.push(slot - start);
            }
        }
    }
    marks
}

/// A flow alone has the whole queue and 1 of 1 flows: CodelAF signals it when COBALT does, at sums of
/// `interval / sqrt(count)`: 100, 170.7, 228.4, 278.4, 323.2 ms.
#[test]
fn a_flow_alone_meets_cobalt() {
    let own = marks(&alone(), 1_500);
    assert_eq!(own[..5], [100, 171, 229, 279, 324]);
    assert_eq!(own, marks(&QueueSpec::new(CobaltParams { sce: Some(0), ..CobaltParams::default() }), 1_500));
}

/// Weighted sojourn times by hand: `s * b * a / B`. Nine packets of flow 0 and three of flow 1 wait 4 ms; two flows share
/// the queue. The first packet of flow 0 counts for 4 * 9 * 2 / 12 = 6 ms. When three packets of each are left, each counts
/// for 4 ms. Flow 0 gone, the last packet of flow 1 counts for 4 * 1 * 1 / 1.
#[test]
fn weighted_by_the_part_of_the_queue() {
    let mut bench = Bench::new(&alone(), Limit::Unlimited);
    for flow in [0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1] {
        arrive(&mut bench, 0, flow, Kind::Ect0);
    }
    let mut weighted = || {
        let left = bench.dequeue(4 * MS).unwrap();
        let ms = bench.probed("weighted_s").unwrap() * 1e3;
        (left.flow, (ms * 1e3).round() / 1e3, bench.probed("active_flows").unwrap())
    };
    assert_eq!(weighted(), (0, 6.0, 2.0));
    // 8 of 11, 7 of 10, 6 of 9, 5 of 8, 4 of 7, 3 of 6.
    for ms in [5.818, 5.6, 5.333, 5.0, 4.571, 4.0] {
        assert_eq!(weighted(), (0, ms, 2.0));
    }
    // 3 of 5, 2 of 4, 2 of 3, 1 of 2 of two flows; then 1 of 1 of one.
    for (flow, ms, active) in [(1, 4.8, 2.0), (0, 4.0, 2.0), (1, 5.333, 2.0), (0, 4.0, 1.0), (1, 4.0, 0.0)] {
        assert_eq!(weighted(), (flow, ms, active));
    }
}

/// Of two flows in a queue that stands at 4 ms, below the target, the one with three quarters of it is signalled (6 ms), and
/// the other is not (2 ms). COBALT signals neither.
#[test]
fn the_larger_part_is_signalled() {
    for (spec, signals_heavy) in [(alone(), true), (QueueSpec::new(CobaltParams::default()), false)] {
        let mut bench = Bench::new(&spec, Limit::Unlimited);
        let mut marks = [0_u32; 2];
        let mut next = 0_u32;
        // 12 packets at 3 packets/ms.
        for slot in 0..6_000_u64 {
            while bench.backlog().packets < 12 {
                arrive(&mut bench, slot * MS / 3, u32::from(next % 4 == 3), Kind::Ect0);
                next += 1;
            }
            let left = bench.dequeue(slot * MS / 3).unwrap();
            marks[left.flow as usize] += u32::from(left.ecn == windtunnel_wire::Ecn::Ce);
        }
        assert_eq!((marks[0] > 10, marks[1]), (signals_heavy, 0), "{marks:?}");
    }
}

/// The last packet of a flow is not dropped, whatever the schedule and BLUE say: a queue that is always left after 2 s
/// drops packets of a flow that has more, and none of one that has a single packet.
#[test]
fn the_last_packet_of_a_flow_is_not_dropped() {
    let mut bench = Bench::new(&alone(), Limit::Unlimited);
    bench.cx.deliver_drops = false;
    let mut single = 0;
    for round in 0..200_u64 {
        let at = round * 3_000 * MS;
        (0..5).for_each(|_| arrive(&mut bench, at, 0, Kind::NotEct));
        arrive(&mut bench, at, 1, Kind::NotEct);
        while let Some(left) = bench.dequeue(at + 2_000 * MS) {
            single += u32::from(left.flow == 1);
        }
    }
    assert_eq!(single, 200);
    assert!(bench.drops().iter().all(|dropped| dropped.flow.get() == 0));
    assert!(bench.stats().drops_aqm > 20, "{:?}", bench.stats());
}

/// The count of a flow's packets stays true where a full scheduler loses packets behind the AQM's back: an empty queue has
/// no active flow.
#[test]
fn lost_packets_are_forgotten() {
    let inside = |spec: QueueSpec| spec.with("aqm", CodelAfParams::default());
    let full = FqCodelParams { memory_limit: Bytes::new(9_000), ..FqCodelParams::default() };
    let one_by_lfq = LfqParams { aqm_instances: windtunnel_qdisc::AqmInstances::One, ..LfqParams::default() };
    for (spec, band) in [
        (inside(QueueSpec::new(CnqParams::default())), 1),
        (inside(QueueSpec::new(full)), 0),
        (inside(QueueSpec::new(SfqParams::default())), 0),
        (inside(QueueSpec::new(one_by_lfq)), 1),
        (QueueSpec::new(TwinAfParams::default()), 0),
    ] {
        let mut bench = Bench::new(&spec, Limit::Packets(6));
        bench.cx.deliver_drops = false;
        for n in 0..40_u32 {
            arrive(&mut bench, u64::from(n) * MS, [0, 0, 0, 1][n as usize % 4], Kind::Ect0);
        }
        assert!(bench.stats().lost > 0, "{spec:?}");
        assert!(bench.probed_band(band, "active_flows").unwrap() > 0.0);
        while bench.dequeue(50 * MS).is_some() {}
        assert_eq!(bench.probed_band(band, "active_flows"), Some(0.0), "{spec:?}");
    }
}

/// Twin-AF serves classes by their flows: against three flows of the default class, the low-delay class's single flow gets
/// a quarter of the packets, and not half of them. Alone, each class gets all.
#[test]
fn classes_share_by_flows() {
    let params = TwinAfParams { dscp: Dscp::MDS.get(), ..TwinAfParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    let mut left = [0_u32; 4];
    for slot in 0..4_000_u64 {
        for flow in 0..4 {
            let kind = if flow == 3 { Kind::Mds } else { Kind::Ect0 };
            // Each flow has 3 packets queued more than it has had.
            while slot == 0 && bench.backlog().packets < 3 * (flow as usize + 1) {
                arrive(&mut bench, 0, flow, kind);
            }
        }
        let flow = bench.dequeue(slot * 1_000).unwrap().flow;
        left[flow as usize] += 1;
        arrive(&mut bench, slot * 1_000, flow, if flow == 3 { Kind::Mds } else { Kind::Ect0 });
    }
    assert!(left.iter().all(|&packets| packets.abs_diff(1_000) <= 3), "{left:?}");
}

/// A full Twin-AF loses the oldest packets of the class that holds more bytes, as many as the arriving packet needs;
/// the one that has been chosen stays, and then the other class pays (spec/queues-and-signalling section 11). With
/// loss-free endpoints none is lost.
#[test]
fn the_larger_class_pays() {
    let (low, other) = (Kind::Mds, Kind::Ect0);
    let many = [(other, 1_000), (other, 1_000), (low, 500), (low, 500), (low, 500)];
    for (limit, packets, is_chosen, left) in [
        (Limit::Packets(5), [&many[..], &[(low, 500)]].concat(), false, vec![1, 2, 3, 4, 5]),
        (Limit::Packets(5), [&many[..], &[(low, 600), (low, 600)]].concat(), false, vec![1, 3, 4, 5, 6]),
        (Limit::Bytes(Bytes::new(3_500)), [&many[..], &[(low, 1_500)]].concat(), false, vec![1, 3, 4, 5]),
        (Limit::Packets(2), vec![(other, 1_000), (low, 500), (low, 500)], true, vec![0, 2]),
        (Limit::Packets(2), vec![(low, 1_000), (other, 500), (other, 500)], true, vec![0, 2]),
    ] {
        for deliver_drops in [false, true] {
            let params = TwinAfParams { dscp: Dscp::MDS.get(), ..TwinAfParams::default() };
            let mut bench = Bench::new(&QueueSpec::new(params), limit);
            bench.cx.deliver_drops = deliver_drops;
            for (n, (kind, size)) in packets.iter().enumerate() {
                let packet = bench.packet(n as u32, *size, *kind);
                bench.enqueue(0, packet);
                if is_chosen {
                    assert_eq!(bench.choose(0), Some(Bytes::new(1_000)));
                }
            }
            let mut seqs: Vec<u64> = std::iter::from_fn(|| bench.dequeue(0)).map(|left| left.seq).collect();
            seqs.sort_unstable();
            if deliver_drops {
                assert_eq!(seqs.len(), packets.len(), "{limit:?}");
            } else {
                assert_eq!(seqs, left, "{limit:?}");
            }
        }
    }
}

/// Debts of the classes by hand (spec/queues-and-signalling section 11): each turn costs a class as many as the other
/// has flows that want to send, packets in the sparse band among them, and the smaller debt is taken off both.
#[test]
fn debts() {
    let params = TwinAfParams { dscp: Dscp::MDS.get(), ..TwinAfParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    for (flow, kind) in [(0, Kind::Ect0), (1, Kind::Ect0), (2, Kind::Mds), (3, Kind::Mds), (4, Kind::Mds)] {
        arrive(&mut bench, 0, flow, kind);
    }
    let turns = [(); 5].map(|()| {
        let flow = bench.dequeue(0).expect("a packet").flow;
        (flow, bench.probe("debt"), bench.probe("low_delay_debt"))
    });
    // Of equal debts, the low-delay class goes. It owes 2 then, for flows 0 and 1; default's turn costs 2, for flows
    // 3 and 4.
    assert_eq!(turns, [(2, 0, 2), (0, 0, 0), (3, 0, 1), (1, 0, 0), (4, 0, 0)]);
}

/// After each turn dummies at the head of the bulk band vanish, in both classes: a flow whose packet has left is
/// sparse again, and not active, although its class has not been asked since.
#[test]
fn dummies_vanish_after_a_turn() {
    let params = TwinAfParams { dscp: Dscp::MDS.get(), ..TwinAfParams::default() };
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    for (at, kind) in [(0, Kind::Ect0), (MS, Kind::Ect0), (2 * MS, Kind::Mds), (3 * MS, Kind::Mds)] {
        arrive(&mut bench, at, 7, kind);
        let band = usize::from(kind == Kind::Mds);
        assert_eq!(bench.probed_band(band, "active_flows"), Some(0.0), "{at}");
        assert!(bench.dequeue(at).is_some());
    }
}

/// The times of the low-delay class are a fifth: CE comes 20 ms after the first packet that waited for more than 1 ms, and
/// SCE 5 ms after the first that waited for more than 0.5 ms; in the other class CE comes 100 ms after one of 5 ms.
#[test]
fn times_of_the_classes() {
    let params = TwinAfParams { dscp: Dscp::MDS.get(), ..TwinAfParams::default() };
    for (kind, target, ce_ms, sce_ms) in
        [(Kind::Ect0, 5_000, Some(100), None), (Kind::Mds, 1_000, Some(20), Some(5))]
    {
        let mut bench = Bench::new(&QueueSpec::new(params.clone()), Limit::Unlimited);
        let [mut over, mut over_sce, mut ce, mut sce] = [None; 4];
        for slot in 0..300_u64 {
            while bench.backlog().packets < 20 {
                arrive(&mut bench, slot * MS, 0, kind);
            }
            let left = bench.dequeue(slot * MS).unwrap();
            for (start, micros) in [(&mut over, target), (&mut over_sce, target / 2)] {
                if left.sojourn > Duration::from_micros(micros) {
                    start.get_or_insert(slot);
                }
            }
            match left.ecn {
                windtunnel_wire::Ecn::Ce => _ = ce.get_or_insert(slot),
                windtunnel_wire::Ecn::Ect1 => _ = sce.get_or_insert(slot),
                _ => {}
            }
        }
        let after = |signal: Option<u64>, start: Option<u64>| Some(signal? - start?);
        assert_eq!((after(ce, over), after(sce, over_sce)), (ce_ms, sce_ms), "{kind:?}");
    }
}

/// Parameters that mean nothing are refused, with key and value.
#[test]
fn refusals() {
    fn refused(params: impl QueueParams) -> String {
        QueueSpec::new(params).check().unwrap_err().to_string()
    }
    let af = CodelAfParams::default;
    let twin = TwinAfParams::default;
    assert!(refused(CodelAfParams { flows: 0, ..af() }).starts_with("flows = 0"));
    assert!(refused(CodelAfParams { target: Duration::ZERO, ..af() }).starts_with("target = 0 s"));
    assert!(refused(CodelAfParams { target: af().rtt, ..af() }).starts_with("target = 100 ms"));
    for dscp in [0, 64] {
        assert!(refused(TwinAfParams { dscp, ..twin() }).starts_with("dscp = "));
    }
    let tiny = TwinAfParams { target: Duration::from_nanos(4), ..twin() };
    assert!(refused(tiny).starts_with("divisor = 5"));
}

/// What CodelAF alone sees of a packet with a sojourn of `sojourn_us`, and of a queue of `others` more packets.
fn views(at_ms: u64, flow: u32, class: Class, sojourn_us: u64, others: usize) -> (PacketView, QueueView) {
    let packet = PacketView {
        size: Bytes::new(1_500),
        flow: FlowId::new(flow),
        dscp: Dscp::DEFAULT,
        ecn: Ecn::Ect0,
        class,
        sojourn: Duration::from_micros(sojourn_us),
        replaces: false,
    };
    let bytes = Bytes::new(1_500) * others as u64;
    let queue = QueueView {
        now: Time::from_nanos(at_ms * MS),
        packets: others,
        bytes,
        all_bytes: bytes,
        head_waiting: None,
        rate: Rate::from_mbps(100),
    };
    (packet, queue)
}

/// Three flows are over the target at 1 ms, their first signals are due at 101 ms, and no more packets come. At each
/// departure, and whenever the link finds an empty queue, one flow in turn learns that it is idle; so does a flow
/// that has sent a sparse packet. Such a flow waits for another interval when it comes back at 200 ms. The third
/// departure was the turn of flow 0.
#[test]
fn idle_flows_learn_of_it_in_turn() {
    let marked = |tell: fn(&mut CodelAf, Time)| -> Vec<u32> {
        let comes_back_marked = |&flow: &u32| {
            let mut af = CodelAf::new(&CodelAfParams::default(), 1);
            let view = |flow: u32, others| views(1, flow, Class::Conventional, 10_000, others);
            for flow in 0..3 {
                let (packet, queue) = view(flow, flow as usize);
                af.on_enqueue(&packet, &queue);
            }
            for flow in 0..3 {
                let (packet, queue) = view(flow, 2 - flow as usize);
                assert_eq!(af.on_dequeue(&packet, &queue), Verdict::Pass);
            }
            tell(&mut af, Time::from_nanos(2 * MS));
            let (packet, queue) = views(200, flow, Class::Conventional, 10_000, 0);
            af.on_enqueue(&packet, &queue);
            af.on_dequeue(&packet, &queue) == Verdict::Mark(Signal::Ce)
        };
        (0..3).filter(comes_back_marked).collect()
    };
    assert_eq!(marked(|_, _| {}), [1, 2]);
    assert_eq!(marked(Aqm::on_empty), [2]);
    let twice = |af: &mut CodelAf, now| {
        af.on_empty(now);
        af.on_empty(now);
    };
    assert_eq!(marked(twice), [0; 0]);
    // A sparse packet leaves: its flow is idle, and it is the turn of flow 1.
    assert_eq!(marked(|af, now| af.on_sparse(FlowId::new(1), now)), [2]);
    assert_eq!(marked(|af, now| af.on_sparse(FlowId::new(2), now)), [0; 0]);
}

/// The first signal of a flow alone comes an interval after the first packet over the target, that of SCE after the
/// part `1 / sce` of it, and none by default. A sojourn time of 4 packets' transmission times is no queue. A second
/// packet always stays, so that the flow is not idle.
#[test]
fn first_signals() {
    let af = CodelAfParams::default;
    let slow = CodelAfParams { mtu_time: Duration::from_millis(5), ..af() };
    let (sce, ce) = (Verdict::Mark(Signal::Sce), Verdict::Mark(Signal::Ce));
    for (params, sojourn_us, signal, first) in [
        (af(), 20_000, ce, Some(100)),
        (af(), 5_000, ce, None),
        (af(), 20_000, sce, None),
        (CodelAfParams { sce: 4, ..af() }, 4_000, sce, Some(25)),
        (CodelAfParams { sce: 2, ..af() }, 4_000, sce, Some(50)),
        (slow.clone(), 20_000, ce, None),
        (slow, 20_001, ce, Some(100)),
    ] {
        let mut af = CodelAf::new(&params, 1);
        let view = |at| views(at, 0, Class::Sce, sojourn_us, 1);
        af.on_enqueue(&view(0).0, &view(0).1);
        let mark = (0..500).find(|&at| {
            let (packet, queue) = view(at);
            af.on_enqueue(&packet, &queue);
            af.on_dequeue(&packet, &queue) == signal
        });
        assert_eq!(mark, first, "{params:?} {sojourn_us} {signal:?}");
    }
}
