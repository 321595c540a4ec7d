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

/// A step of a flow's way: from a place through delay lines to the next place. It has the signs on its way, and where each
/// of them points.
#[derive(Debug)]
pub(super) struct Step<'a> {
    pub(super) from: Place,
    pub(super) signs: &'a [(Sign, Hop)],
    pub(super) to: Place,
}

/// Where a step may be cut: at the sign with this number, which points to this line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    pub(super) sign: usize,
    pub(super) line: usize,
    pub(super) delay: Duration,
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

    /// Where a step may be cut: at the longest of its lines.
    pub(super) fn cut(&self, step: &Step<'_>) -> Option<Cut> {
        let cuts = step.signs.iter().enumerate().filter_map(|(sign, (_, to))| {
            let Hop::Line(line) = *to else { return None };
            let line = line as usize;
            Some(Cut { sign, line, delay: self.delays[line]? })
        });
        cuts.max_by_key(|cut| (cut.delay, std::cmp::Reverse(cut.sign)))
    }

    /// Follows the way of a flow's data, and that of its ACKs.
    pub(super) fn follow(&self, flow: usize, mut visit: impl FnMut(&Step<'_>)) {
        let mut signs = Vec::new();
        for start in [Sign::Data, Sign::Acks] {
            let (mut from, mut sign) = (Place::Ends, start);
            loop {
                let hop = self.hop(sign, flow);
                signs.push((sign, hop));
                let to = match hop {
                    Hop::Line(line) => {
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
                visit(&Step { from, signs: &signs, to });
                signs.clear();
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
