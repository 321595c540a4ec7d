//! The verdicts of an AQM that has a probability, by the MDS signalling relationship: `P_sce = tau * P_c`.
//!
//! Source: "Multiplicative Decrease Scaling"; spec/queues-and-signalling section 16.2. The control law gives the
//! probability `p` of a signal to a conventional packet; a packet with the MDS identifier gets SCE with `tau * p`, so
//! that both kinds have the same mean decrease per packet. From `p = 1/tau` on, every MDS packet has an SCE, and what is
//! missing comes as CE, which stands for tau SCE. Beyond the law's own ECN limit, drops take the place of CE.
//!
//! Three ways to draw. Sums ([`MdsCredit`]), each on the packets of its own kind, keep the ratio exactly. Shared sums
//! advance on every packet, and a verdict for the other kind is lost, as with the linked oscillators; with a strictly
//! periodic sequence of kinds, they lock to it. Coins keep the ratio on average and cannot lock to anything, also not
//! among flows of one kind.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::RandomStream;
use windtunnel_units::OutOfRange;

use super::likelihood::Likelihood;
use super::mds_credit::MdsCredit;
use crate::aqm::{Signal, Verdict};
use crate::ecn::Class;

/// Which packets the sums of [`Likelihood::Recur`] advance on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Accumulate {
    /// Each on the packets of its own kind.
    #[default]
    Class,
    /// Both on every packet.
    Shared,
}

impl Accumulate {
    /// Coins add nothing up.
    ///
    /// # Errors
    /// `accumulate` is set together with coins.
    pub(super) fn check(self, random: Likelihood) -> Result<(), OutOfRange> {
        match (self, random) {
            (Accumulate::Shared, Likelihood::Coin) => Err(OutOfRange::new(
                "accumulate",
                "shared",
                "left out with random = \"coin\", which adds nothing up",
            )),
            _ => Ok(()),
        }
    }
}

/// Draws the verdicts.
#[derive(Clone, Debug)]
pub struct MdsVerdicts(Draws);

#[derive(Clone, Debug)]
enum Draws {
    Coins { stream: RandomStream, tau: f64 },
    Sums { credit: MdsCredit, accumulate: Accumulate },
}

impl MdsVerdicts {
    /// Verdicts with this `tau`; `seed` is that of their own random stream.
    pub fn new(tau: NonZeroU32, random: Likelihood, accumulate: Accumulate, seed: u64) -> MdsVerdicts {
        MdsVerdicts(match random {
            Likelihood::Coin => Draws::Coins { stream: RandomStream::new(seed), tau: f64::from(tau.get()) },
            Likelihood::Recur => Draws::Sums { credit: MdsCredit::new(tau), accumulate },
        })
    }

    /// The verdict on a packet of `class`, if a conventional packet is signalled with probability `p`. `ce` is what takes
    /// the place of a CE: a CE, or above the law's ECN limit a drop.
    #[inline]
    pub fn decide(&mut self, p: f64, class: Class, ce: Verdict) -> Verdict {
        let is_mds = class == Class::Sce;
        let verdict = match &mut self.0 {
            Draws::Coins { stream, tau } => coin(stream.uniform(), p, is_mds.then_some(*tau)),
            Draws::Sums { credit, accumulate: Accumulate::Shared } => credit.advance(p).of(class),
            Draws::Sums { credit, accumulate: Accumulate::Class } if is_mds => credit.to_mds(p),
            Draws::Sums { credit, accumulate: Accumulate::Class } => credit.to_conventional(p),
        };
        if verdict == Verdict::Mark(Signal::Ce) { ce } else { verdict }
    }

    /// What is owed to each kind; nothing with coins.
    pub fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        match &self.0 {
            Draws::Sums { credit, .. } => credit.probe(out),
            Draws::Coins { .. } => ["mds_owed", "owed"].into_iter().for_each(|name| out(name, f64::NAN)),
        }
    }
}

/// The verdict on a packet whose draw is `u`, from 0 to 1; `tau` for an MDS packet. Beyond saturation, an MDS packet gets
/// CE with the probability `q` that keeps the mean decrease of `p`: `q + (1 - q) / tau = p`.
fn coin(u: f64, p: f64, tau: Option<f64>) -> Verdict {
    let (sce, ce) = match tau {
        None => (0.0, p),
        Some(tau) if tau * p <= 1.0 => (tau * p, 0.0),
        Some(tau) => (1.0, (tau * p - 1.0) / (tau - 1.0)),
    };
    if u < ce {
        Verdict::Mark(Signal::Ce)
    } else if u < sce {
        Verdict::Mark(Signal::Sce)
    } else {
        Verdict::Pass
    }
}
