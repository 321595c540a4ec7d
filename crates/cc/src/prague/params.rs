//! The parameters of Prague, by the names of the L4S team's module where it has them.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Prague;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Where the module and the draft differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueVariant {
    /// The average starts at 0, and the first mark halves the window (the module's default).
    #[default]
    Linux,
    /// The average starts at 1, so that the first marks are answered as by Reno.
    Draft,
}

/// What the increase and the decrease are applied to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PragueMode {
    /// The window (the module's 0).
    Window,
    /// The rate (1).
    Rate,
    /// The rate of a flow that has seen marks and whose window is small, else the window (2).
    #[default]
    Switch,
}

/// Parameters of Prague.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-briscoe-iccrg-prague-congestion-control; L4S team, tcp_prague.c 0.7",
    "x-traits" = ["scalable"]
))]
pub struct PragueParams {
    /// Where the module and the draft differ.
    pub variant: PragueVariant,
    /// What the increase and the decrease are applied to.
    pub prague_cwnd_mode: PragueMode,
    /// The largest window of a switching flow that is governed by its rate.
    #[schemars(extend("x-unit" = "packets of 1500 bytes"))]
    pub prague_cwnd_transit: u32,
    /// The round-trip time that flows with a shorter one behave as if they had.
    pub prague_rtt_target: Duration,
    /// Rounds after slow start before that.
    #[schemars(extend("x-unit" = "rounds"))]
    pub prague_rtt_transition: u32,
    /// The largest burst lasts 2 to minus this power of a second.
    #[schemars(range(max = 30))]
    pub prague_burst_shift: u32,
    /// Marks are answered as by Reno: for a bottleneck that marks as RFC 3168 does.
    pub classic_fallback: bool,
}

impl Default for PragueParams {
    fn default() -> PragueParams {
        PragueParams {
            variant: PragueVariant::default(),
            prague_cwnd_mode: PragueMode::default(),
            prague_cwnd_transit: 4,
            prague_rtt_target: Duration::from_millis(25),
            prague_rtt_transition: 4,
            prague_burst_shift: 12,
            classic_fallback: false,
        }
    }
}

impl Params for PragueParams {
    const NAME: &'static str = "prague";
    const SUMMARY: &'static str =
        "Scalable control for L4S: DCTCP's average, independent of the round trip, paced";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.prague_rtt_target.is_zero() || self.prague_rtt_target > Duration::SECOND {
            return Err(OutOfRange::new(
                "prague_rtt_target",
                self.prague_rtt_target,
                "more than 0 s and at most 1 s",
            ));
        }
        if self.prague_burst_shift > 30 {
            return Err(OutOfRange::new("prague_burst_shift", self.prague_burst_shift, "0 to 30"));
        }
        Ok(())
    }
}

impl ControllerParams for PragueParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Prague::new(self.clone(), init))
    }
}
