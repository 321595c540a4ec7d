//! The step: marks CE while the queue is longer than a threshold, with no average and no probability.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", 2010, section 3.1 (1), where it decides on arrival and counts
//! packets; RFC 8257 section 2; spec/queues-and-signalling section 16.6. A DCTCP sender measures the fraction of marks, so
//! the queue itself need not smooth anything. A packet is marked if it finds more than the threshold: in packets, in
//! bytes, or in the time that the link takes to send them at its current rate. On departure, what counts is what the
//! packet leaves behind, or how long it has waited: the mark then is one queueing delay younger.
//!
//! The default, 20 packets, is the paper's for 1 Gbit/s; for 10 Gbit/s it has 65. Its guideline is more than
//! `rate * rtt / 7` (section 3.4). Packets that do not understand CE are dropped, as by the switches of the paper
//! (RED with equal thresholds).

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use windtunnel_algorithm::Params;
use windtunnel_units::parse::number_with_unit;
use windtunnel_units::{Bytes, Duration};

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::{AqmInit, BuildAqm};

/// A length of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepThreshold {
    /// In packets.
    Packets(usize),
    /// In bytes.
    Bytes(Bytes),
    /// In time.
    Time(Duration),
}

impl StepThreshold {
    const UNITS: &[(&str, f64)] = &[
        ("packets", 1.0),
        ("packet", 1.0),
        ("B", 1.0),
        ("kB", 1.0),
        ("MB", 1.0),
        ("GB", 1.0),
        ("KiB", 1.0),
        ("MiB", 1.0),
        ("GiB", 1.0),
        ("ns", 1.0),
        ("us", 1.0),
        ("ms", 1.0),
        ("s", 1.0),
    ];
}

impl fmt::Display for StepThreshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepThreshold::Packets(1) => f.write_str("1 packet"),
            StepThreshold::Packets(n) => write!(f, "{n} packets"),
            StepThreshold::Bytes(bytes) => bytes.fmt(f),
            StepThreshold::Time(time) => time.fmt(f),
        }
    }
}

impl FromStr for StepThreshold {
    type Err = String;

    fn from_str(text: &str) -> Result<StepThreshold, String> {
        let number = number_with_unit(text, "a threshold", "20 packets", StepThreshold::UNITS);
        let number = number.map_err(|error| error.to_string())?;
        if text.contains("packet") {
            if number < 0.0 || number.fract() > 0.0 || number > f64::from(u32::MAX) {
                return Err(format!("`{text}` is not a whole number of packets"));
            }
            return Ok(StepThreshold::Packets(number as usize));
        }
        match (text.parse(), text.parse()) {
            (Ok(bytes), _) => Ok(StepThreshold::Bytes(bytes)),
            (_, Ok(time)) => Ok(StepThreshold::Time(time)),
            (_, Err(error)) => Err(error.to_string()),
        }
    }
}

impl Serialize for StepThreshold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepThreshold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StepThreshold, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for StepThreshold {
    fn schema_name() -> Cow<'static, str> {
        "StepThreshold".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["20 packets", "30 kB", "1 ms"] })
    }
}

/// When a packet is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPoint {
    /// When it arrives.
    #[default]
    Enqueue,
    /// When it leaves.
    Dequeue,
}

/// The threshold, and where it is applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Alizadeh et al. 2010; RFC 8257"))]
pub struct StepParams {
    /// The length of the queue above which packets are marked: packets, bytes, or time.
    pub threshold: StepThreshold,
    /// Whether a packet is marked for what it finds when it arrives, or for what it leaves behind.
    pub at: StepPoint,
}

impl Default for StepParams {
    fn default() -> StepParams {
        StepParams { threshold: StepThreshold::Packets(20), at: StepPoint::default() }
    }
}

impl Params for StepParams {
    const NAME: &'static str = "step";
    const SUMMARY: &'static str =
        "DCTCP's step: marks every packet while the queue is longer than a threshold";
}

impl BuildAqm for StepParams {
    type Aqm = Step;

    fn target(&self) -> Option<Duration> {
        match self.threshold {
            StepThreshold::Time(time) => Some(time),
            StepThreshold::Packets(_) | StepThreshold::Bytes(_) => None,
        }
    }

    fn aqm(&self, _init: &AqmInit) -> Step {
        Step { params: self.clone() }
    }
}

/// The step. It has no variables.
#[derive(Clone, Debug)]
pub struct Step {
    params: StepParams,
}

impl Step {
    /// The verdict in front of `queue`, which takes `delay` to send.
    #[inline]
    fn verdict(&self, queue: &QueueView, delay: impl FnOnce() -> Duration) -> Verdict {
        let above = match self.params.threshold {
            StepThreshold::Packets(threshold) => queue.packets > threshold,
            StepThreshold::Bytes(threshold) => queue.bytes > threshold,
            StepThreshold::Time(threshold) => delay() > threshold,
        };
        if above { Verdict::Mark(Signal::Ce) } else { Verdict::Pass }
    }
}

impl Aqm for Step {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.params.at {
            StepPoint::Enqueue => self.verdict(queue, || queue.rate.transfer_time(queue.bytes)),
            StepPoint::Dequeue => Verdict::Pass,
        }
    }

    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.params.at {
            StepPoint::Enqueue => Verdict::Pass,
            StepPoint::Dequeue => self.verdict(queue, || packet.sojourn),
        }
    }
}
