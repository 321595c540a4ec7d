//! The rows of each table.

use std::collections::BTreeSet;

use serde::Serialize;
use windtunnel_qdisc::ecn::EcnPolicy;
use windtunnel_qdisc::{QueueDiscipline, QueueInit};
use windtunnel_sim::application::{ApplicationConfig, Protocol};
use windtunnel_sim::recorder::{GROUP, sizes};
use windtunnel_sim::{RecordParams, StateRecording};
use windtunnel_units::{Bytes, Duration, Time};

use super::connections::{Connections, packets_on};
use super::traffic::{ACK, LinkTraffic, Traffic, room, whole};
use super::{Certainty, Part};
use crate::compile::controller_init;
use crate::model::{FlowGroup, Link, Scenario};

/// The assumed number of state values of a fair queue's band, because no band exists before the run.
const NUMBERS_OF_A_BAND: usize = 5;

/// A span of the spacing has a first value and at most two extremes; most extremes are on the way to the next value.
const ROWS_PER_SPAN: f64 = 1.5;

/// One of this many packets is marked, if the queue marks.
const PACKETS_PER_MARK: f64 = 4.0;

/// Rows may take so much memory before those of long tables leave it.
pub const RESIDENT: Bytes = Bytes::new(32 << 20);

/// The rows of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TableRows {
    /// The table.
    pub table: &'static str,
    /// How many rows it has.
    pub rows: u64,
    /// How certain that is.
    pub certainty: Certainty,
    /// The memory of a row.
    #[serde(rename = "row_bytes", serialize_with = "super::plain_bytes")]
    pub row: Bytes,
    /// How many of them are in memory at one time.
    #[serde(skip)]
    held: u64,
    #[serde(skip)]
    key: &'static str,
    #[serde(skip)]
    remedy: &'static str,
}

impl TableRows {
    /// The memory of those of its rows that are there at one time.
    pub fn memory(&self) -> Bytes {
        Bytes::new(self.row.get().saturating_mul(self.held))
    }

    /// What all of its rows would take in memory.
    pub(super) fn size(&self) -> Bytes {
        Bytes::new(self.row.get().saturating_mul(self.rows))
    }

    /// The same of a table whose rows leave memory when they are many, at the end of one of `ticks` intervals or soon after
    /// that. Room for rows doubles, so that there may be twice as much as is used.
    fn leaving(self, ticks: f64) -> TableRows {
        let (of_an_interval, resident) =
            (whole(self.rows as f64 / ticks), RESIDENT.get() / self.row.get().max(1));
        TableRows { held: self.rows.min(2 * (resident.max(GROUP as u64) + of_an_interval)), ..self }
    }

    pub(super) fn part(&self) -> Part {
        let TableRows { table, rows, certainty, key, remedy, .. } = self;
        let held = if self.held < *rows { format!("{} of ", self.held) } else { String::new() };
        let what = format!("{held}{rows} rows of the table `{table}`");
        Part { what, memory: self.memory(), certainty: *certainty, key: (*key).to_owned(), remedy }
    }
}

/// All tables that the run will have.
pub(super) fn tables(scenario: &Scenario, traffic: &Traffic) -> Vec<TableRows> {
    let count = Count { scenario, traffic, record: &scenario.record };
    let mut tables = count.at_intervals();
    tables.extend(count.state());
    let ticks = count.ticks();
    let mut tables: Vec<TableRows> = tables.into_iter().map(|table| table.leaving(ticks)).collect();
    // Marks are put in order at the end.
    let leaves = |table: TableRows| if table.table == "mark_points" { table } else { table.leaving(ticks) };
    tables.extend(count.points().into_iter().map(leaves));
    tables.push(count.transfers());
    // Packets leave up to the first one under way: none is for longer than about a second where it was last seen.
    let seconds = scenario.duration.as_secs_f64();
    tables.extend(count.packets().into_iter().map(|table| table.leaving(seconds)));
    tables.extend(count.events());
    tables.retain(|table| table.rows > 0);
    tables
}

