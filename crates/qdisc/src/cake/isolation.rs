//! Isolation: which packets share a flow's queue, and which queues share a host's part of the bandwidth.
//!
//! Source: tc-cake(8), "Flow isolation parameters"; Hoeiland-Joergensen et al., "Piece of CAKE", 2018; Linux `sch_cake`. With
//! host isolation a flow's quantum is divided by its host's load, the number of flows with a backlog that the host has:
//! hosts then share the bandwidth first, and each host's flows its part. With `triple-isolate` the larger of the loads
//! at both ends counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_wire::FlowId;

use crate::hosts::HostPair;

/// What is kept apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowMode {
    /// Nothing: one queue.
    Flowblind,
    /// Hosts that send.
    Srchost,
    /// Hosts that receive.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows, by addresses, ports and protocol.
    Flows,
    /// Hosts that send, and the flows of each.
    DualSrchost,
    /// Hosts that receive, and the flows of each.
    DualDsthost,
    /// Hosts at both ends, and flows.
    #[default]
    TripleIsolate,
}

/// What all packets of a queue have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    All,
    Source(u32),
    Destination(u32),
    Hosts(HostPair),
    Flow(u32),
}

impl FlowMode {
    /// The queue's key of a packet.
    pub(super) const fn key(self, flow: FlowId, hosts: HostPair) -> Key {
        match self {
            FlowMode::Flowblind => Key::All,
            FlowMode::Srchost => Key::Source(hosts.source),
            FlowMode::Dsthost => Key::Destination(hosts.destination),
            FlowMode::Hosts => Key::Hosts(hosts),
            FlowMode::Flows | FlowMode::DualSrchost | FlowMode::DualDsthost | FlowMode::TripleIsolate => {
                Key::Flow(flow.get())
            }
        }
    }

    const fn divides_by_source(self) -> bool {
        matches!(self, FlowMode::DualSrchost | FlowMode::TripleIsolate)
    }

    const fn divides_by_destination(self) -> bool {
        matches!(self, FlowMode::DualDsthost | FlowMode::TripleIsolate)
    }
}

impl Key {
    /// As results show it.
    pub(super) fn name(self) -> String {
        match self {
            Key::All => "all".to_owned(),
            Key::Source(host) => format!("source {host}"),
            Key::Destination(host) => format!("destination {host}"),
            Key::Hosts(HostPair { source, destination }) => format!("hosts {source} to {destination}"),
            Key::Flow(flow) => format!("flow {flow}"),
        }
    }
}

/// The numbers of bulk flows of all hosts.
#[derive(Clone, Debug)]
pub(super) struct HostLoad {
    mode: FlowMode,
    sources: Vec<u32>,
    destinations: Vec<u32>,
}

impl HostLoad {
    pub(super) const fn new(mode: FlowMode) -> HostLoad {
        HostLoad { mode, sources: Vec::new(), destinations: Vec::new() }
    }

    /// Hosts count.
    #[inline]
    pub(super) const fn counts(&self) -> bool {
        self.mode.divides_by_source() || self.mode.divides_by_destination()
    }

    /// A flow becomes a bulk flow.
    #[inline]
    pub(super) fn add(&mut self, hosts: HostPair) {
        if self.mode.divides_by_source() {
            *entry(&mut self.sources, hosts.source) += 1;
        }
        if self.mode.divides_by_destination() {
            *entry(&mut self.destinations, hosts.destination) += 1;
        }
    }

    /// A flow is no bulk flow any more.
    #[inline]
    pub(super) fn remove(&mut self, hosts: HostPair) {
        if self.mode.divides_by_source() {
            *entry(&mut self.sources, hosts.source) -= 1;
        }
        if self.mode.divides_by_destination() {
            *entry(&mut self.destinations, hosts.destination) -= 1;
        }
    }

    /// By what a flow's quantum is divided.
    #[inline]
    pub(super) fn of(&self, hosts: HostPair) -> u32 {
        let load = |counts: bool, loads: &[u32], host: u32| {
            if counts { loads.get(host as usize).copied().unwrap_or(0) } else { 0 }
        };
        let source = load(self.mode.divides_by_source(), &self.sources, hosts.source);
        source.max(load(self.mode.divides_by_destination(), &self.destinations, hosts.destination)).max(1)
    }
}

fn entry(loads: &mut Vec<u32>, host: u32) -> &mut u32 {
    let host = host as usize;
    if loads.len() <= host {
        loads.resize(host + 1, 0);
    }
    &mut loads[host]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Host isolation counts the bulk flows of each end that it is told of, and forgets those that end; a quantum is
    /// divided by the larger count, and by 1 at least (spec/queues-and-signalling section 10).
    #[test]
    fn loads() {
        let pair = |source, destination| HostPair { source, destination };
        for (mode, loads) in [
            (FlowMode::Flows, [1, 1, 1]),
            (FlowMode::DualSrchost, [3, 1, 1]),
            (FlowMode::DualDsthost, [2, 2, 1]),
            (FlowMode::TripleIsolate, [3, 2, 1]),
        ] {
            let mut load = HostLoad::new(mode);
            for hosts in [pair(0, 9), pair(0, 9), pair(0, 8), pair(1, 8)] {
                load.add(hosts);
            }
            assert_eq!([pair(0, 9), pair(1, 9), pair(2, 7)].map(|hosts| load.of(hosts)), loads, "{mode:?}");
            load.remove(pair(0, 9));
            load.remove(pair(0, 8));
            let left = [pair(0, 9), pair(1, 8)].map(|hosts| load.of(hosts));
            assert_eq!(left, [1, 1], "{mode:?}");
        }
    }
}
