//! How many packets a run has: what applications want to send, limited by the links on their way, whose capacity the flows
//! that share them divide in proportion to their demand. Losses, and time that congestion control leaves unused, make it
//! less.

use serde::Serialize;
use windtunnel_qdisc::{ChildSpec, Limit, QueueSpec};
use windtunnel_sim::application::{ApplicationConfig, Protocol};
use windtunnel_sim::{Moment, repeated};
use windtunnel_tcp::AckPolicy;
use windtunnel_units::{Bytes, Duration, Rate, Time};

use crate::model::{Active, FlowGroup, Link, Scenario, Transport};

/// The length of an ACK.
pub(super) const ACK: f64 = 52.0;

/// Packets of a connection besides its data: the handshake and the end.
const OF_CONNECTION: f64 = 4.0;

/// The packets and events of a run, expectations all.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Packets {
    /// Data packets sent.
    pub data: f64,
    /// Packets that answer them.
    pub replies: f64,
    /// Events handled.
    pub events: f64,
}

/// The packets of a group of flows, all members together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GroupTraffic {
    /// Data packets that arrive.
    pub(super) data: f64,
    /// Data packets sent: datagrams are sent whether or not a link has room for them.
    pub(super) sent: f64,
    /// Packets that the receivers send.
    pub(super) replies: f64,
    /// Messages completed: transfers, responses, frames, connections.
    pub(super) messages: f64,
    /// The length of a data packet.
    pub(super) size: f64,
    /// The bytes that the applications want to send.
    pub(super) wanted: f64,
    /// The time that a member sends, on average, in seconds.
    pub(super) active: f64,
}

/// The packets of a link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LinkTraffic {
    pub(super) arrived: f64,
    pub(super) left: f64,
    /// What transfers and datagrams ask of it, in bytes per second, however long they take.
    pub(super) asked: f64,
    /// The other connections, which take what they get.
    pub(super) elastic: f64,
}

/// The traffic of a run.
#[derive(Debug)]
pub(super) struct Traffic {
    pub(super) groups: Vec<GroupTraffic>,
    pub(super) links: Vec<LinkTraffic>,
    pub(super) events: f64,
}

/// What a group would send if no link limited it.
#[derive(Clone, Copy, Debug)]
struct Demand {
    bytes: f64,
    /// The same if no window limited it either.
    wanted: f64,
    messages: f64,
    size: f64,
    /// The time that a member sends, on average, in seconds.
    active: f64,
}

impl Traffic {
    pub(super) fn of(scenario: &Scenario) -> Traffic {
        let demands: Vec<Demand> = scenario.flows.iter().map(|group| demand(scenario, group)).collect();
        let mut loads = vec![0.0; scenario.links.len()];
        for (group, demand) in scenario.flows.iter().zip(&demands) {
            group.route.forward.iter().for_each(|link| loads[*link] += demand.bytes);
        }
        let capacities: Vec<f64> =
            scenario.links.iter().map(|link| capacity(link, scenario.duration)).collect();
        let share = |link: &usize| (capacities[*link] / loads[*link].max(1.0)).min(1.0);
        let groups: Vec<GroupTraffic> = scenario
            .flows
            .iter()
            .zip(&demands)
            .map(|(group, demand)| {
                let passes = group.route.forward.iter().map(share).fold(1.0, f64::min);
                group_traffic(group, demand, passes)
            })
            .collect();
        let links = links(scenario, &groups);
        let events =
            scenario.flows.iter().zip(&groups).map(|(group, traffic)| events(scenario, group, traffic));
        Traffic { events: events.sum(), groups, links }
    }

    pub(super) fn packets(&self) -> Packets {
        let sum = |of: fn(&GroupTraffic) -> f64| self.groups.iter().map(of).sum();
        Packets { data: sum(|group| group.sent), replies: sum(|group| group.replies), events: self.events }
    }

