//! Connections of real traffic: each 5-tuple is a flow.

use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

/// Addresses, ports and the protocol of a packet, in its direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tuple {
    /// IP's number of the protocol.
    pub protocol: u8,
    /// Where packets come from; port 0 if the protocol has none.
    pub source: (IpAddr, u16),
    /// Where they go.
    pub destination: (IpAddr, u16),
}

impl Tuple {
    /// That of packets in the other direction.
    #[must_use]
    pub(crate) const fn back(self) -> Tuple {
        Tuple { source: self.destination, destination: self.source, ..self }
    }
}

impl fmt::Display for Tuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.protocol {
            1 => "ICMP",
            6 => "TCP",
            17 => "UDP",
            58 => "ICMPv6",
            _ => "",
        };
        if matches!(self.protocol, 6 | 17) {
            let [source, destination] = [self.source, self.destination].map(SocketAddr::from);
            return write!(f, "{source} > {destination} {name}");
        }
        write!(f, "{} > {} ", self.source.0, self.destination.0)?;
        if name.is_empty() { write!(f, "protocol {}", self.protocol) } else { f.write_str(name) }
    }
}

/// The hosts at both ends of a flow, whose packets are all those between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts {
    /// The flow's name.
    pub flow: String,
    /// Where it starts.
    pub near: IpAddr,
    /// Where it ends.
    pub far: IpAddr,
}

/// Which flow a packet belongs to.
#[derive(Debug)]
pub(crate) enum Ends {
    /// Connections, which begin with their first packets: this is the first one's flow.
    Connections(usize, Tuples),
    /// Flows that there are from the start.
    Hosts(BTreeMap<(IpAddr, IpAddr), usize>),
}

impl Ends {
    /// The flow of packets of a connection, whose tuple is that of its forward direction.
    pub(crate) fn flow(&mut self, tuple: Tuple) -> Option<usize> {
        match self {
            Ends::Connections(first, tuples) => Some(*first + tuples.flow(tuple)),
            Ends::Hosts(flows) => flows.get(&(tuple.source.0, tuple.destination.0)).copied(),
        }
    }

    /// Connections, by their flows.
    pub(crate) fn connections(&self) -> Vec<(usize, Tuple)> {
        match self {
            Ends::Connections(first, tuples) => (*first..).zip(tuples.all()).collect(),
            Ends::Hosts(_) => Vec::new(),
        }
    }
}

/// Which flow a connection is, in the order of their first packets. The last flow takes all that come after it.
#[derive(Debug)]
pub(crate) struct Tuples {
    flows: BTreeMap<Tuple, usize>,
    most: usize,
}

impl Tuples {
    /// At most `most` flows.
    pub(crate) const fn new(most: usize) -> Tuples {
        Tuples { flows: BTreeMap::new(), most }
    }

    /// The flow of a connection, whose tuple is that of its forward direction.
    pub(crate) fn flow(&mut self, tuple: Tuple) -> usize {
        let next = self.flows.len();
        match self.flows.get(&tuple) {
            Some(flow) => *flow,
            None if next < self.most => *self.flows.entry(tuple).or_insert(next),
            None => self.most - 1,
        }
    }

    /// Those that have a flow of their own, in the order of flows.
    pub(crate) fn all(&self) -> Vec<Tuple> {
        let mut all: Vec<(usize, Tuple)> = self.flows.iter().map(|(tuple, flow)| (*flow, *tuple)).collect();
        all.sort_unstable();
        all.into_iter().map(|(_, tuple)| tuple).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuple(port: u16) -> Tuple {
        let [source, destination] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        Tuple { protocol: 6, source: (source, port), destination: (destination, 5201) }
    }

    #[test]
    fn connections_are_numbered_by_their_first_packets() {
        let mut tuples = Tuples::new(3);
        let flows = [9, 7, 9, 8, 6, 5].map(|port| tuples.flow(tuple(port)));
        assert_eq!(flows, [0, 1, 0, 2, 2, 2]);
        assert_eq!(tuples.all(), [9, 7, 8].map(tuple));
    }

    #[test]
    fn a_connection_is_written_as_its_ends() {
        assert_eq!(tuple(40_000).to_string(), "10.0.0.1:40000 > 10.0.0.2:5201 TCP");
        assert_eq!(Tuple { protocol: 1, ..tuple(0) }.back().to_string(), "10.0.0.2 > 10.0.0.1 ICMP");
        assert_eq!(Tuple { protocol: 132, ..tuple(0) }.to_string(), "10.0.0.1 > 10.0.0.2 protocol 132");
    }
}
