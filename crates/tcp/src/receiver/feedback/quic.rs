//! Counts of packets by code point, as a QUIC receiver keeps them (RFC 9000 sections 13.4.1 and 19.3.2; spec/queues-and-signalling
//! section 17.8).
//!
//! Each ACK repeats the counts of all packets with data that were accepted, so that nothing is lost with an ACK and nothing can
//! go round. CE is acknowledged at once (section 13.2.1). An option carries the counts; two SACK blocks come before it.

use windtunnel_wire::{Ecn, EcnCounts};

use super::News;
use crate::receiver::segment::Segment;

/// The receiver's counts.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::receiver) struct Counts {
    counts: EcnCounts,
}

impl Counts {
    pub(super) fn on_segment(&mut self, segment: &Segment) -> News {
        let count = match segment.ecn {
            Ecn::NotEct => return News::None,
            Ecn::Ect0 => &mut self.counts.ect0,
            Ecn::Ect1 => &mut self.counts.ect1,
            Ecn::Ce => &mut self.counts.ce,
        };
        *count = count.wrapping_add(segment.packets);
        if segment.ecn == Ecn::Ce { News::Ce } else { News::None }
    }

    pub(in crate::receiver) fn counts(self) -> EcnCounts {
        self.counts
    }
}
