//! Properties of every queue under any load.

use proptest::prelude::*;
use windtunnel_qdisc::{Limit, QueueConfig};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::bench::{Bench, Kind, all_queues};

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    Arrive(Kind, u64),
    Leave,
    Rate(Rate),
}

fn event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    prop_oneof![
        6 => (kind, 40_u64..=9_000).prop_map(|(kind, size)| Event::Arrive(kind, size)),
        4 => Just(Event::Leave),
        1 => (1_u64..=1_000_000).prop_map(|kbit| Event::Rate(Rate::from_bits_per_sec(kbit * 1_000))),
    ]
}

/// Mostly up to milliseconds, now and then idle spells of seconds.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![4 => Just(0_u64), 10 => 0_u64..20_000, 10 => 0_u64..3_000_000, 1 => 0_u64..20_000_000_000]
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        Just(Limit::Unlimited),
        (0_usize..50).prop_map(Limit::Packets),
        (0_u64..100_000).prop_map(|n| Limit::Bytes(Bytes::new(n))),
        (0_u64..100_000_000).prop_map(|n| Limit::Time(Duration::from_nanos(n))),
    ]
}

/// True if the backlog is within the limit, at the rate of the last arrival.
fn within(bench: &Bench, limit: Limit) -> bool {
    let backlog = bench.backlog();
    match limit {
        Limit::Unlimited => true,
        Limit::Packets(limit) => backlog.packets <= limit,
        Limit::Bytes(limit) => backlog.bytes <= limit,
        Limit::Time(limit) => bench.rate.transfer_time(backlog.bytes) <= limit,
    }
}

/// Runs `events`, checking after each.
fn run(
    config: &QueueConfig,
    limit: Limit,
    deliver_drops: bool,
    events: &[(u64, Event)],
) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(config, limit);
    bench.deliver_drops = deliver_drops;
    let mut now = 0;
    let mut last = None;
    for (gap, event) in events {
        now += gap;
        match *event {
            Event::Rate(rate) => bench.rate = rate,
            Event::Arrive(kind, size) => {
                let (accepted, before) = (bench.stats.lost, bench.backlog().bytes);
                let packet = bench.packet(0, size, kind);
                bench.enqueue(now, packet);
                // Packets that are queued stay when the limit shrinks with the rate.
                let grown = bench.backlog().bytes > before && bench.stats.lost == accepted;
                prop_assert!(deliver_drops || !grown || within(&bench, limit), "{:?}", bench.backlog());
            }
            Event::Leave => {
                let left = bench.dequeue(now);
                prop_assert!(left.is_some() || bench.backlog().packets == 0);
                if let Some(left) = left {
                    prop_assert!(last.is_none_or(|last| last < left.seq), "{last:?} before {}", left.seq);
                    prop_assert!(left.sojourn <= Time::from_nanos(now).since_start());
                    last = Some(left.seq);
                }
            }
        }
        let (stats, backlog) = (bench.stats, bench.backlog());
        prop_assert_eq!(stats.arrived, stats.departed + stats.lost + backlog.packets as u64);
        prop_assert_eq!(bench.drops().len() as u64, stats.drops_full + stats.drops_aqm);
        prop_assert_eq!(bench.head_size().is_some(), backlog.packets > 0);
        prop_assert_eq!(backlog.bytes == Bytes::ZERO, backlog.packets == 0);
        prop_assert_eq!(stats.lost, if deliver_drops { 0 } else { bench.drops().len() as u64 });

        // Sums saturate at the ends of 64 bits: "finite" is that they stay far from there. An hour of a
        // second's delay at R = 200 makes 7e14.
        let far = i64::MAX / 4;
        let [acc, mds_osc, osc] = ["acc", "mds_osc", "osc"].map(|name| bench.probe(name));
        prop_assert!((0..far).contains(&acc), "acc {acc}");
        prop_assert!((-64_000_000_000..far).contains(&mds_osc), "mds_osc {mds_osc}");
        prop_assert!((0..far).contains(&osc), "osc {osc}");
        // A sum of probabilities below 8.5 grows by at most 1. max_p is raised up to 0.5, by 0.01.
        for (name, most) in [("p", 1.0), ("accu", 9.5), ("burst", 0.15), ("max_p", 0.51)] {
            let value = bench.probed(name).unwrap_or(0.0);
            prop_assert!((0.0..=most).contains(&value), "{name} {value}");
        }
    }
    Ok(())
}

proptest! {
    /// Conservation, limit, order, and finite state.
    #[test]
    fn every_queue(
        limit in limit(),
        deliver_drops: bool,
        events in prop::collection::vec((gap(), event()), 1..400),
    ) {
        for config in all_queues() {
            run(&config, limit, deliver_drops, &events)?;
        }
    }
}
