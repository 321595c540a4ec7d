//! The timestamps option: which timestamp an ACK echoes, and which segments are too old (PAWS).
//!
//! RFC 7323 section 4.3: `TS.Recent` follows the segments that start at or below the last ACK sent. So an ACK of
//! several segments echoes the earliest of them (the round trip includes the delay of the ACK), a segment above a gap
//! is not echoed, and one that fills the gap is.
//!
//! Section 5.3 rejects segments before it records their timestamps, and so does Linux 6.12 (`tcp_validate_incoming`,
//! then `tcp_replace_ts_recent`). It first rejects segments that are too old for PAWS; then segments that end below
//! the last ACK sent (`rcv_wup`) or start beyond the window. Of the others, those that start at or below the last ACK
//! sent are recorded, unless their timestamp is before `TS.Recent`. So an old duplicate is answered but not echoed,
//! except one that ends exactly at the last ACK. Where all ACKs of a flight were lost, the answer to the
//! retransmission therefore shows that the originals had arrived (Eifel, RFC 3522).
//!
//! PAWS (section 5; `paws`) makes a path that reorders cost more: originals that arrive after a retransmission of
//! lower data are discarded and have to be sent again.

use windtunnel_units::{Seq, Time};

use crate::paws;

/// `TS.Recent` and `Last.ACK.sent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    enabled: bool,
    /// Zero, which precedes every timestamp, without the option.
    recent: Time,
    last_ack_sent: Seq,
}

impl Timestamps {
    pub(super) fn new(enabled: bool) -> Timestamps {
        Timestamps { enabled, recent: Time::ZERO, last_ack_sent: Seq::SYN }
    }

    /// PAWS rejects a segment with this timestamp.
    #[inline]
    pub(super) fn rejects(&self, ts_val: Time) -> bool {
        paws::rejects(ts_val, self.recent)
    }

    /// A segment arrived that starts at `seq` and does not end below the last ACK sent.
    #[inline]
    pub(super) fn on_segment(&mut self, seq: Seq, ts_val: Time) {
        if seq <= self.last_ack_sent && ts_val >= self.recent && self.enabled {
            self.recent = ts_val;
        }
    }

    #[inline]
    pub(super) fn on_ack_sent(&mut self, ack: Seq) {
        self.last_ack_sent = ack;
    }

    /// ACKs of data from `end` on do not count: nothing follows there.
    pub(super) fn retract_acks_above(&mut self, end: Seq) {
        self.last_ack_sent = self.last_ack_sent.min(end);
    }

    pub(super) fn last_ack_sent(&self) -> Seq {
        self.last_ack_sent
    }

    /// The value of an ACK that leaves at `now`.
    #[inline]
    pub(super) fn value(&self, now: Time) -> Time {
        if self.enabled { now } else { Time::ZERO }
    }

    /// The timestamp that an ACK echoes.
    #[inline]
    pub(super) fn echo(&self) -> Time {
        self.recent
    }
}
