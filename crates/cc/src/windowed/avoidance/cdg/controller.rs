//! CDG's window: gradients, backoffs, the shadow window.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::Seq;

use super::CdgParams;
use super::gradients::{Extremes, Gradients, Trend};
use super::hystart::Hystart;
use crate::needs::Needs;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, additive, half};
use crate::windowed::credit::Credit;

/// Sums that fall by this much, in microseconds, show that a backoff had an effect.
const EFFECT_US: i64 = 32;
/// Sums are rounded to this, in microseconds, before they judge the queue.
const NOISE_US: i64 = 64;
/// The most ACKs of one segment that are taken for delayed ones.
const DELAYED: u32 = 5;

/// What the gradients say of the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Queue {
    #[default]
    Unknown,
    NotFull,
    Full,
    /// The present reduction is CDG's own.
    Backoff,
}

/// CDG.
#[derive(Clone, Debug)]
pub(super) struct Cdg {
    params: CdgParams,
    random: RandomStream,
    hystart: Hystart,
    /// The round trips of this round and of the one before.
    round: Extremes,
    last: Extremes,
    end: Seq,
    gradients: Gradients,
    trend: Trend,
    queue: Queue,
    /// Backoffs since one had an effect.
    backoffs: u32,
    /// The window without backoffs.
    shadow: u64,
    /// ACKs of one segment that may be delayed ones.
    delayed: u32,
    /// The window after the last ACK; before this one grows it.
    w: u64,
    state: CaState,
    asks: bool,
}

impl Cdg {
    pub(super) fn new(params: &CdgParams, random: RandomStream) -> Cdg {
        Cdg {
            params: params.clone(),
            random,
            hystart: Hystart::new(params.hystart_detect),
            round: Extremes::default(),
            last: Extremes::default(),
            end: Seq::SYN,
            gradients: Gradients::new(params.window),
            trend: Trend { sum: Extremes::default(), gradient: 0 },
            queue: Queue::Unknown,
            backoffs: 0,
            shadow: 0,
            delayed: 0,
            w: 0,
            state: CaState::Open,
            asks: false,
        }
    }

    /// A round is over. True if CDG backs off.
    fn end_round(&mut self, w: u64, end: Seq) -> bool {
        let known = !self.last.is_empty();
        if known {
            self.trend = self.gradients.add(self.last, self.round);
            self.judge();
        }
        self.end = end;
        self.last = std::mem::take(&mut self.round);
        self.hystart.start_round();
        known && self.trend.gradient > 0 && self.backs_off(w)
    }

    /// Notes what the sums show.
    fn judge(&mut self) {
        let Extremes { min, max } = self.trend.sum;
        if min <= -EFFECT_US || max <= -EFFECT_US {
            self.backoffs = 0;
        }
        if !self.params.use_tolerance {
            return;
        }
        let (min, max) = (rounded(min), rounded(max));
        if min > 0 && max <= 0 {
            self.queue = Queue::Full;
        } else if (min > 0 && max > 0) || max < 0 {
            self.queue = Queue::NotFull;
        }
    }

    fn backs_off(&mut self, w: u64) -> bool {
        let exponent = self.trend.gradient as f64 * f64::from(self.params.backoff_factor) * 1e-6;
        if self.random.uniform() < libm::exp(-exponent) {
            return false;
        }
        self.backoffs = self.backoffs.saturating_add(1);
        if self.params.use_ineff > 0 && self.backoffs > self.params.use_ineff {
            return false;
        }
        self.shadow = self.shadow.max(w);
        self.queue = Queue::Backoff;
        self.asks = true;
        true
    }
}

/// The nearest multiple of the noise.
const fn rounded(us: i64) -> i64 {
    let half = if us < 0 { -NOISE_US / 2 } else { NOISE_US / 2 };
    (us + half) / NOISE_US
}

