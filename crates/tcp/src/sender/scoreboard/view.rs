//! What the scoreboard says.

use std::ops::Range;

use windtunnel_units::{Bytes, Seq};

use super::{Amount, Scoreboard, Segment, SegmentId};

/// Counts.
impl Scoreboard {
    /// Sent and not cumulatively acknowledged: RFC 5681's `FlightSize`.
    #[inline]
    pub fn outstanding(&self) -> Amount {
        let bytes = self.queue.front().map_or(Bytes::ZERO, |head| self.nxt - head.seq);
        Amount { segments: self.queue.len(), bytes }
    }

    /// Of these: SACKed, or counted by duplicate ACKs.
    pub const fn sacked(&self) -> Amount {
        self.sacked
    }

    /// Of these: taken for lost.
    pub const fn lost(&self) -> Amount {
        self.lost
    }

    /// Of these: retransmitted, and the retransmission is in the network.
    pub const fn retransmitted(&self) -> Amount {
        self.retransmitted
    }

    /// What is in the network: RFC 6675's pipe.
    #[inline]
    pub fn in_flight(&self) -> Amount {
        self.outstanding() + self.retransmitted - self.sacked - self.lost
    }

    /// Everything sent is acknowledged.
    pub fn is_empty(&self) -> bool {
        self.queue.len() == 0
    }
}

/// Segments by what is known of them.
impl Scoreboard {
    /// SND.UNA. The head may begin below it, if a part of it was acknowledged.
    pub const fn una(&self) -> Seq {
        self.una
    }

    /// SND.NXT.
    pub const fn nxt(&self) -> Seq {
        self.nxt
    }

    /// The segment of that name, if it is not cumulatively acknowledged.
    pub fn get(&self, id: SegmentId) -> Option<&Segment> {
        self.queue.get(id.0)
    }

    /// The segment that holds the byte `seq`.
    pub fn find(&self, seq: Seq) -> Option<SegmentId> {
        self.queue.find(seq).map(SegmentId)
    }

    /// The first segment not cumulatively acknowledged.
    pub fn head(&self) -> Option<SegmentId> {
        (!self.is_empty()).then(|| SegmentId(self.queue.base()))
    }

    /// The segment with the highest sequence number.
    pub fn last(&self) -> Option<SegmentId> {
        (!self.is_empty()).then(|| SegmentId(self.queue.end() - 1))
    }

    /// The lowest segment that is lost and has no retransmission in the network.
    pub fn next_lost(&self) -> Option<SegmentId> {
        self.to_send.first().map(SegmentId)
    }

    /// Every lost segment has a retransmission in the network.
    pub fn all_lost_retransmitted(&self) -> bool {
        self.to_send.is_empty()
    }

    /// The lowest segment at or above `id` that is not SACKed.
    pub fn next_unsacked(&self, id: SegmentId) -> Option<SegmentId> {
        let from = id.0.max(self.queue.base());
        let next = self.sacked_ranges.holding(from).map_or(from, |sacked| sacked.end);
        (next < self.queue.end()).then_some(SegmentId(next))
    }

    /// The highest segment that is not SACKed.
    pub fn last_unsacked(&self) -> Option<SegmentId> {
        let last = self.last()?.0;
        let below = self.sacked_ranges.holding(last).map_or(last + 1, |sacked| sacked.start);
        (below > self.queue.base()).then(|| SegmentId(below - 1))
    }

    /// The byte after the highest one that is SACKed.
    pub fn highest_sacked(&self) -> Option<Seq> {
        self.sacked_ranges.last().map(|sacked| self.queue[sacked.end - 1].end())
    }

    /// The head is SACKed although the cumulative ACK stops below it: the receiver reneged.
    pub fn head_is_sacked(&self) -> bool {
        self.queue.front().is_some_and(Segment::is_sacked)
    }

    /// The SACKed ranges, downwards: the first segment, and the payload.
    pub fn sacked_from_top(&self) -> impl Iterator<Item = (SegmentId, Bytes)> {
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
    pub fn oldest_sent(&self) -> Option<SegmentId> {
        self.queue.oldest_sent().map(SegmentId)
    }

    /// The segment in the network that was sent next after `id`, which is in the network.
    pub fn sent_after(&self, id: SegmentId) -> Option<SegmentId> {
        self.queue.get(id.0).filter(|segment| segment.is_in_network())?;
        self.queue.sent_after(id.0).map(SegmentId)
    }

    /// The last segment, in order of transmission, before the first that `holds` is false of. What `holds` of a segment
    /// must go on to hold until it is sent again: the search continues where the last one ended.
    pub fn last_sent_while(&mut self, holds: impl Fn(&Segment) -> bool) -> Option<&Segment> {
        let id = self.queue.last_sent_while(holds)?;
        self.queue.get(id)
    }
}
