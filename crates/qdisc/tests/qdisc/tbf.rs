//! The token-bucket shaper: spec/queues-and-signalling section 14.1, tc-tbf(8).

use proptest::prelude::*;
use windtunnel_qdisc::ecn::Outcome;
use windtunnel_qdisc::{
    CodelParams, DropReason, FifoParams, FqCodelParams, Limit, QueueLength, QueueParams, QueueSpec,
    RedMdsParams, RedParams, StepParams, StepPoint, TbfParams,
};
use windtunnel_units::{Bytes, Duration, Rate};

use crate::bench::{Bench, Kind};

const MS: u64 = 1_000_000;

fn tbf(params: TbfParams) -> Bench {
    let mut bench = Bench::new(&QueueSpec::new(params), Limit::Unlimited);
    (bench.cx.rate, bench.cx.deliver_drops) = (Rate::from_mbps(1_000), false);
    bench
}

fn fill(bench: &mut Bench, at: u64, sizes: &[u64]) {
    for size in sizes {
        let packet = bench.packet(0, *size, Kind::NotEct);
        bench.enqueue(at, packet);
    }
}

/// When each of the packets that are queued leaves, if the link is free whenever the shaper asks for it.
fn departures(bench: &mut Bench, mut now: u64) -> Vec<u64> {
    let mut times = Vec::new();
    while bench.backlog().packets > 0 {
        match bench.dequeue(now) {
            Some(_) => times.push(now),
            None => now = bench.next_ready(now).expect("a time"),
        }
    }
    times
}

/// Three packets of 1500 B at 12 Mbit/s, a packet per millisecond, from a full bucket of two: two leave at once, the
/// third when its tokens are there. Half of a millisecond of idleness later the next waits for the other half.
#[test]
fn by_hand() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(3_000), ..TbfParams::default() };
    let mut bench = tbf(params.clone());
    fill(&mut bench, 0, &[1_500; 3]);
    assert_eq!(departures(&mut bench, 0), [0, 0, MS]);
    fill(&mut bench, MS + MS / 2, &[1_500; 2]);
    assert_eq!(departures(&mut bench, MS + MS / 2), [2 * MS, 3 * MS]);

    // `overhead` and `mpu` count: 12 Mbit/s are 100 B in 66.7 us, and a packet of 60 B counts as 200 B.
    let mut bench = tbf(TbfParams { overhead: Bytes::new(100), mpu: Bytes::new(200), ..params });
    fill(&mut bench, 0, &[2_900, 1_400, 60]);
    assert_eq!(departures(&mut bench, 0), [0, MS, MS + 133_334]);
}

/// With a peak rate of 24 Mbit/s and one packet, a burst leaves with half a millisecond between packets.
#[test]
fn peak_rate() {
    let params = TbfParams {
        rate: Some(Rate::from_mbps(12)),
        burst: Bytes::new(3_000),
        peakrate: Some(Rate::from_mbps(24)),
        ..TbfParams::default()
    };
    let mut bench = tbf(params);
    fill(&mut bench, 0, &[1_500; 5]);
    assert_eq!(departures(&mut bench, 0), [0, MS / 2, MS, 2 * MS, 3 * MS]);
}

/// A packet that no bucket can hold is lost on its arrival, in front of the queue; with loss-free endpoints it leaves
/// when the bucket is full.
#[test]
fn longer_than_the_bucket() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let mut bench = tbf(params);
    fill(&mut bench, 0, &[1_501, 1_500]);
    assert_eq!(bench.drops()[0].reason, DropReason::Policed);
    assert_eq!((bench.backlog().packets, bench.stats().drops_policed), (1, 1));
    bench.cx.deliver_drops = true;
    fill(&mut bench, 0, &[3_000]);
    assert_eq!(departures(&mut bench, 0), [0, MS]);
}

/// No shorter packet overtakes one that waits.
#[test]
fn in_order() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let mut bench = tbf(params);
    fill(&mut bench, 0, &[1_000, 1_500, 40]);
    assert_eq!(bench.dequeue(0).map(|left| left.seq), Some(0));
    assert!(bench.dequeue(1).is_none());
    assert_eq!(bench.dequeue(MS).map(|left| left.seq), Some(1));
}

/// A packet is taken out of the queue inside before it waits for tokens (Linux `sch_tbf`, `qdisc_peek_dequeued`): of three
/// packets that arrive at once at a bucket of one, at a packet per millisecond, the second waits for a millisecond, but
/// has passed a step of half a millisecond at once; the third passes it when the second leaves, and is marked. Its time
/// in the queue is the whole.
#[test]
fn the_aqm_times_up_to_the_tokens() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let step =
        StepParams { threshold: QueueLength::Time(Duration::from_micros(500)), at: StepPoint::Dequeue };
    let mut bench =
        Bench::new(&QueueSpec::new(params).around("child", [QueueSpec::new(step)]), Limit::Unlimited);
    bench.cx.rate = Rate::from_mbps(1_000);
    (0..3).for_each(|_| bench.arrive(0, Kind::Ect0));
    let mut left = Vec::new();
    for ms in 0..3 {
        let one = bench.dequeue(ms * MS).expect("a packet a millisecond");
        assert!(bench.dequeue(ms * MS).is_none());
        left.push((one.outcome == Outcome::Passed, one.sojourn.as_nanos() / MS));
    }
    assert_eq!(left, [(true, 0), (true, 1), (false, 2)]);
}