impl Module for Cdg {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { delivery_reports: true, states: true, own_reductions: true, ..needs }
    }

    fn established(&mut self, window: &mut Segments, path: &PathView) {
        self.end = path.nxt;
        self.shadow = window.w;
    }

    fn delivered(&mut self, delivery: &Delivery, _w: u64, path: &PathView) {
        let Some(rtt) = delivery.rtt else { return };
        let us = (rtt.as_nanos() / 1000).cast_signed();
        if us == 0 {
            return;
        }
        // In Disorder and Recovery segments are SACKed.
        if !matches!(self.state, CaState::Disorder | CaState::Recovery) {
            let segments = delivery.acked / path.mss;
            if segments == 1 && self.delayed > 0 {
                self.round.lower(us);
                self.delayed -= 1;
                return;
            }
            if segments > 1 && self.delayed < DELAYED {
                self.delayed += 1;
            }
        }
        self.round.sample(us);
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        self.w = window.w;
        if !ack.may_raise {
            return Steered::Grow;
        }
        if window.in_slow_start()
            && self.hystart.is_on()
            && self.hystart.on_ack(self.round.min, !ack.growth_barred, path.now)
        {
            window.ssthresh = window.w;
        }
        if path.una > self.end && !self.round.is_empty() && self.end_round(window.w, path.nxt) {
            return Steered::Hold;
        }
        if ack.growth_barred {
            self.shadow = self.shadow.min(window.w);
        }
        Steered::Grow
    }

    fn grow(&mut self, w: u64, n: u64, credit: &mut Credit) -> u64 {
        additive(w, w, n, credit)
    }

    fn settled(&mut self, window: &mut Segments, _ack: &AckSample, _path: &PathView) {
        self.shadow += window.w.saturating_sub(self.w);
        self.w = window.w;
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        if self.queue == Queue::Backoff {
            return (w * u64::from(self.params.backoff_beta) / 1024).max(2);
        }
        if self.queue == Queue::NotFull && self.params.use_tolerance {
            return w;
        }
        self.shadow = (self.shadow / 2).min(w);
        if self.params.use_shadow { half(w).max(self.shadow) } else { half(w) }
    }

    fn state(&mut self, state: CaState, _path: &PathView) {
        self.state = state;
    }

    fn recovered(&mut self, path: &PathView) {
        // A timeout's end is none of a reduction's (Linux `tcp_end_cwnd_reduction`).
        if self.state == CaState::Loss {
            return;
        }
        self.queue = Queue::Unknown;
        self.end = path.nxt;
        self.last = std::mem::take(&mut self.round);
    }

    fn restarted(&mut self, path: &PathView) {
        self.gradients.clear();
        self.hystart.forget();
        (self.round, self.last) = (Extremes::default(), Extremes::default());
        (self.queue, self.backoffs, self.delayed) = (Queue::Unknown, 0, 0);
        self.end = path.nxt;
        self.shadow = self.w;
    }

    fn asks_reduction(&mut self) -> bool {
        std::mem::take(&mut self.asks)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("gradient_s", self.trend.gradient as f64 * 1e-6);
        out("backoffs", f64::from(self.backoffs));
        out("shadow_segments", self.shadow as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cdg(params: &CdgParams) -> Cdg {
        Cdg::new(params, RandomStream::new(1))
    }

    /// spec/congestion-control section 3.16: summed gradients of 1, 3 and 10 ms back off with probability 0.041, 0.118 and
    /// 0.343; five standard errors of 20,000 draws are at most 0.017.
    #[test]
    fn probability_of_a_backoff() {
        let mut cdg = cdg(&CdgParams { use_ineff: 0, ..CdgParams::default() });
        for (ms, probability) in [(1, 0.041), (3, 0.118), (10, 0.343)] {
            cdg.trend.gradient = ms * 1000;
            let made = (0..20_000).filter(|_| cdg.backs_off(100)).count() as f64 / 20_000.0;
            let error = 5.0 * libm::sqrt(probability * (1.0 - probability) / 20_000.0);
            assert!((made - probability).abs() < error + 0.0005, "{ms} ms: {made}");
        }
    }

    /// After five backoffs without effect others are left out, until the round trip falls.
    #[test]
    fn backoffs_without_effect_end() {
        let mut cdg = cdg(&CdgParams { backoff_factor: 1_000_000, ..CdgParams::default() });
        cdg.trend.gradient = 1000;
        assert_eq!((0..20).filter(|_| cdg.backs_off(100)).count(), 5);
        cdg.trend.sum = Extremes { min: -EFFECT_US, max: 0 };
        cdg.judge();
        assert!(cdg.backs_off(100));
    }

    /// A loss returns to half of the shadow window, which backoffs do not lower; a backoff leaves 724/1024.
    #[test]
    fn losses_are_answered_from_the_shadow() {
        let at = windtunnel_units::Time::ZERO;
        let none = windtunnel_units::Bytes::ZERO;
        let zero = windtunnel_units::Duration::ZERO;
        let path = PathView {
            now: at,
            mss: windtunnel_units::Bytes::new(1448),
            srtt: zero,
            min_rtt: zero,
            in_flight: none,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        };
        let mut cdg = cdg(&CdgParams { backoff_factor: 1_000_000, ..CdgParams::default() });
        cdg.trend.gradient = 1000;
        assert!(cdg.backs_off(100) && cdg.asks_reduction() && !cdg.asks_reduction());
        assert_eq!(cdg.ssthresh(100, &path), 70);
        cdg.recovered(&path);
        assert_eq!(cdg.ssthresh(60, &path), 50, "half of the shadow, 100");
        assert_eq!(cdg.ssthresh(60, &path), 30, "half of the window: the shadow is 50 / 2");
    }

    /// With `use_tolerance`, a loss while the greatest round trip falls takes nothing.
    #[test]
    fn tolerance() {
        let mut cdg = cdg(&CdgParams { use_tolerance: true, ..CdgParams::default() });
        for (min, max, queue) in [
            (64, 0, Queue::Full),
            (64, 64, Queue::NotFull),
            (0, -64, Queue::NotFull),
            (31, -31, Queue::NotFull),
        ] {
            cdg.trend.sum = Extremes { min, max };
            cdg.judge();
            assert_eq!(cdg.queue, queue, "{min} {max}");
        }
    }
}
