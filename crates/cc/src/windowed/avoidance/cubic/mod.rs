//! CUBIC: growth along a cubic of the time since the last response.
//!
//! The window follows `W_cubic(t) = C (t - K)^3 + W_max` in segments (RFC 9438 section 4.2), which is flat around
//! `W_max`, the window at the last response. `K`, the time to return to `W_max`, follows from the window at the epoch's
//! start. Where the Reno-friendly estimate `W_est` is ahead of the cubic, the window follows that estimate.
//!
//! C = 0.4 and beta = 0.7 are RFC 9438's (sections 4.6, 5): C sets the speed of the cubic, beta gives a higher mean
//! utilisation than Reno's 0.5 at the price of slower convergence, and `alpha = 3 (1 - beta) / (1 + beta)` makes
//! AIMD(alpha, beta) as fast as Reno (section 4.3). Linux rounds C and beta to 1024ths: 410 and 717.
//!
//! Three variants: [`rfc9438`], [`linux`] in whole segments, and [`document`], the variant of the MDS document's runs.

mod document;
mod linux;
mod rfc9438;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};

use document::Cubic;
use linux::CubicLinux;
use rfc9438::CubicRfc;

use crate::Style;
use crate::check;
use crate::controller::CongestionControl;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;
use crate::windowed::slow_start::{HystartParams, SlowStartParams, StandardParams};

/// C of RFC 9438 section 5.1.
const RFC_C: f64 = 0.4;
/// beta of RFC 9438 section 4.6.
const RFC_BETA: f64 = 0.7;
/// Linux's constants are multiples of 1 / this.
const LINUX_UNIT: f64 = 1024.0;
/// C in Linux.
const LINUX_C: f64 = 410.0 / LINUX_UNIT;
/// beta in Linux.
const LINUX_BETA: f64 = 717.0 / LINUX_UNIT;

/// The variants of CUBIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CubicVariant {
    /// As published with the MDS document: RFC 9438 in whole bytes, with some differences.
    #[default]
    Document,
    /// RFC 9438.
    Rfc9438,
    /// Linux's, in whole segments, clock ticks and 1024ths.
    Linux,
}

/// Parameters of CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9438"))]
pub struct CubicParams {
    /// The variant of CUBIC; the default depends on the endpoints.
    pub variant: Option<CubicVariant>,
    /// The scale of the cubic, in segments per cubed second; the variant's default is 0.4, or 410/1024 (Linux).
    #[schemars(range(min = 0.0), extend("x-unit" = "segments/s^3"))]
    pub c: Option<f64>,
    /// The factor by which congestion multiplies cwnd; the variant's default is 0.7, or 717/1024 (Linux).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: Option<f64>,
    /// Whether a flow lowers its plateau further after congestion below the last `W_max`, so that new flows gain
    /// bandwidth faster.
    pub fast_convergence: bool,
    /// Whether ACKs with a congestion signal grow the window like others.
    pub grow_on_marked: bool,
}

impl Default for CubicParams {
    fn default() -> CubicParams {
        CubicParams { variant: None, c: None, beta: None, fast_convergence: true, grow_on_marked: true }
    }
}

impl Params for CubicParams {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "Growth along a cubic of the time since the last response, at least as fast as Reno";

    fn check(&self) -> Result<(), OutOfRange> {
        self.c.map_or(Ok(()), |c| check::positive("c", c))?;
        self.beta.map_or(Ok(()), |beta| check::kept_fraction("beta", beta))
    }
}

impl CubicParams {
    fn resolve(&mut self, style: Style) {
        let variant = self.variant.get_or_insert(match style {
            Style::Document => CubicVariant::Document,
            Style::Linux => CubicVariant::Linux,
        });
        let (c, beta) = match variant {
            CubicVariant::Document | CubicVariant::Rfc9438 => (RFC_C, RFC_BETA),
            CubicVariant::Linux => (LINUX_C, LINUX_BETA),
        };
        self.c.get_or_insert(c);
        self.beta.get_or_insert(beta);
    }
}

impl AvoidanceParams for CubicParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn AvoidanceParams>> {
        let mut resolved = self.clone();
        resolved.resolve(style);
        Some(Arc::new(resolved))
    }

    /// Linux's CUBIC uses `HyStart`.
    fn usual_slow_start(&self, style: Style) -> Arc<dyn SlowStartParams> {
        match style {
            Style::Document => Arc::new(StandardParams::default()),
            Style::Linux => Arc::new(HystartParams::default()),
        }
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        match self.variant.unwrap_or_default() {
            CubicVariant::Document => composition.with(Cubic::new(self)),
            CubicVariant::Rfc9438 => composition.with(CubicRfc::new(self)),
            CubicVariant::Linux => {
                let cubic = CubicLinux::new(self, composition.init().tick);
                composition.with(cubic)
            }
        }
    }
}

/// Returns K, the seconds from the epoch's start to the plateau, which is `rise` segments higher (RFC 9438 section
/// 4.2).
fn time_to_plateau(c: f64, rise: f64) -> f64 {
    libm::cbrt(rise / c)
}

/// Returns alpha, the increase that makes AIMD(alpha, beta) as fast as Reno, in segments per round trip (RFC 9438
/// section 4.3).
fn friendly_increase(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9438 section 4.2 with C = 0.4: from 70 to 100 segments in cbrt(75) s; from 700 to 1000 in 9.086 s
    /// (spec/congestion-control section 3.3).
    #[test]
    fn k_is_the_time_to_the_plateau() {
        for (rise, seconds) in [(30.0, 4.217_163), (300.0, 9.085_603)] {
            let k = time_to_plateau(0.4, rise);
            assert!((k - seconds).abs() < 1e-6, "{k}");
        }
    }

    /// spec/mds section 8: an epoch that starts above `W_max` is already past the plateau.
    #[test]
    fn k_is_negative_above_the_plateau() {
        let k = time_to_plateau(0.4, -30.0);
        assert!((k + 4.217_163).abs() < 1e-6, "{k}");
    }

    /// spec/congestion-control section 3.1: the increase that is friendly to Reno.
    #[test]
    fn the_friendly_increase_follows_from_the_decrease() {
        let table = [(0.5, 1.0), (0.6, 0.75), (0.7, 0.5294), (0.8, 0.3333), (0.85, 0.2432), (0.875, 0.2)];
        for (beta, alpha) in table {
            assert!((friendly_increase(beta) - alpha).abs() < 5e-5, "{beta}");
        }
    }
}
