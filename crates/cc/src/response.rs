//! Responses: how much of cwnd a signal leaves.
//!
//! A conventional flow answers CE and losses with its controller's multiplicative decrease (MD). A flow
//! with Multiplicative Decrease Scaling answers those alike, and each SCE mark with the tau-th root of
//! the MD, so that tau SCE are one CE (spec/mds section 1). The queue in turn gives tau SCE for each CE.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Duration, OutOfRange, Time};

use crate::check;
use crate::limiter::{Limiter, LimiterWindow};

/// tau of the MDS document's tests.
pub(crate) const DEFAULT_TAU: NonZeroU32 = NonZeroU32::new(64).unwrap();

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
        MdsParams { tau: DEFAULT_TAU, limiter: LimiterWindow::default(), ce_md: None }
    }
}

impl ConventionalParams {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        self.ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))
    }
}

impl MdsParams {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        self.ce_md.map_or(Ok(()), |md| check::kept_fraction("ce_md", md))
    }
}

/// `md^(1/tau)`: the factor of cwnd that one SCE leaves (spec/mds section 1).
pub fn scaled_md(md: f64, tau: NonZeroU32) -> f64 {
    libm::pow(md, 1.0 / f64::from(tau.get()))
}

/// The factors of a flow, and its limiter of SCE responses.
#[derive(Clone, Debug)]
pub(crate) struct Response {
    /// What a loss leaves of cwnd.
    pub(crate) loss: f64,
    /// What CE leaves of cwnd.
    pub(crate) ce: f64,
    sce: Option<SceResponse>,
}

#[derive(Clone, Debug)]
struct SceResponse {
    factor: f64,
    limiter: Limiter,
    /// The clock and srtt at the last SCE, for the probe.
    seen: (Time, Duration),
}

impl Response {
    /// Answers losses and CE only.
    pub(crate) fn conventional(params: &ConventionalParams, md: f64) -> Response {
        Response { loss: md, ce: params.ce_md.unwrap_or(md), sce: None }
    }

    /// Answers SCE as well.
    pub(crate) fn mds(params: &MdsParams, md: f64) -> Response {
        let sce = SceResponse {
            factor: scaled_md(md, params.tau),
            limiter: Limiter::new(params.limiter, params.tau),
            seen: (Time::ZERO, Duration::ZERO),
        };
        Response { loss: md, ce: params.ce_md.unwrap_or(md), sce: Some(sce) }
    }

    /// The factor for one SCE at `now`, unless the flow does not answer SCE or tau were answered
    /// within the last srtt. Uses a place of the limiter.
    pub(crate) fn sce(&mut self, now: Time, srtt: Duration) -> Option<f64> {
        let sce = self.sce.as_mut()?;
        sce.seen = (now, srtt);
        sce.limiter.take(now, srtt).then_some(sce.factor)
    }

    /// SCE responses in the limiter's window when the last SCE arrived; nothing if SCE are not answered.
    pub(crate) fn sce_in_window(&self) -> Option<usize> {
        self.sce.as_ref().map(|sce| sce.limiter.in_use(sce.seen.0, sce.seen.1))
    }
}
