//! The memory of flows and of packets in flight.
//!
//! A sender starts with its initial window. From then on its window is limited by the receiver, by what it can have
//! grown to, and by what its path holds: the bandwidth-delay product and the room of its narrowest queue, which the
//! flows on it share.

use windtunnel_algorithm::Params;
use windtunnel_qdisc::{FifoParams, FqParams, QueueSpec};
use windtunnel_sim::LinkRate;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::recorder::sizes;
use windtunnel_units::{Bytes, Duration};

use super::connections::Connections;
use super::rows::{build, has_many};
use super::traffic::{Traffic, room};
use super::{Certainty, Part, key};
use crate::model::{FlowGroup, Link, Scenario};

/// The memory of a packet in flight: in the ring of a queue or of a delay, which doubles as it grows, and later that of its
/// ACK.
const PACKET: f64 = 64.0 * 3.0;

/// What a sender with loss recovery keeps about a segment, in a ring that doubles.
const SEGMENT: f64 = 64.0 * 2.0;

/// Both ends of an idle connection, and its entries in the event queue and along its path
/// (docs/decisions/0032-memory-per-flow.md).
const CONNECTION: f64 = 3328.0;

/// The entry of a flow at a link, a delay or an element on its path.
const HOP: f64 = 16.0;

/// The way from a link, a delay or an element, by flow, is a table of up to this length for each place.
const WAYS: f64 = 1024.0;

/// A link: the first allocation of its queue, and its recorder.
const LINK: f64 = (64 << 10) as f64 + (16 << 10) as f64;

/// The longest queue in seconds that an AQM lets stand, besides a round trip's worth that slow start leaves behind.
const LONGEST_STANDING_QUEUE: f64 = 0.1;

/// The window that a Linux receiver offers at first.
const FIRST_WINDOW: f64 = 65_536.0;

/// The whole receive window.
pub(super) fn parts(scenario: &Scenario, traffic: &Traffic) -> Vec<Part> {
    let mut parts = vec![totals(scenario), links(scenario)];
    for (index, group) in scenario.flows.iter().enumerate() {
        parts.push(connections(index, group, Connections::of(scenario, traffic, index).at_once));
        parts.push(initial_windows(index, group));
        parts.push(windows(scenario, traffic, index));
    }
    parts
}

/// Histograms and sums between the edges of windows, for each flow and each queue.
fn totals(scenario: &Scenario) -> Part {
    let mut edges: Vec<_> = scenario.windows.iter().flat_map(|window| [window.from, window.to]).collect();
    edges.sort_unstable();
    edges.dedup();
    let flows: f64 = scenario.flows.iter().map(|group| f64::from(group.count)).sum();
    let of_group = |group: &FlowGroup| {
        f64::from(group.count) * sizes::flow_totals(group.route.rtt, longest(group)).as_f64()
    };
    let slowest = scenario.flows.iter().map(longest).max().unwrap_or_default();
    let of_queue = sizes::queue_totals(slowest).as_f64();
    let queues = scenario.links.iter().filter(|link| link.rate.is_some());
    let of_classes: Bytes = queues.map(|link| sizes::class_totals(build(link).as_ref(), slowest)).sum();
    // One set of them is the current one. At the end they are summed up one by one: a queue's are the largest.
    let sets = edges.len() as f64 + 1.0;
    let of_all = scenario.flows.iter().map(of_group).sum::<f64>() + scenario.links.len() as f64 * of_queue;
    let of_all = of_all + of_classes.as_f64();
    let memory = sets * of_all + of_queue;
    Part {
        what: format!(
            "distributions: {flows:.0} x flow, {} x queue, {sets:.0} x window",
            scenario.links.len()
        ),
        memory: Bytes::from_f64(memory),
        certainty: Certainty::Expectation,
        key: if scenario.windows.is_empty() { key::of_flow(0, "count") } else { "window".to_owned() },
        remedy: if scenario.windows.is_empty() { "have fewer flows" } else { "have fewer windows or flows" },
    }
}

/// The longest round trips of a group: queues may be as long as the path.
fn longest(group: &FlowGroup) -> Duration {
    group.route.rtt * 4
}

fn links(scenario: &Scenario) -> Part {
    let queues = scenario.links.iter().filter(|link| link.rate.is_some()).count() as f64;
    let places = scenario.links.iter().map(|link| 2 + link.elements.len()).sum::<usize>() as f64;
    let flows: f64 = scenario.flows.iter().map(|group| f64::from(group.count)).sum();
    Part {
        what: format!("links and ways through them: {} x link", scenario.links.len()),
        memory: Bytes::from_f64(queues * LINK + places * flows.min(WAYS) * HOP),
        certainty: Certainty::Bound,
        key: key::of_link(scenario, 0, "queue"),
        remedy: "have fewer links",
    }
}

fn connections(index: usize, group: &FlowGroup, count: f64) -> Part {
    let many = has_many(group);
    // Each of many connections starts with a window of its own.
    let first =
        if many { first_window(group) / group.endpoint.mss().as_f64() * of_packet(group) } else { 0.0 };
    let hops = (group.route.forward.len() + group.route.reverse.len()) as f64;
    let name = group.name.len() as f64;
    let memory = count * (CONNECTION + sizes::FLOW.as_f64() + hops * HOP + name + first);
    Part {
        what: format!("ends of connections of `{}`: {count:.0}", group.name),
        memory: Bytes::from_f64(memory),
        certainty: if many { Certainty::Expectation } else { Certainty::Bound },
        key: key::of_flow(index, if many { "app" } else { "count" }),
        remedy: if many { "lower `max_active` or the load" } else { "have fewer flows" },
    }
}

