//! TCP-NV's decisions.

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::NvParams;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::Steered;
use crate::windowed::avoidance::module::{Module, Segments, cong_avoid_ai};
use crate::windowed::cwnd_cnt::CwndCnt;

/// Greater than any round trip: none was measured.
const UNKNOWN: u64 = u32::MAX as u64;
/// The first renewal of the least round trip.
const FIRST_PERIOD: Duration = Duration::from_secs(2);
/// Below this window a decision needs more than one ACK per round trip; it adapts between these bounds.
const EVAL_LEAST: u64 = 4;
const EVAL_STEP: u64 = 2;
const EVAL_MOST: u64 = 81;
/// The slowest growth: a segment per 2^8 windows.
const SLOWEST: i32 = -8;
/// Counts end here, as bytes do.
const COUNT_MOST: u32 = 255;

/// TCP-NV. Round trips are in microseconds, rates in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Nv {
    params: NvParams,
    random: RandomStream,
    /// Growth is as Reno's times 2^growth.
    growth: i32,
    grows: bool,
    /// What was measured is forgotten when the state is Open again.
    resets: bool,
    /// The present ACK brought the state back to Open: it was measured before.
    reset: bool,
    /// ACKs since the last decision, and round trips.
    acks: u32,
    rounds: u32,
    /// Decisions without congestion, one after the other.
    free: u32,
    /// The window that a round trip with one ACK is compared with.
    eval_window: u64,
    last_rtt: u64,
    least: u64,
    /// The least since the last renewal.
    least_new: u64,
    renewal: Time,
    /// The greatest rate since the last decision.
    rate: u64,
    /// The largest window allowed at the last decision.
    max_win: Option<u64>,
    end: Seq,
    una: Seq,
    state: CaState,
}

impl Nv {
    pub(super) fn new(params: &NvParams, random: RandomStream) -> Nv {
        Nv {
            params: params.clone(),
            random,
            growth: 0,
            grows: true,
            resets: false,
            reset: false,
            acks: 0,
            rounds: 0,
            free: 0,
            eval_window: EVAL_LEAST,
            last_rtt: 0,
            least: UNKNOWN,
            least_new: UNKNOWN,
            renewal: Time::ZERO,
            rate: 0,
            max_win: None,
            end: Seq::SYN,
            una: Seq::SYN,
            state: CaState::Open,
        }
    }

    /// Forgets the measurements since the last decision.
    fn reset(&mut self, una: Seq) {
        self.resets = false;
        (self.acks, self.rounds, self.free) = (0, 0, 0);
        (self.last_rtt, self.rate) = (0, 0);
        (self.end, self.una) = (una, una);
    }

    /// Takes the round trip and the bytes delivered within it.
    fn measure(&mut self, us: u64, delivered: Bytes, now: Time) {
        let average = match u64::from(self.params.nv_rtt_factor) {
            0 => us,
            _ if self.last_rtt == 0 => {
                self.least = 2 * us;
                us
            }
            weight => (us * weight + self.last_rtt * (256 - weight)) >> 8,
        };
        self.last_rtt = average;
        self.rate = self.rate.max(delivered.get() * 1_000_000 / average.max(1));
        self.acks = (self.acks + 1).min(COUNT_MOST);
        let bounded = self.bounded(average);
        self.least = self.least.min(bounded);
        self.least_new = self.least_new.min(bounded);
        if now >= self.renewal {
            self.renew(now);
        }
    }

    /// The average within the bounds of a known base.
    fn bounded(&self, average: u64) -> u64 {
        let Some(base) = self.params.base_rtt else { return average };
        let base = base.as_nanos() / 1000;
        let floor = (base * 205) >> 8;
        if average < floor { floor } else { average.min(base) }
    }

    /// The least round trip of the last period becomes the least.
    fn renew(&mut self, now: Time) {
        self.least = std::mem::replace(&mut self.least_new, UNKNOWN);
        // The kernel draws a byte: three quarters to five quarters of the period, in 512ths.
        let byte = (self.random.uniform() * 256.0) as u64;
        self.renewal = now + self.params.nv_reset_period * (384 + byte) / 512;
        self.eval_window = (self.eval_window / 2).max(EVAL_LEAST);
    }

