//! Lays paths and delay lines out while a network is prepared.

use std::collections::BTreeMap;
use std::sync::Arc;

use windtunnel_cc::Subflow;
use windtunnel_tcp::{Endpoint, ideal};
use windtunnel_wire::FlowId;

use crate::application::{ApplicationConfig, DatagramReceiver, DatagramSender, Stream};
use crate::arrivals::Arrivals;
use crate::element::{TunnelEnd, tunnels_match};
use crate::endpoint::{Ends, FlowContext, Halves, Kind, Pair, Parts, TcpEnd};
use crate::flow::{Flow, Hop};
use crate::network::{FlowSpec, Network, PathHop, Transport, UnfitFlow};
use crate::onward::Onward;
use crate::rtp::{RtpReceiver, RtpSender};

use super::lines::{Delays, Lines};

/// The ways through a network.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) lines: Lines,
    pub(super) from_link: Vec<Onward>,
    pub(super) from_element: Vec<Onward>,
    pub(super) from_host: Vec<Hop>,
    /// The propagation delay of each link.
    pub(super) link_lines: Vec<Option<u32>>,
    /// Which elements neither reorder nor duplicate packets.
    keeps_order: Vec<bool>,
    /// Which elements are ends of tunnels.
    tunnel_ends: Vec<Option<TunnelEnd>>,
    /// The kind of the connection laid out last.
    kind: Option<Kind>,
    /// The subflows of each connection that are not laid out yet.
    subflows: BTreeMap<u32, std::vec::IntoIter<Subflow>>,
}

/// The flows of each connection that has several paths.
pub(super) fn connections(network: &Network) -> BTreeMap<u32, Vec<usize>> {
    let mut connections: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (flow, spec) in network.flows.iter().enumerate() {
        if let Some(connection) = spec.connection {
            connections.entry(connection).or_default().push(flow);
        }
    }
    connections
}

fn subflows(network: &Network) -> BTreeMap<u32, std::vec::IntoIter<Subflow>> {
    let new = |(connection, flows): (u32, Vec<usize>)| {
        (connection, Subflow::of_connection(flows.len()).into_iter())
    };
    connections(network).into_iter().map(new).collect()
}

impl Layout {
    /// Links with their propagation delays, and elements, not yet passed by any flow.
    pub(super) fn new(network: &Network) -> Layout {
        let mut layout = Layout {
            lines: Lines::new(network),
            from_link: vec![Onward::UNSET; network.links.len()],
            from_element: vec![Onward::UNSET; network.elements.len()],
            from_host: Vec::new(),
            link_lines: Vec::new(),
            keeps_order: network.elements.iter().map(|i| i.config.keeps_order()).collect(),
            tunnel_ends: network.elements.iter().map(|i| i.config.tunnel_end()).collect(),
            kind: None,
            subflows: subflows(network),
        };
        for (index, link) in network.links.iter().enumerate() {
            let line = layout.lines.of_link(index, &link.params);
            layout.link_lines.push(line);
        }
        layout
    }

    pub(super) fn flow(&mut self, index: usize, spec: &FlowSpec) -> Result<Flow, UnfitFlow> {
        let unfit = |why: String| UnfitFlow { flow: spec.name.clone(), why };
        let ideal = matches!(spec.transport, Transport::Ideal { .. });
        let disorder = |hop: &PathHop| matches!(hop, PathHop::Element(i) if !self.keeps_order[*i]);
        let disordered = ideal && spec.forward.iter().chain(&spec.reverse).any(disorder);
        if disordered {
            return Err(unfit("loss-free endpoints take packets in order, and each once".to_owned()));
        }
        for way in [&spec.forward, &spec.reverse] {
            let ends = way.iter().filter_map(|hop| match hop {
                PathHop::Element(i) => self.tunnel_ends[*i],
                PathHop::Link(_) | PathHop::Delay(_) => None,
            });
            if !tunnels_match(ends) {
                return Err(unfit("a tunnel on its way has one end only".to_owned()));
            }
        }
        let many = matches!(spec.application, ApplicationConfig::Poisson(_));
        let mut delays = Delays::new(index, !many);
        let data = self.path(index, &mut delays, &spec.forward, Hop::Receiver);
        if spec.transport.mechanisms().is_some_and(|tcp| tcp.small_queues) {
            self.own_interface(index, data, &spec.name);
        }
        let acks = self.path(index, &mut delays, &spec.reverse, Hop::Sender);
        let series = index as u32;
        if let (Transport::Tcp { cc, params, ack }, ApplicationConfig::Poisson(poisson)) =
            (&spec.transport, &spec.application)
        {
            let arrivals = Arrivals::new(poisson, spec.seed, spec.endpoint, cc.clone(), params.clone(), *ack);
            return Ok(Flow::new(Ends::Many(Box::new(arrivals)), data, acks, series));
        }
        let cannot =
            || unfit(format!("{} cannot carry `{}`", spec.transport.kind(), spec.application.kind()));
        let ends = self.ends(spec).ok_or_else(cannot)?;
        Ok(Flow::new(ends, data, acks, series))
    }

