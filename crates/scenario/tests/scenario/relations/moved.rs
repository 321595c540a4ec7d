//! Changes after which the same packets pass at other times, under other names, or only up to some time.

use std::collections::BTreeMap;

use windtunnel_scenario::{FlowGroup, LinkRate, Scenario, Transport};
use windtunnel_sim::recorder::columns::Column;
use windtunnel_units::Duration;

use super::Case;
use super::run::{Captured, Run, bits};

/// A run of half the length has the packets and the rows of the first half of the whole run.
pub(super) fn half(case: &Case) -> bool {
    let mut other = case.scenario.clone();
    other.duration = other.duration / 2;
    let (run, half_ns) = (Run::of(&other), other.duration.as_nanos());
    let before = case.run.packets.iter().filter(|packet| packet.ns < half_ns);
    assert_equal(before.copied(), &run.packets, "half");
    for name in ["flows", "queues", "bands", "cc", "aqm"] {
        let (Some(whole), Some(half)) = (case.run.table(name), run.table(name)) else { continue };
        for ((name, column), (_, half_column)) in whole.columns.iter().zip(&half.columns) {
            for row in 0..complete_rows(&half.columns, other.duration.as_secs_f64()) {
                let (whole, half) = (bits(column, row), bits(half_column, row));
                assert_eq!(whole, half, "half: {name} of row {row} differs");
            }
        }
    }
    true
}

/// The rows before `end_s`, where the last interval may be cut short.
fn complete_rows(columns: &[(&'static str, Column)], end_s: f64) -> usize {
    let times = columns.iter().find_map(|(name, column)| match column {
        Column::F64(times) if *name == "time_s" => Some(times),
        _ => None,
    });
    times.map_or(0, |times| times.iter().filter(|time| **time < end_s).count())
}

/// If everything starts later, all packets are later by the same time. Clocks that tick keep their phase if the delay
/// is a multiple of their ticks; queues with timers keep it if their age is lower by the delay.
pub(super) fn later(case: &Case) -> bool {
    let Some(delay) = delay(&case.scenario) else { return false };
    let mut other = case.scenario.clone();
    other.duration += delay;
    other.flows.iter_mut().for_each(|group| move_flow(group, delay));
    for link in &mut other.links {
        for change in &mut link.params.changes {
            change.at = change.at.map(|at| at + delay);
        }
        link.queue.age = link.queue.age.saturating_sub(delay);
    }
    let run = Run::of(&other);
    let moved =
        case.run.packets.iter().map(|packet| Captured { ns: packet.ns + delay.as_nanos(), ..*packet });
    assert_equal(moved, &run.packets, "later");
    true
}

/// A delay that nothing in the scenario notices, at most the age of the youngest queue.
fn delay(scenario: &Scenario) -> Option<Duration> {
    let ticks = scenario.flows.iter().map(|group| match &group.transport {
        Transport::Bsd42(params) => params.tick,
        transport => transport.mechanisms().map(|tcp| tcp.tick).unwrap_or_default(),
    });
    // Linux counts in ticks or in milliseconds, and CoDel in units of 1024 ns.
    let whole = ticks.fold(2_000_000_000, |all, tick| least_common_multiple(all, tick.as_nanos().max(1)));
    let age = scenario.links.iter().map(|link| link.queue.age.as_nanos()).min()?;
    // Outages, periods of delays, traces, spans and changes of applications have times of their own.
    let timed = ["outage", "linear-delay", "burst-delay"];
    let outages = scenario.links.iter().flat_map(|link| &link.elements).any(|e| timed.contains(&e.name()));
    let traces = scenario.links.iter().any(|link| matches!(link.rate, Some(LinkRate::Trace { .. })));
    // The queues of the MDS document take the start of the run for their last dequeue. `lfq` has one of them as its AQM.
    let text = scenario.to_toml();
    let spans = scenario.links.iter().flat_map(|link| &link.elements).any(|element| element.during.is_some());
    let changes = scenario.flows.iter().any(|group| !group.application.changes().is_empty());
    let timed = spans || changes || text.contains("not_before");
    let since_start = text.contains("kind = \"delti") || text.contains("kind = \"lfq\"");
    // A hash that is changed from time to time starts with the run.
    let perturbed = text.contains("hash = \"jenkins\"") && !text.contains("perturb = \"0 s\"");
    // Skips and nonces are drawn from the time at which their connection starts.
    let mut mechanisms = scenario.flows.iter().filter_map(|group| group.transport.mechanisms());
    let drawn = mechanisms.any(|tcp| tcp.skip_probability.get() > 0.0 || tcp.ecn_nonce);
    (whole <= age && !timed && !outages && !traces && !since_start && !perturbed && !drawn)
        .then(|| Duration::from_nanos(whole))
}

fn least_common_multiple(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}

/// The flows in another order: they are named, so that their streams of random numbers stay the same. Only events in the
/// same nanosecond may change their order, so flows start apart; queues by flow number the flows.
pub(super) fn reversed(case: &Case) -> bool {
    let text = case.scenario.to_toml();
    let by_flow = ["kind = \"fq", "kind = \"sfq", "kind = \"sfb", "hash = \"jenkins\"", "flows = ["]
        .iter()
        .any(|word| text.contains(word));
    if case.scenario.flows.len() < 2 || by_flow {
        return false;
    }
    let mut apart = case.scenario.clone();
    for (group, wait) in apart.flows.iter_mut().zip((0..).map(|n| Duration::from_nanos(n * 100_003))) {
        move_flow(group, wait);
    }
    let mut other = apart.clone();
    other.flows.reverse();
    let names =
        |scenario: &Scenario| -> Vec<String> { scenario.flows().map(|(_, member)| member.name).collect() };
    let (names, others) = (names(&apart), names(&other));
    let indices: BTreeMap<&String, u64> = others.iter().zip(0..).collect();
    let renamed = |flow: u64| names.get(flow as usize).map_or(flow, |name| indices[name]);
    let (apart, run) = (Run::of(&apart), Run::of(&other));
    let expected = apart.packets.iter().map(|packet| Captured { flow: renamed(packet.flow), ..*packet });
    let first = expected.clone().zip(&run.packets).find(|(a, b)| a != *b).map(|(a, b)| a.ns.max(b.ns));
    if first.is_some_and(|first| has_tie(&apart.packets, first)) {
        return false;
    }
    assert_equal(expected, &run.packets, "flows in reverse order");
    true
}

fn move_flow(group: &mut FlowGroup, wait: Duration) {
    for active in &mut group.active {
        active.from = active.from.later(wait);
        active.to = active.to.as_ref().map(|to| to.later(wait));
    }
}

/// Packets of two flows were somewhere in the same nanosecond, up to `until_ns`.
fn has_tie(packets: &[Captured], until_ns: u64) -> bool {
    let pairs = packets.windows(2).take_while(|pair| pair[0].ns <= until_ns);
    pairs.into_iter().any(|pair| pair[0].ns == pair[1].ns && pair[0].flow != pair[1].flow)
}

/// # Panics
/// At the first packet that differs.
pub(super) fn assert_equal(expected: impl Iterator<Item = Captured>, actual: &[Captured], how: &str) {
    let mut others = actual.iter();
    for (row, packet) in expected.enumerate() {
        let other = others.next();
        assert_eq!(Some(&packet), other, "{how}: row {row} of the packets differs");
    }
    assert_eq!(others.next(), None, "{how}: there are more packets");
}
