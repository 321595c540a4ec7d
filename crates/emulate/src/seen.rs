//! What a path can see of a TCP connection that passes it: the sender's data, and the ACKs that come back.
//!
//! The window of the sender is not on the wire. What is: segments that are sent again; round trips, from a segment's entry
//! to the arrival of the ACK that covers it, unless the segment was sent twice (Karn; RFC 6298 section 3); and what the
//! receiver has in order, from its ACKs.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::TcpFlags;

use crate::ip::Tcp;

/// The sequence numbers of one direction, which the wire carries modulo 2^32: the SYN has 0. If the SYN was not seen, the
/// first byte seen has 1.
#[derive(Clone, Copy, Debug, Default)]
struct Numbers {
    isn: Option<u32>,
    highest: u64,
}

impl Numbers {
    /// The number that is nearest to the highest so far.
    fn of(&self, wire: u32) -> u64 {
        let isn = self.isn.unwrap_or(wire);
        let ahead = wire.wrapping_sub(isn.wrapping_add(self.highest as u32)).cast_signed();
        self.highest.saturating_add_signed(ahead.into())
    }

    /// The number of a segment's first byte.
    fn see(&mut self, tcp: &Tcp) -> u64 {
        let first = tcp.seq.wrapping_sub(u32::from(!tcp.flags.contains(TcpFlags::SYN)));
        self.isn.get_or_insert(first);
        self.of(tcp.seq)
    }
}

/// A segment that is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Segment {
    end: u64,
    sent: Time,
    again: bool,
}

/// One connection, whose data go forward.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    data: Numbers,
    replies: Numbers,
    /// What the ACKs that have left the receiver acknowledge.
    in_order: u64,
    /// What those acknowledge that have arrived at the sender.
    una: u64,
    outstanding: VecDeque<Segment>,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    /// The last segment had been sent before.
    pub(crate) again: bool,
}

impl Seen {
    /// A segment enters the way forward. Returns its number, and what it acknowledges.
    pub(crate) fn segment(&mut self, tcp: &Tcp, payload: Bytes, now: Time) -> (Seq, Seq) {
        let start = self.data.see(tcp);
        self.again = false;
        if payload > Bytes::ZERO {
            let end = start + payload.get();
            self.sent += 1;
            self.again = end <= self.data.highest;
            self.retransmits += u64::from(self.again);
            if self.again {
                let covered = |segment: &&mut Segment| segment.end > start && segment.end <= end;
                self.outstanding.iter_mut().filter(covered).for_each(|segment| segment.again = true);
            } else {
                self.outstanding.push_back(Segment { end, sent: now, again: false });
                self.data.highest = end;
            }
        }
        (Seq::new(start), Seq::new(self.replies.of(tcp.ack)))
    }

    /// A segment of the receiver enters the way back. Returns its number, what it acknowledges, and how many bytes the
    /// receiver has in order that it did not have before.
    pub(crate) fn reply(&mut self, tcp: &Tcp, payload: Bytes) -> (Seq, Seq, Bytes) {
        let start = self.replies.see(tcp);
        self.replies.highest = self.replies.highest.max(start + payload.get());
        if !tcp.flags.contains(TcpFlags::ACK) || self.data.isn.is_none() {
            return (Seq::new(start), Seq::SYN, Bytes::ZERO);
        }
        // The SYN and the FIN have numbers, too, and are no data.
        let ack = self.data.of(tcp.ack).min(self.data.highest);
        let before = self.in_order.max(1);
        self.in_order = before.max(ack);
        (Seq::new(start), Seq::new(ack), Bytes::new(self.in_order - before))
    }

    /// A segment of the receiver has arrived at the sender. Returns a round-trip time, if it gives a sample of it.
    pub(crate) fn arrived(&mut self, ack: Seq, now: Time) -> Option<Duration> {
        self.una = self.una.max(ack.get());
        let mut sample = None;
        let covered = self.outstanding.iter().take_while(|segment| segment.end <= self.una).count();
        for segment in self.outstanding.drain(..covered) {
            sample = (!segment.again).then(|| now.since(segment.sent));
        }
        sample
    }

    /// Data that the sender knows to be acknowledged.
    pub(crate) fn acked(&self) -> Bytes {
        Bytes::new(self.una.min(self.data.highest).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(seq: u32, ack: u32, flags: TcpFlags) -> Tcp {
        Tcp { seq, ack, flags, window: 1000 }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    const MSS: Bytes = Bytes::new(1000);

    /// A connection near the end of the numbers: they go on, and the SYN is no data.
    #[test]
    fn numbers_go_on_where_the_wire_wraps() {
        let isn = u32::MAX - 500;
        let mut seen = Seen::default();
        assert_eq!(seen.segment(&tcp(isn, 0, TcpFlags::SYN), Bytes::ZERO, at(0)).0, Seq::SYN);
        let (seq, ack, ordered) =
            seen.reply(&tcp(77, isn.wrapping_add(1), TcpFlags::SYN | TcpFlags::ACK), Bytes::ZERO);
        assert_eq!((seq, ack, ordered), (Seq::SYN, Seq::SYN, Bytes::ZERO));
        for n in 0..3 {
            let first = isn.wrapping_add(1 + n * 1000);
            let (seq, ack) = seen.segment(&tcp(first, 78, TcpFlags::ACK), MSS, at(10));
            assert_eq!((seq, ack), (Seq::new(u64::from(1 + n * 1000)), Seq::FIRST_DATA));
        }
        assert_eq!(seen.acked(), Bytes::ZERO);
        let (_, ack, ordered) = seen.reply(&tcp(78, isn.wrapping_add(2001), TcpFlags::ACK), Bytes::ZERO);
        assert_eq!((ack, ordered), (Seq::new(2001), MSS * 2));
        assert_eq!(seen.arrived(ack, at(30)), Some(Duration::from_millis(20)));
        assert_eq!(seen.acked(), MSS * 2);
    }

    /// Karn: a segment that was sent twice gives no sample, and counts as sent again.
    #[test]
    fn a_segment_sent_twice_gives_no_round_trip() {
        let mut seen = Seen::default();
        seen.segment(&tcp(0, 0, TcpFlags::SYN), Bytes::ZERO, at(0));
        seen.segment(&tcp(1, 1, TcpFlags::ACK), MSS, at(1));
        seen.segment(&tcp(1, 1, TcpFlags::ACK), MSS, at(200));
        assert!(seen.again);
        let (_, ack, ordered) = seen.reply(&tcp(1, 1001, TcpFlags::ACK), Bytes::ZERO);
        assert_eq!(ordered, MSS);
        assert_eq!(seen.arrived(ack, at(220)), None);
        assert_eq!((seen.sent, seen.retransmits, seen.acked()), (2, 1, MSS));
        assert_eq!(seen.reply(&tcp(1, 1001, TcpFlags::ACK), Bytes::ZERO).2, Bytes::ZERO);
    }
}
