//! Hosts: which flows share the computer at which they start or end.
//!
//! A queue sees packets in one direction of a flow: on the way of the data, their source is the sender's host; on that of
//! the ACKs, the receiver's. Who builds the network tells its queues ([`crate::QueueDiscipline::learn_hosts`]). A queue
//! that has not been told takes each flow for one with hosts of its own.

use windtunnel_wire::FlowId;

/// The hosts of a packet. Sources and destinations are numbered apart from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostPair {
    /// Where it comes from.
    pub source: u32,
    /// Where it goes.
    pub destination: u32,
}

/// The hosts of flows, by flow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowHosts(Vec<HostPair>);

impl FlowHosts {
    /// Hosts of the flows from 0 on. Others, such as connections that arrive during a run, have hosts of their own.
    pub const fn new(hosts: Vec<HostPair>) -> FlowHosts {
        FlowHosts(hosts)
    }

    /// The hosts of a flow.
    pub fn of(&self, flow: FlowId) -> HostPair {
        // A flow's own number stands for its own host; no number of a flow that was told reaches it.
        let own = HostPair { source: flow.get(), destination: flow.get() };
        self.0.get(flow.index()).copied().unwrap_or(own)
    }
}
