//! Two oscillators at frequencies 1 : tau, linked by the MDS signalling relationship.
//!
//! Source: "Multiplicative Decrease Scaling", DelTiM AQM; spec/mds section 4. Whatever drives the oscillators, every CE
//! opportunity comes with tau SCE opportunities: `f_sce = tau * f_ce`. Both advance at every dequeue, whatever the
//! packet is, and a verdict that does not concern the packet is lost. A signal is one second of phase. Where one signal
//! per packet is too little, the next more severe signal is given and costs as much phase as the signals it replaces:
//! CE (or a drop) costs tau SCE, so escalation preserves the relationship.
//!
//! The conventional oscillator starts at half a period: the first CE comes with the 32nd of 64 SCE, so
//! that on average neither kind of traffic is signalled before the other.

use std::num::NonZeroU32;

use windtunnel_units::Duration;

use super::delta_sigma::{SECOND, nanos};
use crate::aqm::{Signal, Verdict};
use crate::ecn::Class;

/// tau of the MDS document's tests.
pub(crate) const DEFAULT_TAU: NonZeroU32 = windtunnel_algorithm::tau::DEFAULT;

/// The oscillators. Phases are nanoseconds; that of the MDS oscillator is negative after a CE, until the
/// tau SCE that the CE stands for would have come.
#[derive(Clone, Debug)]
pub struct LinkedOscillators {
    mds: i64,
    conventional: i64,
    tau: i64,
    /// log2(tau), if that is whole: the division at every dequeue is then a shift.
    tau_log2: Option<u32>,
    /// tau seconds of phase: what a CE costs on the MDS oscillator.
    tau_signals: i64,
}

/// The oscillators' verdicts for the leaving packet, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkedVerdicts {
    /// To a packet with the MDS identifier.
    pub mds: Verdict,
    /// To any other packet.
    pub conventional: Verdict,
    /// How many of the two oscillators demand more than a drop per packet: the accumulator must relent once for each.
    pub overruns: u8,
}

impl LinkedVerdicts {
    /// The verdict for a packet of class `class`.
    #[inline]
    pub const fn of(&self, class: Class) -> Verdict {
        match class {
            Class::Sce => self.mds,
            Class::NotEct | Class::Conventional | Class::L4s | Class::Scalable => self.conventional,
        }
    }
}

impl LinkedOscillators {
    /// Oscillators at their start.
    pub fn new(tau: NonZeroU32) -> LinkedOscillators {
        let tau_log2 = tau.is_power_of_two().then(|| tau.trailing_zeros());
        let tau = i64::from(tau.get());
        LinkedOscillators { mds: 0, conventional: SECOND / 2, tau, tau_log2, tau_signals: tau * SECOND }
    }

    /// Back to the start.
    pub(crate) fn restart(&mut self) {
        self.mds = 0;
        self.conventional = SECOND / 2;
    }

    /// Advances the MDS oscillator by `phase`, the conventional one by `phase / tau`.
    #[inline]
    pub fn advance(&mut self, phase: Duration) -> LinkedVerdicts {
        let phase = nanos(phase);
        let (mds, mds_overrun) = self.advance_mds(phase);
        let (conventional, conventional_overrun) = self.advance_conventional(match self.tau_log2 {
            Some(shift) => phase >> shift,
            None => phase / self.tau,
        });
        LinkedVerdicts { mds, conventional, overruns: u8::from(mds_overrun) + u8::from(conventional_overrun) }
    }

    #[inline]
    fn advance_mds(&mut self, phase: i64) -> (Verdict, bool) {
        self.mds = self.mds.saturating_add(phase);
        if self.mds < SECOND {
            (Verdict::Pass, false)
        } else if self.mds < 2 * SECOND {
            self.mds -= SECOND;
            (Verdict::Mark(Signal::Sce), false)
        } else if self.mds < self.tau_signals {
            self.mds -= self.tau_signals;
            (Verdict::Mark(Signal::Ce), false)
        } else {
            self.mds -= self.tau_signals;
            (Verdict::Drop, self.mds >= self.tau_signals)
        }
    }

    #[inline]
    fn advance_conventional(&mut self, phase: i64) -> (Verdict, bool) {
        self.conventional = self.conventional.saturating_add(phase);
        if self.conventional < SECOND {
            (Verdict::Pass, false)
        } else if self.conventional < 2 * SECOND {
            self.conventional -= SECOND;
            (Verdict::Mark(Signal::Ce), false)
        } else {
            self.conventional -= SECOND;
            (Verdict::Drop, self.conventional >= 2 * SECOND)
        }
    }

    /// The phases in nanoseconds: `mds_osc` and `osc`.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mds_osc", self.mds as f64);
        out("osc", self.conventional as f64);
    }
}
