//! Queues inside of queues: what counts where, who has chosen, and whose time, rate and seed it is.

use windtunnel_qdisc::{
    BrickWallParams, ChildSpec, CodelParams, Filter, FqCodelParams, Limit, PieParams, PrioParams, QueueInit,
    QueueSpec, RedParams, RedRandom, TbfParams,
};
use windtunnel_units::{Bytes, Duration, Probability, Rate};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

/// Strict priority over two queues; flow 0 has the first.
fn prio(children: [QueueSpec; 2]) -> QueueSpec {
    let first = Filter { band: 0, flows: vec![0], ..Filter::default() };
    QueueSpec::new(PrioParams { bands: 2, filters: vec![first], default_band: 1 })
        .around("children", children)
}

fn fifo() -> QueueSpec {
    QueueSpec::new(windtunnel_qdisc::FifoParams::default())
}

fn send(bench: &mut Bench, at: u64, flows: impl IntoIterator<Item = u32>) {
    for flow in flows {
        let packet = bench.packet(flow, 1_500, Kind::Ect0);
        bench.enqueue(at, packet);
    }
}

/// The first band goes first, in each its own order; a choice stands although a packet of the first band arrives.
#[test]
fn strict_priority() {
    let mut bench = Bench::new(&prio([fifo(), fifo()]), Limit::Unlimited);
    send(&mut bench, 0, [1, 0, 2, 0]);
    let left: Vec<_> = std::iter::from_fn(|| bench.dequeue(1)).map(|left| (left.flow, left.seq)).collect();
    assert_eq!(left, [(0, 1), (0, 3), (1, 0), (2, 2)]);

    send(&mut bench, 2, [1]);
    assert_eq!(bench.choose(2), Some(Bytes::new(1_500)));
    send(&mut bench, 3, [0]);
    assert_eq!(bench.choose(3), Some(Bytes::new(1_500)));
    assert_eq!(bench.serve(4).map(|left| left.flow), Some(1));
    assert_eq!(bench.dequeue(4).map(|left| left.flow), Some(0));
}

/// A queue with a shaper inside says when that wants to be asked again, and the other band has the link meanwhile.
#[test]
fn a_shaped_band() {
    let rate = Some(Rate::from_mbps(12));
    let shaper = QueueSpec::new(TbfParams { rate, burst: Bytes::new(1_500), ..TbfParams::default() });
    let mut bench = Bench::new(&prio([shaper, fifo()]), Limit::Unlimited);
    assert_eq!(bench.next_ready(0), None);
    send(&mut bench, 0, [0, 0, 1]);
    let left: Vec<u32> = std::iter::from_fn(|| bench.dequeue(0)).map(|left| left.flow).collect();
    assert_eq!((left, bench.next_ready(0)), (vec![0, 1], Some(MS)));
    assert_eq!(bench.dequeue(MS).map(|left| left.flow), Some(0));
}

/// Descriptions are equal if the disciplines, their parameters, and all that is nested in them are.
#[test]
fn equal_descriptions() {
    let fq = || QueueSpec::new(FqCodelParams::default());
    let short = CodelParams { target: Duration::from_millis(1), ..CodelParams::default() };
    let different = [
        fq(),
        QueueSpec::new(FqCodelParams { drop_batch: 1, ..FqCodelParams::default() }),
        fq().with("aqm", CodelParams::default()),
        fq().with("aqm", short),
        fq().with("aqm", PieParams::default()),
        prio([fifo(), fifo()]),
        prio([fifo(), fq()]),
    ];
    for (n, one) in different.iter().enumerate() {
        assert_eq!(one, &one.clone());
        assert!(different[n + 1..].iter().all(|other| one != other), "{one:?}");
    }
}

