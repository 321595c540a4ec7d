//! The description of a window-based controller, and its construction.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::CongestionControl;
use crate::avoidance::{
    Aimd, AimdParams, Avoidance, Cubic, CubicParams, RenoParams, Scalable, ScalableParams,
};
use crate::response::{ConventionalParams, DEFAULT_TAU, MdsParams, Response};
use crate::sample::FlowInit;
use crate::slow_start::{
    Essp, EsspParams, HystartPp, HystartPpParams, SlowStart, Standard, StandardParams, Unused,
};
use crate::windowed::Windowed;
use windtunnel_units::OutOfRange;

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

    /// The controller of one flow.
    pub fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        match &self.avoidance {
            AvoidanceConfig::Reno(params) => self.windowed(init, params.aimd()),
            AvoidanceConfig::Aimd(params) => self.windowed(init, Aimd::new(params.clone())),
            AvoidanceConfig::Cubic(params) => self.windowed(init, Cubic::new(params.clone())),
            AvoidanceConfig::Scalable(params) => self.windowed(init, Scalable::new(params.clone())),
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
            SlowStartConfig::HystartPp(params) => {
                Box::new(HystartPp::new(params.clone(), tau.get(), init.paced))
            }
            SlowStartConfig::Essp(params) => Box::new(Essp::new(params.clone(), init.min_cwnd)),
        }
    }
}
