//! Limits and order of the FIFO: spec/queues-and-signalling section 1.

use std::sync::{Arc, Mutex};

use windtunnel_qdisc::ecn::{EcnMode, EcnPolicy, Outcome};
use windtunnel_qdisc::{
    Aqm, DropReason, Fifo, FifoParams, Limit, PacketView, QueueSpec, QueueView, Signal, Verdict,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};
use windtunnel_wire::Ecn;

use crate::bench::{Bench, Kind};
use crate::overload::Load;

const MS: u64 = 1_000_000;

fn lossy(headdrop: bool, limit: Limit) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(FifoParams { headdrop }), limit);
    bench.cx.deliver_drops = false;
    bench
}

fn arrive(bench: &mut Bench, n: usize, size: u64) {
    for _ in 0..n {
        let packet = bench.packet(0, size, Kind::Ect0);
        bench.enqueue(0, packet);
    }
}

/// All sequence numbers that leave.
fn drain(bench: &mut Bench) -> Vec<u64> {
    std::iter::from_fn(|| bench.dequeue(0)).map(|left| left.seq).collect()
}

/// One packet arriving to `limit` queued packets is dropped.
#[test]
fn packet_limit() {
    let mut bench = lossy(false, Limit::Packets(100));
    arrive(&mut bench, 100, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (100, 0));
    arrive(&mut bench, 1, 52);
    assert_eq!((bench.backlog().packets, bench.stats().lost, bench.stats().drops_full), (100, 1, 1));
    assert_eq!(drain(&mut bench), (0..100).collect::<Vec<_>>());
}

/// `backlog + len <= limit`: a packet that fits exactly is stored, one that is a byte longer is not, and a shorter one
/// may be.
#[test]
fn byte_limit() {
    let mut bench = lossy(false, Limit::Bytes(Bytes::new(3_100)));
    arrive(&mut bench, 2, 1500);
    arrive(&mut bench, 1, 101);
    assert_eq!(bench.backlog().packets, 2);
    arrive(&mut bench, 1, 100);
    assert_eq!(bench.backlog().bytes, Bytes::new(3_100));
    assert_eq!(bench.stats().lost, 1);
}

/// `8 * (backlog + len) / rate <= limit`, strictly at a nanosecond: 12 ms are 100 packets of 1500 bytes at
/// 100 Mbit/s; at a lower rate fewer, and packets that are queued stay.
#[test]
fn time_limit_follows_the_rate() {
    let mut bench = lossy(false, Limit::Time(Duration::from_millis(12)));
    bench.cx.rate = Rate::from_mbps(100);
    arrive(&mut bench, 101, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (100, 1));
    bench.cx.rate = Rate::from_mbps(50);
    arrive(&mut bench, 1, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (100, 2));
    for _ in 0..51 {
        bench.dequeue(0).unwrap();
    }
    arrive(&mut bench, 2, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (50, 3));

    let mut short = lossy(false, Limit::Time(Duration::from_nanos(11_999_999)));
    short.cx.rate = Rate::from_mbps(100);
    arrive(&mut short, 100, 1500);
    assert_eq!(short.backlog().packets, 99);
}

/// With head drop, a full queue drops as many of its oldest packets as necessary.
#[test]
fn head_drop() {
    let mut bench = lossy(true, Limit::Packets(3));
    arrive(&mut bench, 5, 1500);
    assert_eq!((bench.stats().lost, bench.drops().len()), (2, 2));
    assert_eq!(drain(&mut bench), [2, 3, 4]);

    let mut bytes = lossy(true, Limit::Bytes(Bytes::new(1_500)));
    arrive(&mut bytes, 3, 500);
    arrive(&mut bytes, 1, 1_001);
    assert_eq!((bytes.backlog().bytes, bytes.stats().lost), (Bytes::new(1_001), 3));
    // A packet that can never fit empties the queue in vain, and is lost itself.
    arrive(&mut bytes, 1, 1_501);
    assert_eq!((bytes.backlog().packets, bytes.stats().lost), (0, 5));
}

