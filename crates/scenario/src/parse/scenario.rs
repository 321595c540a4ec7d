//! The whole of a scenario.

use windtunnel_tcp::{HEADERS, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};

use super::claim::check_claims;
use super::cursor::Cursor;
use super::deserialize::fields;
use super::document::Node;
use super::fault::Fault;
use super::files::Files;
use super::flow::{Topology, flows, longest_rtt};
use super::interrupt::Interrupt;
use super::limit::Crossing;
use super::link::{Place, Surroundings, link};
use super::overrides;
use super::preset;
use super::record::{Names, check_payloads, check_windows, record};
use super::route::Graph;
use super::when::check_conditions;
use crate::Reading;
use crate::file::{File, LinkPlace};
use crate::model::{Link, Scenario, Shape};

/// The maximum duration of a run: eleven days of simulated time.
const LONGEST_RUN: Duration = Duration::from_secs(1_000_000);

/// The smallest and largest IP packets: room for the headers and some data, up to the limit of the length field.
const MTU: std::ops::RangeInclusive<Bytes> = Bytes::new(HEADERS.get() + 8)..=Bytes::new(65_535);

/// Parses a scenario's text.
pub(crate) fn parse(text: &str, reading: &Reading<'_>) -> Result<Scenario, Fault> {
    resolve(&Cursor::root(&document(text, reading)?), reading)
}

/// A fault of the key with this name from the top of a scenario that is valid, such as `flow[0].iw`.
pub(crate) fn fault_at(key: &str, problem: String, text: &str, reading: &Reading<'_>) -> Fault {
    match document(text, reading) {
        Ok(document) => Cursor::root(&document).at(key).fault(problem),
        Err(fault) => fault,
    }
}

/// The text with its settings.
fn document(text: &str, reading: &Reading<'_>) -> Result<Node, Fault> {
    let mut document = Node::document(text)?;
    for setting in reading.overrides.iter().filter(|setting| overrides::names_preset(setting)) {
        // What fails here is reported below, in the order of the overrides.
        let _ = overrides::apply(&mut document, setting, reading.registry);
    }
    preset::expand(&mut document);
    for setting in reading.overrides {
        overrides::apply(&mut document, setting, reading.registry)?;
    }
    preset::expand(&mut document);
    Ok(document)
}

fn resolve(at: &Cursor<'_>, reading: &Reading<'_>) -> Result<Scenario, Fault> {
    let interrupt = Interrupt(reading.go_on);
    interrupt.check()?;
    let file: File = at.read()?;
    if file.duration.is_zero() || file.duration > LONGEST_RUN {
        return Err(at.get("duration").not_allowed(format!("more than 0 s and at most {LONGEST_RUN}")));
    }
    if !MTU.contains(&file.mtu) {
        return Err(at.get("mtu").not_allowed(format!("from {} to {}", MTU.start(), MTU.end())));
    }
    let end = Time::ZERO + file.duration;
    if at.get("tcp").is_given() {
        // Flows read it together with their own; none may do so, and then it must be right all the same.
        at.get("tcp").read::<TcpParams>()?;
    }
    let of = Surroundings {
        endpoints: file.endpoints,
        mtu: file.mtu,
        end,
        flows: file.flow.iter().map(|table| u64::from(table.count)).sum(),
        files: &Files::new(reading),
        interrupt,
        registry: reading.registry,
    };
    let (shape, links) = topology(&file, at, of)?;
    let topology = match &shape {
        Shape::Dumbbell => Topology::Dumbbell(&links),
        Shape::Graph(nodes) => Topology::Graph(Graph::new(nodes, &links)),
    };
    let flows = flows(&file.flow, at, &topology, of)?;
    check_conditions(at, &shape, &flows)?;
    let series = flows.iter().map(|group| u64::from(group.count)).sum::<u64>() + links.len() as u64;
    let record = record(file.record, &at.get("record"), file.duration, series)?;
    check_payloads(record, &at.get("record"), &flows)?;
    check_windows(&file.window, &at.get("window"), end)?;
    check_claims(&file.claim, &at.get("claim"))?;
    let File { title, duration, seed, endpoints, mtu, window: windows, claim: claims, .. } = file;
    Ok(Scenario { title, duration, seed, endpoints, mtu, shape, links, flows, record, windows, claims })
}

fn topology(file: &File, at: &Cursor<'_>, of: Surroundings<'_>) -> Result<(Shape, Vec<Link>), Fault> {
    if file.bottleneck.is_none() {
        if file.link.is_empty() {
            return Err(at.get("bottleneck").fault("is required: a [bottleneck], or [[link]]s of a graph"));
        }
        if file.reverse.is_some() {
            return Err(at
                .get("reverse")
                .fault("belongs to a [bottleneck]; in a graph ACKs pass the links that lead back"));
        }
        return graph(file, at, of);
    }
    for key in ["link", "node"] {
        let key = at.get(key);
        if key.is_given() {
            return Err(key.fault("is either [bottleneck] or a graph of [[node]] and [[link]], not both"));
        }
    }
    // All flows cross the bottleneck.
    let crossing = Some(Crossing { longest_rtt: longest_rtt(&file.flow, &at.get("flow"))?, flows: of.flows });
    let named = |name: &str| Place { name: name.to_owned(), ends: None, keys: &[] };
    let mut links = vec![link(&at.get("bottleneck"), named("bottleneck"), false, crossing, of)?];
    if file.reverse.is_some() {
        links.push(link(&at.get("reverse"), named("reverse"), true, None, of)?);
    }
    Ok((Shape::Dumbbell, links))
}

fn graph(file: &File, at: &Cursor<'_>, of: Surroundings<'_>) -> Result<(Shape, Vec<Link>), Fault> {
    let mut names = Names::default();
    let mut nodes = Vec::new();
    for (index, node) in file.node.iter().enumerate() {
        names.add(&node.name, "node", &at.get("node").item(index).get("name"))?;
        nodes.push(node.name.clone());
    }
    let mut names = Names::default();
    let mut links = Vec::new();
    let unlinked = Graph::new(&nodes, &[]);
    for index in 0..file.link.len() {
        let at = at.get("link").item(index);
        links.push(link(&at, link_place(&at, &mut names, &unlinked)?, false, None, of)?);
    }
    Ok((Shape::Graph(nodes), links))
}

/// Reads the name and the ends of a link of a graph.
fn link_place(at: &Cursor<'_>, names: &mut Names, nodes: &Graph<'_>) -> Result<Place, Fault> {
    at.expect_table()?;
    let LinkPlace { name, from, to } = at.read_own_fields()?;
    names.add(&name, "link", &at.get("name"))?;
    let ends = (nodes.node(&from, &at.get("from"))?, nodes.node(&to, &at.get("to"))?);
    if ends.0 == ends.1 {
        return Err(at.get("to").not_allowed("another node than `from`"));
    }
    Ok(Place { name, ends: Some(ends), keys: fields::<LinkPlace>() })
}
