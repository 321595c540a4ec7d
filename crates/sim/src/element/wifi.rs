//! The delay of a packet on a busy 802.11 link, as C4's tests model it.
//!
//! Source: private-octopus/c4 (e3377b6), doc/c4-tests.md, "Handling of High Jitter Environments". A packet waits `N1` short
//! times (collision avoidance), less a random part of one of them, and a part `x` of the packets also waits `N2` long times
//! (retransmissions). Both numbers are Poisson's, with means 1 and 12; the times are 1 ms and 7.5 ms. So the long part has
//! the mean `x 90 ms`, and `x` follows from the mean that is asked for: `(mean - 1 ms) / 90 ms`, from 0 to 1.
//!
//! That formula takes 1 ms for the mean of the short part. It is `1 ms - 0.5 ms (1 - 1/e)`, 0.684 ms, since something is
//! taken off wherever `N1` is not 0. The mean of all delays is therefore 0.316 ms less than what is asked for.

use crate::random::{Poisson, Random};

/// The short time, in nanoseconds.
const SHORT: f64 = 1e6;

/// The long time, in nanoseconds.
const LONG: f64 = 7.5e6;

/// The means of the numbers of short and long times.
const MEANS: [f64; 2] = [1.0, 12.0];

/// The law for one mean.
#[derive(Clone, Debug)]
pub(super) struct Wifi {
    /// The part of the packets that wait long times.
    x: f64,
    short: Poisson,
    long: Poisson,
}

impl Wifi {
    /// The law that aims at a mean in nanoseconds.
    pub(super) fn new(mean: f64) -> Wifi {
        let [short, long] = MEANS;
        Wifi {
            x: ((mean - short * SHORT) / (long * LONG)).clamp(0.0, 1.0),
            short: Poisson::new(short),
            long: Poisson::new(long),
        }
    }

    /// A delay in nanoseconds. It always uses four uniform numbers, so that streams stay aligned.
    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let n1 = self.short.draw(random);
        let retransmits = random.uniform() < self.x;
        let n2 = self.long.draw(random);
        let less = SHORT * random.uniform();
        let short = if n1 == 0.0 { 0.0 } else { n1 * SHORT - less };
        if retransmits { short + n2 * LONG } else { short }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 100_000;
    const MS: f64 = 1e6;

    /// Delays in milliseconds, their mean, and 4 measured standard errors of it.
    fn drawn(mean_ms: f64) -> (Vec<f64>, f64, f64) {
        let (wifi, mut random) = (Wifi::new(mean_ms * MS), Random::new(5));
        let delays: Vec<f64> = (0..N).map(|_| wifi.draw(&mut random) / MS).collect();
        let mean = delays.iter().sum::<f64>() / N as f64;
        let variance = delays.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
        (delays, mean, 4.0 * libm::sqrt(variance / N as f64))
    }

    /// The mean of the short part alone is 1 - 0.5 (1 - 1/e) = 0.684 ms, and with the long part it is x 90 ms more, which is
    /// 0.316 ms less than the mean that is asked for, up to x = 1 (c4-tests.md).
    #[test]
    fn means() {
        let short = 1.0 - 0.5 * (1.0 - libm::exp(-1.0));
        for (asked, x) in
            [(0.0, 0.0), (1.0, 0.0), (7.0, 6.0 / 90.0), (12.0, 11.0 / 90.0), (91.0, 1.0), (500.0, 1.0)]
        {
            let (_, mean, error) = drawn(asked);
            assert!((mean - (short + x * 90.0)).abs() < error, "{asked}: {mean}, {error}");
        }
    }

    /// Without retransmissions: a packet in e is not delayed at all, and of the others the delay is N1 - r. Below 1 ms are N1
    /// = 0 and N1 = 1, 2/e of all; below 2 ms 2.5/e.
    #[test]
    fn the_short_part() {
        let (delays, ..) = drawn(1.0);
        let below = |limit: f64| delays.iter().filter(|delay| **delay < limit).count() as f64 / N as f64;
        for (limit, share) in [(1e-9, 1.0), (1.0, 2.0), (2.0, 2.5), (3.0, 2.5 + 1.0 / 6.0)] {
            let share = share * libm::exp(-1.0);
            let error = 4.0 * libm::sqrt(share * (1.0 - share) / N as f64);
            assert!((below(limit) - share).abs() < error, "below {limit} ms: {}", below(limit));
        }
    }

    /// The document's bad Wi-Fi (7 ms) has spikes of 100 to 200 ms: N2 of 14 and more, of one packet in fifteen.
    #[test]
    fn spikes() {
        let (delays, ..) = drawn(7.0);
        let spikes = delays.iter().filter(|delay| **delay >= 105.0).count() as f64 / N as f64;
        // N1 adds less than its 10 ms with a probability of 1e-7: N2 >= 14 always, N2 = 13 (97.5 ms) with 8.5 ms more hardly.
        let tail = 1.0 - (0..14).map(|n| poisson(12.0, n)).sum::<f64>();
        assert!((spikes - tail * 6.0 / 90.0).abs() < 0.002, "{spikes} of {tail}");
        assert!(delays.iter().all(|delay| *delay < 300.0));
    }

    fn poisson(mean: f64, n: u32) -> f64 {
        (1..=n).fold(libm::exp(-mean), |p, k| p * mean / f64::from(k))
    }
}
