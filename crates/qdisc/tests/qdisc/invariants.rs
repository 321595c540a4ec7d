//! Properties of every queue under any load.

use proptest::prelude::*;
use windtunnel_qdisc::{Backlog, Limit, QueueSpec, QueueStats};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::bench::{Bench, Kind, Left};
use crate::kinds::all_queues;

/// What happens next.
#[derive(Clone, Debug)]
enum Event {
    Arrive(Kind, u64, u32),
    Leave,
    Choose,
    Serve,
    Rate(Rate),
}

/// The number of flows that packets belong to.
const FLOWS: u32 = 5;

fn event() -> impl Strategy<Value = Event> {
    let kind = prop::sample::select(&Kind::ALL[..]);
    prop_oneof![
        12 => (kind, 40_u64..=9_000, 0..FLOWS).prop_map(|(kind, size, flow)| Event::Arrive(kind, size, flow)),
        6 => Just(Event::Leave),
        2 => Just(Event::Choose),
        2 => Just(Event::Serve),
        2 => (1_u64..=1_000_000).prop_map(|kbit| Event::Rate(Rate::from_bits_per_sec(kbit * 1_000))),
    ]
}

/// Mostly up to milliseconds, with occasional idle spells of seconds.
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

/// True if a backlog is within the limit, at the rate of the last arrival.
fn within(backlog: Backlog, rate: Rate, limit: Limit) -> bool {
    match limit {
        Limit::Unlimited => true,
        Limit::Packets(limit) => backlog.packets <= limit,
        Limit::Bytes(limit) => backlog.bytes <= limit,
        Limit::Time(limit) => rate.transfer_time(backlog.bytes) <= limit,
    }
}

/// The backlogs that have a limit: that of the whole queue, or of each band, where bands are queues of their own.
fn limited(bench: &Bench, config: &QueueSpec) -> Vec<Backlog> {
    if stores(config) == 1 {
        return vec![bench.backlog()];
    }
    bench.bands().into_iter().map(|(_, backlog)| backlog).collect()
}

/// How many queues of a description store packets.
fn stores(config: &QueueSpec) -> usize {
    let children = config.parts.children.iter().flatten();
    children.map(|child| stores(&child.spec)).sum::<usize>().max(1)
}

/// Packets leave in order within a flow, none later than now. In a queue that sorts packets by their code points, the
/// order is that of the packets of one kind.
#[derive(Default)]
struct Order {
    sorts: bool,
    /// The kinds of all packets so far.
    kinds: Vec<Kind>,
    last: [[Option<u64>; Kind::ALL.len()]; FLOWS as usize],
}

impl Order {
    fn check(&mut self, left: &Left, now: u64) -> Result<(), TestCaseError> {
        let kind = if self.sorts { self.kinds[left.seq as usize] as usize } else { 0 };
        let last = &mut self.last[left.flow as usize][kind];
        prop_assert!(last.is_none_or(|last| last < left.seq), "{last:?} before {}", left.seq);
        prop_assert!(left.sojourn <= Time::from_nanos(now).since_start());
        *last = Some(left.seq);
        Ok(())
    }
}

/// The counts of arrived, departed, lost and queued packets agree, for the whole queue and for each band, and the bands
/// add up to the whole.
fn conserved(bench: &Bench, is_policed: bool) -> Result<(), TestCaseError> {
    let (stats, backlog, bands) = (bench.stats(), bench.backlog(), bench.bands());
    prop_assert_eq!(stats.queued(), backlog.packets as u64);
    prop_assert_eq!(bench.drops().len() as u64, stats.drops());
    prop_assert_eq!(backlog.bytes == Bytes::ZERO, backlog.packets == 0);
    prop_assert_eq!(stats.lost, if bench.cx.deliver_drops { 0 } else { stats.drops() });
    let packets: usize = bands.iter().map(|(_, backlog)| backlog.packets).sum();
    let bytes: Bytes = bands.iter().map(|(_, backlog)| backlog.bytes).sum();
    prop_assert_eq!((packets, bytes), (backlog.packets, backlog.bytes));
    if bands.len() > 1 {
        let mut sum = QueueStats::default();
        for (part, (name, backlog)) in bench.band_stats().iter().zip(&bands) {
            prop_assert_eq!(part.queued(), backlog.packets as u64, "{}", name);
            sum.arrived += part.arrived;
            sum.departed += part.departed;
            sum.departed_bytes += part.departed_bytes;
            sum.waited += part.waited;
            sum.lost += part.lost;
            sum.sce += part.sce;
            sum.ce += part.ce;
            sum.drops_full += part.drops_full;
            sum.drops_overlimit += part.drops_overlimit;
            sum.drops_aqm += part.drops_aqm;
            sum.drops_filtered += part.drops_filtered;
        }
        // What is lost in front of the queue reaches no band.
        let policed = if bench.cx.deliver_drops { 0 } else { stats.drops_policed };
        sum.arrived += policed;
        sum.lost += policed;
        sum.drops_policed = stats.drops_policed;
        // Neither do marks that a policer makes.
        prop_assert!(sum.ce <= stats.ce && sum.sce <= stats.sce);
        if is_policed {
            (sum.ce, sum.sce) = (stats.ce, stats.sce);
        }
        prop_assert_eq!(sum, stats);
    }
    Ok(())
}

