//! Additive increase, multiplicative decrease: AIMD(a, b).
//!
//! cwnd grows by `a` segments per round trip and is multiplied by `b` on congestion (Chiu and Jain 1989; Floyd, Handley
//! and Padhye 2000). Reno is AIMD(1, 0.5). With `a = 3 (1 - b) / (1 + b)`, AIMD has Reno's mean rate at the same loss
//! rate (RFC 9438 section 4.3).
//!
//! The variants differ in how they spread the `a` segments over a round trip: [`document`] times or counts them,
//! [`linux`] adds whole segments for acknowledged ones, [`per_ack`] adds a little with each ACK.

mod document;
mod linux;
mod per_ack;

use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

pub(crate) use document::Aimd;
use linux::AimdLinux;
use per_ack::AimdPerAck;

use crate::Style;
use crate::check;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// When the additive increase is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AimdGrowth {
    /// Once more than one srtt has passed since the last increase (the MDS document).
    #[default]
    PerSrtt,
    /// Once cwnd bytes have been acknowledged (RFC 3465, appropriate byte counting).
    #[serde(alias = "abc")]
    PerWindow,
    /// One whole segment for every `cwnd / a` segments delivered (Linux).
    Linux,
    /// `a * SMSS * SMSS / cwnd` with each ACK, however much it acknowledges (RFC 5681).
    PerAck,
    /// As `per-ack`, plus `SMSS / 8` (4.3BSD-Reno).
    PerAckPlusEighth,
}

impl AimdGrowth {
    /// Returns the growth that Reno uses in a style.
    pub(crate) const fn usual(style: Style) -> AimdGrowth {
        match style {
            Style::Document => AimdGrowth::PerSrtt,
            Style::Linux => AimdGrowth::Linux,
        }
    }
}

/// Parameters of AIMD(a, b).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Floyd, Handley, Padhye 2000", "x-title" = "AIMD"))]
pub struct AimdParams {
    /// Additive increase, in segments per round trip.
    #[schemars(range(min = 0.0, max = check::MOST_INCREASE), extend("x-unit" = "segments"))]
    pub a: f64,
    /// Multiplicative decrease: the factor by which congestion multiplies cwnd.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(alias = "beta")]
    pub b: f64,
    /// When the additive increase is made; the default depends on the endpoints.
    pub growth: Option<AimdGrowth>,
}

impl Default for AimdParams {
    fn default() -> AimdParams {
        AimdParams { a: 1.0, b: 0.5, growth: None }
    }
}

impl Params for AimdParams {
    const NAME: &'static str = "aimd";
    const SUMMARY: &'static str =
        "Additive increase by a segments per round trip, multiplicative decrease to b";

    fn check(&self) -> Result<(), OutOfRange> {
        check::increase("a", self.a)?;
        check::kept_fraction("b", self.b)
    }
}

impl AimdParams {
    fn resolve(&mut self, style: Style) {
        self.growth.get_or_insert(AimdGrowth::usual(style));
    }
}

impl AvoidanceParams for AimdParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        match self.growth.unwrap_or_default() {
            AimdGrowth::PerSrtt | AimdGrowth::PerWindow => composition.with(Aimd::new(self)),
            AimdGrowth::Linux => composition.with(AimdLinux::new(self)),
            AimdGrowth::PerAck | AimdGrowth::PerAckPlusEighth => composition.with(AimdPerAck::new(self)),
        }
    }
}
