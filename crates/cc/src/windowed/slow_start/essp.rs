//! Extended Slow Start with Pacing (ESSP).
//!
//! Slow start in stages: stage n grows cwnd by `acked / K(n)`, where K are the Leonardo numbers, and paces at `S(n)`
//! times the rate that would spread cwnd over a round trip (spec/mds section 5). S(n) is the product of the growth
//! still to come, so the flow already sends at the rate that the final window would give; S starts just below 4.2. A
//! sign of congestion (CE, SCE, or delay a quarter above the minimum) does not end slow start. It starts the next,
//! slower stage, at most once per round, and sets the window to what the path holds without its queue. Slow start ends
//! when `K(2n)` is at least the window in segments, because further stages would grow the window by about a segment per
//! round trip or less.

use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::exit::less_queued;
use super::{Exit, ExitResponse, SlowStart, SlowStartParams, SlowStartVerdict, leonardo};
use crate::control::ExitReason;
use crate::hold_off::HoldOff;
use crate::sample::{AckSample, FlowInit, PathView};
use crate::windowed::carry::Carry;

/// Parameters of ESSP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Extended Slow Start with Pacing", "x-title" = "ESSP"))]
pub struct EsspParams {
    /// The multiple of the minimum round-trip time above which a sample starts the next stage.
    #[schemars(range(min = 1.0))]
    pub delay_factor: f64,
    /// What slow start does to cwnd when it ends.
    pub exit: ExitResponse,
}

impl Default for EsspParams {
    fn default() -> EsspParams {
        EsspParams { delay_factor: 1.25, exit: ExitResponse::default() }
    }
}

impl Params for EsspParams {
    const NAME: &'static str = "essp";
    const SUMMARY: &'static str =
        "Extended Slow Start with Pacing: slows down in stages while the queue is still short";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.delay_factor >= 1.0 && self.delay_factor.is_finite() {
            return Ok(());
        }
        Err(OutOfRange::new("delay_factor", self.delay_factor, "1 or more"))
    }
}

impl SlowStartParams for EsspParams {
    fn build(&self, flow: &FlowInit, _tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Essp::new(self.clone(), flow.min_cwnd))
    }

    /// A stage sets a rate; without pacing all stages would send alike.
    fn paces(&self) -> bool {
        true
    }
}

/// ESSP.
#[derive(Clone, Debug)]
pub(crate) struct Essp {
    params: EsspParams,
    min_cwnd: Bytes,
    exit: Exit,
    vars: EsspVars,
}

#[derive(Clone, Copy, Debug)]
struct EsspVars {
    stage: usize,
    hold_off: HoldOff,
    carry: Carry,
    /// The last round-trip sample, until a stage advance uses it.
    rtt: Option<Duration>,
}

impl Essp {
    pub(crate) fn new(params: EsspParams, min_cwnd: Bytes) -> Essp {
        let exit = Exit::new(params.exit);
        let vars = EsspVars { stage: 0, hold_off: HoldOff::new(), carry: Carry::default(), rtt: None };
        Essp { params, min_cwnd, exit, vars }
    }

    fn advance(&mut self, trigger: ExitReason, cwnd: &mut Bytes, path: &PathView) -> SlowStartVerdict {
        let vars = &mut self.vars;
        if !vars.hold_off.allows(path.una) {
            return SlowStartVerdict::Stay;
        }
        vars.hold_off.start(path.nxt);
        vars.stage += 1;
        let before = *cwnd;
        if let Some(rtt) = vars.rtt.take() {
            *cwnd = less_queued(before, path.min_rtt, rtt).max(self.min_cwnd).min(before);
        }
        if leonardo::k(2 * vars.stage) >= before / path.mss {
            SlowStartVerdict::Exit(trigger)
        } else {
            SlowStartVerdict::Respond
        }
    }

    fn delayed(&self, path: &PathView) -> bool {
        self.vars.rtt.is_some_and(|rtt| rtt > path.min_rtt.scale(self.params.delay_factor))
    }
}

impl SlowStart for Essp {
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict {
        self.vars.rtt = rtt.or(self.vars.rtt);
        self.advance(ExitReason::Ce, cwnd, path)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        self.exit.observe(path);
        // `on_ce` already took, and perhaps used, the sample of an ACK with CE.
        if !ack.ecn.ce.any() {
            self.vars.rtt = ack.rtt.or(self.vars.rtt);
        }
        let trigger = if ack.ecn.sce.any() {
            Some(ExitReason::Sce)
        } else {
            self.delayed(path).then_some(ExitReason::Delay)
        };
        let verdict = trigger.map_or(SlowStartVerdict::Stay, |trigger| self.advance(trigger, cwnd, path));
        if !matches!(verdict, SlowStartVerdict::Exit(_)) {
            *cwnd += self.vars.carry.divide(ack.growth(ack.acked), leonardo::k(self.vars.stage));
        }
        verdict
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.exit.cwnd(cwnd, rtt, path)
    }

    fn exits_by_md(&self) -> bool {
        self.exit.is_md()
    }

    fn limit(&self, window: Bytes) -> Bytes {
        window + window / leonardo::k(self.vars.stage)
    }

    fn pacing_gain(&self) -> f64 {
        leonardo::scale(self.vars.stage)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("essp_stage", self.vars.stage as f64);
        out("essp_recover_seq", self.vars.hold_off.recover().get() as f64);
    }
}
