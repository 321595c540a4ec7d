//! The parameters of Vivace, by the paper's letters.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use super::controller::Vivace;
use super::utility::VivaceUtility;
use crate::controller::{CongestionControl, ControllerParams};
use crate::sample::FlowInit;

/// The largest coefficient: utility stays finite at any rate.
const MOST: f64 = 1e6;

/// Parameters of Vivace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Dong et al., PCC Vivace, NSDI 2018", "x-traits" = ["delay"]))]
pub struct VivaceParams {
    /// What the sender wants.
    pub utility: VivaceUtility,
    /// The exponent of the rate: throughput is worth rate^t. Flows converge for less than 1.
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub t: f64,
    /// What a round trip that grows costs (utility `latency` only).
    #[schemars(range(min = 0.0, max = 1e6))]
    pub b: f64,
    /// What losses cost (utilities `latency` and `loss`).
    #[schemars(range(max = 1e6), extend("exclusiveMinimum" = 0.0))]
    pub c: f64,
    /// How far the rates of a probe are from the base rate, as a share of it.
    #[schemars(range(min = 0.001, max = 0.5))]
    pub epsilon: f64,
    /// The change of the rate for one unit of the gradient of utility.
    #[schemars(range(max = 1e6), extend("x-unit" = "Mbit/s", "exclusiveMinimum" = 0.0))]
    pub theta: f64,
    /// The largest first change of the rate in one direction, as a share of it.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub omega: f64,
    /// How much larger the next may be after one that was cut, as a share of the rate.
    #[schemars(range(min = 0.001, max = 1.0))]
    pub delta: f64,
}

impl Default for VivaceParams {
    fn default() -> VivaceParams {
        VivaceParams {
            utility: VivaceUtility::default(),
            t: 0.9,
            b: 900.0,
            c: 11.35,
            epsilon: 0.05,
            theta: 1.0,
            omega: 0.05,
            delta: 0.06,
        }
    }
}

impl Params for VivaceParams {
    const NAME: &'static str = "vivace";
    const SUMMARY: &'static str =
        "PCC Vivace: tries rates around its own and climbs the gradient of a utility function";

    fn check(&self) -> Result<(), OutOfRange> {
        if !(self.t > 0.0 && self.t <= 1.0) {
            return Err(OutOfRange::new("t", self.t, "more than 0, at most 1"));
        }
        if !(0.0..=MOST).contains(&self.b) {
            return Err(OutOfRange::new("b", self.b, "0 to 1000000"));
        }
        for (key, value) in [("c", self.c), ("theta", self.theta)] {
            if !(value > 0.0 && value <= MOST) {
                return Err(OutOfRange::new(key, value, "more than 0, at most 1000000"));
            }
        }
        if !(0.001..=0.5).contains(&self.epsilon) {
            return Err(OutOfRange::new("epsilon", self.epsilon, "0.001 to 0.5"));
        }
        for (key, value) in [("omega", self.omega), ("delta", self.delta)] {
            if !(0.001..=1.0).contains(&value) {
                return Err(OutOfRange::new(key, value, "0.001 to 1"));
            }
        }
        Ok(())
    }
}

impl ControllerParams for VivaceParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Vivace::new(self.clone(), init))
    }
}
