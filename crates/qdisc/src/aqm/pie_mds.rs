//! PIE-MDS: PIE with MDS around it ([`super::mds`]).
//!
//! Source: spec/queues-and-signalling section 16.2, on RFC 8033 and "Multiplicative Decrease Scaling". PIE spares packets
//! during the burst allowance, at low delay and in a short queue ([`super::pie`]). MDS takes the place of PIE's sum of
//! probabilities and its coin. Above `ecn_prob`, drops take the place of CE.
//!
//! PIE's gains stay as they are: an MDS flow answers a change of p as a conventional flow does.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

use super::likelihood::Likelihood;
use super::mds::{MdsSignals, WithMds};
use super::mds_verdict::Accumulate;
use super::pie_params::{PieBurstMode, PieParams, PieVariant};
use crate::aqm::Pie;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm};
use crate::shared_keys::shared_keys;

/// PIE's parameters, named as in tc, and those of the signals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "RFC 8033; Multiplicative Decrease Scaling",
    "x-title" = "PIE-MDS",
    "x-traits" = ["marks", "target"]
))]
pub struct PieMdsParams {
    /// Whether to follow the RFC or Linux where they differ.
    pub variant: PieVariant,
    /// The queueing delay at which the queue is held.
    pub target: Duration,
    /// How often the probability is updated.
    pub tupdate: Duration,
    /// The kernel's tick, to which Linux's timer rounds: 1 ms with `HZ` 1000, 4 ms with 250. The RFC's timer is exact.
    pub tick: Duration,
    /// The gain of the distance from the target, in 1/16 Hz.
    pub alpha: f64,
    /// The gain of the change of the delay, in 1/16 Hz.
    pub beta: f64,
    /// The probability above which packets are dropped instead of marked CE.
    pub ecn_prob: Probability,
    /// How long a burst passes without signals after idle time.
    pub max_burst: Duration,
    /// How the burst allowance runs out.
    pub burst_mode: PieBurstMode,
    /// Whether the probability is proportionally lower for packets shorter than `mtu`.
    pub bytemode: bool,
    /// The longest packet with its overhead: a queue of twice this length is too short to signal from. Linux uses 1514 B
    /// on Ethernet.
    pub mtu: Bytes,
    /// Whether the delay is estimated from the departure rate instead of measured.
    pub dq_rate_estimator: bool,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
    /// How the probability becomes signals.
    pub random: Likelihood,
    /// With `random = "recur"`: the packets on which the sums advance.
    pub accumulate: Accumulate,
}

shared_keys! {
    PieMdsParams {}

    /// The PIE that has the control law.
    fn law: PieParams = PieParams { ecn: true, ..PieParams::default() } => {
        variant, target, tupdate, tick, alpha, beta, ecn_prob, max_burst, burst_mode, bytemode, mtu, dq_rate_estimator,
    }

    fn signals: MdsSignals = MdsSignals::default() => { tau, random, accumulate }
}

impl Params for PieMdsParams {
    const NAME: &'static str = "pie-mds";
    const ALIASES: &'static [&'static str] = &["pie_mds"];
    const SUMMARY: &'static str = "PIE with the probabilities of SCE and CE linked by tau";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.law())?;
        self.signals().check()
    }
}

impl BuildAqm for PieMdsParams {
    type Aqm = WithMds<Pie>;

    const LIMIT: Limit = PieParams::DEFAULT_LIMIT;
    const SCE_RAMP: bool = false;

    fn aqm(&self, init: &AqmInit) -> WithMds<Pie> {
        self.signals().around(Pie::new(self.law(), init), init.seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::assert_law_has_keys;

    /// Every key that PIE-MDS shares with PIE has its value in the law, too; here all differ from their defaults.
    #[test]
    fn the_law_has_all_keys() {
        let params = PieMdsParams {
            variant: PieVariant::Rfc,
            target: Duration::from_millis(1),
            tupdate: Duration::from_millis(2),
            tick: Duration::from_millis(4),
            alpha: 3.0,
            beta: 4.0,
            ecn_prob: Probability::ONE,
            max_burst: Duration::from_millis(6),
            burst_mode: PieBurstMode::Rfc,
            bytemode: true,
            mtu: Bytes::new(900),
            dq_rate_estimator: true,
            ..PieMdsParams::default()
        };
        assert_law_has_keys(&params, &PieMdsParams::default(), &params.law(), 12);
    }
}
