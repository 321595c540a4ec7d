//! CUBIC as in Linux: in whole segments, ticks of the host's clock and 1024ths.
//!
//! spec/congestion-control section 3.3. The state is `cnt`, the number of segments that must be acknowledged for the
//! window to grow by one. It is `W / (target - W)`, where the target is the cubic one minimum round trip ahead.
//! It is updated at most once per tick, or every 32nd of a second while the window does not change. Further rules:
//!
//! - before the first loss `cnt` is at most 20, that is, growth of at least 5 % per round trip;
//! - the Reno-friendly estimate grows by one for each `15/8 W` acknowledged (exactly `W / alpha` = 1.89 W); if it is
//!   ahead of the window, `cnt` lets the window catch up within a round trip;
//! - `cnt` is at least 2, that is, growth of at most half of the window per round trip.
//!
//! An epoch starts with the first growth after a response. The minimum round trip ignores samples in the second after
//! the epoch's start, because the queue that caused the loss may not have drained yet. A timeout forgets everything; an
//! undo restores only the window. K is the integer nearest to the cube root; the kernel's root is within 0.2 % of it.

use windtunnel_units::{Bytes, Duration, Time};

use super::{CubicParams, LINUX_BETA, LINUX_C, LINUX_UNIT, limit};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit, Window, segments};
use crate::windowed::clock::Clock;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Times along the cubic are in 1024ths of a second.
const FINE: u64 = 1024;
/// The highest `cnt` before the first loss.
const CNT_BEFORE_LOSS: u64 = 20;
/// The lowest `cnt`.
const CNT_FLOOR: u64 = 2;
/// `cnt`, in windows, where the cubic is not above the window.
const CNT_ON_PLATEAU: u64 = 100;

/// Linux's growth.
#[derive(Clone, Debug)]
pub(crate) struct CubicLinux {
    /// C in 1024ths.
    c: u64,
    /// beta in 1024ths.
    beta: u64,
    /// Eighths of a window that must be acknowledged for the Reno-friendly estimate to grow by one segment: `8 /
    /// alpha`.
    friendly: u64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    grow_on_marked: bool,
    cwnd_cnt: CwndCnt,
    clock: Clock,
    /// The minimum round trip, zero before the first sample; the module documentation states which samples are ignored.
    delay_min: Duration,
    vars: CubicVars,
}

/// Windows in segments, times in ticks. The sections are those of RFC 9438.
#[derive(Clone, Debug, Default)]
struct CubicVars {
    /// The tick at which the epoch started (section 4.1.2); none before its first growth.
    epoch_start: Option<u64>,
    /// `W_max`: the window at the last response, reduced by fast convergence (sections 4.1.2 and 4.7); zero before the first
    /// response.
    last_max_cwnd: u64,
    /// The plateau of this epoch (section 4.2).
    origin_point: u64,
    /// The time from the epoch's start to the plateau, in 1024ths of a second (section 4.2).
    k: u64,
    /// The Reno-friendly estimate (section 4.3).
    w_est: u64,
    /// Acknowledged segments that the estimate has not used yet.
    ack_cnt: u64,
    /// The cubic one minimum round trip ahead, at the last update (section 4.2).
    target: u64,
    /// Segments that must be acknowledged for the window to grow by one.
    cnt: u64,
    /// The window at the last update, and its tick.
    last_cwnd: u64,
    last_time: u64,
}

impl CubicLinux {
    pub(crate) fn new(params: &CubicParams, tick: Duration) -> CubicLinux {
        let units = |value: f64| (value * LINUX_UNIT + 0.5) as u64;
        let beta = units(params.beta.unwrap_or(LINUX_BETA)).clamp(1, FINE - 1);
        CubicLinux {
            c: units(params.c.unwrap_or(LINUX_C)).max(1),
            beta,
            friendly: 8 * (FINE + beta) / 3 / (FINE - beta),
            fast_convergence: params.fast_convergence,
            tcp_friendliness: params.tcp_friendliness,
            grow_on_marked: params.grow_on_marked,
            cwnd_cnt: CwndCnt::default(),
            clock: Clock::new(tick),
            delay_min: Duration::ZERO,
            vars: CubicVars::default(),
        }
    }

    /// Sets `cnt` for a window of `w`, after `n` segments were acknowledged.
    fn update(&mut self, w: u64, n: u64, now: Time) {
        let tick = self.clock.ticks(now);
        self.vars.ack_cnt += n;
        if w == self.vars.last_cwnd && tick - self.vars.last_time <= self.clock.steady() {
            return;
        }
        if self.vars.epoch_start.is_none() || tick != self.vars.last_time {
            (self.vars.last_cwnd, self.vars.last_time) = (w, tick);
            let epoch_start = self.epoch_start(w, n, tick);
            let target = self.target(tick - epoch_start);
            self.vars.target = target;
            self.vars.cnt = if target > w { w / (target - w) } else { w.saturating_mul(CNT_ON_PLATEAU) };
            if self.vars.last_max_cwnd == 0 {
                self.vars.cnt = self.vars.cnt.min(CNT_BEFORE_LOSS);
            }
        }
        if self.tcp_friendliness {
            self.tcp_friendliness(w);
        }
        self.vars.cnt = self.vars.cnt.max(CNT_FLOOR);
    }