    /// All flows are laid out.
    pub(super) fn settle(&mut self) {
        for ways in [&mut self.from_link, &mut self.lines.onward, &mut self.from_element] {
            ways.iter_mut().for_each(Onward::settle);
        }
    }

    /// The first link of the way of `flow` is its sender's own interface: the sender hears of what leaves it.
    fn own_interface(&mut self, flow: usize, first: Hop, name: &str) {
        let Hop::Link(link) = first else { panic!("{name}: with small queues its way starts with a link") };
        let link = link as usize;
        self.from_host.push(self.from_link[link].of(FlowId::new(flow as u32)));
        self.from_link[link].set(flow, Hop::LeftHost(self.from_host.len() as u32 - 1));
    }

    /// Lays out a path of `flow` that ends at `end`, backwards from its end. Returns its first hop.
    fn path(&mut self, flow: usize, delays: &mut Delays, path: &[PathHop], end: Hop) -> Hop {
        let mut next = end;
        for hop in path.iter().rev() {
            match *hop {
                PathHop::Link(link) => {
                    if let Some(line) = self.link_lines[link] {
                        self.lines.onward[line as usize].set(flow, next);
                        next = Hop::Line(line);
                    }
                    self.from_link[link].set(flow, next);
                    next = Hop::Link(link as u32);
                }
                PathHop::Element(element) => {
                    self.from_element[element].set(flow, next);
                    next = Hop::Element(element as u32);
                }
                PathHop::Delay(delay) => {
                    if let Some(line) = self.lines.of_flow(delays, delay, next) {
                        next = Hop::Line(line);
                    }
                }
            }
        }
        next
    }

    /// Both ends of a flow; none if its transport cannot carry its application.
    fn ends(&mut self, spec: &FlowSpec) -> Option<Ends> {
        let FlowSpec { endpoint, application, seed, .. } = spec;
        let stream = || Stream::new(application, endpoint.mss(), *seed);
        let subflow = spec.connection.and_then(|connection| self.subflows.get_mut(&connection)?.next());
        match &spec.transport {
            Transport::Ideal { cc, ack } => (*application == ApplicationConfig::Bulk).then(|| {
                let cc = cc.with_subflow(subflow);
                let sender = ideal::Sender::new(*endpoint, cc.make(0, None));
                Ends::Ideal(Box::new(Pair::new(sender, ideal::Receiver::new(*endpoint, *ack))))
            }),
            Transport::Tcp { cc, params, ack } => {
                let (cc, params) = (cc.with_subflow(subflow), Arc::clone(params));
                let parts = Parts { endpoint: *endpoint, cc, params, ack: *ack, application: stream()? };
                Some(Kind::ends(&mut self.kind, parts))
            }
            Transport::Bsd42(params) => {
                let sender = TcpEnd::bsd42(*endpoint, params, stream()?);
                Some(Ends::Tcp(Box::new(Pair::new(sender, params.receiver(*endpoint)))))
            }
            Transport::Udp => {
                let sender = DatagramSender::new(application, *endpoint)?;
                let receiver = DatagramReceiver::new(application, *endpoint);
                Some(Ends::Datagrams(Box::new(Pair::new(sender, receiver))))
            }
            Transport::Rtp { cc } => {
                let ApplicationConfig::Media(media) = application else { return None };
                let cc = cc.make(0, None);
                let reports_arrivals = cc.needs().arrivals;
                Some(Ends::Foreign(Box::new(Halves {
                    sender: Box::new(RtpSender::new(*endpoint, cc, media)),
                    receiver: Box::new(RtpReceiver::new(*endpoint, reports_arrivals)),
                })))
            }
            Transport::Foreign(stack) => {
                let Endpoint { flow, mtu, ecn, dscp, .. } = *endpoint;
                let context = FlowContext { flow, mtu, application, seed: *seed, ecn, dscp };
                Some(Ends::Foreign(Box::new(stack.halves(&context)?)))
            }
        }
    }
}
