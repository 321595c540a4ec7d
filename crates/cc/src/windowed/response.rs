//! Responses: how much of cwnd a signal leaves.
//!
//! A conventional flow answers CE and losses with its controller's multiplicative decrease (MD). A flow
//! with Multiplicative Decrease Scaling answers those alike, and each SCE mark with the tau-th root of
//! the MD, so that tau SCE are one CE (spec/mds section 1). The queue in turn gives tau SCE for each CE.

use std::fmt::Debug;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{AnyParams, OutOfRange, Params, tau};
use windtunnel_units::{Duration, Time};

use super::limiter::{Limiter, LimiterWindow};
use crate::check;
use crate::needs::Feedback;

/// The parameters of a response: the open set of them.
pub trait ResponseParams: AnyParams {
    /// What the response can tell apart: what the flow negotiates.
    fn feedback(&self) -> Feedback {
        Feedback::Classic
    }

    /// How many SCE are one CE: slow starts that end at SCE count with it.
    fn tau(&self) -> NonZeroU32 {
        tau::DEFAULT
    }

    /// The response of a flow whose avoidance has the multiplicative decrease `md`.
    fn build(&self, md: f64) -> Box<dyn Response>;
}

impl PartialEq for dyn ResponseParams {
    fn eq(&self, other: &dyn ResponseParams) -> bool {
        let (ours, theirs): (&dyn AnyParams, &dyn AnyParams) = (self, other);
        ours == theirs
    }
}

/// How much of cwnd a signal leaves. Asked when there is a signal, not with every ACK.
pub trait Response: Debug + Send {
    /// The factor of cwnd that a loss leaves.
    fn loss(&self) -> f64;

    /// The factor of cwnd that CE leaves.
    fn ce(&self) -> f64;

    /// The factor of cwnd that one SCE leaves at `now`; nothing if the flow does not answer it.
    fn sce(&mut self, _now: Time, _srtt: Duration) -> Option<f64> {
        None
    }

    /// Named internal numbers.
    fn probe(&self, _out: &mut dyn FnMut(&'static str, f64)) {}
}

/// The conventional response: MD on a loss or CE, at most once per round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3168 section 6.1.2, RFC 8511 (ce_md)"))]
pub struct ConventionalParams {
    /// Factor of cwnd that CE leaves, if not the same as a loss (alternative backoff with ECN).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
}

/// The MDS response: as conventional, and `MD^(1/tau)` for each SCE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Multiplicative Decrease Scaling"))]
pub struct MdsParams {
    /// The MD-scaling constant: how many SCE are one CE. The queue must use the same.
    pub tau: NonZeroU32,
    /// The window over which SCE responses are limited to tau.
    pub limiter: LimiterWindow,
    /// Factor of cwnd that CE leaves, if not the same as a loss. SCE keep scaling from the
    /// controller's own MD.
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

/// `md^(1/tau)`: the factor of cwnd that one SCE leaves (spec/mds section 1).
pub fn scaled_md(md: f64, tau: NonZeroU32) -> f64 {
    libm::pow(md, 1.0 / f64::from(tau.get()))
}

/// The factors of a flow that answers losses and CE only.
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

/// The factors of a flow that answers SCE as well, and its limiter.
#[derive(Clone, Debug)]
struct Mds {
    conventional: Conventional,
    /// What one SCE leaves of cwnd.
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

    /// Uses a place of the limiter: nothing if tau were answered within the last srtt.
    fn sce(&mut self, now: Time, srtt: Duration) -> Option<f64> {
        self.seen = (now, srtt);
        self.limiter.take(now, srtt).then_some(self.factor)
    }

    /// SCE responses in the limiter's window when the last SCE arrived.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("sce_in_window", self.limiter.in_use(self.seen.0, self.seen.1) as f64);
    }
}
