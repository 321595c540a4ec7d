//! Which SACK blocks an ACK carries, and in which order.
//!
//! RFC 2018 section 4: the block of the segment that triggered the ACK comes first, then those reported most
//! recently. RFC 2883: if that segment held bytes that had arrived before, the first such stretch precedes all other
//! blocks (D-SACK), once. The option has room for four blocks, for three beside timestamps
//! (spec/queues-and-signalling section 18.1).

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{SackBlock, SackBlocks};

use super::reassembly::Reassembly;

const MOST_BLOCKS: usize = 4;

/// The blocks reported most recently, and the duplicate that the next ACK reports.
#[derive(Debug)]
pub(super) struct Sack {
    /// Blocks that fit into an ACK; zero without SACK.
    room: usize,
    /// Most recent first, as many as fit into an ACK. Each is a whole range of the reassembly.
    recent: Vec<SackBlock>,
    duplicate: Option<SackBlock>,
}

impl Sack {
    pub(super) fn new(enabled: bool, timestamps: bool) -> Sack {
        let room = match (enabled, timestamps) {
            (false, _) => 0,
            (true, true) => MOST_BLOCKS - 1,
            (true, false) => MOST_BLOCKS,
        };
        Sack { room, recent: Vec::new(), duplicate: None }
    }

    /// SACK was not negotiated.
    pub(super) fn disabled() -> Sack {
        Sack::new(false, false)
    }

    pub(super) fn is_enabled(&self) -> bool {
        self.room > 0
    }

    /// Reporting `block` would drop another from the report.
    pub(super) fn overflows_with(&self, block: SackBlock) -> bool {
        self.recent.iter().filter(|known| known.start < block.start || known.end > block.end).count()
            >= self.room
    }

    /// A segment made or enlarged `block`.
    pub(super) fn on_block(&mut self, block: SackBlock) {
        self.recent.retain(|known| known.start < block.start || known.end > block.end);
        self.recent.truncate(self.room.saturating_sub(1));
        if self.is_enabled() {
            self.recent.insert(0, block);
        }
    }

    /// A segment held bytes that had arrived before.
    pub(super) fn on_duplicate(&mut self, block: SackBlock) {
        if self.is_enabled() {
            self.duplicate = Some(block);
        }
    }

    /// Everything below `rcv_nxt` was delivered.
    pub(super) fn on_delivered(&mut self, rcv_nxt: Seq) {
        self.recent.retain(|known| known.start > rcv_nxt);
    }

    /// True if the next ACK reports a duplicate.
    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// The next ACK has blocks to report.
    #[inline]
    pub(super) fn has_blocks(&self, reassembly: &Reassembly) -> bool {
        self.duplicate.is_some() || (!reassembly.is_empty() && self.is_enabled())
    }

    /// The size of the option with these blocks: two NOPs, kind, length, and two edges for each.
    pub(super) fn option_size(blocks: &SackBlocks) -> Bytes {
        Sack::size_of(blocks.as_slice().len() as u8)
    }

    /// The same with this many blocks.
    pub(super) fn size_of(blocks: u8) -> Bytes {
        Bytes::new(match u64::from(blocks) {
            0 => 0,
            n => 4 + 8 * n,
        })
    }

    /// The blocks of the next ACK, if it has any.
    pub(super) fn blocks(&mut self, reassembly: &Reassembly) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let ranges = self.room - usize::from(self.duplicate.is_some());
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
        }
        let recent = &self.recent;
        // Blocks that older reports dropped for want of room come back when there is room: the highest first, because
        // it arrived last.
        let others = reassembly.ranges().rev().filter(|range| !recent.contains(range));
        for block in recent.iter().chain(others).take(ranges) {
            blocks.push(*block);
        }
        blocks
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.recent.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start: Seq::new(start), end: Seq::new(end) }
    }

    /// With room for three blocks, a fourth one drops another from the report wherever it lies; one that takes the
    /// place of a block that it contains does not, at whichever end it has grown (RFC 2018 section 4).
    #[test]
    fn what_drops_a_block() {
        let mut sack = Sack::new(true, true);
        for (start, end) in [(30, 40), (50, 60), (70, 80)] {
            assert!(!sack.overflows_with(block(start, end)), "the room is not used up");
            sack.on_block(block(start, end));
        }
        for (start, end, drops) in [
            (10, 20, true),
            (44, 46, true),
            (90, 95, true),
            (50, 65, false),
            (45, 60, false),
            (45, 65, false),
            (30, 60, false),
        ] {
            assert_eq!(sack.overflows_with(block(start, end)), drops, "{start} to {end}");
        }
    }
}
