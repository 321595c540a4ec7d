//! CDG: backs off by chance when the round trip grows, and tolerates losses that others cause.
//!
//! Hayes and Armitage, "Revisiting TCP congestion control using delay gradients" (2011); Linux `net/ipv4/tcp_cdg.c`;
//! spec/congestion-control section 3.16. A threshold of delay depends on the path, its gradient does not: how much the
//! least and the greatest round trip changed from one round trip to the next. The sum of the last `window` gradients, g
//! microseconds, makes the flow give up `1 - backoff_beta / 1024` of its window with probability
//! `1 - exp(-backoff_factor g / 10^6)`: chance keeps flows that see the same queue from backing off together.
//!
//! - 42 is 1000 / (3 * 8): the paper's scale of 3 ms for the mean of eight gradients.
//! - 724 / 1024 is the square root of a half: two backoffs equal a halving.
//! - `use_ineff`: after five backoffs that did not make the round trip fall, others fill the queue; further ones are
//!   left out until it falls.
//! - `use_shadow`: a shadow window remembers what the window would be without backoffs. A loss returns to half of the
//!   shadow, so that CDG does not reduce twice when it shares a queue with flows that respond to losses alone.
//! - `use_tolerance` (off, as in Linux): a loss while the gradients do not show a full queue is due to chance and takes
//!   nothing.
//!
//! Slow start has its own variant of `HyStart` ([`hystart`]). Delayed ACKs are filtered: while an ACK of one segment may
//! be a late one, it may only lower the least round trip.

mod controller;
mod gradients;
mod hystart;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use controller::Cdg;

use super::module::InSegments;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;

/// Parameters of CDG, with the names of Linux's module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Hayes and Armitage 2011", "x-title" = "CDG", "x-traits" = ["delay"]))]
pub struct CdgParams {
    /// How many gradients are summed: a power of two, at most 256.
    #[schemars(range(min = 1, max = 256), extend("x-unit" = "round trips"))]
    pub window: u32,
    /// What a backoff leaves of cwnd, in 1024ths.
    #[schemars(range(min = 1, max = 1024))]
    pub backoff_beta: u32,
    /// The scale of the backoff's probability: a gradient of g microseconds makes it 1 - exp(-backoff_factor g / 10^6).
    pub backoff_factor: u32,
    /// How `HyStart` finds the end of slow start: 0 not at all, 1 by ACK trains, 2 by delay, 3 by both.
    #[schemars(range(max = 3))]
    pub hystart_detect: u32,
    /// How many backoffs without effect are made before others are left out; 0 for no limit.
    pub use_ineff: u32,
    /// Whether losses are answered from the shadow window.
    pub use_shadow: bool,
    /// Whether losses while the queue is not full are tolerated.
    pub use_tolerance: bool,
}

impl Default for CdgParams {
    fn default() -> CdgParams {
        CdgParams {
            window: 8,
            backoff_beta: 724,
            backoff_factor: 42,
            hystart_detect: 3,
            use_ineff: 5,
            use_shadow: true,
            use_tolerance: false,
        }
    }
}

impl Params for CdgParams {
    const NAME: &'static str = "cdg";
    const SUMMARY: &'static str = "Backs off by chance when the round trip grows; tolerates losses of others";

    fn check(&self) -> Result<(), OutOfRange> {
        if !self.window.is_power_of_two() || self.window > 256 {
            return Err(OutOfRange::new("window", self.window, "a power of two from 1 to 256"));
        }
        if !(1..=1024).contains(&self.backoff_beta) {
            return Err(OutOfRange::new("backoff_beta", self.backoff_beta, "1 to 1024"));
        }
        if self.hystart_detect > 3 {
            return Err(OutOfRange::new("hystart_detect", self.hystart_detect, "0 to 3"));
        }
        Ok(())
    }
}

impl AvoidanceParams for CdgParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let random = composition.init().random();
        composition.with(InSegments::new(Cdg::new(self, random)))
    }
}
