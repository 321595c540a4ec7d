//! What becomes of a segment by where it lies: the next one, at or above a gap, or outside of the window.
//!
//! RFC 9293 section 3.10.7.4. A segment that is the next one while nothing is missing takes a short way.

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::SackBlock;

use super::delayed_ack::{Arrival, Leave};
use super::reassembly::Insertion;
use super::segment::Segment;
use super::{Receiver, SegmentReport, connection};

impl Receiver {
    /// A segment arrived at TCP.
    #[inline]
    pub(super) fn receive(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        if self.rledbat.is_some() {
            self.limit_by(segment, now);
        }
        if self.attack.is_some() {
            self.receive_as_attacker(segment, now)
        } else {
            self.receive_honestly(segment, now)
        }
    }

    #[inline]
    pub(super) fn receive_honestly(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        if self.rcv_nxt == Seq::FIRST_DATA && self.handshake.is_open() {
            self.on_established(now);
        }
        let next = segment.seq == self.rcv_nxt && segment.end > segment.seq;
        let plain = segment.end <= self.window.edge()
            && !self.timestamps.rejects(segment.ts_val)
            && !segment.has_fin();
        if next && plain && self.reassembly.is_empty() {
            self.receive_next(segment, now)
        } else {
            self.receive_other(segment, now)
        }
    }

    /// The next segment, and nothing is missing.
    #[inline]
    pub(super) fn receive_next(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        let arrival = self.accept(segment);
        let arrival = self.buffer_in_order(arrival, segment, now);
        let delivered = self.deliver(segment.end);
        let unacked = segment.end - self.timestamps.last_ack_sent();
        let connection = connection(&self.segment_size, &self.window, &self.handshake);
        let leave = self.delayed_ack.on_in_order(arrival, unacked, &connection, now);
        self.acknowledge_if(leave);
        self.read(now);
        SegmentReport { delivered, ..SegmentReport::default() }
    }

    /// Any other segment.
    #[cold]
    pub(super) fn receive_other(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        if self.rcv_nxt == Seq::SYN {
            return SegmentReport::default(); // no connection yet
        }
        self.close.on_ack(segment.ack);
        if segment.len() == Bytes::ZERO {
            let reports = self.feedback.on_pure_ack(segment);
            self.check_syn_ack();
            if reports || segment.seq < self.timestamps.last_ack_sent() || segment.seq > self.window.edge() {
                self.acknowledge(); // a probe: RFC 9293 section 3.10.7.4
            }
            return SegmentReport::default();
        }
        let old = self.timestamps.rejects(segment.ts_val);
        if old || segment.end <= self.rcv_nxt || segment.seq >= self.window.edge() {
            return self.receive_unacceptable(segment, old);
        }
        let segment = segment.up_to(self.window.edge());
        if segment.seq > self.rcv_nxt {
            self.receive_above_gap(&segment, now)
        } else if segment.has_fin() && segment.seq == self.rcv_nxt && self.reassembly.is_empty() {
            self.receive_fin(&segment, now)
        } else {
            self.receive_at_gap(&segment, now)
        }
    }

    /// All of the segment had arrived before, it lies beyond the window, or its timestamp is `old`. It is
    /// acknowledged and otherwise ignored, except for the timestamp of a segment that reaches the last ACK (Linux
    /// `tcp_send_dupack`).
    pub(super) fn receive_unacceptable(&mut self, segment: &Segment, old: bool) -> SegmentReport {
        let packets = u64::from(segment.packets);
        let duplicate = segment.end <= self.rcv_nxt;
        self.stats.segments += packets;
        self.stats.duplicates += if duplicate { packets } else { 0 };
        self.stats.paws += if old { packets } else { 0 };
        self.stats.discarded += if duplicate || old { 0 } else { packets };
        if segment.end >= self.timestamps.last_ack_sent() {
            self.timestamps.on_segment(segment.seq, segment.ts_val);
        }
        let block = SackBlock { start: segment.seq, end: segment.end.min(self.rcv_nxt) };
        let mut report = SegmentReport::default();
        if block.start < block.end {
            report.duplicate = block.end - block.start;
            self.sack.on_duplicate(block);
        }
        if block.start < block.end || (!old && segment.seq == self.window.edge()) {
            self.delayed_ack.on_unacceptable(&connection(&self.segment_size, &self.window, &self.handshake));
        }
        self.acknowledge();
        report
    }

