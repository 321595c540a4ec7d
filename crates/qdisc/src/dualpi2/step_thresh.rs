//! The step of the low-latency queue: a time, or a number of packets.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use windtunnel_units::Duration;

/// Above which sojourn time, or queue length, packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepThresh {
    /// A sojourn time.
    Time(Duration),
    /// Packets left in the low-latency queue.
    Packets(u32),
}

impl fmt::Display for StepThresh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StepThresh::Time(time) => time.fmt(f),
            StepThresh::Packets(packets) => write!(f, "{packets} packets"),
        }
    }
}

impl FromStr for StepThresh {
    type Err = String;

    fn from_str(text: &str) -> Result<StepThresh, String> {
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end();
        match text[number.len()..].trim_start() {
            "packet" | "packets" => number.parse().map(StepThresh::Packets).map_err(|_| {
                format!("`{text}` is no number of packets: write a whole number, as in \"5 packets\"")
            }),
            _ => text.parse().map(StepThresh::Time).map_err(|error: windtunnel_units::parse::ParseError| {
                format!("{error}; or a number of packets, as in \"5 packets\"")
            }),
        }
    }
}

impl Serialize for StepThresh {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for StepThresh {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<StepThresh, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for StepThresh {
    fn schema_name() -> Cow<'static, str> {
        "StepThresh".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["1 ms", "5 packets"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed is read again.
    #[test]
    fn round_trip() {
        for step in [StepThresh::Time(Duration::from_micros(1_500)), StepThresh::Packets(5)] {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
        assert_eq!("1 packet".parse(), Ok(StepThresh::Packets(1)));
        assert_eq!("0 s".parse(), Ok(StepThresh::Time(Duration::ZERO)));
        for wrong in ["", "5", "packets", "1.5 packets", "-1 packets", "1 parsec"] {
            let error = wrong.parse::<StepThresh>().unwrap_err();
            assert!(error.contains("5 packets"), "{error}");
        }
    }
}
