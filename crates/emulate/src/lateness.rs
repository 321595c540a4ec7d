//! How late packets leave: the time between a packet's departure from the path, as the simulation has it, and the moment at
//! which its device has taken it.

use windtunnel_units::Duration;

/// Each power of two has this many buckets, as a power of two: percentiles are exact to 1/16.
const PRECISION: u32 = 4;
const BUCKETS: usize = ((u64::BITS - PRECISION + 1) as usize) << PRECISION;

/// The lateness of all packets that have left.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    packets: u64,
    max: Duration,
}

impl Default for Lateness {
    fn default() -> Lateness {
        Lateness { counts: vec![0; BUCKETS], packets: 0, max: Duration::ZERO }
    }
}

impl Lateness {
    /// A packet has left so late.
    pub fn record(&mut self, late: Duration) {
        self.counts[bucket(late.as_nanos())] += 1;
        self.packets += 1;
        self.max = self.max.max(late);
    }

    /// Packets that have left.
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The largest.
    pub const fn max(&self) -> Duration {
        self.max
    }

    /// The time that this share of packets does not exceed, by nearest rank; none without a packet.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let rank = ((share * self.packets as f64).ceil() as u64).max(1);
        let mut below = 0;
        let up_to = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        Some(Duration::from_nanos(highest(up_to)).min(self.max))
    }

    /// The upper end of each bucket that has packets, and their number.
    pub fn histogram(&self) -> impl Iterator<Item = (Duration, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (Duration::from_nanos(highest(bucket)), *count))
    }
}

/// The bucket of a number of nanoseconds.
fn bucket(ns: u64) -> usize {
    let shift = (u64::BITS - ns.leading_zeros()).saturating_sub(PRECISION + 1);
    ((shift as usize) << PRECISION) + (ns >> shift) as usize
}

/// The largest number of nanoseconds in a bucket.
const fn highest(bucket: usize) -> u64 {
    let width = 1 << PRECISION;
    if bucket < 2 * width {
        return bucket as u64;
    }
    let shift = bucket / width - 1;
    // The last bucket ends with the last number.
    (((width + bucket % width + 1) as u64) << shift).wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A bucket's upper end is in it, and the next number is not; no bucket is wider than a sixteenth of its numbers.
    #[test]
    fn buckets_follow_each_other() {
        for b in 0..BUCKETS - 1 {
            let top = highest(b);
            assert_eq!([bucket(top), bucket(top + 1)], [b, b + 1]);
            assert!(highest(b + 1) - top <= top / 16 + 1);
        }
        assert_eq!(highest(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn quantiles_are_by_nearest_rank() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.5), None);
        (1..=100).for_each(|us| lateness.record(Duration::from_micros(us)));
        for (share, us) in [(0.5, 50), (0.99, 99), (1.0, 100)] {
            let quantile = lateness.quantile(share).expect("packets").as_nanos();
            assert!((us * 1000..=us * 1000 * 17 / 16).contains(&quantile), "{share}: {quantile} ns");
        }
        assert_eq!(lateness.max(), Duration::from_micros(100));
        assert_eq!(lateness.histogram().map(|(_, count)| count).sum::<u64>(), 100);
    }
}
