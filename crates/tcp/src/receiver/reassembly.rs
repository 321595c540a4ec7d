//! Reassembly: which bytes above the next one expected have arrived.
//!
//! RFC 9293 section 3.10.7.4. Ranges are disjoint and in order; the window bounds their total size. Only losses and
//! reordering add ranges, most of them at one of the two ends, where a ring inserts and removes without moving the
//! rest.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::SackBlock;

/// The data that arrived above a gap.
#[derive(Debug, Default)]
pub(super) struct Reassembly {
    /// In order; between any two there is a gap.
    ranges: VecDeque<SackBlock>,
}

/// The result of an insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Insertion {
    /// The range that now contains the inserted bytes.
    pub(super) block: SackBlock,
    /// Bytes that had arrived before.
    pub(super) duplicate: Bytes,
    /// The first stretch of these bytes.
    pub(super) first_duplicate: Option<SackBlock>,
}

impl Reassembly {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The ranges, lowest first.
    pub(super) fn ranges(&self) -> impl DoubleEndedIterator<Item = &SackBlock> {
        self.ranges.iter()
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.ranges.shrink_to_fit();
    }

    /// The bytes from `start` up to `end` arrived.
    pub(super) fn insert(&mut self, start: Seq, end: Seq) -> Insertion {
        let first = self.ranges.partition_point(|range| range.end < start);
        let mut block = SackBlock { start, end };
        let mut duplicate = Bytes::ZERO;
        let mut first_duplicate = None;
        let mut touched = 0;
        for range in self.ranges.range(first..).take_while(|range| range.start <= end) {
            touched += 1;
            let overlap = SackBlock { start: range.start.max(start), end: range.end.min(end) };
            if overlap.start < overlap.end {
                duplicate += overlap.end - overlap.start;
                first_duplicate.get_or_insert(overlap);
            }
            block.start = block.start.min(range.start);
            block.end = block.end.max(range.end);
        }
        if touched == 0 {
            self.ranges.insert(first, block);
        } else {
            self.ranges[first] = block;
            self.ranges.drain(first + 1..first + touched);
        }
        Insertion { block, duplicate, first_duplicate }
    }

    /// The lowest range is delivered to the application.
    pub(super) fn deliver_first(&mut self) {
        self.ranges.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Against a map of single bytes: the ranges are its runs, the duplicates are the bytes that were set before,
        /// the first duplicate stretch is the first run of these, and the block is the run that contains the segment.
        #[test]
        fn as_a_map_of_bytes(segments in prop::collection::vec((0_usize..200, 1_usize..40), 1..60)) {
            let mut reassembly = Reassembly::default();
            let mut map = vec![false; 256];
            for (start, len) in segments {
                let end = start + len;
                let duplicate = map[start..end].iter().filter(|set| **set).count();
                let first = (start..end).find(|i| map[*i]);
                let first_duplicate = first.map(|i| {
                    let stop = (i..end).find(|j| !map[*j]).unwrap_or(end);
                    SackBlock { start: Seq::new(i as u64), end: Seq::new(stop as u64) }
                });
                map[start..end].fill(true);
                let insertion = reassembly.insert(Seq::new(start as u64), Seq::new(end as u64));
                let low = (0..start).rev().take_while(|i| map[*i]).last().unwrap_or(start);
                let high = (end..256).find(|i| !map[*i]).expect("the map's end is free");
                prop_assert_eq!(insertion, Insertion {
                    block: SackBlock { start: Seq::new(low as u64), end: Seq::new(high as u64) },
                    duplicate: Bytes::new(duplicate as u64),
                    first_duplicate,
                });
                let mut runs = vec![false; 256];
                let mut previous = None;
                for range in reassembly.ranges() {
                    prop_assert!(previous.is_none_or(|end| end < range.start), "apart and in order");
                    previous = Some(range.end);
                    runs[range.start.get() as usize..range.end.get() as usize].fill(true);
                }
                prop_assert_eq!(&runs, &map);
            }
        }
    }
}
