//! The Leonardo numbers, the step sizes of ESSP.
//!
//! `K(0) = K(1) = 1, K(n+1) = 1 + K(n) + K(n-1)`. ESSP's stages use each value once: 1, 3, 5, 9, 15, ... (spec/mds
//! section 5). Successive values approach the golden ratio: each stage grows cwnd about 1.6 times more slowly than the
//! one before.

/// The number of stages for which `K` is tabulated. With fewer than 44 stages, the pacing scale would change pacing
/// gaps by nanoseconds; `K(63)` is about 4 * 10^13, more segments than any window has.
pub const STAGES: usize = 64;

const SEQUENCE: [u64; STAGES] = {
    let mut k = [1; STAGES];
    k[1] = 3;
    let mut n = 2;
    while n < STAGES {
        k[n] = 1 + k[n - 1] + k[n - 2];
        n += 1;
    }
    k
};

const SCALES: [f64; STAGES] = {
    let mut s = [1.0; STAGES];
    let mut n = 0;
    while n < STAGES {
        s[0] *= 1.0 + 1.0 / SEQUENCE[n] as f64;
        n += 1;
    }
    let mut n = 1;
    while n < STAGES {
        s[n] = s[n - 1] / (1.0 + 1.0 / SEQUENCE[n - 1] as f64);
        n += 1;
    }
    s
};

/// Returns the Leonardo number of a stage, and the last tabulated number for later stages.
pub const fn k(stage: usize) -> u64 {
    SEQUENCE[if stage < STAGES { stage } else { STAGES - 1 }]
}

/// Returns the pacing scale of a stage: `S(0)` is the product of `1 + 1/K` over all stages, and each stage divides it
/// by its own factor.
pub const fn scale(stage: usize) -> f64 {
    SCALES[if stage < STAGES { stage } else { STAGES - 1 }]
}