/// What decides on arrival alone has nothing to decide when a packet leaves, so that the packet stays inside: `sch_fifo`,
/// and `sch_red` with either way to signal. An AQM that times packets takes part in each departure.
#[test]
fn who_leaves_the_packet_inside() {
    let (fifo, codel) = (QueueSpec::new(FifoParams::default()), QueueSpec::new(CodelParams::default()));
    let (red, red_mds) = (QueueSpec::new(RedParams::default()), QueueSpec::new(RedMdsParams::default()));
    let peeks = |spec| Bench::new(&spec, Limit::Packets(1000)).peeks();
    assert_eq!([fifo, red, red_mds, codel].map(peeks), [true, true, true, false]);
}

/// The packet that waits for tokens still counts for the limit of the queue inside, whether it was taken out of it (CoDel)
/// or not (a FIFO), and for the backlog and the counts of its band: of four packets, one leaves at once, and two fit.
#[test]
fn what_is_held_counts() {
    let params =
        TbfParams { rate: Some(Rate::from_mbps(12)), burst: Bytes::new(1_500), ..TbfParams::default() };
    let codel = QueueSpec::new(CodelParams::default());
    let fair = QueueSpec::new(FqCodelParams { drop_batch: 1, ..FqCodelParams::default() });
    for child in [codel, QueueSpec::new(FifoParams::default()), fair] {
        let spec = QueueSpec::new(params.clone()).around("child", [child]);
        let mut bench = Bench::new(&spec, Limit::Packets(2));
        (bench.cx.rate, bench.cx.deliver_drops) = (Rate::from_mbps(1_000), false);
        for _ in 0..4 {
            bench.arrive(0, Kind::NotEct);
            let _ = bench.dequeue(0);
        }
        assert_eq!((bench.stats().departed, bench.drops().len(), bench.backlog().packets), (1, 1, 2));
        let bands: Vec<usize> = bench.bands().iter().map(|(_, backlog)| backlog.packets).collect();
        assert_eq!(bands, [2]);
        assert_eq!(departures(&mut bench, 0), [MS, 2 * MS]);
    }
}

/// The FIFO inside holds what leaves within `latency` (tc-tbf: limit = latency * rate + burst, and with a peak rate
/// the least of that and latency * peakrate + mtu).
#[test]
fn default_limit() {
    let params = TbfParams {
        rate: Some(Rate::from_mbps(8)),
        latency: Duration::from_millis(10),
        ..TbfParams::default()
    };
    assert_eq!(params.default_limit(), Limit::Bytes(Bytes::new(10_000 + 15_000)));
    let peak = TbfParams { peakrate: Some(Rate::from_mbps(9)), ..params.clone() };
    assert_eq!(peak.default_limit(), Limit::Bytes(Bytes::new(11_250 + 1_500)));
    let of_link = TbfParams { rate: None, ..params };
    assert_eq!(of_link.default_limit(), Limit::Time(Duration::from_millis(10)));
}

/// Parameters that mean nothing are refused.
#[test]
fn refused() {
    let default = TbfParams::default;
    for (params, fault) in [
        (TbfParams { rate: Some(Rate::ZERO), ..default() }, "rate = 0 bit/s"),
        (TbfParams { burst: Bytes::ZERO, ..default() }, "burst = 0 B"),
        (TbfParams { mtu: Bytes::ZERO, ..default() }, "mtu = 0 B"),
        (
            TbfParams { rate: Some(Rate::from_mbps(2)), peakrate: Some(Rate::from_mbps(2)), ..default() },
            "peakrate = 2 Mbit/s",
        ),
        (
            TbfParams { peakrate: Some(Rate::from_mbps(2)), ..default() },
            "peakrate = 2 Mbit/s is out of range: left out",
        ),
    ] {
        let error = QueueSpec::new(params).check().unwrap_err().to_string();
        assert!(error.starts_with(fault), "{error}");
    }
}

proptest! {
    /// In any window of time T, at most B + rate * T bytes leave, and M + peakrate * T with a peak rate; and while
    /// packets wait the shaper is not lazy: without a peak rate, the bytes since any departure are within the longest
    /// packet of the rate.
    #[test]
    fn bounded(
        kbit in 1_u64..1_000_000,
        burst in 1_500_u64..20_000,
        peak in prop::option::of(101_u64..1_000),
        arrivals in prop::collection::vec((0_u64..20 * MS, 40_u64..=1_500), 1..100),
    ) {
        let rate = Rate::from_bits_per_sec(kbit * 1_000);
        let peakrate = peak.map(|percent| Rate::from_bits_per_sec(kbit * 10 * percent));
        let params = TbfParams { rate: Some(rate), burst: Bytes::new(burst), peakrate, ..TbfParams::default() };
        let mut bench = tbf(params);
        let (mut now, mut left) = (0, Vec::new());
        for (gap, size) in arrivals {
            fill(&mut bench, now, &[size]);
            let until = now + gap;
            loop {
                let before = bench.stats().departed_bytes;
                if bench.dequeue(now).is_some() {
                    left.push((now, (bench.stats().departed_bytes - before).get()));
                } else if let Some(ready) = bench.next_ready(now).filter(|ready| *ready <= until) {
                    now = ready;
                } else {
                    break;
                }
            }
            now = until;
        }
        let mut bounds = vec![(rate, burst)];
        bounds.extend(peakrate.map(|peak| (peak, 1_500)));
        for (first, (from, _)) in left.iter().enumerate() {
            let mut bytes = 0;
            for (at, size) in &left[first..] {
                bytes += u128::from(*size);
                for (rate, depth) in &bounds {
                    let most = u128::from(*depth) * 8_000_000_000
                        + u128::from(rate.bits_per_sec()) * u128::from(at - from);
                    prop_assert!(bytes * 8_000_000_000 <= most, "{bytes} B from {from} to {at}");
                }
            }
        }
    }
}