    /// Returns the tick at which the epoch started. Starts an epoch now if there is none.
    fn epoch_start(&mut self, w: u64, n: u64, tick: u64) -> u64 {
        let vars = &mut self.vars;
        *vars.epoch_start.get_or_insert_with(|| {
            vars.ack_cnt = n;
            vars.w_est = w;
            vars.origin_point = vars.last_max_cwnd.max(w);
            vars.k = time_to_plateau(self.c, vars.origin_point - w);
            tick
        })
    }

    /// An epoch ends with a response at a window of `w`, which leaves this many 1024ths of it.
    fn end_epoch(&mut self, w: u64, factor: u64) {
        let converge = self.fast_convergence && w < self.vars.last_max_cwnd;
        self.vars.last_max_cwnd = if converge { w * (FINE + factor) / (2 * FINE) } else { w };
        self.vars.epoch_start = None;
    }

    /// Returns the cubic one minimum round trip after `elapsed` ticks into the epoch.
    fn target(&self, elapsed: u64) -> u64 {
        self.curve(elapsed + self.clock.covering(self.delay_min))
    }

    /// Returns the cubic `elapsed` ticks into the epoch.
    fn curve(&self, elapsed: u64) -> u64 {
        let t = elapsed * FINE / self.clock.hz();
        let distance = u128::from(t.abs_diff(self.vars.k));
        // C is in 1024ths and the cubed distance in 1024ths^3: together 2^40.
        let delta = distance.saturating_pow(3).saturating_mul(u128::from(self.c)) >> 40;
        let delta = u64::try_from(delta).unwrap_or(u64::MAX);
        if t < self.vars.k {
            self.vars.origin_point.saturating_sub(delta)
        } else {
            self.vars.origin_point.saturating_add(delta)
        }
    }

    /// Advances the Reno-friendly estimate, and lowers `cnt` if the estimate is ahead of the window.
    fn tcp_friendliness(&mut self, w: u64) {
        let vars = &mut self.vars;
        let per_segment = (w.saturating_mul(self.friendly) >> 3).max(1);
        let grown = vars.ack_cnt.saturating_sub(1) / per_segment;
        vars.ack_cnt -= grown * per_segment;
        vars.w_est += grown;
        if vars.w_est > w {
            vars.cnt = vars.cnt.min(w / (vars.w_est - w));
        }
    }
}

/// Returns K in 1024ths of a second: the integer nearest to `cbrt(rise / C)`, with C in 1024ths.
fn time_to_plateau(c: u64, rise: u64) -> u64 {
    let cube = (rise as f64) * (1_u64 << 40) as f64 / c as f64;
    (libm::cbrt(cube) + 0.5) as u64
}

