//! TCP-LP: low priority by one-way delay, for transfers that may wait.
//!
//! Kuzmanovic and Knightly, "TCP-LP: a distributed algorithm for low priority data transfer" (2003); Linux
//! `net/ipv4/tcp_lp.c`; spec/congestion-control section 3.17. The delay of the data's own way, smoothed by an eighth, is
//! compared with its extremes: beyond 15 % of the range the path is about to be congested. TCP-LP then halves its window
//! and infers for three round trips what others do: it does not grow, and another indication lowers the window to one
//! segment. Otherwise it is Reno.
//!
//! 15 % is early enough that a flow of TCP still finds most of the queue empty, and late enough that bursts do not
//! trigger it. Three round trips let a flow that has halved its window show whether it was alone.
//!
//! [`paper`] does this. [`linux`] means to, but its arithmetic makes it Reno for seven connections of eight.

mod linux;
mod paper;

use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::module::InSegments;
use crate::Style;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;
use linux::LpLinux;
use paper::LpPaper;

/// The variants of TCP-LP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LpVariant {
    /// Linux's: one-way delay is a difference of timestamps in 32 bits, which the first timestamp of the receiver decides.
    Linux,
    /// The paper's: one-way delay is measured.
    Paper,
}

/// Parameters of TCP-LP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Kuzmanovic and Knightly 2003; Linux net/ipv4/tcp_lp.c",
    "x-title" = "LP",
    "x-traits" = ["delay"]
))]
pub struct LpParams {
    /// The variant of TCP-LP; the default depends on the endpoints.
    pub variant: Option<LpVariant>,
    /// How far the timestamps of the receiver are ahead of its clock, with `variant = "linux"` alone: below 2^29 there are
    /// indications, beyond, the flow is Reno's. The default is a random number for each connection, as in Linux.
    #[schemars(extend("x-unit" = "ms"))]
    pub timestamp_offset: Option<u32>,
}

impl Params for LpParams {
    const NAME: &'static str = "lp";
    const SUMMARY: &'static str = "Low priority: gives way when the one-way delay rises";

    fn check(&self) -> Result<(), OutOfRange> {
        match (self.variant, self.timestamp_offset) {
            (Some(LpVariant::Paper), Some(offset)) => Err(OutOfRange::new(
                "timestamp_offset",
                offset,
                "absent, unless the variant is \"linux\": the paper's needs no timestamps",
            )),
            _ => Ok(()),
        }
    }
}

impl AvoidanceParams for LpParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        let usual = match style {
            _ if self.timestamp_offset.is_some() => LpVariant::Linux,
            Style::Document => LpVariant::Paper,
            Style::Linux => LpVariant::Linux,
        };
        Some(Arc::new(LpParams { variant: Some(self.variant.unwrap_or(usual)), ..self.clone() }))
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        if self.variant == Some(LpVariant::Linux) {
            let drawn = || (composition.init().random().uniform() * 4_294_967_296.0) as u32;
            let offset = self.timestamp_offset.unwrap_or_else(drawn);
            return composition.with(InSegments::new(LpLinux::new(offset)));
        }
        composition.with(InSegments::new(LpPaper::default()))
    }
}
