//! PI2's parameters ([`super::pi2`]), named as those of Linux's `dualpi2` where it has them.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange};

use super::coupled::CoupledParams;
use super::likelihood::Likelihood;
use super::pi::PiGains;
use crate::aqm::Pi2;
use crate::aqm::oscillators::DEFAULT_TAU;
use crate::ecn::EcnMode;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm};

/// The description of PI2 to follow where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pi2Variant {
    /// RFC 9332, the classic queue of appendix A: decides on departure, without coins; target 15 ms, `tupdate` 15 ms,
    /// alpha 0.15 Hz, beta 3 Hz.
    #[default]
    Rfc,
    /// The paper of 2016: decides on arrival, with coins; target 20 ms, `tupdate` 32 ms, alpha 0.3125 Hz, beta 3.125 Hz.
    Paper,
}

/// PI2's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "PI2 (De Schepper et al., CoNEXT 2016); RFC 9332",
    "x-title" = "PI2",
    "x-traits" = ["marks", "target"]
))]
pub struct Pi2Params {
    /// Whether to follow the RFC or the paper where they differ.
    pub variant: Pi2Variant,
    /// The queueing delay at which the queue is held; by default the variant's.
    pub target: Option<Duration>,
    /// How often p' is updated; by default the variant's.
    pub tupdate: Option<Duration>,
    /// The gain of the distance from the target, in Hz; by default the variant's.
    pub alpha: Option<f64>,
    /// The gain of the delay's change, in Hz; by default the variant's.
    pub beta: Option<f64>,
    /// k: packets that are L4S in this queue are marked with k p', others with p'^2.
    pub coupling_factor: f64,
    /// Whether arriving packets are signalled instead of leaving ones; by default the variant's.
    pub drop_enqueue: Option<bool>,
    /// How a probability becomes signals; by default the variant's.
    pub random: Option<Likelihood>,
    /// The longest packet with its overhead: in a queue of less than twice this length nothing is signalled.
    pub mtu: Bytes,
    /// The MD-scaling constant: packets that understand SCE get it with tau p'^2.
    pub tau: NonZeroU32,
}

impl Default for Pi2Params {
    fn default() -> Pi2Params {
        Pi2Params {
            variant: Pi2Variant::default(),
            target: None,
            tupdate: None,
            alpha: None,
            beta: None,
            coupling_factor: 2.0,
            drop_enqueue: None,
            random: None,
            mtu: Bytes::new(1_500),
            tau: DEFAULT_TAU,
        }
    }
}

impl Pi2Params {
    pub(super) fn gains(&self) -> PiGains {
        let own = match self.variant {
            Pi2Variant::Rfc => PiGains::RFC,
            Pi2Variant::Paper => PiGains::PAPER,
        };
        PiGains {
            target: self.target.unwrap_or(own.target),
            tupdate: self.tupdate.unwrap_or(own.tupdate),
            alpha: self.alpha.unwrap_or(own.alpha),
            beta: self.beta.unwrap_or(own.beta),
        }
    }

    pub(super) fn decides_on_arrival(&self) -> bool {
        self.drop_enqueue.unwrap_or(self.variant == Pi2Variant::Paper)
    }

    pub(super) fn coupled(&self) -> CoupledParams {
        let own = match self.variant {
            Pi2Variant::Rfc => Likelihood::Recur,
            Pi2Variant::Paper => Likelihood::Coin,
        };
        CoupledParams {
            coupling_factor: self.coupling_factor,
            drops_on_overload: true,
            random: self.random.unwrap_or(own),
            tau: self.tau,
        }
    }
}

impl Params for Pi2Params {
    const NAME: &'static str = "pi2";
    const SUMMARY: &'static str = "PI improved with a square: holds a target delay, with a squared probability for classic packets and a linear one for L4S packets";

    fn check(&self) -> Result<(), OutOfRange> {
        self.gains().check()?;
        self.coupled().check()?;
        if self.mtu == Bytes::ZERO {
            return Err(OutOfRange::new("mtu", self.mtu, "more than 0 B"));
        }
        Ok(())
    }
}

impl BuildAqm for Pi2Params {
    type Aqm = Pi2;

    /// The paper's.
    const LIMIT: Limit = Limit::Packets(10_000);

    /// Packets that are to be marked with k p' have to be known.
    const ECN_MODE: EcnMode = EcnMode::L4s;

    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> Pi2 {
        Pi2::new(self, init)
    }
}
