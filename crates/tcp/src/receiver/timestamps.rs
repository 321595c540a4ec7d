//! The timestamps option: which timestamp an ACK echoes.
//!
//! RFC 7323 section 4.3: `TS.Recent` follows the segments that begin at or below the last ACK sent. So an ACK of
//! several segments echoes the earliest of them (the round trip includes the delay of the ACK), a segment above a gap
//! is not echoed, and one that fills the gap is. A retransmission of what had arrived is echoed too, as section 4.3
//! has it: if the ACKs of the first copies were lost, an echo of those would give the sender its own timeout as a
//! round trip, and with it a longer timeout. (Section 5.3 rejects such segments first, and Linux takes only those
//! that end at the last ACK.) Sequence numbers do not wrap here: there is nothing for PAWS (section 5) to protect.

use windtunnel_units::{Seq, Time};

/// `TS.Recent` and `Last.ACK.sent`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    enabled: bool,
    recent: Time,
    last_ack_sent: Seq,
}

impl Timestamps {
    pub(super) fn new(enabled: bool) -> Timestamps {
        Timestamps { enabled, recent: Time::ZERO, last_ack_sent: Seq::SYN }
    }

    /// A segment that begins at `seq` arrived.
    #[inline]
    pub(super) fn on_segment(&mut self, seq: Seq, ts_val: Time) {
        if seq <= self.last_ack_sent && ts_val >= self.recent {
            self.recent = ts_val;
        }
    }

    #[inline]
    pub(super) fn on_ack_sent(&mut self, ack: Seq) {
        self.last_ack_sent = ack;
    }

    pub(super) fn last_ack_sent(&self) -> Seq {
        self.last_ack_sent
    }

    /// The value of an ACK that leaves at `now`.
    #[inline]
    pub(super) fn value(&self, now: Time) -> Time {
        if self.enabled { now } else { Time::ZERO }
    }

    /// What an ACK echoes.
    #[inline]
    pub(super) fn echo(&self) -> Time {
        if self.enabled { self.recent } else { Time::ZERO }
    }
}
