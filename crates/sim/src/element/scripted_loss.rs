//! Listed packets are lost.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::Packet;

use super::counting::{PacketCount, check_numbers};
use super::{Affects, Element, ElementParams, Passage, Stage, Tally, lost_if};

/// Listed packets are lost: for tests and for teaching.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedLossParams {
    /// The numbers of the packets to lose, in order; the first packet has number 1. Retransmissions are counted too.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub packets: Vec<u64>,
    /// Packets of each flow are counted separately.
    pub per_flow: bool,
    /// Which packets are counted and may be lost.
    pub affects: Affects,
}

impl Params for ScriptedLossParams {
    const NAME: &'static str = "scripted-loss";
    const SUMMARY: &'static str = "Listed packets are lost";

    fn check(&self) -> Result<(), OutOfRange> {
        check_numbers(&self.packets)
    }
}

impl ElementParams for ScriptedLossParams {
    fn stage(&self) -> Stage {
        Stage::Loss
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(ScriptedLoss { params: self.clone(), count: PacketCount::new(self.per_flow) })
    }
}

#[derive(Debug)]
struct ScriptedLoss {
    params: ScriptedLossParams,
    count: PacketCount,
}

impl Element for ScriptedLoss {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        let lost = self.params.affects.includes(&packet)
            && self.params.packets.binary_search(&self.count.next(packet.flow)).is_ok();
        lost_if(lost, packet)
    }
}
