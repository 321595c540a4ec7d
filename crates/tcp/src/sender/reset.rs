//! The reset of a connection by its sender (RFC 9293 section 3.10.7).
//!
//! It gives up everything that it has not sent or that is not acknowledged, sends one RST, and hears nothing any more.

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{Packet, TcpFlags};

use super::Sender;
use super::rto::Timer;

impl Sender {
    /// Ends the connection; the RST leaves with the next packet polled.
    #[cold]
    pub(super) fn reset(&mut self) {
        self.unsent = Bytes::ZERO;
        self.buffer = None;
        self.forced = None;
        self.jitter = None;
        self.timer = Timer::idle();
        self.wake = Time::NEVER;
        self.board.abandon();
        self.close.write_no_more();
        self.handshake.reset();
    }

    /// The sender has reset the connection.
    pub fn is_reset(&self) -> bool {
        self.handshake.is_reset()
    }

    /// The RST, once.
    pub(super) fn poll_reset(&mut self, now: Time) -> Option<Packet> {
        if !self.handshake.take_reset() {
            return None;
        }
        self.ack_enters_host();
        let mut packet = self.packet(self.endpoint.headers, Bytes::ZERO, now);
        packet.seq = self.board.nxt();
        packet.flags = TcpFlags::RST | TcpFlags::ACK;
        Some(packet)
    }
}
