//! The answer to CE of Google's branch of Linux (spec/congestion-control section 3.23).
//!
//! It is for networks whose queues mark early, as in data centres: there the marks of a round say by their share how
//! far the queue is above its threshold, and two flows that hear the same share converge. So it needs a receiver that
//! reports each mark, and it is off unless a route promises such queues (`ecn_low`) and the round trip is short
//! (`ecn_max_rtt`), because over a longer path a mark may come from a classic AQM, for which a cut this small is unfair
//! to others.
//!
//! An average of the share of marked bytes, alpha, is kept as DCTCP keeps it (RFC 8257 section 3.3). Outside of probes,
//! a round with a mark lowers what may be in flight in the short term by alpha / 3, at most a third: as much as a loss
//! takes. The bandwidth stays, since a queue below its limit delivers all the same. While probing, marks on more than
//! half of a sample are as a loss rate above the threshold; two rounds in succession with such a share end Startup.
//! When the marks cease and nothing was lost, the flow probes at once instead of waiting for seconds.
//!
//! Numbers are parts of 256, rounded down as the kernel rounds them. It matters: a share below a sixteenth adds
//! nothing, and alpha reaches zero.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration};

use super::controller::Bbr3;
use crate::control::ExitReason;
use crate::sample::{AckSample, Marked};
use crate::state::CaState;

/// One, in parts of 256.
const UNIT: u64 = 256;
/// How much a round counts in alpha: a sixteenth.
const GAIN: u64 = UNIT / 16;
/// The part of alpha by which the short-term bound falls: a third.
const FACTOR: u64 = UNIT / 3;
/// The share of marks that is too high: a half.
const THRESHOLD: u64 = UNIT / 2;
/// Rounds in succession with such a share that end Startup.
const STARTUP_ROUNDS: u32 = 2;
/// The first round of a probe after marks puts about this part of the long-term bound on top: a half.
const REPROBE_GAIN: f64 = 0.5;

/// When CE is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnRule {
    /// The route's queues mark early.
    pub(super) low: bool,
    /// The longest round trip; zero for any.
    pub(super) max_rtt: Duration,
}

impl EcnRule {
    /// CE is not answered.
    pub(super) const OFF: EcnRule = EcnRule { low: false, max_rtt: Duration::ZERO };
}

/// What marks say about the path.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the flow")]
#[derive(Debug)]
pub(super) struct Ecn {
    pub(super) rule: EcnRule,
    /// The receiver reports each mark.
    pub(super) heard: bool,
    /// CE is answered, since a round trip was short enough.
    pub(super) eligible: bool,
    /// The average share of marks, in parts of 256.
    alpha: u64,
    /// Bytes delivered, and marked, when alpha was last updated; and marked in all.
    counted: (Bytes, Bytes),
    marked: Bytes,
    startup_rounds: u32,
    in_round: bool,
    in_cycle: bool,
    pub(super) loss_in_cycle: bool,
    sample: SampledMarks,
}

impl Ecn {
    pub(super) fn new(rule: EcnRule) -> Ecn {
        Ecn {
            rule,
            heard: false,
            eligible: false,
            alpha: UNIT,
            counted: (Bytes::ZERO, Bytes::ZERO),
            marked: Bytes::ZERO,
            startup_rounds: 0,
            in_round: false,
            in_cycle: false,
            loss_in_cycle: false,
            sample: SampledMarks::default(),
        }
    }

    /// Alpha as a number.
    pub(super) fn alpha(&self) -> f64 {
        self.alpha as f64 / UNIT as f64
    }

    /// Takes the share of the marks of the round that ends.
    fn end_round(&mut self, delivered: Bytes) {
        let (delivered_before, marked_before) = self.counted;
        let (amount, marked) = ((delivered - delivered_before).get(), (self.marked - marked_before).get());
        if amount == 0 {
            return;
        }
        let share = (marked * UNIT / amount).min(UNIT);
        self.alpha = average(self.alpha, share);
        self.counted = (delivered, self.marked);
        self.startup_rounds = if share >= THRESHOLD { self.startup_rounds + 1 } else { 0 };
    }

    /// What a round with marks leaves of the short-term bound; everything if there were none.
    pub(super) fn kept(&self) -> Option<f64> {
        self.in_round.then(|| (UNIT - self.alpha * FACTOR / UNIT) as f64 / UNIT as f64)
    }

    /// Takes the marks of an ACK into those of its sample.
    pub(super) fn count(&mut self, ack: &AckSample) {
        self.sample.update(ack);
    }

    /// What was marked since the sampled segment left.
    pub(super) const fn marks(&self) -> Bytes {
        self.sample.sum
    }

    /// The next round has no mark yet.
    pub(super) fn start_round(&mut self) {
        self.in_round = false;
    }

    /// The next cycle has neither marks nor losses yet.
    pub(super) fn start_cycle(&mut self) {
        (self.in_round, self.in_cycle, self.loss_in_cycle) = (false, false, false);
    }

    /// More than the threshold was marked of what the ACK's sample delivered.
    pub(super) fn is_too_high(&self, delivered: Bytes) -> bool {
        let marked = self.sample.sum.get();
        self.eligible && marked > 0 && marked > delivered.get() * THRESHOLD / UNIT
    }

