//! Schedulers in turns: Shreedhar and Varghese 1995, tc-drr(8), tc-sfq(8), spec/queues-and-signalling section 13.

use windtunnel_qdisc::{
    CodelParams, DropReason, DrrParams, FifoParams, Filter, FlowHash, FqPieParams, Limit, QueueSpec,
    ReplacedParams, SfqParams, TbfParams, WrrParams,
};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::bench::{Bench, Kind};

/// Flow n goes to band n.
fn by_flow(bands: u32) -> Vec<Filter> {
    (0..bands).map(|band| Filter { band, flows: vec![band], ..Filter::default() }).collect()
}

fn drr(quanta: &[u64]) -> DrrParams {
    let quanta: Vec<Bytes> = quanta.iter().copied().map(Bytes::new).collect();
    DrrParams { filters: by_flow(quanta.len() as u32), quanta, default_band: 0 }
}

fn send(bench: &mut Bench, at: u64, flow: u32, size: u64, count: usize) {
    for _ in 0..count {
        let packet = bench.packet(flow, size, Kind::NotEct);
        bench.enqueue(at, packet);
    }
}

fn bench(spec: &QueueSpec, limit: Limit) -> Bench {
    let mut bench = Bench::new(spec, limit);
    bench.cx.deliver_drops = false;
    bench
}

fn flows(bench: &mut Bench, at: u64, most: usize) -> Vec<u32> {
    (0..most).map_while(|_| bench.dequeue(at)).map(|left| left.flow).collect()
}

/// The example of the paper's section 3: quantum 500; queue 0 has packets of 200, 750 and 200 B, queue 1 of 500, 500.
/// In its first turn queue 0 sends 200 and keeps 300; queue 1 sends one. In its second, 800 B of credit cover 750, and
/// 50 are left.
#[test]
fn deficits() {
    let mut bench = bench(&QueueSpec::new(drr(&[500, 500])), Limit::Unlimited);
    for size in [200, 750, 200] {
        send(&mut bench, 0, 0, size, 1);
    }
    send(&mut bench, 0, 1, 500, 2);
    assert_eq!(flows(&mut bench, 1, 5), [0, 1, 0, 1, 0]);
}

/// Shares of bytes are in proportion to the quanta, whatever the packets' sizes: 1 to 3 within a quantum of each in a
/// hundred turns. By packets, 1 to 3 in packets.
#[test]
fn shares() {
    let mut by_bytes = bench(&QueueSpec::new(drr(&[1_500, 4_500])), Limit::Unlimited);
    send(&mut by_bytes, 0, 0, 1_500, 200);
    send(&mut by_bytes, 0, 1, 300, 2_000);
    let left = flows(&mut by_bytes, 1, 1_600);
    let small = left.iter().filter(|flow| **flow == 1).count();
    let (large, small) = ((left.len() - small) * 1_500, small * 300);
    assert!((3 * large).abs_diff(small) <= 3 * 1_500 + 4_500, "{large} and {small} B");

    let params = WrrParams { weights: vec![1, 3], filters: by_flow(2), default_band: 0 };
    let mut by_packets = bench(&QueueSpec::new(params), Limit::Unlimited);
    send(&mut by_packets, 0, 0, 1_500, 4);
    send(&mut by_packets, 0, 1, 300, 12);
    assert_eq!(flows(&mut by_packets, 1, 8), [0, 1, 1, 1, 0, 1, 1, 1]);
}

/// A class that has nothing to send loses its credit: it returns with one quantum.
#[test]
fn no_credit_is_saved() {
    let mut bench = bench(&QueueSpec::new(drr(&[1_000, 1_000])), Limit::Unlimited);
    send(&mut bench, 0, 0, 100, 1);
    assert_eq!(flows(&mut bench, 1, 1), [0]);
    send(&mut bench, 2, 1, 500, 4);
    send(&mut bench, 2, 0, 500, 4);
    assert_eq!(flows(&mut bench, 3, 8), [1, 1, 0, 0, 1, 1, 0, 0]);
}

/// A class behind a shaper passes while it waits: the other has the link, and the shaper its rate.
#[test]
fn a_shaped_class() {
    let shaper =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let spec = QueueSpec::new(drr(&[1_500, 1_500]))
        .around("children", [QueueSpec::new(shaper), QueueSpec::new(FifoParams::default())]);
    let mut bench = bench(&spec, Limit::Unlimited);
    send(&mut bench, 0, 0, 1_500, 3);
    send(&mut bench, 0, 1, 1_500, 3);
    assert_eq!(flows(&mut bench, 0, 9), [0, 1, 1, 1]);
    assert_eq!(bench.next_ready(0), Some(1_000_000));
    assert_eq!(flows(&mut bench, 1_000_000, 9), [0]);
}

