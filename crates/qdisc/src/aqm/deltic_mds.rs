//! DelTiC-MDS: one DelTiC controller that drives two linked oscillators.
//!
//! Source: "Multiplicative Decrease Scaling", DelTiM AQM (the MDS variants of DelTiC); spec/mds section 4. The control
//! law is DelTiC's ([`super::deltic`]); its frequency is that of the SCE oscillator, and CE comes tau times less often
//! ([`super::oscillators`]): a schedule of the document's own, not MDS around an AQM with a probability ([`super::mds`]).
//! The sojourn time is used without the jitter estimator, as in the runs that the document shows.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange, Time};

use super::delta_sigma::nanos;
use super::deltic::{Drive, TargetLaw};
use super::oscillators::DEFAULT_TAU;
use crate::aqm::{Aqm, LinkedOscillators, PacketView, QueueView, Verdict};
use crate::check;
use crate::params::{AqmInit, BuildAqm};

/// Target and tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Multiplicative Decrease Scaling, DelTiM AQM",
    "x-title" = "DelTiC-MDS",
    "x-traits" = ["marks"]
))]
pub struct DelticMdsParams {
    /// The sojourn time at which the queue is held.
    pub target: Duration,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
}

impl Default for DelticMdsParams {
    fn default() -> DelticMdsParams {
        DelticMdsParams { target: Duration::from_millis(5), tau: DEFAULT_TAU }
    }
}

impl Params for DelticMdsParams {
    const NAME: &'static str = "deltic-mds";
    const ALIASES: &'static [&'static str] = &["deltic_mds"];
    const SUMMARY: &'static str = "Delay Time Control with oscillators for SCE and CE linked by tau";

    fn check(&self) -> Result<(), OutOfRange> {
        check::set_point("target", self.target)
    }
}

impl BuildAqm for DelticMdsParams {
    type Aqm = DelticMds;

    const SCE_RAMP: bool = false;

    fn aqm(&self, _init: &AqmInit) -> DelticMds {
        DelticMds::new(self)
    }
}

/// DelTiC-MDS's variables.
#[derive(Clone, Debug)]
pub struct DelticMds {
    law: TargetLaw,
    oscillators: LinkedOscillators,
    last_dequeue: Time,
}

impl DelticMds {
    /// DelTiC-MDS with `params`.
    pub fn new(params: &DelticMdsParams) -> DelticMds {
        DelticMds {
            law: TargetLaw::new(params.target),
            oscillators: LinkedOscillators::new(params.tau),
            last_dequeue: Time::ZERO,
        }
    }
}

impl Aqm for DelticMds {
    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let dt = nanos(queue.now.since(self.last_dequeue));
        self.last_dequeue = queue.now;
        match self.law.advance(nanos(packet.sojourn), dt) {
            Drive::Restart => self.oscillators.restart(),
            Drive::Hold => {}
            Drive::Advance(phase) => {
                let verdicts = self.oscillators.advance(phase);
                self.law.control.relent(verdicts.overruns);
                return verdicts.of(packet.class);
            }
        }
        Verdict::Pass
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("acc", self.law.control.acc as f64);
        self.oscillators.probe(out);
    }
}
