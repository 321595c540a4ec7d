//! A delay that varies from packet to packet (like netem's, with closed forms in place of its tables).
//!
//! A Pareto distribution with mean m and standard deviation s has the shape `1 + sqrt(1 + (m/s)^2)` and the least
//! value `m (shape - 1) / shape`, which follow from `m = shape x / (shape - 1)` and `s^2 = m^2 / (shape (shape -
//! 2))`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::Packet;

use super::due::Held;
use super::{Element, ElementParams, Passage, Stage, Tally};
use crate::random::Random;

/// A delay that varies from packet to packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct JitterParams {
    /// The distribution of the delay.
    pub distribution: JitterDistribution,
    /// The mean of the added delay, before truncation at zero.
    pub mean: Duration,
    /// Uniform: the half width. Normal and Pareto: the standard deviation.
    pub deviation: Duration,
    /// If true, a packet with a short delay overtakes others; if false, no packet leaves before those ahead of it.
    pub reorder: bool,
}

impl Default for JitterParams {
    fn default() -> JitterParams {
        JitterParams {
            distribution: JitterDistribution::default(),
            mean: Duration::from_millis(1),
            deviation: Duration::from_millis(1),
            reorder: false,
        }
    }
}

/// The distribution of a delay. Values below zero become zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterDistribution {
    /// Not at all.
    Fixed,
    /// Evenly, from mean - deviation to mean + deviation.
    #[default]
    Uniform,
    /// Normally.
    Normal,
    /// Pareto (heavy tail above a least delay), with this mean and standard deviation.
    Pareto,
}

impl Params for JitterParams {
    const NAME: &'static str = "jitter";
    const SUMMARY: &'static str = "A delay that varies from packet to packet";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.distribution == JitterDistribution::Pareto
            && (self.mean.is_zero() || self.deviation.is_zero())
        {
            let (key, value) =
                if self.mean.is_zero() { ("mean", self.mean) } else { ("deviation", self.deviation) };
            return Err(OutOfRange::new(key, value, "more than 0 s for a Pareto distribution"));
        }
        Ok(())
    }
}

impl ElementParams for JitterParams {
    fn stage(&self) -> Stage {
        Stage::Delay
    }

    fn keeps_order(&self) -> bool {
        !self.reorder
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(Jitter::new(self, random))
    }
}

/// Delays packets by a random time.
#[derive(Debug)]
struct Jitter {
    distribution: JitterDistribution,
    /// In nanoseconds.
    mean: f64,
    deviation: f64,
    random: Random,
    held: Held,
}

impl Jitter {
    fn new(params: &JitterParams, random: RandomStream) -> Jitter {
        Jitter {
            distribution: params.distribution,
            mean: params.mean.as_nanos_f64(),
            deviation: params.deviation.as_nanos_f64(),
            random: Random::from(random),
            held: Held::new(params.reorder),
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

impl Element for Jitter {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        let due = now + self.delay();
        self.held.enter(packet, due, now)
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        self.held.release(now, tally)
    }
}