/// What senders may have in flight before the first ACK.
fn initial_windows(index: usize, group: &FlowGroup) -> Part {
    let (first, mss) = (first_window(group), group.endpoint.mss().as_f64());
    let count = f64::from(group.count);
    Part {
        what: format!("initial windows of `{}`: {:.0} packets", group.name, first / mss * count),
        memory: Bytes::from_f64(first / mss * count * of_packet(group)),
        certainty: Certainty::Bound,
        key: key::of_flow(index, "iw"),
        remedy: "lower it",
    }
}

/// The bytes that a sender of the group can have in flight before the first ACK.
fn first_window(group: &FlowGroup) -> f64 {
    if group.transport.controller().is_none() {
        return 0.0;
    }
    let offered = group.transport.mechanisms().map_or(f64::INFINITY, |tcp| {
        let whole = tcp.receive_window.as_f64();
        if tcp.has_fixed_window() { whole } else { whole.min(FIRST_WINDOW) }
    });
    group.endpoint.iw.as_f64().min(offered).min(wanted(group))
}

/// What grows beyond the initial windows.
fn windows(scenario: &Scenario, traffic: &Traffic, index: usize) -> Part {
    let (group, of_group) = (&scenario.flows[index], &traffic.groups[index]);
    let count = f64::from(group.count);
    let first = first_window(group) / group.endpoint.mss().as_f64() * count;
    let received = group
        .transport
        .mechanisms()
        .map_or(f64::INFINITY, |tcp| tcp.receive_window.as_f64() / group.endpoint.mss().as_f64() * count);
    // While a window opens, each delivered packet lets one more be under way than before.
    let grown = first + of_group.sent;
    let (held, narrowest) = path(scenario, traffic, index);
    let packets = held.min(grown).min(received) - first;
    Part {
        what: format!("packets of `{}` in flight: {:.0}", group.name, packets.max(0.0)),
        memory: Bytes::from_f64(packets.max(0.0) * of_packet(group)),
        certainty: Certainty::Expectation,
        key: narrowest
            .map_or_else(|| key::of_flow(index, "rtt"), |link| key::of_link(scenario, link, "queue")),
        remedy: "limit the queue, or make the run or the round trip shorter",
    }
}

/// The packets of a group that its path holds, and its narrowest link.
fn path(scenario: &Scenario, traffic: &Traffic, index: usize) -> (f64, Option<usize>) {
    let (group, of_group) = (&scenario.flows[index], &traffic.groups[index]);
    let rate = |link: &usize| {
        let rate = scenario.links[*link].rate.as_ref().map(LinkRate::mean);
        let changes = scenario.links[*link].params.changes.iter().filter_map(|change| change.rate);
        rate.into_iter().chain(changes).max().map(|rate| rate.bits_per_sec() as f64 / 8.0)
    };
    let rates = group.route.forward.iter().filter_map(|link| Some((rate(link)?, *link)));
    let Some((bytes_per_second, link)) = rates.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return (of_group.sent, None);
    };
    let share = (of_group.data / traffic.links[link].left.max(1.0)).min(1.0);
    let product = bytes_per_second * group.route.rtt.as_secs_f64() / of_group.size;
    let queue = room(&scenario.links[link], of_group.size).unwrap_or(f64::INFINITY);
    // An AQM answers before a queue without a limit is long.
    let aqm = if is_controlled(&scenario.links[link]) {
        product + bytes_per_second * LONGEST_STANDING_QUEUE / of_group.size
    } else {
        f64::INFINITY
    };
    let unanswered = if group.transport.controller().is_none() { of_group.sent - of_group.data } else { 0.0 };
    let delayed = product + of_group.sent.min(queue).min(aqm + unanswered);
    (delayed * share.max(1e-9), Some(link))
}

/// Whether something besides a limit signals congestion.
pub(super) fn is_controlled(link: &Link) -> bool {
    fn by(spec: &QueueSpec) -> bool {
        let mut children = spec.parts.children.iter().flatten();
        if !spec.parts.children.is_empty() {
            return children.all(|child| by(&child.spec));
        }
        let plain = [FifoParams::NAME, FqParams::NAME].contains(&spec.params.name());
        !plain || spec.parts.aqm().is_some()
    }
    by(&link.queue.spec)
}

/// The memory of a packet of the group in flight.
fn of_packet(group: &FlowGroup) -> f64 {
    if group.transport.mechanisms().is_some() { PACKET + SEGMENT } else { PACKET }
}

/// The bytes that a connection of the group sends, if it sends a fixed amount; the mean for a group of many.
fn wanted(group: &FlowGroup) -> f64 {
    match &group.application {
        ApplicationConfig::Transfer(transfer) => transfer.size.as_f64(),
        ApplicationConfig::Poisson(params) => params.size.mean(),
        _ => f64::INFINITY,
    }
}