    /// The segment holds the next byte; part of it may have arrived before, and it may join data that arrived above
    /// it.
    pub(super) fn receive_at_gap(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        let data = segment.without_fin();
        let arrival = self.accept(&data);
        let arrival = self.buffer_in_order(arrival, &data, now);
        self.note_fin(segment);
        let insertion = self.reassembly.insert(self.rcv_nxt, segment.end);
        let below = self.rcv_nxt - segment.seq;
        if below > Bytes::ZERO {
            self.sack.on_duplicate(SackBlock { start: segment.seq, end: self.rcv_nxt });
        } else if let Some(duplicate) = insertion.first_duplicate {
            self.sack.on_duplicate(duplicate);
        }
        self.reassembly.deliver_first();
        let delivered = self.deliver_with_fin(insertion.block.end);
        if let Some(buffer) = &mut self.buffer {
            buffer.on_gap_filled(self.rcv_nxt - segment.end, self.reassembly.is_empty());
        }
        self.sack.on_delivered(self.rcv_nxt);
        let connection = connection(&self.segment_size, &self.window, &self.handshake);
        let unacked = self.rcv_nxt - self.timestamps.last_ack_sent();
        if let Some(reordered) = self.is_reordered(segment.seq) {
            let leave = self.delayed_ack.on_quic(arrival, reordered, &connection, now);
            self.acknowledge_if(leave);
        } else {
            let gap = (!self.reassembly.is_empty()).then_some(self.rcv_nxt);
            self.delayed_ack.on_gap_filled(arrival, unacked, gap, &connection, now);
            self.acknowledge();
        }
        if !self.close_if_at_end(now) {
            self.read_from(segment.end, now);
        }
        SegmentReport { delivered, duplicate: below + insertion.duplicate, out_of_order: false }
    }

    /// Data before the segment are missing.
    pub(super) fn receive_above_gap(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        let arrival = self.accept(segment);
        self.stats.out_of_order += u64::from(segment.packets);
        if !self.keeps_out_of_order {
            self.delayed_ack.on_arrival(arrival);
            self.acknowledge();
            return SegmentReport { out_of_order: true, ..SegmentReport::default() };
        }
        self.note_fin(segment);
        let insertion = self.reassembly.insert(segment.seq, segment.end);
        let arrival = self.buffer_above_gap(arrival, segment, &insertion, now);
        let leave = self.on_block(arrival, &insertion, segment, now);
        self.acknowledge_if(leave);
        SegmentReport { delivered: Bytes::ZERO, duplicate: insertion.duplicate, out_of_order: true }
    }

    /// With QUIC's rules: whether a segment that is not the next one in order, and is in the buffer, is acknowledged at once.
    fn is_reordered(&self, start: Seq) -> Option<bool> {
        let frequency = self.delayed_ack.frequency()?;
        let mss = self.endpoint.mss();
        Some(frequency.is_reordered(start, self.rcv_nxt, self.reassembly.ranges(), mss))
    }

    /// The segment is now part of a block above a gap: decides when it is reported.
    pub(super) fn on_block(
        &mut self,
        arrival: Arrival,
        insertion: &Insertion,
        segment: &Segment,
        now: Time,
    ) -> Leave {
        let displaces = insertion.first_duplicate.is_some() || self.sack.displaces_with(insertion.block);
        let reordered = self.is_reordered(segment.seq);
        let released = (self.delayed_ack.held() > 0 || reordered == Some(false)) && displaces;
        if released {
            self.acknowledge(); // else a block that was held back might never be reported
        }
        self.sack.on_block(insertion.block);
        if insertion.first_duplicate.is_none() && self.sack.is_enabled() {
            if released && !arrival.news.is_urgent() {
                // The ACK that has left took the request of this segment's with it.
                self.delayed_ack.on_arrival(arrival);
                return Leave::Later;
            }
            let connection = connection(&self.segment_size, &self.window, &self.handshake);
            return match reordered {
                Some(reordered) => self.delayed_ack.on_quic(arrival, reordered, &connection, now),
                None => self.delayed_ack.on_out_of_order(arrival, self.rcv_nxt, &connection, now),
            };
        }
        self.stats.duplicates +=
            if insertion.duplicate == segment.len() { u64::from(segment.packets) } else { 0 };
        if let Some(duplicate) = insertion.first_duplicate {
            self.sack.on_duplicate(duplicate);
        }
        self.delayed_ack.on_arrival(arrival);
        Leave::AtOnce
    }
}
