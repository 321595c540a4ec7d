//! The packet.

use windtunnel_units::{Bytes, Seq, Time};

use crate::{Dscp, Ecn, Extras, TcpFlags};

/// The flow that a packet belongs to: its index in the network, which stands for the 5-tuple.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(u32);

impl FlowId {
    /// The flow with index `n`.
    pub const fn new(n: u32) -> FlowId {
        FlowId(n)
    }

    /// The index of the flow.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The index of the flow as a number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

/// One packet. Not `Clone`: packets are conserved. It fits one cache line, so that queues and delay lines, which are
/// rings of packets, are read in the order in which memory is prefetched.
#[derive(Debug, PartialEq, Eq)]
pub struct Packet {
    /// When it arrived at the queue or delay line that holds it. Nothing but its arrival there writes this field.
    pub enqueued_at: Time,
    /// The sequence number of its first byte (of the SYN, for a SYN).
    pub seq: Seq,
    /// The next byte expected by the sender of this packet, if [`TcpFlags::ACK`] is set.
    pub ack: Seq,
    /// The timestamp option's value: when it was sent.
    pub ts_val: Time,
    /// The timestamp option's echo.
    pub ts_ecr: Time,
    /// What few packets carry.
    pub(crate) extras: Option<Box<Extras>>,
    /// The flow that it belongs to.
    pub flow: FlowId,
    size: u32,
    headers: u16,
    /// The receive window as on the wire: scaled down by the shift of the SYN's option (RFC 7323 section 2.2).
    pub window: u16,
    /// TCP flags; AE, CWR and ECE are the ACE field of AccECN where that was negotiated (RFC 9768 section 3.2.2).
    pub flags: TcpFlags,
    /// The ECN field.
    pub ecn: Ecn,
    /// The Differentiated Services code point.
    pub dscp: Dscp,
}

impl Packet {
    /// A packet of `size` bytes on the wire (IP header included), with `payload` bytes of data.
    #[inline]
    pub fn new(flow: FlowId, size: Bytes, payload: Bytes) -> Packet {
        debug_assert!(u32::try_from(size.get()).is_ok() && payload <= size);
        Packet {
            enqueued_at: Time::ZERO,
            seq: Seq::SYN,
            ack: Seq::SYN,
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            extras: None,
            flow,
            size: size.get() as u32,
            headers: (size - payload).get() as u16,
            window: u16::MAX,
            flags: TcpFlags::NONE,
            ecn: Ecn::NotEct,
            dscp: Dscp::DEFAULT,
        }
    }

    /// A duplicate, for a medium that delivers it twice: the only way to get one. The caller counts it.
    #[must_use]
    pub fn duplicate(&self) -> Packet {
        Packet { extras: self.extras.clone(), ..*self }
    }

    /// A segment of TCP that only acknowledges: it has no data, and opens and closes nothing.
    pub const fn is_pure_ack(&self) -> bool {
        let opens_or_closes = self.flags.without(TcpFlags::SYN).without(TcpFlags::FIN).without(TcpFlags::RST);
        self.flags.contains(TcpFlags::ACK)
            && self.size == self.headers as u32
            && opens_or_closes.bits() == self.flags.bits()
    }

    /// The IP packet's length.
    pub const fn size(&self) -> Bytes {
        Bytes::new(self.size as u64)
    }

    /// The data that it carries.
    pub const fn payload(&self) -> Bytes {
        Bytes::new(self.size as u64 - self.headers as u64)
    }

    /// Adds headers.
    pub(crate) fn grow(&mut self, headers: Bytes) {
        self.size += headers.get() as u32;
        self.headers += headers.get() as u16;
    }

    /// Removes headers that [`Packet::grow`] added.
    pub(crate) fn shrink(&mut self, headers: Bytes) {
        self.size -= headers.get() as u32;
        self.headers -= headers.get() as u16;
    }

    /// True for a packet with the MDS identifier: its DSCP, on an ECN-capable packet.
    pub fn is_mds(&self, mds: Dscp) -> bool {
        self.dscp == mds && self.ecn != Ecn::NotEct
    }
}

const _: () = assert!(size_of::<Packet>() == 64, "a packet fits one cache line");
