//! A delay that varies from packet to packet (like netem's, with closed forms in place of its tables).
//!
//! A Pareto distribution with mean m and standard deviation s has the shape `1 + sqrt(1 + (m/s)^2)` and the least
//! value `m (shape - 1) / shape`, which follow from `m = shape x / (shape - 1)` and `s^2 = m^2 / (shape (shape -
//! 2))`. The law of Wi-Fi is in [`super::wifi`]; measured delays are a [`TimeDistribution`].

use std::fmt;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::Packet;

use super::due::Held;
use super::wifi::Wifi;
use super::{Element, ElementParams, Passage, Stage, Tally};
use crate::distribution::TimeDistribution;
use crate::random::Random;

/// The mean and the deviation where none is stated.
const USUAL: Duration = Duration::from_millis(1);

/// A delay that varies from packet to packet.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem; private-octopus/c4 (e3377b6) doc/c4-tests.md (wifi)"))]
pub struct JitterParams {
    /// The distribution of the delay: a name, or a table with `kind` (`windtunnel list distributions`), such as measured
    /// values, which has neither `mean` nor `deviation`.
    pub distribution: JitterDistribution,
    /// The mean of the added delay, before truncation at zero. Wi-Fi: the mean that its law aims at; the delays have 0.32 ms
    /// less.
    #[schemars(extend("default" = USUAL))]
    pub mean: Option<Duration>,
    /// Uniform: the half width. Normal and Pareto: the standard deviation. The others have none.
    #[schemars(extend("default" = USUAL))]
    pub deviation: Option<Duration>,
    /// If true, a packet with a short delay overtakes others; if false, no packet leaves before those ahead of it.
    pub reorder: bool,
}

impl Default for JitterParams {
    fn default() -> JitterParams {
        JitterParams::from(Written::default())
    }
}

/// The keys as they are written. What is left out is filled in where the distribution has it.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    distribution: JitterDistribution,
    mean: Option<Duration>,
    deviation: Option<Duration>,
    reorder: bool,
}

impl From<Written> for JitterParams {
    fn from(Written { distribution, mean, deviation, reorder }: Written) -> JitterParams {
        JitterParams {
            mean: mean.or(distribution.has_mean().then_some(USUAL)),
            deviation: deviation.or(distribution.has_deviation().then_some(USUAL)),
            distribution,
            reorder,
        }
    }
}

impl<'de> Deserialize<'de> for JitterParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JitterParams, D::Error> {
        Written::deserialize(deserializer).map(JitterParams::from)
    }
}

/// The distribution of a delay.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum JitterDistribution {
    /// A shape, with a mean.
    Named(JitterShape),
    /// A distribution that has its own keys.
    Table(TimeDistribution),
}

/// The shape of a distribution of delays. Values below zero become zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterShape {
    /// Not at all.
    Fixed,
    /// Evenly, from mean - deviation to mean + deviation.
    Uniform,
    /// Normally.
    Normal,
    /// Pareto (heavy tail above a least delay), with this mean and standard deviation.
    Pareto,
    /// As on 802.11: short deferrals, and retransmissions of some packets, the more of them the larger the mean.
    Wifi,
}

impl Default for JitterDistribution {
    fn default() -> JitterDistribution {
        JitterDistribution::Named(JitterShape::Uniform)
    }
}

impl From<JitterShape> for JitterDistribution {
    fn from(shape: JitterShape) -> JitterDistribution {
        JitterDistribution::Named(shape)
    }
}

impl JitterDistribution {
    const fn has_mean(&self) -> bool {
        matches!(self, JitterDistribution::Named(_))
    }

    const fn has_deviation(&self) -> bool {
        use JitterShape::{Normal, Pareto, Uniform};
        matches!(self, JitterDistribution::Named(Uniform | Normal | Pareto))
    }
}

impl<'de> Deserialize<'de> for JitterDistribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JitterDistribution, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

