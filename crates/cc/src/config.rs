//! The description of a window-based controller, and its construction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CongestionControl;
use crate::avoidance::{
    Aimd, AimdGrowth, AimdLinux, AimdParams, AimdPerAck, Avoidance, Cubic, CubicLinux, CubicParams, CubicRfc,
    CubicVariant, RenoParams, Scalable, ScalableLinux, ScalablePaper, ScalableParams, ScalableVariant,
};
use crate::response::{ConventionalParams, DEFAULT_TAU, MdsParams, Response};
use crate::sample::FlowInit;
use crate::slow_start::{
    Essp, EsspParams, Hystart, HystartParams, HystartPp, HystartPpParams, SlowStart, Standard,
    StandardParams, Unused,
};
use crate::windowed::Windowed;
use windtunnel_units::OutOfRange;

/// Whose variants of the algorithms run where a scenario names none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// The MDS document's, in bytes: for endpoints without loss.
    Document,
    /// Linux's, in whole segments: for a TCP with loss.
    Linux,
}

/// A window-based controller: slow start x avoidance x response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WindowedConfig {
    /// How the window grows between responses.
    pub avoidance: AvoidanceConfig,
    /// How the flow finds its first window.
    pub slow_start: SlowStartConfig,
    /// What congestion signals do to the window.
    pub response: ResponseConfig,
}

/// How the window grows between responses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AvoidanceConfig {
    /// AIMD(1, 0.5).
    Reno(RenoParams),
    /// Additive increase, multiplicative decrease.
    Aimd(AimdParams),
    /// A cubic of the time since the last response.
    Cubic(CubicParams),
    /// In proportion to the window.
    Scalable(ScalableParams),
}

/// How a flow finds its first window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SlowStartConfig {
    /// Congestion avoidance from the first ACK on.
    None,
    /// RFC 5681.
    Standard(StandardParams),
    /// Ha and Rhee 2011, Linux's.
    Hystart(HystartParams),
    /// RFC 9406.
    #[serde(rename = "hystartpp")]
    HystartPp(HystartPpParams),
    /// Extended Slow Start with Pacing.
    Essp(EsspParams),
}

/// What congestion signals do to the window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ResponseConfig {
    /// Multiplicative decrease on losses and CE.
    Conventional(ConventionalParams),
    /// Multiplicative Decrease Scaling: scaled decreases on SCE as well.
    Mds(MdsParams),
}

impl AvoidanceConfig {
    /// The slow start that goes with it where a scenario names none: Linux gives its CUBIC `HyStart`.
    pub fn usual_slow_start(&self, style: Style) -> SlowStartConfig {
        match (self, style) {
            (AvoidanceConfig::Cubic(_), Style::Linux) => SlowStartConfig::Hystart(HystartParams::default()),
            _ => SlowStartConfig::default(),
        }
    }
}

impl Default for AvoidanceConfig {
    fn default() -> AvoidanceConfig {
        AvoidanceConfig::Reno(RenoParams::default())
    }
}

impl Default for SlowStartConfig {
    fn default() -> SlowStartConfig {
        SlowStartConfig::Standard(StandardParams::default())
    }
}

impl Default for ResponseConfig {
    fn default() -> ResponseConfig {
        ResponseConfig::Conventional(ConventionalParams::default())
    }
}

