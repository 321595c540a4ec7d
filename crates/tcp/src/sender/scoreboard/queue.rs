//! The segments in two orders: by sequence number and by transmission.
//!
//! In sequence order they form a ring: an id minus the head's id is the position in it. A doubly linked list connects
//! the segments in the network in the order of their latest transmission. A segment leaves the list when it is
//! delivered or lost, and moves to its end when it is sent again.

use std::collections::VecDeque;

use windtunnel_prefetch::{prefetch, prefetch_behind};
use windtunnel_units::{Bytes, Seq, Time};

use super::amount::Amount;
use super::segment::QueuedSegment;

/// The segments that were sent and are not cumulatively acknowledged.
#[derive(Debug, Default)]
pub(super) struct Queue {
    ring: VecDeque<QueuedSegment>,
    /// The id of the ring's first segment.
    base: u64,
    /// In order of transmission: the count, the first and the last. The outward links of these two are stale.
    linked: u64,
    oldest: u64,
    newest: u64,
    /// The last segment that [`Queue::last_sent_while`] passed.
    passed: Option<u64>,
}

/// Segments that were delivered in turn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InTurn {
    /// When the first of them was sent.
    pub(crate) first_sent: Time,
    /// The last of them.
    pub(crate) last: QueuedSegment,
    /// All of them.
    pub(crate) removed: Amount,
}

impl Queue {
    /// The id of the first segment.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// The id of the segment that will be sent next.
    pub(super) fn end(&self) -> u64 {
        self.base + self.ring.len() as u64
    }

    pub(super) fn len(&self) -> u64 {
        self.ring.len() as u64
    }

    /// The memory of the ring.
    pub(super) fn memory(&self) -> Bytes {
        Bytes::new((self.ring.capacity() * size_of::<QueuedSegment>()) as u64)
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.ring.shrink_to_fit();
    }

    pub(super) fn front(&self) -> Option<&QueuedSegment> {
        self.ring.front()
    }

    /// Asks for the memory that an ACK of up to three segments touches: these, the one behind them, and the slots of
    /// those that are sent then.
    #[inline]
    pub(super) fn prefetch(&self) {
        for index in 0..4 {
            if let Some(segment) = self.ring.get(index) {
                prefetch(segment);
            }
        }
        if let Some(last) = self.ring.back() {
            prefetch(last);
            prefetch_behind(last, 1);
            prefetch_behind(last, 2);
        }
    }

    pub(super) fn get(&self, id: u64) -> Option<&QueuedSegment> {
        self.ring.get(usize::try_from(id.checked_sub(self.base)?).ok()?)
    }