/// With loss-free endpoints a packet that does not fit gets CE, counts as a drop, and is queued (spec/mds
/// section 2); with head drop too, as nothing may be lost to make room.
#[test]
fn deliver_drops() {
    for headdrop in [false, true] {
        let mut bench = lossy(headdrop, Limit::Packets(1));
        bench.cx.deliver_drops = true;
        bench.arrive(0, Kind::Ect0);
        bench.arrive(0, Kind::NotEct);
        assert_eq!(bench.backlog().packets, 2);
        assert_eq!((bench.stats().lost, bench.stats().drops_full, bench.drops().len()), (0, 1, 1));
        let [first, second] = [MS, 2 * MS].map(|at| bench.dequeue(at).unwrap());
        assert_eq!((first.seq, first.ecn, first.outcome), (0, Ecn::Ect0, Outcome::Passed));
        assert_eq!((second.seq, second.ecn, second.outcome), (1, Ecn::Ce, Outcome::Passed));
    }
}

/// Decides the same on every arrival.
#[derive(Debug)]
struct OnArrival(Verdict);

impl Aqm for OnArrival {
    fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        self.0
    }
}

/// An AQM may decide on arrival: marks are made and counted then, dropped packets never enter, or carry CE
/// with loss-free endpoints.
#[test]
fn verdicts_on_arrival() {
    let arrive = |verdict, deliver_drops| {
        let fifo = Fifo::new(OnArrival(verdict), EcnPolicy::default(), Limit::Unlimited);
        let mut bench = Bench::of(Box::new(fifo));
        bench.cx.deliver_drops = deliver_drops;
        bench.arrive(0, Kind::Mds);
        bench
    };
    for (signal, ecn, counted) in [(Signal::Sce, Ecn::Ect1, (1, 0)), (Signal::Ce, Ecn::Ce, (0, 1))] {
        let mut bench = arrive(Verdict::Mark(signal), false);
        assert_eq!((bench.stats().sce, bench.stats().ce), counted);
        let left = bench.dequeue(MS).unwrap();
        assert_eq!((left.ecn, left.outcome), (ecn, Outcome::Passed));
        assert_eq!((bench.stats().sce, bench.stats().ce), counted);
    }
    let lost = arrive(Verdict::Drop, false);
    assert_eq!((lost.backlog().packets, lost.stats().lost, lost.stats().drops_aqm), (0, 1, 1));
    let mut delivered = arrive(Verdict::Drop, true);
    assert_eq!((delivered.stats().lost, delivered.stats().drops_aqm, delivered.drops().len()), (0, 1, 1));
    assert_eq!(delivered.dequeue(MS).unwrap().ecn, Ecn::Ce);
}

/// The sojourn time is that from arrival to departure; the size of the chosen packet is known before it leaves, and
/// choosing twice has the same effect as choosing once.
#[test]
fn sojourn_and_choice() {
    let mut bench = lossy(false, Limit::Unlimited);
    assert_eq!(bench.choose(0), None);
    assert!(bench.serve(0).is_none());
    for (at, size) in [(3, 700), (5, 800)] {
        let packet = bench.packet(0, size, Kind::Ect0);
        bench.enqueue(at, packet);
    }
    assert_eq!([bench.choose(6), bench.choose(7)], [Some(Bytes::new(700)); 2]);
    assert_eq!(bench.backlog().packets, 2);
    assert_eq!(bench.serve(10).unwrap().sojourn, Duration::from_nanos(7));
    assert!(bench.serve(10).is_none());
    assert_eq!(bench.dequeue(11).unwrap().sojourn, Duration::from_nanos(6));
    assert!(bench.dequeue(12).is_none());
    assert_eq!(bench.stats().departed_bytes, Bytes::new(1_500));
}

