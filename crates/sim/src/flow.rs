//! A flow: a sender, a receiver, and the way between them.

use windtunnel_tcp::ideal::{Receiver, Sender};
use windtunnel_wire::FlowId;

/// One hop of a compiled route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hop {
    Link(u32),
    Line(u32),
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
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Where its data go first.
    pub(crate) data: Hop,
    /// Where its ACKs go first.
    pub(crate) acks: Hop,
}
