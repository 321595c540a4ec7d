//! A set of segments, stored as ranges of ids.
//!
//! A range costs the same whatever its length: a SACK block that repeats known data costs one look-up, and a window
//! with ten thousand holes costs ten thousand entries.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Included};
use std::ops::Range;

/// Disjoint ranges of ids that do not touch, keyed by their first id.
#[derive(Debug, Default)]
pub(super) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of ranges.
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// The least id.
    pub(super) fn first(&self) -> Option<u64> {
        self.0.first_key_value().map(|(&start, _)| start)
    }

    /// The highest range.
    pub(super) fn last(&self) -> Option<Range<u64>> {
        self.0.last_key_value().map(|(&start, &end)| start..end)
    }

    /// The ranges in ascending order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = Range<u64>> {
        self.0.iter().map(|(&start, &end)| start..end)
    }

    /// The range that holds `id`.
    pub(super) fn holding(&self, id: u64) -> Option<Range<u64>> {
        let (&start, &end) = self.0.range(..=id).next_back()?;
        (id < end).then_some(start..end)
    }

    /// Adds `added`; `new` receives, in ascending order, the parts of it that were not in the set.
    pub(super) fn insert(&mut self, added: Range<u64>, mut new: impl FnMut(Range<u64>)) {
        let Range { mut start, end } = added;
        let mut covered = start;
        if let Some((&first, &last)) = self.0.range(..=start).next_back()
            && last >= start
        {
            if last >= end {
                return;
            }
            start = first;
            covered = last;
        }
        while let Some((&first, &last)) = self.0.range((Excluded(start), Included(end))).next() {
            if covered < first {
                new(covered..first);
            }
            covered = last;
            self.0.remove(&first);
        }
        if covered < end {
            new(covered..end);
            covered = end;
        }
        self.0.insert(start, covered);
    }

    /// Takes `id` out.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(Range { start, end }) = self.holding(id) else { return };
        if id == start {
            self.0.remove(&start);
        } else {
            self.0.insert(start, id);
        }
        if id + 1 < end {
            self.0.insert(id + 1, end);
        }
    }

    /// Takes out all ids below `id`.
    pub(super) fn remove_below(&mut self, id: u64) {
        while let Some(entry) = self.0.first_entry()
            && *entry.key() < id
        {
            let end = entry.remove();
            if end > id {
                self.0.insert(id, end);
            }
        }
    }
}