    /// The packets of groups over stacks of other crates.
    pub(super) fn of_stacks<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = &'a GroupTraffic> {
        let groups = scenario.flows.iter().zip(&self.groups);
        groups.filter(|(group, _)| group.is_over_stack()).map(|(_, traffic)| traffic)
    }

    /// Data packets over stacks of other crates.
    pub(super) fn over_stacks(&self, scenario: &Scenario) -> f64 {
        self.of_stacks(scenario).map(|traffic| traffic.sent).sum()
    }

    /// Packets that senders receive.
    pub(super) fn acks(&self) -> f64 {
        self.groups.iter().map(|group| group.replies).sum()
    }
}

/// What arrives at each link, and what leaves it. Traffic of a group that its path has no room for is lost at the first
/// link.
fn links(scenario: &Scenario, groups: &[GroupTraffic]) -> Vec<LinkTraffic> {
    let mut links = vec![LinkTraffic::default(); scenario.links.len()];
    for (group, traffic) in scenario.flows.iter().zip(groups) {
        let data = group.route.forward.iter().map(|link| (*link, traffic.data));
        let replies = group.route.reverse.iter().map(|link| (*link, traffic.replies));
        for (link, packets) in data.chain(replies) {
            links[link].arrived += packets;
            links[link].left += packets;
        }
        for link in &group.route.forward {
            if is_elastic(group) {
                links[*link].elastic += f64::from(group.count);
            } else {
                links[*link].asked += traffic.wanted / traffic.active.max(1e-9);
            }
        }
        if let Some(first) = group.route.forward.first() {
            links[*first].arrived += traffic.sent - traffic.data;
        }
    }
    links
}

/// Whether a group sends as fast as it can for as long as it is at work.
fn is_elastic(group: &FlowGroup) -> bool {
    group.application.protocol() != Protocol::Udp
        && !matches!(group.application, ApplicationConfig::Poisson(_))
}

/// The bytes that a link carries in a run of this length, if it is never idle.
fn capacity(link: &Link, duration: Duration) -> f64 {
    let Some(rate) = &link.rate else { return f64::INFINITY };
    let end = Time::ZERO + duration;
    let (mut bits, mut since, mut current) = (0.0, Time::ZERO, rate.mean());
    // Nothing is known of changes that wait for a state.
    let changes =
        link.params.changes.iter().filter_map(|change| Some((change.at?, change.every, change.rate?)));
    let mut changes: Vec<(Time, Rate)> =
        changes.flat_map(|(at, every, rate)| repeated(at, every, end).map(move |at| (at, rate))).collect();
    changes.sort_by_key(|(at, _)| *at);
    for (at, rate) in changes {
        bits += current.bits_per_sec() as f64 * at.since(since).as_secs_f64();
        (since, current) = (at, rate);
    }
    bits += current.bits_per_sec() as f64 * end.since(since).as_secs_f64();
    bits / 8.0
}

/// The time in seconds that a member of the group sends, on average.
fn active(group: &FlowGroup, duration: Duration) -> f64 {
    let wait = group.stagger.as_secs_f64() * f64::from(group.count - 1) / 2.0;
    let end = duration.as_secs_f64();
    // A span that waits for a state may be as long as the run.
    let span = |Active { from, to }: &Active| {
        let to = to.as_ref().and_then(Moment::time).map_or(end, |to| to.as_secs_f64().min(end));
        (to - from.time().unwrap_or_default().as_secs_f64() - wait).max(0.0)
    };
    group.active.iter().map(span).sum::<f64>().min(end)
}

