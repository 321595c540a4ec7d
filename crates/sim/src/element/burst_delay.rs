//! A delay in bursts, as the Network Emulator for Windows Toolkit offers it ("Burst": a minimal and a maximal period, a
//! probability and a latency).
//!
//! The toolkit's own description was not available. Here time is divided into periods from the start of the run on, each of
//! a length drawn evenly between the two. With the probability a period is a burst: all packets that enter in it are
//! delayed by the latency. Packets that enter in other periods are not, but, in order, wait for those before them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Probability, Time};
use windtunnel_wire::Packet;

use super::due::Held;
use super::{Element, ElementParams, Passage, Stage, Tally};
use crate::random::Random;

/// The shortest period: every one that passes is drawn, even if no packet enters in it.
const SHORTEST: Duration = Duration::from_millis(1);

/// A delay in random periods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Network Emulator for Windows Toolkit, \"Burst\"; semantics ours"))]
pub struct BurstDelayParams {
    /// The shortest period.
    pub min_period: Duration,
    /// The longest period; lengths in between are equally likely.
    pub max_period: Duration,
    /// The probability that the packets of a period are delayed.
    pub probability: Probability,
    /// The delay that is added to them.
    pub latency: Duration,
    /// If true, a packet that is not delayed overtakes others; if false, no packet leaves before those ahead of it.
    pub reorder: bool,
}

impl Default for BurstDelayParams {
    fn default() -> BurstDelayParams {
        BurstDelayParams {
            min_period: Duration::from_secs(1),
            max_period: Duration::from_secs(1),
            probability: Probability::clamped(0.1),
            latency: Duration::from_millis(50),
            reorder: false,
        }
    }
}

impl Params for BurstDelayParams {
    const NAME: &'static str = "burst-delay";
    const SUMMARY: &'static str = "A delay of all packets in some periods, chosen at random";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.min_period < SHORTEST {
            return Err(OutOfRange::new("min_period", self.min_period, "at least 1 ms"));
        }
        if self.max_period < self.min_period {
            return Err(OutOfRange::new("max_period", self.max_period, "at least `min_period`"));
        }
        Ok(())
    }
}

impl ElementParams for BurstDelayParams {
    fn stage(&self) -> Stage {
        Stage::Delay
    }

    fn keeps_order(&self) -> bool {
        !self.reorder
    }

    fn build(&self, random: RandomStream) -> Box<dyn Element> {
        Box::new(BurstDelay {
            params: self.clone(),
            random: Random::from(random),
            until: Time::ZERO,
            delays: false,
            held: Held::new(self.reorder),
        })
    }
}

#[derive(Debug)]
struct BurstDelay {
    params: BurstDelayParams,
    random: Random,
    /// The end of the current period.
    until: Time,
    /// Whether it is a burst.
    delays: bool,
    held: Held,
}

impl BurstDelay {
    /// Goes on to the period of this time. Each takes two draws, so that the lengths do not depend on the probability.
    fn advance(&mut self, now: Time) {
        let BurstDelayParams { min_period, max_period, probability, .. } = self.params;
        while self.until <= now {
            let more = (max_period - min_period).scale(self.random.uniform());
            self.until += min_period + more;
            self.delays = self.random.uniform() < probability.get();
        }
    }
}

impl Element for BurstDelay {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        self.advance(now);
        let latency = if self.delays { self.params.latency } else { Duration::ZERO };
        self.held.enter(packet, now + latency, now)
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        self.held.release(now, tally)
    }
}
