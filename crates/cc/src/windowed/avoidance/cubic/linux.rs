//! CUBIC as in Linux: in whole segments, ticks of the host's clock and 1024ths.
//!
//! spec/congestion-control section 3.3. The state is a price: the number of segments that must be acknowledged for the
//! window to grow by one. The price is `W / (target - W)`, where the target is the cubic one minimum round trip ahead.
//! It is computed at most once per tick, or every 32nd of a second while the window does not change. Further rules:
//!
//! - before the first loss the price is at most 20, that is, growth of at least 5 % per round trip;
//! - the Reno-friendly estimate grows by one for each `15/8 W` acknowledged (exactly `W / alpha` = 1.89 W); if it is
//!   ahead of the window, the price lets the window catch up within a round trip;
//! - the price is at least 2, that is, growth of at most half of the window per round trip.
//!
//! An epoch starts with the first growth after a response. The minimum round trip ignores samples in the second after
//! the epoch's start, because the queue that caused the loss may not have drained yet. A timeout forgets everything; an
//! undo restores only the window. K is the integer nearest to the cube root; the kernel's root is within 0.2 % of it.

use windtunnel_units::{Bytes, Duration, Time};

use super::{CubicParams, LINUX_BETA, LINUX_C, LINUX_UNIT};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window, half_and_quarter, kept_segments, segments};
use crate::windowed::clock::Clock;
use crate::windowed::credit::Credit;

/// Times along the cubic are in 1024ths of a second.
const FINE: u64 = 1024;
/// The highest price before the first loss.
const PRICE_BEFORE_LOSS: u64 = 20;
/// The lowest price.
const PRICE_FLOOR: u64 = 2;
/// The price, in windows, where the cubic is not above the window.
const PRICE_ON_PLATEAU: u64 = 100;

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
    credit: Credit,
    clock: Clock,
    /// The minimum round trip, zero before the first sample; the module documentation states which samples are ignored.
    delay_min: Duration,
    vars: CubicVars,
}

/// Windows in segments, times in ticks.
#[derive(Clone, Debug, Default)]
struct CubicVars {
    epoch: Option<u64>,
    /// The window at the last response, reduced by fast convergence; zero before the first response.
    last_max: u64,
    /// The plateau of this epoch.
    origin: u64,
    /// The time from the epoch's start to the plateau, in 1024ths of a second.
    k: u64,
    /// The Reno-friendly estimate.
    w_est: u64,
    /// Acknowledged segments that the estimate has not used yet.
    acked: u64,
    /// The cubic one minimum round trip ahead, at the last computation.
    target: u64,
    /// Segments that must be acknowledged for the window to grow by one.
    price: u64,
    /// The window and the tick of the last computation.
    computed: (u64, u64),
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
            credit: Credit::default(),
            clock: Clock::new(tick),
            delay_min: Duration::ZERO,
            vars: CubicVars::default(),
        }
    }

    /// Sets the price for a window of `w`, after `n` segments were acknowledged.
    fn set_price(&mut self, w: u64, n: u64, now: Time) {
        let tick = self.clock.ticks(now);
        self.vars.acked += n;
        let (last_w, last_tick) = self.vars.computed;
        if w == last_w && tick - last_tick <= self.clock.steady() {
            return;
        }
        if self.vars.epoch.is_none() || tick != last_tick {
            self.vars.computed = (w, tick);
            let epoch = self.epoch(w, n, tick);
            let target = self.target(tick - epoch);
            self.vars.target = target;
            self.vars.price = if target > w { w / (target - w) } else { w.saturating_mul(PRICE_ON_PLATEAU) };
            if self.vars.last_max == 0 {
                self.vars.price = self.vars.price.min(PRICE_BEFORE_LOSS);
            }
        }
        if self.tcp_friendliness {
            self.be_friendly(w);
        }
        self.vars.price = self.vars.price.max(PRICE_FLOOR);
    }

    /// Returns the tick at which the epoch started. Starts an epoch now if there is none.
    fn epoch(&mut self, w: u64, n: u64, tick: u64) -> u64 {
        let vars = &mut self.vars;
        *vars.epoch.get_or_insert_with(|| {
            vars.acked = n;
            vars.w_est = w;
            vars.origin = vars.last_max.max(w);
            vars.k = time_to_plateau(self.c, vars.origin - w);
            tick
        })
    }

    /// An epoch ends with a response at a window of `w`, which leaves this many 1024ths of it.
    fn end_epoch(&mut self, w: u64, factor: u64) {
        let converge = self.fast_convergence && w < self.vars.last_max;
        self.vars.last_max = if converge { w * (FINE + factor) / (2 * FINE) } else { w };
        self.vars.epoch = None;
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
            self.vars.origin.saturating_sub(delta)
        } else {
            self.vars.origin.saturating_add(delta)
        }
    }

    /// Advances the Reno-friendly estimate, and lowers the price if the estimate is ahead of the window.
    fn be_friendly(&mut self, w: u64) {
        let vars = &mut self.vars;
        let per_segment = (w.saturating_mul(self.friendly) >> 3).max(1);
        let grown = vars.acked.saturating_sub(1) / per_segment;
        vars.acked -= grown * per_segment;
        vars.w_est += grown;
        if vars.w_est > w {
            vars.price = vars.price.min(w / (vars.w_est - w));
        }
    }
}

