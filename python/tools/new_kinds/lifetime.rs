//! Packets that waited too long to be of use are dropped where they would leave.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use crate::aqm::{Aqm, PacketView, QueueView, Verdict};
use crate::params::{AqmInit, BuildAqm};

/// How long packets are of use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8298 section 4.1.1 (discard of the RTP queue)"))]
pub struct LifetimeParams {
    /// The sojourn time above which a packet is dropped.
    pub lifetime: Duration,
}

impl Default for LifetimeParams {
    fn default() -> LifetimeParams {
        LifetimeParams { lifetime: Duration::from_millis(100) }
    }
}

impl Params for LifetimeParams {
    const NAME: &'static str = "lifetime";
    const SUMMARY: &'static str = "Drops packets that waited too long to be of use";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.lifetime.is_zero() {
            return Err(OutOfRange::new("lifetime", self.lifetime, "more than 0 s"));
        }
        Ok(())
    }
}

impl BuildAqm for LifetimeParams {
    type Aqm = Lifetime;

    fn aqm(&self, _init: &AqmInit) -> Lifetime {
        Lifetime { lifetime: self.lifetime }
    }
}

/// The algorithm. It has no variables.
#[derive(Clone, Debug)]
pub struct Lifetime {
    lifetime: Duration,
}

impl Aqm for Lifetime {
    fn on_dequeue(&mut self, packet: &PacketView, _queue: &QueueView) -> Verdict {
        if packet.sojourn > self.lifetime { Verdict::Drop } else { Verdict::Pass }
    }
}
