//! Flows: schedule, hosts and route.

use std::collections::BTreeMap;

use windtunnel_sim::application::ApplicationConfig;
use windtunnel_units::Duration;

use super::application::application;
use super::connection::connections;
use super::cursor::Cursor;
use super::fault::Fault;
use super::interrupt::Interrupt;
use super::link::{LONGEST_DELAY, Surroundings};
use super::record::Names;
use super::route::{Graph, check_length, check_tunnels};
use super::schedule::schedule;
use super::transport::{Carried, carried};
use crate::file::FlowTable;
use crate::model::{FlowGroup, Hosts, Link, Route, member_name};

/// The maximum number of flows of a scenario, and of `count`.
const MOST_FLOWS: u32 = 1_000_000;

/// What flows run through.
#[derive(Debug)]
pub(crate) enum Topology<'l> {
    /// The bottleneck, and the return path of the ACKs if they queue.
    Dumbbell(&'l [Link]),
    Graph(Graph<'l>),
}

/// The longest round-trip time of a dumbbell's flows, which each state their own. A multiple of the bandwidth-delay
/// product needs it before the flows are read.
pub(crate) fn longest_rtt(tables: &[FlowTable], at: &Cursor<'_>) -> Result<Duration, Fault> {
    check_any(tables, at)?;
    let mut longest = Duration::ZERO;
    for (index, table) in tables.iter().enumerate() {
        let at = at.item(index).get("rtt");
        let required = || at.fault("is required: the round-trip time of the path without queues");
        let rtt = table.rtt.ok_or_else(required)?;
        check_rtt(rtt, &at)?;
        longest = longest.max(rtt);
    }
    Ok(longest)
}

/// Validates the flows.
pub(crate) fn flows(
    tables: &[FlowTable],
    root: &Cursor<'_>,
    topology: &Topology<'_>,
    of: Surroundings<'_>,
) -> Result<Vec<FlowGroup>, Fault> {
    let at = &root.get("flow");
    check_any(tables, at)?;
    check_counts(tables, at)?;
    let mut groups = Vec::with_capacity(tables.len());
    for (index, table) in tables.iter().enumerate() {
        of.interrupt.check()?;
        groups.push(flow(table, root, &at.item(index), topology, of)?);
    }
    name(&mut groups, tables, at, of.interrupt)?;
    connections(&groups, at)?;
    Ok(groups)
}

fn check_any(tables: &[FlowTable], at: &Cursor<'_>) -> Result<(), Fault> {
    if tables.is_empty() {
        return Err(at.fault("a scenario needs at least one [[flow]]"));
    }
    Ok(())
}

fn check_rtt(rtt: Duration, at: &Cursor<'_>) -> Result<(), Fault> {
    if rtt.is_zero() || rtt > LONGEST_DELAY {
        return Err(at.or_default_not_allowed(rtt, format!("more than 0 s and at most {LONGEST_DELAY}")));
    }
    Ok(())
}

fn check_counts(tables: &[FlowTable], at: &Cursor<'_>) -> Result<(), Fault> {
    let mut left = MOST_FLOWS;
    for (index, table) in tables.iter().enumerate() {
        let at = at.item(index).get("count");
        if table.count == 0 || table.count > MOST_FLOWS {
            return Err(at.not_allowed(format!("a whole number from 1 to {MOST_FLOWS}")));
        }
        left = left
            .checked_sub(table.count)
            .ok_or_else(|| at.fault(format!("the scenario has more than {MOST_FLOWS} flows here")))?;
    }
    Ok(())
}

fn flow(
    table: &FlowTable,
    root: &Cursor<'_>,
    at: &Cursor<'_>,
    topology: &Topology<'_>,
    of: Surroundings<'_>,
) -> Result<FlowGroup, Fault> {
    let application = application(&at.get("app"), of.endpoints, of.registry)?;
    for (index, change) in application.changes().iter().enumerate() {
        if change.at.is_some_and(|time| time >= of.end) {
            let at = at.get("app").get("changes").item(index).get("at");
            return Err(at.not_allowed(format!("before the end of the run at {}", of.end)));
        }
    }
    let active = schedule(table, at, of.end)?;
    if let ApplicationConfig::Poisson(_) = application {
        refuse(
            at,
            &["sender_host", "receiver_host"],
            "does not go with `poisson`, whose connections come from many hosts",
        )?;
    }
    let Carried { cc_name, transport, endpoint } = carried(table.pacing, root, at, &application, of)?;
    Ok(FlowGroup {
        name: table.name.clone().unwrap_or_default(),
        count: table.count,
        stagger: table.stagger,
        active,
        application,
        cc_name,
        transport,
        unresponsive: table.unresponsive,
        endpoint,
        route: route(table, at, topology)?,
        hosts: hosts(table, at)?,
        connection: table.connection.clone(),
    })
}

/// The hosts of a flow.
fn hosts(table: &FlowTable, at: &Cursor<'_>) -> Result<Hosts, Fault> {
    for (key, name) in [("sender_host", &table.sender_host), ("receiver_host", &table.receiver_host)] {
        if name.as_ref().is_some_and(String::is_empty) {
            return Err(at.get(key).not_allowed("a name that is not empty"));
        }
    }
    Ok(Hosts { sender: table.sender_host.clone(), receiver: table.receiver_host.clone() })
}

/// Refuses the keys of a flow that its transport does not read.
pub(super) fn refuse(at: &Cursor<'_>, keys: &[&str], problem: &str) -> Result<(), Fault> {
    match keys.iter().map(|key| at.get(key)).find(Cursor::is_given) {
        Some(key) => Err(key.fault(problem)),
        None => Ok(()),
    }
}

fn route(table: &FlowTable, at: &Cursor<'_>, topology: &Topology<'_>) -> Result<Route, Fault> {
    let (links, forward, reverse) = match topology {
        Topology::Dumbbell(links) => {
            for key in ["from", "to", "path", "reverse"] {
                let key = at.get(key);
                if key.is_given() {
                    return Err(key
                        .fault("belongs to a graph of [[link]]; with [bottleneck] all flows share one way"));
                }
            }
            (*links, vec![0], (1..links.len()).collect())
        }
        Topology::Graph(graph) => {
            let (forward, (from, to)) = forward_route(table, at, graph)?;
            let reverse = reverse_route(table, at, graph, to, from)?;
            (graph.links, forward, reverse)
        }
    };
    check_length(&forward, &at.get("path"))?;
    check_length(&reverse, &at.get("reverse"))?;
    check_tunnels(links, &forward, at)?;
    check_tunnels(links, &reverse, at)?;
    let link_delay: Duration = forward.iter().chain(&reverse).map(|link| links[*link].params.delay).sum();
    let at = at.get("rtt");
    let rtt = match table.rtt {
        Some(rtt) => rtt,
        None if !link_delay.is_zero() => link_delay,
        None => return Err(at.fault("is required: the links of this flow have no delay")),
    };
    check_rtt(rtt, &at)?;
    if rtt < link_delay {
        return Err(
            at.not_allowed(format!("at least {link_delay}, the delays of the links on the flow's way"))
        );
    }
    Ok(Route { forward, reverse, rtt, own_delay: rtt.saturating_sub(link_delay) })
}

/// Returns the links from sender to receiver, and the nodes of sender and receiver.
fn forward_route(
    table: &FlowTable,
    at: &Cursor<'_>,
    graph: &Graph<'_>,
) -> Result<(Vec<usize>, (usize, usize)), Fault> {
    let (from_at, to_at, path_at) = (at.get("from"), at.get("to"), at.get("path"));
    if let Some(names) = &table.path {
        if let Some(other) = [from_at, to_at].iter().find(|at| at.is_given()) {
            return Err(other.fault("follows from `path`: give one of them"));
        }
        let route = graph.along(names, &path_at)?;
        let ends = graph.ends_of(&route).ok_or_else(|| path_at.not_allowed("at least one link"))?;
        return Ok((route, ends));
    }
    let (Some(from), Some(to)) = (&table.from, &table.to) else {
        let missing = if from_at.is_given() { to_at } else { from_at };
        return Err(missing.fault("is required in a graph: give `from` and `to`, or `path`"));
    };
    let ends = (graph.node(from, &from_at)?, graph.node(to, &to_at)?);
    if ends.0 == ends.1 {
        return Err(to_at.not_allowed("another node than `from`"));
    }
    let route = graph
        .fewest_links(ends.0, ends.1)
        .ok_or_else(|| to_at.fault(format!("no links lead from `{from}` to `{to}`")))?;
    Ok((route, ends))
}

fn reverse_route(
    table: &FlowTable,
    at: &Cursor<'_>,
    graph: &Graph<'_>,
    from: usize,
    to: usize,
) -> Result<Vec<usize>, Fault> {
    let Some(names) = &table.reverse else { return Ok(graph.fewest_links(from, to).unwrap_or_default()) };
    let at = at.get("reverse");
    let route = graph.along(names, &at)?;
    match graph.ends_of(&route) {
        Some(ends) if ends != (from, to) => Err(at.fault(format!(
            "the way of the ACKs leads from `{}` to `{}`: it must lead from `{}` to `{}`",
            graph.name(ends.0),
            graph.name(ends.1),
            graph.name(from),
            graph.name(to),
        ))),
        _ => Ok(route),
    }
}

/// Checks the given names and names the other groups after their controllers, with a number if the name is taken.
fn name(
    groups: &mut [FlowGroup],
    tables: &[FlowTable],
    at: &Cursor<'_>,
    interrupt: Interrupt<'_>,
) -> Result<(), Fault> {
    let mut names = Names::default();
    for (index, table) in tables.iter().enumerate() {
        if let Some(name) = &table.name {
            let at = at.item(index).get("name");
            if name.is_empty() {
                return Err(at.not_allowed("a name that is not empty"));
            }
            for member in 0..table.count {
                names.add(&member_name(name, table.count, member), "flow", &at)?;
            }
        }
    }
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for (group, table) in groups.iter_mut().zip(tables) {
        if table.name.is_some() {
            continue;
        }
        let number = numbers.entry(group.cc_name.clone()).or_insert(0);
        loop {
            interrupt.check()?;
            *number += 1;
            let name =
                if *number == 1 { group.cc_name.clone() } else { format!("{}-{number}", group.cc_name) };
            let members = || (0..group.count).map(|member| member_name(&name, group.count, member));
            if !members().any(|member| names.contains(&member)) {
                members().for_each(|member| names.take(member));
                group.name = name;
                break;
            }
        }
    }
    Ok(())
}
