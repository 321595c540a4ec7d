//! Flows: controller, schedule, and route.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_cc::{Feedback, PacingNeed};
use windtunnel_sim::application::{ApplicationConfig, Protocol};
use windtunnel_tcp::bsd42::Bsd42Params;
use windtunnel_tcp::{AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS};
use windtunnel_units::Duration;
use windtunnel_units::parse::number_with_unit;
use windtunnel_wire::{Dscp, Ecn, FlowId};

use super::application::application;
use super::controller::{Control, Controller, controller};
use super::cursor::Cursor;
use super::deserialize::fields;
use super::document::Value;
use super::ecn;
use super::fault::Fault;
use super::interrupt::Interrupt;
use super::link::{LONGEST_DELAY, Surroundings};
use super::mds_dscp::mds_dscp;
use super::record::Names;
use super::route::{Graph, check_length, check_tunnels};
use super::rtp::over_rtp;
use super::schedule::schedule;
use super::tcp::tcp;
use crate::file::FlowTable;
use crate::model::{Endpoints, FlowGroup, Hosts, Link, Route, Transport, member_name};
use crate::registry::BSD42;

/// The maximum number of flows of a scenario, and of `count`.
const MOST_FLOWS: u32 = 1_000_000;

/// The largest initial window: more than any path holds.
const LARGEST_IW: f64 = 1e6;

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
    let active = schedule(table, at, of.end)?;
    if let ApplicationConfig::Poisson(_) = application {
        refuse(
            at,
            &["sender_host", "receiver_host"],
            "does not go with `poisson`, whose connections come from many hosts",
        )?;
    }
    let Carried { cc_name, transport, endpoint } = carried(table, root, at, &application, of)?;
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

/// How the data of a flow are carried.
pub(super) struct Carried {
    pub(super) cc_name: String,
    pub(super) transport: Transport,
    pub(super) endpoint: Endpoint,
}

/// Reads how an application's data are carried.
fn carried(
    table: &FlowTable,
    root: &Cursor<'_>,
    at: &Cursor<'_>,
    application: &ApplicationConfig,
    of: Surroundings<'_>,
) -> Result<Carried, Fault> {
    let plain = Endpoint {
        flow: FlowId::new(0),
        mtu: of.mtu,
        headers: HEADERS_WITHOUT_TIMESTAMPS,
        iw: of.mtu,
        paced: false,
        needs_ecn: false,
        ecn: Ecn::NotEct,
        feedback: FeedbackScheme::None,
        dscp: Dscp::DEFAULT,
    };
    let of_ecn = |needs, scalable| ecn::Surroundings {
        endpoints: of.endpoints,
        protocol: application.protocol(),
        needs,
        scalable,
    };
    if application.protocol() == Protocol::Udp {
        refuse(
            at,
            &["cc", "tcp", "iw", "ack", "pacing", "unresponsive", "mds_dscp"],
            "belongs to TCP; this application uses UDP",
        )?;
        let (scheme, ect) = ecn::ecn(at, of_ecn(Feedback::Classic, false))?;
        let endpoint = Endpoint { ecn: ecn::code_point(scheme, ect), ..plain };
        return Ok(Carried { cc_name: application.kind().to_owned(), transport: Transport::Udp, endpoint });
    }
    if application.protocol() == Protocol::Rtp {
        return over_rtp(at, plain, of);
    }
    let Controller { name, params: controller, detection, iw } =
        match controller(&at.get("cc"), of.endpoints, of.registry)? {
            Control::By(controller) => controller,
            Control::Bsd42(params) => {
                let allowed = fields::<Bsd42Params>().join(", ");
                let problem = format!("does not go with `bsd42`; the keys in its table `cc` are {allowed}");
                refuse(
                    at,
                    &["tcp", "iw", "ack", "pacing", "ecn", "ect", "unresponsive", "mds_dscp"],
                    &problem,
                )?;
                if let ApplicationConfig::Poisson(_) = application {
                    return Err(at
                        .get("app")
                        .not_allowed("an application of one connection: `bsd42` opens no others"));
                }
                let transport = Transport::Bsd42(Box::new(params));
                return Ok(Carried { cc_name: BSD42.to_owned(), transport, endpoint: plain });
            }
        };
    let needs = controller.needs();
    let (feedback, ect) = ecn::ecn(at, of_ecn(needs.feedback, needs.scalable))?;
    if !feedback.is_mds() {
        refuse(at, &["mds_dscp"], "belongs to a flow with MDS: cc = \"reno-mds\", or ecn = \"mds\"")?;
    }
    let mechanisms = tcp(root, at, of.endpoints, needs, detection)?;
    if mechanisms.as_ref().is_some_and(|tcp| tcp.ecn_nonce) {
        ecn::allows_nonces(at, feedback, ect)?;
    }
    let timestamps = mechanisms.as_ref().is_none_or(|mechanisms| mechanisms.timestamps);
    let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
    let capped = mechanisms.as_ref().is_some_and(|mechanisms| mechanisms.max_pacing_rate.is_some());
    let need = if capped { PacingNeed::Always } else { needs.pacing };
    let endpoint = Endpoint {
        headers,
        needs_ecn: feedback.uses_ecn() && matches!(needs.feedback, Feedback::Shares | Feedback::Counts),
        paced: pacing(table.pacing, at, &name, of.endpoints == Endpoints::Ideal, need)?,
        iw: (of.mtu - headers) * u64::from(initial_window(&at.get("iw"), iw)?),
        ecn: ecn::code_point(feedback, ect),
        feedback,
        dscp: if feedback.is_mds() { mds_dscp(at)? } else { Dscp::DEFAULT },
        ..plain
    };
    let ack = ack(&at.get("ack"), of.endpoints)?;
    let transport = match mechanisms {
        None => Transport::Ideal { cc: controller, ack },
        Some(params) => Transport::Tcp { cc: controller, params: Arc::new(params), ack },
    };
    Ok(Carried { cc_name: name, transport, endpoint })
}

