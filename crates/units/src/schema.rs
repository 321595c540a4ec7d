//! Quantities in scenario files (strings with a unit), and in the JSON Schema (with a pattern).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{Bytes, Duration, Probability, Rate, Time};

macro_rules! quantity {
    ($type:ident, $unit:literal, $what:literal, $example:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(d: D) -> Result<$type, D::Error> {
                Text::deserialize(d)?.0.parse().map_err(D::Error::custom)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "format": $what, "x-unit": $unit, "examples": [$example] })
            }
        }
    };
}

quantity!(Duration, "time", "a number and ns, us, ms, s, min or h", "20 ms");
quantity!(Time, "time", "a number and ns, us, ms, s, min or h, from the start of the run", "30 s");
quantity!(Bytes, "bytes", "a number and B, kB, MB, GB, KiB, MiB or GiB", "250 kB");
quantity!(Rate, "rate", "a number and bit/s, kbit/s, Mbit/s, Gbit/s or Tbit/s", "100 Mbit/s");
quantity!(Probability, "probability", "a number from 0 to 1, or 0 % to 100 %", "1 %");

/// The text of a quantity. A bare number counts as text, so that the message about it is
/// "has no unit" and not "invalid type".
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Text, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Text;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string with a unit, such as \"20 ms\"")
            }
            fn visit_str<E: Error>(self, v: &str) -> Result<Text, E> {
                Ok(Text(v.to_owned()))
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Text, E> {
                Ok(Text(v.to_string()))
            }
        }
        d.deserialize_any(Visitor)
    }
}
