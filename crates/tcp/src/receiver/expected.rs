//! The short way of the segment that nearly every segment is (header prediction, as in `sender/expected.rs`).
//!
//! It is the next one while nothing is missing, as large as the largest, and has no flag and no option but the timestamp;
//! the receiver acknowledges as Linux does, echoes no marks, and hides nothing. The long way is that of
//! [`Receiver::receive_honestly`], and gives the same results.

use windtunnel_units::{Seq, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::delayed_ack::Arrival;
use super::feedback::{Feedback, Mark, News};
use super::segment::Segment;
use super::segment_size::Measured;
use super::{Receiver, SegmentReport, connection};

impl Receiver {
    /// Whether segments of this connection may take the short way.
    pub(super) fn predicts(&self) -> bool {
        self.attack.is_none() && self.rledbat.is_none() && self.hiding.is_none() && self.gro.is_none()
    }

    /// Every segment takes the long way from now on.
    pub fn take_the_long_way(&mut self) {
        self.predicts = false;
    }

    /// The packet is the segment that nearly every segment is.
    #[inline]
    pub(super) fn expects(&self, packet: &Packet) -> bool {
        let payload = packet.payload();
        self.predicts
            && packet.seq == self.rcv_nxt
            && packet.flags.bits() == TcpFlags::ACK.bits()
            && self.segment_size.is_usual(payload)
            && !packet.has_extras()
            && packet.seq + payload <= self.window.edge()
            && self.reassembly.is_empty()
            && self.rcv_nxt > Seq::FIRST_DATA
            && !self.timestamps.rejects(packet.ts_val)
            && self.delayed_ack.is_linux()
            && matches!(self.feedback, Feedback::None)
    }

    /// Takes such a segment.
    #[inline]
    pub(super) fn receive_expected(&mut self, packet: &Packet, now: Time) -> SegmentReport {
        const MEASURED: Measured = Measured { larger: false, pushed: false };
        let segment = Segment {
            packets: 1,
            flags: TcpFlags::ACK,
            end: packet.seq + packet.payload(),
            ..Segment::of(packet)
        };
        self.stats.segments += 1;
        self.stats.ce += u64::from(packet.ecn == Ecn::Ce);
        self.timestamps.on_segment(segment.seq, segment.ts_val);
        self.segment_size.on_usual();
        let offered = self.window.size();
        let grew = self.buffer.as_mut().is_some_and(|buffer| {
            buffer.on_echo(&segment, &self.segment_size, now);
            buffer.on_data(&segment, MEASURED, &self.segment_size, offered, now)
        });
        let delivered = self.deliver(segment.end);
        let unacked = segment.end - self.timestamps.last_ack_sent();
        let connection = connection(&self.segment_size, &self.window, &self.handshake);
        let arrival = Arrival {
            packets: 1,
            ecn: Ecn::NotEct,
            mark: Mark::None,
            changed: false,
            news: News::None,
            grew,
            pushed: false,
        };
        let leave = self.delayed_ack.linux(arrival, unacked, &connection, now);
        self.acknowledge_if(leave);
        self.read(now);
        SegmentReport { delivered, ..SegmentReport::default() }
    }

    /// The long way of a packet.
    #[inline(never)]
    pub(super) fn on_unexpected(&mut self, packet: &Packet, now: Time) -> SegmentReport {
        if packet.has_extras() && self.delayed_ack.takes_requests() {
            self.take_ack_request(packet);
        }
        if packet.flags.has_any(TcpFlags::SYN | TcpFlags::RST) {
            self.on_control(packet, now)
        } else if self.gro.is_some() {
            self.on_offload(packet, now)
        } else {
            self.receive(&Segment::of(packet), now)
        }
    }
}
