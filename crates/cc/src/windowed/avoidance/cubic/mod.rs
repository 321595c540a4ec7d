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
//! Four variants: [`rfc9438`], [`linux`] in whole segments, [`document`], the variant of the MDS document's runs, and
//! [`cuback`], which counts what is acknowledged instead of time.
//! In addition, the preset `paper` has the constants of Ha, Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP
//! variant" (2008): C = 0.4, and a decrease *by* 0.2, which leaves 0.8 (texts that multiply by `1 - beta` and give beta
//! = 0.8 mean the share that is left). Its algorithm is that of Linux, by the same authors, before `HyStart`.
//!
//! All parameters of Linux's module are read by their names and in their units. Those that say what another parameter
//! says, too, are converted, so that a run's description has one form: `beta` in 1024ths becomes the fraction,
//! `bic_scale` becomes C, and `hystart...` become the parameters of the slow start.

mod cuback;
mod document;
mod linux;
mod rfc9438;

use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Duration;

use cuback::Cuback;
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
/// The share that the paper of 2008 leaves: it takes 0.2 (sections 3.2 and 4.1).
const PAPER_BETA: f64 = 0.8;
/// The bits of `hystart_detect`.
const DETECT_TRAIN: u32 = 1;
const DETECT_DELAY: u32 = 2;

/// Returns how far the ACKs of a window of `w` segments take cwnd, with the cubic at `target` one round trip from now: `limit()`
/// of draft-ietf-ccwg-ratelimited-increase section 3. The text leaves it open for CUBIC. Growth is at most half of the window
/// (RFC 9438 section 4.4), and where Reno is faster, a segment.
fn limit(w: f64, target: f64) -> f64 {
    target.clamp(w, 1.5 * w).max(w + 1.0)
}

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
    /// That of Ha, Rhee and Xu 2008: Linux's with the paper's constants, and without `HyStart`.
    Paper,
    /// Cuback (draft-kazuho-ccwg-cuback-00): RFC 9438's curves, driven by what is acknowledged.
    Cuback,
}

/// Parameters of CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9438; variant cuback: draft-kazuho-ccwg-cuback-00", "x-title" = "CUBIC", "x-kept" = 0.7))]
pub struct CubicParams {
    /// The variant of CUBIC; the default depends on the endpoints.
    pub variant: Option<CubicVariant>,
    /// The scale of the cubic, in segments per cubed second; the variant's default is 0.4, or 410/1024 (Linux).
    #[schemars(range(min = 0.0), extend("x-unit" = "segments/s^3"))]
    pub c: Option<f64>,
    /// C in the unit of Linux's module, 10/1024 of a segment per cubed second (41).
    #[schemars(range(min = 1, max = 4096))]
    pub bic_scale: Option<u32>,
    /// The factor by which congestion multiplies cwnd: a fraction, or a whole number of 1024ths from 2 on as in Linux's module;
    /// the variant's default is 0.7, 717/1024 (Linux), or 0.8 (paper).
    #[schemars(range(min = 0.0, max = 1023.0))]
    #[serde(deserialize_with = "fraction_or_1024ths")]
    pub beta: Option<f64>,
    /// Whether a flow lowers its plateau further after congestion below the last `W_max`, so that new flows gain
    /// bandwidth faster.
    pub fast_convergence: bool,
    /// Whether the window is at least that of the Reno-friendly estimate.
    pub tcp_friendliness: bool,
    /// ssthresh of a new connection in segments, or 0 for none.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub initial_ssthresh: u32,
    /// Whether the usual slow start is `HyStart`; the default depends on the variant.
    pub hystart: Option<bool>,
    /// What ends `HyStart`: 1 a train of ACKs, 2 delay, 3 either.
    #[schemars(range(min = 1, max = 3))]
    pub hystart_detect: Option<u32>,
    /// The cwnd below which `HyStart` ignores both, in segments.
    pub hystart_low_window: Option<u32>,
    /// The longest gap between two ACKs of a train, in microseconds.
    pub hystart_ack_delta_us: Option<u32>,
    /// The same in milliseconds, as Linux had it before 5.6.
    pub hystart_ack_delta: Option<u32>,
    /// Whether ACKs with a congestion signal grow the window like others.
    pub grow_on_marked: bool,
}

impl Default for CubicParams {
    fn default() -> CubicParams {
        CubicParams {
            variant: None,
            c: None,
            bic_scale: None,
            beta: None,
            fast_convergence: true,
            tcp_friendliness: true,
            initial_ssthresh: 0,
            hystart: None,
            hystart_detect: None,
            hystart_low_window: None,
            hystart_ack_delta_us: None,
            hystart_ack_delta: None,
            grow_on_marked: true,
        }
    }
}

