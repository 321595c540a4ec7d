//! A queue's own random stream.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// Uniform numbers from a seed: PCG-64 (O'Neill 2014), integer arithmetic only, so the same on all
/// platforms.
#[derive(Clone, Debug)]
pub(crate) struct Uniform(Pcg64);

impl Uniform {
    /// PCG's own default stream; streams of different queues differ by seed.
    const STREAM: u128 = 0x0a02_bdbf_7bb3_c0a7_ac28_fa16_a64a_bf96;

    pub(crate) fn new(seed: u64) -> Uniform {
        Uniform(Pcg64::new(u128::from(seed), Uniform::STREAM))
    }

    /// The next number: at least 0, less than 1, a multiple of 2^-53.
    #[inline]
    pub(crate) fn draw(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * STEP
    }
}
