//! FQ-PIE: FQ-CoDel's scheduler with a PIE for each flow.
//!
//! Source: Linux `sch_fq_pie` and its manual page `tc-fq_pie`; RFC 8033 for PIE, RFC 8290 section 4.2 for the
//! scheduler. One timer updates the probabilities of all flows, so that they have one phase. (Linux updates 2048 bands
//! at once, and further ones a tick later; that is left out.) A full queue loses what arrives, at the cost of no other
//! flow; packets that arrive while more than `memory_limit` is in use are counted, and enter all the same.
//!
//! Why the constants are what they are: PIE's are those of `pie`, the scheduler's those of `fq_codel`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

use crate::aqm::PieParams;
use crate::discipline::QueueDiscipline;
use crate::ecn::EcnMode;
use crate::flows::{AqmFactory, Fair, FlowHash};
use crate::fq_codel::{FqCodel, FqCodelParams};
use crate::limit::Limit;
use crate::params::{AqmParams, BuildAqm, QueueInit, QueueParams, QueuePlace};
use crate::shared_keys::shared_keys;
use crate::spec::Parts;

/// FQ-PIE's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Linux sch_fq_pie; RFC 8033",
    "x-title" = "FQ-PIE",
    "x-traits" = ["fair", "target"]
))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct FqPieParams {
    /// How flows are told apart: for certain, or by a hash as on a real queue.
    pub hash: FlowHash,
    /// Bands that a hash has to choose from; 1 makes all flows collide.
    pub flows: u32,
    /// What a band may send in one turn. Linux takes 1514 B on Ethernet, where headers count.
    pub quantum: Bytes,
    /// The memory of all packets, their lengths and 256 bytes for each, above which arrivals are counted.
    pub memory_limit: Bytes,
    /// The queueing delay at which each flow's queue is held.
    pub target: Duration,
    /// How often the drop probabilities are updated.
    pub tupdate: Duration,
    /// The kernel's tick, to which the timer rounds: 1 ms with `HZ` 1000, 4 ms with 250.
    pub tick: Duration,
    /// The gain of the distance from the target, in 1/16 Hz.
    pub alpha: f64,
    /// The gain of the change of the delay, in 1/16 Hz.
    pub beta: f64,
    /// Whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// The drop probability above which packets are dropped even with `ecn`.
    pub ecn_prob: Probability,
    /// Whether the probability is proportionally lower for packets shorter than 1500 B.
    pub bytemode: bool,
    /// Whether delays are estimated from departure rates instead of measured.
    pub dq_rate_estimator: bool,
    /// Whether, as in Linux, the sum of probabilities is kept when it forced a mark, so that the next packet is
    /// signalled too.
    pub linux_exact: bool,
}

shared_keys! {
    FqPieParams {}

    fn scheduler: FqCodelParams = FqCodelParams::default() => { hash, flows, quantum, memory_limit }

    /// The PIE of each band.
    fn pie: PieParams = PieParams::default() => {
        target, tupdate, tick, alpha, beta, ecn, ecn_prob, bytemode, dq_rate_estimator, linux_exact,
    }
}

impl Params for FqPieParams {
    const NAME: &'static str = "fq_pie";
    const ALIASES: &'static [&'static str] = &["fq-pie"];
    const SUMMARY: &'static str =
        "Fair queueing by deficit round robin that favours new flows, with PIE for each flow";

    fn check(&self) -> Result<(), OutOfRange> {
        Params::check(&self.scheduler())?;
        Params::check(&self.pie())
    }
}

impl QueueParams for FqPieParams {
    /// Linux's.
    fn default_limit(&self) -> Limit {
        Limit::Packets(10_240)
    }

    /// Linux's.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        EcnMode::Rfc3168
    }

    fn placed(&self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Option<Arc<dyn QueueParams>> {
        let mut placed = self.clone();
        if !is_given("quantum") {
            placed.quantum += place.overhead;
        }
        Some(Arc::new(placed))
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        let pie = self.pie();
        let factory = AqmFactory::new(move |init| pie.aqm(init));
        Box::new(Fair(FqCodel::new(&self.scheduler(), init, factory).refusing()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each of the parameters of PIE reaches the PIE of a band, and the others the scheduler.
    #[test]
    fn pie_of_a_band() {
        let ms = Duration::from_millis;
        let params = FqPieParams {
            hash: FlowHash::Jenkins,
            flows: 3,
            quantum: Bytes::new(300),
            memory_limit: Bytes::new(4_000),
            target: ms(5),
            tupdate: ms(6),
            tick: ms(4),
            alpha: 7.0,
            beta: 8.0,
            ecn: true,
            ecn_prob: Probability::clamped(0.9),
            bytemode: true,
            dq_rate_estimator: true,
            linux_exact: true,
        };
        let pie = PieParams {
            target: ms(5),
            tupdate: ms(6),
            tick: ms(4),
            alpha: 7.0,
            beta: 8.0,
            ecn: true,
            ecn_prob: Probability::clamped(0.9),
            bytemode: true,
            dq_rate_estimator: true,
            linux_exact: true,
            ..PieParams::default()
        };
        let scheduler = FqCodelParams {
            hash: FlowHash::Jenkins,
            flows: 3,
            quantum: Bytes::new(300),
            memory_limit: Bytes::new(4_000),
            ..FqCodelParams::default()
        };
        assert_eq!((params.pie(), params.scheduler()), (pie, scheduler));
    }
}
