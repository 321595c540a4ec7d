//! A consumer's own random stream.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use windtunnel_units::Probability;

use crate::distribution::{Distribution, Quantity, pareto};

/// Random numbers from a seed: PCG-64 (O'Neill 2014), integer arithmetic and one maths library, so the same on all
/// platforms.
#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg64);

impl Random {
    /// PCG's own default stream; the streams of different consumers differ by seed.
    const STREAM: u128 = 0x0a02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

    pub(crate) fn new(seed: u64) -> Random {
        Random(Pcg64::new(u128::from(seed), Random::STREAM))
    }

    /// A uniform number: at least 0, less than 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }

    /// True with this probability.
    #[inline]
    pub(crate) fn chance(&mut self, probability: Probability) -> bool {
        self.uniform() < probability.get()
    }

    /// A standard normal number (Box and Muller 1958): of two uniform ones, always, so that streams stay aligned.
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// An exponential number with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// A value of a distribution.
    pub(crate) fn draw<Q: Quantity>(&mut self, distribution: &Distribution<Q>) -> Q {
        match distribution {
            Distribution::Fixed { value } => *value,
            Distribution::Uniform { min, max } => {
                let (low, high) = (min.to_f64(), max.to_f64());
                Q::from_f64(low + (high - low) * self.uniform())
            }
            Distribution::Exponential { mean } => Q::from_f64(mean.to_f64() * self.exponential()),
            Distribution::Pareto { min, max, shape } => {
                Q::from_f64(pareto(self.uniform(), min.to_f64(), max.to_f64(), *shape))
            }
            Distribution::Lognormal { median, sigma } => {
                Q::from_f64(median.to_f64() * libm::exp(sigma * self.normal()))
            }
            Distribution::Empirical { points } => crate::distribution::empirical(self.uniform(), points),
        }
    }
}
