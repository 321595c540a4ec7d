//! Distributions of sizes and times.
//!
//! Values are drawn by inversion, from one uniform number each (two for the log-normal), so that a stream's n-th
//! value does not depend on the values before it.

use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

/// A distribution of sizes.
pub type SizeDistribution = Distribution<Bytes>;
/// A distribution of times.
pub type TimeDistribution = Distribution<Duration>;

/// The kind of quantity that a distribution yields.
pub trait Quantity: Copy + PartialOrd + fmt::Display {
    /// Zero.
    const ZERO: Self;
    /// As a plain number.
    fn to_f64(self) -> f64;
    /// From a plain number, truncated.
    fn from_f64(x: f64) -> Self;
}

impl Quantity for Bytes {
    const ZERO: Bytes = Bytes::ZERO;
    fn to_f64(self) -> f64 {
        self.as_f64()
    }
    fn from_f64(x: f64) -> Bytes {
        Bytes::from_f64(x)
    }
}

impl Quantity for Duration {
    const ZERO: Duration = Duration::ZERO;
    fn to_f64(self) -> f64 {
        self.as_nanos_f64()
    }
    fn from_f64(x: f64) -> Duration {
        Duration::from_nanos_f64(x)
    }
}

/// A distribution of sizes or times.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(transform = or_a_value)]
pub enum Distribution<Q> {
    /// Always the same value.
    Fixed {
        /// The value.
        value: Q,
    },
    /// Evenly between two values.
    Uniform {
        /// The least.
        min: Q,
        /// The largest.
        max: Q,
    },
    /// Exponential: without memory.
    Exponential {
        /// The mean.
        mean: Q,
    },
    /// Pareto, bounded: a heavy tail that ends somewhere.
    Pareto {
        /// The least.
        min: Q,
        /// The largest.
        max: Q,
        /// The tail's exponent: 1.1 to 1.3 for files of the web (Crovella 1997).
        shape: f64,
    },
    /// Log-normal.
    Lognormal {
        /// The median.
        median: Q,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Measured values, each as likely as the others.
    Listed {
        /// The values, in any order.
        values: Vec<Q>,
    },
    /// A measured distribution: its cumulative distribution function, straight between the points.
    Empirical {
        /// Points in order; the last one has probability 1. If the first one is above 0, it is the probability of
        /// exactly that value.
        points: Vec<CdfPoint<Q>>,
    },
}

/// A point of a cumulative distribution function.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdfPoint<Q> {
    /// The value.
    pub value: Q,
    /// The probability of this value or less.
    pub probability: Probability,
}

/// A distribution as it is written: its kind, and the keys of all kinds. Serde would read a tagged enum through a buffer
/// that forgets the places of the values, and would take a list for a table.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written<Q> {
    kind: Option<Kind>,
    value: Option<Q>,
    min: Option<Q>,
    max: Option<Q>,
    mean: Option<Q>,
    shape: Option<f64>,
    median: Option<Q>,
    sigma: Option<f64>,
    values: Option<Vec<Q>>,
    points: Option<Vec<CdfPoint<Q>>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Fixed,
    Uniform,
    Exponential,
    Pareto,
    Lognormal,
    Listed,
    Empirical,
}

/// The kinds, as messages list them.
const KINDS: &str = "fixed, uniform, exponential, pareto, lognormal, listed, empirical";

impl Kind {
    /// Its name and its keys.
    const fn keys(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::Fixed => ("fixed", &["value"]),
            Kind::Uniform => ("uniform", &["min", "max"]),
            Kind::Exponential => ("exponential", &["mean"]),
            Kind::Pareto => ("pareto", &["min", "max", "shape"]),
            Kind::Lognormal => ("lognormal", &["median", "sigma"]),
            Kind::Listed => ("listed", &["values"]),
            Kind::Empirical => ("empirical", &["points"]),
        }
    }
}