/// With head drop and a time limit, after the rate has fallen the queue drops as many of the oldest packets as the
/// arriving one needs to fit; after it has risen there is room without drops.
#[test]
fn head_drop_with_a_time_limit() {
    let mut bench = lossy(true, Limit::Time(Duration::from_millis(12)));
    bench.cx.rate = Rate::from_mbps(100);
    arrive(&mut bench, 100, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (100, 0));
    bench.cx.rate = Rate::from_mbps(50);
    arrive(&mut bench, 1, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost, bench.stats().drops_full), (50, 51, 51));
    bench.cx.rate = Rate::from_mbps(200);
    arrive(&mut bench, 150, 1500);
    assert_eq!((bench.backlog().packets, bench.stats().lost), (200, 51));
    assert_eq!(drain(&mut bench), (51..251).collect::<Vec<_>>());
}

/// A head drop is reported to the flow of the oldest packet, a tail drop to that of the arriving one; the record says
/// how long the packet was, and why it was dropped.
#[test]
fn who_is_dropped() {
    for (headdrop, flow, size) in [(false, 2, 200), (true, 1, 100)] {
        let mut bench = lossy(headdrop, Limit::Packets(1));
        for (flow, size) in [(1, 100), (2, 200)] {
            let packet = bench.packet(flow, size, Kind::Ect0);
            bench.enqueue(0, packet);
        }
        let [dropped] = bench.drops()[..] else { panic!("{:?}", bench.drops()) };
        assert_eq!((dropped.flow.get(), dropped.size), (flow, Bytes::new(size)));
        assert_eq!(dropped.reason, DropReason::Full);
    }
}

/// 100 packets of 1500 bytes are 12 ms at 100 Mbit/s, 1000 are 120 ms (test points of section 1): the longest that
/// any packet waits in a full queue, until the link has sent those before it. With tail drop every packet in a full
/// queue does; a link at 2 times its capacity loses half and is never idle (section 19.6, tests 2 and 4), and
/// nothing is ever marked.
#[test]
fn overload() {
    for (packets, ms) in [(100, 12), (1_000, 120)] {
        for kind in Kind::ALL {
            let limits = [
                Limit::Packets(packets),
                Limit::Bytes(Bytes::new(1_500 * packets as u64)),
                Limit::Time(Duration::from_millis(ms)),
            ];
            for limit in limits {
                for headdrop in [false, true] {
                    let mut bench = lossy(headdrop, limit);
                    bench.cx.rate = Rate::from_mbps(100);
                    let load = Load { kind, service_ns: 120_000, interval_ns: 60_000 };
                    let mut longest = Duration::ZERO;
                    let mut ecn = None;
                    let idle = load.run(&mut bench, 0..2_000 * MS, |_, left| {
                        longest = longest.max(left.sojourn);
                        assert_eq!(*ecn.get_or_insert(left.ecn), left.ecn);
                    });
                    let case = format!("{limit:?} {headdrop} {kind:?}");
                    assert_eq!(idle, 0, "{case}");
                    let queued = bench.backlog().packets;
                    assert!(queued == packets || queued == packets - 1, "{queued} {case}");
                    let stats = bench.stats();
                    assert_eq!(stats.departed, 2_000 * MS / 120_000 + 1, "{case}");
                    assert_eq!(stats.arrived, stats.departed + stats.lost + queued as u64, "{case}");
                    assert_eq!((stats.sce, stats.ce, stats.drops_aqm), (0, 0, 0), "{case}");
                    // A head drop shortens the wait of the packets behind it: none waits for `packets` packets, because
                    // every second one before it is lost.
                    let full = Duration::from_millis(ms);
                    let expected = if headdrop { full / 2 } else { full };
                    let packet = Duration::from_nanos(120_000);
                    assert!(longest <= expected && longest + packet * 2 > expected, "{longest} {case}");
                }
            }
        }
    }
}

