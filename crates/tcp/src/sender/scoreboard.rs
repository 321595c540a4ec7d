//! The scoreboard: the segments sent and their state (RFC 6675 section 3; RFC 2018 section 8; spec/congestion-control
//! sections 0.1 and 1.8).
//!
//! For one ACK call [`Scoreboard::on_ack`] and then [`Scoreboard::on_sack`]: together they visit every newly
//! delivered segment once and in sequence order, as the detection of reordering requires (RFC 8985 section 6.2).
//! Counts are maintained, never summed: `in_flight = outstanding - sacked - lost + retransmitted`, RFC 6675's pipe,
//! is always available.
//!
//! A segment is delivered when all of it is: an ACK or a SACK block that covers only a part of it has no effect. ACKs
//! and blocks that an honest receiver cannot have sent (an ACK for data never sent; a block that is empty, inverted,
//! beyond SND.NXT, or not above SND.UNA) are ignored.
//!
//! Cost: an ACK costs in proportion to what it changes. A block is placed by arithmetic or binary search and compared
//! with the known ranges, whatever its length; the next segment to retransmit is the first of a set.

mod amount;
mod queue;
mod ranges;
mod segment;
mod view;
mod withheld;

use std::ops::Range;

pub(crate) use amount::Amount;
pub(crate) use queue::InTurn;
use queue::Queue;
use ranges::Ranges;
use segment::{EVER_RETRANSMITTED, FIN, LOST, PUSHED, RETRANSMITTED, SACKED};
pub(crate) use segment::{QueuedSegment, SegmentId};
use windtunnel_cc::rate_sample::Snapshot;
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::SackBlock;

/// The effect of a cumulative ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acked {
    /// The segments that left the queue.
    pub(crate) removed: Amount,
    /// Of these, the segments that neither SACK nor the count of duplicate ACKs had reported as delivered.
    pub(crate) delivered: Amount,
    /// A segment that was sent more than once left the queue.
    pub(crate) retransmitted: bool,
    /// Without SACK: duplicate ACKs counted more segments as delivered than are outstanding besides the holes.
    pub(crate) unexplained: bool,
}

/// The segments that were sent and are not cumulatively acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Scoreboard {
    queue: Queue,
    una: Seq,
    nxt: Seq,
    /// SND.NXT without the FIN's sequence number: amounts count payload.
    data_end: Seq,
    sacked: Amount,
    lost: Amount,
    retransmitted: Amount,
    sacked_ranges: Ranges,
    /// Lost, without a retransmission in the network.
    to_send: Ranges,
    /// Segments that duplicate ACKs counted: the `sacked` of a connection without SACK.
    duplicate_acks: u64,
    /// All segments that were sent more than once end below.
    repaired: Seq,
    /// The segments found lost since the last [`Scoreboard::take_losses`], if the log is enabled.
    #[expect(
        clippy::box_collection,
        reason = "few controllers want it, and each of a million flows has the place"
    )]
    losses: Option<Box<Vec<SegmentId>>>,
}

impl Scoreboard {
    /// The scoreboard of a connection that has sent its SYN, and no data; with `log_losses` it logs every segment
    /// that is found lost, in the order in which they are found.
    pub(crate) fn new(log_losses: bool) -> Scoreboard {
        let losses = log_losses.then(Box::default);
        let (una, nxt, data_end) = (Seq::FIRST_DATA, Seq::FIRST_DATA, Seq::FIRST_DATA);
        Scoreboard { una, nxt, data_end, losses, ..Scoreboard::default() }
    }

    /// Asks for the memory of the oldest segments.
    #[inline]
    pub(crate) fn prefetch(&self) {
        self.queue.prefetch();
    }