/// Whether departures are paced: as the scenario says, or as the controller needs it.
fn pacing(
    chosen: Option<bool>,
    at: &Cursor<'_>,
    cc_name: &str,
    ideal: bool,
    need: PacingNeed,
) -> Result<bool, Fault> {
    if need == PacingNeed::Always && chosen == Some(false) {
        return Err(at
            .get("pacing")
            .not_allowed(format!("true: {cc_name} sets the pace itself, or max_pacing_rate is given")));
    }
    Ok(chosen.unwrap_or(ideal || need != PacingNeed::None))
}

/// Refuses the keys of a flow that its transport does not read.
pub(super) fn refuse(at: &Cursor<'_>, keys: &[&str], problem: &str) -> Result<(), Fault> {
    match keys.iter().map(|key| at.get(key)).find(Cursor::is_given) {
        Some(key) => Err(key.fault(problem)),
        None => Ok(()),
    }
}

fn initial_window(at: &Cursor<'_>, default: u32) -> Result<u32, Fault> {
    let segments = match at.value() {
        None => return Ok(default),
        Some(Value::Integer(n)) => *n as f64,
        Some(Value::Text(text)) => number_with_unit(
            text,
            "an initial window",
            "10 packets",
            &[("packets", 1.0), ("packet", 1.0), ("", 1.0)],
        )
        .map_err(|error| at.fault(error.to_string()))?,
        Some(_) => 0.0,
    };
    if !(1.0..=LARGEST_IW).contains(&segments) || segments.fract() > 0.0 {
        return Err(at.not_allowed(format!(
            "a whole number of packets from 1 to {LARGEST_IW}, such as \"10 packets\""
        )));
    }
    Ok(segments as u32)
}

fn ack(at: &Cursor<'_>, endpoints: Endpoints) -> Result<AckParams, Fault> {
    let default = AckParams {
        policy: match endpoints {
            Endpoints::Ideal => AckPolicy::Immediate,
            Endpoints::Linux => AckPolicy::Linux,
        },
        ..AckParams::default()
    };
    let params = match at.value() {
        None => default,
        Some(Value::Table(_)) if at.get("policy").is_given() => at.read()?,
        Some(Value::Table(_)) => AckParams { policy: default.policy, ..at.read()? },
        Some(_) => AckParams { policy: at.read()?, ..default },
    };
    if endpoints == Endpoints::Ideal
        && matches!(params.policy, AckPolicy::Linux | AckPolicy::Every | AckPolicy::Dithered)
    {
        let at = if at.get("policy").is_given() { at.get("policy") } else { at.clone() };
        return Err(
            at.not_allowed("\"immediate\", \"quick-signal\" or \"state-change\" with ideal endpoints")
        );
    }
    if endpoints == Endpoints::Ideal && params.mds_tau.is_some() {
        return Err(at
            .get("mds_tau")
            .fault("needs endpoints = \"linux\": ideal endpoints negotiate nothing"));
    }
    if params.count == 0 {
        return Err(at.get("count").not_allowed("a whole number of at least 1"));
    }
    if params.delay.is_zero() || params.delay > LONGEST_DELAY {
        return Err(at.get("delay").not_allowed(format!("more than 0 s and at most {LONGEST_DELAY}")));
    }
    params.check().map_err(|error| at.out_of_range(error))?;
    if endpoints == Endpoints::Ideal && params.attacks() {
        return Err(at.not_allowed("no attack with ideal endpoints, whose senders check nothing"));
    }
    Ok(params)
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
