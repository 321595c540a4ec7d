//! Scalable TCP: growth in proportion to cwnd.
//!
//! Kelly, "Scalable TCP: improving performance in highspeed wide area networks" (2003): each acknowledgement adds `a`,
//! so the time to recover from a decrease does not depend on the rate. Small windows grow like Reno's, so that flows at
//! low rates converge.
//!
//! With Kelly's a = 1/100 and b = 1/8 (the fraction that a response gives up), recovery takes 13.4 round trips; up to
//! lwnd, 16 segments, both growth and halving are Reno's ([`paper`]). [`linux`] uses the same constants in whole
//! segments, and Reno's growth up to 100 segments. The MDS document ([`document`]) chose a = 1/200 and b = 0.5 for
//! fairness with conventional flows; its lwnd = 250 kB is near the window at which both growth functions are equal,
//! 1448 B / (1/200) = 290 kB.

mod document;
mod linux;
mod paper;

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use document::Scalable;
use linux::ScalableLinux;
use paper::ScalablePaper;

use super::aimd::AimdGrowth;
use crate::Style;
use crate::check;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// The variants of Scalable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ScalableVariant {
    /// The MDS document's: growth per acknowledged byte; Reno's growth below `lwnd`.
    #[default]
    Document,
    /// Linux's: one whole segment for every `min(cwnd, 1/a)` segments delivered.
    Linux,
    /// Kelly's: a fraction of a segment with each ACK; up to `lwnd`, Reno's growth and decrease.
    Paper,
}

/// Parameters of Scalable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Kelly 2003; Multiplicative Decrease Scaling", "x-kept" = 0.875))]
pub struct ScalableParams {
    /// The variant of Scalable; the default depends on the endpoints.
    pub variant: Option<ScalableVariant>,
    /// Inverse of the growth per acknowledged byte, 1/a; the default depends on the variant (200; Linux and Kelly:
    /// 100).
    pub inv_a: Option<NonZeroU32>,
    /// The fraction of cwnd that is given up on congestion; the default depends on the variant (0.5; Linux and Kelly:
    /// 0.125).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub b: Option<f64>,
    /// The cwnd below which growth is Reno's, zero for none; the default depends on the variant (250 kB; Linux: none;
    /// Kelly: 16 segments).
    pub lwnd: Option<Bytes>,
    /// When Reno's growth is made (the document's variant); the default is that of the endpoints' Reno.
    pub growth: Option<AimdGrowth>,
}

/// The constants of a variant.
struct Constants {
    inv_a: NonZeroU32,
    b: f64,
    lwnd: Bytes,
}

const DOCUMENT: Constants =
    Constants { inv_a: NonZeroU32::new(200).unwrap(), b: 0.5, lwnd: Bytes::new(250_000) };
const LINUX: Constants = Constants { inv_a: NonZeroU32::new(100).unwrap(), b: 0.125, lwnd: Bytes::ZERO };
/// lwnd is 16 segments of 1448 bytes.
const PAPER: Constants = Constants { lwnd: Bytes::new(16 * 1448), ..LINUX };

impl Params for ScalableParams {
    const NAME: &'static str = "scalable";
    const SUMMARY: &'static str =
        "Growth in proportion to cwnd: recovery takes the same number of round trips at any rate";

    fn check(&self) -> Result<(), OutOfRange> {
        if let (Some(ScalableVariant::Linux), Some(lwnd)) = (self.variant, self.lwnd)
            && lwnd > Bytes::ZERO
        {
            return Err(OutOfRange::new(
                "lwnd",
                lwnd,
                "0 B or left out with variant = \"linux\", which has none",
            ));
        }
        self.b.map_or(Ok(()), |b| check::kept_fraction("b", b))
    }
}

impl ScalableParams {
    fn resolve(&mut self, style: Style) {
        let (variant, growth) = match style {
            Style::Document => (ScalableVariant::Document, AimdGrowth::PerSrtt),
            Style::Linux => (ScalableVariant::Linux, AimdGrowth::Linux),
        };
        let variant = *self.variant.get_or_insert(variant);
        let constants = match variant {
            ScalableVariant::Document => DOCUMENT,
            ScalableVariant::Linux => LINUX,
            ScalableVariant::Paper => PAPER,
        };
        self.inv_a.get_or_insert(constants.inv_a);
        self.b.get_or_insert(constants.b);
        self.lwnd.get_or_insert(constants.lwnd);
        self.growth.get_or_insert(match variant {
            ScalableVariant::Document => growth,
            ScalableVariant::Linux => AimdGrowth::Linux,
            ScalableVariant::Paper => AimdGrowth::PerAck,
        });
    }
}

impl AvoidanceParams for ScalableParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        match self.variant.unwrap_or_default() {
            ScalableVariant::Document => composition.with(Scalable::new(self)),
            ScalableVariant::Linux => composition.with(ScalableLinux::new(self)),
            ScalableVariant::Paper => composition.with(ScalablePaper::new(self)),
        }
    }
}
