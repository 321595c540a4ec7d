//! The choice of the next segment, and its sending (step 10 of spec/congestion-control section 1.1): retransmissions
//! first, then new data.

use windtunnel_cc::{CaState, SentSegment};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{AckRate, Packet, TcpFlags};

use super::Sender;
use super::detection::Detector;
use super::frto::Frto;
use super::limits::Limited;
use super::rfc6675::NextSeg;
use super::rto::TimerKind;
use super::scoreboard::{QueuedSegment, SegmentId};
use crate::params::Inflation;

/// A segment that leaves regardless of cwnd and pacing: its timer expired, or a recovery starts with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The head again, after a timeout or in fast recovery.
    Head,
    LossProbe,
    /// The segment that a skip left out.
    Withheld,
    WindowProbe,
    /// The answer to a SYN/ACK.
    HandshakeAck,
    /// A packet without data: the answer to a FIN, or a report of marks.
    PureAck,
    /// A packet without data that asks for an ACK rate.
    AckRequest,
    /// A packet without data that asks for an ACK at once.
    AckAtOnce,
}

/// The next segment.
#[derive(Clone, Copy, Debug)]
enum Next {
    New(Bytes),
    Retransmission(SegmentId),
    /// The segment that RFC 6675's `NextSeg()` names.
    Named(NextSeg, SegmentId),
}

