//! Vegas: keeps a few packets in the queue, measured by delay.
//!
//! Brakmo and Peterson, "TCP Vegas: end to end congestion avoidance on a global Internet" (1995). A window W needs the
//! round trip `base` on an empty path and measures r: `diff = W (1 - base / r)` of its packets wait in a queue. Once
//! per round trip W grows by a segment if diff is less than alpha, and shrinks by one if it is more than beta. Slow start
//! ends when diff exceeds gamma.
//!
//! Two and four packets keep the path busy and notice when others leave; gamma is one, because slow start doubles what
//! it finds. Losses are answered as Reno does. Next to a flow that fills the queue, Vegas takes the
//! delay for its own and gives way.
//!
//! The variants ([`linux`], [`paper`]) differ in what they divide by, and in how slow start grows and ends.

mod linux;
mod paper;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use linux::VegasLinux;
use paper::VegasPaper;

use super::module::InSegments;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// The variants of Vegas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VegasVariant {
    /// Linux's: `diff = W (r - base) / base`; slow start doubles each round trip and ends at the window that fills the
    /// path.
    #[default]
    Linux,
    /// The paper's: `diff = W (1 - base / r)`; slow start doubles every second round trip and gives up an eighth at its
    /// end.
    Paper,
}

/// Parameters of Vegas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Brakmo and Peterson 1995", "x-traits" = ["delay"]))]
pub struct VegasParams {
    /// The variant of Vegas.
    pub variant: VegasVariant,
    /// With fewer packets queued than this, cwnd grows.
    #[schemars(extend("x-unit" = "packets"))]
    pub alpha: u32,
    /// With more packets queued than this, cwnd shrinks.
    #[schemars(extend("x-unit" = "packets"))]
    pub beta: u32,
    /// With more packets queued than this, slow start ends.
    #[schemars(extend("x-unit" = "packets"))]
    pub gamma: u32,
}

impl Default for VegasParams {
    fn default() -> VegasParams {
        VegasParams { variant: VegasVariant::default(), alpha: 2, beta: 4, gamma: 1 }
    }
}

impl Params for VegasParams {
    const NAME: &'static str = "vegas";
    const SUMMARY: &'static str = "Keeps a few packets in the queue, measured by delay";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.alpha > self.beta {
            return Err(OutOfRange::new("alpha", self.alpha, "at most beta"));
        }
        Ok(())
    }
}

impl AvoidanceParams for VegasParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        match self.variant {
            VegasVariant::Linux => composition.with(InSegments::new(VegasLinux::new(self))),
            VegasVariant::Paper => composition.with(InSegments::new(VegasPaper::new(self))),
        }
    }
}