/// Reads a fraction, or a whole number of 1024ths.
#[cfg(feature = "schema")]
fn fraction_or_1024ths<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<f64>, D::Error> {
    let value = Option::<f64>::deserialize(d)?;
    let in_1024ths = |value: &f64| (2.0..LINUX_UNIT).contains(value) && value.fract() == 0.0;
    Ok(value.map(|value| if in_1024ths(&value) { value / LINUX_UNIT } else { value }))
}

impl Params for CubicParams {
    const NAME: &'static str = "cubic";
    const SUMMARY: &'static str =
        "Growth along a cubic of the time since the last response, at least as fast as Reno";

    fn check(&self) -> Result<(), OutOfRange> {
        self.c.map_or(Ok(()), |c| check::positive("c", c))?;
        if let Some(scale) = self.bic_scale {
            if !(1..=4096).contains(&scale) {
                return Err(OutOfRange::new("bic_scale", scale, "1 to 4096"));
            }
            if self.c.is_some() {
                return Err(OutOfRange::new(
                    "bic_scale",
                    scale,
                    "not given where c is: both are the cubic's scale",
                ));
            }
        }
        if let Some(beta) = self.beta
            && check::kept_fraction("beta", beta).is_err()
        {
            let allowed = "more than 0 and less than 1, or a whole number of 1024ths from 2 to 1023";
            return Err(OutOfRange::new("beta", beta, allowed));
        }
        if self.hystart_detect.is_some_and(|detect| !(1..=3).contains(&detect)) {
            let detect = self.hystart_detect.unwrap_or_default();
            return Err(OutOfRange::new(
                "hystart_detect",
                detect,
                "1 (train of ACKs), 2 (delay) or 3 (either)",
            ));
        }
        if let (Some(_), Some(ms)) = (self.hystart_ack_delta_us, self.hystart_ack_delta) {
            let allowed = "not given where hystart_ack_delta_us is: both are the gap between two ACKs";
            return Err(OutOfRange::new("hystart_ack_delta", ms, allowed));
        }
        Ok(())
    }
}

impl CubicParams {
    fn resolve(&mut self, style: Style) {
        let variant = self.variant.get_or_insert(match style {
            Style::Document => CubicVariant::Document,
            Style::Linux => CubicVariant::Linux,
        });
        let (c, beta) = match variant {
            CubicVariant::Document | CubicVariant::Rfc9438 | CubicVariant::Cuback => (RFC_C, RFC_BETA),
            CubicVariant::Linux => (LINUX_C, LINUX_BETA),
            CubicVariant::Paper => (RFC_C, PAPER_BETA),
        };
        let scaled = self.bic_scale.take().map(|scale| f64::from(10 * scale) / LINUX_UNIT);
        self.c.get_or_insert(scaled.unwrap_or(c));
        self.beta.get_or_insert(beta);
        // These are parameters of the slow start now.
        (self.hystart, self.hystart_detect, self.hystart_low_window) = (None, None, None);
        (self.hystart_ack_delta_us, self.hystart_ack_delta) = (None, None);
    }

    /// True if a parameter describes the slow start.
    fn describes_slow_start(&self) -> bool {
        let numbers =
            [self.hystart_detect, self.hystart_low_window, self.hystart_ack_delta_us, self.hystart_ack_delta];
        self.hystart.is_some() || numbers.iter().any(Option::is_some)
    }

    /// Returns `HyStart` as the parameters describe it.
    fn hystart(&self) -> HystartParams {
        let usual = HystartParams::default();
        let detect = self.hystart_detect.unwrap_or(DETECT_TRAIN | DETECT_DELAY);
        let microseconds =
            self.hystart_ack_delta_us.or(self.hystart_ack_delta.map(|ms| ms.saturating_mul(1000)));
        HystartParams {
            ack_train: detect & DETECT_TRAIN != 0,
            delay: detect & DETECT_DELAY != 0,
            low_window: self.hystart_low_window.unwrap_or(usual.low_window),
            ack_spacing: microseconds.map_or(usual.ack_spacing, |us| Duration::from_micros(u64::from(us))),
            ..usual
        }
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
        let usual = style == Style::Linux && self.variant != Some(CubicVariant::Paper);
        if self.hystart.unwrap_or(usual || self.describes_slow_start()) {
            Arc::new(self.hystart())
        } else {
            Arc::new(StandardParams::default())
        }
    }

    fn fixes_slow_start(&self) -> Option<&'static str> {
        self.describes_slow_start().then_some("a parameter `hystart...` of cubic describes the slow start")
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        let composition = composition.starting_below(self.initial_ssthresh);
        match self.variant.unwrap_or_default() {
            CubicVariant::Document => composition.with(Cubic::new(self)),
            CubicVariant::Rfc9438 => composition.with(CubicRfc::new(self)),
            CubicVariant::Cuback => composition.with(Cuback::new(self)),
            CubicVariant::Linux | CubicVariant::Paper => {
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
