//! DelTiC, Delay Time Control: keeps the sojourn time at a target by setting a marking frequency.
//!
//! Source: `sch_deltic` of the SCE tree (J. Morton); spec/mds section 4. A delta-sigma loop sums the
//! change of the sojourn time and its distance from the target; the sum is the frequency of an oscillator,
//! and each of its periods is a signal. Three such controllers run side by side, one per signal, with
//! targets 5, 25 and 125 ms: each is five times the milder one's, so that the milder signal has time to
//! work. They are not linked; that is DelTiC-MDS.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange, Time};

use super::delta_sigma::{DeltaSigma, SECOND, nanos};
use super::jitter::JitterEstimator;
use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::check;
use crate::ecn::Class;
use crate::params::{AqmInit, BuildAqm};

/// The three targets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "DelTiC: sch_deltic of the SCE tree (J. Morton)",
    "x-title" = "DelTiC",
    "x-traits" = ["marks"]
))]
pub struct DelticParams {
    /// The sojourn time at which SCE marks hold the queue.
    pub sce_target: Duration,
    /// The sojourn time at which CE marks hold the queue.
    pub ce_target: Duration,
    /// The sojourn time at which drops hold the queue.
    pub drop_target: Duration,
}

impl Default for DelticParams {
    fn default() -> DelticParams {
        DelticParams {
            sce_target: Duration::from_millis(5),
            ce_target: Duration::from_millis(25),
            drop_target: Duration::from_millis(125),
        }
    }
}

impl Params for DelticParams {
    const NAME: &'static str = "deltic";
    const SUMMARY: &'static str = "Delay Time Control: one controller each for SCE, CE and drop";

    fn check(&self) -> Result<(), OutOfRange> {
        check::set_point("sce_target", self.sce_target)?;
        check::set_point("ce_target", self.ce_target)?;
        check::set_point("drop_target", self.drop_target)
    }
}

impl BuildAqm for DelticParams {
    type Aqm = Deltic;

    const SCE_RAMP: bool = false;

    fn aqm(&self, _init: &AqmInit) -> Deltic {
        Deltic::new(self)
    }
}

/// The control law for one target, without the oscillator.
#[derive(Clone, Debug)]
pub(super) struct TargetLaw {
    target: i64,
    pub(super) control: DeltaSigma,
}

/// The effect of one step of a [`TargetLaw`] on its oscillators.
#[derive(Clone, Copy, Debug)]
pub(super) enum Drive {
    /// The accumulator fell below zero: start again.
    Restart,
    /// The sojourn time is below half the target: stand still.
    Hold,
    /// Advance by this phase.
    Advance(Duration),
}

impl TargetLaw {
    pub(super) fn new(target: Duration) -> TargetLaw {
        TargetLaw { target: nanos(target), control: DeltaSigma::new(target, -nanos(target)) }
    }

    /// A packet leaves after `sojourn`, `dt` after the last one.
    #[inline]
    pub(super) fn advance(&mut self, sojourn: i64, mut dt: i64) -> Drive {
        if dt > SECOND {
            // The loop has no information about such a long time: below the target it counts as zero.
            dt = if sojourn < self.target { 0 } else { SECOND };
            if sojourn < self.target {
                self.control.acc = 0;
            }
        }
        let enough = self.control.advance(sojourn - self.target, dt);
        match enough {
            false => Drive::Restart,
            true if 2 * sojourn < self.target => Drive::Hold,
            true => Drive::Advance(self.control.phase(dt)),
        }
    }
}

/// One controller: control law and oscillator.
#[derive(Clone, Debug)]
struct Controller {
    law: TargetLaw,
    oscillator: i64,
}

impl Controller {
    fn new(target: Duration) -> Controller {
        Controller { law: TargetLaw::new(target), oscillator: 0 }
    }

    /// A packet leaves. Returns whether to signal.
    #[inline]
    fn advance(&mut self, sojourn: i64, dt: i64) -> bool {
        match self.law.advance(sojourn, dt) {
            Drive::Restart => self.oscillator = 0,
            Drive::Hold => {}
            Drive::Advance(phase) => {
                self.oscillator = self.oscillator.saturating_add(nanos(phase));
                if self.oscillator >= SECOND {
                    self.oscillator -= SECOND;
                    self.law.control.relent(u8::from(self.oscillator > SECOND));
                    return true;
                }
            }
        }
        false
    }
}

/// DelTiC's variables.
#[derive(Clone, Debug)]
pub struct Deltic {
    sce: Controller,
    ce: Controller,
    drop: Controller,
    jitter: JitterEstimator,
    last_dequeue: Time,
}

impl Deltic {
    /// DelTiC with targets `params`.
    pub fn new(params: &DelticParams) -> Deltic {
        Deltic {
            sce: Controller::new(params.sce_target),
            ce: Controller::new(params.ce_target),
            drop: Controller::new(params.drop_target),
            jitter: JitterEstimator::default(),
            last_dequeue: Time::ZERO,
        }
    }
}

impl Aqm for Deltic {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets == 0 {
            self.jitter.restart(queue.now);
        }
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let dt = nanos(queue.now.since(self.last_dequeue));
        self.last_dequeue = queue.now;
        let sojourn = self.jitter.adjust(queue.now, packet.sojourn);
        // All three run on every packet; the most severe signal counts.
        let sce = self.sce.advance(sojourn, dt);
        let ce = self.ce.advance(sojourn, dt);
        let drop = self.drop.advance(sojourn, dt);
        if drop {
            Verdict::Drop
        } else if ce {
            Verdict::Mark(Signal::Ce)
        } else if sce && packet.class == Class::Sce {
            Verdict::Mark(Signal::Sce)
        } else {
            Verdict::Pass
        }
    }

    /// The SCE controller, and the CE controller's oscillator as `osc`.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("acc", self.sce.law.control.acc as f64);
        out("mds_osc", self.sce.oscillator as f64);
        out("osc", self.ce.oscillator as f64);
    }
}