/// What happens in a queue inside counts once: for its band, and for the whole. A fair queue's own bands are not told
/// apart there. Under a shaper they are: it has one queue inside.
#[test]
fn counted_once() {
    let fq = || QueueSpec::new(FqCodelParams::default());
    let mut bench = Bench::new(&prio([fifo(), fq()]), Limit::Unlimited);
    send(&mut bench, 0, [0, 1, 2, 2]);
    let counted = |bench: &Bench| bench.band_stats().iter().map(|band| band.arrived).collect::<Vec<_>>();
    assert_eq!((bench.stats().arrived, counted(&bench)), (4, vec![1, 3]));
    assert_eq!(bench.bands().iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["band 0", "band 1"]);

    let mut bench =
        Bench::new(&QueueSpec::new(TbfParams::default()).around("child", [fq()]), Limit::Unlimited);
    send(&mut bench, 0, [0, 1, 2, 2]);
    assert_eq!((bench.stats().arrived, counted(&bench)), (4, vec![1, 1, 2]));
    assert_eq!(bench.bands()[2].0, "flow 2");

    // Inside of another, a classful queue is one band.
    let outer = prio([prio([fifo(), fifo()]), fifo()]);
    let mut bench = Bench::new(&outer, Limit::Unlimited);
    send(&mut bench, 0, [0, 0, 1]);
    assert_eq!((bench.stats().arrived, counted(&bench)), (3, vec![2, 1]));
}

/// A queue inside has limit and ECN mode of its own, else those of the queue around it. Each band of strict priority
/// holds as much as its own queue: two packets where nothing else is said, one in the other.
#[test]
fn limits_and_modes() {
    let one = ChildSpec { limit: Some(Limit::Packets(1)), ..fifo().into() };
    let spec = QueueSpec::new(PrioParams {
        bands: 2,
        filters: vec![Filter { band: 0, flows: vec![0], ..Filter::default() }],
        default_band: 1,
    });
    let mut bench = Bench::new(&spec.around("children", [one, fifo().into()]), Limit::Packets(2));
    bench.cx.deliver_drops = false;
    send(&mut bench, 0, [0, 0, 0, 1, 1, 1]);
    assert_eq!(bench.band_stats().iter().map(|band| band.drops_full).collect::<Vec<_>>(), [2, 1]);
}

/// The rate that an AQM inside of a shaper reads is the shaper's, where the link is faster, else the link's. PIE's
/// estimate of delay from the backlog divides by it; here a limit in time does: at 1 Mbit/s, 24 ms are two packets.
#[test]
fn the_rate_inside_of_a_shaper() {
    for (link, shaped, packets) in [(10, Some(1), 2), (1, Some(10), 2), (10, None, 20)] {
        let params = TbfParams { rate: shaped.map(Rate::from_mbps), ..TbfParams::default() };
        let mut bench = Bench::new(&QueueSpec::new(params), Limit::Time(Duration::from_millis(24)));
        (bench.cx.rate, bench.cx.deliver_drops) = (Rate::from_mbps(link), false);
        send(&mut bench, 0, [0; 30]);
        assert_eq!(bench.backlog().packets, packets, "{link} {shaped:?}");
    }
}

/// Timers of queues inside are called, each when it is due. Linux's PIE is first called half a second after it was
/// created, a minute before the run; its timer makes 504 ms of that, 21 of 20 and 31 of 30. 59.496 s are 2833 intervals of
/// 21 ms and 3 ms more, or 1919 of 31 ms and 7 ms more.
#[test]
fn timers_inside() {
    let pie = |ms| QueueSpec::new(PieParams { tupdate: Duration::from_millis(ms), ..PieParams::default() });
    let spec = QueueSpec::new(TbfParams::default()).around("child", [prio([pie(20), pie(30)])]);
    let mut bench = Bench::of(spec.build(&QueueInit::new(Limit::Unlimited, 1)));
    let mut times = Vec::new();
    for _ in 0..4 {
        let next = bench.next_timer().unwrap().as_nanos();
        times.push(next / MS);
        bench.run_timers(next);
    }
    assert_eq!(times, [18, 24, 39, 55]);
}

