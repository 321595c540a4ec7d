//! A flow: a sender, a receiver, and the way between them.

use windtunnel_tcp::ideal;
use windtunnel_wire::FlowId;

use crate::application::Datagrams;
use crate::arrivals::Arrivals;
use crate::connection::Connection;

/// One hop of a compiled route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    Link(u32),
    Line(u32),
    Impairment(u32),
    Receiver,
    Sender,
}

/// Where packets go from one place of the network.
#[derive(Clone, Debug)]
pub(crate) enum Onward {
    /// The place belongs to one flow.
    One(Hop),
    /// By flow; a flow that never comes by has its own sender there.
    PerFlow(Vec<Hop>),
}

impl Onward {
    /// The next hop of a packet of `flow`.
    #[inline]
    pub(crate) fn of(&self, flow: FlowId) -> Hop {
        match self {
            Onward::One(hop) => *hop,
            Onward::PerFlow(hops) => hops[flow.index()],
        }
    }

    /// A new flow takes the same way as `flow`.
    pub(crate) fn extend_like(&mut self, flow: usize) {
        if let Onward::PerFlow(hops) = self {
            hops.push(hops[flow]);
        }
    }

    /// Sets the next hop of `flow`.
    pub(crate) fn set(&mut self, flow: usize, to: Hop) {
        match self {
            Onward::One(hop) => *hop = to,
            Onward::PerFlow(hops) => hops[flow] = to,
        }
    }
}

/// A flow of the network.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) ends: Ends,
    /// Where its data go first.
    pub(crate) data: Hop,
    /// Where its ACKs go first.
    pub(crate) acks: Hop,
    /// As which flow it is recorded: itself, or the one of whose arrivals it is.
    pub(crate) series: u32,
    /// Its packets on their way. Counted only for connections that arrive: their place is free when none is left.
    pub(crate) in_network: u64,
    /// It was started, and not stopped since.
    pub(crate) active: bool,
}

impl Flow {
    /// The named numbers of the flow's controller: none for datagrams, and for a flow that stands for many connections.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match &self.ends {
            Ends::Ideal { sender, .. } => sender.probe(out),
            Ends::Tcp(connection) => connection.sender.probe(out),
            Ends::Datagrams(_) | Ends::Arrivals(_) | Ends::Vacant => {}
        }
    }
}

/// What sends and receives.
#[expect(
    clippy::large_enum_variant,
    reason = "loss-free endpoints are read with each packet: no pointer to follow"
)]
#[derive(Debug)]
pub(crate) enum Ends {
    /// Loss-free endpoints.
    Ideal { sender: ideal::Sender, receiver: ideal::Receiver },
    /// A TCP connection.
    Tcp(Box<Connection>),
    /// Datagrams.
    Datagrams(Box<Datagrams>),
    /// A source of connections, each of which is a flow.
    Arrivals(Box<Arrivals>),
    /// The place of a connection that has ended.
    Vacant,
}
