//! What an ACK says. It is a packet only where it takes a way: most receivers of the ideal profile have their senders
//! behind no delay, and hear it at once.

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use crate::config::HEADERS;

/// What an ACK says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ack {
    /// The next byte expected.
    pub ack: Seq,
    /// When it left.
    pub ts_val: Time,
    /// The timestamp echoed.
    pub ts_ecr: Time,
    /// ECE echoes CE, AE echoes SCE.
    pub flags: TcpFlags,
}

impl Ack {
    /// What `packet` says.
    #[inline]
    pub(crate) fn of(packet: &Packet) -> Ack {
        Ack { ack: packet.ack, ts_val: packet.ts_val, ts_ecr: packet.ts_ecr, flags: packet.flags }
    }

    /// A packet of `flow` that says so.
    #[inline]
    pub(crate) fn packet(self, flow: FlowId) -> Packet {
        let mut packet = Packet::new(flow, HEADERS, Bytes::ZERO);
        packet.ack = self.ack;
        packet.ts_val = self.ts_val;
        packet.ts_ecr = self.ts_ecr;
        packet.flags = self.flags;
        packet
    }
}
