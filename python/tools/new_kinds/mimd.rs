//! Multiplicative increase: each acknowledged byte adds a fixed part of itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Bytes;

use super::{Avoidance, AvoidanceParams};
use crate::check;
use crate::controller::CongestionControl;
use crate::sample::{AckSample, PathView};
use crate::windowed::config::Composition;

/// Parameters of a multiplicative increase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Altman, Barman, Tuffin, Vojnovic 2006", "x-title" = "MIMD", "x-kept" = 0.875))]
pub struct MimdParams {
    /// Growth per acknowledged byte.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub a: f64,
}

impl Default for MimdParams {
    fn default() -> MimdParams {
        MimdParams { a: 0.01 }
    }
}

impl Params for MimdParams {
    const NAME: &'static str = "mimd";
    const SUMMARY: &'static str = "Multiplicative increase, multiplicative decrease";

    fn check(&self) -> Result<(), OutOfRange> {
        check::kept_fraction("a", self.a)
    }
}

impl AvoidanceParams for MimdParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Mimd { a: self.a })
    }
}

#[derive(Clone, Debug)]
struct Mimd {
    a: f64,
}

impl Avoidance for Mimd {
    fn md(&self) -> f64 {
        0.875
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, _ack: &AckSample, _path: &PathView) -> Bytes {
        cwnd + amount.scale(self.a)
    }
}
