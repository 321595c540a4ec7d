//! PIE's departure-rate estimator: the queueing delay without timestamps, by Little's law.
//!
//! Source: RFC 8033 section 5.2; Linux `sch_pie` (`dq_rate_estimator`); spec/queues-and-signalling section 6. The rate
//! is measured only over 16 KiB that leave a queue of at least that length: a shorter queue would show the arrival
//! rate, not the link's. 16 KiB is the RFC's `DQ_THRESHOLD`. The mean gives 1/8 to a new sample, as Linux does; the RFC
//! averages the time for 16 KiB instead, with a weight of 1/4.
//!
//! As in both sources, the departure that starts the first cycle counts towards it, so that cycle overestimates by one
//! packet. Cycles that directly follow another are exact.

use windtunnel_units::{Bytes, Duration, Rate, Time};

/// How many bytes must be queued to start a measurement, and leave to complete it.
const THRESHOLD: Bytes = Bytes::new(16_384);

/// A measurement under way.
#[derive(Clone, Copy, Debug)]
struct Cycle {
    start: Time,
    departed: Bytes,
}

/// The estimator's variables.
#[derive(Clone, Debug, Default)]
pub(super) struct DepartureRate {
    /// The mean; nothing is known while it is zero.
    mean: Rate,
    cycle: Option<Cycle>,
}

impl DepartureRate {
    /// A packet of `size` left `backlog` behind. Returns the duration of the measurement that this packet completes, if
    /// any.
    #[inline]
    pub(super) fn departed(&mut self, now: Time, size: Bytes, backlog: Bytes) -> Option<Duration> {
        let long = backlog >= THRESHOLD;
        if long && self.cycle.is_none() {
            self.cycle = Some(Cycle { start: now, departed: Bytes::ZERO });
        }
        let cycle = self.cycle.as_mut()?;
        cycle.departed += size;
        let took = now.since(cycle.start);
        if cycle.departed < THRESHOLD || took.is_zero() {
            return None;
        }
        let sample = Rate::of(cycle.departed, took);
        self.mean = if self.mean == Rate::ZERO { sample } else { averaged(self.mean, sample) };
        self.cycle = long.then_some(Cycle { start: now, departed: Bytes::ZERO });
        Some(took)
    }

    /// Whether a measurement has been completed.
    pub(super) fn is_measured(&self) -> bool {
        self.mean > Rate::ZERO
    }

    /// How long `backlog` takes to leave; zero if nothing is known of the rate.
    pub(super) fn delay(&self, backlog: Bytes) -> Duration {
        if self.is_measured() { self.mean.transfer_time(backlog) } else { Duration::ZERO }
    }
}

/// `7/8 mean + 1/8 sample`.
fn averaged(mean: Rate, sample: Rate) -> Rate {
    Rate::from_bits_per_sec(mean.bits_per_sec() - mean.bits_per_sec() / 8 + sample.bits_per_sec() / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes::new(1_500);

    /// `n` packets leave one every `ms` milliseconds, from `from_ms` on, with `backlog` behind each.
    fn leave(rate: &mut DepartureRate, from_ms: u64, n: u64, ms: u64, backlog: u64) -> Vec<Duration> {
        let at = |i| Time::ZERO + Duration::from_millis(from_ms + i * ms);
        (0..n).filter_map(|i| rate.departed(at(i), PACKET, Bytes::new(backlog))).collect()
    }

    /// By hand: 11 packets are the first 16384 bytes or more. The first cycle counts the packet that starts it: 16500
    /// bytes in 10 ms are 13.2 Mbit/s; the next one 16500 bytes in 11 ms, 12 Mbit/s, which enters the mean with a
    /// weight of 1/8.
    #[test]
    fn two_cycles() {
        let mut rate = DepartureRate::default();
        assert_eq!(leave(&mut rate, 0, 10, 1, 20_000), []);
        assert!(!rate.is_measured());
        assert_eq!(rate.delay(PACKET), Duration::ZERO);
        assert_eq!(leave(&mut rate, 10, 1, 1, 20_000), [Duration::from_millis(10)]);
        assert_eq!(rate.mean, Rate::from_bits_per_sec(13_200_000));
        assert_eq!(rate.delay(Bytes::new(16_500)), Duration::from_millis(10));
        assert_eq!(leave(&mut rate, 11, 11, 1, 20_000), [Duration::from_millis(11)]);
        assert_eq!(rate.mean, Rate::from_bits_per_sec(11_550_000 + 1_500_000));
    }

    /// A queue below the threshold starts no cycle; a cycle under way is completed, and then the last mean is kept.
    #[test]
    fn short_queue() {
        let mut rate = DepartureRate::default();
        assert_eq!(leave(&mut rate, 0, 100, 1, 16_383), []);
        assert_eq!(leave(&mut rate, 200, 1, 1, 16_384), []);
        assert_eq!(leave(&mut rate, 201, 100, 1, 16_383), [Duration::from_millis(10)]);
        assert_eq!(rate.mean, Rate::from_bits_per_sec(13_200_000));
        assert!(rate.cycle.is_none());
    }

    /// Departures in one nanosecond have no rate: the cycle goes on.
    #[test]
    fn no_time_no_rate() {
        let mut rate = DepartureRate::default();
        assert_eq!(leave(&mut rate, 5, 20, 0, 20_000), []);
        assert_eq!(leave(&mut rate, 26, 1, 1, 20_000), [Duration::from_millis(21)]);
        assert_eq!(rate.mean, Rate::of(Bytes::new(21 * 1_500), Duration::from_millis(21)));
    }
}
