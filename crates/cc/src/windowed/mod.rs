//! Window-based controllers: slow start x avoidance x response.
//!
//! Each of the three is an open set: [`AvoidanceParams`], [`SlowStartParams`], [`ResponseParams`]; [`WindowedConfig`]
//! combines one of each. A crate that adds its own growth function can combine it with all slow starts and responses:
//!
//! ```
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! use std::sync::Arc;
//! use windtunnel_cc::{
//!     AckSample, Avoidance, AvoidanceParams, Composition, CongestionControl, ControllerParams, FlowInit, OutOfRange,
//!     Params, PathView, WindowedConfig, check,
//! };
//! use windtunnel_units::Bytes;
//!
//! /// Parameters of a multiplicative increase.
//! #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
//! #[serde(default, deny_unknown_fields)]
//! #[schemars(extend("x-source" = "this example"))]
//! struct MimdParams {
//!     /// Growth per acknowledged byte.
//!     a: f64,
//! }
//!
//! impl Default for MimdParams {
//!     fn default() -> MimdParams {
//!         MimdParams { a: 0.01 }
//!     }
//! }
//!
//! impl Params for MimdParams {
//!     const NAME: &'static str = "mimd";
//!     const SUMMARY: &'static str = "Multiplicative increase, multiplicative decrease";
//!
//!     fn check(&self) -> Result<(), OutOfRange> {
//!         check::positive("a", self.a)
//!     }
//! }
//!
//! impl AvoidanceParams for MimdParams {
//!     fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
//!         composition.with(Mimd { a: self.a })
//!     }
//! }
//!
//! #[derive(Clone, Debug)]
//! struct Mimd {
//!     a: f64,
//! }
//!
//! impl Avoidance for Mimd {
//!     fn md(&self) -> f64 {
//!         0.875
//!     }
//!
//!     fn grow(&mut self, cwnd: Bytes, amount: Bytes, _ack: &AckSample, _path: &PathView) -> Bytes {
//!         cwnd + amount.scale(self.a)
//!     }
//! }
//!
//! let config = WindowedConfig { avoidance: Arc::new(MimdParams::default()), ..WindowedConfig::default() };
//! let controller = config.build(FlowInit::new(Bytes::new(1448)));
//! assert_eq!(controller.cwnd(), Bytes::new(14_480));
//! ```

mod avoidance;
mod carry;
mod clock;
mod config;
mod controller;
mod cwnd_cnt;
mod limiter;
mod response;
mod slow_start;

use crate::kinds::Kinds;

pub use avoidance::*;
pub use config::{Composition, WindowedConfig};
pub use limiter::LimiterWindow;
pub use response::*;
pub use slow_start::*;

/// Passes each kind of the three families to `visitor`.
pub(crate) fn visit(visitor: &mut impl Kinds) {
    avoidance::visit(visitor);
    slow_start::visit(visitor);
    response::visit(visitor);
}
