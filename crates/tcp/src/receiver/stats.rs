//! What the receiver counts and reports.

use std::ops::AddAssign;

use windtunnel_units::Bytes;

/// What a segment brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentReport {
    /// Bytes that the application has now, in order, and had not before.
    pub delivered: Bytes,
    /// Bytes that had arrived before.
    pub duplicate: Bytes,
    /// It started above the next byte expected.
    pub out_of_order: bool,
}

impl AddAssign for SegmentReport {
    fn add_assign(&mut self, other: SegmentReport) {
        self.delivered += other.delivered;
        self.duplicate += other.duplicate;
        self.out_of_order |= other.out_of_order;
    }
}

/// What a receiver has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverStats {
    /// Segments with data or a FIN.
    pub segments: u64,
    /// Of these, segments without new data.
    pub duplicates: u64,
    /// Of these, segments that started above the next byte expected.
    pub out_of_order: u64,
    /// Of these, segments beyond the window.
    pub discarded: u64,
    /// Of these, segments with a timestamp that is too old (PAWS, RFC 7323 section 5): discarded, whether or not
    /// their data were new.
    pub paws: u64,
    /// ACKs, except those of SYNs.
    pub acks: u64,
    /// Of these, ACKs that left when their timer expired.
    pub delayed_acks: u64,
    /// Of these, ACKs that left at once because Linux's quickack mode was on.
    pub quick_acks: u64,
    /// ACKs of out-of-order segments that were held back because a later one says the same.
    pub compressed_acks: u64,
    /// D-SACK blocks sent.
    pub dsacks: u64,
    /// Segments that arrived with CE.
    pub ce: u64,
    /// Segments that arrived with SCE, on a flow that negotiated MDS.
    pub sce: u64,
    /// Bytes that the application has read, in order.
    pub delivered: Bytes,
}
