//! The ramp: a signal's probability rises linearly with the sojourn time.
//!
//! Source: "Multiplicative Decrease Scaling", signalling relationship; spec/mds section 4 and, for ramps
//! in sojourn time, spec/queues-and-signalling section 15.2. Every dequeue is an SCE opportunity with the
//! ramp's probability, and every tau-th SCE opportunity is a CE opportunity for packets without the MDS
//! identifier: `P_sce = tau * P_ce` by counting. An opportunity that does not concern the leaving packet
//! is lost.
//!
//! The ramp starts at the serialisation time of one packet, below which there is no queue, and ends at 100 ms, one
//! round trip of the wider Internet.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange};

use crate::aqm::likelihood::{Draws, Likelihood};
use crate::aqm::oscillators::DEFAULT_TAU;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::ecn::Class;
use crate::params::{AqmInit, BuildAqm};

/// The ends of the ramp.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Multiplicative Decrease Scaling; draft-morton-tsvwg-sce",
    "x-traits" = ["marks"]
))]
pub struct RampParams {
    /// The sojourn time up to which nothing is signalled; the default is the serialisation time of the leaving packet
    /// at the link's current rate.
    pub min: Option<Duration>,
    /// The sojourn time from which every packet is an SCE opportunity.
    pub max: Duration,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity.
    pub tau: NonZeroU32,
    /// How the probability becomes opportunities.
    pub random: Likelihood,
}

impl Default for RampParams {
    fn default() -> RampParams {
        RampParams { min: None, max: Duration::from_millis(100), tau: DEFAULT_TAU, random: Likelihood::Coin }
    }
}

impl Params for RampParams {
    const NAME: &'static str = "ramp";
    const SUMMARY: &'static str = "Marks with a probability that rises with the sojourn time";

    fn check(&self) -> Result<(), OutOfRange> {
        match self.min {
            Some(min) if min >= self.max => Err(OutOfRange::new("min", min, "less than max")),
            _ if self.max.is_zero() => Err(OutOfRange::new("max", self.max, "more than 0 s")),
            _ => Ok(()),
        }
    }
}

impl BuildAqm for RampParams {
    type Aqm = Ramp;

    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> Ramp {
        Ramp::new(self.clone(), init.seed)
    }
}

/// The ramp's variables.
#[derive(Clone, Debug)]
pub struct Ramp {
    params: RampParams,
    draws: Draws,
    /// SCE opportunities since the last CE opportunity.
    opportunities: u32,
}

impl Ramp {
    /// A ramp with its own random stream, if it draws.
    pub fn new(params: RampParams, seed: u64) -> Ramp {
        Ramp { draws: params.random.draws(seed), params, opportunities: 0 }
    }

    /// The probability of an SCE opportunity.
    #[inline]
    fn probability(&self, packet: &PacketView, queue: &QueueView) -> f64 {
        if packet.sojourn >= self.params.max {
            return 1.0;
        }
        let min = self.params.min.unwrap_or_else(|| queue.rate.transfer_time(packet.size));
        if packet.sojourn <= min {
            return 0.0;
        }
        (packet.sojourn - min).ratio(self.params.max - min)
    }
}

impl Aqm for Ramp {
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let p = self.probability(packet, queue);
        if !self.draws.happens(p) {
            return Verdict::Pass;
        }
        self.opportunities += 1;
        let ce = self.opportunities == self.params.tau.get();
        if ce {
            self.opportunities = 0;
        }
        match packet.class {
            Class::Sce => Verdict::Mark(Signal::Sce),
            Class::NotEct | Class::Conventional | Class::L4s | Class::Scalable if ce => {
                Verdict::Mark(Signal::Ce)
            }
            Class::NotEct | Class::Conventional | Class::L4s | Class::Scalable => Verdict::Pass,
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("opportunities", f64::from(self.opportunities));
    }
}
