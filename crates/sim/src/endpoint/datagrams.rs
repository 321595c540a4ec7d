//! Flows of datagrams: the application's own packets, without a transport's window or retransmissions.

use windtunnel_units::{Bytes, Rate, Time};
use windtunnel_wire::Packet;

use super::{Arrival, Counters, Feedback, Reading, Receipt, ReceiverHalf, SenderHalf, SenderState};
use crate::application::{DatagramReceiver, DatagramSender};

impl SenderHalf for DatagramSender {
    fn start(&mut self, now: Time) {
        DatagramSender::start(self, now);
    }

    fn stop(&mut self) {
        DatagramSender::stop(self);
    }

    fn set_rate(&mut self, rate: Rate, now: Time) {
        DatagramSender::set_rate(self, rate, now);
    }

    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        Feedback { rtt: Some(self.on_answer(packet, now)), ..Feedback::default() }
    }

    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.poll_transmit(now)
    }

    fn next_timer(&self) -> Time {
        DatagramSender::next_timer(self)
    }

    /// A datagram is due: it is polled.
    fn on_timer(&mut self, _now: Time) -> bool {
        false
    }

    fn observe(&self) -> SenderState {
        SenderState::default()
    }

    /// When the flow starts again, the rest of an earlier start does not matter.
    fn withdraws_timer(&self) -> bool {
        true
    }

    fn reading(&self) -> Reading {
        Reading { counters: Counters { sent: self.sent(), ..Counters::default() }, info: None }
    }
}

impl ReceiverHalf for DatagramReceiver {
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        let is_new = self.receive(packet, now);
        let delivered = if is_new { packet.payload() } else { Bytes::ZERO };
        Arrival { delivered, understands_sce: false }
    }

    fn receipt(&mut self) -> Option<Receipt> {
        self.take_receipt()
    }

    fn poll(&mut self, _now: Time) -> Option<Packet> {
        self.poll_answer()
    }

    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    fn on_timer(&mut self, _now: Time) -> Bytes {
        Bytes::ZERO
    }

    fn has_timer(&self) -> bool {
        false
    }
}
