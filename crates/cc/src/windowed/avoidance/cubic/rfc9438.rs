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

use super::{CubicParams, RFC_BETA, RFC_C, friendly_increase, limit, time_to_plateau};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit, Window};
use crate::windowed::carry::Fraction;

/// RFC 9438's growth.
#[derive(Clone, Debug)]
pub(crate) struct CubicRfc {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    grow_on_marked: bool,
    /// `alpha_cubic` below `cwnd_prior` (section 4.3).
    alpha: f64,
    vars: CubicVars,
}

/// Windows in segments, times in seconds.
#[derive(Clone, Debug, Default)]
struct CubicVars {
    /// None before the first growth after a response (section 4.2).
    epoch: Option<Epoch>,
    /// The plateau: the window at the last response (section 4.1.2), reduced by fast convergence (section 4.7).
    w_max: f64,
    /// The window just before the last response (section 4.1.2).
    cwnd_prior: f64,
    /// What the bytes of cwnd lack of the real-valued window.
    fraction: Fraction,
}

#[derive(Clone, Debug)]
struct Epoch {
    /// When the epoch started: `epoch_start` (section 4.1.2), shifted by all time that does not count (section 5.8).
    start: Time,
    /// The last ACK.
    last: Time,
    /// The time to the plateau (section 4.2).
    k: f64,
    /// The Reno-friendly estimate (section 4.3).
    w_est: f64,
    /// The cubic's value at the last ACK (section 4.2).
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
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        self.beta
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

