//! A choice of packets by their DS byte: Linux's `VALUE/MASK` of `ce_threshold_selector`.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use windtunnel_wire::{Dscp, Ecn};

/// Packets whose DS byte (the DSCP in the upper six bits, the ECN field in the lower two) has a value under a mask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DsSelector {
    value: u8,
    mask: u8,
}

impl DsSelector {
    /// Packets with `value` under `mask`; with a mask of 0, all.
    pub const fn new(value: u8, mask: u8) -> DsSelector {
        DsSelector { value, mask }
    }

    /// Whether a packet with these code points is one of them.
    #[inline]
    pub const fn matches(self, dscp: Dscp, ecn: Ecn) -> bool {
        (dscp.get() << 2 | ecn as u8) & self.mask == self.value
    }
}

impl fmt::Display for DsSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#04x}/{:#04x}", self.value, self.mask)
    }
}

impl FromStr for DsSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<DsSelector, String> {
        let byte = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u8::from_str_radix(digits, 16).ok(),
            None => text.parse().ok(),
        };
        let parts = text.split_once('/').and_then(|(value, mask)| Some((byte(value)?, byte(mask)?)));
        match parts {
            Some((value, mask)) if value & !mask == 0 => Ok(DsSelector { value, mask }),
            Some(_) => Err(format!("`{text}` selects no packet: the value has bits that the mask has not")),
            None => Err(format!("`{text}` is not a value and a mask of the DS byte, such as \"0x01/0x03\"")),
        }
    }
}

impl Serialize for DsSelector {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DsSelector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<DsSelector, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for DsSelector {
    fn schema_name() -> Cow<'static, str> {
        "DsSelector".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "examples": ["0x01/0x03"] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ECT(1) is 01 in the low two bits; DSCP 43 is 10101100 with Not-ECT. Written in hexadecimal or decimal, printed
    /// in hexadecimal; a value outside of its mask selects nothing and is refused.
    #[test]
    fn select() {
        let ect1: DsSelector = "0x01/0x03".parse().unwrap();
        assert_eq!(
            [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| ect1.matches(Dscp::MDS, ecn)),
            [false, true, false, false]
        );
        let mds: DsSelector = "172/252".parse().unwrap();
        assert!(mds.matches(Dscp::MDS, Ecn::Ce) && !mds.matches(Dscp::DEFAULT, Ecn::Ce));
        assert!(DsSelector::default().matches(Dscp::DEFAULT, Ecn::NotEct));
        assert_eq!(mds.to_string(), "0xac/0xfc");
        for wrong in ["", "1", "1/2/3", "256/1", "0x100/1", "4/3", "-1/3"] {
            assert!(wrong.parse::<DsSelector>().is_err(), "{wrong}");
        }
    }

    /// A scenario has the text, and refuses one that selects nothing.
    #[test]
    fn in_a_scenario() {
        let read = |text: &str| serde_json::from_value::<DsSelector>(text.into());
        assert_eq!(read("0x01/0x03").ok(), Some(DsSelector::new(1, 3)));
        let fault = read("4/3").unwrap_err().to_string();
        assert!(fault.contains("selects no packet"), "{fault}");
        let schema = schemars::schema_for!(DsSelector).to_value();
        assert_eq!([&schema["title"], &schema["type"]], ["DsSelector", "string"]);
    }
}
