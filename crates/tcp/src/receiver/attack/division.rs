//! ACK division: each segment is acknowledged in pieces, by several ACKs.
//!
//! A sender that adds a segment to cwnd for each ACK, however little it acknowledges, grows faster by the number of pieces:
//! in slow start by `1 + pieces` in each round trip instead of 2. A sender that counts bytes or whole segments is immune
//! (RFC 3465; RFC 5681 section 3.1, `min(N, SMSS)`).

use windtunnel_units::{Bytes, Seq};

use crate::ack_policy::AckParams;

#[derive(Debug)]
pub(super) struct Division {
    pieces: u64,
}

impl Division {
    pub(super) fn new(params: &AckParams) -> Division {
        Division { pieces: u64::from(params.division) }
    }

    pub(super) fn is_honest(&self) -> bool {
        self.pieces <= 1
    }

    /// The ACK numbers between what was acknowledged last and `ack`: `pieces` ACKs for each segment, `ack` itself among
    /// them, each of one byte at least.
    pub(super) fn steps(&self, last: Seq, ack: Seq, mss: Bytes) -> impl Iterator<Item = Seq> + use<> {
        let whole = self.is_honest() || last < Seq::FIRST_DATA || ack <= last;
        let news = if whole { 0 } else { (ack - last).get() };
        let acks = (self.pieces * news.div_ceil(mss.get().max(1))).min(news);
        (1..acks).map(move |n| last + Bytes::new(news * n / acks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pieces: u32, news: u64) -> Vec<u64> {
        let division = Division::new(&AckParams { division: pieces, ..AckParams::default() });
        let last = Seq::FIRST_DATA;
        let steps = division.steps(last, last + Bytes::new(news), Bytes::new(1000));
        steps.map(|step| (step - last).get()).collect()
    }

    /// Each full segment is acknowledged by M ACKs at byte boundaries, M at most its size (spec/congestion-control section 5);
    /// the last of them is the honest one.
    #[test]
    fn a_segment_is_acknowledged_in_pieces() {
        assert_eq!(steps(4, 1000), [250, 500, 750]);
        assert_eq!(steps(2, 2000), [500, 1000, 1500]);
        assert!(steps(1, 1000).is_empty());
        assert_eq!(steps(1000, 3), [1, 2], "no ACK of nothing");
    }
}
