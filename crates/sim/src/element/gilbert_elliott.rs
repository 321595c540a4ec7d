//! Losses in bursts: the Gilbert-Elliott model (Gilbert, "Capacity of a Burst-Noise Channel", 1960; Elliott 1963).
//!
//! A Markov chain has a good and a bad state with a loss probability in each. A packet meets the state that the chain
//! has when the packet arrives, and then the chain moves. In the long run the share of bad packets is `p / (p + r)`,
//! and bursts have the mean length `1 / r`. The medium starts in the good state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Probability, Time};
use windtunnel_wire::Packet;

use super::{Affects, Element, ElementParams, Passage, Stage, Tally, lost_if};

/// Losses in bursts: a good and a bad state, between which the medium moves at every packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Elliott, Estimates of Error Rates for Codes on Burst-Noise Channels, 1963; netem",
    "x-title" = "Gilbert-Elliott"
))]
pub struct GilbertElliottParams {
    /// The probability of a move from good to bad, at each packet.
    pub p: Probability,
    /// The probability of a move from bad to good, at each packet: bursts last 1/r packets on average.
    pub r: Probability,
    /// The probability that a packet is lost in the good state.
    pub loss_good: Probability,
    /// The probability that a packet is lost in the bad state.
    pub loss_bad: Probability,
    /// Which packets may be lost.
    pub affects: Affects,
}

impl Default for GilbertElliottParams {
    fn default() -> GilbertElliottParams {
        GilbertElliottParams {
            p: Probability::clamped(0.002),
            r: Probability::clamped(0.2),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
            affects: Affects::All,
        }
    }
}

impl Params for GilbertElliottParams {
    const NAME: &'static str = "gilbert-elliott";
    const SUMMARY: &'static str = "Losses in bursts, from a good and a bad state";
}

impl ElementParams for GilbertElliottParams {
    fn stage(&self) -> Stage {
        Stage::Loss
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(GilbertElliott { params: self.clone(), random, bad: false })
    }
}

#[derive(Debug)]
struct GilbertElliott {
    params: GilbertElliottParams,
    random: RandomStream,
    bad: bool,
}

impl GilbertElliott {
    fn loses(&mut self, packet: &Packet) -> bool {
        let GilbertElliottParams { p, r, loss_good, loss_bad, affects } = self.params;
        if !affects.includes(packet) {
            return false;
        }
        let (loss, moves) = if self.bad { (loss_bad, r) } else { (loss_good, p) };
        let lost = self.random.chance(loss);
        self.bad ^= self.random.chance(moves);
        lost
    }
}

impl Element for GilbertElliott {
    fn enter(&mut self, packet: Packet, _now: Time, _tally: &mut Tally) -> Passage {
        lost_if(self.loses(&packet), packet)
    }
}