/// Each queue inside has a random stream of its own: two equal REDs that toss coins and see the same arrivals lose
/// different packets, and the same ones again with the same seed.
#[test]
fn seeds_inside() {
    let red = || {
        let (max, burst) = (Some(Bytes::new(1_000_000)), Some(10));
        let random = RedRandom::Coin;
        let probability = Probability::new(0.5).unwrap();
        QueueSpec::new(RedParams {
            min: Some(Bytes::new(3_000)),
            burst,
            max,
            random,
            probability,
            ..RedParams::default()
        })
    };
    let lost = |seed| {
        let mut bench = Bench::with_seed(&prio([red(), red()]), Limit::Unlimited, seed);
        bench.cx.deliver_drops = false;
        let mut lost = [Vec::new(), Vec::new()];
        for at in 0..500 {
            for flow in [0, 1] {
                let before = bench.stats().lost;
                send(&mut bench, at * MS, [flow]);
                lost[flow as usize].push(bench.stats().lost - before);
            }
        }
        lost
    };
    let [first, second] = lost(1);
    assert!(first.iter().sum::<u64>() > 20);
    assert_ne!(first, second);
    assert_eq!(lost(1), [first.clone(), second]);
    assert_ne!(lost(2)[0], first);
}

/// What an AQM inside of a shaper drops is replaced at once, as CoDel expects it: the packet after the first drop of an
/// episode is delivered (RFC 8289 section 5). The bucket of one packet pays only for what left.
#[test]
fn replaced_inside_of_a_shaper() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let spec = QueueSpec::new(params).around("child", [QueueSpec::new(CodelParams::default())]);
    let mut bench = Bench::new(&spec, Limit::Unlimited);
    bench.cx.deliver_drops = false;
    for _ in 0..200 {
        let packet = bench.packet(0, 1_500, Kind::NotEct);
        bench.enqueue(0, packet);
    }
    // A packet per millisecond; above target from 5 ms on, and so the first drop is 100 ms later.
    let mut left = Vec::new();
    for ms in 0..110 {
        left.extend(bench.dequeue(ms * MS).map(|left| (ms, left.seq)));
    }
    let drop = left.windows(2).position(|pair| pair[1].1 != pair[0].1 + 1).expect("a drop") + 1;
    assert_eq!(bench.stats().drops_aqm, 1);
    assert_eq!(left.len(), 110, "a packet in each millisecond");
    assert_eq!(left[drop].0, left[drop - 1].0 + 1);
}

/// A list has at least one queue, as many as there are bands, and each is checked.
#[test]
fn refused() {
    let refused = |spec: QueueSpec| spec.check().unwrap_err().to_string();
    let none: [QueueSpec; 0] = [];
    assert!(refused(QueueSpec::new(PrioParams::default()).around("children", none)).starts_with("children"));
    let two = QueueSpec::new(PrioParams::default()).around("children", [fifo(), fifo()]);
    assert_eq!(refused(two), "bands = 3 is out of range: the number of queues in `children`");
    let wall = BrickWallParams { drop_threshold: Duration::ZERO, ..BrickWallParams::default() };
    assert!(prio([fifo(), QueueSpec::new(wall)]).check().is_ok());
    let codel = CodelParams { target: Duration::ZERO, ..CodelParams::default() };
    assert!(refused(prio([fifo(), QueueSpec::new(codel)])).starts_with("target = 0 s"));
    let filtered = |filter| PrioParams { filters: vec![filter], ..PrioParams::default() };
    for (params, fault) in [
        (PrioParams { bands: 1, ..PrioParams::default() }, "bands = 1 is out of range: from 2 to 16"),
        (PrioParams { default_band: 3, ..PrioParams::default() }, "default_band = 3"),
        (filtered(Filter::default()), "filters = a filter that selects every packet"),
        (filtered(Filter { band: 3, flows: vec![0], ..Filter::default() }), "filters = band 3"),
        (filtered(Filter { dscp: vec![64], ..Filter::default() }), "filters = dscp 64"),
    ] {
        assert!(refused(QueueSpec::new(params)).starts_with(fault), "{fault}");
    }
}
