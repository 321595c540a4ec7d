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
    /// The sum of what lies below all of `odd`.
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
            let place = self.odd.partition_point(|start| *start < segment.seq);
            if self.odd.get(place) != Some(&segment.seq) {
                self.odd.insert(place, segment.seq);
            }
        }
        self.latch.on_segment(segment.ecn, segment.flags)
    }

    /// The flags of an ACK with this number.
    pub(super) fn flags(&mut self, ack: Seq) -> TcpFlags {
        // Numbers between the last two ACKs are still asked for, by whoever divides ACKs.
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
