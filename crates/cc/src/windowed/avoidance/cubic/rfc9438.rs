//! CUBIC as in RFC 9438.
//!
//! With each ACK in congestion avoidance (sections 4.2 to 4.5): where the cubic is below the Reno-friendly estimate,
//! cwnd is that estimate; otherwise cwnd moves towards the cubic's value one round trip later (the target), by
//! `(target - cwnd) / cwnd` per acknowledged segment. The target is at least cwnd and at most 1.5 times cwnd. The window is
//! real-valued: fractions of a byte are carried over.
//!
//! An epoch starts with the first growth after a response, not with the response, because recovery is not part of
//! congestion avoidance. Time in which the sender's limits barred growth does not count (section 5.8), nor does idle
//! time. If something other than a response lowered the window, the curve starts again from that window. alpha becomes
//! 1 once the estimate is back at `cwnd_prior`, the window before the last response (section 4.3): from then on it
//! grows like Reno's.
//!
//! After a timeout, and where the first slow start ends without a loss, K is zero and `W_max` is the window at that
//! moment (sections 4.8, 4.10). The RFC sets cwnd to the estimate even if that is lower; this implementation never
//! lowers cwnd on an ACK.

use windtunnel_units::{Bytes, Duration, Time};

use super::{CubicParams, RFC_BETA, RFC_C, friendly_increase, time_to_plateau};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window};
use crate::windowed::carry::Fraction;

/// RFC 9438's growth.
#[derive(Clone, Debug)]
pub(crate) struct CubicRfc {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    grow_on_marked: bool,
    /// The alpha used below `cwnd_prior`.
    alpha: f64,
    vars: CubicVars,
}

/// Windows in segments, times in seconds.
#[derive(Clone, Debug, Default)]
struct CubicVars {
    epoch: Option<Epoch>,
    /// The plateau: the window at the last response, reduced by fast convergence.
    w_max: f64,
    /// The window just before the last response.
    cwnd_prior: f64,
    fraction: Fraction,
}

#[derive(Clone, Debug)]
struct Epoch {
    /// When the epoch started, shifted by all time that does not count.
    start: Time,
    /// The last ACK.
    last: Time,
    /// The time to the plateau.
    k: f64,
    w_est: f64,
    /// The cubic's value at the last ACK.
    w_cubic: f64,
    /// cwnd as growth left it; a different cwnd shows that something else changed it.
    cwnd: Bytes,
}

impl CubicRfc {
    pub(crate) fn new(params: &CubicParams) -> CubicRfc {
        let beta = params.beta.unwrap_or(RFC_BETA);
        CubicRfc {
            c: params.c.unwrap_or(RFC_C),
            beta,
            fast_convergence: params.fast_convergence,
            tcp_friendliness: params.tcp_friendliness,
            grow_on_marked: params.grow_on_marked,
            alpha: friendly_increase(beta),
            vars: CubicVars::default(),
        }
    }

    /// Starts an epoch at a window of `cwnd`. If `cwnd` is above `W_max`, it becomes the plateau.
    fn begin_epoch(&mut self, cwnd: Bytes, path: &PathView) -> Epoch {
        let w = cwnd.as_f64() / path.mss.as_f64();
        self.vars.w_max = self.vars.w_max.max(w);
        let k = time_to_plateau(self.c, self.vars.w_max - w);
        Epoch { start: path.now, last: path.now, k, w_est: w, w_cubic: w, cwnd }
    }

    fn w_cubic(&self, t: f64, k: f64) -> f64 {
        let d = t - k;
        self.c * d * d * d + self.vars.w_max
    }