    /// In this cycle there were marks and no losses, and the marks have ceased, because the episode of CWR that each
    /// starts is over.
    pub(super) fn has_cleared(&self, state: CaState) -> bool {
        self.eligible && self.in_cycle && !self.loss_in_cycle && state == CaState::Open
    }
}

/// Alpha after a round with this share of marks.
fn average(alpha: u64, share: u64) -> u64 {
    ((UNIT - GAIN) * alpha / UNIT + GAIN * share / UNIT).min(UNIT)
}

/// The doublings with which a probe puts about half of the long-term bound on top in its first round.
pub(super) fn reprobe_rounds(long: f64, mss: f64, most: u32) -> u32 {
    let segments = long / mss * REPROBE_GAIN;
    if segments.is_finite() { (segments as u64).max(1).ilog2().min(most) } else { most }
}

impl Bbr3 {
    /// Counts the marks of an ACK, and once per round their share.
    pub(super) fn update_ecn(&mut self, ack: &AckSample) {
        if !self.ecn.heard {
            return;
        }
        let Marked { bytes, packets } = ack.ecn.ce;
        self.ecn.marked += bytes;
        if self.round.start {
            let max_rtt = self.ecn.rule.max_rtt;
            self.ecn.eligible |= max_rtt.is_zero() || self.min_rtt.get().is_some_and(|rtt| rtt <= max_rtt);
            if self.ecn.eligible {
                self.ecn.end_round(ack.delivered);
                self.check_startup_marks();
            }
        }
        self.ecn.in_round |= self.ecn.eligible && packets > 0;
        self.ecn.sample.update(ack);
    }

    /// Startup ends when several rounds in succession have too many marks.
    fn check_startup_marks(&mut self) {
        if !self.full_bw.reached && self.ecn.startup_rounds >= STARTUP_ROUNDS {
            self.leave_full_startup();
            self.exit.get_or_insert(ExitReason::Ce);
        }
    }

    /// What happened in this cycle, after an ACK.
    pub(super) fn note_cycle(&mut self, ack: &AckSample) {
        self.ecn.loss_in_cycle |= ack.rate.is_some_and(|sample| sample.lost > Bytes::ZERO);
        self.ecn.in_cycle |= self.ecn.sample.sum > Bytes::ZERO;
    }
}

/// The marks over an ACK's rate sample: those reported after its segment left.
#[derive(Debug, Default)]
struct SampledMarks {
    /// The marks that ACKs reported, each with what was delivered by then, oldest first.
    recent: VecDeque<(Bytes, Bytes)>,
    /// Their sum.
    sum: Bytes,
}

impl SampledMarks {
    fn update(&mut self, ack: &AckSample) {
        let marked = ack.ecn.ce.bytes;
        if marked > Bytes::ZERO {
            self.recent.push_back((ack.delivered, marked));
            self.sum += marked;
        }
        let Some(sample) = &ack.rate else { return };
        while let Some(&(delivered, marked)) = self.recent.front()
            && delivered <= sample.departure.delivered
        {
            self.sum -= marked;
            self.recent.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, as the kernel rounds: from 1 without marks 240, 225, 210 parts of 256; half of a round marked adds 8; a
    /// share below a sixteenth adds nothing; the average reaches zero, and from below, with all marked, it settles at
    /// 241 parts.
    #[test]
    fn alpha_by_hand() {
        let after = |shares: &[u64]| shares.iter().fold(UNIT, |alpha, share| average(alpha, *share));
        assert_eq!([after(&[0]), after(&[0; 2]), after(&[0; 3])], [240, 225, 210]);
        // 240 x 256 / 256 + 16 x 128 / 256 = 248; 240 x 248 / 256 = 232.5, down, + 8.
        assert_eq!([after(&[128]), after(&[128; 2])], [248, 240]);
        assert_eq!([average(0, 15), average(0, 16)], [0, 1]);
        assert_eq!([after(&[0; 200]), after(&[256; 200])], [0, 256]);
        assert_eq!((0..200).fold(0, |alpha, _| average(alpha, UNIT)), 241);
    }

    /// What is kept: 1 - alpha / 3, in parts of 256: a third is 85 of them.
    #[test]
    fn cut_by_hand() {
        let kept = |alpha: u64| Ecn { alpha, in_round: true, ..Ecn::new(EcnRule::OFF) }.kept();
        assert_eq!(kept(256), Some(171.0 / 256.0));
        // 128 x 85 / 256 = 42.5, down.
        assert_eq!(kept(128), Some(214.0 / 256.0));
        assert_eq!(kept(3), Some(1.0), "less than a part");
        assert_eq!(Ecn::new(EcnRule::OFF).kept(), None, "no mark in the round");
    }

    /// The probe after marks starts at 2^n segments, n the whole binary logarithm of half of the bound.
    #[test]
    fn reprobe_by_hand() {
        let rounds = |segments: f64| reprobe_rounds(segments * 1448.0, 1448.0, 30);
        assert_eq!([rounds(1.0), rounds(4.0), rounds(15.9), rounds(16.0)], [0, 1, 2, 3]);
        assert_eq!(rounds(f64::INFINITY), 30);
    }
}
