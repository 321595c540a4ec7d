//! Growth of a window that is not used up: who may grow cwnd, and how far.
//!
//! The application or the receiver, not cwnd, limits a sender for a while. Its ACKs then show less than cwnd allows, and
//! the RFCs differ in what they may do: RFC 5681 lets every ACK grow cwnd, RFC 9002 section 7.8 none, and
//! draft-ietf-ccwg-ratelimited-increase (01025d8, 2026) lets cwnd grow as far as what was in flight would have taken
//! it. Linux has a rule of its own (`tcp_cwnd_validate`).

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::StrDeserializer;
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize};

/// Which ACKs grow cwnd while something else limits the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GrowthGate {
    /// Those within a window after cwnd was the limit; in slow start also others, up to twice the amount in use.
    #[default]
    Linux,
    /// All (RFC 5681).
    None,
    /// All, up to what a window as large as the largest flight since the last reduction allows.
    MaxFlight,
    /// Those that arrive while cwnd or pacing is the limit (RFC 9002 section 7.8).
    Rfc9002,
}

impl GrowthGate {
    /// Reads a name, or what the key was before: `true` for Linux's gate, `false` for none.
    pub fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GrowthGate, D::Error> {
        deserializer.deserialize_any(NameOrSwitch)
    }

    /// The schema of what is read.
    pub fn schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<GrowthGate>(), { "type": "boolean" }] })
    }
}

struct NameOrSwitch;

impl Visitor<'_> for NameOrSwitch {
    type Value = GrowthGate;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a gate, true or false")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<GrowthGate, E> {
        Ok(if on { GrowthGate::Linux } else { GrowthGate::None })
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<GrowthGate, E> {
        GrowthGate::deserialize(StrDeserializer::new(name))
    }
}
