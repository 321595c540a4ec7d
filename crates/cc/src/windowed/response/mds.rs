//! The MDS response: the conventional response, and `MD^(1/tau)` for each SCE (spec/mds sections 1 and 3).

use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params, tau};
use windtunnel_units::{Bytes, Duration, Time};

use super::conventional::Conventional;
use super::fallback::Fallback;
use super::{Kept, Moment, Response, ResponseParams};
use crate::check;
use crate::needs::Feedback;
use crate::sample::{Delivery, PathView};
use crate::windowed::limiter::{Limiter, LimiterWindow};

/// The MDS response: the conventional response, and `MD^(1/tau)` for each SCE.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Multiplicative Decrease Scaling", "x-title" = "MDS"))]
pub struct MdsParams {
    /// The MD-scaling constant: how many SCE equal one CE. The queue must use the same value.
    pub tau: NonZeroU32,
    /// The window over which SCE responses are limited to tau.
    pub limiter: LimiterWindow,
    /// The factor of cwnd that CE leaves, if it differs from that of a loss. SCE still scale the controller's own MD.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub ce_md: Option<f64>,
    /// After how many congested round trips since the last SCE (with CE, or srtt more than 10 ms above the minimum RTT) the flow
    /// gives up the MDS identifier and is a conventional one: windtunnel's proposal, docs/spec/mds.md section 9. Without
    /// it the flow never does, as in the document.
    pub fallback: Option<NonZeroU32>,
}

impl Default for MdsParams {
    fn default() -> MdsParams {
        MdsParams { tau: tau::DEFAULT, limiter: LimiterWindow::default(), ce_md: None, fallback: None }
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

    fn follows_deliveries(&self) -> bool {
        self.fallback.is_some()
    }

    fn build(&self, md: f64) -> Box<dyn Response> {
        Box::new(Mds {
            conventional: Conventional { ce: self.ce_md },
            tau: self.tau,
            scaled: (md, scaled_md(md, self.tau)),
            limiter: Limiter::new(self.limiter, self.tau),
            seen: (Time::ZERO, Duration::ZERO),
            fallback: self.fallback.map(Fallback::new),
        })
    }
}

/// Returns `md^(1/tau)`, the factor of cwnd that one SCE leaves (spec/mds section 1).
pub fn scaled_md(md: f64, tau: NonZeroU32) -> f64 {
    libm::pow(md, 1.0 / f64::from(tau.get()))
}

/// The factors of a flow that also answers SCE, and its limiter.
#[derive(Clone, Debug)]
struct Mds {
    conventional: Conventional,
    tau: NonZeroU32,
    /// The avoidance's decrease, and the factor of cwnd that one SCE leaves with it.
    scaled: (f64, f64),
    limiter: Limiter,
    /// The clock and srtt at the last SCE, for the probe.
    seen: (Time, Duration),
    fallback: Option<Fallback>,
}

impl Response for Mds {
    fn ce(&self, at: &Moment) -> Kept {
        self.conventional.ce(at)
    }

    /// Uses a place in the limiter; returns `None` if no place is left.
    fn sce(&mut self, at: &Moment) -> Option<Kept> {
        self.seen = (at.now, at.srtt);
        if at.md.to_bits() != self.scaled.0.to_bits() {
            self.scaled = (at.md, scaled_md(at.md, self.tau));
        }
        self.limiter.take(at.now, at.srtt).then_some(Kept::Factor(self.scaled.1))
    }

    fn on_delivery(&mut self, delivery: &Delivery, _cwnd: Bytes, path: &PathView) {
        if let Some(fallback) = &mut self.fallback {
            fallback.on_delivery(delivery, path);
        }
    }

    fn is_conventional(&self) -> bool {
        self.fallback.is_some_and(|fallback| fallback.has_fallen_back())
    }

    /// Reports the SCE responses in the limiter's window when the last SCE arrived and, with the fallback test, its count.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("sce_in_window", self.limiter.in_use(self.seen.0, self.seen.1) as f64);
        if let Some(fallback) = &self.fallback {
            out("silent_rounds", f64::from(fallback.silent()));
            out("fallen_back", f64::from(u8::from(fallback.has_fallen_back())));
        }
    }
}