impl<Q> Written<Q> {
    /// The keys that were written, but for `kind`.
    fn keys(&self) -> Vec<&'static str> {
        let Written { kind: _, value, min, max, mean, shape, median, sigma, values, points } = self;
        let all = [
            ("value", value.is_some()),
            ("min", min.is_some()),
            ("max", max.is_some()),
            ("mean", mean.is_some()),
            ("shape", shape.is_some()),
            ("median", median.is_some()),
            ("sigma", sigma.is_some()),
            ("values", values.is_some()),
            ("points", points.is_some()),
        ];
        all.into_iter().filter(|(_, is_written)| *is_written).map(|(key, _)| key).collect()
    }

    /// The distribution, if the keys are those of the kind; else what is wrong.
    fn distribution(self) -> Result<Distribution<Q>, String> {
        let kind =
            self.kind.ok_or_else(|| format!("needs `kind`, one of {KINDS}; a value alone is fixed"))?;
        let (name, keys) = kind.keys();
        let written = self.keys();
        let wrong = written
            .iter()
            .find(|key| !keys.contains(key))
            .map(|key| format!("`{key}` is not a key of `{name}`"));
        let missing =
            keys.iter().find(|key| !written.contains(key)).map(|key| format!("`{name}` needs `{key}`"));
        if let Some(problem) = wrong.or(missing) {
            return Err(format!("{problem}; its keys are {}", keys.join(", ")));
        }
        let Written { kind: _, value, min, max, mean, shape, median, sigma, values, points } = self;
        let distribution = match kind {
            Kind::Fixed => value.map(|value| Distribution::Fixed { value }),
            Kind::Uniform => min.zip(max).map(|(min, max)| Distribution::Uniform { min, max }),
            Kind::Exponential => mean.map(|mean| Distribution::Exponential { mean }),
            Kind::Pareto => {
                let ends = min.zip(max).zip(shape);
                ends.map(|((min, max), shape)| Distribution::Pareto { min, max, shape })
            }
            Kind::Lognormal => {
                median.zip(sigma).map(|(median, sigma)| Distribution::Lognormal { median, sigma })
            }
            Kind::Listed => values.map(|values| Distribution::Listed { values }),
            Kind::Empirical => points.map(|points| Distribution::Empirical { points }),
        };
        distribution.ok_or_else(|| format!("`{name}` needs {}", keys.join(", ")))
    }
}

impl<'de, Q: Deserialize<'de>> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution<Q>, D::Error> {
        deserializer.deserialize_any(Reader(PhantomData))
    }
}

/// Reads a table with `kind`, or a value, which is fixed.
struct Reader<Q>(PhantomData<Q>);

