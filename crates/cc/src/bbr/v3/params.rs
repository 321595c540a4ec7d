//! The parameters of BBR's second and third versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::controller::Bbr3;
use super::rules::Rules;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Where the draft and Linux's branch differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bbr3Variant {
    /// draft-ietf-ccwg-bbr.
    #[default]
    Draft,
    /// The branch of Linux that Google has published.
    Linux,
}

/// Parameters of BBR's third version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-ietf-ccwg-bbr; Linux branch google/bbr v3"))]
pub struct Bbr3Params {
    /// Where the draft and Linux's branch differ.
    pub variant: Bbr3Variant,
}

impl Params for Bbr3Params {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str =
        "BBR, version 3: the model has bounds that losses set, and probes leave room for Reno";

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl ControllerParams for Bbr3Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        let rules = match self.variant {
            Bbr3Variant::Draft => Rules::DRAFT,
            Bbr3Variant::Linux => Rules::LINUX,
        };
        Box::new(Bbr3::new(rules, init))
    }
}

/// Parameters of BBR's second version, which has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Linux branch google/bbr v2alpha"))]
pub struct Bbr2Params {}

impl Params for Bbr2Params {
    const NAME: &'static str = "bbr2";
    const SUMMARY: &'static str = "BBR, version 2: as version 3, with version 1's gains";

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl ControllerParams for Bbr2Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Bbr3::new(Rules::V2, init))
    }
}
