//! The token bucket: it fills at a rate, up to its depth, and a packet takes its length from it.
//!
//! The arithmetic is exact, so that no bound is missed by rounding: the unit is a nanosecond at one bit per second.

use windtunnel_units::{Bytes, Duration, Rate, Time};

/// A byte: eight bits, each a second at one bit per second.
const BYTE: i128 = 8 * Duration::SECOND.as_nanos() as i128;

/// A token bucket. It is full when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TokenBucket {
    rate: Rate,
    depth: i128,
    /// What it held at `filled_at`.
    tokens: i128,
    filled_at: Time,
}

impl TokenBucket {
    pub(crate) fn new(rate: Rate, depth: Bytes) -> TokenBucket {
        let depth = tokens(depth);
        TokenBucket { rate, depth, tokens: depth, filled_at: Time::ZERO }
    }

    /// What it holds now. Never more than its depth, and less than nothing after [`TokenBucket::take`] in advance.
    pub(crate) fn level(&self, now: Time) -> Level {
        let since = i128::from(now.since(self.filled_at).as_nanos());
        Level((self.tokens + since * i128::from(self.rate.bits_per_sec())).min(self.depth))
    }

    /// Whether it holds this many bytes, if it may owe up to `credit`.
    pub(crate) fn covers(&self, size: Bytes, credit: Bytes, now: Time) -> bool {
        self.level(now).0 + tokens(credit) >= tokens(size)
    }

    /// Takes this many bytes, whether it holds them or not.
    pub(crate) fn take(&mut self, size: Bytes, now: Time) {
        self.tokens = self.level(now).0 - tokens(size);
        self.filled_at = now;
    }

    /// Fills at another rate from now on.
    pub(crate) fn set_rate(&mut self, rate: Rate, now: Time) {
        if rate != self.rate {
            self.take(Bytes::ZERO, now);
            self.rate = rate;
        }
    }

    /// The first time at which it holds this many bytes, if no one takes any; never, for more than its depth.
    pub(crate) fn holds_at(&self, size: Bytes, now: Time) -> Time {
        let (missing, rate) = (tokens(size) - self.level(now).0, i128::from(self.rate.bits_per_sec()));
        if missing <= 0 {
            return now;
        }
        if tokens(size) > self.depth || rate == 0 {
            return Time::NEVER;
        }
        let wait = (missing + rate - 1) / rate;
        u64::try_from(wait).map_or(Time::NEVER, |wait| now + Duration::from_nanos(wait))
    }
}

/// What a bucket holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level(i128);

impl Level {
    /// In bytes; negative if it owes some.
    pub(crate) fn bytes(self) -> f64 {
        self.0 as f64 / BYTE as f64
    }
}

const fn tokens(size: Bytes) -> i128 {
    size.get() as i128 * BYTE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens that came in at one rate stay when the rate changes: an empty bucket of 3000 B has 1500 B after a
    /// millisecond at 12 Mbit/s, and the other 1500 B after two more at 6 Mbit/s. It never holds more than its depth,
    /// or anything new at a rate of zero.
    #[test]
    fn rates_change() {
        let at = |us: u64| Time::from_nanos(us * 1_000);
        let [half, full, more] = [1_500, 3_000, 3_001].map(Bytes::new);
        let mut bucket = TokenBucket::new(Rate::from_mbps(12), full);
        bucket.take(full, at(0));
        bucket.set_rate(Rate::from_mbps(6), at(1_000));
        bucket.set_rate(Rate::from_mbps(6), at(1_500));
        assert!((bucket.level(at(1_000 + 500)).bytes() - 1_875.0).abs() < 1e-9);
        assert_eq!(
            [half, full, more].map(|size| bucket.holds_at(size, at(1_000 + 500))),
            [at(1_500), at(3_000), Time::NEVER]
        );
        bucket.take(full, at(3_000));
        bucket.set_rate(Rate::ZERO, at(3_000));
        assert_eq!(
            [Bytes::ZERO, half].map(|size| bucket.holds_at(size, at(4_000))),
            [at(4_000), Time::NEVER]
        );
    }
}
