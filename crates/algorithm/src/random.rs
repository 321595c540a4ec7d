//! The random stream of one algorithm.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use windtunnel_units::Probability;

/// Random numbers from a seed: PCG-64 (O'Neill 2014), integer arithmetic only, so they are the same on all platforms.
/// The seed is derived from the run's seed and the name of the algorithm's owner, so that owners do not disturb each
/// other.
#[derive(Clone, Debug)]
pub struct RandomStream(Pcg64);

impl RandomStream {
    /// PCG's own default stream; the streams of different owners differ by seed.
    const STREAM: u128 = 0x0a02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

    /// Creates the stream with this seed.
    pub fn new(seed: u64) -> RandomStream {
        RandomStream(Pcg64::new(u128::from(seed), RandomStream::STREAM))
    }

    /// Returns a uniform number: at least 0, less than 1, a multiple of 2^-53.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }

    /// Returns true with this probability.
    #[inline]
    pub fn chance(&mut self, probability: Probability) -> bool {
        self.uniform() < probability.get()
    }
}

#[cfg(test)]
mod tests {
    use super::RandomStream;

    /// Equal seeds give equal numbers; all are in [0, 1), and their mean is near one half: within five standard errors,
    /// 5 * sqrt(1 / 12 / 10000).
    #[test]
    fn uniform_numbers() {
        let draws = |seed| {
            let mut stream = RandomStream::new(seed);
            (0..10_000).map(|_| stream.uniform()).collect::<Vec<f64>>()
        };
        let numbers = draws(1);
        assert_eq!(numbers, draws(1));
        assert_ne!(numbers, draws(2));
        assert!(numbers.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = numbers.iter().sum::<f64>() / 1e4;
        assert!((mean - 0.5).abs() < 0.0145, "{mean}");
    }
}