    /// A round trip is over, in which `acked` bytes were acknowledged by its last ACK.
    fn end_round(&mut self, window: &mut Segments, acked: u64, path: &PathView) {
        self.end = path.nxt;
        self.rounds = (self.rounds + 1).min(COUNT_MOST);
        let mss = path.mss.get();
        if self.acks == 1 && acked >= (self.eval_window - 1) * mss && self.eval_window < EVAL_MOST {
            self.eval_window = (self.eval_window + EVAL_STEP).min(EVAL_MOST);
            self.end = path.nxt + path.mss * self.eval_window;
            self.acks = 0;
            self.grows = true;
            return;
        }
        let max_win = self.largest_window(mss);
        self.max_win = Some(max_win);
        let decided = if window.w > max_win {
            self.decrease(window, max_win)
        } else if window.w + u64::from(self.params.nv_pad_buffer) <= max_win {
            self.allow_growth()
        } else {
            false
        };
        if decided {
            (self.acks, self.rounds, self.rate) = (0, 0, 0);
            window.w = window.w.max(u64::from(self.params.nv_min_cwnd));
        }
    }

    /// What the rate needs on an empty path, and the pad.
    fn largest_window(&self, mss: u64) -> u64 {
        let needed = u128::from(self.rate) * u128::from(self.least) / (1_000_000 * u128::from(mss));
        needed as u64 + u64::from(self.params.nv_pad)
    }

    /// The window is larger than it need be. True if there are enough measurements to decide.
    fn decrease(&mut self, window: &mut Segments, max_win: u64) -> bool {
        let params = &self.params;
        if self.rounds < params.nv_rtt_min_cnt {
            return false;
        }
        let in_slow_start = window.ssthresh == Segments::INFINITE;
        if in_slow_start && self.acks < params.nv_ssthresh_eval_min_calls {
            return false;
        }
        if !in_slow_start && self.acks < params.nv_dec_eval_min_calls {
            self.grows &= self.rounds <= params.nv_stop_rtt_cnt;
            return false;
        }
        self.grows = false;
        window.ssthresh = max_win * u64::from(params.nv_ssthresh_factor) / 8;
        let excess = window.w - max_win;
        if excess > 2 {
            window.w -= (excess * u64::from(params.nv_cong_dec_mult) / 128).max(2);
        } else if params.nv_cong_dec_mult > 0 {
            window.w = max_win;
        }
        self.growth = self.growth.min(0);
        self.free = 0;
        true
    }

    /// There is room. True if there are enough measurements to decide.
    fn allow_growth(&mut self) -> bool {
        if self.acks < self.params.nv_inc_eval_min_calls {
            return false;
        }
        self.grows = true;
        self.free = self.free.saturating_add(1);
        let steps = if self.growth < 0 {
            self.params.nv_cwnd_growth_rate_neg
        } else {
            self.params.nv_cwnd_growth_rate_pos
        };
        if steps > 0 && self.free > steps {
            self.growth = (self.growth + 1).min(63);
            self.free = 0;
        }
        true
    }
}

impl Module for Nv {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { rate_samples: true, states: true, ..needs }
    }

    fn init(&mut self, _window: &mut Segments, path: &PathView) {
        self.reset(path.una);
        self.renewal = path.now + FIRST_PERIOD;
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        let measures = !std::mem::take(&mut self.reset) && self.state <= CaState::Disorder;
        if let Some(rtt) = ack.rtt.filter(|_| measures) {
            let acked = path.una - std::mem::replace(&mut self.una, path.una);
            if let Some(rate) = ack.rate {
                self.measure(rtt.as_nanos() / 1000, rate.delivered, path.now);
                if path.una > self.end {
                    self.end_round(window, acked.get(), path);
                }
            }
        }
        if self.grows { Steered::Grow } else { Steered::Hold }
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        let cnt = match u32::try_from(self.growth) {
            Ok(quicker) => (w >> quicker).max(4),
            Err(_) => w << self.growth.unsigned_abs(),
        };
        cong_avoid_ai(w, cnt, n, cwnd_cnt)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        (w * u64::from(self.params.nv_loss_dec_factor) / 1024).max(2)
    }

    fn set_state(&mut self, state: CaState, path: &PathView) {
        self.state = state;
        if state == CaState::Open && self.resets {
            self.reset(path.una);
            self.reset = true;
        }
        if state > CaState::Disorder {
            self.resets = true;
            self.grows = false;
        }
        if state == CaState::Loss {
            self.growth = self.growth.min(0);
            if self.params.nv_cwnd_growth_rate_neg > 0 {
                self.growth = (self.growth - 1).max(SLOWEST);
            }
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |us: u64| if us == UNKNOWN { f64::NAN } else { us as f64 * 1e-6 };
        out("max_win_segments", self.max_win.map_or(f64::NAN, |w| w as f64));
        out("rate_bps", self.rate as f64 * 8.0);
        out("min_rtt_s", seconds(self.least));
        out("growth_log2", f64::from(self.growth));
        out("grows", f64::from(u8::from(self.grows)));
    }
}

#[cfg(test)]
mod tests;
