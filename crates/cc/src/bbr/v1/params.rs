//! The parameters of BBR's first version. Linux's module has none: these are the three rules by which it differs from the
//! draft.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::controller::Bbr;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Parameters of BBR's first version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Linux net/ipv4/tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00",
    "x-title" = "BBR",
    "x-traits" = ["model"]
))]
pub struct BbrParams {
    /// The window has room for what aggregated ACKs deliver beyond the estimated bandwidth.
    pub ack_aggregation: bool,
    /// A bandwidth that a policer enforces is recognised by its losses and kept.
    pub policer_detection: bool,
    /// The pace is 1 % below the product of gain and bandwidth, so that queues are short.
    pub pacing_margin: bool,
}

impl Default for BbrParams {
    fn default() -> BbrParams {
        BbrParams { ack_aggregation: true, policer_detection: true, pacing_margin: true }
    }
}

impl Params for BbrParams {
    const NAME: &'static str = "bbr";
    const SUMMARY: &'static str = "BBR, version 1: paces at the bandwidth that it measures, whatever is lost";

    fn check(&self) -> Result<(), OutOfRange> {
        Ok(())
    }
}

impl ControllerParams for BbrParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Bbr::new(self.clone(), init))
    }
}
