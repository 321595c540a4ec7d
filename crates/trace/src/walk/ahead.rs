//! Acknowledgements of data that the capture had not shown. Where it shows them later, the receiver acknowledged what it
//! did not have; where it never does, the capture has missed them, which says nothing of the receiver.

use super::rows::{AckKind, Acks};

/// Those of one connection. Each range begins where the data end that were known, so that ranges are in order.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    ranges: Vec<Range>,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    end: u64,
    /// The acknowledgement's row.
    row: usize,
}

impl Ahead {
    /// The acknowledgement that comes next to `acks` is of data from `start` to `end` that were not seen.
    pub(super) fn acknowledged(&mut self, start: u64, end: u64, acks: &Acks) {
        self.ranges.push(Range { start, end, row: acks.t_ns.len() });
    }

    /// Data are seen.
    pub(super) fn seen(&self, start: u64, end: u64, acks: &mut Acks) {
        let first = self.ranges.partition_point(|range| range.end <= start);
        for range in self.ranges[first..].iter().take_while(|range| range.start < end) {
            if let Some(kind) = acks.kind.get_mut(range.row) {
                *kind |= AckKind::BEFORE_DATA;
            }
        }
    }
}
