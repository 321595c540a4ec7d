//! Ranges of packet numbers, and the packet numbers of acknowledgements.

use std::collections::VecDeque;

/// Ranges from their first to their last number, in ascending order after [`Ranges::sort`].
#[derive(Debug, Default)]
pub(super) struct Ranges {
    ranges: Vec<(u64, u64)>,
}

impl Ranges {
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    pub(super) fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    pub(super) fn last(&self) -> Option<u64> {
        self.ranges.last().map(|(_, last)| *last)
    }

    /// Adds a number, to the last range if it follows it.
    pub(super) fn push(&mut self, number: u64) {
        match self.ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => self.ranges.push((number, number)),
        }
    }

    /// Puts the ranges in order, and joins neighbours.
    pub(super) fn sort(&mut self) {
        if self.ranges.len() < 2 {
            return;
        }
        self.ranges.sort_unstable();
        let mut kept = 0;
        for n in 1..self.ranges.len() {
            let (first, last) = self.ranges[n];
            if first <= self.ranges[kept].1 + 1 {
                self.ranges[kept].1 = self.ranges[kept].1.max(last);
            } else {
                kept += 1;
                self.ranges[kept] = (first, last);
            }
        }
        self.ranges.truncate(kept + 1);
    }
}

/// The packets that a receiver sends, in their order: their numbers are counted where they leave, and looked up where they
/// arrive. Their memory depends on how many are under way.
#[derive(Debug, Default)]
pub(super) struct Replies {
    ids: VecDeque<u64>,
    /// The number of the first of them.
    first: u64,
}

/// Older ones that are kept when one arrives: those that it has overtaken.
const OVERTAKEN: usize = 64;

impl Replies {
    /// The packet `id` leaves.
    pub(super) fn sent(&mut self, id: u64) -> u64 {
        self.ids.push_back(id);
        self.first + self.ids.len() as u64 - 1
    }

    /// The number of the packet `id`, if it is kept.
    pub(super) fn number(&self, id: u64) -> Option<u64> {
        Some(self.first + self.ids.binary_search(&id).ok()? as u64)
    }

    /// The same for one that has arrived.
    pub(super) fn arrived(&mut self, id: u64) -> Option<u64> {
        let number = self.number(id)?;
        while self.first + (OVERTAKEN as u64) < number {
            self.ids.pop_front();
            self.first += 1;
        }
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_joined() {
        let mut ranges = Ranges::default();
        for number in [7, 8, 3, 4, 1, 5, 10] {
            ranges.push(number);
        }
        ranges.sort();
        assert_eq!(ranges.as_slice(), [(1, 1), (3, 5), (7, 8), (10, 10)]);
        assert_eq!(ranges.last(), Some(10));
    }

    /// Those that were lost on the way are forgotten, too.
    #[test]
    fn acknowledgements_under_way() {
        let mut replies = Replies::default();
        for n in 0..1000 {
            assert_eq!(replies.sent(2 * n + 1), n);
        }
        assert_eq!(replies.arrived(1), Some(0));
        assert_eq!(replies.arrived(2 * 900 + 1), Some(900));
        assert_eq!(replies.arrived(2 * 890 + 1), Some(890), "overtaken");
        assert_eq!(replies.arrived(3), None);
        assert!(replies.ids.len() < 200);
    }
}
