//! ramppolice: a policer whose marks grow with what its bucket lacks.
//!
//! Source: spec/queues-and-signalling section 14.3, with the accumulators of section 16.2. Let x be the part of the
//! bucket that is missing. Above `start` the probability of a conventional signal is `p_max` times the square of the way
//! from there to the empty bucket; an MDS packet gets SCE tau times as often. An empty bucket loses packets.
//!
//! Why the constants are what they are: with `p_max` = 1 / tau every MDS packet gets SCE just where the bucket is empty.
//! The square makes the first marks rare, so that a burst within the contract passes.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, tau};
use windtunnel_units::{Duration, OutOfRange, Probability, Rate};
use windtunnel_wire::Packet;

use super::vqpolice::check;
use super::{Policed, Policer, Ruling, VirtualQueue, behind};
use crate::accounts::QueueCx;
use crate::aqm::{MdsCredit, Verdict};
use crate::discipline::QueueDiscipline;
use crate::ecn::Class;
use crate::params::{ChildSlot, QueueInit, QueueParams};
use crate::spec::Parts;

/// ramppolice's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "spec/queues-and-signalling section 14.3",
    "x-title" = "RampPolice",
    "x-traits" = ["marks"]
))]
pub struct RampPoliceParams {
    /// The rate that is policed; by default the link's.
    pub rate: Option<Rate>,
    /// The depth of the bucket, as a time at `rate`.
    pub burst: Duration,
    /// The part of the bucket that is missing when marks start.
    pub start: Probability,
    /// The probability of a conventional signal at the empty bucket; by default 1 / tau.
    pub p_max: Option<Probability>,
    /// How many SCE marks are worth a conventional signal.
    pub tau: NonZeroU32,
}

impl Default for RampPoliceParams {
    fn default() -> RampPoliceParams {
        RampPoliceParams {
            rate: None,
            burst: Duration::from_millis(20),
            start: Probability::clamped(0.5),
            p_max: None,
            tau: tau::DEFAULT,
        }
    }
}

impl Params for RampPoliceParams {
    const NAME: &'static str = "ramppolice";
    const SUMMARY: &'static str =
        "A policer whose marks grow with what its bucket lacks, in front of any queue";

    fn check(&self) -> Result<(), OutOfRange> {
        check(self.rate, self.burst)?;
        if self.start.get() >= 1.0 {
            return Err(OutOfRange::new("start", self.start, "less than 100 %"));
        }
        tau::check("tau", self.tau)
    }
}

impl QueueParams for RampPoliceParams {
    fn children(&self) -> Vec<ChildSlot> {
        behind()
    }

    fn build(&self, parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let policer = RampPolice {
            queue: VirtualQueue::default(),
            signals: MdsCredit::new(self.tau),
            params: self.clone(),
        };
        Box::new(Policed::new(policer, init.ecn, parts.build_child(init)))
    }
}

/// ramppolice's variables.
#[derive(Debug)]
struct RampPolice {
    /// What the bucket lacks.
    queue: VirtualQueue,
    signals: MdsCredit,
    params: RampPoliceParams,
}

impl RampPolice {
    /// The probability of a conventional signal where this part of the bucket is missing.
    fn probability(&self, missing: f64) -> f64 {
        let start = self.params.start.get();
        let way = ((missing - start) / (1.0 - start)).max(0.0);
        self.params.p_max.map_or(1.0 / f64::from(self.params.tau.get()), Probability::get) * way * way
    }

    fn missing(&self, wait: Duration) -> f64 {
        wait.as_secs_f64() / self.params.burst.as_secs_f64()
    }
}

impl Policer for RampPolice {
    fn judge(&mut self, packet: &Packet, class: Class, cx: &QueueCx) -> Ruling {
        let wait = self.queue.wait(cx.now);
        let rate = self.params.rate.unwrap_or(cx.rate);
        if wait + rate.transfer_time(packet.size()) > self.params.burst {
            return Ruling { verdict: Verdict::Drop, is_charged: false };
        }
        let p = self.probability(self.missing(wait));
        let verdict =
            if class == Class::Sce { self.signals.to_mds(p) } else { self.signals.to_conventional(p) };
        Ruling { verdict, is_charged: true }
    }

    fn charge(&mut self, packet: &Packet, cx: &QueueCx) {
        self.queue.add(packet.size(), self.params.rate.unwrap_or(cx.rate), cx.now);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let missing = self.missing(self.queue.last());
        out("missing", missing);
        out("p", self.probability(missing));
    }
}
