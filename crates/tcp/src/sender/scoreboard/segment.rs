//! One segment of the retransmission queue: a cache line.

use windtunnel_cc::rate_sample::Snapshot;
use windtunnel_units::{Bytes, Seq, Time};

/// The name of a segment: the number of segments sent before it. It stays the same when the segment is sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SegmentId(pub(super) u64);

impl SegmentId {
    /// The segment that follows it in sequence order.
    #[must_use]
    pub(crate) const fn next(self) -> SegmentId {
        SegmentId(self.0 + 1)
    }
}

/// The receiver has it (SACK).
pub(super) const SACKED: u8 = 1;
/// Its original transmission counts as lost.
pub(super) const LOST: u8 = 2;
/// A retransmission of it counts as in the network.
pub(super) const RETRANSMITTED: u8 = 4;
/// It was sent more than once.
pub(super) const EVER_RETRANSMITTED: u8 = 8;
/// It ends the stream.
pub(super) const FIN: u8 = 16;
/// It has not left yet, although segments above it have.
pub(super) const WITHHELD: u8 = 32;
/// It left after segments above it.
pub(super) const LATE: u8 = 64;
/// It carries PSH.
pub(super) const PUSHED: u8 = 128;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedSegment {
    pub(super) seq: Seq,
    pub(super) sent: Time,
    pub(super) snapshot: Snapshot,
    /// Its sequence numbers: those of its payload, and that of a FIN.
    pub(super) len: u32,
    /// Neighbours in order of transmission: the low half of their ids.
    pub(super) prev: u32,
    pub(super) next: u32,
    pub(super) flags: u8,
}

impl QueuedSegment {
    /// Its first byte.
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }

    /// The sequence number after its last.
    pub(crate) fn end(&self) -> Seq {
        self.seq + Bytes::new(u64::from(self.len))
    }

    /// Its payload.
    pub(crate) fn payload(&self) -> Bytes {
        Bytes::new(u64::from(self.len - u32::from(self.ends_stream())))
    }

    /// It carries PSH.
    pub(crate) const fn is_pushed(&self) -> bool {
        self.has(PUSHED)
    }

    /// It has a FIN.
    pub(crate) const fn ends_stream(&self) -> bool {
        self.has(FIN)
    }

    /// When it was last sent.
    pub(crate) const fn sent(&self) -> Time {
        self.sent
    }

    /// The delivery counters when it was last sent.
    pub(crate) const fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The receiver has it.
    pub(crate) const fn is_sacked(&self) -> bool {
        self.has(SACKED)
    }

    /// Its original counts as lost.
    pub(crate) const fn is_lost(&self) -> bool {
        self.has(LOST)
    }

    /// A retransmission of it counts as in the network.
    pub(crate) const fn is_retransmitted(&self) -> bool {
        self.has(RETRANSMITTED)
    }

    /// It was sent more than once: no round trip may be sampled from it (Karn).
    pub(crate) const fn ever_retransmitted(&self) -> bool {
        self.has(EVER_RETRANSMITTED)
    }

    /// It was sent once, and before all segments above it.
    pub(crate) const fn left_in_turn(&self) -> bool {
        self.flags & (EVER_RETRANSMITTED | LATE) == 0
    }

    /// Its latest transmission counts as in the network: it is in the order of transmission.
    pub(crate) const fn is_in_network(&self) -> bool {
        self.flags & (SACKED | WITHHELD) == 0 && self.flags & (LOST | RETRANSMITTED) != LOST
    }

    const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

const _: () = assert!(size_of::<QueuedSegment>() == 64, "a segment fits one cache line");