const LONGER_INTERVAL: (&str, &str) = ("record.interval", "record at longer intervals");
const FEWER_POINTS: (&str, &str) = ("record.points", "keep points further apart, or none with \"0 s\"");
const NO_EVENTS: (&str, &str) = ("record.events", "record single events in a shorter run");
const NO_PACKETS: (&str, &str) = ("record.packets", "record packets in a shorter run");
const NO_PAYLOADS: (&str, &str) = ("record.payloads", "record payloads in a shorter run");
const NO_CHANGES: (&str, &str) = ("record.state", "record the state at intervals, or in a shorter run");
const FEWER_TRANSFERS: (&str, &str) = ("duration", "make the run shorter, or its transfers fewer");

fn table(
    table: &'static str,
    rows: f64,
    row: Bytes,
    certainty: Certainty,
    (key, remedy): (&'static str, &'static str),
) -> TableRows {
    TableRows { table, rows: whole(rows), certainty, row, held: whole(rows), key, remedy }
}

struct Count<'s> {
    scenario: &'s Scenario,
    traffic: &'s Traffic,
    record: &'s RecordParams,
}

impl Count<'_> {
    /// The ends of intervals: multiples of the interval, edges of windows, and the end of the run.
    fn ticks(&self) -> f64 {
        let (interval, end) = (self.record.interval.as_nanos(), self.scenario.duration.as_nanos());
        let edges = self.scenario.windows.iter().flat_map(|window| [window.from, window.to]);
        let off: BTreeSet<u64> = edges
            .map(Time::as_nanos)
            .filter(|edge| *edge > 0 && *edge < end && edge % interval > 0)
            .collect();
        (end.div_ceil(interval) + off.len() as u64) as f64
    }

    fn flows(&self) -> f64 {
        self.scenario.flows.iter().map(|group| f64::from(group.count)).sum()
    }

    /// Links with a queue, and their expected packets.
    fn queues(&self) -> impl Iterator<Item = (&Link, LinkTraffic)> {
        let links = self.scenario.links.iter().zip(&self.traffic.links);
        links.filter(|(link, _)| link.rate.is_some()).map(|(link, packets)| (link, *packets))
    }

    /// A queue's rows at intervals, and how many numbers each of its bands reports. A queue that has none before the run gets
    /// one for each flow or connection, which has a row only where something happened to it.
    fn rows_of_bands(&self, (link, packets): (&Link, LinkTraffic)) -> (f64, usize) {
        let ticks = self.ticks();
        let Some((bands, numbers)) = fixed_bands(link) else {
            let index = self.scenario.links.iter().position(|other| std::ptr::eq(other, link));
            let interval = self.record.interval.as_secs_f64();
            let rows = |(number, group): (usize, &FlowGroup)| {
                let packets = packets_on(group, &self.traffic.groups[number], index?);
                let connections = Connections::of(self.scenario, self.traffic, number);
                (packets > 0.0).then(|| connections.rows(interval, packets))
            };
            let rows: f64 = self.scenario.flows.iter().enumerate().filter_map(rows).sum();
            // A band has a row because a packet arrived for it, or because one waits.
            let waiting = room(link, self.scenario.mtu.as_f64()).unwrap_or(f64::INFINITY);
            return (rows.min(packets.arrived + ticks * waiting.min(packets.arrived)), NUMBERS_OF_A_BAND);
        };
        (ticks * bands as f64, numbers)
    }

    fn at_intervals(&self) -> Vec<TableRows> {
        use Certainty::{Bound, Expectation};
        let (ticks, queues) = (self.ticks(), self.queues().count() as f64);
        let several = self.queues().filter(|(link, _)| fixed_bands(link).is_none_or(|(bands, _)| bands > 1));
        let bands = several.map(|queue| self.rows_of_bands(queue).0).sum();
        let classes: usize = self.queues().map(|(link, _)| sizes::classes(build(link).as_ref())).sum();
        vec![
            table("flows", ticks * self.flows(), sizes::FLOWS, Bound, LONGER_INTERVAL),
            table("queues", ticks * queues, sizes::QUEUES, Bound, LONGER_INTERVAL),
            table("bands", bands, sizes::BANDS, Expectation, LONGER_INTERVAL),
            table("classes", ticks * classes as f64, sizes::CLASSES, Bound, LONGER_INTERVAL),
        ]
    }

    fn state(&self) -> Vec<TableRows> {
        let changes = match self.record.state {
            StateRecording::Off => return Vec::new(),
            StateRecording::Interval => false,
            StateRecording::Changes => true,
        };
        let ticks = self.ticks();
        // A row has a column for each number of any controller.
        let (mut cc, mut cc_names, mut cc_foreign) = (0.0, BTreeSet::new(), 0);
        for (group, traffic) in self.scenario.flows.iter().zip(&self.traffic.groups) {
            let (names, foreign) = numbers_of_controller(group);
            if (names.is_empty() && foreign == 0) || has_many(group) {
                continue;
            }
            cc_names.extend(names);
            cc_foreign = cc_foreign.max(foreign);
            cc += ticks * f64::from(group.count) + if changes { traffic.replies } else { 0.0 };
        }
        let (mut aqm, mut aqm_numbers) = (0.0, 0);
        let (mut qdisc, mut qdisc_numbers) = (0.0, 0);
        for (link, packets) in self.queues() {
            let (rows, numbers) = self.rows_of_bands((link, packets));
            let changed = if changes { packets.arrived + packets.left } else { 0.0 };
            if numbers > 0 {
                aqm_numbers = aqm_numbers.max(numbers);
                aqm += rows + changed;
            }
            let numbers = numbers_of_discipline(link);
            if numbers > 0 {
                qdisc_numbers = qdisc_numbers.max(numbers);
                qdisc += ticks + changed;
            }
        }
        let by_flow = self.queues().any(|(link, _)| fixed_bands(link).is_none());
        let aqm_certainty = if changes || by_flow { Certainty::Expectation } else { Certainty::Bound };
        let (certainty, keys) =
            if changes { (Certainty::Expectation, NO_CHANGES) } else { (Certainty::Bound, LONGER_INTERVAL) };
        vec![
            table("cc", cc, sizes::state_row(cc_names.len() + cc_foreign), certainty, keys),
            table("aqm", aqm, sizes::state_row(aqm_numbers), aqm_certainty, keys),
            table("qdisc", qdisc, sizes::state_row(qdisc_numbers), certainty, keys),
        ]
    }

    fn points(&self) -> Vec<TableRows> {
        use Certainty::Expectation;
        let Some(spacing) = self.record.points.filter(|spacing| !spacing.is_zero()) else {
            return Vec::new();
        };
        let duration = self.scenario.duration.as_secs_f64();
        let spans = duration / spacing.as_secs_f64() + 1.0;
        let (mut throughput, mut cwnd) = (duration / self.slowest().max(spacing).as_secs_f64() + 1.0, 0.0);
        for (group, traffic) in self.scenario.flows.iter().zip(&self.traffic.groups) {
            let members = f64::from(group.count);
            let pace = group.route.rtt.max(spacing).as_secs_f64();
            throughput += members * (duration / pace + 1.0).min(traffic.data / members);
            if group.application.protocol() != Protocol::Udp && !has_many(group) {
                cwnd += members * (ROWS_PER_SPAN * spans).min(traffic.replies / members);
            }
        }
        let (mut sojourn, mut marks) = (0.0, 0.0);
        for (_, packets) in self.queues() {
            // Packets that leave the queue empty are a series of their own.
            sojourn += (2.0 * ROWS_PER_SPAN * spans).min(packets.left);
            let lost = packets.arrived - packets.left;
            // If any of the three kinds is frequent, two are.
            marks += (2.0 * spans).min(packets.left / PACKETS_PER_MARK + lost);
        }
        vec![
            table("throughput_points", throughput, sizes::THROUGHPUT_POINTS, Expectation, FEWER_POINTS),
            table("cwnd_points", cwnd, sizes::THINNED_POINTS, Expectation, FEWER_POINTS),
            table("sojourn_points", sojourn, sizes::THINNED_POINTS, Expectation, FEWER_POINTS),
            table("mark_points", marks, sizes::MARK_POINTS, Expectation, FEWER_POINTS),
        ]
    }

    fn slowest(&self) -> Duration {
        self.scenario.flows.iter().map(|group| group.route.rtt).max().unwrap_or(Duration::SECOND)
    }

    fn transfers(&self) -> TableRows {
        let over_tcp = self.scenario.flows.iter().zip(&self.traffic.groups);
        let messages = over_tcp
            .filter(|(group, _)| group.application.protocol() != Protocol::Udp)
            .map(|(_, traffic)| traffic.messages)
            .sum();
        table("transfers", messages, sizes::TRANSFERS, Certainty::Expectation, FEWER_TRANSFERS)
    }

    fn events(&self) -> Vec<TableRows> {
        use Certainty::Expectation;
        let mut tables = Vec::new();
        if self.record.events {
            let dequeues = self.queues().map(|(_, packets)| packets.left).sum();
            let marks = self
                .queues()
                .map(|(_, packets)| packets.left / PACKETS_PER_MARK + packets.arrived - packets.left)
                .sum();
            tables.extend([
                table("dequeue_events", dequeues, sizes::DEQUEUE_EVENTS, Expectation, NO_EVENTS),
                table("mark_events", marks, sizes::MARK_EVENTS, Expectation, NO_EVENTS),
                table("ack_events", self.traffic.acks(), sizes::ACK_EVENTS, Expectation, NO_EVENTS),
            ]);
        }
        tables
    }

    fn packets(&self) -> Vec<TableRows> {
        let mut tables = Vec::new();
        if self.record.packets {
            let sent: f64 = self.traffic.groups.iter().map(|group| group.sent + group.replies).sum();
            let at_ends: f64 = self.traffic.groups.iter().map(|group| group.data + group.replies).sum();
            let at_queues: f64 = self.queues().map(|(_, packets)| packets.arrived + packets.left).sum();
            let rows = sent + at_ends + at_queues;
            // Each packet has a note, and two rows or more.
            let row = sizes::PACKETS + Bytes::from_f64(sizes::PACKET_NOTES.as_f64() * sent / rows.max(1.0));
            tables.push(table("packets", rows, row, Certainty::Expectation, NO_PACKETS));
        }
        if self.record.payloads {
            tables.push(self.payloads());
        }
        tables
    }

    fn payloads(&self) -> TableRows {
        let stacks = || self.traffic.of_stacks(self.scenario);
        let rows: f64 = stacks().map(|group| group.sent + group.replies).sum();
        let bytes: f64 = stacks().map(|group| group.sent * group.size + group.replies * ACK).sum();
        let row = sizes::payload(whole(bytes / rows.max(1.0)));
        table("payloads", rows, row, Certainty::Expectation, NO_PAYLOADS)
    }
}

