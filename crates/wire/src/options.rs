//! TCP options that few packets carry.

use windtunnel_units::Seq;

use crate::{AccEcnOption, AckRate, EcnCounts};

/// One SACK block (RFC 2018): the bytes from `start` up to, not including, `end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlock {
    /// The first byte of the block.
    pub start: Seq,
    /// The byte after the last one.
    pub end: Seq,
}

/// The SACK blocks of a packet: at most four fit into the option space (RFC 2018 section 3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    len: u8,
    blocks: [SackBlock; 4],
}

impl SackBlocks {
    /// Blocks that fit into the option space.
    pub const MOST: u8 = 4;

    /// Appends a block; false if there is no room.
    pub fn push(&mut self, block: SackBlock) -> bool {
        let room = usize::from(self.len) < self.blocks.len();
        if room {
            self.blocks[usize::from(self.len)] = block;
            self.len += 1;
        }
        room
    }

    /// Removes all blocks.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// True without a block.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Leaves out all blocks after the first `len`.
    pub fn truncate(&mut self, len: u8) {
        self.len = self.len.min(len);
    }

    /// The blocks, in the order of the option.
    pub fn as_slice(&self) -> &[SackBlock] {
        &self.blocks[..usize::from(self.len)]
    }
}

/// The capability of MDS (spec/queues-and-signalling section 17.5): what the sender of a SYN offers, and a SYN-ACK accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MdsCapability {
    /// The base-2 logarithm of tau.
    pub log2_tau: u8,
}

/// The options of a packet besides the timestamp (RFC 7323), which a packet has a field for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// SACK blocks.
    pub sack: SackBlocks,
    /// The AccECN option.
    pub accecn: Option<AccEcnOption>,
    /// QUIC's counts, in an option for experiments.
    pub ecn_counts: Option<EcnCounts>,
    /// The ACK rate that is asked for.
    pub ack_rate: Option<AckRate>,
    /// On a SYN or SYN-ACK: its sender can do MDS ("Multiplicative Decrease Scaling", Negotiation).
    pub mds_capable: Option<MdsCapability>,
    /// On a SYN or SYN-ACK: SACK permitted (RFC 2018).
    pub sack_permitted: bool,
}

impl Options {
    /// True without an option.
    pub const fn is_empty(&self) -> bool {
        self.sack.is_empty()
            && self.accecn.is_none()
            && self.ecn_counts.is_none()
            && self.ack_rate.is_none()
            && self.mds_capable.is_none()
            && !self.sack_permitted
    }
}