impl Avoidance for CubicLinux {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        self.beta as f64 / LINUX_UNIT
    }

    fn decreased(&mut self, before: Bytes, _after: Bytes, factor: f64, path: &PathView) {
        self.end_epoch(before / path.mss, (factor * LINUX_UNIT + 0.5) as u64);
    }

    fn scaled(&mut self, before: Bytes, _after: Bytes, path: &PathView) {
        self.end_epoch(before / path.mss, self.beta);
    }

    /// The plateau moves to the present: to the curve, or to the window if that is lower. The Reno-friendly estimate goes on from
    /// the window, which it would otherwise raise again.
    fn flattened(&mut self, after: Bytes, path: &PathView) {
        let (w, tick) = ((after / path.mss).max(1), self.clock.ticks(path.now));
        self.vars.last_max_cwnd = w;
        if let Some(epoch_start) = self.vars.epoch_start {
            self.vars.origin_point = self.curve(tick - epoch_start).min(w);
            self.vars.k = 0;
            self.vars.w_est = self.vars.w_est.min(w);
            self.vars.epoch_start = Some(tick);
            (self.vars.last_cwnd, self.vars.last_time) = (0, tick.wrapping_sub(1));
        }
    }

    fn sampled(&mut self, rtt: Duration, now: Time) {
        if self
            .vars
            .epoch_start
            .is_some_and(|start| self.clock.ticks(now).saturating_sub(start) < self.clock.hz())
        {
            return;
        }
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.delay_min = rtt;
        }
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.grow_on_marked && ack.ecn.any() {
            return cwnd;
        }
        let n = segments(amount, path.mss);
        self.update((cwnd / path.mss).max(1), n, path.now);
        cwnd + path.mss * self.cwnd_cnt.add(self.vars.cnt as f64, n as f64)
    }

    fn limit(&self, window: Bytes, _ack: &AckSample, path: &PathView) -> Bytes {
        let w = (window / path.mss) as f64;
        let elapsed = self.vars.epoch_start.map(|start| self.clock.ticks(path.now).saturating_sub(start));
        let target = elapsed.map_or(w, |elapsed| self.target(elapsed) as f64);
        path.mss * (limit(w, target) as u64)
    }

    /// Idle time shifts the curve by its length.
    fn idled(&mut self, idle: Duration, path: &PathView) {
        let now = self.clock.ticks(path.now);
        if let Some(epoch) = &mut self.vars.epoch_start {
            *epoch = (*epoch + self.clock.within(idle)).min(now);
        }
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars = CubicVars::default();
        self.delay_min = Duration::ZERO;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let CubicVars { epoch_start, last_max_cwnd, origin_point, k, w_est, target, cnt, .. } = self.vars;
        // These numbers persist between epochs, but are meaningful only during an epoch.
        let now = |value: u64| if epoch_start.is_some() { value as f64 } else { f64::NAN };
        out("w_max_segments", last_max_cwnd as f64);
        out("k_s", k as f64 / FINE as f64);
        out("w_est_segments", w_est as f64);
        out("target_segments", now(target));
        out("origin_segments", now(origin_point));
        out("epoch_start_s", epoch_start.map_or(f64::NAN, |tick| self.clock.seconds(tick)));
        out("price_segments", cnt as f64);
        out("delay_min_s", self.delay_min.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 3.3: from 70 to 100 segments in 4317/1024 s; the factor 15/8 of the estimate.
    #[test]
    fn integers_are_as_in_linux() {
        let cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
        assert_eq!((cubic.c, cubic.beta, cubic.friendly), (410, 717, 15));
        assert_eq!(time_to_plateau(cubic.c, 30), 4317);
        assert_eq!(time_to_plateau(cubic.c, 0), 0);
    }

    /// RFC 9438 section 4.2 rounded down to segments: with C = 0.4 and 100 segments 4.217 s after the epoch's start the
    /// curve has 70.00, 86.68, 95.64, 99.28, 100.00, 100.19, 102.27, 121.65 segments at 0 ... 6 and 8 s.
    #[test]
    fn the_target_follows_the_cubic() {
        let mut cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
        cubic.vars = CubicVars { origin_point: 100, k: 4317, ..CubicVars::default() };
        for (t, w) in [(0, 70.0), (1, 86.68), (2, 95.64), (3, 99.28), (4, 100.0), (6, 102.27), (8, 121.65)] {
            let target = cubic.target(t * cubic.clock.hz()) as f64;
            assert!((target - w).abs() <= 1.0, "{target} at {t} s, not {w}");
        }
    }

    /// Section 3.3 rule 5: each 15/8 of a window acknowledged adds a segment to the estimate, but not the last one of
    /// it; an estimate ahead lowers `cnt` to `floor(W / (W_est - W))`.
    #[test]
    fn the_estimate_lowers_cnt() {
        for (acked, w_est, left, estimate, cnt) in [
            (187, 109, 187, 109, 11),
            (188, 109, 1, 110, 10),
            (376, 109, 2, 111, 9),
            (188, 99, 1, 100, 50),
            (188, 100, 1, 101, 50),
            (188, 102, 1, 103, 33),
        ] {
            let mut cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
            (cubic.vars.ack_cnt, cubic.vars.w_est, cubic.vars.cnt) = (acked, w_est, 50);
            cubic.tcp_friendliness(100);
            assert_eq!(
                (cubic.vars.ack_cnt, cubic.vars.w_est, cubic.vars.cnt),
                (left, estimate, cnt),
                "{acked}"
            );
        }
    }

    /// Section 3.3: fast convergence needs a window below the last maximum: of 1000 it remembers floor(1000 * 1741 /
    /// 2048). An SCE ends the epoch as a loss does.
    #[test]
    fn fast_convergence_below_the_last_maximum() {
        let mss = Bytes::new(1000);
        let path = PathView {
            now: Time::ZERO,
            mss,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            una: windtunnel_units::Seq::FIRST_DATA,
            nxt: windtunnel_units::Seq::FIRST_DATA,
        };
        for (last_max_cwnd, left) in [(1001, 850), (1000, 1000), (999, 1000)] {
            for sce in [false, true] {
                let mut cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
                (cubic.vars.last_max_cwnd, cubic.vars.epoch_start) = (last_max_cwnd, Some(7));
                if sce {
                    cubic.scaled(mss * 1000, mss * 700, &path);
                } else {
                    cubic.decreased(mss * 1000, mss * 700, cubic.md(), &path);
                }
                assert_eq!(
                    (cubic.vars.last_max_cwnd, cubic.vars.epoch_start),
                    (left, None),
                    "{last_max_cwnd} {sce}"
                );
            }
        }
    }
}
