//! The size of the sender's full segments, as they arrive, and whether a short one asks for an ACK.
//!
//! Linux's `rcv_mss`, which decides what "more than one full segment" means. It starts at 536 bytes (RFC 9293 section
//! 3.7.1), rises to the largest segment, and falls after two equal shorter segments in a row unless they were pushed.
//! A segment that ends a write of the application (PSH, or too short to be a full one) is the last for a while: its
//! ACK leaves as soon as it has been read.

use windtunnel_units::Bytes;
use windtunnel_wire::TcpFlags;

use super::segment::Segment;

const INITIAL: u64 = 536;
/// The lower bound of every sender's segment size.
const LEAST: u64 = 88;

/// What a segment says about the size of the sender's segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    /// The estimate has risen.
    pub(super) larger: bool,
    /// The segment ends the data that the sender had to send.
    pub(super) pushed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentSize {
    estimate: u64,
    last_short: u64,
    largest: u64,
}

impl SegmentSize {
    /// `largest` is the full segment that both ends agreed on.
    pub(super) fn new(largest: Bytes) -> SegmentSize {
        let largest = largest.get();
        SegmentSize { estimate: INITIAL.min(largest), last_short: 0, largest }
    }

    #[inline]
    pub(super) fn estimate(&self) -> Bytes {
        Bytes::new(self.estimate)
    }

    /// A segment of this length is as large as the largest, and that is known.
    #[inline]
    pub(super) fn is_usual(&self, len: Bytes) -> bool {
        len.get() == self.largest && self.estimate == self.largest
    }

    /// Such a segment arrived.
    #[inline]
    pub(super) fn on_usual(&mut self) {
        self.last_short = 0;
    }

    #[inline]
    pub(super) fn on_segment(&mut self, segment: &Segment) -> Measured {
        let len = if segment.packets > 1 { self.largest } else { segment.len().get() };
        let pushed = segment.flags.contains(TcpFlags::PSH);
        if len < self.estimate {
            return self.on_short(len, pushed);
        }
        self.last_short = 0;
        let larger = len > self.estimate;
        self.estimate = len.min(self.largest);
        Measured { larger, pushed }
    }

    #[cold]
    fn on_short(&mut self, len: u64, pushed: bool) -> Measured {
        let before = std::mem::take(&mut self.last_short);
        if len >= INITIAL || (len >= LEAST && !pushed) {
            self.last_short = len;
            if len == before {
                self.estimate = len;
                return Measured { larger: false, pushed: false };
            }
        }
        Measured { larger: false, pushed: true }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Seq, Time};
    use windtunnel_wire::Ecn;

    use super::*;

    fn segment(len: u64, flags: TcpFlags) -> Segment {
        Segment {
            ack: Seq::SYN,
            seq: Seq::FIRST_DATA,
            end: Seq::FIRST_DATA + Bytes::new(len),
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            packets: 1,
            flags,
            ecn: Ecn::NotEct,
        }
    }

    /// The estimate rises at once and falls after two equal segments; pushed ones count only if they have at least
    /// 536 bytes. Every short segment that does not change the estimate counts as pushed.
    #[test]
    fn follows() {
        let mut size = SegmentSize::new(Bytes::new(1448));
        let steps = [
            (100, true, 536, true),
            (1000, false, 1000, false),
            (1448, false, 1448, false),
            (600, false, 1448, true),
            (600, false, 600, false),
            (1448, true, 1448, true),
            (200, true, 1448, true),
            (200, true, 1448, true),
            (200, false, 1448, true),
            (200, false, 200, false),
        ];
        for (n, (len, psh, estimate, pushed)) in steps.into_iter().enumerate() {
            let flags = TcpFlags::ACK.with_if(TcpFlags::PSH, psh);
            assert_eq!(size.on_segment(&segment(len, flags)).pushed, pushed, "step {n}");
            assert_eq!(size.estimate().get(), estimate, "step {n}");
        }
    }

    /// Segments that GRO merged count as full ones, however much they hold together: none is larger than what both
    /// ends agreed on.
    #[test]
    fn merged_segments() {
        let mut size = SegmentSize::new(Bytes::new(1448));
        for (packets, len, larger) in [(2, 2000, true), (3, 4000, false), (1, 1448, false)] {
            let merged = Segment { packets, ..segment(len, TcpFlags::ACK) };
            assert_eq!(size.on_segment(&merged).larger, larger, "{packets} packets");
            assert_eq!(size.estimate().get(), 1448);
        }
    }
}
