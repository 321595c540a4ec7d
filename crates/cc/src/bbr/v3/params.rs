//! The parameters of BBR's second and third versions.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Bbr3;
use super::ecn::EcnRule;
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-ietf-ccwg-bbr; Linux branch google/bbr v3"))]
pub struct Bbr3Params {
    /// Where the draft and Linux's branch differ.
    pub variant: Bbr3Variant,
    /// The route's queues mark early (Linux: `ip route ... features ecn_low`), so CE is answered in proportion to its share;
    /// with `variant = "linux"` alone.
    pub ecn_low: bool,
    /// The longest round trip at which CE is answered; zero for any (Linux's `ecn_max_rtt_us`).
    pub ecn_max_rtt: Duration,
}

impl Default for Bbr3Params {
    fn default() -> Bbr3Params {
        Bbr3Params { variant: Bbr3Variant::default(), ecn_low: false, ecn_max_rtt: Duration::from_millis(5) }
    }
}

impl Params for Bbr3Params {
    const NAME: &'static str = "bbr3";
    const SUMMARY: &'static str =
        "BBR, version 3: the model has bounds that losses set, and probes leave room for Reno";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.ecn_low && self.variant == Bbr3Variant::Draft {
            let allowed = "false, unless the rules are those of \"linux\": the draft has no answer to CE";
            return Err(OutOfRange::new("ecn_low", self.ecn_low, allowed));
        }
        Ok(())
    }
}

impl ControllerParams for Bbr3Params {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        let rules = match self.variant {
            Bbr3Variant::Draft => Rules::DRAFT,
            Bbr3Variant::Linux => Rules::LINUX,
        };
        let ecn = EcnRule { low: self.ecn_low, max_rtt: self.ecn_max_rtt };
        Box::new(Bbr3::new(rules, ecn, init))
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
        Box::new(Bbr3::new(Rules::V2, EcnRule::OFF, init))
    }
}