/// sfq: a flow that becomes active waits for the others, and each sends up to its allotment and a packet more.
#[test]
fn stochastic_fairness() {
    let mut bench = bench(&QueueSpec::new(SfqParams::default()), Limit::Packets(127));
    send(&mut bench, 0, 0, 1_500, 3);
    send(&mut bench, 0, 1, 1_000, 4);
    send(&mut bench, 0, 2, 1_500, 1);
    // Flow 1 sends two packets in each turn but its last: 1500 - 1000 > 0.
    assert_eq!(flows(&mut bench, 1, 8), [0, 1, 1, 2, 0, 1, 0, 1]);
}

/// Over its limit, sfq loses the newest packet of the flow that has the most, or its oldest with `headdrop`; a flow has at
/// most `depth` packets, and at most `flows` flows have any.
#[test]
fn what_sfq_loses() {
    for (headdrop, lost) in [(false, 3), (true, 0)] {
        let params = SfqParams { headdrop, ..SfqParams::default() };
        let mut bench = bench(&QueueSpec::new(params), Limit::Packets(5));
        send(&mut bench, 0, 0, 1_500, 4);
        send(&mut bench, 0, 1, 1_500, 2);
        assert_eq!(bench.drops()[0].reason, DropReason::Overlimit);
        let left: Vec<u64> = std::iter::from_fn(|| bench.dequeue(1)).map(|left| left.seq).collect();
        assert_eq!(left.len(), 5);
        assert!(!left.contains(&lost), "{left:?}");
    }
    let params = SfqParams { depth: 2, flows: 1, ..SfqParams::default() };
    let mut bench = bench(&QueueSpec::new(params), Limit::Packets(127));
    send(&mut bench, 0, 0, 1_500, 3);
    send(&mut bench, 0, 1, 1_500, 1);
    assert_eq!(
        bench.drops().iter().map(|drop| (drop.flow.get(), drop.reason)).collect::<Vec<_>>(),
        [(0, DropReason::Full), (1, DropReason::Full)]
    );
}

/// `divisor` is the number of buckets that a hash has to choose from.
#[test]
fn buckets_of_sfq() {
    for (divisor, names) in [(1, vec!["bucket 0"]), (2, vec!["bucket 0", "bucket 1"])] {
        let params = SfqParams { hash: FlowHash::Jenkins, divisor, ..SfqParams::default() };
        let mut bench = bench(&QueueSpec::new(params), Limit::Packets(127));
        (0..40).for_each(|flow| send(&mut bench, 0, flow, 100, 1));
        let mut bands: Vec<String> = bench.bands().into_iter().map(|(name, _)| name).collect();
        bands.sort();
        assert_eq!(bands, names);
    }
}

/// A packet that has been chosen stays. With `headdrop`, a flow that has `depth` packets loses its oldest other one
/// for the new one, and if it has no other, the new one is lost. Over the limit, a flow with only its chosen
/// packet left has nothing to lose; else its chosen packet counts like its other ones, and among equal flows the
/// arriving one pays.
#[test]
fn the_chosen_packet_of_sfq() {
    for (headdrop, depth, limit, before, after, left) in [
        (true, 2, 127, vec![0, 0], vec![0], vec![0, 2]),
        (true, 1, 127, vec![0], vec![0], vec![0]),
        (false, 127, 1, vec![0], vec![1], vec![0]),
        (false, 127, 3, vec![0, 0, 0], vec![1], vec![0, 3, 1]),
        (true, 127, 3, vec![0, 0, 0], vec![1], vec![0, 3, 2]),
        (false, 127, 3, vec![0, 1, 1], vec![0], vec![0, 1, 2]),
        (false, 127, 2, vec![0, 1], vec![2], vec![0, 1]),
    ] {
        let params = SfqParams { headdrop, depth, ..SfqParams::default() };
        let mut bench = bench(&QueueSpec::new(params), Limit::Packets(limit));
        for &flow in &before {
            send(&mut bench, 0, flow, 1_500, 1);
        }
        assert_eq!(bench.choose(0), Some(Bytes::new(1_500)));
        for &flow in &after {
            send(&mut bench, 0, flow, 1_500, 1);
        }
        let seqs: Vec<u64> = std::iter::from_fn(|| bench.dequeue(1)).map(|left| left.seq).collect();
        assert_eq!(seqs, left, "{headdrop} {depth} {limit} {before:?} {after:?}");
    }
    // Nothing has been chosen: the oldest goes.
    let params = SfqParams { headdrop: true, depth: 2, ..SfqParams::default() };
    let mut bench = bench(&QueueSpec::new(params), Limit::Packets(127));
    send(&mut bench, 0, 0, 1_500, 3);
    assert_eq!(std::iter::from_fn(|| bench.dequeue(1)).map(|left| left.seq).collect::<Vec<_>>(), [1, 2]);
}

