//! Responses: how much of cwnd a signal leaves.
//!
//! A conventional flow answers CE and losses with its controller's multiplicative decrease (MD). A flow with
//! Multiplicative Decrease Scaling answers them in the same way, and each SCE mark with the tau-th root of the MD, so
//! that tau SCE equal one CE (spec/mds section 1). The queue in turn sends tau SCE for each CE.

use std::fmt::Debug;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{AnyParams, OutOfRange, Params, tau};
use windtunnel_units::{Duration, Time};

use super::limiter::{Limiter, LimiterWindow};
use crate::check;
use crate::needs::Feedback;

/// The parameters of a response. This trait is an open set.
pub trait ResponseParams: AnyParams {
    /// Returns the signals that the response distinguishes. The flow negotiates this feedback.
    fn feedback(&self) -> Feedback {
        Feedback::Classic
    }

    /// Returns how many SCE equal one CE. Slow starts that end at SCE use this number.
    fn tau(&self) -> NonZeroU32 {
        tau::DEFAULT
    }

    /// Builds the response of a flow whose avoidance has the multiplicative decrease `md`.
    fn build(&self, md: f64) -> Box<dyn Response>;
}

impl PartialEq for dyn ResponseParams {
    fn eq(&self, other: &dyn ResponseParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// How much of cwnd a signal leaves. Called when there is a signal, not on every ACK.
pub trait Response: Debug + Send {
    /// Returns the factor of cwnd that a loss leaves.
    fn loss(&self) -> f64;

    /// Returns the factor of cwnd that CE leaves.
    fn ce(&self) -> f64;

    /// Returns the factor of cwnd that one SCE leaves at `now`, or `None` if the flow does not answer it.
    fn sce(&mut self, _now: Time, _srtt: Duration) -> Option<f64> {
        None
    }

    /// Reports named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The conventional response: MD on a loss or CE, at most once per round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3168 section 6.1.2, RFC 8511 (ce_md)"))]
pub struct ConventionalParams {
    /// The factor of cwnd that CE leaves, if it differs from that of a loss (alternative backoff with ECN).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
}

/// The MDS response: the conventional response, and `MD^(1/tau)` for each SCE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Multiplicative Decrease Scaling"))]
pub struct MdsParams {
    /// The MD-scaling constant: how many SCE equal one CE. The queue must use the same value.
    pub tau: NonZeroU32,
    /// The window over which SCE responses are limited to tau.
    pub limiter: LimiterWindow,
    /// The factor of cwnd that CE leaves, if it differs from that of a loss. SCE still scale the controller's own MD.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
}

impl Default for MdsParams {
    fn default() -> MdsParams {
        MdsParams { tau: tau::DEFAULT, limiter: LimiterWindow::default(), ce_md: None }
    }
}

impl Params for ConventionalParams {
    const NAME: &'static str = "conventional";
    const SUMMARY: &'static str = "Multiplicative decrease on a loss or CE, once per round trip";

    fn check(&self) -> Result<(), OutOfRange> {
        self.ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))
    }
}

impl ResponseParams for ConventionalParams {
    fn build(&self, md: f64) -> Box<dyn Response> {
        Box::new(Conventional { loss: md, ce: self.ce_md.unwrap_or(md) })
    }
}

impl Params for MdsParams {
    const NAME: &'static str = "mds";
    const SUMMARY: &'static str =
        "Multiplicative Decrease Scaling: the tau-th root of the decrease for each SCE";

    fn check(&self) -> Result<(), OutOfRange> {
        tau::check("tau", self.tau)?;
        self.ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))
    }
}

impl ResponseParams for MdsParams {
    fn feedback(&self) -> Feedback {
        Feedback::Sce
    }

    fn tau(&self) -> NonZeroU32 {
        self.tau
    }

    fn build(&self, md: f64) -> Box<dyn Response> {
        Box::new(Mds {
            conventional: Conventional { loss: md, ce: self.ce_md.unwrap_or(md) },
            factor: scaled_md(md, self.tau),
            limiter: Limiter::new(self.limiter, self.tau),
            seen: (Time::ZERO, Duration::ZERO),
        })
    }
}

/// Returns `md^(1/tau)`, the factor of cwnd that one SCE leaves (spec/mds section 1).
pub fn scaled_md(md: f64, tau: NonZeroU32) -> f64 {
    libm::pow(md, 1.0 / f64::from(tau.get()))
}

/// The factors of a flow that answers only losses and CE.
#[derive(Clone, Copy, Debug)]
struct Conventional {
    loss: f64,
    ce: f64,
}

impl Response for Conventional {
    fn loss(&self) -> f64 {
        self.loss
    }

    fn ce(&self) -> f64 {
        self.ce
    }
}

/// The factors of a flow that also answers SCE, and its limiter.
#[derive(Clone, Debug)]
struct Mds {
    conventional: Conventional,
    /// The factor of cwnd that one SCE leaves.
    factor: f64,
    limiter: Limiter,
    /// The clock and srtt at the last SCE, for the probe.
    seen: (Time, Duration),
}

impl Response for Mds {
    fn loss(&self) -> f64 {
        self.conventional.loss
    }

    fn ce(&self) -> f64 {
        self.conventional.ce
    }

    /// Uses a place in the limiter; returns `None` if no place is left.
    fn sce(&mut self, now: Time, srtt: Duration) -> Option<f64> {
        self.seen = (now, srtt);
        self.limiter.take(now, srtt).then_some(self.factor)
    }

    /// Reports the SCE responses in the limiter's window when the last SCE arrived.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("sce_in_window", self.limiter.in_use(self.seen.0, self.seen.1) as f64);
    }
}
