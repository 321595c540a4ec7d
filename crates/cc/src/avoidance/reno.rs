//! Reno: one segment per round trip, half of cwnd on congestion.
//!
//! RFC 5681 section 3.1 and spec/mds section 3: AIMD(1, 0.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::aimd::{Aimd, AimdGrowth, AimdParams};

/// Parameters of Reno.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 5681"))]
pub struct RenoParams {
    /// When the segment per round trip is added.
    pub growth: AimdGrowth,
}

impl RenoParams {
    /// Reno as a member of the AIMD family.
    pub(crate) fn aimd(&self) -> Aimd {
        Aimd::new(AimdParams { a: 1.0, b: 0.5, growth: self.growth })
    }
}
