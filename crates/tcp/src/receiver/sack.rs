//! Which SACK blocks an ACK carries, and in which order.
//!
//! RFC 2018 section 4: the block of the segment that triggered the ACK comes first, then those reported most
//! recently. RFC 2883: if that segment held bytes that had arrived before, the first such stretch precedes all other
//! blocks (D-SACK), once. The option has room for four blocks, for three next to timestamps
//! (spec/queues-and-signalling section 18.1). As in Linux (`selective_acks`), the four most recent blocks are kept, and a
//! block that newer ones have displaced is not reported again unless it grows.

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{SackBlock, SackBlocks};

/// Blocks that are kept (Linux `TCP_NUM_SACKS`), and that fit into an option without timestamps.
const MOST_BLOCKS: usize = 4;
/// Blocks that an ACK can be expected to bring across (Linux `TCP_SACK_BLOCKS_EXPECTED`): the ACKs around it may be lost.
const EXPECTED_BLOCKS: usize = 2;

/// The blocks reported most recently, and the duplicate that the next ACK reports.
#[derive(Debug)]
pub(super) struct Sack {
    /// Blocks that fit into an ACK; zero without SACK.
    room: usize,
    /// Most recent first. Each is a whole range of the reassembly.
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

    /// With `block` at the head, one of the blocks reported before is no longer among the first two (Linux
    /// `tcp_sack_new_ofo_skb`).
    pub(super) fn displaces_with(&self, block: SackBlock) -> bool {
        let grown = self.recent.iter().position(|reported| is_within(*reported, block));
        grown.unwrap_or(self.recent.len()) >= EXPECTED_BLOCKS
    }

    /// A segment made or enlarged `block`.
    pub(super) fn on_block(&mut self, block: SackBlock) {
        self.recent.retain(|reported| !is_within(*reported, block));
        self.recent.truncate(MOST_BLOCKS - 1);
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
        self.recent.retain(|reported| reported.start > rcv_nxt);
    }

    /// True if the next ACK reports a duplicate.
    pub(super) fn has_duplicate(&self) -> bool {
        self.duplicate.is_some()
    }

    /// The next ACK has blocks to report.
    #[inline]
    pub(super) fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.recent.is_empty()
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
    pub(super) fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let ranges = self.room - usize::from(self.duplicate.is_some());
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
        }
        for block in self.recent.iter().take(ranges) {
            blocks.push(*block);
        }
        blocks
    }

    /// Gives memory back that is not in use.
    pub(super) fn give_back(&mut self) {
        self.recent.shrink_to_fit();
    }
}

fn is_within(inner: SackBlock, outer: SackBlock) -> bool {
    inner.start >= outer.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(start: u64, end: u64) -> SackBlock {
        SackBlock { start: Seq::new(start), end: Seq::new(end) }
    }

    /// Linux `tcp_sack_new_ofo_skb`: a new block displaces one from the first two once there are two, and so does one that
    /// grows if it is the third or fourth; one that joins two counts as the first of them that the list has.
    #[test]
    fn what_displaces_a_block() {
        let mut sack = Sack::new(true, true);
        for (start, end, displaces) in [(30, 40, false), (50, 60, false), (70, 80, true)] {
            assert_eq!(sack.displaces_with(block(start, end)), displaces, "{start} to {end} is new");
            sack.on_block(block(start, end));
        }
        for (start, end, displaces) in [
            (10, 20, true),
            (44, 46, true),
            (70, 85, false),
            (50, 65, false),
            (30, 42, true),
            (30, 60, false),
            (30, 80, false),
        ] {
            assert_eq!(sack.displaces_with(block(start, end)), displaces, "{start} to {end}");
        }
    }

    /// An ACK reports the three most recent blocks next to timestamps, or a duplicate and two. The fourth comes back when
    /// others are delivered; an older one does not.
    #[test]
    fn reported() {
        let mut sack = Sack::new(true, true);
        for start in [10, 20, 30, 40, 50] {
            sack.on_block(block(start, start + 5));
        }
        let starts =
            |sack: &mut Sack| sack.blocks().as_slice().iter().map(|b| b.start.get()).collect::<Vec<_>>();
        assert_eq!(starts(&mut sack), [50, 40, 30]);
        sack.on_duplicate(block(1, 5));
        assert_eq!(starts(&mut sack), [1, 50, 40]);
        sack.on_block(block(40, 55));
        assert_eq!(starts(&mut sack), [40, 30, 20]);
        assert!(sack.has_blocks());
        sack.on_delivered(Seq::new(55));
        assert!(!sack.has_blocks(), "10 to 15 was forgotten before");
    }
}