impl Sender {
    /// The next packet to send, if one may leave now; call until there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Time) -> Option<Packet> {
        match self.sends_on() {
            Some(true) => Some(self.send_segment(self.mss, now)),
            Some(false) => self.pause(Limited::Cwnd, now),
            None => self.poll_any(now),
        }
    }

    /// The long way of the same.
    fn poll_any(&mut self, now: Time) -> Option<Packet> {
        if !self.handshake.established() {
            return self.poll_syn(now);
        }
        if let Some(forced) = self.forced.take()
            && let Some(packet) = self.send_forced(forced, now)
        {
            return Some(packet);
        }
        if let Some(until) = self.jitter.as_ref().and_then(|jitter| jitter.waits(now)) {
            self.wake = until;
            return None;
        }
        if self.board.is_empty() && self.unsent > Bytes::ZERO && self.idle {
            self.idle = false;
            self.begin_flight(now);
        }
        if self.skip.is_some() {
            self.consider_skip(now);
        }
        let next = match self.next() {
            Ok(next) => next,
            Err(limit) => return self.pause(limit, now),
        };
        if !self.has_room() {
            return self.pause(Limited::Cwnd, now);
        }
        if !self.tso.goes_on() {
            if !self.pacer.ready(now) {
                return self.pause(Limited::Pacing, now);
            }
            if self.tso.is_on()
                && let Err(limit) = self.begin_burst(matches!(next, Next::New(_)), now)
            {
                return self.pause(limit, now);
            }
            if self.small_queues.is_some()
                && let Err(limit) = self.enter_host(next)
            {
                return self.pause(limit, now);
            }
        }
        match next {
            Next::New(payload) => Some(self.send_new(payload, now)),
            Next::Retransmission(id) => self.retransmit(id, now),
            Next::Named(named, id) => {
                if let Some(rfc6675) = &mut self.rfc6675 {
                    rfc6675.on_next_seg_sent(named);
                }
                self.retransmit(id, now)
            }
        }
    }

    /// The host's queue has room for the packet that `next` starts; or it is what limits the sender.
    #[cold]
    fn enter_host(&mut self, next: Next) -> Result<(), Limited> {
        match next {
            Next::New(payload) => self.check_small_queue(true, self.burst_payload(payload)),
            Next::Retransmission(id) | Next::Named(_, id) => {
                let payload = self.board.get(id).map_or(self.mss, QueuedSegment::payload);
                self.check_small_queue(false, payload)
            }
        }
    }

    /// The next segment to send, or what keeps it from being sent besides cwnd and pacing.
    #[expect(clippy::inline_always, reason = "part of the question above")]
    #[inline(always)]
    fn next(&self) -> Result<Next, Limited> {
        let new = self.new_segment();
        if self.state < CaState::Recovery || self.repairs_wait(new) {
            return new.map(Next::New);
        }
        if self.detector == Detector::Rfc6675
            && self.state == CaState::Recovery
            && let Some(rfc6675) = &self.rfc6675
        {
            return match rfc6675.next_seg(&self.board, new.is_ok()) {
                Some(named @ (NextSeg::Retransmit(id) | NextSeg::Rescue(id))) => Ok(Next::Named(named, id)),
                Some(NextSeg::New) | None => new.map(Next::New),
            };
        }
        match self.board.next_lost() {
            Some(id) => Ok(Next::Retransmission(id)),
            None => new.map(Next::New),
        }
    }

    /// No retransmissions before the next ACK. While F-RTO probes, new data leave instead, and nothing else once some
    /// did (Linux `tcp_xmit_recovery`): a retransmission would make the answer ambiguous.
    fn repairs_wait(&self, new: Result<Bytes, Limited>) -> bool {
        let probing = self.frto == Frto::Probing && (new.is_ok() || self.board.nxt() > self.high_seq);
        probing || self.only_new
    }

    /// The payload of the next new segment.
    #[inline]
    pub(super) fn new_segment(&self) -> Result<Bytes, Limited> {
        if self.unsent == Bytes::ZERO {
            return self.lone_fin();
        }
        let payload = self.mss.min(self.unsent);
        if self.board.nxt() + payload > self.window_end { self.part_of_segment() } else { Ok(payload) }
    }

    /// The window has no room for a whole segment. A part of it leaves only if it is at least half of the largest
    /// window (RFC 9293 section 3.8.6.2.1): with a window of two segments or more it never is.
    #[cold]
    fn part_of_segment(&self) -> Result<Bytes, Limited> {
        let nxt = self.board.nxt();
        let room = if self.window_end > nxt { self.window_end - nxt } else { Bytes::ZERO };
        if room > Bytes::ZERO && room * 2 >= self.largest_window { Ok(room) } else { Err(Limited::Receiver) }
    }

    /// cwnd has room for one more segment. One is always allowed, however small cwnd is: otherwise nothing would ever
    /// raise it.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        let mut in_flight = self.board.in_flight().segments;
        if self.params.inflation != Inflation::Outstanding {
            in_flight = self.in_flight_apart_from_inflation(in_flight);
        }
        if self.state == CaState::Disorder && !self.params.limited_transmit {
            // Data delivered out of order permit no new transmission before a loss is declared.
            in_flight += self.board.sacked().segments;
        }
        in_flight == 0 || self.mss * (in_flight + 1) <= self.cwnd
    }

    /// Nothing can be sent now, for this reason.
    #[inline]
    fn pause(&mut self, limit: Limited, now: Time) -> Option<Packet> {
        self.tso.end();
        self.limits.set(limit, now, &mut self.stats.limited);
        let sent = std::mem::take(&mut self.sent_since_pause);
        self.validate_cwnd(sent, limit, now);
        match limit {
            Limited::Pacing => self.wake = self.pacer.release(now).unwrap_or(Time::NEVER),
            Limited::Application | Limited::SendBuffer => self.run_dry(),
            Limited::Receiver => self.await_window(now),
            Limited::Cwnd | Limited::Handshake | Limited::Host => {}
        }
        if self.buffer.is_some() { self.go_on_writing(now) } else { None }
    }

    /// Less than a segment to send while cwnd has room, and nothing waits in the host: the next deliveries understate what
    /// the path could deliver.
    fn run_dry(&mut self) {
        let sent = self.small_queues.as_ref().is_none_or(|queues| queues.is_empty());
        if sent && self.unsent < self.mss && self.has_room() && self.board.all_lost_retransmitted() {
            self.rate.on_app_limited(self.board.in_flight().bytes);
        }
    }

    /// The receive window is closed and nothing is outstanding whose ACK would open it: probe (RFC 9293 section
    /// 3.8.6.1).
    fn await_window(&mut self, now: Time) {
        if self.board.is_empty() && !self.timer.pending(TimerKind::WindowProbe) {
            self.timer.arm(TimerKind::WindowProbe, now + self.timeout());
        }
    }

    /// Sends the segment that a timer asked for; nothing if there is nothing to send (any more).
    fn send_forced(&mut self, forced: Forced, now: Time) -> Option<Packet> {
        match forced {
            Forced::Head => self.board.head().and_then(|head| self.retransmit(head, now)),
            Forced::LossProbe => self.send_loss_probe(now),
            Forced::Withheld => self.send_withheld(now),
            Forced::WindowProbe => self.send_window_probe(now),
            Forced::HandshakeAck => {
                self.ack_enters_host();
                Some(self.handshake_ack(now))
            }
            Forced::PureAck => {
                self.ack_enters_host();
                Some(self.pure_ack(now))
            }
            Forced::AckRequest => {
                self.ack_enters_host();
                Some(self.ack_request(now))
            }
            Forced::AckAtOnce => {
                self.ack_enters_host();
                Some(self.asking(AckRate::AT_ONCE, now))
            }
        }
    }

    fn send_loss_probe(&mut self, now: Time) -> Option<Packet> {
        let (packet, again) = match self.new_segment() {
            Ok(payload) => (self.send_new(payload, now), false),
            Err(_) => (self.board.last().and_then(|last| self.probe_with(last, now))?, true),
        };
        self.tlp.sent(self.board.nxt(), again);
        if self.ack_requests.is_some() {
            self.forced = Some(Forced::AckAtOnce);
        }
        self.stats.tlps += 1;
        self.timer.arm(TimerKind::Retransmission, now + self.timeout());
        Some(packet)
    }

    /// A probe carries data, so that it passes a window that is too small only for the header's scaled field.
    fn send_window_probe(&mut self, now: Time) -> Option<Packet> {
        if self.new_segment() != Err(Limited::Receiver) || !self.board.is_empty() {
            return None;
        }
        let payload = self.mss.min(self.unsent).min(self.params.receive_window.max(Bytes::new(1)));
        self.stats.window_probes += 1;
        let mut packet = self.send_new(payload, now);
        self.ecn.stamp_probe(&mut packet);
        Some(packet)
    }

    fn send_new(&mut self, payload: Bytes, now: Time) -> Packet {
        if payload == Bytes::ZERO {
            return self.send_lone_fin(now);
        }
        self.send_segment(payload, now)
    }

    /// Sends a segment of new data.
    #[expect(clippy::inline_always, reason = "compiled for each way of a segment, which is written once")]
    #[inline(always)]
    fn send_segment(&mut self, payload: Bytes, now: Time) -> Packet {
        let seq = self.board.nxt();
        let first = self.board.is_empty();
        let snapshot = self.rate.on_sent(now, payload, self.board.in_flight().bytes);
        self.board.on_sent(seq, payload, now, snapshot);
        if self.unsent != Bytes::MAX {
            self.unsent -= payload;
        }
        self.sent_since_pause = true;
        let mut packet = self.packet(self.endpoint.headers, payload, now);
        packet.seq = seq;
        packet.flags = TcpFlags::ACK;
        if self.unsent == Bytes::ZERO || self.push.is_due(seq + payload) {
            self.push(&mut packet);
            self.ride_fin(&mut packet);
        }
        self.ecn.stamp(&mut packet);
        self.departed(seq, payload, false, now);
        self.start_timer_for_new_data(first, now);
        packet
    }

    /// Sends a segment again; nothing if it was delivered meanwhile.
    fn retransmit(&mut self, id: SegmentId, now: Time) -> Option<Packet> {
        let segment = *self.board.get(id).filter(|segment| !segment.is_sacked())?;
        let snapshot = self.rate.on_sent(now, segment.payload(), self.board.in_flight().bytes);
        self.board.on_retransmitted(id, now, snapshot);
        self.undo.on_retransmitted(now);
        let packet = self.repeat(&segment, now);
        if self.board.head() == Some(id) && !self.timer.pending(TimerKind::Reordering) {
            self.timer.arm(TimerKind::Retransmission, now + self.timeout());
        }
        Some(packet)
    }

    /// Sends a segment again that may not be lost.
    fn probe_with(&mut self, id: SegmentId, now: Time) -> Option<Packet> {
        let segment = *self.board.get(id).filter(|segment| !segment.is_sacked())?;
        let snapshot = self.rate.on_sent(now, segment.payload(), self.board.in_flight().bytes);
        self.board.on_probed(id, now, snapshot);
        Some(self.repeat(&segment, now))
    }

    /// The packet of a segment that was sent before.
    fn repeat(&mut self, segment: &QueuedSegment, now: Time) -> Packet {
        let (seq, payload) = (segment.seq(), segment.payload());
        if let Some(pipe) = &mut self.validation.pipe_ack {
            pipe.on_retransmitted(payload);
        }
        let mut packet = self.packet(self.endpoint.headers, payload, now);
        packet.seq = seq;
        packet.flags = TcpFlags::ACK
            .with_if(TcpFlags::PSH, segment.is_pushed())
            .with_if(TcpFlags::FIN, segment.ends_stream());
        self.ecn.stamp_again(&mut packet);
        if payload == Bytes::ZERO {
            self.stats.control_retransmits += 1;
        } else {
            self.stats.retransmits += 1;
        }
        self.departed(seq, payload, true, now);
        packet
    }

    /// The steps common to all departures of data.
    #[expect(clippy::inline_always, reason = "part of the path of every packet: 15 instructions of its own")]
    #[inline(always)]
    pub(super) fn departed(&mut self, seq: Seq, payload: Bytes, retransmission: bool, now: Time) {
        self.last_sent = now;
        self.idle = true;
        self.stats.segments_sent += u64::from(payload > Bytes::ZERO);
        if self.state.is_reducing() {
            self.prr.on_sent();
        }
        let burst = self.tso.sent();
        self.pacer.sent(payload, now, burst);
        if self.small_queues.is_some() {
            self.enters_host(seq, payload, burst.is_some(), retransmission);
        }
        if self.needs.departures {
            let path = self.path(now);
            self.cc.on_sent(&SentSegment { seq, payload, retransmission }, &path);
            if self.needs.own_window {
                self.cwnd = self.cc.cwnd();
            }
            self.update_own_rate();
        }
    }

    /// A packet with this many bytes of headers and payload, and the flow's header fields.
    #[inline]
    pub(super) fn packet(&self, headers: Bytes, payload: Bytes, now: Time) -> Packet {
        let mut packet = Packet::new(self.endpoint.flow, headers + payload, payload);
        packet.ack = self.close.rcv_nxt();
        packet.ts_val = now;
        packet.ts_ecr = self.ts_recent;
        packet.dscp = self.ecn.dscp();
        packet
    }
}
