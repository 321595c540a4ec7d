//! Packets that arrive twice, one directly behind the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Probability, Time};
use windtunnel_wire::Packet;

use super::{Affects, Element, ElementParams, Passage, Stage, Tally};

/// Packets arrive twice, one directly behind the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct DuplicationParams {
    /// The probability that a packet is duplicated.
    pub probability: Probability,
    /// Which packets may be duplicated.
    pub affects: Affects,
}

impl Default for DuplicationParams {
    fn default() -> DuplicationParams {
        DuplicationParams { probability: Probability::clamped(0.001), affects: Affects::All }
    }
}

impl Params for DuplicationParams {
    const NAME: &'static str = "duplication";
    const SUMMARY: &'static str = "Packets arrive twice";
}

impl ElementParams for DuplicationParams {
    fn stage(&self) -> Stage {
        Stage::Duplication
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(Duplication { params: self.clone(), random })
    }
}

#[derive(Debug)]
struct Duplication {
    params: DuplicationParams,
    random: RandomStream,
}

impl Element for Duplication {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        if self.params.affects.includes(&packet) && self.random.chance(self.params.probability) {
            let copy = packet.duplicate();
            return Passage::Twice(packet, copy);
        }
        Passage::On(packet)
    }
}
