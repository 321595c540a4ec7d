//! A digest of everything that happened: equal for equal runs, different after the first difference.
//!
//! Each link and each flow of the network has a digest of its own, and that of the run combines them by index. What happens
//! at one does not enter the digest of another, so that their order at one instant, or on several cores, changes nothing.

/// A running 64-bit hash over every dequeue of a link, or every ACK and retransmission of a flow. A multiplication by an odd
/// number and a rotation mix in each word, so that order matters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) const fn new() -> Digest {
        Digest(0x243f_6a88_85a3_08d3)
    }

    #[inline]
    pub(crate) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9fb2_1c65_1e98_df25).rotate_left(29);
    }

    /// The digest of a run whose links and flows have these.
    pub(crate) fn combined(parts: impl IntoIterator<Item = Digest>) -> Digest {
        let mut digest = Digest::new();
        parts.into_iter().for_each(|part| digest.word(part.0));
        digest
    }

    /// 16 hex digits.
    pub(crate) fn hex(mut self) -> String {
        self.word(0);
        self.word(0);
        format!("{:016x}", self.0)
    }
}