/// Returns K in 1024ths of a second: the integer nearest to `cbrt(rise / C)`, with C in 1024ths.
fn time_to_plateau(c: u64, rise: u64) -> u64 {
    let cube = (rise as f64) * (1_u64 << 40) as f64 / c as f64;
    (libm::cbrt(cube) + 0.5) as u64
}

impl Avoidance for CubicLinux {
    fn md(&self) -> f64 {
        self.beta as f64 / LINUX_UNIT
    }

    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        kept_segments(base, factor, mss)
    }

    fn remembered(&self, cwnd: Bytes, mss: Bytes) -> Bytes {
        half_and_quarter(cwnd, mss)
    }

    fn counted(ack: &AckSample) -> Bytes {
        ack.newly_delivered
    }

    fn decreased(&mut self, before: Bytes, _after: Bytes, factor: f64, path: &PathView) {
        self.end_epoch(before / path.mss, (factor * LINUX_UNIT + 0.5) as u64);
        self.credit.clear();
    }

    fn scaled(&mut self, before: Bytes, _after: Bytes, path: &PathView) {
        self.end_epoch(before / path.mss, self.beta);
    }

    /// The plateau moves to the present: to the curve, or to the window if that is lower. The Reno-friendly estimate goes on from
    /// the window, which it would otherwise raise again.
    fn flattened(&mut self, after: Bytes, path: &PathView) {
        let (w, tick) = ((after / path.mss).max(1), self.clock.ticks(path.now));
        self.vars.last_max = w;
        if let Some(epoch) = self.vars.epoch {
            self.vars.origin = self.curve(tick - epoch).min(w);
            self.vars.k = 0;
            self.vars.w_est = self.vars.w_est.min(w);
            self.vars.epoch = Some(tick);
            self.vars.computed = (0, tick.wrapping_sub(1));
        }
    }

    fn sampled(&mut self, rtt: Duration, now: Time) {
        if self.vars.epoch.is_some_and(|epoch| self.clock.ticks(now).saturating_sub(epoch) < self.clock.hz())
        {
            return;
        }
        if self.delay_min.is_zero() || rtt < self.delay_min {
            self.delay_min = rtt;
        }
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if !self.grow_on_marked && ack.ecn.any() {
            return cwnd;
        }
        let n = segments(amount, path.mss);
        self.set_price((cwnd / path.mss).max(1), n, path.now);
        cwnd + path.mss * self.credit.add(self.vars.price as f64, n as f64)
    }

    /// Idle time shifts the curve by its length.
    fn idled(&mut self, idle: Duration, path: &PathView) {
        let now = self.clock.ticks(path.now);
        if let Some(epoch) = &mut self.vars.epoch {
            *epoch = (*epoch + self.clock.within(idle)).min(now);
        }
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars = CubicVars::default();
        self.delay_min = Duration::ZERO;
        self.credit.clear();
    }

    fn undone(&mut self, _before: CubicLinux) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let CubicVars { epoch, last_max, origin, k, w_est, target, price, .. } = self.vars;
        // These numbers persist between epochs, but are meaningful only during an epoch.
        let now = |value: u64| if epoch.is_some() { value as f64 } else { f64::NAN };
        out("w_max_segments", last_max as f64);
        out("k_s", k as f64 / FINE as f64);
        out("w_est_segments", w_est as f64);
        out("target_segments", now(target));
        out("origin_segments", now(origin));
        out("epoch_start_s", epoch.map_or(f64::NAN, |tick| self.clock.seconds(tick)));
        out("price_segments", price as f64);
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
        cubic.vars = CubicVars { origin: 100, k: 4317, ..CubicVars::default() };
        for (t, w) in [(0, 70.0), (1, 86.68), (2, 95.64), (3, 99.28), (4, 100.0), (6, 102.27), (8, 121.65)] {
            let target = cubic.target(t * cubic.clock.hz()) as f64;
            assert!((target - w).abs() <= 1.0, "{target} at {t} s, not {w}");
        }
    }

    /// Section 3.3 rule 5: each 15/8 of a window acknowledged adds a segment to the estimate, but not the last one of
    /// it; an estimate ahead lowers the price to `floor(W / (W_est - W))`.
    #[test]
    fn the_estimate_lowers_the_price() {
        for (acked, w_est, left, estimate, price) in [
            (187, 109, 187, 109, 11),
            (188, 109, 1, 110, 10),
            (376, 109, 2, 111, 9),
            (188, 99, 1, 100, 50),
            (188, 100, 1, 101, 50),
            (188, 102, 1, 103, 33),
        ] {
            let mut cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
            (cubic.vars.acked, cubic.vars.w_est, cubic.vars.price) = (acked, w_est, 50);
            cubic.be_friendly(100);
            assert_eq!(
                (cubic.vars.acked, cubic.vars.w_est, cubic.vars.price),
                (left, estimate, price),
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
        for (last_max, left) in [(1001, 850), (1000, 1000), (999, 1000)] {
            for sce in [false, true] {
                let mut cubic = CubicLinux::new(&CubicParams::default(), Duration::from_millis(1));
                (cubic.vars.last_max, cubic.vars.epoch) = (last_max, Some(7));
                if sce {
                    cubic.scaled(mss * 1000, mss * 700, &path);
                } else {
                    cubic.decreased(mss * 1000, mss * 700, cubic.md(), &path);
                }
                assert_eq!((cubic.vars.last_max, cubic.vars.epoch), (left, None), "{last_max} {sce}");
            }
        }
    }
}
