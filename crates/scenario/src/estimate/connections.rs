//! How many connections a group has, at one time and in all, and how long they live: for a group that stands for many, an
//! expectation by Little's law.

use windtunnel_sim::LinkRate;
use windtunnel_sim::application::ApplicationConfig;

use super::traffic::{GroupTraffic, LinkTraffic, Traffic, room};
use super::windows::is_controlled;
use crate::model::{FlowGroup, Link, Scenario};

/// The share of a link that transfers leave each other when they arrive as fast as it carries them.
const LEAST_FREE: f64 = 0.05;

/// How long packets wait in a queue with an AQM that bulk flows fill, in seconds.
const CONTROLLED_QUEUE: f64 = 0.02;

/// More connections than expected exist at some time of the run: this many standard deviations, as of a Poisson process.
const DEVIATIONS: f64 = 3.0;

/// The connections of a group, all members together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connections {
    /// The most at one time.
    pub(super) at_once: f64,
    /// The mean number of them while the group is at work.
    mean: f64,
    /// In the whole run.
    all: f64,
    /// How long the group is at work, in seconds.
    active: f64,
    /// They arrive faster than they can leave.
    overload: bool,
}

impl Connections {
    pub(super) fn of(scenario: &Scenario, traffic: &Traffic, index: usize) -> Connections {
        let (group, active) = (&scenario.flows[index], traffic.groups[index].active);
        let count = f64::from(group.count);
        let ApplicationConfig::Poisson(params) = &group.application else {
            return Connections { at_once: count, mean: count, all: count, active, overload: false };
        };
        let arrivals = count / params.mean_interval().as_secs_f64();
        let (all, most) = (arrivals * active, count * f64::from(params.max_active));
        let size = params.size.mean();
        let mut life = group.route.rtt.as_secs_f64() * round_trips(group, size);
        let mut piled_up = 0.0;
        if let Some(narrow) = Narrowest::on(scenario, traffic, group) {
            life += narrow.wait * round_trips(group, size)
                + size * (1.0 + narrow.elastic) / (narrow.rate * (1.0 - narrow.load).max(LEAST_FREE));
            // What arrives faster than it can leave piles up until the end.
            piled_up = all * (1.0 - 1.0 / narrow.load.max(1.0));
        }
        let mean = (arrivals * life.min(active)).max(piled_up / 2.0).min(most);
        let at_once = (mean + DEVIATIONS * mean.sqrt() + 1.0).max(piled_up).min(most).min(all);
        Connections { at_once, mean, all, active, overload: piled_up > 0.0 }
    }

    /// The rows that they cause in a table that has one for each connection in an interval in which it sent or waited. One
    /// that hardly waits has at most one row for each of its `packets`.
    pub(super) fn rows(&self, interval: f64, packets: f64) -> f64 {
        let rows = self.mean * self.active / interval + self.all;
        if self.overload { rows } else { rows.min(packets.max(self.all)) }
    }
}

/// The round trips of a transfer: the handshake, and those of slow start.
fn round_trips(group: &FlowGroup, size: f64) -> f64 {
    2.0 + (size / group.endpoint.iw.as_f64().max(1.0) + 1.0).log2()
}

/// The narrowest link on the way of a group.
struct Narrowest {
    /// In bytes per second.
    rate: f64,
    /// The share of it that transfers and datagrams ask for, however long they take.
    load: f64,
    /// The other connections, which take what they get.
    elastic: f64,
    /// How long packets wait in its queue, in seconds.
    wait: f64,
}

impl Narrowest {
    fn on(scenario: &Scenario, traffic: &Traffic, group: &FlowGroup) -> Option<Narrowest> {
        let rate =
            |link: &Link| link.rate.as_ref().map(LinkRate::mean).map(|r| r.bits_per_sec() as f64 / 8.0);
        let links =
            group.route.forward.iter().filter_map(|link| Some((*link, rate(&scenario.links[*link])?)));
        let (link, rate) = links.min_by(|a, b| a.1.total_cmp(&b.1))?;
        let LinkTraffic { asked, elastic, .. } = traffic.links[link];
        let link = &scenario.links[link];
        let full = room(link, scenario.mtu.as_f64()).unwrap_or(f64::INFINITY) * scenario.mtu.as_f64() / rate;
        let longest = if is_controlled(link) { CONTROLLED_QUEUE } else { 1.0 };
        let wait = if elastic > 0.0 { full.min(longest) } else { 0.0 };
        Some(Narrowest { rate, load: asked / rate, elastic, wait })
    }
}

/// The packets of a group on a link, if it passes it.
pub(super) fn packets_on(group: &FlowGroup, traffic: &GroupTraffic, link: usize) -> f64 {
    let passes = |route: &[usize]| route.contains(&link);
    let data = if passes(&group.route.forward) { traffic.sent } else { 0.0 };
    data + if passes(&group.route.reverse) { traffic.replies } else { 0.0 }
}
