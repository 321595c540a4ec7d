//! CUBIC: growth along a cubic of the time since the last response.
//!
//! RFC 9438 in bytes (spec/mds sections 3 and 8). The window follows `W_cubic(t) = C (t - K)^3 + W_max`
//! in segments, which is flat around `W_max`, the window at the last response; `K`, the time to get
//! back there, follows from the window at the epoch's start. Where a Reno-friendly estimate `W_est`
//! is ahead of the cubic, the window is that estimate.
//!
//! C = 0.4 and beta = 0.7 are RFC 9438's (sections 4.6, 5): C is how fast the cubic is, beta gives a
//! higher mean utilisation than Reno's 0.5 at the price of slower convergence, and
//! `alpha = 3 (1 - beta) / (1 + beta)` makes AIMD(alpha, beta) as fast as Reno (section 4.3).
//!
//! As published with the MDS document: `W_est` is kept in whole bytes, truncated at every ACK; setting
//! the window to it may lower the window; alpha stays as it is beyond `W_max`; marked ACKs grow;
//! `K` is negative if the epoch starts above `W_max`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, OutOfRange, Time};

use super::{Avoidance, marked};
use crate::check;
use crate::sample::{AckSample, PathView};

/// Parameters of CUBIC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9438"))]
pub struct CubicParams {
    /// The scale of the cubic, in segments per cubed second.
    #[schemars(range(min = 0.0), extend("x-unit" = "segments/s^3"))]
    pub c: f64,
    /// The factor of cwnd that is kept on congestion.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: f64,
    /// Gives up more on a second congestion below the last `W_max`, so that new flows gain faster.
    pub fast_convergence: bool,
    /// ACKs with a congestion signal grow the window as others do.
    pub grow_on_marked: bool,
}

impl Default for CubicParams {
    fn default() -> CubicParams {
        CubicParams { c: 0.4, beta: 0.7, fast_convergence: true, grow_on_marked: true }
    }
}

impl CubicParams {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        check::positive("c", self.c)?;
        check::kept_fraction("beta", self.beta)
    }
}

/// CUBIC's growth.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    params: CubicParams,
    /// The additive increase of an AIMD as fast as Reno, in segments per round trip.
    alpha: f64,
    vars: CubicVars,
}

#[derive(Clone, Copy, Debug, Default)]
struct CubicVars {
    /// When the epoch began.
    epoch: Time,
    /// The window at the last response.
    w_max: Bytes,
    /// The time from the epoch's start to the cubic's plateau, in seconds; may be negative.
    k: f64,
    /// The Reno-friendly estimate.
    w_est: Bytes,
}

impl Cubic {
    pub(crate) fn new(params: CubicParams) -> Cubic {
        let alpha = 3.0 * (1.0 - params.beta) / (1.0 + params.beta);
        Cubic { params, alpha, vars: CubicVars::default() }
    }

    fn start_epoch(&mut self, cwnd: Bytes, path: &PathView) {
        let vars = &mut self.vars;
        vars.epoch = path.now;
        vars.w_est = cwnd;
        vars.k = time_to_plateau(self.params.c, vars.w_max, cwnd, path.mss);
    }

    /// `W_cubic` at `t` seconds into the epoch, in whole bytes.
    fn w_cubic(&self, t: f64, mss: Bytes) -> f64 {
        let d = t - self.vars.k;
        let bytes = self.params.c * d * d * d * mss.as_f64() + self.vars.w_max.as_f64();
        // Truncated by way of `i64`: an instruction, where `trunc` is a call on processors without SSE 4.1.
        bytes as i64 as f64
    }
}

/// K: the seconds from a start at `cwnd` to the plateau at `w_max` (RFC 9438 section 4.2).
fn time_to_plateau(c: f64, w_max: Bytes, cwnd: Bytes, mss: Bytes) -> f64 {
    libm::cbrt((w_max.as_f64() - cwnd.as_f64()) / mss.as_f64() / c)
}

impl Avoidance for Cubic {
    fn md(&self) -> f64 {
        self.params.beta
    }

    fn begin(&mut self, cwnd: Bytes, path: &PathView) {
        self.vars.w_max = cwnd;
        self.start_epoch(cwnd, path);
    }

    fn decreased(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        let converge = self.params.fast_convergence && before < self.vars.w_max;
        self.vars.w_max = if converge { before.scale(f64::midpoint(1.0, self.params.beta)) } else { before };
        self.start_epoch(after, path);
    }

    fn grow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.params.grow_on_marked && marked(&ack.ecn) {
            return cwnd;
        }
        let mss = path.mss;
        let grown = mss.as_f64() * self.alpha * ack.acked.as_f64() / cwnd.as_f64();
        self.vars.w_est = Bytes::from_f64(self.vars.w_est.as_f64() + grown);

        let t = path.now.since(self.vars.epoch).as_secs_f64();
        if self.w_cubic(t, mss) < self.vars.w_est.as_f64() {
            return self.vars.w_est;
        }
        let now = cwnd.as_f64();
        let target = self.w_cubic(t + path.srtt.as_secs_f64(), mss).clamp(now, 1.5 * now);
        Bytes::from_f64(now + ack.acked.as_f64() * (target - now) / now)
    }

    /// `W_max` is forgotten: congestion avoidance begins anew where slow start then ends
    /// (RFC 9438 section 4.8).
    fn timed_out(&mut self, _path: &PathView) {
        self.vars = CubicVars::default();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_bytes", self.vars.w_max.as_f64());
        out("w_est_bytes", self.vars.w_est.as_f64());
        out("k_s", self.vars.k);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    /// RFC 9438 section 4.2 with C = 0.4: from 70 to 100 segments in cbrt(75) s.
    #[test]
    fn k_is_the_time_to_the_plateau() {
        let k = time_to_plateau(0.4, MSS * 100, MSS * 70, MSS);
        assert!((k - 4.217_163).abs() < 1e-6, "{k}");
    }

    /// spec/mds section 8: a start above `W_max` is past the plateau already.
    #[test]
    fn k_is_negative_above_the_plateau() {
        let k = time_to_plateau(0.4, MSS * 70, MSS * 100, MSS);
        assert!((k + 4.217_163).abs() < 1e-6, "{k}");
    }

    /// spec/congestion-control section 3.3, for C = 0.4, beta = 0.7 and a plateau of 100.
    #[test]
    fn cubic_follows_the_table() {
        let mut cubic = Cubic::new(CubicParams::default());
        cubic.vars.w_max = MSS * 100;
        cubic.vars.k = time_to_plateau(0.4, MSS * 100, MSS * 70, MSS);
        let table = [
            (0.0, 70.0),
            (1.0, 86.68),
            (2.0, 95.64),
            (3.0, 99.28),
            (4.0, 100.0),
            (5.0, 100.19),
            (8.0, 121.65),
        ];
        for (t, segments) in table {
            let w = cubic.w_cubic(t, MSS) / MSS.as_f64();
            assert!((w - segments).abs() < 0.005, "W_cubic({t}) = {w}, not {segments}");
        }
    }
}
