//! The end of a connection, on the side that closes first.
//!
//! RFC 9293 sections 3.6 and 3.10.4; Linux `tcp_send_fin`, compared with recordings of its sender. When the application
//! closes, a FIN rides on the last segment if data still wait, and leaves alone otherwise. It consumes one sequence
//! number and is a segment like any other: cwnd and the receive window hold it back (Linux once let the last FIN pass
//! a full cwnd; 6.18 does not), and RACK, the loss probe and the timer repair it. The peer's FIN, which comes after all
//! data are acknowledged, is acknowledged at once, and again if it comes again: TIME-WAIT, whose timer has nothing to
//! protect here, because no other connection has the same ports.

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Packet, TcpFlags};

use super::Sender;
use super::limits::Limited;
use super::transmit::Forced;
use crate::connection::ConnectionState;

/// The FIN that ends the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Fin {
    /// The application has not closed.
    #[default]
    None,
    /// It leaves with the last data, or alone if there are none.
    Waits,
    Sent,
}

/// How far the connection is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Close {
    fin: Fin,
    /// The next sequence number expected from the peer, whose stream is empty.
    rcv_nxt: Seq,
}

impl Close {
    pub(crate) fn new() -> Close {
        Close { fin: Fin::None, rcv_nxt: Seq::FIRST_DATA }
    }

    /// RCV.NXT.
    #[inline]
    pub(crate) const fn rcv_nxt(&self) -> Seq {
        self.rcv_nxt
    }

    /// Nothing that the application writes from now on is taken.
    pub(crate) fn write_no_more(&mut self) {
        self.fin = Fin::Sent;
    }

    const fn peer_closed(&self) -> bool {
        self.rcv_nxt.get() > Seq::FIRST_DATA.get()
    }
}

impl Sender {
    /// The application closes: it writes no more, and everything written so far is still delivered. What it writes
    /// afterwards is ignored.
    pub fn close(&mut self) {
        if self.close.fin == Fin::None {
            self.close.fin = Fin::Waits;
        }
    }

    /// The application has closed.
    pub fn has_closed(&self) -> bool {
        self.close.fin != Fin::None
    }

    /// The state of the connection.
    pub fn connection_state(&self) -> ConnectionState {
        if !self.handshake.established() {
            return self.handshake.state();
        }
        let acknowledged = self.close.fin == Fin::Sent && self.board.is_empty();
        match (self.close.fin, acknowledged, self.close.peer_closed()) {
            (Fin::None, ..) => ConnectionState::Established,
            (_, false, false) => ConnectionState::FinWait1,
            (_, true, false) => ConnectionState::FinWait2,
            (_, false, true) => ConnectionState::Closing,
            (_, true, true) => ConnectionState::TimeWait,
        }
    }

    /// A FIN is still to be sent.
    pub(super) fn fin_waits(&self) -> bool {
        self.close.fin == Fin::Waits
    }

    /// No data are left: the next segment is a FIN without payload, if there is to be one.
    #[cold]
    pub(super) fn lone_fin(&self) -> Result<Bytes, Limited> {
        if self.is_writing() {
            Err(Limited::SendBuffer)
        } else if !self.fin_waits() {
            Err(Limited::Application)
        } else if self.board.nxt() < self.window_end {
            Ok(Bytes::ZERO)
        } else {
            Err(Limited::Receiver)
        }
    }

    /// If `packet` carries the last data, a FIN that waits rides on it, provided that the receive window has room.
    #[cold]
    pub(super) fn ride_fin(&mut self, packet: &mut Packet) {
        if self.unsent == Bytes::ZERO && self.fin_waits() && self.board.nxt() < self.window_end {
            self.close.fin = Fin::Sent;
            self.board.end_stream();
            packet.flags |= TcpFlags::FIN;
        }
    }

    /// Sends a FIN without data. By RFC 3168 it is not ECN-capable (section 6.1: only data packets are).
    #[cold]
    pub(super) fn send_lone_fin(&mut self, now: Time) -> Packet {
        let (seq, first) = (self.board.nxt(), self.board.is_empty());
        let snapshot = self.rate.on_sent(now, Bytes::ZERO, self.board.in_flight().bytes);
        self.board.on_lone_fin_sent(now, snapshot);
        self.close.fin = Fin::Sent;
        self.sent_since_pause = true;
        let mut packet = self.packet(self.endpoint.headers, Bytes::ZERO, now);
        packet.seq = seq;
        packet.flags = TcpFlags::ACK | TcpFlags::FIN;
        self.ecn.stamp_again(&mut packet);
        self.departed(seq, Bytes::ZERO, false, now);
        self.start_timer_for_new_data(first, now);
        packet
    }

    /// The peer's FIN arrived; it may have arrived before.
    #[cold]
    pub(super) fn on_fin(&mut self, packet: &Packet) {
        self.close.rcv_nxt = packet.seq + Bytes::new(1);
        if self.forced.is_none() {
            self.forced = Some(Forced::PureAck);
        }
    }

    /// The peer's packet was marked: perhaps that is to be reported.
    #[cold]
    pub(super) fn on_marked_ack(&mut self) {
        let silent = self.board.is_empty() && self.unsent == Bytes::ZERO;
        if self.forced.is_none() && self.ecn.owes_ack(silent) {
            self.forced = Some(Forced::PureAck);
        }
    }

    /// A packet without data: the ACK of the peer's FIN.
    pub(super) fn pure_ack(&mut self, now: Time) -> Packet {
        self.pure_ack_with(Bytes::ZERO, now)
    }

    /// The same, with room for options.
    pub(super) fn pure_ack_with(&mut self, options: Bytes, now: Time) -> Packet {
        let mut packet = self.packet(self.endpoint.headers + options, Bytes::ZERO, now);
        packet.seq = self.board.nxt();
        packet.flags = TcpFlags::ACK;
        self.ecn.stamp_pure_ack(&mut packet);
        packet
    }
}
