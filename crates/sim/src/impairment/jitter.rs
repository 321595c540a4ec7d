//! A delay that varies from packet to packet (as netem's, with closed forms in place of its tables).
//!
//! A Pareto distribution with mean m and standard deviation s has the shape `1 + sqrt(1 + (m/s)^2)` and the least value
//! `m (shape - 1) / shape`: solved from `m = shape x / (shape - 1)` and `s^2 = m^2 / (shape (shape - 2))`.

use windtunnel_units::{Duration, Time};
use windtunnel_wire::Packet;

use super::Passage;
use super::due::{ByTime, InOrder};
use super::params::{JitterDistribution, JitterParams};
use crate::random::Random;

/// Delays packets by a random time.
#[derive(Debug)]
pub(super) struct Jitter {
    distribution: JitterDistribution,
    /// In nanoseconds.
    mean: f64,
    deviation: f64,
    random: Random,
    held: Held,
}

#[derive(Debug)]
enum Held {
    InOrder(InOrder),
    ByTime(ByTime),
}

impl Jitter {
    pub(super) fn new(params: &JitterParams, seed: u64) -> Jitter {
        Jitter {
            distribution: params.distribution,
            mean: params.mean.as_nanos_f64(),
            deviation: params.deviation.as_nanos_f64(),
            random: Random::new(seed),
            held: if params.reorder {
                Held::ByTime(ByTime::default())
            } else {
                Held::InOrder(InOrder::default())
            },
        }
    }

    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        let due = now + self.delay();
        match &mut self.held {
            Held::InOrder(packets) => packets.enter(packet, due, now),
            Held::ByTime(packets) => packets.enter(packet, due),
        }
    }

    pub(super) fn next_release(&self) -> Time {
        match &self.held {
            Held::InOrder(packets) => packets.next_due(),
            Held::ByTime(packets) => packets.next_due(),
        }
    }

    pub(super) fn release(&mut self, now: Time, reordered: &mut u64) -> Option<Packet> {
        match &mut self.held {
            Held::InOrder(packets) => packets.release(now),
            Held::ByTime(packets) => packets.release(now, reordered),
        }
    }

    fn delay(&mut self) -> Duration {
        let Jitter { distribution, mean, deviation, random, .. } = self;
        let nanos = match distribution {
            JitterDistribution::Fixed => *mean,
            JitterDistribution::Uniform => *mean + *deviation * (2.0 * random.uniform() - 1.0),
            JitterDistribution::Normal => *mean + *deviation * random.normal(),
            JitterDistribution::Pareto => {
                let ratio = *mean / *deviation;
                let shape = 1.0 + libm::sqrt(1.0 + ratio * ratio);
                let least = *mean * (shape - 1.0) / shape;
                least / libm::pow(1.0 - random.uniform(), 1.0 / shape)
            }
        };
        Duration::from_nanos_f64(nanos)
    }
}
