//! Packets that overtake others: some are late, or some are early because all others wait (netem's `reorder`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Probability, Time};
use windtunnel_wire::Packet;

use super::due::ByTime;
use super::{Element, ElementParams, Passage, Stage, Tally};

/// Some packets overtake others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct ReorderingParams {
    /// The share of packets that change their position.
    pub probability: Probability,
    /// How they change it.
    pub mode: ReorderingMode,
    /// The delay that reorders them.
    pub delay: Duration,
}

impl Default for ReorderingParams {
    fn default() -> ReorderingParams {
        ReorderingParams {
            probability: Probability::clamped(0.01),
            mode: ReorderingMode::default(),
            delay: Duration::from_millis(2),
        }
    }
}

/// How packets change their position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderingMode {
    /// The chosen packets are late by `delay`; the others pass at once.
    #[default]
    Late,
    /// The chosen packets pass at once; all others are delayed by `delay` (netem).
    Early,
}

impl Params for ReorderingParams {
    const NAME: &'static str = "reordering";
    const SUMMARY: &'static str = "Some packets overtake others";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.delay.is_zero() {
            return Err(OutOfRange::new("delay", self.delay, "more than 0 s"));
        }
        Ok(())
    }
}

impl ElementParams for ReorderingParams {
    fn stage(&self) -> Stage {
        Stage::Order
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(Reordering { params: self.clone(), random, held: ByTime::default() })
    }
}

/// Changes the position of some packets.
#[derive(Debug)]
struct Reordering {
    params: ReorderingParams,
    random: RandomStream,
    held: ByTime,
}

impl Element for Reordering {
    /// Packets that continue at once also enter the heap, because the heap knows what overtook what.
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        let chosen = self.random.chance(self.params.probability);
        let late = chosen == (self.params.mode == ReorderingMode::Late);
        self.held.enter(packet, if late { now + self.params.delay } else { now })
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        self.held.release(now, &mut tally.reordered)
    }
}
