//! Several packets in a row are lost, at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params, RandomStream};
use windtunnel_units::{Probability, Time};
use windtunnel_wire::Packet;

use super::{Affects, Element, ElementParams, Passage, Stage, Tally, lost_if};

/// Losses in trains of a fixed length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LossTrainsParams {
    /// The probability that a train starts at a packet.
    pub probability: Probability,
    /// The packets of a train.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub length: u64,
    /// Which packets may be lost.
    pub affects: Affects,
}

impl Default for LossTrainsParams {
    fn default() -> LossTrainsParams {
        LossTrainsParams { probability: Probability::clamped(0.001), length: 3, affects: Affects::Data }
    }
}

impl Params for LossTrainsParams {
    const NAME: &'static str = "loss-trains";
    const SUMMARY: &'static str = "Several packets in a row are lost";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.length == 0 {
            return Err(OutOfRange::new("length", self.length, "at least 1"));
        }
        Ok(())
    }
}

impl ElementParams for LossTrainsParams {
    fn stage(&self) -> Stage {
        Stage::Loss
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(LossTrains { params: self.clone(), random, left: 0 })
    }
}

#[derive(Debug)]
struct LossTrains {
    params: LossTrainsParams,
    random: RandomStream,
    /// Packets of the train that are still to be lost.
    left: u64,
}

impl Element for LossTrains {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        if !self.params.affects.includes(&packet) {
            return Passage::On(packet);
        }
        if self.random.chance(self.params.probability) && self.left == 0 {
            self.left = self.params.length;
        }
        let lost = self.left > 0;
        self.left -= u64::from(lost);
        lost_if(lost, packet)
    }
}
