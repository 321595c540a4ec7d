//! The queries of the scoreboard.

use std::ops::Range;

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::SackBlock;

use super::{Amount, QueuedSegment, Scoreboard, SegmentId};

/// Counts.
impl Scoreboard {
    /// Sent and not cumulatively acknowledged: RFC 5681's `FlightSize`.
    #[inline]
    pub(crate) fn outstanding(&self) -> Amount {
        let bytes = self.queue.front().map_or(Bytes::ZERO, |head| self.data_end - head.seq);
        Amount { segments: self.queue.len(), bytes }
    }

    /// Of these: SACKed, or counted by duplicate ACKs.
    pub(crate) const fn sacked(&self) -> Amount {
        self.sacked
    }

    /// The runs of adjacent SACKed segments; none without SACK.
    pub(crate) fn sacked_runs(&self) -> u64 {
        self.sacked_ranges.len()
    }

    /// Of those outstanding: considered lost.
    pub(crate) const fn lost(&self) -> Amount {
        self.lost
    }

    /// Of these: retransmitted, with the retransmission in the network.
    pub(crate) const fn retransmitted(&self) -> Amount {
        self.retransmitted
    }

    /// The amount in the network: RFC 6675's pipe.
    #[inline]
    pub(crate) fn in_flight(&self) -> Amount {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }

    /// Everything sent is acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.len() == 0
    }
}

/// Segments by their state.
impl Scoreboard {
    /// SND.UNA. The head may start below it, if a part of the head was acknowledged.
    pub(crate) const fn una(&self) -> Seq {
        self.una
    }

    /// SND.NXT.
    pub(crate) const fn nxt(&self) -> Seq {
        self.nxt
    }

    /// The segment with this id, if it is not cumulatively acknowledged.
    pub(crate) fn get(&self, id: SegmentId) -> Option<&QueuedSegment> {
        self.queue.get(id.0)
    }

    /// The first segment not cumulatively acknowledged.
    pub(crate) fn head(&self) -> Option<SegmentId> {
        (!self.is_empty()).then(|| SegmentId(self.queue.base()))
    }

    /// The segment with the highest sequence number.
    pub(crate) fn last(&self) -> Option<SegmentId> {
        (!self.is_empty()).then(|| SegmentId(self.queue.end() - 1))
    }

    /// The lowest segment that is lost and has no retransmission in the network.
    pub(crate) fn next_lost(&self) -> Option<SegmentId> {
        self.to_send.first().map(SegmentId)
    }

    /// Every lost segment has a retransmission in the network.
    pub(crate) fn all_lost_retransmitted(&self) -> bool {
        self.to_send.is_empty()
    }

    /// The lowest segment at or above `id` that is not SACKed.
    pub(crate) fn next_unsacked(&self, id: SegmentId) -> Option<SegmentId> {
        let from = id.0.max(self.queue.base());
        let next = self.sacked_ranges.holding(from).map_or(from, |sacked| sacked.end);
        (next < self.queue.end()).then_some(SegmentId(next))
    }

    /// The highest segment that is not SACKed.
    pub(crate) fn last_unsacked(&self) -> Option<SegmentId> {
        let last = self.last()?.0;
        let below = self.sacked_ranges.holding(last).map_or(last + 1, |sacked| sacked.start);
        (below > self.queue.base()).then(|| SegmentId(below - 1))
    }

    /// The byte after the highest one that is SACKed.
    pub(crate) fn highest_sacked(&self) -> Option<Seq> {
        self.sacked_ranges.last().map(|sacked| self.queue[sacked.end - 1].end())
    }

    /// The number of segments in `block` that were sent more than once.
    pub(crate) fn ever_retransmitted(&self, block: &SackBlock) -> u64 {
        self.covered(block).filter(|&id| self.queue[id].ever_retransmitted()).count() as u64
    }

    /// The first segment in `block` that was sent more than once and is SACKed.
    pub(crate) fn first_sacked_twice(&self, block: &SackBlock) -> Option<Seq> {
        let twice = |segment: &&QueuedSegment| segment.is_sacked() && segment.ever_retransmitted();
        self.covered(block).map(|id| &self.queue[id]).find(twice).map(QueuedSegment::seq)
    }

    /// A retransmission may still be answered: one of a segment in the network, or the head's.
    pub(crate) fn awaits_retransmission(&self) -> bool {
        !self.retransmitted.is_zero() || self.queue.front().is_some_and(QueuedSegment::ever_retransmitted)
    }

    /// The head is SACKed although the cumulative ACK stops below it: the receiver reneged.
    pub(crate) fn head_is_sacked(&self) -> bool {
        self.queue.front().is_some_and(QueuedSegment::is_sacked)
    }

    /// The SACKed ranges in descending order: the first segment, and the payload.
    pub(crate) fn sacked_from_top(&self) -> impl Iterator<Item = (SegmentId, Bytes)> {
        self.sacked_ranges
            .iter()
            .rev()
            .map(|Range { start, end }| (SegmentId(start), self.queue[end - 1].end() - self.queue[start].seq))
    }
}

/// The order of transmission of the segments in the network: those not delivered, and not lost since they were last
/// sent.
impl Scoreboard {
    /// The segment whose latest transmission is the oldest.
    pub(crate) fn oldest_sent(&self) -> Option<SegmentId> {
        self.queue.oldest_sent().map(SegmentId)
    }

    /// The last segment, in order of transmission, before the first for which `holds` is false. Once `holds` is true
    /// for a segment, it must stay true until that segment is sent again: the search continues where the last one
    /// ended.
    pub(crate) fn last_sent_while(
        &mut self,
        holds: impl Fn(&QueuedSegment) -> bool,
    ) -> Option<&QueuedSegment> {
        let id = self.queue.last_sent_while(holds)?;
        self.queue.get(id)
    }
}
