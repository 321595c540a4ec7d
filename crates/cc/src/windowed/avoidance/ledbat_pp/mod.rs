//! LEDBAT++: background transport that holds the delay that it adds near 60 ms, and gives way to others.
//!
//! draft-irtf-iccrg-ledbat-plus-plus; spec/congestion-control section 3.18. Like LEDBAT (RFC 6817) it compares the delay
//! by queues, d, with a target T, but measures round trips, which need no synchronised clocks, and grows more slowly than
//! Reno:
//!
//! - d up to T: the window grows by GAIN = `1 / min(16, ceil(2 T / base))` segments per round trip. On a path of short
//!   round trips, where 60 ms are many of them, it is thus slower than Reno by up to 16;
//! - d above T: it changes by `GAIN - constant W (d / T - 1)`, at most by half. Flows with larger windows give up more, so
//!   that shares become equal.
//!
//! Slow start grows at the rate GAIN, too, and the first one ends when d exceeds 3/4 of T. A queue that LEDBAT++ keeps
//! itself would become part of the base of a flow that starts later. Each flow therefore slows down to two segments for
//! two round trips, first two round trips after slow start, then again after nine times as long as the last slowdown
//! took: a tenth of the time, in which the queue empties and all flows see the base.
//!
//! The base is the least round trip of ten minutes, kept by the minute; d uses the least of the last four round trips,
//! against noise. T = 60 ms is less than the 100 ms of LEDBAT, which is noticed in calls.

mod controller;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use controller::LedbatPp;

use super::module::InSegments;
use crate::check;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// Parameters of LEDBAT++.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "draft-irtf-iccrg-ledbat-plus-plus",
    "x-title" = "LEDBAT++",
    "x-traits" = ["delay"]
))]
pub struct LedbatPpParams {
    /// The delay by queues that LEDBAT++ holds.
    pub target: Duration,
    /// The scale of the decrease above the target.
    #[schemars(range(min = 0.0))]
    pub constant: f64,
    /// Whether the flow slows down now and then, so that all flows see the base.
    pub slowdown: bool,
}

impl Default for LedbatPpParams {
    fn default() -> LedbatPpParams {
        LedbatPpParams { target: Duration::from_millis(60), constant: 1.0, slowdown: true }
    }
}

impl Params for LedbatPpParams {
    const NAME: &'static str = "ledbat-pp";
    const ALIASES: &'static [&'static str] = &["ledbat++", "ledbatpp"];
    const SUMMARY: &'static str =
        "LEDBAT++: holds the delay that it adds near 60 ms, and gives way to others";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.target.is_zero() {
            return Err(OutOfRange::new("target", self.target, "more than 0"));
        }
        check::positive("constant", self.constant)
    }
}

impl AvoidanceParams for LedbatPpParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(InSegments::new(LedbatPp::new(self)))
    }
}