fn demand(scenario: &Scenario, group: &FlowGroup) -> Demand {
    let members = f64::from(group.count);
    let active = active(group, scenario.duration);
    let mss = group.endpoint.mss().as_f64();
    let full = scenario.mtu.as_f64();
    let rtt = group.route.rtt.as_secs_f64();
    // Bytes on the wire of messages of this size, each in whole packets.
    let on_wire = |message: f64| message + (message / mss).ceil() * (full - mss);
    let endless = limited_by_window(scenario, group, active);
    let (bytes, messages, size) = match &group.application {
        ApplicationConfig::Bulk => (endless, 0.0, full),
        ApplicationConfig::Transfer(transfer) => {
            let messages = group.active.len() as f64;
            (on_wire(transfer.size.as_f64()) * messages, messages, full)
        }
        ApplicationConfig::OnOff(on_off) => {
            let (on, off) = (on_off.on.mean(), on_off.off.mean());
            let rate =
                on_off.rate.map_or(f64::INFINITY, |rate| rate.bits_per_sec() as f64 / 8.0 * full / mss);
            // The first period is one of sending, and may be the only one.
            let sending = (active * on / (on + off) + on / 1e9).min(active);
            (endless.min(rate * sending), 0.0, full)
        }
        ApplicationConfig::RequestResponse(params) => {
            let mean = params.size.mean().max(1.0);
            let most = active / (params.think.mean() / 1e9 + rtt) + 1.0;
            let messages =
                params.count.map_or(most, |count| most.min(count as f64 * group.active.len() as f64));
            (on_wire(mean) * messages, messages, full.min(mean + full - mss))
        }
        ApplicationConfig::Poisson(params) => {
            let messages = active / params.mean_interval().as_secs_f64();
            let mean = params.size.mean();
            (on_wire(mean) * messages, messages, full.min(mean + full - mss))
        }
        ApplicationConfig::Media(media) => {
            let messages = active / media.frame_interval.as_secs_f64();
            let frame = media.rate.bits_per_sec() as f64 / 8.0 * media.frame_interval.as_secs_f64();
            (on_wire(frame.max(1.0)) * messages, messages, full.min(frame.max(1.0) + full - mss))
        }
        ApplicationConfig::Cbr(cbr) => {
            (cbr.rate.bits_per_sec() as f64 / 8.0 * active, 0.0, cbr.packet_size.as_f64())
        }
        ApplicationConfig::Probe(probe) => {
            let packets = active / probe.interval.as_secs_f64() + 1.0;
            (packets * probe.size.as_f64(), 0.0, probe.size.as_f64())
        }
    };
    let possible = if sends_datagrams(group) { bytes } else { bytes.min(endless.max(full)) };
    // Over RTP frames get smaller where the path carries less; elsewhere fewer of them arrive.
    let messages = if is_over_rtp(group) { messages } else { messages * possible / bytes.max(1.0) };
    Demand { bytes: possible * members, wanted: bytes * members, messages: messages * members, size, active }
}

/// The bytes that a member sends if nothing but its windows and the links limit it.
fn limited_by_window(scenario: &Scenario, group: &FlowGroup, active: f64) -> f64 {
    let rates = group.route.forward.iter().map(|link| capacity(&scenario.links[*link], scenario.duration));
    let carried = rates.fold(f64::INFINITY, f64::min);
    let window = group.transport.mechanisms().map_or(f64::INFINITY, |tcp| tcp.receive_window.as_f64());
    let round_trips = active / group.route.rtt.as_secs_f64() + 1.0;
    carried.min(window.max(scenario.mtu.as_f64()) * round_trips).min(1e18)
}

fn group_traffic(group: &FlowGroup, demand: &Demand, passes: f64) -> GroupTraffic {
    let connections = match &group.application {
        ApplicationConfig::Poisson(_) => demand.messages * passes,
        _ => f64::from(group.count),
    };
    let frames = if is_over_rtp(group) { demand.messages } else { 0.0 };
    let data = (demand.bytes * passes / demand.size).max(frames) + connections;
    let (sent, replies) = if sends_datagrams(group) {
        (demand.bytes / demand.size + connections, replies_to_datagrams(group, data))
    } else {
        let more = connections * OF_CONNECTION;
        (data.max(sent_again(group, demand.active)) + more, data * acks_per_packet(group) + more)
    };
    GroupTraffic {
        data,
        sent,
        replies,
        messages: demand.messages,
        size: demand.size.max(ACK),
        wanted: demand.wanted,
        active: demand.active,
    }
}

