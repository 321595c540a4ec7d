//! Reno: one segment per round trip, half of cwnd on congestion.
//!
//! RFC 5681 section 3.1 and spec/mds section 3: AIMD(1, 0.5). The variants of Reno (Tahoe, Reno of 1990, `NewReno`,
//! Linux) differ mostly in how the sender recovers; they also count growth differently.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::aimd::{AimdGrowth, AimdParams};
use crate::Style;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// Parameters of Reno.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 5681"))]
pub struct RenoParams {
    /// When the segment per round trip is added; the default depends on the endpoints.
    pub growth: Option<AimdGrowth>,
}

impl Params for RenoParams {
    const NAME: &'static str = "reno";
    const SUMMARY: &'static str = "One segment per round trip, half of cwnd on congestion: AIMD(1, 0.5)";
}

impl RenoParams {
    /// Parameters of Tahoe, Reno of 1990 and `NewReno` as in RFC 5681: each ACK adds a fraction of a segment.
    pub const fn classic() -> RenoParams {
        RenoParams { growth: Some(AimdGrowth::PerAck) }
    }

    /// Parameters of 4.3BSD-Reno: as [`RenoParams::classic`], plus an eighth of a segment.
    pub const fn bsd() -> RenoParams {
        RenoParams { growth: Some(AimdGrowth::PerAckPlusEighth) }
    }

    fn resolve(&mut self, style: Style) {
        self.growth.get_or_insert(AimdGrowth::usual(style));
    }

    /// Returns Reno as a member of the AIMD family.
    pub(crate) fn aimd(&self) -> AimdParams {
        AimdParams { a: 1.0, b: 0.5, growth: self.growth }
    }
}

impl AvoidanceParams for RenoParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        self.aimd().build(composition)
    }
}
