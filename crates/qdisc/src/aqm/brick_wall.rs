//! The brick wall: every packet that waited longer than a threshold is marked or dropped.
//!
//! Source: "Multiplicative Decrease Scaling", tables 4 to 6, where it stands for a FIFO with loss-free endpoints;
//! spec/queues-and-signalling section 2. It has no memory: the flows ensure that they respond at most once per round
//! trip.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::Duration;

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::params::{AqmInit, BuildAqm};

/// Thresholds of the sojourn time, which a packet must exceed; 0 s turns a threshold off. The most severe threshold
/// that is exceeded counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Multiplicative Decrease Scaling, tables 4 to 6", "x-traits" = ["marks"]))]
pub struct BrickWallParams {
    /// The sojourn time above which packets that understand SCE are marked SCE; 0 s is never.
    pub sce_threshold: Duration,
    /// The sojourn time above which packets are marked CE; 0 s is never.
    pub ce_threshold: Duration,
    /// The sojourn time above which packets are dropped; 0 s is never.
    pub drop_threshold: Duration,
}

impl Params for BrickWallParams {
    const NAME: &'static str = "brickwall";
    const ALIASES: &'static [&'static str] = &["brick-wall", "brick_wall"];
    const SUMMARY: &'static str = "Marks every packet that waited longer than a threshold";
}

impl BuildAqm for BrickWallParams {
    type Aqm = BrickWall;

    fn aqm(&self, _init: &AqmInit) -> BrickWall {
        BrickWall::new(self.clone())
    }
}

/// The brick wall. It has no variables.
#[derive(Clone, Debug)]
pub struct BrickWall {
    params: BrickWallParams,
}

impl BrickWall {
    /// A brick wall with thresholds `params`.
    pub const fn new(params: BrickWallParams) -> BrickWall {
        BrickWall { params }
    }
}

impl Aqm for BrickWall {
    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, _queue: &QueueView) -> Verdict {
        let above = |threshold: Duration| !threshold.is_zero() && packet.sojourn > threshold;
        if above(self.params.drop_threshold) {
            Verdict::Drop
        } else if above(self.params.ce_threshold) {
            Verdict::Mark(Signal::Ce)
        } else if above(self.params.sce_threshold) {
            Verdict::Mark(Signal::Sce)
        } else {
            Verdict::Pass
        }
    }
}
