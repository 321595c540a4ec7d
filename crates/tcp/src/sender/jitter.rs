//! Scheduling noise of the sender's host.
//!
//! On a real machine the ACK that permits a sender to send does not take effect in the same nanosecond: interrupts,
//! softirqs and other processes come between. After an ACK that finds the sender at rest, the segments that it
//! releases start to leave a random time later, uniform up to a limit; ACKs that arrive meanwhile are served
//! together. This breaks the phase locking of flows that exact clocks cause (Floyd & Jacobson 1992, "On traffic phase
//! effects in packet-switched gateways", who randomise the processing time for the same reason). Retransmissions that
//! a timer asked for are not delayed again.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Duration, Time};

#[derive(Debug)]
pub(super) struct Jitter {
    most: Duration,
    random: RandomStream,
    until: Time,
}

impl Jitter {
    /// None without noise.
    pub(super) fn new(most: Duration, seed: u64) -> Option<Box<Jitter>> {
        let jitter = || Box::new(Jitter { most, random: RandomStream::new(seed), until: Time::ZERO });
        (!most.is_zero()).then(jitter)
    }

    /// An ACK arrived.
    pub(super) fn on_ack(&mut self, now: Time) {
        if now >= self.until {
            self.until = now + self.most.scale(self.random.uniform());
        }
    }

    /// When the sender gets the processor, if it has to wait for it.
    pub(super) fn waits(&self, now: Time) -> Option<Time> {
        (now < self.until).then_some(self.until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The delay is uniform up to the limit, with a mean of half of it (three standard errors of 1000 draws); an ACK
    /// that arrives meanwhile changes nothing; equal seeds give equal times.
    #[test]
    fn uniform() {
        let most = Duration::from_micros(100);
        let times = |seed| -> Vec<u64> {
            let mut jitter = Jitter::new(most, seed).expect("noise");
            let wait = |n: u64| {
                let now = Time::ZERO + Duration::from_millis(n + 1);
                jitter.on_ack(now);
                let until = jitter.until;
                jitter.on_ack(now + Duration::from_nanos(1).min(until.since(now)));
                until.since(now).as_nanos()
            };
            (0..1000).map(wait).collect()
        };
        let first = times(1);
        assert!(first.iter().all(|wait| *wait < 100_000));
        let mean = first.iter().sum::<u64>() as f64 / 1000.0;
        assert!((mean - 50_000.0).abs() < 3.0 * 100_000.0 / f64::sqrt(12.0 * 1000.0), "{mean}");
        assert_eq!(first, times(1));
        assert_ne!(first, times(2));
        assert!(Jitter::new(Duration::ZERO, 1).is_none());
    }

    /// The sender waits until its time has come, and not longer.
    #[test]
    fn waits_until_then() {
        let mut jitter = Jitter::new(Duration::from_micros(100), 1).expect("noise");
        let now = Time::ZERO + Duration::SECOND;
        assert_eq!(jitter.waits(now), None, "no ACK has arrived");
        jitter.on_ack(now);
        let until = jitter.until;
        assert_eq!(jitter.waits(now), Some(until));
        assert_eq!([jitter.waits(until), jitter.waits(until + Duration::SECOND)], [None, None]);
    }
}
