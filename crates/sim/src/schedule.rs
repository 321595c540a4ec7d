//! When something planned happens: at a time, or when the state of a flow's controller calls for it.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use windtunnel_units::{Duration, OutOfRange, Time};

/// The first ACK of a flow after which a number of its sender's state has a value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The flow, numbered from 0 on in the order of the scenario.
    pub flow: u32,
    /// A column of the table `cc`, such as BBR's `mode`; or `cwnd_bytes`, `in_flight_bytes`, `srtt_ms`.
    pub column: String,
    /// The column has this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<f64>,
    /// The column is above this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<f64>,
    /// The column is below this value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<f64>,
    /// How long after that ACK it happens.
    #[serde(default)]
    pub after: Duration,
    /// ACKs before this time do not count.
    #[serde(default)]
    pub not_before: Time,
}

impl When {
    /// Checks that there is a condition.
    ///
    /// # Errors
    /// If there is none, or one that nothing meets.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let bounds = [self.above, self.below].iter().flatten().count();
        if (bounds > 0) == self.equals.is_some() {
            let what = "either `equals`, or `above` or `below` or both";
            return Err(OutOfRange::missing("equals", what));
        }
        match (self.above, self.below) {
            (Some(above), Some(below)) if above >= below => {
                Err(OutOfRange::new("above", above, "less than `below`"))
            }
            _ => Ok(()),
        }
    }

    /// Whether this value meets the condition.
    pub(crate) fn holds(&self, value: f64) -> bool {
        #[expect(
            clippy::float_cmp,
            reason = "states are whole numbers, and other values are compared as they are"
        )]
        let equal = self.equals.is_none_or(|equals| value == equals);
        equal && self.above.is_none_or(|above| value > above) && self.below.is_none_or(|below| value < below)
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "flow {}, {}", self.flow, self.column)?;
        let conditions = [("=", self.equals), (">", self.above), ("<", self.below)];
        let mut parts = conditions.iter().filter_map(|(sign, value)| value.map(|value| (sign, value)));
        parts.try_for_each(|(sign, value)| write!(f, " {sign} {value}"))
    }
}

/// When something happens.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Moment {
    /// At a time.
    At(Time),
    /// When the state of a flow's controller calls for it.
    When(Box<When>),
}

impl Moment {
    /// The time, if it is known before the run.
    pub const fn time(&self) -> Option<Time> {
        match self {
            Moment::At(time) => Some(*time),
            Moment::When(_) => None,
        }
    }

    /// That of a change: its time, or else its condition; nothing without both.
    pub fn of(at: Option<Time>, when: Option<&When>) -> Option<Moment> {
        at.map(Moment::At).or_else(|| when.map(|when| Moment::When(Box::new(when.clone()))))
    }

    /// The same, later by `wait`.
    #[must_use]
    pub fn later(&self, wait: Duration) -> Moment {
        match self {
            Moment::At(time) => Moment::At(*time + wait),
            Moment::When(when) => {
                Moment::When(Box::new(When { after: when.after + wait, ..When::clone(when) }))
            }
        }
    }
}

impl Default for Moment {
    fn default() -> Moment {
        Moment::At(Time::ZERO)
    }
}

impl From<Time> for Moment {
    fn from(time: Time) -> Moment {
        Moment::At(time)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Moment, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Moment;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"5 s\", or a table { flow, column, equals | above | below }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Moment, E> {
                Time::deserialize(StrDeserializer::new(text)).map(Moment::At)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Moment, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<Moment, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Moment, A::Error> {
                Box::deserialize(MapAccessDeserializer::new(map)).map(Moment::When)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JsonSchema for Moment {
    fn schema_name() -> Cow<'static, str> {
        "Moment".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        schemars::json_schema!({
            "description": "A time, or the first ACK after which a flow's controller is in a state.",
            "anyOf": [generator.subschema_for::<Time>(), generator.subschema_for::<When>()]
        })
    }
}

/// A span of time in which something is so.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct During {
    /// From this moment on.
    pub from: Moment,
    /// Up to this moment; if left out, up to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Moment>,
    /// The span starts again after each such period.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
}

/// Checks that a change has either a time, later than `last`, or a condition.
///
/// # Errors
/// For the key `key`, if it has neither or both, or if the condition is none.
pub(crate) fn check_moment(
    key: &'static str,
    at: Option<Time>,
    when: Option<&When>,
    last: &mut Option<Time>,
) -> Result<(), OutOfRange> {
    match (at, when) {
        (Some(at), None) => match last.replace(at).filter(|last| *last >= at) {
            Some(_) => Err(OutOfRange::new(key, at, "in order of time, each later than the one before")),
            None => Ok(()),
        },
        (None, Some(when)) => when.check(),
        (None, None) => Err(OutOfRange::missing(key, "either `at` or `when` for each change")),
        (Some(at), Some(_)) => {
            Err(OutOfRange::new(key, at, "either `at` or `when` for each change, not both"))
        }
    }
}

/// The times of something that starts at `first` and returns `every` so often, before `end`.
pub fn repeated(first: Time, every: Option<Duration>, end: Time) -> impl Iterator<Item = Time> {
    let next = move |time: &Time| every.map(|every| *time + every);
    std::iter::successors(Some(first), next).take_while(move |time| *time < end)
}
