//! Reordering: whether a connection has seen it, and its degree (spec/congestion-control section 1.8; Linux
//! `net/ipv4/tcp_input.c`, `tcp_check_sack_reordering` and `tcp_check_reno_reordering`).
//!
//! A segment that was sent once and delivered after higher ones was not lost: a lead of that many segments must not
//! count as a loss again, so `dupthresh` rises to it, up to 300. It falls back when a timeout shows that it was too
//! high. RACK waits for reordering once any was seen (RFC 8985 section 6.2 step 3).
//!
//! There are two more signs of reordering: a timestamp shows that the late original filled a hole, not its
//! retransmission; or, without SACK, more duplicate ACKs come than segments are outstanding above the holes.

use windtunnel_units::{Bytes, Seq};

use super::scoreboard::QueuedSegment;

/// The largest degree (Linux, `tcp_max_reordering`).
const MAX: u64 = 300;

/// What a connection knows about reordering.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    mss: Bytes,
    initial: u32,
    degree: u32,
    seen: bool,
    /// The highest end delivered: `RACK.fack`.
    highest: Seq,
}

impl Reordering {
    /// Only `dupthresh` is known.
    pub(crate) fn new(dupthresh: u32, mss: Bytes) -> Reordering {
        Reordering { mss, initial: dupthresh, degree: dupthresh, seen: false, highest: Seq::default() }
    }

    /// A segment was newly delivered; in sequence order.
    #[inline]
    pub(crate) fn on_delivered(&mut self, segment: &QueuedSegment) {
        if segment.end() > self.highest {
            self.highest = segment.end();
        } else if segment.left_in_turn() {
            self.on_late(segment.seq());
        }
    }

    /// Nothing at or above `una` has been delivered.
    #[inline]
    pub(crate) fn is_below(&self, una: Seq) -> bool {
        self.highest <= una
    }

    /// The original that starts at `seq` was delivered after higher segments, if there were any.
    #[cold]
    pub(crate) fn on_late(&mut self, seq: Seq) {
        if seq < self.highest {
            self.raise((self.highest - seq).get().div_ceil(self.mss.get().max(1)));
        }
    }

    /// Without SACK: duplicate ACKs reported more delivered segments than the holes among `outstanding` allow. Linux
    /// sets the degree to that number, even if it falls; here it only rises.
    pub(crate) fn on_unexplained_duplicates(&mut self, outstanding: u64) {
        self.raise(outstanding);
    }

    /// The timer expired before a loss was declared, with `sacked` segments delivered above it: the degree of
    /// reordering is lower than that.
    pub(crate) fn on_timeout_undetected(&mut self, sacked: u64) {
        if sacked >= u64::from(self.initial) {
            self.degree = self.initial;
        }
    }

    /// The threshold in force.
    pub(crate) const fn dupthresh(&self) -> u32 {
        self.degree
    }

    /// Reordering was seen on this connection.
    pub(crate) const fn seen(&self) -> bool {
        self.seen
    }

    fn raise(&mut self, degree: u64) {
        self.seen = true;
        self.degree = self.degree.max(degree.min(MAX) as u32);
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_cc::rate_sample::Snapshot;

    use super::super::scoreboard::Scoreboard;
    use super::super::scoreboard::tests::{MSS, block, id, ms, send, seq};
    use super::*;

    fn sack(reordering: &mut Reordering, board: &mut Scoreboard, blocks: &[(u64, u64)]) {
        let blocks: Vec<_> = blocks.iter().map(|&(first, last)| block(first, last)).collect();
        board.on_sack(&blocks, |_, segment| reordering.on_delivered(segment));
    }

    /// Segment 1 arrives after 2 to 5: with a threshold of 5 the four SACKs would not have been a loss.
    #[test]
    fn rises_to_the_degree() {
        let mut board = Scoreboard::new(false);
        send(&mut board, 1000, ms(0));
        let mut reordering = Reordering::new(3, MSS);
        sack(&mut reordering, &mut board, &[(2, 5)]);
        assert_eq!((reordering.dupthresh(), reordering.seen()), (3, false));
        board.on_ack(seq(6), |_, segment| reordering.on_delivered(segment));
        assert_eq!((reordering.dupthresh(), reordering.seen()), (5, true));
        sack(&mut reordering, &mut board, &[(8, 8)]);
        sack(&mut reordering, &mut board, &[(7, 7)]);
        assert_eq!(reordering.dupthresh(), 5, "a smaller degree does not lower it");
        sack(&mut reordering, &mut board, &[(990, 990)]);
        sack(&mut reordering, &mut board, &[(10, 10)]);
        assert_eq!(reordering.dupthresh(), 300, "Linux's largest");
        reordering.on_timeout_undetected(2);
        assert_eq!(reordering.dupthresh(), 300);
        reordering.on_timeout_undetected(3);
        assert_eq!((reordering.dupthresh(), reordering.seen()), (3, true));
        reordering.on_unexplained_duplicates(7);
        assert_eq!(reordering.dupthresh(), 7);
    }

    /// A retransmission arrives late because it was sent late; only a timestamp can show that it was the original.
    #[test]
    fn retransmissions_are_not_reordered() {
        let mut board = Scoreboard::new(false);
        send(&mut board, 9, ms(0));
        board.on_retransmitted(id(1), ms(1), Snapshot::default());
        let mut reordering = Reordering::new(3, MSS);
        reordering.on_late(seq(1));
        assert!(!reordering.seen(), "nothing above it was delivered");
        sack(&mut reordering, &mut board, &[(2, 9)]);
        board.on_ack(seq(10), |_, segment| reordering.on_delivered(segment));
        assert_eq!((reordering.dupthresh(), reordering.seen()), (3, false));
        reordering.on_late(seq(1));
        assert_eq!((reordering.dupthresh(), reordering.seen()), (9, true));
    }

    /// The segments that one ACK delivers are processed in sequence order: two blocks, the higher one first, are no
    /// reordering.
    #[test]
    fn blocks_in_any_order() {
        let mut board = Scoreboard::new(false);
        send(&mut board, 5, ms(0));
        let mut reordering = Reordering::new(3, MSS);
        sack(&mut reordering, &mut board, &[(5, 5), (2, 3)]);
        assert!(!reordering.seen());
    }
}
