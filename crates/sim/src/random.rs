//! A consumer's own random stream.

use windtunnel_algorithm::RandomStream;

use crate::distribution::{Distribution, Quantity, pareto};

/// A [`RandomStream`] with more distributions.
#[derive(Clone, Debug)]
pub(crate) struct Random(RandomStream);

impl From<RandomStream> for Random {
    fn from(stream: RandomStream) -> Random {
        Random(stream)
    }
}

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(RandomStream::new(seed))
    }

    /// A uniform number: at least 0, less than 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    /// A standard normal number (Box and Muller 1958): it always uses two uniform ones, so that streams stay aligned.
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
