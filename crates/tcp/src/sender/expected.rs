//! The short ways of the ACK that nearly every ACK is, and of the segment that nearly every segment is (header prediction;
//! Jacobson, "4BSD TCP header prediction", 1990).
//!
//! The ACK acknowledges new data, has no flag and no option but the timestamp, and nothing is amiss: no segment is SACKed,
//! lost, or was sent more than once, and no probe is out. So the segments that it delivers have left in turn, and the
//! first and the last of them tell all that is to be known. What then follows is [`Sender::conclude`], as for any other
//! ACK. The segment is new, full, and not the last one; cwnd and the receive window have room for it, and nothing else
//! has a say in when it leaves. The long ways give the same results, and are those of a connection that uses more
//! (docs/decisions/0050-capabilities.md).

use windtunnel_cc::CaState;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::Sender;
use super::ack::Ack;
use super::detection::Detector;
use crate::params::Inflation;

/// What may take a short way on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Predicted {
    /// ACKs: nothing looks at each of them.
    acks: bool,
    /// Departures: they are neither paced nor delayed by the host, and the controller is not told of them.
    departures: bool,
}

impl Predicted {
    /// Nothing.
    pub(super) const NONE: Predicted = Predicted { acks: false, departures: false };
}

impl Sender {
    /// What may take a short way on this connection.
    pub(super) fn predicted(&self) -> Predicted {
        let (acks, departures) = (self.predicts_acks(), self.predicts_departures());
        Predicted { acks, departures }
    }

    fn predicts_departures(&self) -> bool {
        self.params.inflation == Inflation::Outstanding
            && !self.pacer.on()
            && !self.tso.is_on()
            && !self.needs.departures
            && self.small_queues.is_none()
            && self.skip.is_none()
            && self.jitter.is_none()
    }

    fn predicts_acks(&self) -> bool {
        self.detector == Detector::Rack
            && self.params.sack
            && !self.params.count_acks
            && !self.needs.delivery_reports
            && !self.needs.own_reductions
            && !self.needs.one_way
            && self.validation.pipe_ack.is_none()
            && self.skip.is_none()
            && self.ack_requests.is_none()
            && self.jitter.is_none()
    }

    /// Everything takes the long way from now on.
    pub fn take_the_long_way(&mut self) {
        self.predicted = Predicted::NONE;
    }

    /// The next segment is the one that nearly every segment is: whether cwnd lets it leave.
    #[inline]
    pub(super) fn sends_on(&self) -> Option<bool> {
        let end = self.board.nxt() + self.mss;
        let in_flight = self.board.in_flight().segments;
        let usual = self.predicted.departures
            && self.state == CaState::Open
            && self.forced.is_none()
            && self.unsent > self.mss
            && end <= self.window_end
            && !self.board.is_empty()
            && self.handshake.established()
            && !self.push.is_due(end);
        usual.then(|| in_flight == 0 || self.mss * (in_flight + 1) <= self.cwnd)
    }

    /// The packet is the ACK that nearly every ACK is.
    #[inline]
    pub(super) fn expects(&self, packet: &Packet) -> bool {
        self.predicted.acks
            && packet.flags.bits() == TcpFlags::ACK.bits()
            && !packet.has_extras()
            && packet.ack > self.board.una()
            && packet.ack <= self.board.nxt()
            && packet.ts_val >= self.ts_recent
            && self.state == CaState::Open
            && self.handshake.established()
            && self.nothing_amiss()
            && self.board.left_in_turn()
            && self.reordering.is_below(self.board.una())
            && self.tlp.is_idle()
            && self.ecn.hears_flags_alone()
            && packet.ecn != Ecn::Ce
    }

    /// Takes such an ACK into the scoreboard.
    #[inline]
    pub(super) fn take_expected_ack(&mut self, packet: &Packet, now: Time) -> Ack {
        self.newly_lost = Bytes::ZERO;
        self.update_send_window(packet);
        let echo = self.params.timestamps.then_some(packet.ts_ecr);
        let prior_una = self.board.una();
        let prior_in_flight = if self.needs.rate_samples { self.board.in_flight().segments } else { 0 };
        self.rack.on_ack_begin(now, self.rtt.min(), echo);
        let mut ack = Ack { prior_in_flight, advanced: true, echo, ..Ack::of_timer(now, prior_una) };
        if let Some(turn) = self.board.on_ack_in_turn(packet.ack) {
            let last = turn.last;
            self.rate.on_delivered(last.sent(), last.end(), last.snapshot());
            self.rack.on_acked(&last);
            self.reordering.on_delivered(&last);
            let rtt = now.since(last.sent());
            self.rtt.observe_least(rtt, now);
            self.rtt.sample(now.since(turn.first_sent), self.board.una(), self.board.nxt());
            self.backoff.reset();
            self.tlp.on_rtt_sample();
            ack.rtt = Some(rtt);
            ack.acked = turn.removed;
            ack.delivered = turn.removed;
            ack.restart_timer = true;
        }
        self.ts_recent = packet.ts_val;
        self.backoff.progressed();
        ack
    }
}