/// The application sends at its own pace, whatever the network does.
fn sends_datagrams(group: &FlowGroup) -> bool {
    matches!(group.transport, Transport::Udp)
}

/// A controller sets the rate of the application, whose frames go on.
const fn is_over_rtp(group: &FlowGroup) -> bool {
    matches!(group.transport, Transport::Rtp { .. })
}

/// What a group without congestion control sends if its round trips get longer than its timer: a window for each timeout.
fn sent_again(group: &FlowGroup, active: f64) -> f64 {
    match &group.transport {
        Transport::Bsd42(params) => {
            let timeout = params.rto_min.min(params.rto_initial).max(params.tick).as_secs_f64();
            f64::from(group.count) * f64::from(params.window) * (active / timeout + 1.0)
        }
        Transport::Ideal { .. }
        | Transport::Tcp { .. }
        | Transport::Udp
        | Transport::Rtp { .. }
        | Transport::Foreign(_) => 0.0,
    }
}

/// ACKs for each data packet.
fn acks_per_packet(group: &FlowGroup) -> f64 {
    match group.transport.ack() {
        Some(ack) if ack.policy == AckPolicy::Every => 1.0 / f64::from(ack.count.clamp(1, 4)),
        _ => 1.0,
    }
}

/// Probes come back; for other datagrams the receiver sends reports.
fn replies_to_datagrams(group: &FlowGroup, data: f64) -> f64 {
    match &group.application {
        ApplicationConfig::Probe(_) => data,
        ApplicationConfig::Cbr(cbr) if cbr.responsive => data,
        _ => 0.0,
    }
}

/// The events of a group: each hop of a packet is one, and a packet that is paced has one before it leaves.
fn events(scenario: &Scenario, group: &FlowGroup, traffic: &GroupTraffic) -> f64 {
    let hops = |route: &[usize]| -> f64 {
        let of_link = |link: &Link| {
            let queues = f64::from(u8::from(link.rate.is_some()));
            let delays = f64::from(u8::from(!link.params.delay.is_zero()));
            queues + delays + link.elements.len() as f64 * 0.5
        };
        1.0 + route.iter().map(|link| of_link(&scenario.links[*link])).sum::<f64>()
    };
    let paced = f64::from(u8::from(group.endpoint.paced || sends_datagrams(group)));
    traffic.sent * (hops(&group.route.forward) + paced) + traffic.replies * hops(&group.route.reverse)
}

/// What a queue can hold, in packets of this size; none if it has no limit.
pub(super) fn room(link: &Link, size: f64) -> Option<f64> {
    let rate = link.rate.as_ref().map_or(0.0, |rate| rate.mean().bits_per_sec() as f64 / 8.0);
    nested_room(&link.queue.spec, link.queue.limit, rate, size)
}

/// What a queue and those inside of it can hold: a queue that has others holds nothing itself.
fn nested_room(spec: &QueueSpec, limit: Limit, rate: f64, size: f64) -> Option<f64> {
    if !spec.parts.children.is_empty() {
        let room = |child: &ChildSpec| nested_room(&child.spec, child.limit.unwrap_or(limit), rate, size);
        return spec.parts.children.iter().flatten().map(room).sum();
    }
    match limit {
        Limit::Unlimited => None,
        Limit::Packets(packets) => Some(packets as f64),
        Limit::Bytes(bytes) => Some(bytes.as_f64() / size),
        Limit::Time(time) => Some(time.as_secs_f64() * rate / size),
    }
}

/// A number of packets or rows: whole, and at least zero.
pub(super) fn whole(number: f64) -> u64 {
    Bytes::from_f64(number.ceil()).get()
}
