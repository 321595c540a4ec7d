//! Lays paths and delay lines out while a network is prepared.

use windtunnel_tcp::ideal;
use windtunnel_units::Duration;

use crate::application::{ApplicationConfig, Datagrams, Stream};
use crate::arrivals::Arrivals;
use crate::connection::Connection;
use crate::element::{TunnelEnd, tunnels_match};
use crate::flow::{Ends, Flow, Hop, Onward};
use crate::line::DelayLine;
use crate::network::{FlowSpec, Network, PathHop, Transport};

/// The ways through a network.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) lines: Vec<DelayLine>,
    pub(super) from_link: Vec<Onward>,
    pub(super) from_line: Vec<Onward>,
    pub(super) from_impairment: Vec<Onward>,
    /// The propagation delay of each link.
    link_lines: Vec<Option<u32>>,
    /// Which impairments neither reorder nor double packets.
    keeps_order: Vec<bool>,
    /// Which impairments are ends of tunnels.
    tunnel_ends: Vec<Option<TunnelEnd>>,
}

impl Layout {
    /// Links and their propagation delays, and impairments, passed by any flow.
    pub(super) fn new(network: &Network) -> Layout {
        let shared = Onward::PerFlow(vec![Hop::Sender; network.flows.len()]);
        let mut layout = Layout {
            lines: Vec::new(),
            from_link: vec![shared.clone(); network.links.len()],
            from_line: Vec::new(),
            from_impairment: vec![shared.clone(); network.impairments.len()],
            link_lines: Vec::new(),
            keeps_order: network.impairments.iter().map(|i| i.config.keeps_order()).collect(),
            tunnel_ends: network.impairments.iter().map(|i| i.config.tunnel_end()).collect(),
        };
        for link in &network.links {
            let line = layout.line(link.delay, shared.clone());
            layout.link_lines.push(line);
        }
        layout
    }

    /// A new line of this delay; none for a delay of zero.
    fn line(&mut self, delay: Duration, onward: Onward) -> Option<u32> {
        if delay.is_zero() {
            return None;
        }
        self.lines.push(DelayLine::new(delay));
        self.from_line.push(onward);
        Some(self.lines.len() as u32 - 1)
    }

    pub(super) fn flow(&mut self, index: usize, spec: &FlowSpec) -> Flow {
        let ideal = matches!(spec.transport, Transport::Ideal { .. });
        let disorder = |hop: &PathHop| matches!(hop, PathHop::Impairment(i) if !self.keeps_order[*i]);
        let disordered = ideal && spec.forward.iter().chain(&spec.reverse).any(disorder);
        assert!(!disordered, "{}: loss-free endpoints take packets in order, and each once", spec.name);
        for way in [&spec.forward, &spec.reverse] {
            let ends = way.iter().filter_map(|hop| match hop {
                PathHop::Impairment(i) => self.tunnel_ends[*i],
                PathHop::Link(_) | PathHop::Delay(_) => None,
            });
            assert!(tunnels_match(ends), "{}: a tunnel on its way has one end only", spec.name);
        }
        let data = self.path(index, &spec.forward, Hop::Receiver);
        let acks = self.path(index, &spec.reverse, Hop::Sender);
        Flow { ends: ends(spec), data, acks, series: index as u32, in_network: 0, active: false }
    }

    /// Lays out a path of `flow` that ends at `end`, from its end to its begin. Returns its first hop.
    fn path(&mut self, flow: usize, path: &[PathHop], end: Hop) -> Hop {
        let mut next = end;
        for hop in path.iter().rev() {
            match *hop {
                PathHop::Link(link) => {
                    if let Some(line) = self.link_lines[link] {
                        self.from_line[line as usize].set(flow, next);
                        next = Hop::Line(line);
                    }
                    self.from_link[link].set(flow, next);
                    next = Hop::Link(link as u32);
                }
                PathHop::Impairment(impairment) => {
                    self.from_impairment[impairment].set(flow, next);
                    next = Hop::Impairment(impairment as u32);
                }
                PathHop::Delay(delay) => {
                    if let Some(line) = self.line(delay, Onward::One(next)) {
                        next = Hop::Line(line);
                    }
                }
            }
        }
        next
    }
}

/// The endpoints of a flow.
fn ends(spec: &FlowSpec) -> Ends {
    let FlowSpec { name, endpoint, application, seed, .. } = spec;
    let ends = match (&spec.transport, application) {
        (Transport::Ideal { cc, ack }, ApplicationConfig::Bulk) => Some(Ends::Ideal {
            sender: ideal::Sender::new(*endpoint, cc.make()),
            receiver: ideal::Receiver::new(*endpoint, *ack),
        }),
        (Transport::Ideal { .. }, _) => None,
        (Transport::Tcp { cc, params, ack }, ApplicationConfig::Poisson(poisson)) => {
            let arrivals = Arrivals::new(poisson, *seed, *endpoint, cc.clone(), params.clone(), *ack);
            Some(Ends::Arrivals(Box::new(arrivals)))
        }
        (Transport::Tcp { cc, params, ack }, _) => Stream::new(application, endpoint.mss(), *seed)
            .map(|stream| Connection::linux(*endpoint, cc.make(), params, *ack, stream))
            .map(|connection| Ends::Tcp(Box::new(connection))),
        (Transport::Bsd42(params), _) => Stream::new(application, endpoint.mss(), *seed)
            .map(|stream| Connection::bsd42(*endpoint, params, stream))
            .map(|connection| Ends::Tcp(Box::new(connection))),
        (Transport::Udp, _) => {
            Datagrams::new(application, *endpoint).map(|datagrams| Ends::Datagrams(Box::new(datagrams)))
        }
    };
    ends.unwrap_or_else(|| panic!("{name}: its transport cannot carry `{}`", application.kind()))
}