    pub(super) fn get_mut(&mut self, id: u64) -> Option<&mut QueuedSegment> {
        self.ring.get_mut(usize::try_from(id.checked_sub(self.base)?).ok()?)
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut QueuedSegment> {
        self.ring.iter_mut()
    }

    /// The segment that holds the byte `seq`. Where all segments have one length, its position is computed.
    pub(super) fn find(&self, seq: Seq) -> Option<u64> {
        let first = self.ring.front().filter(|first| first.seq <= seq)?;
        let guess = ((seq - first.seq).get() / u64::from(first.len.max(1))) as usize;
        if self.ring.get(guess).is_some_and(|segment| segment.seq <= seq && seq < segment.end()) {
            return Some(self.base + guess as u64);
        }
        let last = self.ring.back()?;
        (seq < last.end())
            .then(|| self.base + self.ring.partition_point(|segment| segment.seq <= seq) as u64 - 1)
    }

    /// Appends a segment that was just sent; returns its id.
    #[inline]
    pub(super) fn push(&mut self, segment: QueuedSegment) -> u64 {
        let id = self.push_apart(segment);
        self.link(id);
        id
    }

    /// Appends a segment that stays out of the order of transmission for now; returns its id.
    #[inline]
    pub(super) fn push_apart(&mut self, segment: QueuedSegment) -> u64 {
        let id = self.end();
        self.ring.push_back(segment);
        id
    }

    /// Removes the first segment, which must not be in the order of transmission (any more).
    pub(super) fn pop(&mut self) {
        if self.ring.pop_front().is_some() {
            self.base += 1;
        }
    }

    /// Removes the segments below `una`, where all that were sent are in the network and in the same order in both ways.
    #[inline]
    pub(super) fn pop_in_turn(&mut self, una: Seq) -> Option<InTurn> {
        let first = self.ring.front().filter(|first| first.end() <= una)?;
        let (first_sent, start, mut count) = (first.sent, first.seq, 1);
        while self.ring.get(count).is_some_and(|next| next.end() <= una) {
            count += 1;
        }
        let last = self.ring[count - 1];
        for _ in 0..count {
            self.ring.pop_front();
        }
        self.base += count as u64;
        self.linked -= count as u64;
        self.oldest = self.base;
        if self.passed.is_some_and(|id| id < self.base) {
            self.passed = None;
        }
        let bytes = last.seq + last.payload() - start;
        Some(InTurn { first_sent, last, removed: Amount { segments: count as u64, bytes } })
    }

    /// Puts `id` at the end of the order of transmission.
    #[inline]
    pub(super) fn link(&mut self, id: u64) {
        let newest = self.newest;
        self[id].prev = newest as u32;
        if self.linked == 0 {
            self.oldest = id;
        } else {
            self[newest].next = id as u32;
        }
        self.newest = id;
        self.linked += 1;
    }

    /// Takes `id` out of the order of transmission. Mostly it is the first of several.
    #[inline]
    pub(super) fn unlink(&mut self, id: u64) {
        if id == self.oldest && self.linked > 1 && self.passed != Some(id) {
            self.oldest = self.resolve(self[id].next);
            self.linked -= 1;
        } else {
            self.unlink_any(id);
        }
    }

    #[inline(never)]
    fn unlink_any(&mut self, id: u64) {
        let prev = self.sent_before(id);
        let next = self.sent_after(id);
        if self.passed == Some(id) {
            self.passed = prev;
        }
        match (prev, next) {
            (Some(prev), Some(next)) => {
                self[prev].next = next as u32;
                self[next].prev = prev as u32;
            }
            (Some(prev), None) => self.newest = prev,
            (None, Some(next)) => self.oldest = next,
            (None, None) => {}
        }
        self.linked -= 1;
    }

    /// Rebuilds the order of transmission: all segments in the network, by their latest transmission.
    pub(super) fn relink(&mut self) {
        let mut order: Vec<u64> = (self.base..self.end()).filter(|&id| self[id].is_in_network()).collect();
        order.sort_by_key(|&id| (self[id].sent, self[id].seq));
        self.unlink_all();
        for id in order {
            self.link(id);
        }
    }

    pub(super) fn unlink_all(&mut self) {
        self.linked = 0;
        self.passed = None;
    }

    pub(super) fn oldest_sent(&self) -> Option<u64> {
        (self.linked > 0).then_some(self.oldest)
    }

    pub(super) fn sent_after(&self, id: u64) -> Option<u64> {
        (id != self.newest).then(|| self.resolve(self[id].next))
    }

    fn sent_before(&self, id: u64) -> Option<u64> {
        (id != self.oldest).then(|| self.resolve(self[id].prev))
    }

    /// The last segment, in order of transmission, before the first for which `holds` is false. `holds` must never
    /// become false for a segment until it is sent again: the search continues where it ended, so each segment is
    /// passed once.
    pub(super) fn last_sent_while(&mut self, holds: impl Fn(&QueuedSegment) -> bool) -> Option<u64> {
        loop {
            let next = match self.passed {
                Some(id) => self.sent_after(id),
                None => self.oldest_sent(),
            };
            match next {
                Some(id) if holds(&self[id]) => self.passed = next,
                _ => return self.passed,
            }
        }
    }

    /// The id whose low half is `link`.
    fn resolve(&self, link: u32) -> u64 {
        self.base + u64::from(link.wrapping_sub(self.base as u32))
    }
}

impl std::ops::Index<u64> for Queue {
    type Output = QueuedSegment;
    /// # Panics
    /// If there is no such segment: ids come from the queue itself.
    #[inline]
    fn index(&self, id: u64) -> &QueuedSegment {
        &self.ring[(id - self.base) as usize]
    }
}

impl std::ops::IndexMut<u64> for Queue {
    #[inline]
    fn index_mut(&mut self, id: u64) -> &mut QueuedSegment {
        &mut self.ring[(id - self.base) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windtunnel_cc::rate_sample::Snapshot;

    /// The links are the low halves of ids: the order holds across the 2^32nd segment.
    #[test]
    fn beyond_the_width_of_the_links() {
        let first = u64::from(u32::MAX) - 2;
        let mut queue = Queue { base: first, ..Queue::default() };
        for n in 0..6 {
            let (seq, sent, snapshot) = (Seq::new(n), Time::ZERO, Snapshot::default());
            queue.push(QueuedSegment { seq, sent, snapshot, len: 1, prev: 0, next: 0, flags: 0 });
        }
        for n in [0, 3, 5] {
            queue.unlink(first + n);
            queue.link(first + n);
        }
        let order: Vec<u64> = std::iter::successors(queue.oldest_sent(), |&id| queue.sent_after(id))
            .map(|id| id - first)
            .collect();
        assert_eq!(order, [1, 2, 4, 0, 3, 5]);
        queue.unlink(first);
        queue.pop();
        assert_eq!(queue.sent_after(first + 4), Some(first + 3));
    }
}
