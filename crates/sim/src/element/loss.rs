//! Independent losses: Bernoulli trials.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Probability, Time};
use windtunnel_wire::Packet;

use super::{Affects, Element, ElementParams, Passage, Stage, Tally, lost_if};

/// Independent losses (Bernoulli).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct LossParams {
    /// The probability that a packet is lost.
    pub probability: Probability,
    /// Which packets may be lost.
    pub affects: Affects,
}

impl Default for LossParams {
    fn default() -> LossParams {
        LossParams { probability: Probability::clamped(0.01), affects: Affects::All }
    }
}

impl Params for LossParams {
    const NAME: &'static str = "loss";
    const SUMMARY: &'static str = "Independent losses (Bernoulli)";
}

impl ElementParams for LossParams {
    fn stage(&self) -> Stage {
        Stage::Loss
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(Loss { params: self.clone(), random })
    }
}

#[derive(Debug)]
struct Loss {
    params: LossParams,
    random: RandomStream,
}

impl Element for Loss {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        let lost = self.params.affects.includes(&packet) && self.random.chance(self.params.probability);
        lost_if(lost, packet)
    }
}
