//! The receiver: acknowledges and echoes congestion signals.
//!
//! Its echo is that of the MDS document: each mark, CE or SCE, is echoed by the ACK of the segments that carried it, once.
//! The schemes of `receiver/feedback/` cannot take its place: they latch CE until the sender answers with CWR (RFC 3168),
//! which a sender of the ideal profile never does because no ACK is lost, or count it (RFC 9768).

use windtunnel_units::{Duration, Seq, Time};
use windtunnel_wire::{Ecn, FlowId, Packet, TcpFlags};

use super::Ack;
use crate::ack_policy::{AckParams, AckPolicy};
use crate::config::Endpoint;
use crate::receiver::hiding::Hiding;

/// The congestion mark of a segment, as an ACK echoes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mark {
    #[default]
    None,
    Sce,
    Ce,
}

/// Segments that no ACK has acknowledged yet. All carry the same mark.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    segments: u32,
    mark: Mark,
    /// The timestamp to echo: the earliest pending segment's (RFC 7323 section 4.2).
    ts: Time,
    deadline: Time,
}

/// One ACK that is due to leave.
#[derive(Clone, Copy, Debug, Default)]
struct Due {
    ack: Seq,
    ts: Time,
    mark: Mark,
    syn: bool,
}

/// A receiver of the ideal profile: segments arrive in order and none is lost.
#[derive(Debug)]
pub struct Receiver {
    rcv_nxt: Seq,
    hiding: Option<Box<Hiding>>,
    flow: FlowId,
    policy: AckPolicy,
    /// The code point of the data, as it was sent.
    ecn: Ecn,
    hears_sce: bool,
    due_len: u8,
    /// At most two ACKs fall due at once: one for the pending segments, and one for the segment that changed the
    /// state.
    due: [Due; 2],
    pending: Pending,
    /// The segments that one ACK acknowledges, and how long it waits for them.
    count: u32,
    delay: Duration,
}

impl Receiver {
    /// A receiver for `endpoint` that acknowledges as `params` says.
    pub fn new(endpoint: Endpoint, params: AckParams) -> Receiver {
        Receiver {
            flow: endpoint.flow,
            ecn: endpoint.ecn,
            hears_sce: endpoint.feedback.hears_sce(),
            policy: params.policy,
            count: params.count,
            delay: params.delay,
            hiding: Hiding::new(&params),
            rcv_nxt: Seq::SYN,
            pending: Pending::default(),
            due: [Due::default(); 2],
            due_len: 0,
        }
    }

    /// True if it echoes SCE: MDS was negotiated.
    #[inline]
    pub const fn echoes_sce(&self) -> bool {
        self.hears_sce
    }

    /// The next byte expected.
    pub const fn rcv_nxt(&self) -> Seq {
        self.rcv_nxt
    }

    /// A segment arrived.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub fn on_segment(&mut self, packet: &Packet, now: Time) {
        if packet.flags.contains(TcpFlags::SYN) {
            self.rcv_nxt = Seq::FIRST_DATA;
            // A queue counts a mark on a SYN, but nothing answers it (RFC 3168 section 6.1.1).
            return self.due(Due { ack: Seq::FIRST_DATA, ts: packet.ts_val, mark: Mark::None, syn: true });
        }
        let mark = self.mark_of(packet);
        if self.policy == AckPolicy::Immediate {
            self.rcv_nxt = packet.seq + packet.payload();
            return self.due(Due { ack: self.rcv_nxt, ts: packet.ts_val, mark, syn: false });
        }
        let changed = self.pending.segments > 0 && self.pending.mark != mark;
        if changed {
            self.acknowledge();
        }
        self.rcv_nxt = packet.seq + packet.payload();
        if self.pending.segments == 0 {
            self.pending = Pending { segments: 0, mark, ts: packet.ts_val, deadline: now + self.delay };
        }
        self.pending.segments += 1;
        let at_once = match self.policy {
            AckPolicy::QuickSignal => mark != Mark::None,
            AckPolicy::StateChange
            | AckPolicy::Immediate
            | AckPolicy::Dithered
            | AckPolicy::Every
            | AckPolicy::Linux
            | AckPolicy::Quic => changed,
        };
        if at_once || self.pending.segments >= self.count {
            self.acknowledge();
        }
    }

    /// A segment arrived: what its ACK says, if nothing but this segment is acknowledged, and at once. Otherwise nothing
    /// has happened yet ([`Receiver::on_segment`]).
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    pub fn answer(&mut self, packet: &Packet, now: Time) -> Option<Ack> {
        if self.policy != AckPolicy::Immediate || self.due_len > 0 || packet.flags.contains(TcpFlags::SYN) {
            return None;
        }
        let flags = match self.mark_of(packet) {
            Mark::None => TcpFlags::ACK,
            Mark::Sce => TcpFlags::ACK | TcpFlags::AE,
            Mark::Ce => TcpFlags::ACK | TcpFlags::ECE,
        };
        self.rcv_nxt = packet.seq + packet.payload();
        Some(Ack { ack: self.rcv_nxt, ts_val: now, ts_ecr: packet.ts_val, flags })
    }

    /// True if it may delay ACKs: a receiver that never does has no timer.
    #[inline]
    pub const fn delays(&self) -> bool {
        !matches!(self.policy, AckPolicy::Immediate)
    }

    /// When [`Receiver::on_timer`] wants to be called.
    pub const fn next_timer(&self) -> Option<Time> {
        if self.delays() && self.pending.segments > 0 { Some(self.pending.deadline) } else { None }
    }

    /// The delayed ACK is due.
    pub fn on_timer(&mut self, now: Time) {
        if self.pending.segments > 0 && now >= self.pending.deadline {
            self.acknowledge();
        }
    }

    /// The next ACK to send; call until there is none.
    pub fn poll_ack(&mut self, now: Time) -> Option<Packet> {
        if self.due_len == 0 {
            return None;
        }
        let due = self.due[0];
        self.due_len -= 1;
        if self.due_len > 0 {
            self.due[0] = self.due[1];
        }
        let flags = TcpFlags::ACK
            .with_if(TcpFlags::SYN, due.syn)
            .with_if(TcpFlags::ECE, due.mark == Mark::Ce)
            .with_if(TcpFlags::AE, due.mark == Mark::Sce);
        Some(Ack { ack: due.ack, ts_val: now, ts_ecr: due.ts, flags }.packet(self.flow))
    }

    /// Acknowledges everything that is pending.
    fn acknowledge(&mut self) {
        self.due(Due { ack: self.rcv_nxt, ts: self.pending.ts, mark: self.pending.mark, syn: false });
        self.pending.segments = 0;
    }

    #[inline]
    fn due(&mut self, due: Due) {
        self.due[usize::from(self.due_len)] = due;
        self.due_len += 1;
    }

    /// SCE is echoed only where MDS was negotiated; elsewhere ECT(1) is just ECT.
    #[expect(clippy::inline_always, reason = "on the path of every packet")]
    #[inline(always)]
    fn mark_of(&mut self, packet: &Packet) -> Mark {
        let ecn = match &mut self.hiding {
            Some(hiding) => hiding.claim(packet.ecn, self.ecn),
            None => packet.ecn,
        };
        match ecn {
            Ecn::Ce => Mark::Ce,
            Ecn::Ect1 if self.hears_sce => Mark::Sce,
            Ecn::Ect0 | Ecn::Ect1 | Ecn::NotEct => Mark::None,
        }
    }
}
