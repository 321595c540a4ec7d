//! A consumer's own random stream.

use windtunnel_algorithm::RandomStream;

use crate::distribution::{Distribution, Quantity, empirical, listed, pareto};

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
            Distribution::Listed { values } => listed(self.uniform(), values),
            Distribution::Empirical { points } => empirical(self.uniform(), points),
        }
    }
}

/// Numbers of events whose mean is known (Poisson), by inversion from one uniform number.
#[derive(Clone, Debug)]
pub(crate) struct Poisson {
    mean: f64,
    /// The probability of none.
    none: f64,
}

impl Poisson {
    pub(crate) fn new(mean: f64) -> Poisson {
        Poisson { mean, none: libm::exp(-mean) }
    }

    /// A whole number. It ends at the latest where a further one is too unlikely to change the sum.
    pub(crate) fn draw(&self, random: &mut Random) -> f64 {
        let u = random.uniform();
        let (mut n, mut probability, mut sum) = (0.0, self.none, self.none);
        while u >= sum {
            n += 1.0;
            probability *= self.mean / n;
            if sum + probability <= sum {
                break;
            }
            sum += probability;
        }
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number as often as Poisson's law says, within 4 standard errors.
    #[test]
    fn poisson_numbers() {
        const N: u32 = 50_000;
        for mean in [1.0, 12.0] {
            let (law, mut random) = (Poisson::new(mean), Random::new(3));
            let mut counts = [0_u32; 64];
            for _ in 0..N {
                counts[law.draw(&mut random) as usize] += 1;
            }
            let mut p = libm::exp(-mean);
            for (n, count) in counts.into_iter().enumerate() {
                let expected = p * f64::from(N);
                let error = 4.0 * libm::sqrt(expected * (1.0 - p)) + 1.0;
                assert!(
                    (f64::from(count) - expected).abs() < error,
                    "{n} with mean {mean}: {count} of {expected}"
                );
                p *= mean / (n + 1) as f64;
            }
        }
    }
}
