//! Damage: a damaged packet continues, is queued and takes its time on every wire, and is discarded where it arrives.
//! The model assumes that the checksums of IP and TCP find every error (the Internet checksum misses some; RFC 3819
//! section 15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Probability, Time};
use windtunnel_wire::Packet;

use super::{Affects, Element, ElementParams, Passage, Stage, Tally};

/// Packets are damaged: they travel on, and the receiver's checksum discards them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem; RFC 9293 section 3.1"))]
pub struct CorruptionParams {
    /// The probability that a packet is damaged.
    pub probability: Probability,
    /// Which packets may be damaged.
    pub affects: Affects,
}

impl Default for CorruptionParams {
    fn default() -> CorruptionParams {
        CorruptionParams { probability: Probability::clamped(0.001), affects: Affects::All }
    }
}

impl Params for CorruptionParams {
    const NAME: &'static str = "corruption";
    const SUMMARY: &'static str = "Damaged packets, which the receiver discards";
}

impl ElementParams for CorruptionParams {
    fn stage(&self) -> Stage {
        Stage::Damage
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(Corruption { params: self.clone(), random })
    }
}

#[derive(Debug)]
struct Corruption {
    params: CorruptionParams,
    random: RandomStream,
}

impl Element for Corruption {
    fn enter(&mut self, mut packet: Packet, _now: Time, tally: &mut Tally) -> Passage {
        if self.params.affects.includes(&packet) && self.random.chance(self.params.probability) {
            packet.corrupt();
            tally.corrupted += 1;
        }
        Passage::On(packet)
    }
}
