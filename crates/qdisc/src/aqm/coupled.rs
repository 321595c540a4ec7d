//! The coupled law of PI2 and DualPI2: from one p', what classic, scalable and MDS packets are told.
//!
//! Source: RFC 9332 sections 2.1, 2.4, 4.2.2 and A.1; Linux `sch_dualpi2`; spec/queues-and-signalling sections 7, 8 and
//! 16.2. Classic packets are signalled with `p_C` = p'^2, scalable ones with `p_CL` = k p', MDS packets with SCE at tau `p_C`.
//! From `p_CL` = 1 on, marks cannot tell more (overload): what would mark a classic packet drops it, and scalable packets
//! are dropped with `p_C`, like classic ones; the others are marked.

use std::num::NonZeroU32;

use windtunnel_algorithm::RandomStream;
use windtunnel_units::OutOfRange;

use super::likelihood::{Likelihood, Recur};
use super::mds_credit::MdsCredit;
use super::pi::PiController;
use crate::aqm::{Signal, Verdict};
use crate::ecn::Class;

/// What the law is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoupledParams {
    /// k.
    pub(crate) coupling_factor: f64,
    /// Whether marks give way to drops in overload. If not, p' must not exceed 1/k.
    pub(crate) drops_on_overload: bool,
    pub(crate) random: Likelihood,
    pub(crate) tau: NonZeroU32,
}

impl CoupledParams {
    /// k is a byte in Linux.
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        if self.coupling_factor > 0.0 && self.coupling_factor <= 255.0 {
            return windtunnel_algorithm::tau::check("tau", self.tau);
        }
        Err(OutOfRange::new("coupling_factor", self.coupling_factor, "more than 0 and at most 255"))
    }

    /// The largest p'.
    pub(crate) fn most(&self) -> f64 {
        if self.drops_on_overload { 1.0 } else { (1.0 / self.coupling_factor).min(1.0) }
    }
}

/// The law's variables.
#[derive(Clone, Debug)]
pub(crate) struct CoupledLaw {
    pub(crate) pi: PiController,
    params: CoupledParams,
    random: RandomStream,
    classic: Recur,
    scalable: Recur,
    mds: MdsCredit,
}

impl CoupledLaw {
    pub(crate) fn new(pi: PiController, params: CoupledParams, seed: u64) -> CoupledLaw {
        CoupledLaw {
            pi,
            params,
            random: RandomStream::new(seed),
            classic: Recur::default(),
            scalable: Recur::default(),
            mds: MdsCredit::new(params.tau),
        }
    }

    /// `p_C`.
    #[inline]
    pub(crate) fn p_classic(&self) -> f64 {
        self.pi.p() * self.pi.p()
    }

    /// `p_CL`, which exceeds 1 in overload.
    #[inline]
    pub(crate) fn p_scalable(&self) -> f64 {
        self.params.coupling_factor * self.pi.p()
    }

    /// With k below 1, p' reaches 1 first.
    #[inline]
    fn overloaded(&self) -> bool {
        let k = self.params.coupling_factor;
        self.params.drops_on_overload && k * self.pi.p() > k.min(1.0)
    }

    /// A packet's draw. It is taken for each packet, needed or not, so that the verdict on one packet does not shift the
    /// draws of later ones. To toss a coin of p' twice, as Linux does, is to compare one draw with p'^2.
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        match self.params.random {
            Likelihood::Coin => self.random.uniform(),
            Likelihood::Recur => 0.0,
        }
    }

    /// For a packet among classic ones, with draw `u`.
    #[inline]
    pub(crate) fn classic(&mut self, class: Class, u: f64) -> Verdict {
        let (p, overloaded) = (self.p_classic(), self.overloaded());
        if class == Class::Sce {
            let verdict = self.mds.to_mds(p);
            let drops = overloaded && verdict == Verdict::Mark(Signal::Ce);
            return if drops { Verdict::Drop } else { verdict };
        }
        match signals(self.params.random, &mut self.classic, p, u) {
            false => Verdict::Pass,
            true if overloaded => Verdict::Drop,
            true => Verdict::Mark(Signal::Ce),
        }
    }

    /// For a scalable packet with draw `u`, which its own queue's length alone would mark with probability `native`.
    #[inline]
    pub(crate) fn scalable(&mut self, native: f64, u: f64) -> Verdict {
        let (p, overloaded) = (self.p_scalable(), self.overloaded());
        if !overloaded {
            let marked = signals(self.params.random, &mut self.scalable, p.max(native), u);
            return if marked { Verdict::Mark(Signal::Ce) } else { Verdict::Pass };
        }
        let p = self.p_classic();
        let drop = signals(self.params.random, &mut self.scalable, p, u);
        if drop { Verdict::Drop } else { Verdict::Mark(Signal::Ce) }
    }
}