/// The group stands for many connections.
pub(super) fn has_many(group: &FlowGroup) -> bool {
    matches!(group.application, ApplicationConfig::Poisson(_))
}

/// The names of the values that a controller reports about its state, and how many it is assumed to have if it is not known
/// before the run.
fn numbers_of_controller(group: &FlowGroup) -> (Vec<&'static str>, usize) {
    let Some(controller) = group.transport.controller() else { return (Vec::new(), 0) };
    if controller.is_foreign() {
        return (Vec::new(), NUMBERS_OF_A_BAND);
    }
    let init = controller_init(&group.transport, &group.endpoint, 0);
    let mut names = Vec::new();
    controller.build(init).probe(&mut |name, _| names.push(name));
    (names, 0)
}

/// The bands of a link's queue, and the largest number of values that one of them reports about its state; `None` for a
/// queue that has a band for each flow.
fn fixed_bands(link: &Link) -> Option<(usize, usize)> {
    let queue = build(link);
    let numbers = |band| count(|out| queue.probe_band(band, out));
    (0..queue.bands()).map(numbers).max().map(|numbers| (queue.bands(), numbers))
}

/// The number of values that a link's discipline reports in addition to those of its bands.
fn numbers_of_discipline(link: &Link) -> usize {
    let queue = build(link);
    if queue.bands() == 1 { 0 } else { count(|out| queue.probe(out)) }
}

pub(super) fn build(link: &Link) -> Box<dyn QueueDiscipline> {
    let ecn = EcnPolicy { mode: link.queue.ecn_mode, mds: link.queue.mds_dscp };
    link.queue.spec.build(&QueueInit { ecn, limit: link.queue.limit, seed: 0, age: link.queue.age })
}

fn count(probe: impl FnOnce(&mut dyn FnMut(&'static str, f64))) -> usize {
    let mut numbers = 0;
    probe(&mut |_, _| numbers += 1);
    numbers
}
