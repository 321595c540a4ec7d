//! sfq's parameters, and those of the RED of its flows, named as in tc.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

use crate::aqm::RedParams;
use crate::flows::FlowHash;

/// sfq's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "McKenney 1990; Linux sch_sfq", "x-title" = "SFQ", "x-traits" = ["fair"]))]
pub struct SfqParams {
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// How many flows may have packets at once.
    pub flows: u32,
    /// Buckets that a hash has to choose from, a power of two; 1 makes all flows collide.
    pub divisor: u32,
    /// The most packets of one flow.
    pub depth: u32,
    /// What a flow may send in one turn. Linux takes 1514 B on Ethernet, where headers count.
    pub quantum: Bytes,
    /// The seconds after which the hash gets another salt; 0 s is never.
    pub perturb: Duration,
    /// Whether a flow loses its oldest packet instead of its newest one. RED then marks and drops it, too.
    pub headdrop: bool,
    /// Turns RED on for each flow: the size from which `max` follows if it is left out.
    pub redflowlimit: Option<Bytes>,
    /// With RED: the average queue of a flow below which nothing is signalled; a third of `max` if left out.
    pub min: Option<Bytes>,
    /// With RED: the average queue of a flow above which every packet is signalled; three times `min` if left out, or a
    /// quarter of `redflowlimit`.
    pub max: Option<Bytes>,
    /// With RED: the mean size of a packet, the unit of `burst`.
    pub avpkt: Option<Bytes>,
    /// With RED: how many packets of a flow may arrive at once before the average reaches `min`; if left out,
    /// `(2 min + max) / (3 avpkt)`.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub burst: Option<u32>,
    /// With RED: the probability of a signal at `max`; 2 % if left out.
    pub probability: Option<Probability>,
    /// With RED: whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// With RED: whether packets are dropped, not marked, where every packet is signalled.
    pub harddrop: bool,
}

impl Default for SfqParams {
    fn default() -> SfqParams {
        SfqParams {
            hash: FlowHash::default(),
            flows: 128,
            divisor: 1_024,
            depth: 127,
            quantum: Bytes::new(1_500),
            perturb: Duration::ZERO,
            headdrop: false,
            redflowlimit: None,
            min: None,
            max: None,
            avpkt: None,
            burst: None,
            probability: None,
            ecn: false,
            harddrop: false,
        }
    }
}

impl Params for SfqParams {
    const NAME: &'static str = "sfq";
    const SUMMARY: &'static str = "Stochastic fairness queueing: flows take turns, the longest loses packets";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, value) in [("flows", self.flows), ("depth", self.depth)] {
            if value == 0 {
                return Err(OutOfRange::new(key, value, "at least 1"));
            }
        }
        if !self.divisor.is_power_of_two() || self.divisor > 65_536 {
            return Err(OutOfRange::new("divisor", self.divisor, "a power of two, at most 65536"));
        }
        if self.quantum == Bytes::ZERO {
            return Err(OutOfRange::new("quantum", self.quantum, "more than 0 B"));
        }
        match self.flow_red() {
            Some((red, limit)) => SfqParams::check_red(&red, limit),
            None => self.check_without_red(),
        }
    }
}

impl SfqParams {
    /// The RED of each flow, and the limit from which its thresholds follow, if it is turned on.
    pub(super) fn flow_red(&self) -> Option<(RedParams, Bytes)> {
        let SfqParams { min, max, burst, ecn, harddrop, .. } = *self;
        let RedParams { avpkt, probability, .. } = RedParams::default();
        let red = RedParams {
            min,
            max,
            avpkt: self.avpkt.unwrap_or(avpkt),
            burst,
            probability: self.probability.unwrap_or(probability),
            ecn,
            harddrop,
            ..RedParams::default()
        };
        self.redflowlimit.map(|limit| (red, limit))
    }

    fn check_red(red: &RedParams, limit: Bytes) -> Result<(), OutOfRange> {
        Params::check(red)?;
        if limit == Bytes::ZERO {
            return Err(OutOfRange::new("redflowlimit", limit, "more than 0 B"));
        }
        for (key, size) in [("max", red.max), ("min", red.min)] {
            if let Some(size) = size.filter(|&size| size > limit) {
                return Err(OutOfRange::new(key, size, "at most `redflowlimit`"));
            }
        }
        Ok(())
    }

    /// Nothing is said about a RED that is not turned on.
    fn check_without_red(&self) -> Result<(), OutOfRange> {
        const ALLOWED: &str = "left out without `redflowlimit`, which turns RED on";
        let sizes = [("min", self.min), ("max", self.max), ("avpkt", self.avpkt)];
        if let Some((key, size)) = sizes.into_iter().find_map(|(key, size)| Some((key, size?))) {
            return Err(OutOfRange::new(key, size, ALLOWED));
        }
        if let Some(burst) = self.burst {
            return Err(OutOfRange::new("burst", burst, ALLOWED));
        }
        if let Some(probability) = self.probability {
            return Err(OutOfRange::new("probability", probability, ALLOWED));
        }
        let switches = [("ecn", self.ecn), ("harddrop", self.harddrop)];
        match switches.into_iter().find(|(_, on)| *on) {
            Some((key, on)) => Err(OutOfRange::new(key, on, ALLOWED)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the keys of RED reaches the RED of a flow; what is left out has tc's default.
    #[test]
    fn red_of_a_flow() {
        let [limit, min, max, avpkt] = [20_000, 2_000, 6_000, 500].map(|size| Some(Bytes::new(size)));
        let probability = Probability::clamped(0.5);
        let params = SfqParams {
            redflowlimit: limit,
            min,
            max,
            avpkt,
            burst: Some(9),
            probability: Some(probability),
            ecn: true,
            harddrop: true,
            ..SfqParams::default()
        };
        let red = RedParams {
            min,
            max,
            avpkt: Bytes::new(500),
            burst: Some(9),
            probability,
            ecn: true,
            harddrop: true,
            ..RedParams::default()
        };
        assert_eq!(params.flow_red(), Some((red, Bytes::new(20_000))));
        let plain = SfqParams { redflowlimit: limit, ..SfqParams::default() };
        assert_eq!(plain.flow_red(), Some((RedParams::default(), Bytes::new(20_000))));
        assert_eq!(SfqParams::default().flow_red(), None);
    }
}