    /// The segments found lost since the last call. Return the vector by [`Scoreboard::reuse`]: then a loss allocates
    /// nothing.
    pub(crate) fn take_losses(&mut self) -> Vec<SegmentId> {
        self.losses.as_deref_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Takes back the vector that [`Scoreboard::take_losses`] gave, for its memory.
    pub(crate) fn reuse(&mut self, mut losses: Vec<SegmentId>) {
        losses.clear();
        if let Some(kept) = &mut self.losses {
            **kept = losses;
        }
    }

    /// The memory of its segments.
    pub(crate) fn memory(&self) -> Bytes {
        self.queue.memory()
    }

    /// Gives memory back that is not in use.
    pub(crate) fn give_back(&mut self) {
        self.queue.give_back();
    }

    fn log_loss(&mut self, id: SegmentId) {
        if let Some(losses) = &mut self.losses {
            losses.push(id);
        }
    }

    /// `payload` of new data left, starting at SND.NXT, which is `seq`.
    #[inline]
    pub(crate) fn on_sent(&mut self, seq: Seq, payload: Bytes, now: Time, snapshot: Snapshot) -> SegmentId {
        debug_assert_eq!(seq, self.nxt, "new data begin at SND.NXT");
        debug_assert!(payload > Bytes::ZERO && payload < Bytes::new(1 << 32), "a segment of {payload}");
        self.nxt = self.nxt + payload;
        self.data_end = self.nxt;
        self.append(seq, payload, now, snapshot)
    }

    /// A FIN without data left.
    pub(crate) fn on_lone_fin_sent(&mut self, now: Time, snapshot: Snapshot) {
        self.append(self.nxt, Bytes::ZERO, now, snapshot);
        self.end_stream();
    }

    /// The last segment sent carries PSH.
    pub(crate) fn push(&mut self) {
        if let Some(last) = self.last() {
            self.queue[last.0].flags |= PUSHED;
        }
    }

    /// The last segment sent carries a FIN.
    pub(crate) fn end_stream(&mut self) {
        let Some(last) = self.last() else { return };
        self.nxt = self.nxt + Bytes::new(1);
        let segment = &mut self.queue[last.0];
        segment.flags |= FIN;
        segment.len += 1;
    }

    #[inline]
    fn append(&mut self, seq: Seq, payload: Bytes, now: Time, snapshot: Snapshot) -> SegmentId {
        let len = payload.get() as u32;
        SegmentId(self.queue.push(QueuedSegment {
            seq,
            sent: now,
            snapshot,
            len,
            prev: 0,
            next: 0,
            flags: 0,
        }))
    }

    /// A segment left again. Nothing happens if it was delivered.
    pub(crate) fn on_retransmitted(&mut self, id: SegmentId, now: Time, snapshot: Snapshot) {
        let Some(segment) = self.queue.get(id.0).filter(|segment| !segment.is_sacked()) else { return };
        if segment.is_in_network() {
            self.queue.unlink(id.0);
        } else {
            self.to_send.remove(id.0);
        }
        let segment = &mut self.queue[id.0];
        if !segment.is_retransmitted() {
            self.retransmitted += Amount::one(segment.payload());
        }
        segment.flags |= RETRANSMITTED | EVER_RETRANSMITTED;
        segment.sent = now;
        segment.snapshot = snapshot;
        self.repaired = self.repaired.max(segment.end());
        self.queue.link(id.0);
    }

    /// A segment that is in the network left again, as a probe. Linux does not count both transmissions
    /// (`tcp_send_loss_probe`): mostly one of them is lost. Nothing happens if the segment was delivered, or if it is
    /// lost and awaits retransmission.
    pub(crate) fn on_probed(&mut self, id: SegmentId, now: Time, snapshot: Snapshot) {
        if !self.queue.get(id.0).is_some_and(QueuedSegment::is_in_network) {
            return;
        }
        self.queue.unlink(id.0);
        let segment = &mut self.queue[id.0];
        segment.flags |= EVER_RETRANSMITTED;
        segment.sent = now;
        segment.snapshot = snapshot;
        self.repaired = self.repaired.max(segment.end());
        self.queue.link(id.0);
    }

    /// The cumulative ACK is `una`. `visit` receives each newly delivered segment as it was before the ACK.
    ///
    /// Without SACK it receives all segments that leave the queue; [`Acked::delivered`] tells how many of them
    /// duplicate ACKs had not counted.
    #[inline]
    pub(crate) fn on_ack(&mut self, una: Seq, mut visit: impl FnMut(SegmentId, &QueuedSegment)) -> Acked {
        let mut acked = Acked::default();
        if una <= self.una || una > self.nxt {
            return acked;
        }
        self.una = una;
        while let Some(segment) = self.queue.front()
            && segment.end() <= una
        {
            let id = self.queue.base();
            let amount = Amount::one(segment.payload());
            acked.removed += amount;
            if !segment.is_sacked() {
                visit(SegmentId(id), segment);
                acked.delivered += amount;
            }
            acked.retransmitted |= segment.ever_retransmitted();
            self.leave(id);
            self.queue.pop();
        }
        if !self.sacked_ranges.is_empty() {
            self.sacked_ranges.remove_below(self.queue.base());
        }
        if !self.to_send.is_empty() {
            self.to_send.remove_below(self.queue.base());
        }
        if self.duplicate_acks > 0 {
            self.redeem_duplicate_acks(&mut acked);
        }
        acked
    }

    /// The segments above SND.UNA were sent once each, in order. If none is SACKED or lost either, and none withheld, an ACK
    /// of new data is [`Scoreboard::on_ack_in_turn`].
    #[inline]
    pub(crate) fn left_in_turn(&self) -> bool {
        self.repaired <= self.una
    }

    /// The cumulative ACK is `una`, above SND.UNA and not above SND.NXT. Returns what it delivers, if that is a segment.
    #[inline]
    pub(crate) fn on_ack_in_turn(&mut self, una: Seq) -> Option<InTurn> {
        self.una = una;
        self.queue.pop_in_turn(una)
    }

    /// Processes SACK blocks, in any order. Visits like [`Scoreboard::on_ack`]; returns the amount newly delivered.
    pub(crate) fn on_sack(
        &mut self,
        blocks: &[SackBlock],
        mut visit: impl FnMut(SegmentId, &QueuedSegment),
    ) -> Amount {
        let mut delivered = Amount::ZERO;
        let mut upwards = [SackBlock::default(); 4];
        let count = blocks.len().min(upwards.len());
        upwards[..count].copy_from_slice(&blocks[..count]);
        upwards[..count].sort_unstable_by_key(|block| block.start);
        for block in &upwards[..count] {
            let covered = self.covered(block);
            if covered.is_empty() {
                continue;
            }
            self.forget_duplicate_acks();
            let mut ranges = std::mem::take(&mut self.sacked_ranges);
            ranges.insert(covered, |new| {
                for id in new {
                    visit(SegmentId(id), &self.queue[id]);
                    let amount = self.leave(id);
                    self.queue[id].flags |= SACKED;
                    self.sacked += amount;
                    delivered += amount;
                }
            });
            self.sacked_ranges = ranges;
        }
        delivered
    }

    /// A duplicate ACK on a connection without SACK: one more segment was delivered, but it is unknown which.
    ///
    /// The count is limited to the outstanding segments that are not holes; there is at least one hole (spec section
    /// 1.7; Linux). The amount newly delivered assumes segments as long as the head.
    pub(crate) fn on_duplicate_ack(&mut self) -> Acked {
        if !self.sacked_ranges.is_empty() {
            return Acked::default();
        }
        let before = self.sacked;
        let unexplained = self.count_duplicate_acks(self.duplicate_acks + 1);
        let news = self.sacked.segments > before.segments;
        let delivered = if news { self.sacked - before } else { Amount::ZERO };
        Acked { delivered, unexplained, ..Acked::default() }
    }

    /// Forgets the count of duplicate ACKs: recovery ended, or the timer expired.
    pub(crate) fn forget_duplicate_acks(&mut self) {
        if self.duplicate_acks > 0 {
            self.count_duplicate_acks(0);
        }
    }

    /// Every transmission of a segment is lost. True if this was not known.
    pub(crate) fn mark_lost(&mut self, id: SegmentId) -> bool {
        let Some(segment) = self.queue.get(id.0) else { return false };
        if !segment.is_in_network() {
            return false;
        }
        self.queue.unlink(id.0);
        let segment = &mut self.queue[id.0];
        let amount = Amount::one(segment.payload());
        if segment.is_retransmitted() {
            self.retransmitted -= amount;
        }
        if !segment.is_lost() {
            self.lost += amount;
        }
        segment.flags = segment.flags & !RETRANSMITTED | LOST;
        self.to_send.insert(id.0..id.0 + 1, |_| ());
        self.log_loss(id);
        self.recount_duplicate_acks();
        true
    }

    /// The original of a segment is lost; a retransmission of it stays in the network, as RFC 6675 defines it. True
    /// if this was not known.
    pub(crate) fn mark_original_lost(&mut self, id: SegmentId) -> bool {
        let Some(segment) = self.queue.get_mut(id.0) else { return false };
        if segment.is_retransmitted() && segment.flags & (SACKED | LOST) == 0 {
            segment.flags |= LOST;
            self.lost += Amount::one(segment.payload());
            self.log_loss(id);
            self.recount_duplicate_acks();
            return true;
        }
        self.queue[id.0].flags & (SACKED | LOST) == 0 && self.mark_lost(id)
    }

    /// Every transmission of the head is lost. True if this was not known.
    pub(crate) fn mark_head_lost(&mut self) -> bool {
        self.head().is_some_and(|head| self.mark_lost(head))
    }

    /// Every segment that is not SACKed is lost: a timeout. Returns the amount newly lost.
    pub(crate) fn mark_all_lost(&mut self) -> Amount {
        self.forget_duplicate_acks();
        let mut news = Amount::ZERO;
        let ids = self.queue.base()..;
        for (id, segment) in ids.zip(self.queue.iter_mut()).filter(|(_, segment)| segment.is_in_network()) {
            news += Amount::one(segment.payload());
            segment.flags = segment.flags & !RETRANSMITTED | LOST;
            if let Some(losses) = &mut self.losses {
                losses.push(SegmentId(id));
            }
        }
        self.queue.unlink_all();
        self.lost = self.outstanding() - self.sacked;
        self.retransmitted = Amount::ZERO;
        self.to_send.clear();
        let mut hole = self.queue.base();
        for sacked in self.sacked_ranges.iter().chain(std::iter::once(self.queue.end()..self.queue.end())) {
            if hole < sacked.start {
                self.to_send.insert(hole..sacked.start, |_| ());
            }
            hole = sacked.end;
        }
        news
    }

    /// Nothing is lost: the recovery was spurious.
    pub(crate) fn unmark_lost(&mut self) {
        for segment in self.queue.iter_mut() {
            segment.flags &= !LOST;
        }
        self.lost = Amount::ZERO;
        self.to_send.clear();
        self.queue.relink();
    }

    /// The receiver dropped data that it had reported ([`Scoreboard::head_is_sacked`]; RFC 2018 section 8): nothing
    /// is SACKed any more. Data that are delivered again count again.
    pub(crate) fn forget_sack(&mut self) {
        for segment in self.queue.iter_mut() {
            segment.flags &= !SACKED;
        }
        self.sacked = Amount::ZERO;
        self.duplicate_acks = 0;
        self.sacked_ranges.clear();
        self.queue.relink();
    }

    /// Takes a segment out of the counts and of the order of transmission, when it is delivered.
    #[inline]
    fn leave(&mut self, id: u64) -> Amount {
        let segment = &self.queue[id];
        let amount = Amount::one(segment.payload());
        let flags = segment.flags;
        if segment.is_in_network() {
            self.queue.unlink(id);
        }
        if flags == 0 {
            return amount;
        }
        if flags & SACKED != 0 {
            self.sacked -= amount;
        }
        if flags & LOST != 0 {
            self.lost -= amount;
            if flags & RETRANSMITTED == 0 {
                self.to_send.remove(id);
            }
        }
        if flags & RETRANSMITTED != 0 {
            self.retransmitted -= amount;
        }
        self.queue[id].flags &= !(LOST | RETRANSMITTED);
        amount
    }

    /// The segments that a block covers entirely; none if it is not valid.
    fn covered(&self, block: &SackBlock) -> Range<u64> {
        if block.start >= block.end || block.start <= self.una || block.end > self.nxt {
            return 0..0;
        }
        let id_from = |seq: Seq| match self.queue.find(seq) {
            Some(id) if self.queue[id].seq < seq => (id, id + 1),
            Some(id) => (id, id),
            None => (self.queue.end(), self.queue.end()),
        };
        id_from(block.start).1..id_from(block.end).0
    }

    /// Counts `count` segments as delivered by duplicate ACKs, but no more than the holes leave room for. True if that is
    /// fewer.
    fn count_duplicate_acks(&mut self, count: u64) -> bool {
        let outstanding = self.outstanding();
        let head = self.queue.front().map_or(Amount::ZERO, |head| Amount::one(head.payload()));
        let holes = if self.lost.is_zero() { head } else { self.lost };
        let room = outstanding - holes;
        let segments = count.min(room.segments);
        self.duplicate_acks = segments;
        self.sacked = Amount { segments, bytes: (head.bytes * segments).min(room.bytes) };
        count > segments
    }

    fn recount_duplicate_acks(&mut self) {
        if self.duplicate_acks > 0 {
            self.count_duplicate_acks(self.duplicate_acks);
        }
    }

    /// One of the segments that a cumulative ACK removed was the hole; the others had caused duplicate ACKs.
    fn redeem_duplicate_acks(&mut self, acked: &mut Acked) {
        let removed = acked.removed;
        let redeemed = self.duplicate_acks.min(removed.segments.saturating_sub(1));
        if redeemed > 0 {
            let segments = removed.segments - redeemed;
            acked.delivered = Amount { segments, bytes: removed.bytes * segments / removed.segments };
        }
        acked.unexplained = self.count_duplicate_acks(self.duplicate_acks - redeemed);
    }
}

/// The first block, if it reports data received twice (RFC 2883 section 4): it is below the cumulative ACK, or within
/// the second block.
pub(crate) fn d_sack(una: Seq, blocks: &[SackBlock]) -> Option<SackBlock> {
    let first = *blocks.first().filter(|first| first.start < first.end)?;
    let within = |second: &SackBlock| second.start <= first.start && first.end <= second.end;
    (first.end <= una || blocks.get(1).is_some_and(within)).then_some(first)
}

#[cfg(test)]
pub(super) mod tests;