/// Internal numbers stay within their possible ranges.
fn finite(bench: &Bench) -> Result<(), TestCaseError> {
    // Sums saturate at the ends of 64 bits: "finite" means that they stay far from there. An hour of a second's delay
    // at R = 200 makes 7e14.
    let far = i64::MAX / 4;
    let [acc, mds_osc, osc] = ["acc", "mds_osc", "osc"].map(|name| bench.probe(name));
    prop_assert!((0..far).contains(&acc), "acc {acc}");
    prop_assert!((-64_000_000_000..far).contains(&mds_osc), "mds_osc {mds_osc}");
    prop_assert!((0..far).contains(&osc), "osc {osc}");
    // A CE, or what was forgiven to conventional packets, may follow upon the other.
    for (name, least) in [("mds_owed", -128.0), ("owed", 0.0)] {
        let value = bench.probed(name).filter(|value| !value.is_nan()).unwrap_or(0.0);
        prop_assert!((least..1e15).contains(&value), "{name} {value}");
    }
    // A sum of probabilities below 8.5 grows by at most 1. max_p is raised up to 0.5, by 0.01.
    for (name, most) in [
        ("p", 256.0), // Linux's PIE overflows there
        ("accu", 9.5),
        ("burst_s", 0.15),
        ("max_p", 0.51),
        ("p_prime", 1.0),
        ("p_cl", 1.0),
        ("p_native", 1.0),
        ("p_drop", 1.0),
        ("sce_p", 1.0),
    ] {
        let value = bench.probed(name).unwrap_or(0.0);
        prop_assert!((0.0..=most).contains(&value), "{name} {value}");
    }
    Ok(())
}

/// A queue from which nothing leaves is empty, or a shaper that names a later time.
fn waits(bench: &Bench, now: u64) -> bool {
    bench.backlog().packets == 0 || bench.next_ready(now).is_some_and(|ready| ready > now)
}

/// Runs `events`, checking after each.
fn run(
    config: &QueueSpec,
    limit: Limit,
    deliver_drops: bool,
    events: &[(u64, Event)],
) -> Result<(), TestCaseError> {
    let mut bench = Bench::new(config, limit);
    bench.cx.deliver_drops = deliver_drops;
    let mut now = 0;
    let mut order =
        Order { sorts: ["dualpi2", "twin-af"].contains(&config.params.name()), ..Order::default() };
    // What was chosen last: it stays chosen until it is served.
    let mut chosen = None;
    for (gap, event) in events {
        now += gap;
        match *event {
            Event::Rate(rate) => bench.cx.rate = rate,
            Event::Arrive(kind, size, flow) => {
                let (lost, before) = (bench.stats().lost, limited(&bench, config));
                order.kinds.push(kind);
                let packet = bench.packet(flow, size, kind);
                bench.enqueue(now, packet);
                // Packets that are queued stay when the limit shrinks with the rate.
                if !deliver_drops && bench.stats().lost == lost {
                    for (index, backlog) in limited(&bench, config).into_iter().enumerate() {
                        let grown = before.get(index).is_none_or(|before| backlog.bytes > before.bytes);
                        prop_assert!(
                            !grown || within(backlog, bench.cx.rate, limit),
                            "{config:?}: {backlog:?}"
                        );
                    }
                }
            }
            Event::Choose => {
                let size = bench.choose(now);
                prop_assert!(size.is_some() || waits(&bench, now));
                prop_assert!(chosen.is_none() || chosen == size, "{:?} chosen, then {:?}", chosen, size);
                chosen = size;
            }
            Event::Serve => {
                let before = bench.stats();
                let left = bench.serve(now);
                let served = bench.stats().departed + bench.stats().lost - before.departed - before.lost;
                prop_assert_eq!(served, u64::from(chosen.is_some()));
                if let Some(left) = left {
                    prop_assert_eq!(Some(bench.stats().departed_bytes - before.departed_bytes), chosen);
                    order.check(&left, now)?;
                }
                chosen = None;
            }
            Event::Leave => {
                let left = bench.dequeue(now);
                prop_assert!(left.is_some() || waits(&bench, now));
                if let Some(left) = left {
                    order.check(&left, now)?;
                }
                chosen = None;
            }
        }
        conserved(&bench, config.params.name().contains("police"))?;
        finite(&bench)?;
    }
    Ok(())
}

proptest! {
    /// Conservation by band, limit, order within a flow, commitment to a choice, and finite state.
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

/// What a queue does in a run in which each packet is served and the next one chosen, in one call or in two.
fn served(config: &QueueSpec, events: &[(u64, Event)], at_once: bool) -> (Vec<String>, QueueStats) {
    let mut bench = Bench::new(config, Limit::Packets(20));
    bench.cx.deliver_drops = false;
    let (mut now, mut seen) = (0, Vec::new());
    for (gap, event) in events {
        now += gap;
        match *event {
            Event::Rate(rate) => bench.cx.rate = rate,
            Event::Arrive(kind, size, flow) => {
                let packet = bench.packet(flow, size, kind);
                bench.enqueue(now, packet);
            }
            Event::Choose => seen.push(format!("{:?}", bench.choose(now))),
            Event::Serve | Event::Leave if at_once => seen.push(format!("{:?}", bench.serve_and_choose(now))),
            Event::Serve | Event::Leave => seen.push(format!("{:?}", (bench.serve(now), bench.choose(now)))),
        }
    }
    (seen, bench.stats())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// To serve a packet and to choose the next one is the same in one call as in two (the contract of `serve_and_choose`).
    #[test]
    fn two_steps_at_once(events in prop::collection::vec((gap(), event()), 1..200)) {
        for config in all_queues() {
            prop_assert_eq!(served(&config, &events, true), served(&config, &events, false));
        }
    }
}