#[inline]
fn signals(random: Likelihood, recur: &mut Recur, p: f64, u: f64) -> bool {
    match random {
        Likelihood::Coin => u < p,
        Likelihood::Recur => recur.signals(p),
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Duration, Time};

    use super::super::pi::PiGains;
    use super::*;
    use crate::limit::Limit;
    use crate::params::AqmInit;

    /// The law at a constant p'.
    fn law(p: f64, params: CoupledParams) -> CoupledLaw {
        let init = AqmInit { limit: Limit::Unlimited, seed: 7, now: Time::ZERO, age: Duration::ZERO };
        let gains = PiGains { alpha: 1.0, beta: 1e-12, ..PiGains::LINUX };
        let mut pi = PiController::new(gains, params.most(), &init);
        pi.update(gains.target + Duration::from_secs_f64(p), Time::ZERO);
        CoupledLaw::new(pi, params, 1)
    }

    const N: u32 = 200_000;

    /// The shares of marks and drops among many packets.
    fn shares(mut verdict: impl FnMut() -> Verdict) -> (f64, f64) {
        let (mut marks, mut drops) = (0.0, 0.0);
        for _ in 0..N {
            match verdict() {
                Verdict::Pass => {}
                Verdict::Mark(_) => marks += 1.0,
                Verdict::Drop => drops += 1.0,
            }
        }
        (marks / f64::from(N), drops / f64::from(N))
    }

    fn near((marks, drops): (f64, f64), expected: (f64, f64)) {
        // Four standard errors of the coin with the largest variance.
        let margin = 4.0 * 0.5 / f64::from(N).sqrt();
        assert!(
            (marks - expected.0).abs() < margin && (drops - expected.1).abs() < margin,
            "{marks} {drops}"
        );
    }

    fn params(random: Likelihood, drops_on_overload: bool) -> CoupledParams {
        CoupledParams { coupling_factor: 2.0, drops_on_overload, random, tau: NonZeroU32::new(64).unwrap() }
    }

    /// spec/queues-and-signalling section 8, "Facts for tests": at p' = 0.1 and k = 2, classic 1 %, L4S 20 %.
    #[test]
    fn coupled() {
        for random in [Likelihood::Coin, Likelihood::Recur] {
            let mut law = law(0.1, params(random, true));
            near(
                shares(|| {
                    let u = law.draw();
                    law.classic(Class::Conventional, u)
                }),
                (0.01, 0.0),
            );
            near(
                shares(|| {
                    let u = law.draw();
                    law.scalable(0.0, u)
                }),
                (0.2, 0.0),
            );
            // The queue's own length asks for more, or for less.
            near(
                shares(|| {
                    let u = law.draw();
                    law.scalable(0.5, u)
                }),
                (0.5, 0.0),
            );
            near(
                shares(|| {
                    let u = law.draw();
                    law.scalable(0.1, u)
                }),
                (0.2, 0.0),
            );
        }
    }

    /// Overload starts above p' = 0.5: classic packets are dropped instead of marked, L4S packets are dropped with the
    /// same probability, and marked otherwise.
    #[test]
    fn overload() {
        for random in [Likelihood::Coin, Likelihood::Recur] {
            let mut below = law(0.499, params(random, true));
            near(
                shares(|| {
                    let u = below.draw();
                    below.classic(Class::Conventional, u)
                }),
                (0.249, 0.0),
            );
            near(
                shares(|| {
                    let u = below.draw();
                    below.scalable(0.0, u)
                }),
                (0.998, 0.0),
            );
            let mut above = law(0.6, params(random, true));
            near(
                shares(|| {
                    let u = above.draw();
                    above.classic(Class::Conventional, u)
                }),
                (0.0, 0.36),
            );
            near(
                shares(|| {
                    let u = above.draw();
                    above.scalable(0.0, u)
                }),
                (0.64, 0.36),
            );
        }
    }

    /// With `overflow` p' stops at 1/k: every L4S packet is marked, one of four classic ones, and none is dropped.
    #[test]
    fn overflow() {
        let mut law = law(0.9, params(Likelihood::Coin, false));
        near(
            shares(|| {
                let u = law.draw();
                law.classic(Class::Conventional, u)
            }),
            (0.25, 0.0),
        );
        near(
            shares(|| {
                let u = law.draw();
                law.scalable(0.0, u)
            }),
            (1.0, 0.0),
        );
    }

    /// MDS packets are owed `64 p_C` SCE each (spec/queues-and-signalling section 16.2): 10.24 at p' = 0.4, where two
    /// or more become a CE that costs 64, and 23.04 at p' = 0.6, above the ECN limit of 25 %, where that CE is a
    /// drop.
    #[test]
    fn mds_above_the_ecn_limit() {
        let verdicts = |p: f64, packets: usize| -> Vec<Verdict> {
            let mut law = law(p, params(Likelihood::Coin, true));
            (0..packets).map(|_| law.classic(Class::Sce, 0.0)).collect()
        };
        let (pass, ce, drop) = (Verdict::Pass, Verdict::Mark(Signal::Ce), Verdict::Drop);
        // Owed before each verdict: 10.24, -43.52, -33.28, -23.04, -12.8, -2.56, 7.68.
        assert_eq!(verdicts(0.4, 7), [ce, pass, pass, pass, pass, pass, ce]);
        // 23.04, -17.92, 5.12, -35.84, -12.8, 10.24.
        assert_eq!(verdicts(0.6, 6), [drop, pass, drop, pass, pass, drop]);
    }
}
