//! CUBIC as published with the MDS document.
//!
//! RFC 9438 in bytes (spec/mds sections 3 and 8). It differs from the RFC as follows: `W_est` is kept in whole bytes,
//! truncated at every ACK; setting the window to `W_est` may lower the window; alpha does not change beyond `W_max`;
//! marked ACKs grow the window; `K` is negative if the epoch starts above `W_max`; an epoch starts with the response,
//! not after it.

use windtunnel_units::{Bytes, Time};

use super::{CubicParams, RFC_BETA, RFC_C, friendly_increase, limit, time_to_plateau};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window};

/// CUBIC's growth.
#[derive(Clone, Debug)]
pub(crate) struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    grow_on_marked: bool,
    /// The additive increase that makes AIMD as fast as Reno, in segments per round trip (RFC 9438 section 4.3).
    alpha: f64,
    vars: CubicVars,
}

#[derive(Clone, Copy, Debug, Default)]
struct CubicVars {
    /// When the epoch started: `epoch_start` (RFC 9438 section 4.1.2).
    epoch: Time,
    /// The window at the last response: `W_max` (RFC 9438 section 4.1.2).
    w_max: Bytes,
    /// The time from the epoch's start to the cubic's plateau, in seconds: `K` (RFC 9438 section 4.2); may be negative.
    k: f64,
    /// The Reno-friendly estimate: `W_est` (RFC 9438 section 4.3).
    w_est: Bytes,
    /// The cubic's value at the last ACK, in bytes: `W_cubic` (RFC 9438 section 4.2).
    w_cubic: f64,
}

impl Cubic {
    pub(crate) fn new(params: &CubicParams) -> Cubic {
        let beta = params.beta.unwrap_or(RFC_BETA);
        Cubic {
            c: params.c.unwrap_or(RFC_C),
            beta,
            fast_convergence: params.fast_convergence,
            tcp_friendliness: params.tcp_friendliness,
            grow_on_marked: params.grow_on_marked,
            alpha: friendly_increase(beta),
            vars: CubicVars::default(),
        }
    }

    fn start_epoch(&mut self, cwnd: Bytes, path: &PathView) {
        let vars = &mut self.vars;
        vars.epoch = path.now;
        vars.w_est = cwnd;
        vars.w_cubic = cwnd.as_f64();
        vars.k = time_to_plateau(self.c, (vars.w_max.as_f64() - cwnd.as_f64()) / path.mss.as_f64());
    }

    /// Returns `W_cubic` at `t` seconds into the epoch, in whole bytes.
    fn w_cubic(&self, t: f64, mss: Bytes) -> f64 {
        let d = t - self.vars.k;
        let bytes = self.c * d * d * d * mss.as_f64() + self.vars.w_max.as_f64();
        // Truncates through `i64`: this is one instruction, whereas `trunc` is a function call on processors without
        // SSE 4.1.
        bytes as i64 as f64
    }
}

impl Avoidance for Cubic {
    fn md(&self) -> f64 {
        self.beta
    }

    fn begin(&mut self, cwnd: Bytes, path: &PathView) {
        self.vars.w_max = cwnd;
        self.start_epoch(cwnd, path);
    }

    fn decreased(&mut self, before: Bytes, after: Bytes, factor: f64, path: &PathView) {
        let converge = self.fast_convergence && before < self.vars.w_max;
        self.vars.w_max = if converge { before.scale(f64::midpoint(1.0, factor)) } else { before };
        self.start_epoch(after, path);
    }

    /// The plateau moves to the present: to the curve, or to the window if that is lower. The Reno-friendly estimate goes on from
    /// the window, which it would otherwise raise again.
    fn flattened(&mut self, after: Bytes, path: &PathView) {
        let t = path.now.since(self.vars.epoch).as_secs_f64();
        self.vars.w_max = Bytes::from_f64(self.w_cubic(t, path.mss).max(0.0)).min(after);
        self.vars.w_est = self.vars.w_est.min(after);
        self.vars.k = 0.0;
        self.vars.epoch = path.now;
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.grow_on_marked && ack.ecn.any() {
            return cwnd;
        }
        let mss = path.mss;
        let grown = mss.as_f64() * self.alpha * amount.as_f64() / cwnd.as_f64();
        self.vars.w_est = Bytes::from_f64(self.vars.w_est.as_f64() + grown);

        let t = path.now.since(self.vars.epoch).as_secs_f64();
        self.vars.w_cubic = self.w_cubic(t, mss);
        if self.tcp_friendliness && self.vars.w_cubic < self.vars.w_est.as_f64() {
            return self.vars.w_est;
        }
        let now = cwnd.as_f64();
        let target = self.w_cubic(t + path.srtt.as_secs_f64(), mss).clamp(now, 1.5 * now);
        Bytes::from_f64(now + amount.as_f64() * (target - now) / now)
    }

    fn limit(&self, window: Bytes, _ack: &AckSample, path: &PathView) -> Bytes {
        let (w, mss) = (window.as_f64() / path.mss.as_f64(), path.mss.as_f64());
        let t = (path.now.since(self.vars.epoch) + path.srtt).as_secs_f64();
        Bytes::from_f64(limit(w, self.w_cubic(t, path.mss) / mss) * mss)
    }

    /// Forgets `W_max`: congestion avoidance starts again where the following slow start ends (RFC 9438 section 4.8).
    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars = CubicVars::default();
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("w_max_bytes", self.vars.w_max.as_f64());
        out("k_s", self.vars.k);
        out("w_est_bytes", self.vars.w_est.as_f64());
        out("w_cubic_bytes", self.vars.w_cubic);
        out("epoch_start_s", self.vars.epoch.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    /// spec/congestion-control section 3.3, for C = 0.4, beta = 0.7 and a plateau of 100.
    #[test]
    fn cubic_follows_the_table() {
        let mut cubic = Cubic::new(&CubicParams::default());
        cubic.vars.w_max = MSS * 100;
        cubic.vars.k = time_to_plateau(0.4, 30.0);
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
