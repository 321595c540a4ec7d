//! One segment of the retransmission queue: a cache line.

use windtunnel_cc::Departure;
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

/// The connection's delivery counters when a segment was (last) sent, for the delivery-rate sample
/// (`rate_sample`; draft-ietf-ccwg-bbr section 4.1.2.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot {
    /// Bytes delivered.
    pub(crate) delivered: Bytes,
    /// When the last of these bytes were delivered.
    pub(crate) delivered_time: Time,
    /// The transmission time of the segment that provided the newest sample.
    pub(crate) first_sent: Time,
    /// Bytes in flight including this segment; the top bit: the application limited the sender.
    in_flight: u32,
    /// The low half of the bytes found to be lost: differences are exact below 4 GiB.
    lost: u32,
}

const APP_LIMITED: u32 = 1 << 31;

impl Snapshot {
    /// The counters at a transmission; `in_flight` includes the segment.
    pub(crate) fn new(
        delivered: Bytes,
        delivered_time: Time,
        first_sent: Time,
        in_flight: Bytes,
        app_limited: bool,
        lost: Bytes,
    ) -> Snapshot {
        let in_flight = in_flight.get().min(u64::from(APP_LIMITED - 1)) as u32;
        Snapshot {
            delivered,
            delivered_time,
            first_sent,
            in_flight: in_flight | if app_limited { APP_LIMITED } else { 0 },
            lost: lost.get() as u32,
        }
    }

    /// The counters as a controller sees them, for a segment that left at `sent`; `lost` is the current count.
    pub(crate) fn departure(&self, sent: Time, lost: Bytes) -> Departure {
        Departure {
            sent,
            in_flight: self.in_flight(),
            delivered: self.delivered,
            lost: lost - self.lost_since(lost),
            app_limited: self.app_limited(),
        }
    }

    /// Bytes found lost since then, where `lost` is the current total.
    pub(crate) fn lost_since(&self, lost: Bytes) -> Bytes {
        Bytes::new(u64::from((lost.get() as u32).wrapping_sub(self.lost)))
    }

    /// Bytes in flight including the segment.
    pub(crate) fn in_flight(&self) -> Bytes {
        Bytes::new(u64::from(self.in_flight & !APP_LIMITED))
    }

    /// The application, not cwnd, limited the sender.
    pub(crate) const fn app_limited(&self) -> bool {
        self.in_flight & APP_LIMITED != 0
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
