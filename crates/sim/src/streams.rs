//! Named random streams: each consumer of randomness owns one, derived from the run's seed and its name, so that
//! adding a flow or a queue does not change the draws of another.

/// The seed of the stream `name` in a run with seed `run`: FNV-1a over the name, then the finaliser of
/// `SplitMix64`, which makes every bit of the seed depend on every bit of both.
pub fn stream_seed(run: u64, name: &str) -> u64 {
    const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
    let hash = name.bytes().fold(FNV_OFFSET, |h, b| (h ^ u64::from(b)).wrapping_mul(FNV_PRIME));
    let mut z = run.wrapping_add(hash).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::stream_seed;

    /// Streams differ by name and by seed.
    #[test]
    fn names_and_seeds_matter() {
        let seeds = [stream_seed(1, "a"), stream_seed(1, "b"), stream_seed(2, "a"), stream_seed(2, "b")];
        for (i, a) in seeds.iter().enumerate() {
            assert!(seeds[..i].iter().all(|b| a != b));
        }
        assert_eq!(stream_seed(7, "queue"), stream_seed(7, "queue"));
    }
}
