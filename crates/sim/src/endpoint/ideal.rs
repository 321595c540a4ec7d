//! The loss-free endpoints of "Multiplicative Decrease Scaling" as halves of a flow.

#![expect(
    clippy::inline_always,
    reason = "compiled once for each transport; a `match` at each call cost loss-free endpoints 10 % more instructions"
)]

use windtunnel_cc::ExitReason;
use windtunnel_tcp::AckReport;
use windtunnel_tcp::ideal::{Receiver, Sender};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use super::{Arrival, Exchange, Feedback, Hidden, Pair, ReceiverHalf, SenderHalf, SenderState};

/// What an ACK told the sender.
#[inline(always)]
fn feedback(sender: &Sender, report: AckReport) -> Feedback {
    Feedback { rtt: report.rtt, ece: report.ece, esce: report.esce, cwnd_limited: sender.cwnd_limited() }
}

/// The receiver takes a segment that it acknowledges at once, and the sender hears of it without a packet in between.
#[inline(always)]
pub(super) fn exchange<'a>(
    halves: &'a mut Pair<Sender, Receiver>,
    segment: &Packet,
    now: Time,
) -> Option<Exchange<'a, Sender>> {
    let Pair { sender, receiver } = halves;
    let ack = receiver.answer(segment, now)?;
    let arrival = Arrival { delivered: segment.payload(), understands_sce: receiver.echoes_sce() };
    let report = sender.hear(ack, now);
    let feedback = feedback(sender, report);
    Some(Exchange { sender, arrival, feedback })
}

impl SenderHalf for Sender {
    fn start(&mut self, _now: Time) {
        self.set_active(true);
    }

    fn stop(&mut self) {
        self.set_active(false);
    }

    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Feedback {
        let report = self.on_ack(packet, now);
        feedback(self, report)
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.poll_transmit(now)
    }

    #[inline(always)]
    fn may_send(&self) -> bool {
        Sender::may_send(self)
    }

    #[inline(always)]
    fn next_timer(&self) -> Time {
        Sender::next_timer(self).unwrap_or(Time::NEVER)
    }

    /// The end of pacing's wait.
    #[inline(always)]
    fn on_timer(&mut self, _now: Time) -> bool {
        Sender::on_timer(self);
        false
    }

    #[inline(always)]
    fn observe(&self) -> SenderState {
        SenderState {
            cwnd: Some(self.cwnd()),
            in_flight: self.in_flight(),
            srtt: self.srtt(),
            cwnd_limited: self.cwnd_limited(),
        }
    }

    fn in_slow_start(&self) -> bool {
        Sender::in_slow_start(self)
    }

    fn slow_start_exit(&self) -> Option<ExitReason> {
        Sender::slow_start_exit(self)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        Sender::probe(self, out);
    }

    fn hidden(&self) -> Option<Hidden> {
        Some(Hidden {
            cwnd: self.cwnd(),
            ssthresh: self.control().ssthresh,
            srtt: self.srtt(),
            state: 0,
            limit: 0,
            in_flight: self.in_flight(),
        })
    }
}

impl ReceiverHalf for Receiver {
    #[inline(always)]
    fn on_packet(&mut self, packet: &Packet, now: Time) -> Arrival {
        self.on_segment(packet, now);
        Arrival { delivered: packet.payload(), understands_sce: self.echoes_sce() }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Option<Packet> {
        self.poll_ack(now)
    }

    #[inline(always)]
    fn next_timer(&self) -> Time {
        Receiver::next_timer(self).unwrap_or(Time::NEVER)
    }

    fn on_timer(&mut self, now: Time) -> Bytes {
        Receiver::on_timer(self, now);
        Bytes::ZERO
    }

    fn has_timer(&self) -> bool {
        self.delays()
    }

    /// When the network is empty, no timer may be pending: this is how a stall is detected.
    #[inline(always)]
    fn withdraws_timer(&self) -> bool {
        true
    }
}
