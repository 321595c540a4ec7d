//! The code points of the ECN field by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_wire::Ecn;

/// A code point of the ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CodePoint {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl From<CodePoint> for Ecn {
    fn from(code_point: CodePoint) -> Ecn {
        match code_point {
            CodePoint::NotEct => Ecn::NotEct,
            CodePoint::Ect0 => Ecn::Ect0,
            CodePoint::Ect1 => Ecn::Ect1,
            CodePoint::Ce => Ecn::Ce,
        }
    }
}
