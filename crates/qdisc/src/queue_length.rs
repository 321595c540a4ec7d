//! How long a queue is: in packets, in bytes, or in time. One way to write it serves limits and thresholds.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use windtunnel_units::parse::number_with_unit;
use windtunnel_units::{Bytes, Duration};

/// A length of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLength {
    /// In packets.
    Packets(usize),
    /// In bytes.
    Bytes(Bytes),
    /// In time.
    Time(Duration),
}

impl QueueLength {
    /// The most packets: all numbers up to it are written and read exactly.
    const MOST: f64 = 1e15;

    /// All units that one may have.
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

impl fmt::Display for QueueLength {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLength::Packets(1) => f.write_str("1 packet"),
            QueueLength::Packets(n) => write!(f, "{n} packets"),
            QueueLength::Bytes(bytes) => bytes.fmt(f),
            QueueLength::Time(time) => time.fmt(f),
        }
    }
}

impl FromStr for QueueLength {
    type Err = String;

    fn from_str(text: &str) -> Result<QueueLength, String> {
        let number = number_with_unit(text, "a length of a queue", "20 packets", QueueLength::UNITS);
        let number = number.map_err(|error| error.to_string())?;
        if text.contains("packet") {
            if number < 0.0 || number.fract() > 0.0 || number > QueueLength::MOST {
                return Err(format!("`{text}` is not a whole number of packets"));
            }
            return Ok(QueueLength::Packets(number as usize));
        }
        match (text.parse(), text.parse()) {
            (Ok(bytes), _) => Ok(QueueLength::Bytes(bytes)),
            (_, Ok(time)) => Ok(QueueLength::Time(time)),
            (_, Err(error)) => Err(error.to_string()),
        }
    }
}

impl Serialize for QueueLength {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for QueueLength {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueueLength, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for QueueLength {
    fn schema_name() -> Cow<'static, str> {
        "QueueLength".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["20 packets", "30 kB", "1 ms"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is printed is read again, and what is no length names its units.
    #[test]
    fn round_trip() {
        for length in [
            QueueLength::Time(Duration::from_micros(1_500)),
            QueueLength::Bytes(Bytes::new(1_500)),
            QueueLength::Packets(5),
            QueueLength::Packets(1),
            QueueLength::Packets(0),
        ] {
            assert_eq!(length.to_string().parse(), Ok(length));
        }
        assert_eq!("0 s".parse(), Ok(QueueLength::Time(Duration::ZERO)));
        for wrong in ["", "5", "packets", "1.5 packets", "-1 packets", "2e15 packets", "1 parsec"] {
            let error = wrong.parse::<QueueLength>().unwrap_err();
            assert!(error.contains("packets"), "{error}");
        }
    }
}