impl<'de, Q: Deserialize<'de>> Visitor<'de> for Reader<Q> {
    type Value = Distribution<Q>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value, or a table with `kind`, one of {KINDS}")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Distribution<Q>, E> {
        let kind = Kind::deserialize(text.into_deserializer()).map_err(|_: serde::de::value::Error| ());
        if let Ok(kind) = kind {
            let (name, keys) = kind.keys();
            return Err(E::custom(format!(
                "`{name}` is a kind: write {{ kind = \"{name}\", {} = ... }}",
                keys.join(" = ..., ")
            )));
        }
        Q::deserialize(text.into_deserializer()).map(|value| Distribution::Fixed { value })
    }

    /// Quantities say themselves that a number has no unit.
    fn visit_i64<E: Error>(self, number: i64) -> Result<Distribution<Q>, E> {
        Q::deserialize(number.into_deserializer()).map(|value| Distribution::Fixed { value })
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Distribution<Q>, E> {
        Q::deserialize(number.into_deserializer()).map(|value| Distribution::Fixed { value })
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Distribution<Q>, A::Error> {
        Written::deserialize(MapAccessDeserializer::new(table))?.distribution().map_err(A::Error::custom)
    }
}

/// Adds what the derived schema does not know: a value alone.
fn or_a_value(schema: &mut Schema) {
    let alone = json_schema!({ "type": "string", "description": "A value alone: always this one." });
    if let Some(kinds) = schema.get_mut("oneOf").and_then(|kinds| kinds.as_array_mut()) {
        kinds.push(alone.to_value());
    }
}

impl<Q: Quantity> Distribution<Q> {
    /// Checks that the parameters make a distribution; `key` is its name in a scenario.
    pub fn check(&self, key: &'static str) -> Result<(), OutOfRange> {
        let fault = |value: &dyn fmt::Display, allowed| Err(OutOfRange::new(key, value, allowed));
        match self {
            Distribution::Uniform { min, max } if min > max => fault(min, "min at most max"),
            Distribution::Exponential { mean } if *mean <= Q::ZERO => fault(mean, "a mean of more than 0"),
            Distribution::Pareto { min, max, .. } if *min <= Q::ZERO || min >= max => {
                fault(min, "min more than 0 and less than max")
            }
            Distribution::Pareto { shape, .. } if !(0.01..=100.0).contains(shape) => {
                fault(shape, "shape 0.01 to 100")
            }
            Distribution::Lognormal { median, .. } if *median <= Q::ZERO => {
                fault(median, "a median of more than 0")
            }
            Distribution::Lognormal { sigma, .. } if !(0.0..=10.0).contains(sigma) => {
                fault(sigma, "sigma 0 to 10")
            }
            Distribution::Listed { values } if values.is_empty() => fault(&"no value", "at least one value"),
            Distribution::Empirical { points } => check_points(key, points),
            Distribution::Fixed { .. }
            | Distribution::Uniform { .. }
            | Distribution::Exponential { .. }
            | Distribution::Pareto { .. }
            | Distribution::Lognormal { .. }
            | Distribution::Listed { .. } => Ok(()),
        }
    }

    /// The mean.
    pub fn mean(&self) -> f64 {
        match self {
            Distribution::Fixed { value } => value.to_f64(),
            Distribution::Uniform { min, max } => f64::midpoint(min.to_f64(), max.to_f64()),
            Distribution::Exponential { mean } => mean.to_f64(),
            Distribution::Pareto { min, max, shape } => pareto_mean(min.to_f64(), max.to_f64(), *shape),
            Distribution::Lognormal { median, sigma } => median.to_f64() * libm::exp(sigma * sigma / 2.0),
            Distribution::Listed { values } => {
                values.iter().map(|value| value.to_f64()).sum::<f64>() / values.len() as f64
            }
            Distribution::Empirical { points } => empirical_mean(points),
        }
    }
}

fn check_points<Q: Quantity>(key: &'static str, points: &[CdfPoint<Q>]) -> Result<(), OutOfRange> {
    match points.last() {
        None => return Err(OutOfRange::new(key, "no point", "at least one point")),
        Some(last) if last.probability < Probability::ONE => {
            return Err(OutOfRange::new(key, last.probability, "a last point with probability 1"));
        }
        Some(_) => {}
    }
    let falls =
        |pair: &&[CdfPoint<Q>]| pair[0].value > pair[1].value || pair[0].probability > pair[1].probability;
    match points.windows(2).find(falls) {
        Some(pair) => Err(OutOfRange::new(key, pair[1].value, "points in order of value and probability")),
        None => Ok(()),
    }
}

/// The mean of a Pareto distribution truncated at both ends.
fn pareto_mean(low: f64, high: f64, shape: f64) -> f64 {
    if (shape - 1.0).abs() < 1e-9 {
        return low * high / (high - low) * libm::log(high / low);
    }
    let cut = 1.0 - libm::pow(low / high, shape);
    shape / (shape - 1.0) * (low - high * libm::pow(low / high, shape)) / cut
}

/// The mean of each step's two values, weighted by the step's probability.
fn empirical_mean<Q: Quantity>(points: &[CdfPoint<Q>]) -> f64 {
    let mut mean = points.first().map_or(0.0, |first| first.value.to_f64() * first.probability.get());
    for pair in points.windows(2) {
        let share = pair[1].probability.get() - pair[0].probability.get();
        mean += share * f64::midpoint(pair[0].value.to_f64(), pair[1].value.to_f64());
    }
    mean
}

/// The value below which a bounded Pareto distribution has the share `u`.
pub(crate) fn pareto(u: f64, low: f64, high: f64, shape: f64) -> f64 {
    let cut = 1.0 - libm::pow(low / high, shape);
    low / libm::pow(1.0 - u * cut, 1.0 / shape)
}

/// The value of a list at the share `u` of it.
pub(crate) fn listed<Q: Quantity>(u: f64, values: &[Q]) -> Q {
    let index = (u * values.len() as f64) as usize;
    values.get(index).or(values.last()).map_or(Q::ZERO, |value| *value)
}

/// The value below which a measured distribution has the share `u`.
pub(crate) fn empirical<Q: Quantity>(u: f64, points: &[CdfPoint<Q>]) -> Q {
    let above = points.partition_point(|point| point.probability.get() <= u);
    let (Some(right), Some(left)) = (points.get(above), above.checked_sub(1).map(|left| points[left])) else {
        return points.get(above).or(points.last()).map_or(Q::ZERO, |point| point.value);
    };
    let (low, high) = (left.value.to_f64(), right.value.to_f64());
    let step = right.probability.get() - left.probability.get();
    Q::from_f64(low + (high - low) * (u - left.probability.get()) / step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    const N: usize = 40_000;

    fn samples(distribution: &SizeDistribution) -> Vec<f64> {
        distribution.check("size").unwrap();
        let mut random = Random::new(7);
        (0..N).map(|_| random.draw(distribution).as_f64()).collect()
    }

    /// Kolmogorov-Smirnov against the closed form, at 1 in 1000. Truncation to whole bytes is small compared with the
    /// spread.
    fn assert_distribution(distribution: &SizeDistribution, cdf: impl Fn(f64) -> f64) {
        let mut samples = samples(distribution);
        samples.sort_by(f64::total_cmp);
        let rank = |i: usize| i as f64 / N as f64;
        let distance = samples
            .iter()
            .enumerate()
            .fold(0.0_f64, |d, (i, x)| d.max((cdf(*x) - rank(i)).abs()).max((cdf(*x) - rank(i + 1)).abs()));
        assert!(distance < 1.95 / libm::sqrt(N as f64), "{distribution:?}: {distance}");
    }

    /// The mean of the drawn values against the stated mean, within 4 measured standard errors.
    fn assert_mean(distribution: &SizeDistribution) {
        let samples = samples(distribution);
        let mean = samples.iter().sum::<f64>() / N as f64;
        let variance = samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / N as f64;
        let error = 4.0 * libm::sqrt(variance / N as f64) + 1.0;
        assert!(
            (mean - distribution.mean()).abs() < error,
            "{distribution:?}: {mean} of {}",
            distribution.mean()
        );
    }

    /// Each distribution against its closed form and its stated mean.
    #[test]
    fn draws_have_their_distribution() {
        let bytes = Bytes::new;
        let mb = 1e6;
        let exponential = SizeDistribution::Exponential { mean: bytes(1_000_000) };
        assert_distribution(&exponential, |x| 1.0 - libm::exp(-x / mb));
        let uniform = SizeDistribution::Uniform { min: bytes(1_000_000), max: bytes(3_000_000) };
        assert_distribution(&uniform, |x| (x - mb) / (2.0 * mb));
        let lognormal = SizeDistribution::Lognormal { median: bytes(1_000_000), sigma: 0.7 };
        let normal = |z: f64| 0.5 * (1.0 + libm::erf(z / libm::sqrt(2.0)));
        assert_distribution(&lognormal, |x| normal(libm::log(x / mb) / 0.7));
        for shape in [1.0, 1.2, 3.0] {
            let pareto = SizeDistribution::Pareto { min: bytes(1_000_000), max: bytes(100_000_000), shape };
            let tail = |x: f64| libm::pow(mb / x.max(mb), shape);
            assert_distribution(&pareto, |x| (1.0 - tail(x)) / (1.0 - tail(100.0 * mb)));
            assert_mean(&pareto);
        }
        [exponential, uniform, lognormal].iter().for_each(assert_mean);
    }

    /// A measured distribution: the atom at its first point, and straight lines between points. By hand: half of the flows
    /// are 1 kB, the others evenly between 1 and 9 kB up to 90 %, and up to 100 kB above; the mean is 0.5 * 1 + 0.4 * 5 +
    /// 0.1 * 54.5 kB.
    #[test]
    fn measured_distributions() {
        let point =
            |value, p| CdfPoint { value: Bytes::new(value), probability: Probability::new(p).unwrap() };
        let points = vec![point(1_000, 0.5), point(9_000, 0.9), point(100_000, 1.0)];
        assert_eq!(empirical(0.0, &points), Bytes::new(1_000));
        assert_eq!(empirical(0.4999, &points), Bytes::new(1_000));
        assert_eq!(empirical(0.7, &points), Bytes::new(4_999));
        assert_eq!(empirical(0.95, &points), Bytes::new(54_499));
        let distribution = SizeDistribution::Empirical { points };
        assert!((distribution.mean() - 7_950.0).abs() < 1e-6, "{}", distribution.mean());
        assert_mean(&distribution);
        let falls = SizeDistribution::Empirical { points: vec![point(2, 0.5), point(1, 1.0)] };
        assert!(falls.check("size").is_err());
        let open = SizeDistribution::Empirical { points: vec![point(2, 0.5)] };
        assert!(open.check("size").is_err());
    }

    /// A list: each value has an equal share of the numbers from 0 to 1, in any order, and one that occurs twice has two. By
    /// hand: the mean of 4, 1, 1 and 10 kB is 4 kB.
    #[test]
    fn listed_values() {
        let values = [4_000, 1_000, 1_000, 10_000].map(Bytes::new).to_vec();
        let at = |u| listed(u, &values).get();
        assert_eq!(
            [0.0, 0.2499, 0.25, 0.7499, 0.75, 0.9999].map(at),
            [4_000, 4_000, 1_000, 1_000, 10_000, 10_000]
        );
        let distribution = SizeDistribution::Listed { values };
        assert!((distribution.mean() - 4_000.0).abs() < 1e-9);
        assert_mean(&distribution);
        assert!(SizeDistribution::Listed { values: Vec::new() }.check("size").is_err());
    }

    /// As in a scenario: a table with `kind`.
    #[test]
    fn reads_a_table() {
        let text = r#"{"kind": "pareto", "min": "4 kB", "max": "10 MB", "shape": 1.2}"#;
        let read: SizeDistribution = serde_json::from_str(text).unwrap();
        assert_eq!(
            read,
            SizeDistribution::Pareto { min: Bytes::new(4_000), max: Bytes::new(10_000_000), shape: 1.2 }
        );
        let text = r#"{"kind": "fixed", "value": "20 ms"}"#;
        let read: TimeDistribution = serde_json::from_str(text).unwrap();
        assert_eq!(read, TimeDistribution::Fixed { value: Duration::from_millis(20) });
        assert!(serde_json::from_str::<TimeDistribution>(r#"{"kind": "fixed", "mean": "20 ms"}"#).is_err());
    }
}