    fn scaled(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        self.decreased(before, after, self.md(), path);
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

    fn limit(&self, window: Bytes, _ack: &AckSample, path: &PathView) -> Bytes {
        let (w, mss) = (window.as_f64() / path.mss.as_f64(), path.mss.as_f64());
        let target = self.vars.epoch.as_ref().map_or(w, |epoch| {
            self.w_cubic((path.now.since(epoch.start) + path.srtt).as_secs_f64(), epoch.k)
        });
        Bytes::from_f64(limit(w, target) * mss)
    }

    fn capped(&mut self, cwnd: Bytes) {
        if let Some(epoch) = &mut self.vars.epoch {
            epoch.cwnd = cwnd;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    fn at(ms: u64) -> PathView {
        PathView {
            now: Time::ZERO + Duration::from_millis(ms),
            mss: MSS,
            srtt: Duration::SECOND,
            min_rtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            una: windtunnel_units::Seq::FIRST_DATA,
            nxt: windtunnel_units::Seq::FIRST_DATA,
        }
    }

    fn ack(segments: u64) -> AckSample {
        AckSample { newly_delivered: MSS * segments, may_raise: true, ..AckSample::default() }
    }

    /// A curve that has just left 70 segments for 100.
    fn at_seventy() -> CubicRfc {
        let mut cubic = CubicRfc::new(&CubicParams::default());
        cubic.decreased(MSS * 100, MSS * 70, 0.7, &at(0));
        cubic
    }

    /// RFC 9438 sections 4.3, 4.4: an ACK of ten segments at 70 adds ten times (86.68 - 70) / 70, where `W_cubic` is
    /// 86.68 a round trip of a second later, and 0.5294 * 10 / 70 to the estimate: 1 * 10 / 70 from `cwnd_prior` on.
    /// An estimate ahead of the cubic, 70.00 now, is the window.
    #[test]
    fn an_ack_of_ten_segments() {
        for (w_est, estimate, next) in [
            (60.0, 60.0756, 72.3830),
            (69.99, 70.0656, 70.0656),
            (80.0, 80.0756, 80.0756),
            (100.0, 100.1429, 100.1429),
        ] {
            let cubic = at_seventy();
            let k = time_to_plateau(cubic.c, 30.0);
            let mut epoch =
                Epoch { start: Time::ZERO, last: Time::ZERO, k, w_est, w_cubic: 70.0, cwnd: MSS * 70 };
            let grown = cubic.next(70.0, 10.0, &mut epoch, &at(0));
            assert!((grown - next).abs() < 1e-3, "{grown} from an estimate of {w_est}");
            assert!((epoch.w_est - estimate).abs() < 1e-3, "{} from {w_est}", epoch.w_est);
        }
    }

    /// RFC 9438 section 4.7: fast convergence needs a window below the plateau.
    #[test]
    fn fast_convergence_below_the_plateau() {
        for (w, w_max) in [(99, 99.0 * 0.85), (100, 100.0), (101, 101.0)] {
            let mut cubic = at_seventy();
            cubic.decreased(MSS * w, MSS * 70, 0.7, &at(1000));
            assert!((cubic.vars.w_max - w_max).abs() < 1e-9 && cubic.vars.epoch.is_none(), "{w}");
            assert!((cubic.vars.cwnd_prior - w as f64).abs() < 1e-9);
        }
    }

    /// RFC 9438 section 4.8: a timeout keeps nothing but `cwnd_prior`. Where slow start ends, that window is the
    /// plateau, and `cwnd_prior` if it is higher.
    #[test]
    fn a_timeout_keeps_cwnd_prior() {
        for (ended_at, prior) in [(49, 70.0), (80, 80.0)] {
            let mut cubic = at_seventy();
            cubic.decreased(MSS * 70, MSS * 49, 0.7, &at(1000));
            cubic.vars.fraction.whole(0.5);
            let mut window = Window { cwnd: MSS, ssthresh: MSS * 49 };
            cubic.timed_out(&mut window, true, &at(1000));
            assert!(cubic.vars.w_max.abs() < 1e-9 && cubic.vars.fraction == Fraction::default());
            cubic.begin(MSS * ended_at, &at(2000));
            assert!((cubic.vars.w_max - ended_at as f64).abs() < 1e-9, "{ended_at}");
            assert!((cubic.vars.cwnd_prior - prior).abs() < 1e-9, "{ended_at}");
        }
    }

    /// A window that something else has lowered starts a new epoch from there; one that is as growth left it, or
    /// larger, does not.
    #[test]
    fn a_lowered_window_starts_an_epoch() {
        for (cwnd, starts) in [(79_999, true), (80_000, false), (81_000, false)] {
            let mut cubic = at_seventy();
            let epoch = Epoch {
                start: Time::ZERO,
                last: Time::ZERO,
                k: 4.0,
                w_est: 1.0,
                w_cubic: 70.0,
                cwnd: MSS * 80,
            };
            cubic.vars.epoch = Some(epoch);
            cubic.grow(Bytes::new(cwnd), MSS, &ack(1), &at(500));
            let start = cubic.vars.epoch.map(|epoch| epoch.start);
            assert_eq!(
                start,
                Some(Time::ZERO + Duration::from_millis(if starts { 500 } else { 0 })),
                "{cwnd}"
            );
        }
    }

    /// Where an SCE takes a part of a segment before any growth, the window left is the plateau. Within an epoch it
    /// is the curve, 70 segments at its start, or the window if that is lower.
    #[test]
    fn sce_flatten_the_curve() {
        let mut cubic = at_seventy();
        cubic.flattened(Bytes::new(69_500), &at(0));
        assert!((cubic.vars.w_max - 69.5).abs() < 1e-9 && cubic.vars.epoch.is_none());
        for (after, plateau) in [(69_500, 69.5), (70_500, 70.0)] {
            let mut cubic = at_seventy();
            cubic.vars.epoch = Some(cubic.clone().begin_epoch(MSS * 70, &at(0)));
            cubic.flattened(Bytes::new(after), &at(0));
            assert!((cubic.vars.w_max - plateau).abs() < 1e-6, "{after}");
        }
    }

    /// Marked ACKs grow the window only by choice (spec/mds section 3).
    #[test]
    fn marked_acks_grow_by_choice() {
        let ce = crate::sample::Marked { bytes: MSS, packets: 1 };
        let marked = AckSample { ecn: crate::sample::EcnFeedback { ce, ..Default::default() }, ..ack(10) };
        for (grow_on_marked, sample, grows) in
            [(true, marked, true), (false, marked, false), (true, ack(10), true), (false, ack(10), true)]
        {
            let mut cubic = CubicRfc { grow_on_marked, ..at_seventy() };
            assert_eq!(cubic.grow(MSS * 70, MSS * 10, &sample, &at(0)) > MSS * 70, grows);
        }
    }
}
