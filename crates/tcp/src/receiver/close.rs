//! The end of a connection, on the side whose peer closes first.
//!
//! RFC 9293 sections 3.6 and 3.10.7.4. The application reads at once, finds the end of the stream, and closes too:
//! CLOSE-WAIT takes no time, and the FIN that answers carries the ACK. In LAST-ACK it is repeated until it is
//! acknowledged, by Linux's timers of a segment that is alone in flight: a loss probe, then the retransmission timeout
//! with its back-off (RFC 8985 section 7.2, RFC 6298 section 5). Compared with recordings of Linux's receiver
//! (`tests/tcp/linux_receiver.rs`).

use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::TcpFlags;

use super::segment::Segment;
use super::stats::SegmentReport;
use super::{Arrival, Receiver, connection};
use crate::connection::ConnectionState;

/// The longest timeout (Linux `TCP_RTO_MAX`).
const RTO_MAX: Duration = Duration::from_secs(120);
/// What a loss probe allows for a delayed ACK (Linux `tcp_rto_min`).
const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    LastAck,
    Closed,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Close {
    stage: Stage,
    /// The sequence number of the peer's FIN, once it has arrived.
    fin: Option<Seq>,
    /// SND.NXT.
    snd_nxt: Seq,
    /// When its own FIN is sent again, and how often the timeout has been doubled.
    due: Time,
    doublings: u32,
    /// The next expiry is that of a loss probe.
    probes: bool,
}

impl Close {
    pub(super) fn new() -> Close {
        Close {
            stage: Stage::Open,
            fin: None,
            snd_nxt: Seq::FIRST_DATA,
            due: Time::NEVER,
            doublings: 0,
            probes: false,
        }
    }

    /// When its own FIN is sent again.
    #[inline]
    pub(super) const fn due(&self) -> Time {
        self.due
    }

    #[inline]
    pub(super) const fn snd_nxt(&self) -> Seq {
        self.snd_nxt
    }

    /// A packet that acknowledges everything below `ack` arrived.
    pub(super) fn on_ack(&mut self, ack: Seq) {
        if self.stage == Stage::LastAck && ack > Seq::FIRST_DATA {
            self.stage = Stage::Closed;
            self.due = Time::NEVER;
        }
    }

    fn fin_sent(&mut self, rtt: Option<Duration>, rto: Duration, probes: bool, now: Time) {
        self.stage = Stage::LastAck;
        self.snd_nxt = Seq::FIRST_DATA + Bytes::new(1);
        self.probes = probes && rtt.is_some();
        let probe = rtt.map_or(rto, |rtt| rtt * 2 + MAX_ACK_DELAY);
        self.due = now + if self.probes { probe.min(rto) } else { rto };
    }

    fn expired(&mut self, rto: Duration, now: Time) {
        if !std::mem::take(&mut self.probes) {
            self.doublings = (self.doublings + 1).min(16);
        }
        self.due = now + (rto * (1 << self.doublings)).min(RTO_MAX);
    }
}

impl Receiver {
    /// The state of the connection. CLOSE-WAIT is not among them, because it takes no time.
    pub fn connection_state(&self) -> ConnectionState {
        match self.close.stage {
            _ if self.rcv_nxt == Seq::SYN => ConnectionState::Listen,
            _ if self.handshake.is_open() => ConnectionState::SynReceived,
            Stage::Open => ConnectionState::Established,
            Stage::LastAck => ConnectionState::LastAck,
            Stage::Closed => ConnectionState::Closed,
        }
    }

    /// The peer's FIN has arrived, and everything before it.
    pub fn is_at_end(&self) -> bool {
        self.close.stage != Stage::Open
    }

    /// It does not wait for the ACK of its own FIN.
    pub fn is_done(&self) -> bool {
        self.close.stage != Stage::LastAck
    }

    /// The sender has reset the connection: nothing is owed any more, and an attack is over.
    pub(super) fn on_reset(&mut self) {
        self.close.stage = Stage::Closed;
        self.close.due = Time::NEVER;
        self.attack = None;
        self.due.clear();
        self.delayed_ack.on_ack_sent();
    }

    /// The next segment ends the stream, and nothing is missing.
    pub(super) fn receive_fin(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        let data = segment.without_fin();
        let arrival = self.accept_before_fin(&data, now);
        self.close.fin = Some(data.end);
        let delivered = self.deliver_with_fin(segment.end);
        let unacked = segment.end - self.timestamps.last_ack_sent();
        let connection = connection(&self.segment_size, &self.window, &self.handshake);
        let leave = self.delayed_ack.on_fin(arrival, unacked, &connection, now);
        self.acknowledge_if(leave);
        self.close_if_at_end(now);
        SegmentReport { delivered, ..SegmentReport::default() }
    }

    /// The data that come with a FIN; none if it is alone.
    fn accept_before_fin(&mut self, data: &Segment, now: Time) -> Option<Arrival> {
        if data.len() == Bytes::ZERO {
            self.timestamps.on_segment(data.seq, data.ts_val);
            self.feedback.on_pure_ack(data);
            return None;
        }
        let arrival = self.accept(data);
        Some(self.buffer_in_order(arrival, data, now))
    }

    /// A FIN arrived above a gap.
    pub(super) fn note_fin(&mut self, segment: &Segment) {
        if segment.has_fin() {
            self.close.fin = Some(segment.without_fin().end);
        }
    }

    /// Everything below `end` has arrived, perhaps the FIN as well, which is no data.
    pub(super) fn deliver_with_fin(&mut self, end: Seq) -> Bytes {
        let fin = self.close.fin.filter(|fin| *fin < end);
        let delivered = self.deliver(fin.unwrap_or(end));
        self.rcv_nxt = end;
        delivered
    }

    /// If the stream has ended, the application reads the rest and closes; its FIN acknowledges everything. True if so.
    pub(super) fn close_if_at_end(&mut self, now: Time) -> bool {
        if self.close.stage != Stage::Open || self.close.fin.is_none_or(|fin| fin >= self.rcv_nxt) {
            return false;
        }
        if let Some(buffer) = &mut self.buffer {
            buffer.on_read(self.rcv_nxt, self.rcv_nxt, Bytes::ZERO, now);
        }
        self.answer(Seq::FIRST_DATA, TcpFlags::FIN);
        let probes = self.probes_losses && self.sack.is_enabled();
        self.close.fin_sent(self.handshake.rtt(), self.handshake.rto(), probes, now);
        true
    }

    /// Its own FIN was not acknowledged in time.
    pub(super) fn repeat_fin(&mut self, now: Time) {
        self.close.expired(self.handshake.rto(), now);
        self.answer(Seq::FIRST_DATA, TcpFlags::FIN);
    }
}