    /// Returns cwnd in segments after `n` segments were acknowledged.
    fn next(&self, w: f64, n: f64, epoch: &mut Epoch, path: &PathView) -> f64 {
        let alpha = if epoch.w_est < self.vars.cwnd_prior { self.alpha } else { 1.0 };
        epoch.w_est += alpha * n / w;
        let t = path.now.since(epoch.start).as_secs_f64();
        epoch.w_cubic = self.w_cubic(t, epoch.k);
        if self.tcp_friendliness && epoch.w_cubic < epoch.w_est {
            return epoch.w_est.max(w);
        }
        let target = self.w_cubic(t + path.srtt.as_secs_f64(), epoch.k).clamp(w, 1.5 * w);
        w + n * (target - w) / w
    }
}

impl Avoidance for CubicRfc {
    fn md(&self) -> f64 {
        self.beta
    }

    fn counted(ack: &AckSample) -> Bytes {
        ack.newly_delivered
    }

    fn begin(&mut self, cwnd: Bytes, path: &PathView) {
        self.vars.w_max = cwnd.as_f64() / path.mss.as_f64();
        self.vars.cwnd_prior = self.vars.cwnd_prior.max(self.vars.w_max);
        self.vars.epoch = None;
    }

    fn decreased(&mut self, before: Bytes, _after: Bytes, factor: f64, path: &PathView) {
        let w = before.as_f64() / path.mss.as_f64();
        let converge = self.fast_convergence && w < self.vars.w_max;
        self.vars.w_max = if converge { w * f64::midpoint(1.0, factor) } else { w };
        self.vars.cwnd_prior = w;
        self.vars.epoch = None;
        self.vars.fraction = Fraction::default();
    }

    /// The plateau moves to the present: to the curve, or to the window if that is lower. The Reno-friendly estimate goes on from
    /// the window, which it would otherwise raise again.
    fn flattened(&mut self, after: Bytes, path: &PathView) {
        let w = after.as_f64() / path.mss.as_f64();
        let Some(mut epoch) = self.vars.epoch.take() else {
            self.vars.w_max = w;
            return;
        };
        let t = path.now.since(epoch.start).as_secs_f64();
        self.vars.w_max = self.w_cubic(t, epoch.k).clamp(0.0, w);
        (epoch.k, epoch.start, epoch.cwnd) = (0.0, path.now, after);
        epoch.w_est = epoch.w_est.min(w);
        self.vars.epoch = Some(epoch);
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.grow_on_marked && ack.ecn.any() {
            return cwnd;
        }
        let mut epoch = match self.vars.epoch.take() {
            Some(epoch) if cwnd >= epoch.cwnd => epoch,
            _ => self.begin_epoch(cwnd, path),
        };
        let mss = path.mss.as_f64();
        let w = self.vars.fraction.ahead(cwnd) / mss;
        let next = self.next(w, amount.as_f64() / mss, &mut epoch, path);
        let grown = cwnd + self.vars.fraction.whole((next - w) * mss);
        epoch.last = path.now;
        epoch.cwnd = grown;
        self.vars.epoch = Some(epoch);
        grown
    }

    fn barred(&mut self, path: &PathView) {
        if let Some(epoch) = &mut self.vars.epoch {
            epoch.start += path.now.since(epoch.last);
            epoch.last = path.now;
        }
    }

    fn idled(&mut self, idle: Duration, path: &PathView) {
        if let Some(epoch) = &mut self.vars.epoch {
            epoch.start = (epoch.start + idle).min(path.now);
            epoch.last = path.now;
        }
    }

    /// Forgets the plateau; `begin` sets another when slow start ends.
    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars = CubicVars { cwnd_prior: self.vars.cwnd_prior, ..CubicVars::default() };
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let epoch = self.vars.epoch.as_ref();
        out("w_max_segments", self.vars.w_max);
        out("k_s", epoch.map_or(0.0, |epoch| epoch.k));
        out("w_est_segments", epoch.map_or(0.0, |epoch| epoch.w_est));
        out("w_cubic_segments", epoch.map_or(f64::NAN, |epoch| epoch.w_cubic));
        out("cwnd_prior_segments", self.vars.cwnd_prior);
        out("epoch_start_s", epoch.map_or(f64::NAN, |epoch| epoch.start.as_secs_f64()));
    }
}
