//! Tail loss probe (RFC 8985 section 7; Linux `tcp_send_loss_probe`; spec/congestion-control section 1.9).
//!
//! If the last segments of a flight are lost, no later data show it. So after two round trips of silence one segment
//! is sent, new data or else the last one again; its ACK shows the loss to RACK, or repairs it. A probe that repaired
//! the only loss hides it from the detector, so the reduction happens here.

use windtunnel_units::{Duration, Seq, Time};
use windtunnel_wire::SackBlock;

use super::Sender;
use super::ack::Ack;
use super::rto::{LEAST_TIMEOUT, Timer, TimerKind};
use super::transmit::Forced;
use windtunnel_cc::CaState;

/// The outstanding probe.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    enabled: bool,
    /// SND.NXT when it was sent.
    end: Option<Seq>,
    is_retransmission: bool,
    /// A round trip was sampled since the last probe: otherwise there would be probes for ever.
    sampled: bool,
}

impl Tlp {
    pub(crate) fn new(enabled: bool) -> Tlp {
        Tlp { enabled, ..Tlp::default() }
    }

    #[inline]
    pub(crate) fn on_rtt_sample(&mut self) {
        self.sampled = true;
    }

    /// No probe is outstanding.
    #[inline]
    pub(crate) const fn is_idle(&self) -> bool {
        self.end.is_none()
    }

    /// The outstanding probe has no meaning any more: the loss is being answered.
    pub(crate) fn clear(&mut self) {
        self.end = None;
    }

    /// The outstanding probe was this block, which arrived twice.
    pub(crate) fn is_answered_by(&self, duplicate: SackBlock) -> bool {
        self.end == Some(duplicate.end)
    }

    /// Copies in the network that the scoreboard does not count.
    pub(crate) fn copies(&self) -> u64 {
        u64::from(self.end.is_some() && self.is_retransmission)
    }

    /// A probe left.
    pub(crate) fn sent(&mut self, nxt: Seq, is_retransmission: bool) {
        *self = Tlp { end: Some(nxt), is_retransmission, sampled: false, ..*self };
    }
}

impl Sender {
    /// Arms the probe's timer instead of the retransmission timer, not later than `limit`, the expiry of the latter.
    /// False if no probe is to be sent.
    #[inline]
    pub(super) fn schedule_loss_probe(&mut self, now: Time, limit: Time) -> bool {
        let out = self.board.outstanding().segments;
        if !self.tlp.enabled || out == 0 || !matches!(self.state, CaState::Open | CaState::Cwr) {
            return false;
        }
        let srtt = self.rtt.srtt();
        let wait = if srtt.is_zero() {
            Duration::SECOND
        } else if out == 1 {
            srtt * 2 + self.params.max_ack_delay()
        } else {
            srtt * 2 + LEAST_TIMEOUT
        };
        self.timer.arm(TimerKind::LossProbe, (now + wait).min(limit));
        true
    }

    /// The probe is due.
    pub(super) fn on_probe_timeout(&mut self, now: Time) {
        if self.board.is_empty() {
            self.timer = Timer::idle();
            return;
        }
        let due = if self.withheld_end().is_some() {
            // What it was to show has not come: it leaves, and its ACK shows what is missing.
            self.forced = Some(Forced::Withheld);
            now + self.timeout()
        } else if self.tlp.end.is_none() && self.tlp.sampled {
            self.forced = Some(Forced::LossProbe);
            now + self.timeout()
        } else {
            self.timeout_of_head(now)
        };
        self.timer.arm(TimerKind::Retransmission, due);
    }

    /// An ACK while a probe is outstanding (RFC 8985 section 7.4.2).
    #[inline]
    pub(super) fn process_probe(&mut self, ack: &Ack) {
        if let Some(end) = self.tlp.end
            && self.board.una() >= end
        {
            self.conclude_probe(end, ack);
        }
    }

    fn conclude_probe(&mut self, end: Seq, ack: &Ack) {
        let both_arrived = ack.dsack.is_some_and(|block| self.tlp.is_answered_by(block));
        if !self.tlp.is_retransmission || both_arrived {
            self.tlp.end = None;
        } else if self.board.una() > end {
            self.tlp.end = None;
            self.reduce_at_once(ack);
        } else if ack.duplicate {
            // A duplicate ACK without SACK information: the original and the probe arrived.
            self.tlp.end = None;
        }
    }
}
