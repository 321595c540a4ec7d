//! The payloads of captured packets: what a stack from elsewhere has put into them.
//!
//! A packet carries the same payload at every point of its way, and a copy carries that of its original. So there is one
//! row per packet sent, under the packet's number. The payload is shared with the packet, which goes first.

use std::sync::Arc;

use windtunnel_units::Bytes;
use windtunnel_wire::Packet;

use super::budget::Budget;
use super::columns::{Rows, Table, columns};
use super::outlet::Outlet;

const TABLE: &str = "payloads";

columns! {
    pub(crate) struct PayloadColumns as "payloads" {
        id: U64(u64),
        content: Binary(Arc<[u8]>),
    }
}

/// The counts of owners that stand in front of shared bytes.
const OWNERS: u64 = 2 * size_of::<usize>() as u64;

/// The memory of a payload of `length` bytes.
pub(super) const fn memory(length: u64) -> Bytes {
    Bytes::new(PayloadColumns::ROW + OWNERS + length)
}

/// What a payload takes besides its row.
fn shared(content: &Arc<[u8]>) -> Bytes {
    Bytes::new(OWNERS + content.len() as u64)
}

/// The payloads of a run.
#[derive(Debug)]
pub(super) struct Payloads {
    rows: PayloadColumns,
    budget: Budget,
}

impl Payloads {
    pub(super) fn new(budget: &Budget) -> Payloads {
        Payloads { rows: PayloadColumns::within(budget), budget: budget.clone() }
    }

    /// Keeps the payload of a packet that has got its number.
    pub(super) fn push(&mut self, packet: &Packet, outlet: &mut Outlet) {
        let Some(content) = packet.content() else { return };
        self.hand_over(outlet);
        let shared = shared(content);
        if self.rows.has_room(1) && self.budget.take(TABLE, shared, || true) {
            self.rows.id.push(packet.id());
            self.rows.content.push(Arc::clone(content));
        }
    }

    /// Hands over rows, before the table takes more memory than enough. No row ever changes.
    fn hand_over(&mut self, outlet: &mut Outlet) {
        let gone = outlet.takes_of(&self.rows, self.rows.count());
        if gone > 0 {
            self.budget.give_back(self.rows.content[..gone].iter().map(shared).sum());
            let table = self.rows.lend();
            outlet.give_groups(&table, gone);
            self.rows.take_back(&mut table.columns.into_iter().map(|(_, column)| column), gone);
        }
    }

    pub(super) fn into_table(self) -> Table {
        self.rows.into_table()
    }
}
