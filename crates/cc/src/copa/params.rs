//! The parameters of Copa.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use super::controller::Copa;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// Parameters of Copa.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Arun and Balakrishnan, NSDI 2018", "x-traits" = ["delay"]))]
pub struct CopaParams {
    /// How much delay counts against throughput: n flows hold n/delta segments in the queue.
    #[schemars(range(min = 0.01, max = 10.0))]
    pub delta: f64,
    /// Whether the flow becomes as aggressive as Reno when others fill the queue.
    pub mode_switching: bool,
    /// How long the least round trip is remembered.
    pub min_rtt_window: Duration,
}

impl Default for CopaParams {
    fn default() -> CopaParams {
        CopaParams { delta: 0.5, mode_switching: true, min_rtt_window: Duration::from_secs(10) }
    }
}

impl Params for CopaParams {
    const NAME: &'static str = "copa";
    const SUMMARY: &'static str =
        "Copa: a queue of 1/delta segments for each flow; competes where others fill it";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(0.01..=10.0).contains(&self.delta) {
            return Err(OutOfRange::new("delta", self.delta, "0.01 to 10"));
        }
        if self.min_rtt_window.is_zero() {
            return Err(OutOfRange::new("min_rtt_window", self.min_rtt_window, "more than 0 s"));
        }
        Ok(())
    }
}

impl ControllerParams for CopaParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Copa::new(self.clone(), init))
    }
}
