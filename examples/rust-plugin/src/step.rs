//! An AQM: the step of DCTCP (RFC 8257 section 3.1). An arriving packet that finds more than K packets queued is
//! marked, or dropped if it cannot be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_qdisc::{Aqm, AqmInit, BuildAqm, PacketView, QueueView, Signal, Verdict};

/// Parameters of the step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8257 section 3.1"))]
pub struct StepParams {
    /// The queue length above which packets are marked.
    #[schemars(extend("x-unit" = "packets"))]
    pub k: u32,
}

impl Default for StepParams {
    /// The value that Alizadeh et al. 2010 use at 10 Gbit/s.
    fn default() -> StepParams {
        StepParams { k: 65 }
    }
}

impl Params for StepParams {
    const NAME: &'static str = "k-step";
    const SUMMARY: &'static str = "Marks every packet that arrives at a queue longer than K";
}

impl BuildAqm for StepParams {
    type Aqm = Step;

    fn aqm(&self, _init: &AqmInit) -> Step {
        Step { k: self.k as usize }
    }
}

/// The step. It has no state.
#[derive(Debug)]
pub struct Step {
    k: usize,
}

impl Aqm for Step {
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets > self.k { Verdict::Mark(Signal::Ce) } else { Verdict::Pass }
    }
}
