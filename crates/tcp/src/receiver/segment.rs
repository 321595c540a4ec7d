//! The parts of a data packet that the receiver looks at.

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

/// A segment, or several that GRO merged into one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) seq: Seq,
    /// The byte after its last one.
    pub(super) end: Seq,
    pub(super) ts_val: Time,
    pub(super) ts_ecr: Time,
    /// The number of packets merged into it.
    pub(super) packets: u32,
    pub(super) flags: TcpFlags,
    pub(super) ecn: Ecn,
}

impl Segment {
    #[inline]
    pub(super) fn of(packet: &Packet) -> Segment {
        Segment {
            seq: packet.seq,
            end: packet.seq + packet.payload(),
            ts_val: packet.ts_val,
            ts_ecr: packet.ts_ecr,
            packets: 1,
            flags: packet.flags,
            ecn: packet.ecn,
        }
    }

    pub(super) fn len(&self) -> Bytes {
        self.end - self.seq
    }
}
