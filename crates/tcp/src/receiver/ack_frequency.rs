//! When a QUIC receiver acknowledges what is out of order or marked (draft-ietf-quic-ack-frequency, 6466050, sections 6.1,
//! 6.2 and 6.4).
//!
//! A QUIC sender can move these rules with `ACK_FREQUENCY`; by default they are those of RFC 9000 section 13.2. With a
//! reordering threshold R, an ACK leaves at once when a packet shows that the smallest one missing, among those that
//! the last ACK did not report as missing for good, is R or more below the largest received; and when a packet arrives
//! so late that it was reported so. The first CE after a packet without CE is acknowledged at once, or each CE if ACKs
//! are asked for every second packet.
//!
//! Packets are numbered by the data that they carry, as TCP's are: a retransmission comes late, where QUIC gives it a
//! number of its own.

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{Ecn, SackBlock};

/// What an ACK has reported, and what has arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckFrequency {
    /// R; zero if order never matters.
    reordering_threshold: u32,
    /// The end of the largest packet, and of the largest one that an ACK reported.
    largest: Seq,
    largest_acked: Seq,
    /// The last packet arrived with CE.
    ce: bool,
    /// A mark that is acknowledged at once has arrived since the last ACK.
    marked: bool,
}

impl AckFrequency {
    pub(super) fn new(reordering_threshold: u32) -> AckFrequency {
        AckFrequency {
            reordering_threshold,
            largest: Seq::SYN,
            largest_acked: Seq::SYN,
            ce: false,
            marked: false,
        }
    }

    /// A packet arrived whose data end at `end`, and ACKs may leave for every `count` packets.
    #[inline]
    pub(super) fn on_packet(&mut self, end: Seq, ecn: Ecn, count: u32) {
        self.largest = self.largest.max(end);
        let before = std::mem::replace(&mut self.ce, ecn == Ecn::Ce);
        self.marked |= self.ce && (count <= 2 || !before);
    }

    /// A mark has arrived that is acknowledged at once.
    pub(super) const fn is_marked(&self) -> bool {
        self.marked
    }

    /// A packet arrived that is not the next one in order: true if it is acknowledged at once. All below `next` has arrived, and
    /// so have the `ranges` above it.
    pub(super) fn is_reordered<'a>(
        &self,
        start: Seq,
        next: Seq,
        ranges: impl Iterator<Item = &'a SackBlock>,
        mss: Bytes,
    ) -> bool {
        let distance = mss * u64::from(self.reordering_threshold);
        if distance == Bytes::ZERO {
            return false;
        }
        let horizon = self.horizon(distance);
        let missing = first_missing(horizon, next, ranges);
        start < horizon || missing.is_some_and(|missing| self.largest >= missing + mss + distance)
    }

    /// What is missing below this was reported so for good: R packets below the end of the largest acknowledged.
    fn horizon(&self, distance: Bytes) -> Seq {
        let acked = self.largest_acked.max(Seq::FIRST_DATA) - Seq::FIRST_DATA;
        Seq::FIRST_DATA + acked.saturating_sub(distance)
    }

    #[inline]
    pub(super) fn on_ack_sent(&mut self) {
        self.largest_acked = self.largest;
        self.marked = false;
    }
}

/// Returns the first byte from `horizon` on that is missing below one that has arrived.
fn first_missing<'a>(
    horizon: Seq,
    next: Seq,
    mut ranges: impl Iterator<Item = &'a SackBlock>,
) -> Option<Seq> {
    let mut end = next;
    ranges.find_map(|range| {
        let gap = std::mem::replace(&mut end, range.end);
        (range.start > horizon).then_some(gap.max(horizon))
    })
}