/// sfq's RED, by hand: with thresholds of 2 and 3 kB and a burst of 2 packets, each packet has the weight 1/2. The
/// packet that makes a flow active is not examined; the averages that the next ones find are 500, 1250, 2125 (in the
/// band, a gap starts), 3062 and 4031 B, so that the fifth and the sixth of 1000 B are signalled for certain. With
/// `headdrop` the signal goes to the oldest packet of the flow instead. Another flow has an average of its own.
#[test]
fn red_of_sfq() {
    let red = SfqParams {
        redflowlimit: Some(Bytes::new(20_000)),
        min: Some(Bytes::new(2_000)),
        max: Some(Bytes::new(3_000)),
        burst: Some(2),
        ecn: true,
        ..SfqParams::default()
    };
    let marked = |params: &SfqParams, ect: bool| {
        let mut bench = Bench::new(&QueueSpec::new(params.clone()), Limit::Packets(127));
        bench.cx.deliver_drops = false;
        for _ in 0..6 {
            let packet = bench.packet(0, 1_000, if ect { Kind::Ect0 } else { Kind::NotEct });
            bench.enqueue(0, packet);
        }
        send(&mut bench, 0, 1, 1_000, 4);
        let left: Vec<_> = std::iter::from_fn(|| bench.dequeue(1)).filter(|left| left.flow == 0).collect();
        // The flow has been idle: its average starts anew.
        send(&mut bench, 2, 0, 1_000, 4);
        assert_eq!(flows(&mut bench, 2, 9), [0; 4]);
        let marks: Vec<u64> =
            left.iter().filter(|left| left.ecn == windtunnel_wire::Ecn::Ce).map(|left| left.seq).collect();
        (left.iter().map(|left| left.seq).collect::<Vec<_>>(), marks)
    };
    let head = SfqParams { headdrop: true, ..red.clone() };
    assert_eq!(marked(&red, true), (vec![0, 1, 2, 3, 4, 5], vec![4, 5]));
    assert_eq!(marked(&head, true), (vec![0, 1, 2, 3, 4, 5], vec![0]));
    assert_eq!(marked(&red, false), (vec![0, 1, 2, 3], vec![]));
    assert_eq!(marked(&head, false), (vec![2, 3, 4, 5], vec![]));
    let hard = |params: SfqParams| SfqParams { harddrop: true, ..params };
    assert_eq!(marked(&hard(red), true), (vec![0, 1, 2, 3], vec![]));
    assert_eq!(marked(&hard(head), true), (vec![2, 3, 4, 5], vec![]));
}

/// FQ-PIE loses what arrives at a full queue, at the cost of no other flow (`fq_codel` takes from the longest); memory is
/// counted and not limited; each flow has a PIE, and all are updated at once.
#[test]
fn fq_pie() {
    let params = FqPieParams { memory_limit: Bytes::new(3_000), ..FqPieParams::default() };
    let mut bench = bench(&QueueSpec::new(params), Limit::Packets(5));
    send(&mut bench, 0, 0, 1_500, 5);
    send(&mut bench, 0, 1, 1_500, 1);
    let lost = bench.drops();
    assert_eq!((lost.len(), lost[0].flow.get(), lost[0].reason), (1, 1, DropReason::Full));
    assert_eq!(bench.probe("overmemory_packets"), 4, "above 3000 B from the second packet on");
    // Half a second after it was created, and then every 15 ms, by a timer of the kernel with its tick.
    for (tick, first, period) in [(1, 504, 16), (4, 512, 20)] {
        let params = FqPieParams { tick: Duration::from_millis(tick), ..FqPieParams::default() };
        let mut bench = self::bench(&QueueSpec::new(params), Limit::Packets(5));
        let call = bench.next_timer().unwrap();
        assert_eq!(call.since_start(), Duration::from_millis(first));
        bench.run_timers(call.as_nanos());
        assert_eq!(bench.next_timer().unwrap().since(call), Duration::from_millis(period));
    }
}