/// Reads a name, or a table with `kind`. Serde would read an untagged enum through a buffer that forgets the places of the
/// values.
struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = JitterDistribution;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name, or a table with `kind`")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<JitterDistribution, E> {
        JitterShape::deserialize(name.into_deserializer()).map(JitterDistribution::Named)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<JitterDistribution, A::Error> {
        TimeDistribution::deserialize(MapAccessDeserializer::new(table)).map(JitterDistribution::Table)
    }
}

impl Params for JitterParams {
    const NAME: &'static str = "jitter";
    const SUMMARY: &'static str = "A delay that varies from packet to packet";

    fn check(&self) -> Result<(), OutOfRange> {
        let JitterParams { distribution, mean, deviation, .. } = self;
        let has = [
            ("mean", mean, distribution.has_mean(), "nothing: a table has its own keys"),
            (
                "deviation",
                deviation,
                distribution.has_deviation(),
                "nothing: only uniform, normal and pareto have a deviation",
            ),
        ];
        for (key, value, may, allowed) in has {
            match value {
                Some(value) if !may => return Err(OutOfRange::new(key, value, allowed)),
                Some(value) if value.is_zero() && *distribution == JitterShape::Pareto.into() => {
                    return Err(OutOfRange::new(key, value, "more than 0 s for a Pareto distribution"));
                }
                _ => {}
            }
        }
        match distribution {
            JitterDistribution::Table(table) => table.check("distribution"),
            JitterDistribution::Named(_) => Ok(()),
        }
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

/// How delays are drawn. Times are in nanoseconds.
#[derive(Debug)]
enum Law {
    Fixed { mean: f64 },
    Uniform { mean: f64, deviation: f64 },
    Normal { mean: f64, deviation: f64 },
    Pareto { least: f64, shape: f64 },
    Wifi(Wifi),
    Table(TimeDistribution),
}

impl Law {
    fn new(params: &JitterParams) -> Law {
        let [mean, deviation] =
            [params.mean, params.deviation].map(|time| time.unwrap_or(USUAL).as_nanos_f64());
        match &params.distribution {
            JitterDistribution::Table(table) => Law::Table(table.clone()),
            JitterDistribution::Named(shape) => match shape {
                JitterShape::Fixed => Law::Fixed { mean },
                JitterShape::Uniform => Law::Uniform { mean, deviation },
                JitterShape::Normal => Law::Normal { mean, deviation },
                JitterShape::Pareto => {
                    let ratio = mean / deviation;
                    let shape = 1.0 + libm::sqrt(1.0 + ratio * ratio);
                    Law::Pareto { least: mean * (shape - 1.0) / shape, shape }
                }
                JitterShape::Wifi => Law::Wifi(Wifi::new(mean)),
            },
        }
    }

    fn draw(&self, random: &mut Random) -> Duration {
        let nanos = match self {
            Law::Fixed { mean } => *mean,
            Law::Uniform { mean, deviation } => mean + deviation * (2.0 * random.uniform() - 1.0),
            Law::Normal { mean, deviation } => mean + deviation * random.normal(),
            Law::Pareto { least, shape } => least / libm::pow(1.0 - random.uniform(), 1.0 / shape),
            Law::Wifi(wifi) => wifi.draw(random),
            Law::Table(table) => return random.draw(table),
        };
        Duration::from_nanos_f64(nanos)
    }
}

/// Delays packets by a random time.
#[derive(Debug)]
struct Jitter {
    law: Law,
    random: Random,
    held: Held,
}

impl Jitter {
    fn new(params: &JitterParams, random: RandomStream) -> Jitter {
        Jitter { law: Law::new(params), random: Random::from(random), held: Held::new(params.reorder) }
    }
}

impl Element for Jitter {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        let due = now + self.law.draw(&mut self.random);
        self.held.enter(packet, due, now)
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        self.held.release(now, tally)
    }
}
