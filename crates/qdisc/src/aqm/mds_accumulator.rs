//! The accumulator of MDS packets: the signalling relationship for a law that gives a probability per packet.
//!
//! Source: spec/queues-and-signalling section 16.2, "Multiplicative Decrease Scaling". Where the law signals other packets
//! with probability p, MDS packets fill the accumulator by tau p each and their signals empty it, so that
//! `P_sce = tau * P_c` holds exactly. Where one SCE per packet is too little, CE is given, or a drop; each is worth tau
//! SCE, and the accumulator may then be in debt.

use std::num::NonZeroU32;

use crate::aqm::{Signal, Verdict};

/// The accumulator.
#[derive(Clone, Debug)]
pub(crate) struct MdsAccumulator {
    sum: f64,
    tau: f64,
}

impl MdsAccumulator {
    pub(crate) fn new(tau: NonZeroU32) -> MdsAccumulator {
        MdsAccumulator { sum: 0.0, tau: f64::from(tau.get()) }
    }

    /// The verdict for an MDS packet where the law signals others with probability `p`. With `drops` it is above the
    /// law's limit of ECN: what would be marked CE is dropped.
    pub(crate) fn verdict(&mut self, p: f64, drops: bool) -> Verdict {
        self.sum += self.tau * p;
        if self.sum < 1.0 {
            return Verdict::Pass;
        }
        if self.sum < 2.0 {
            self.sum -= 1.0;
            return Verdict::Mark(Signal::Sce);
        }
        let drops = drops || self.sum >= self.tau;
        self.sum -= self.tau;
        if drops { Verdict::Drop } else { Verdict::Mark(Signal::Ce) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accumulator() -> MdsAccumulator {
        MdsAccumulator::new(NonZeroU32::new(64).unwrap())
    }

    /// Section 16.5 (1): n packets are told n tau p, counted in SCE, from probabilities at which SCE suffices to those
    /// at which it does not. The sum that is not signalled yet, or the debt, is at most 2 tau.
    #[test]
    fn relationship() {
        const N: u32 = 100_000;
        for p in [0.001, 0.01, 0.02, 0.1, 0.5, 1.0] {
            for drops in [false, true] {
                let mut mds = accumulator();
                let told: f64 = (0..N)
                    .map(|_| match mds.verdict(p, drops) {
                        Verdict::Pass => 0.0,
                        Verdict::Mark(Signal::Sce) => 1.0,
                        Verdict::Mark(Signal::Ce) | Verdict::Drop => 64.0,
                    })
                    .sum();
                assert!((told - f64::from(N) * 64.0 * p).abs() <= 128.0, "{told} at {p}");
            }
        }
    }

    /// SCE up to one per packet, then CE, which is a drop above the limit of ECN; then drops.
    #[test]
    fn severity() {
        assert_eq!(accumulator().verdict(0.9 / 64.0, true), Verdict::Pass);
        assert_eq!(accumulator().verdict(1.0 / 64.0, true), Verdict::Mark(Signal::Sce));
        assert_eq!(accumulator().verdict(2.0 / 64.0, false), Verdict::Mark(Signal::Ce));
        assert_eq!(accumulator().verdict(2.0 / 64.0, true), Verdict::Drop);
        assert_eq!(accumulator().verdict(1.0, false), Verdict::Drop);
    }
}