impl WindowedConfig {
    /// Whether all parameters are within what the algorithms are defined for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        match &self.avoidance {
            AvoidanceConfig::Reno(_) => Ok(()),
            AvoidanceConfig::Aimd(params) => params.check(),
            AvoidanceConfig::Cubic(params) => params.check(),
            AvoidanceConfig::Scalable(params) => params.check(),
        }?;
        match &self.slow_start {
            SlowStartConfig::None => Ok(()),
            SlowStartConfig::Standard(params) => params.check(),
            SlowStartConfig::Hystart(params) => params.check(),
            SlowStartConfig::HystartPp(params) => params.check(),
            SlowStartConfig::Essp(params) => params.check(),
        }?;
        match &self.response {
            ResponseConfig::Conventional(params) => params.check(),
            ResponseConfig::Mds(params) => params.check(),
        }
    }

    /// True if the flow answers SCE: it is to negotiate MDS.
    pub const fn answers_sce(&self) -> bool {
        matches!(self.response, ResponseConfig::Mds(_))
    }

    /// Fills in whatever was left to the style of the endpoints, so that what runs can be printed.
    pub fn resolve(&mut self, style: Style) {
        match &mut self.avoidance {
            AvoidanceConfig::Reno(params) => params.resolve(style),
            AvoidanceConfig::Aimd(params) => params.resolve(style),
            AvoidanceConfig::Cubic(params) => params.resolve(style),
            AvoidanceConfig::Scalable(params) => params.resolve(style),
        }
        match &mut self.slow_start {
            SlowStartConfig::Standard(params) => params.resolve(style),
            SlowStartConfig::HystartPp(params) => params.resolve(style),
            SlowStartConfig::None | SlowStartConfig::Hystart(_) | SlowStartConfig::Essp(_) => {}
        }
    }

    /// The controller of one flow. What is not resolved is as in the MDS document.
    pub fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        match &self.avoidance {
            AvoidanceConfig::Reno(params) => self.aimd(init, &params.aimd()),
            AvoidanceConfig::Aimd(params) => self.aimd(init, params),
            AvoidanceConfig::Cubic(params) => match params.variant.unwrap_or_default() {
                CubicVariant::Document => self.windowed(init, Cubic::new(params)),
                CubicVariant::Rfc9438 => self.windowed(init, CubicRfc::new(params)),
                CubicVariant::Linux => self.windowed(init, CubicLinux::new(params)),
            },
            AvoidanceConfig::Scalable(params) => match params.variant.unwrap_or_default() {
                ScalableVariant::Document => self.windowed(init, Scalable::new(params)),
                ScalableVariant::Linux => self.windowed(init, ScalableLinux::new(params)),
                ScalableVariant::Paper => self.windowed(init, ScalablePaper::new(params)),
            },
        }
    }

    fn aimd(&self, init: FlowInit, params: &AimdParams) -> Box<dyn CongestionControl> {
        match params.growth.unwrap_or_default() {
            AimdGrowth::PerSrtt | AimdGrowth::PerWindow => self.windowed(init, Aimd::new(params)),
            AimdGrowth::Linux => self.windowed(init, AimdLinux::new(params)),
            AimdGrowth::PerAck | AimdGrowth::PerAckPlusEighth => self.windowed(init, AimdPerAck::new(params)),
        }
    }

    fn windowed<A: Avoidance + 'static>(&self, init: FlowInit, avoidance: A) -> Box<dyn CongestionControl> {
        let response = match &self.response {
            ResponseConfig::Conventional(params) => Response::conventional(params, avoidance.md()),
            ResponseConfig::Mds(params) => Response::mds(params, avoidance.md()),
        };
        Box::new(Windowed::new(init, self.slow_start(init), avoidance, response))
    }

    fn slow_start(&self, init: FlowInit) -> Box<dyn SlowStart> {
        let tau = match &self.response {
            ResponseConfig::Conventional(_) => DEFAULT_TAU,
            ResponseConfig::Mds(params) => params.tau,
        };
        match &self.slow_start {
            SlowStartConfig::None => Box::new(Unused),
            SlowStartConfig::Standard(params) => Box::new(Standard::new(params.clone(), tau.get())),
            SlowStartConfig::Hystart(params) => Box::new(Hystart::new(params.clone(), tau.get(), init.paced)),
            SlowStartConfig::HystartPp(params) => {
                Box::new(HystartPp::new(params.clone(), tau.get(), init.paced))
            }
            SlowStartConfig::Essp(params) => Box::new(Essp::new(params.clone(), init.min_cwnd)),
        }
    }
}
