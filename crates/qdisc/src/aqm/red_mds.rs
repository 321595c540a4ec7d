//! RED-MDS: RED with MDS around it ([`super::mds`]).
//!
//! Source: spec/queues-and-signalling section 16.2, on Floyd and Jacobson 1993 and "Multiplicative Decrease Scaling". MDS
//! takes the place of RED's uniform gaps ([`super::red`]). Where RED signals every packet, the probability is 1: every
//! conventional packet gets CE and every MDS packet, which is owed tau SCE at once, a drop; with `harddrop`, all are
//! dropped.
//!
//! RED's uniform gaps are half as long as the probability says (from 1 to 1/p packets); here the mean gap is 1/p.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, Rate};

use super::likelihood::Likelihood;
use super::mds::{MdsSignals, WithMds};
use super::mds_verdict::Accumulate;
use super::red_params::{RedIdle, RedParams};
use crate::aqm::Red;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm};
use crate::shared_keys::shared_keys;

/// RED's parameters, named as in tc, and those of the signals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Floyd, Jacobson 1993; Multiplicative Decrease Scaling",
    "x-title" = "RED-MDS",
    "x-traits" = ["marks", "red"]
))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct RedMdsParams {
    /// The average queue below which nothing is signalled; the default is a third of `max`.
    pub min: Option<Bytes>,
    /// The average queue at which the probability is `probability` and above which every packet is signalled, unless
    /// `gentle`; the default is three times `min`, or a quarter of the queue's `limit`.
    pub max: Option<Bytes>,
    /// The mean size of a packet: the unit of `burst` and of idle time.
    pub avpkt: Bytes,
    /// How many packets may arrive at once to an empty queue before the average reaches `min`: it sets the weight of a
    /// packet in the average; if left out, `(2 min + max) / (3 avpkt)`.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub burst: Option<u32>,
    /// The probability of a signal at `max`; with `adaptive`, the initial value.
    pub probability: Probability,
    /// The link's rate, as far as the average in idle time depends on it.
    pub bandwidth: Rate,
    /// Whether packets are dropped, not marked, where every packet is signalled.
    pub harddrop: bool,
    /// Whether the probability rises from `probability` at `max` to 1 at twice `max`, instead of jumping to 1.
    pub gentle: bool,
    /// Whether the probability at `max` is adapted, to keep the average half-way between `min` and `max`.
    pub adaptive: bool,
    /// Whether, as Adaptive RED has it, `min`, `max` and the weight follow from the link's rate too; includes
    /// `adaptive`.
    pub adaptive_auto: bool,
    /// With `adaptive_auto`: the mean queueing delay to aim at.
    pub delay_target: Duration,
    /// How the average falls in idle time.
    pub idle: RedIdle,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
    /// How the probability becomes signals.
    pub random: Likelihood,
    /// With `random = "recur"`: the packets on which the sums advance.
    pub accumulate: Accumulate,
}

shared_keys! {
    RedMdsParams {}

    /// The RED that has the average and its probability.
    fn law: RedParams = RedParams { ecn: true, ..RedParams::default() } => {
        min, max, avpkt, burst, probability, bandwidth, harddrop, gentle, adaptive, adaptive_auto, delay_target, idle,
    }

    fn signals: MdsSignals = MdsSignals::default() => { tau, random, accumulate }
}

impl Params for RedMdsParams {
    const NAME: &'static str = "red-mds";
    const ALIASES: &'static [&'static str] = &["red_mds"];
    const SUMMARY: &'static str = "RED with the probabilities of SCE and CE linked by tau";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.law())?;
        self.signals().check()
    }
}

impl BuildAqm for RedMdsParams {
    type Aqm = WithMds<Red>;

    const LIMIT: Limit = RedParams::DEFAULT_LIMIT;
    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> WithMds<Red> {
        self.signals().around(Red::new(self.law(), init), init.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::assert_law_has_keys;

    /// Every key that RED-MDS shares with RED has its value in the law, too; here all differ from their defaults.
    #[test]
    fn the_law_has_all_keys() {
        let params = RedMdsParams {
            min: Some(Bytes::new(1)),
            max: Some(Bytes::new(2)),
            avpkt: Bytes::new(3),
            burst: Some(4),
            probability: Probability::ONE,
            bandwidth: Rate::from_mbps(6),
            harddrop: true,
            gentle: true,
            adaptive: true,
            adaptive_auto: true,
            delay_target: Duration::from_millis(7),
            idle: RedIdle::Linux,
            ..RedMdsParams::default()
        };
        assert_law_has_keys(&params, &RedMdsParams::default(), &params.law(), 12);
    }
}
