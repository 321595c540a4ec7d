//! CE as a loss: how the draft's rules answer it (draft-ietf-ccwg-bbr, section "ECN").
//!
//! The draft specifies no answer of its own, but demands one: a sender of ECT must treat CE as congestion. The one that
//! needs no new constant is that to a loss. A marked segment goes through `NoteLoss` and `HandleLostPacket` as a lost
//! one does, counts where losses are compared with what was in flight, and differs in one point: a mark is never
//! spurious, so that no undo returns what it ended.
//!
//! A receiver that counts marks (DCTCP's, `AccECN`) tells how many segments were marked. The echo of RFC 3168 tells once per round
//! trip that any was; the draft has rules for senders that find one loss per round trip at most, and they are used: any is too much
//! for a probe, and ends Startup with its round.

use windtunnel_units::Bytes;

use super::controller::{Bbr3, Mode};
use crate::needs::Feedback;
use crate::sample::{AckSample, PathView};

/// The marks that count as losses.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Debug, Default)]
pub(super) struct CeAsLoss {
    pub(super) on: bool,
    /// The receiver tells how many segments were marked.
    counted: bool,
    /// An echo of RFC 3168 that this ACK is to be charged with.
    echoed: bool,
    /// There was a mark in this loss round.
    pub(super) in_round: bool,
    /// All that the last ACK delivered was marked, so that marks that follow belong to the same range.
    goes_on: bool,
}

impl CeAsLoss {
    pub(super) fn new(on: bool) -> CeAsLoss {
        CeAsLoss { on, ..CeAsLoss::default() }
    }

    pub(super) fn negotiate(&mut self, heard: Feedback) {
        self.counted = heard >= Feedback::Shares;
    }

    /// A mark that is not counted is too much, whatever was in flight.
    pub(super) const fn is_too_much(&self) -> bool {
        self.in_round && !self.counted
    }
}

impl Bbr3 {
    /// CE is echoed. True if it has an answer now: while the path is refilled, and after a probe has found its end, losses have none
    /// either, and the echo is repeated.
    pub(super) fn hear_echo(&mut self) -> bool {
        let answers = match self.mode {
            Mode::Refill => false,
            Mode::Up => self.probe_bw.is_sample,
            _ => true,
        };
        self.ce.echoed = answers;
        answers
    }

    /// What was marked since the sampled segment left, if marks are losses.
    pub(super) const fn marked_as_lost(&self) -> Bytes {
        if self.ce.on { self.ecn.marks() } else { Bytes::ZERO }
    }

    /// The marks that an ACK reports are losses of segments that it delivers.
    pub(super) fn take_marks(&mut self, ack: &AckSample, path: &PathView) {
        if !self.ce.on {
            return;
        }
        let echoed = std::mem::take(&mut self.ce.echoed);
        let marked = if self.ce.counted {
            self.ecn.count(ack);
            ack.ecn.ce.bytes
        } else if echoed {
            path.mss
        } else {
            Bytes::ZERO
        };
        if marked == Bytes::ZERO {
            self.ce.goes_on = false;
            return;
        }
        self.note_loss_round();
        self.ce.in_round = true;
        let goes_on = std::mem::replace(&mut self.ce.goes_on, marked >= ack.newly_delivered);
        self.signals.lost_ranges += u32::from(!goes_on);
        if let Some(sample) = ack.rate.filter(|_| self.probe_bw.is_sample) {
            let in_flight = sample.departure.in_flight.as_f64();
            let at_loss = if self.ce.counted {
                let lost = (sample.lost + self.marked_as_lost()).as_f64();
                let too_high = self.is_above_threshold(lost, in_flight);
                too_high.then(|| self.inflight_at_loss(in_flight, lost, marked.as_f64()))
            } else {
                Some(in_flight - marked.as_f64())
            };
            if let Some(at_loss) = at_loss {
                self.handle_inflight_too_high(at_loss, sample.departure.app_limited, path);
            }
        }
    }
}
