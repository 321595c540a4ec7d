//! The connections that arrive during a run: the flow that each belongs to, and its number.
//!
//! Such a connection occupies a slot among the simulation's flows, which a later one takes over. Readers of results
//! see neither the slot nor a separate flow: it counts towards the flow of the network that it belongs to, and tables
//! of single events tell it by a number that no other connection of the run has. A flow that is one connection has its
//! own index as this number, and the others follow in the order of their arrival.

use windtunnel_wire::FlowId;

use super::columns::{Column, Table};
use crate::network::Network;

/// The connections that occupy the slots behind the flows of the network.
#[derive(Debug)]
pub(super) struct Connections {
    /// The number of flows of the network.
    flows: usize,
    /// By slot.
    arrived: Vec<Arrived>,
    /// The number of the connection that arrives next.
    next: u32,
}

/// A connection that arrived during the run.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    /// The flow of the network that it belongs to.
    flow: u32,
    number: u32,
}

impl Connections {
    pub(super) fn new(flows: usize) -> Connections {
        Connections { flows, arrived: Vec::new(), next: flows as u32 }
    }

    /// Of the same flows, without connections.
    pub(super) const fn twin(&self) -> Connections {
        Connections { flows: self.flows, arrived: Vec::new(), next: self.next }
    }

    /// A connection of `flow` arrives, and occupies `slot` among the simulation's flows.
    pub(super) fn arrive(&mut self, slot: usize, flow: usize) {
        let arrived = Arrived { flow: flow as u32, number: self.next };
        self.next += 1;
        match self.arrived.get_mut(slot - self.flows) {
            Some(gone) => *gone = arrived,
            None => self.arrived.push(arrived),
        }
    }

    /// The flow of the network that a packet of the simulation's flow `id` belongs to.
    #[inline]
    pub(super) fn flow(&self, id: FlowId) -> usize {
        self.arrived(id).map_or(id.index(), |connection| connection.flow as usize)
    }

    /// The number of the connection that it belongs to.
    pub(super) fn number(&self, id: FlowId) -> u32 {
        self.arrived(id).map_or(id.get(), |connection| connection.number)
    }

    #[inline]
    fn arrived(&self, id: FlowId) -> Option<Arrived> {
        id.index().checked_sub(self.flows).map(|slot| self.arrived[slot])
    }
}

/// The column `connection` of a table of single events; only runs in which connections arrive have it, because in
/// others it would equal the column `flow`.
#[derive(Debug, Default)]
pub(super) struct ConnectionColumn(Option<Vec<u32>>);

impl ConnectionColumn {
    pub(super) fn new(network: &Network) -> ConnectionColumn {
        let arrive = network.flows.iter().any(|flow| flow.application.makes_connections());
        ConnectionColumn(arrive.then(Vec::new))
    }

    pub(super) fn push(&mut self, number: u32) {
        if let Some(numbers) = &mut self.0 {
            numbers.push(number);
        }
    }

    /// Adds the column to the table that it belongs to. No numbers are left here.
    pub(super) fn add_to(&mut self, table: &mut Table) {
        let numbers = self.0.as_mut().map(std::mem::take);
        table.columns.extend(numbers.map(|numbers| ("connection", Column::U32(numbers))));
    }

    /// The column of a table that was lent, without the first numbers, which are `gone`.
    pub(super) fn take_back(&mut self, columns: &mut dyn Iterator<Item = Column>, gone: usize) {
        if let (Some(numbers), Some(Column::U32(mut column))) = (&mut self.0, columns.next()) {
            column.drain(..gone);
            *numbers = column;
        }
    }
}