/// Head drop spares the packet that has been chosen: the one behind it makes room, and the chosen one is served. If
/// there is no other, the arriving packet is lost.
#[test]
fn head_drop_spares_the_chosen() {
    let mut bench = lossy(true, Limit::Packets(2));
    arrive(&mut bench, 2, 1500);
    assert_eq!(bench.choose(1), Some(Bytes::new(1_500)));
    arrive(&mut bench, 1, 1500);
    assert_eq!(bench.stats().drops_full, 1);
    assert_eq!(bench.serve(2).map(|left| left.seq), Some(0));
    assert_eq!(drain(&mut bench), [2]);

    let mut one = lossy(true, Limit::Packets(1));
    arrive(&mut one, 1, 1500);
    one.choose(1);
    arrive(&mut one, 1, 1500);
    assert_eq!((one.stats().drops_full, drain(&mut one)), (1, vec![0]));
}

/// Drops some packets, and records what it is told.
#[derive(Debug)]
struct Witness {
    drops: Vec<u64>,
    told: Arc<Mutex<Vec<(u64, bool, u64)>>>,
}

impl Aqm for Witness {
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        self.told.lock().unwrap().push((packet.size.get(), packet.replaces, queue.bytes.get()));
        if self.drops.contains(&packet.size.get()) { Verdict::Drop } else { Verdict::Pass }
    }

    fn on_empty(&mut self, _now: Time) {
        self.told.lock().unwrap().push((0, false, 0));
    }
}

/// What RFC 8289 asks of a queue: the AQM learns that a packet leaves in place of one that it has just dropped, how
/// much is queued after each removal, and when no packet is left, whether after drops or because the link asked an
/// empty queue. A packet that was chosen before is not replaced by another.
#[test]
fn replacements() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let witness = Witness { drops: vec![100, 200, 500], told: Arc::clone(&told) };
    let mut bench = Bench::of(Box::new(Fifo::new(witness, EcnPolicy::default(), Limit::Unlimited)));
    bench.cx.deliver_drops = false;
    for size in [100, 200, 300, 400, 500] {
        let packet = bench.packet(0, size, Kind::NotEct);
        bench.enqueue(0, packet);
    }
    let left: Vec<u64> = (0..4).filter_map(|_| bench.dequeue(1)).map(|left| left.seq).collect();
    assert_eq!(left, [2, 3]);
    let expected = [
        (100, false, 1_400),
        (200, true, 1_200),
        (300, true, 900),
        (400, false, 500),
        (500, false, 0),
        (0, false, 0),
        (0, false, 0),
    ];
    assert_eq!(*told.lock().unwrap(), expected);

    told.lock().unwrap().clear();
    for size in [100, 300] {
        let packet = bench.packet(0, size, Kind::NotEct);
        bench.enqueue(2, packet);
    }
    assert_eq!(bench.choose(2), Some(Bytes::new(100)));
    assert!(bench.serve(3).is_none());
    assert_eq!(bench.choose(3), Some(Bytes::new(300)));
    assert!(bench.serve(4).is_some());
    assert_eq!(bench.choose(4), None);
    assert_eq!(*told.lock().unwrap(), [(100, false, 300), (300, false, 0), (0, false, 0)]);
}

/// A packet whose class no mark can reach is not markable, so that its AQM knows that a mark would be a drop.
#[test]
fn markable() {
    for (kind, mode, expected) in [
        (Kind::NotEct, EcnMode::Mds, false),
        (Kind::Ect0, EcnMode::Mds, true),
        (Kind::Ect1, EcnMode::Mds, false),
        (Kind::Mds, EcnMode::Mds, true),
        (Kind::Ect1, EcnMode::Rfc3168, true),
        (Kind::Ect1, EcnMode::L4s, true),
        (Kind::Ect0, EcnMode::L4s, true),
        (Kind::Ect0, EcnMode::None, false),
    ] {
        let packet = lossy(false, Limit::Unlimited).packet(0, 100, kind);
        let class = EcnPolicy { mode, ..EcnPolicy::default() }.classify(&packet);
        let view = PacketView {
            size: packet.size(),
            flow: packet.flow,
            dscp: packet.dscp,
            ecn: packet.ecn,
            class,
            sojourn: Duration::ZERO,
            replaces: false,
        };
        assert_eq!(view.markable(), expected, "{kind:?} {mode:?}");
    }
}
