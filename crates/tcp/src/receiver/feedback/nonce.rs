//! The sum of ECN nonces at the receiver (RFC 3540 section 4; `sender/ecn/nonce.rs`), with the echo of CE of RFC 3168.
//!
//! A segment that arrives as ECT(1) counts one, with its first byte; one with ECT(0) or without ECN, and one with CE, whose nonce is
//! lost, nothing. The sum of an ACK is that of everything below its number, modulo 2, and starts at 1.

use std::collections::VecDeque;

use windtunnel_units::Seq;
use windtunnel_wire::{Ecn, TcpFlags};

use super::News;
use super::rfc3168::CeLatch;
use crate::receiver::segment::Segment;

/// What the receiver knows of the nonces.
#[derive(Debug)]
pub(in crate::receiver) struct NonceSum {
    latch: CeLatch,
    /// The sum of the numbers below all of `odd`.
    sum: bool,
    /// The first bytes of segments that arrived as ECT(1), in order.
    odd: VecDeque<Seq>,
    /// The number of the last ACK.
    acked: Seq,
}

impl NonceSum {
    pub(super) fn new() -> NonceSum {
        NonceSum { latch: CeLatch::default(), sum: true, odd: VecDeque::new(), acked: Seq::FIRST_DATA }
    }

    pub(super) fn on_segment(&mut self, segment: &Segment) -> News {
        if segment.ecn == Ecn::Ect1 && segment.seq >= self.acked {
            let position = self.odd.partition_point(|start| *start < segment.seq);
            if self.odd.get(position) != Some(&segment.seq) {
                self.odd.insert(position, segment.seq);
            }
        }
        self.latch.on_segment(segment.ecn, segment.flags)
    }

    /// The flags of an ACK with this number.
    pub(super) fn flags(&mut self, ack: Seq) -> TcpFlags {
        // Numbers between the last two ACKs are still asked for, by receivers that divide ACKs.
        let settled = self.count_below(self.acked);
        self.sum ^= settled % 2 == 1;
        self.odd.drain(..settled);
        self.acked = ack;
        self.latch.flags() | self.nonce_sum(ack)
    }

    /// The flag NS of an ACK with this number, at or above the last but one.
    pub(super) fn nonce_sum(&self, ack: Seq) -> TcpFlags {
        TcpFlags::NONE.with_if(TcpFlags::AE, self.sum ^ (self.count_below(ack) % 2 == 1))
    }

    fn count_below(&self, end: Seq) -> usize {
        self.odd.partition_point(|start| *start < end)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Bytes, Time};

    use super::*;

    fn segment(start: u64, ecn: Ecn) -> Segment {
        Segment {
            ack: Seq::SYN,
            seq: Seq::new(start),
            end: Seq::new(start) + Bytes::new(1000),
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            packets: 1,
            flags: TcpFlags::ACK,
            ecn,
        }
    }

    /// The sum below a number is 1 + the segments with ECT(1) that start below it, modulo 2 (RFC 3540 section 4), in
    /// whatever order they came and how often: here those at 1, 2001, 3001 and 6001. An ACK settles what is below
    /// the one before it.
    #[test]
    fn sums() {
        let (ect0, ect1, ce, not) = (Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct);
        let mut sum = NonceSum::new();
        for (start, ecn) in [
            (1, ect1),
            (3001, ect1),
            (1001, ect0),
            (2001, ect1),
            (3001, ect1),
            (2001, ect1),
            (4001, ce),
            (5001, not),
            (6001, ect1),
        ] {
            sum.on_segment(&segment(start, ecn));
        }
        let numbers = [(1, true), (2, false), (2001, false), (2002, true), (3001, true), (3002, false)];
        for (ack, odd) in numbers.into_iter().chain([(6001, false), (6002, true), (7001, true)]) {
            assert_eq!(sum.nonce_sum(Seq::new(ack)).contains(TcpFlags::AE), odd, "below {ack}");
        }
        for (ack, odd) in [(2001, false), (3002, false), (7001, true), (7001, true)] {
            assert_eq!(sum.flags(Seq::new(ack)).contains(TcpFlags::AE), odd, "an ACK of {ack}");
            assert_eq!(sum.nonce_sum(Seq::new(ack)).contains(TcpFlags::AE), odd, "a part of it");
        }
        sum.on_segment(&segment(6001, ect1)); // again, below the last ACK
        assert!(sum.flags(Seq::new(7001)).contains(TcpFlags::AE));
        sum.on_segment(&segment(7001, ect1)); // at the last ACK
        let ece = TcpFlags::ACK | TcpFlags::ECE;
        assert_eq!(sum.flags(Seq::new(8001)), ece, "the sum is 0; CE is echoed as well");
    }
}
