//! The parts of a data packet that the receiver looks at.

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

/// A segment, or several that GRO merged into one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment {
    pub(super) seq: Seq,
    /// The sequence number after its last one; a FIN has one too.
    pub(super) end: Seq,
    pub(super) ack: Seq,
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
            end: packet.seq
                + packet.payload()
                + Bytes::new(u64::from(packet.flags.bits() & TcpFlags::FIN.bits())),
            ack: packet.ack,
            ts_val: packet.ts_val,
            ts_ecr: packet.ts_ecr,
            packets: 1,
            flags: packet.flags,
            ecn: packet.ecn,
        }
    }

    /// Its sequence numbers.
    pub(super) fn len(&self) -> Bytes {
        self.end - self.seq
    }

    /// It ends the stream.
    #[inline]
    pub(super) fn has_fin(&self) -> bool {
        self.flags.contains(TcpFlags::FIN)
    }

    /// Its data alone.
    pub(super) fn without_fin(&self) -> Segment {
        let fin = Bytes::new(u64::from(self.has_fin()));
        Segment { end: self.seq + (self.len() - fin), flags: self.flags.without(TcpFlags::FIN), ..*self }
    }

    /// The part of it below `edge`.
    pub(super) fn up_to(&self, edge: Seq) -> Segment {
        if self.end <= edge { *self } else { Segment { end: edge, ..self.without_fin() } }
    }
}
