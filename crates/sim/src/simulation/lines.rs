//! Lays out the delay lines of a network.
//!
//! Each delay of each flow has a rank of its own among events of the same time. Delays of the same length before the
//! same hop still share a line: one source of events instead of thousands, whose packets lie in memory in the order in
//! which they arrive.

use std::collections::BTreeMap;

use windtunnel_units::Duration;
use windtunnel_wire::FlowId;

use crate::flow::Hop;
use crate::line::{DelayLine, Ranks};
use crate::link::LinkParams;
use crate::network::{FlowSpec, Network, PathHop};
use crate::onward::Onward;

/// The delay lines of a network, and where packets go from each.
#[derive(Debug)]
pub(super) struct Lines {
    pub(super) all: Vec<DelayLine>,
    pub(super) onward: Vec<Onward>,
    /// Lines that stand for one line of each flow: by delay, next hop, and number among the delays of a flow.
    shared: BTreeMap<(Duration, Hop, u32), u32>,
    /// The ranks of links' lines, which follow those of links and of their queues' timers.
    first_of_links: u32,
    first_of_flows: u32,
    /// The most delays of any flow.
    per_flow: u32,
}

/// The delays of one flow, while they are laid out.
#[derive(Debug)]
pub(super) struct Delays {
    flow: FlowId,
    shared: bool,
    laid_out: u32,
}

impl Delays {
    /// `shared` if the flow may share lines: one that stands for many connections may not, as all of them have its rank.
    pub(super) const fn new(flow: usize, shared: bool) -> Delays {
        Delays { flow: FlowId::new(flow as u32), shared, laid_out: 0 }
    }
}

impl Lines {
    pub(super) fn new(network: &Network) -> Lines {
        let is_delay = |hop: &&PathHop| matches!(hop, PathHop::Delay(_));
        let delays = |flow: &FlowSpec| flow.forward.iter().chain(&flow.reverse).filter(is_delay).count();
        let links = network.links.len() as u32;
        Lines {
            all: Vec::new(),
            onward: Vec::new(),
            shared: BTreeMap::new(),
            first_of_links: 2 * links,
            first_of_flows: 3 * links,
            per_flow: network.flows.iter().map(delays).max().unwrap_or(0) as u32,
        }
    }

    /// The rank of whatever comes after the lines of `flows` flows.
    pub(super) const fn end(&self, flows: usize) -> u32 {
        self.first_of_flows + flows as u32 * self.per_flow
    }

    /// A line for the propagation delay of a link; none for a delay that is always zero.
    pub(super) fn of_link(&mut self, link: usize, params: &LinkParams) -> Option<u32> {
        let rank = self.first_of_links + link as u32;
        let (ranks, delay) = (Ranks::same(rank), params.delay);
        let changes = params.changes.iter().filter_map(|change| change.delay);
        match changes.min() {
            Some(least) => Some(self.push(DelayLine::varying(delay, least.min(delay), ranks), Onward::UNSET)),
            None => (!delay.is_zero()).then(|| self.add(delay, ranks, Onward::UNSET)),
        }
    }

    /// The line for the next delay of a flow, before the hop `next`; none for a delay of zero.
    pub(super) fn of_flow(&mut self, delays: &mut Delays, delay: Duration, next: Hop) -> Option<u32> {
        if delay.is_zero() {
            return None;
        }
        let number = delays.laid_out;
        delays.laid_out += 1;
        let ranks = Ranks::by_flow(self.first_of_flows + number, self.per_flow);
        if !delays.shared {
            return Some(self.add(delay, Ranks::same(ranks.of(delays.flow)), Onward::One(next)));
        }
        let same = (delay, next, number);
        if let Some(line) = self.shared.get(&same) {
            return Some(*line);
        }
        let line = self.add(delay, ranks, Onward::One(next));
        self.shared.insert(same, line);
        Some(line)
    }

    fn add(&mut self, delay: Duration, ranks: Ranks, onward: Onward) -> u32 {
        self.push(DelayLine::new(delay, ranks), onward)
    }

    fn push(&mut self, line: DelayLine, onward: Onward) -> u32 {
        self.all.push(line);
        self.onward.push(onward);
        self.all.len() as u32 - 1
    }
}
