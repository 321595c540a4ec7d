//! What a queue owes each kind of packet: two sums of signals, linked by the MDS signalling relationship.
//!
//! Source: "Multiplicative Decrease Scaling"; spec/queues-and-signalling sections 16.2 and 16.3. A control law that
//! owes conventional packets `x` signals (its probability for a packet, or its frequency times the time since the last
//! one) owes MDS packets `tau * x`. One signal is paid to a packet at most. Where more is owed than one SCE per packet,
//! a more severe signal is given and pays for more: a CE or a drop pays for tau SCE, so that the relationship holds
//! however much is owed, and up to one drop per packet.
//!
//! The oscillators of DelTiC-MDS and DelTiM ([`super::oscillators`]) are the same in fixed-point arithmetic.

use std::num::NonZeroU32;

use super::oscillators::LinkedVerdicts;
use crate::aqm::{Signal, Verdict};

/// The two sums, in signals of each kind. That of MDS packets is negative after a CE, until the tau SCE that the CE
/// stands for would have been due.
#[derive(Clone, Debug)]
pub struct MdsCredit {
    mds: f64,
    conventional: f64,
    tau: f64,
}

impl MdsCredit {
    /// Nothing is owed to MDS packets, and half a signal to conventional ones: the first CE comes with the 32nd of 64
    /// SCE, so that on average neither kind is signalled before the other.
    pub fn new(tau: NonZeroU32) -> MdsCredit {
        MdsCredit { mds: 0.0, conventional: 0.5, tau: f64::from(tau.get()) }
    }

    /// Both kinds are owed what comes with `signals` conventional signals, and a packet leaves: what it gets, if it is of
    /// either kind. What the other kind would have got is lost.
    #[inline]
    pub fn advance(&mut self, signals: f64) -> LinkedVerdicts {
        let (mds, conventional) = (self.to_mds(signals), self.to_conventional(signals));
        let overruns = u8::from(self.mds >= self.tau) + u8::from(self.conventional >= 2.0);
        LinkedVerdicts { mds, conventional, overruns }
    }

    /// The same for an MDS packet where the other kind is not owed anything.
    #[inline]
    pub fn to_mds(&mut self, signals: f64) -> Verdict {
        self.mds += self.tau * signals;
        if self.mds < 1.0 {
            Verdict::Pass
        } else if self.mds < 2.0 {
            self.mds -= 1.0;
            Verdict::Mark(Signal::Sce)
        } else {
            let verdict = if self.mds < self.tau { Verdict::Mark(Signal::Ce) } else { Verdict::Drop };
            self.mds -= self.tau;
            verdict
        }
    }

    /// The same for a conventional packet.
    #[inline]
    pub fn to_conventional(&mut self, signals: f64) -> Verdict {
        self.conventional += signals;
        if self.conventional < 1.0 {
            return Verdict::Pass;
        }
        let verdict = if self.conventional < 2.0 { Verdict::Mark(Signal::Ce) } else { Verdict::Drop };
        self.conventional -= 1.0;
        verdict
    }

    /// Sets what is owed to conventional packets.
    pub fn owe_conventional(&mut self, signals: f64) {
        self.conventional = signals;
    }

    /// Congestion is over: at most one signal of either kind stays owed.
    pub fn rest(&mut self) {
        self.mds = self.mds.min(1.0);
        self.conventional = self.conventional.min(1.0);
    }

    /// What is owed to conventional packets is forgiven. MDS packets have been paid for it, which becomes their debt.
    pub fn forgive(&mut self) {
        self.mds -= self.tau * self.conventional;
        self.conventional = 0.0;
    }

    /// Both sums: `mds_owed` in SCE, `owed` in conventional signals.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("mds_owed", self.mds);
        out("owed", self.conventional);
    }
}
