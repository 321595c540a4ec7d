//! The measured degree of reordering (spec/congestion-control section 1.8; Linux `net/ipv4/tcp_input.c`).
//!
//! A segment that was sent once and delivered after higher ones was not lost: as many segments as it was late by must
//! not be taken for a loss again, so `dupthresh` rises to that, up to 300. It falls back when a timeout shows that it
//! was too high.

use windtunnel_units::{Bytes, Seq};

use super::scoreboard::Segment;

/// The largest degree (Linux, `tcp_max_reordering`).
const MAX: u64 = 300;

/// What a connection knows of reordering.
#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    mss: Bytes,
    initial: u32,
    degree: u32,
    /// The highest end delivered.
    highest: Seq,
}

impl Reordering {
    /// Nothing is known but `dupthresh`.
    pub fn new(dupthresh: u32, mss: Bytes) -> Reordering {
        Reordering { mss, initial: dupthresh, degree: dupthresh, highest: Seq::default() }
    }

    /// A segment was newly delivered; in sequence order.
    pub fn on_delivered(&mut self, segment: &Segment) {
        if segment.end() > self.highest {
            self.highest = segment.end();
        } else if !segment.ever_retransmitted() {
            self.raise((self.highest - segment.seq()).get().div_ceil(self.mss.get().max(1)));
        }
    }

    /// Without SACK: `segments` were delivered after a duplicate ACK that a loss cannot explain.
    pub fn on_duplicate_acks(&mut self, segments: u64) {
        self.raise(segments);
    }

    /// The timer expired before a loss was declared, with `sacked` segments delivered above it: so much reordering
    /// there is not.
    pub fn on_timeout_undetected(&mut self, sacked: u64) {
        if sacked >= u64::from(self.initial) {
            self.degree = self.initial;
        }
    }

    /// The threshold in force.
    pub const fn dupthresh(&self) -> u32 {
        self.degree
    }

    fn raise(&mut self, degree: u64) {
        self.degree = self.degree.max(degree.min(MAX) as u32);
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::tests::{MSS, block, id, ms, send, seq};
    use super::super::scoreboard::{Scoreboard, Snapshot};
    use super::*;

    fn sack(reordering: &mut Reordering, board: &mut Scoreboard, first: u64, last: u64) {
        board.on_sack(&[block(first, last)], |_, segment| reordering.on_delivered(segment));
    }

    /// Segment 1 arrives after 2 to 5: with a threshold of 5 the four SACKs would not have been a loss.
    #[test]
    fn rises_to_the_degree() {
        let mut board = Scoreboard::new();
        send(&mut board, 1000, ms(0));
        let mut reordering = Reordering::new(3, MSS);
        sack(&mut reordering, &mut board, 2, 5);
        assert_eq!(reordering.dupthresh(), 3);
        board.on_ack(seq(6), |_, segment| reordering.on_delivered(segment));
        assert_eq!(reordering.dupthresh(), 5);
        sack(&mut reordering, &mut board, 8, 8);
        sack(&mut reordering, &mut board, 7, 7);
        assert_eq!(reordering.dupthresh(), 5, "a smaller degree does not lower it");
        sack(&mut reordering, &mut board, 990, 990);
        sack(&mut reordering, &mut board, 10, 10);
        assert_eq!(reordering.dupthresh(), 300, "Linux's largest");
        reordering.on_timeout_undetected(2);
        assert_eq!(reordering.dupthresh(), 300);
        reordering.on_timeout_undetected(3);
        assert_eq!(reordering.dupthresh(), 3);
        reordering.on_duplicate_acks(7);
        assert_eq!(reordering.dupthresh(), 7);
    }

    /// A retransmission arrives late because it was sent late.
    #[test]
    fn retransmissions_are_not_reordered() {
        let mut board = Scoreboard::new();
        send(&mut board, 9, ms(0));
        board.on_retransmitted(id(1), ms(1), Snapshot::default());
        let mut reordering = Reordering::new(3, MSS);
        sack(&mut reordering, &mut board, 2, 9);
        board.on_ack(seq(10), |_, segment| reordering.on_delivered(segment));
        assert_eq!(reordering.dupthresh(), 3);
    }
}