/// From its time on packets enter the next queue; those of the queue before leave first, and none is lost. The last one is
/// round robin, so that its order tells that it has its turn.
#[test]
fn replaced_in_time() {
    let params = ReplacedParams { at: [10, 20].map(Time::from_nanos).to_vec() };
    let queues = [
        QueueSpec::new(FifoParams::default()),
        QueueSpec::new(FifoParams::default()),
        QueueSpec::new(drr(&[500, 500])),
    ];
    let mut bench = bench(&QueueSpec::new(params).around("children", queues), Limit::Unlimited);
    send(&mut bench, 9, 0, 500, 2);
    send(&mut bench, 10, 1, 500, 1);
    assert_eq!(flows(&mut bench, 11, 1), [0]);
    for flow in [0, 0, 1, 1] {
        send(&mut bench, 20, flow, 500, 1);
    }
    send(&mut bench, 21, 2, 500, 1);
    // What is left of the first, the second, and turns: flow 2 is in the band of those that no filter selects.
    assert_eq!(flows(&mut bench, 22, 9), [0, 1, 0, 1, 0, 1, 2]);
    let arrived: Vec<u64> = bench.cx.accounts.bands.iter().map(|band| band.arrived).collect();
    assert_eq!(arrived, [2, 1, 5]);
}

fn with_red(limit: u64, max: u64) -> SfqParams {
    let [redflowlimit, max] = [limit, max].map(|size| Some(Bytes::new(size)));
    SfqParams { redflowlimit, max, ..SfqParams::default() }
}

/// Parameters that mean nothing are refused.
#[test]
fn refused() {
    let refused = |spec: QueueSpec| spec.check().unwrap_err().to_string();
    for (spec, fault) in [
        (QueueSpec::new(drr(&[1_500])), "quanta = a list of 1"),
        (QueueSpec::new(drr(&[1_500, 0])), "quanta = 0 B is out of range: each at least 64 B"),
        (QueueSpec::new(WrrParams { weights: vec![1, 0], ..WrrParams::default() }), "weights = 0"),
        (QueueSpec::new(ReplacedParams { at: vec![Time::ZERO] }), "at = 0 s is out of range: more than 0 s"),
        (
            QueueSpec::new(ReplacedParams { at: vec![Time::from_nanos(1); 2] }),
            "at = 1 ns is out of range: in order of time, each later than the one before",
        ),
        (
            QueueSpec::new(ReplacedParams { at: (1..102).map(Time::from_nanos).collect() }),
            "at = 101 is out of range: at most 100 times",
        ),
        (
            QueueSpec::new(ReplacedParams::default()).around(
                "children",
                [QueueSpec::new(FifoParams::default()), QueueSpec::new(FifoParams::default())],
            ),
            "at = 0 times is out of range: one time less than there are queues in `children`",
        ),
        (QueueSpec::new(SfqParams { divisor: 3, ..SfqParams::default() }), "divisor = 3"),
        (QueueSpec::new(SfqParams { depth: 0, ..SfqParams::default() }), "depth = 0"),
        (
            QueueSpec::new(SfqParams { ecn: true, ..SfqParams::default() }),
            "ecn = true is out of range: left out without `redflowlimit`, which turns RED on",
        ),
        (
            QueueSpec::new(SfqParams { burst: Some(2), ..SfqParams::default() }),
            "burst = 2 is out of range: left out",
        ),
        (QueueSpec::new(with_red(10_000, 20_000)), "max = 20 kB is out of range: at most `redflowlimit`"),
        (QueueSpec::new(with_red(10_000, 500)), "max = 500 B"),
        (
            QueueSpec::new(with_red(10_000, 9_000)).with("aqm", CodelParams::default()),
            "redflowlimit = 10 kB is out of range: left out next to `aqm`",
        ),
        (QueueSpec::new(FqPieParams { tupdate: Duration::ZERO, ..FqPieParams::default() }), "tupdate = 0 s"),
        (QueueSpec::new(FqPieParams { flows: 0, ..FqPieParams::default() }), "flows = 0"),
        (
            QueueSpec::new(DrrParams::default()).around("children", [QueueSpec::new(CodelParams::default())]),
            "quanta = a list of 2 is out of range: as many as",
        ),
        (
            QueueSpec::new(WrrParams::default()).around("children", [QueueSpec::new(CodelParams::default())]),
            "weights = a list of 2 is out of range: as many as",
        ),
        (
            QueueSpec::new(SfqParams { divisor: 131_072, ..SfqParams::default() }),
            "divisor = 131072 is out of range: a power of two, at most 65536",
        ),
    ] {
        let error = refused(spec);
        assert!(error.starts_with(fault), "{error}");
    }
    // The ends of the ranges are within them.
    for spec in [
        QueueSpec::new(drr(&[64, 64])),
        QueueSpec::new(SfqParams { divisor: 65_536, ..SfqParams::default() }),
        QueueSpec::new(with_red(9_000, 9_000)),
    ] {
        assert_eq!(spec.check(), Ok(()), "{spec:?}");
    }
}
