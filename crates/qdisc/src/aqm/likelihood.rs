//! How a probability becomes signals: by coins, or by adding up.
//!
//! Source: RFC 9332 appendix A (`recur`); spec/queues-and-signalling section 0.4. A coin is independent of all others,
//! so that signals come in clusters and no pattern of traffic can meet them. Adding up gives a signal to every
//! (1/p)-th packet, as evenly as possible, and a pattern of traffic of the same period can evade or attract them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::RandomStream;

/// How a probability becomes signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Likelihood {
    /// A coin for each packet.
    #[default]
    Coin,
    /// None: a signal whenever the probabilities add up to more than 1 (RFC 9332 appendix A).
    Recur,
}

impl Likelihood {
    /// Draws of this kind; `seed` is that of their own random stream.
    pub fn draws(self, seed: u64) -> Draws {
        match self {
            Likelihood::Coin => Draws::Coins(RandomStream::new(seed)),
            Likelihood::Recur => Draws::Sum(Recur::default()),
        }
    }
}

/// A signal whenever likelihoods add up to more than 1: as frequent as coins would make it, and evenly spaced
/// (RFC 9332 appendix A.1, `recur`).
#[derive(Clone, Copy, Debug, Default)]
pub struct Recur(f64);

impl Recur {
    #[inline]
    /// Whether to signal to a packet with this likelihood.
    pub fn signals(&mut self, likelihood: f64) -> bool {
        self.0 += likelihood;
        take_due(&mut self.0)
    }
}

/// Whether a sum of likelihoods, which a law keeps for itself, is due for a signal; it then falls by that.
#[inline]
pub(super) fn take_due(sum: &mut f64) -> bool {
    let is_due = *sum > 1.0;
    if is_due {
        *sum -= 1.0;
    }
    is_due
}

/// Decides one packet after the other.
#[derive(Clone, Debug)]
pub enum Draws {
    /// By coins from this stream.
    Coins(RandomStream),
    /// By the sum of the probabilities.
    Sum(Recur),
}

impl Draws {
    /// Whether to signal to a packet with probability `p`. Coins are tossed once per call, whatever `p` is, so that the
    /// decision on one packet does not shift the coins of later ones.
    #[inline]
    pub fn happens(&mut self, p: f64) -> bool {
        match self {
            Draws::Coins(stream) => stream.uniform() < p,
            Draws::Sum(recur) => recur.signals(p),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A likelihood of 0.3 gives 300 signals in a thousand (one may still be due), three or four apart.
    #[test]
    fn evenly_spaced() {
        let mut recur = Recur::default();
        let at: Vec<usize> = (0..1_000).filter(|_| recur.signals(0.3)).collect();
        assert!((299..=300).contains(&at.len()));
        assert!(at.windows(2).all(|pair| (3..=4).contains(&(pair[1] - pair[0]))));
    }

    /// Adding up 1/4 exceeds 1 at the fifth packet, and from then on at every fourth: 1.25 leaves 0.25. Probability 0
    /// never signals, and 1 signals from the second packet on.
    #[test]
    fn recur() {
        let signals = |p: f64| -> Vec<usize> {
            let mut draws = Likelihood::Recur.draws(1);
            (1..=12).filter(|_| draws.happens(p)).collect()
        };
        assert_eq!(signals(0.25), [5, 9]);
        assert!(signals(0.0).is_empty());
        assert_eq!(signals(1.0), (2..=12).collect::<Vec<_>>());
    }

    /// Coins keep their probability, within four standard deviations of 20000 draws, sqrt(20000 p (1 - p)); with equal
    /// seeds they are equal, whatever was asked of them before.
    #[test]
    fn coins() {
        let n = 20_000;
        for p in [0.0, 0.01, 0.5, 1.0] {
            let mut draws = Likelihood::Coin.draws(7);
            let signals = (0..n).filter(|_| draws.happens(p)).count() as f64;
            let expected = f64::from(n) * p;
            assert!((signals - expected).abs() <= 4.0 * (expected * (1.0 - p)).sqrt(), "{p}: {signals}");
        }
        let [mut a, mut b] = [(); 2].map(|()| Likelihood::Coin.draws(7));
        a.happens(0.0);
        b.happens(1.0);
        assert!((0..100).all(|_| a.happens(0.5) == b.happens(0.5)));
    }
}
