//! The ways of flows through a network that has been laid out, from place to place.

use windtunnel_units::Duration;
use windtunnel_wire::FlowId;

use super::super::Simulation;
use crate::flow::Hop;
use crate::line::DelayLine;

/// A place at which something happens to packets: not on the way through a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One of the flow's ends, which are always together.
    Ends,
    Link(usize),
    Element(usize),
}

/// What says where a packet goes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sign {
    Data,
    Acks,
    Host(u32),
    Link(usize),
    Line(usize),
    Element(usize),
}

/// A step of a flow's way: from a place through delay lines to the next place. Each line is behind a sign.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) from: Place,
    pub(super) lines: &'a [(Sign, usize)],
    pub(super) to: Place,
}

/// What is the same for all flows.
#[derive(Debug)]
pub(super) struct Ways<'a> {
    simulation: &'a Simulation,
    /// The delay of each line that may lie between two parts. Packets enter such a line one after the other, or are those of
    /// different flows: their order at one moment is that of their ranks.
    delays: Vec<Option<Duration>>,
}

impl<'a> Ways<'a> {
    pub(super) fn of(simulation: &'a Simulation) -> Ways<'a> {
        let mut delays: Vec<_> = simulation.lines.iter().map(DelayLine::fixed_delay).collect();
        for (link, line) in simulation.link_lines.iter().enumerate() {
            let rates = simulation.link_changes[link].iter().filter_map(|change| change.rate);
            let most = rates.max().unwrap_or(simulation.links[link].rate());
            if let (Some(line), false) = (line, simulation.links[link].spreads(most)) {
                delays[*line as usize] = None;
            }
        }
        Ways { simulation, delays }
    }

    /// Where a step may be cut: the number of the longest of its lines, and that one's delay.
    pub(super) fn cut(&self, step: &Step<'_>) -> Option<(usize, Duration)> {
        let delays = step.lines.iter().enumerate();
        let delays = delays.filter_map(|(number, (_, line))| Some((number, self.delays[*line]?)));
        delays.max_by_key(|(number, delay)| (*delay, std::cmp::Reverse(*number)))
    }

    /// Follows the way of a flow's data, and that of its ACKs.
    pub(super) fn follow(&self, flow: usize, mut visit: impl FnMut(&Step<'_>)) {
        let mut lines = Vec::new();
        for start in [Sign::Data, Sign::Acks] {
            let (mut from, mut sign) = (Place::Ends, start);
            lines.clear();
            loop {
                let to = match self.hop(sign, flow) {
                    Hop::Line(line) => {
                        lines.push((sign, line as usize));
                        sign = Sign::Line(line as usize);
                        continue;
                    }
                    Hop::LeftHost(host) => {
                        sign = Sign::Host(host);
                        continue;
                    }
                    Hop::Link(link) => Place::Link(link as usize),
                    Hop::Element(element) => Place::Element(element as usize),
                    Hop::Receiver | Hop::Sender | Hop::Away(_) => Place::Ends,
                };
                visit(&Step { from, lines: &lines, to });
                lines.clear();
                (from, sign) = match to {
                    Place::Ends => break,
                    Place::Link(link) => (to, Sign::Link(link)),
                    Place::Element(element) => (to, Sign::Element(element)),
                };
            }
        }
    }

    fn hop(&self, sign: Sign, flow: usize) -> Hop {
        let (s, id) = (self.simulation, FlowId::new(flow as u32));
        match sign {
            Sign::Data => s.flows[flow].data,
            Sign::Acks => s.flows[flow].acks,
            Sign::Host(host) => s.from_host[host as usize],
            Sign::Link(link) => s.from_link[link].of(id),
            Sign::Line(line) => s.from_line[line].of(id),
            Sign::Element(element) => s.from_element[element].of(id),
        }
    }
}
