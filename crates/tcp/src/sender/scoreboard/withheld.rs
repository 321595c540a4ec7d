//! A segment that has its place in the sequence but has not left (`skip`).
//!
//! It counts as in flight, and it is not in the order of transmission before it leaves: no detector by time sees it.

use windtunnel_units::{Bytes, Seq, Time};

use super::segment::{LATE, LOST, WITHHELD};
use super::{Amount, QueuedSegment, Scoreboard, SegmentId, Snapshot};

impl Scoreboard {
    /// `payload` of new data, which start at SND.NXT, stay behind.
    pub(crate) fn withhold(&mut self, seq: Seq, payload: Bytes, now: Time) -> SegmentId {
        debug_assert_eq!(seq, self.nxt, "new data begin at SND.NXT");
        self.nxt = self.nxt + payload;
        self.data_end = self.nxt;
        let (len, snapshot) = (payload.get() as u32, Snapshot::default());
        let segment = QueuedSegment { seq, sent: now, snapshot, len, prev: 0, next: 0, flags: WITHHELD };
        SegmentId(self.queue.push_apart(segment))
    }

    /// The segment leaves, after segments above it.
    pub(crate) fn release(&mut self, id: SegmentId, now: Time, snapshot: Snapshot) {
        let Some(segment) = self.queue.get_mut(id.0) else { return };
        segment.flags = segment.flags & !WITHHELD | LATE;
        segment.sent = now;
        segment.snapshot = snapshot;
        self.queue.link(id.0);
    }

    /// The segment counts as lost: a retransmission brings it. Returns what is newly lost.
    pub(crate) fn give_up(&mut self, id: SegmentId) -> Amount {
        let Some(segment) = self.queue.get_mut(id.0) else { return Amount::ZERO };
        segment.flags = segment.flags & !WITHHELD | LOST;
        let amount = Amount::one(segment.payload());
        self.lost += amount;
        self.to_send.insert(id.0..id.0 + 1, |_| ());
        self.log_loss(id);
        amount
    }

    /// The connection is given up: nothing is outstanding any more.
    pub(crate) fn abandon(&mut self) {
        let (una, nxt, data_end) = (self.una, self.nxt, self.data_end);
        *self = Scoreboard { una, nxt, data_end, ..Scoreboard::new(self.losses.is_some()) };
    }
}
