//! Every n-th packet is lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::Packet;

use super::counting::PacketCount;
use super::{Affects, Element, ElementParams, Passage, Stage, Tally, lost_if};

/// Every n-th packet is lost: the loss of response functions (RFC 5166).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Floyd et al., Equation-Based Congestion Control, 2000"))]
pub struct PeriodicLossParams {
    /// The packets whose numbers are multiples of this one are lost; the first packet has number 1.
    #[schemars(range(min = 2), extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub every: u64,
    /// Packets of each flow are counted separately.
    pub per_flow: bool,
    /// Which packets are counted and may be lost.
    pub affects: Affects,
}

impl Default for PeriodicLossParams {
    fn default() -> PeriodicLossParams {
        PeriodicLossParams { every: 1000, per_flow: true, affects: Affects::Data }
    }
}

impl Params for PeriodicLossParams {
    const NAME: &'static str = "periodic-loss";
    const SUMMARY: &'static str = "Every n-th packet is lost";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.every < 2 {
            return Err(OutOfRange::new("every", self.every, "2 or more: else nothing passes"));
        }
        Ok(())
    }
}

impl ElementParams for PeriodicLossParams {
    fn stage(&self) -> Stage {
        Stage::Loss
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(PeriodicLoss {
            every: self.every,
            affects: self.affects,
            count: PacketCount::new(self.per_flow),
        })
    }
}

#[derive(Debug)]
struct PeriodicLoss {
    every: u64,
    affects: Affects,
    count: PacketCount,
}

impl Element for PeriodicLoss {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        let lost = self.affects.includes(&packet) && self.count.next(packet.flow).is_multiple_of(self.every);
        lost_if(lost, packet)
    }
}
