//! Compound TCP: Reno's window plus a window driven by delay.
//!
//! Tan, Song, Zhang and Sridharan, "A Compound TCP approach for high-speed and long distance networks" (2006);
//! draft-sridharan-tcpm-ctcp-02; spec/congestion-control section 3.13. The window W is the sum of Reno's, cwnd, and of
//! dwnd. Once per round trip, Vegas' estimate of the packets queued, `diff = W (1 - base / r)`, moves dwnd:
//!
//! - fewer than gamma: `dwnd += alpha W^k - 1`, so that the whole window grows by `alpha W^k`;
//! - otherwise `dwnd -= zeta diff`: the flow gives way, but cwnd, which losses alone lower, stays: Compound is never slower
//!   than Reno.
//!
//! A loss leaves `(1 - beta) W` in all; Reno's part of it is half of cwnd. The exponent k = 3/4 makes the response to
//! the loss rate that of `HighSpeed` TCP, alpha = 1/8 fits its scale, and beta = 1/2 gives Reno its share. Below 38
//! segments, where `alpha W^k` is less than Reno's growth twice over, Compound is Reno.
//!
//! gamma = 30 packets suits buffers of many packets; in a smaller one losses come before diff reaches it. Each loss
//! therefore shows how many packets fit: with `tune_gamma`, gamma moves halfway to three quarters of them, between
//! `gamma_low` and gamma.
//!
//! dwnd acts in congestion avoidance alone; after a timeout it is zero. The round trip r is the mean of a round's
//! samples, or their least.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::Seq;

use super::module::{InSegments, Module, Segments, cong_avoid_ai};
use crate::check;
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::{AvoidanceParams, Steered};
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// The round trip of a round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompoundRtt {
    /// The mean of the samples.
    #[default]
    Mean,
    /// The least sample.
    Min,
}

/// Parameters of Compound TCP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-sridharan-tcpm-ctcp-02"))]
pub struct CompoundParams {
    /// The scale of growth.
    #[schemars(range(min = 0.0))]
    pub alpha: f64,
    /// The part of the window that a loss takes.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub beta: f64,
    /// The exponent of growth.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub k: f64,
    /// With fewer packets queued than this, the delay window grows.
    #[schemars(range(min = 0.0), extend("x-unit" = "packets"))]
    pub gamma: f64,
    /// Whether gamma follows the buffer that losses show.
    pub tune_gamma: bool,
    /// The least gamma that losses lead to.
    #[schemars(range(min = 0.0), extend("x-unit" = "packets"))]
    pub gamma_low: f64,
    /// The packets that the delay window gives up for each that is queued.
    #[schemars(range(min = 0.0))]
    pub zeta: f64,
    /// Below this window Compound is Reno.
    #[schemars(extend("x-unit" = "segments"))]
    pub low_window: u32,
    /// The round trip of a round.
    pub rtt: CompoundRtt,
}

impl Default for CompoundParams {
    fn default() -> CompoundParams {
        CompoundParams {
            alpha: 0.125,
            beta: 0.5,
            k: 0.75,
            gamma: 30.0,
            tune_gamma: true,
            gamma_low: 5.0,
            zeta: 1.0,
            low_window: 38,
            rtt: CompoundRtt::Mean,
        }
    }
}

impl Params for CompoundParams {
    const NAME: &'static str = "compound";
    const SUMMARY: &'static str = "Reno's window plus a window driven by delay";

    fn check(&self) -> Result<(), OutOfRange> {
        check::positive("alpha", self.alpha)?;
        check::kept_fraction("beta", self.beta)?;
        check::kept_fraction("k", self.k)?;
        check::positive("gamma", self.gamma)?;
        check::positive("gamma_low", self.gamma_low)?;
        check::positive("zeta", self.zeta)?;
        if self.gamma_low > self.gamma {
            return Err(OutOfRange::new("gamma_low", self.gamma_low, "at most gamma"));
        }
        Ok(())
    }
}

impl AvoidanceParams for CompoundParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(InSegments::new(Compound::new(self)))
    }
}

/// The part of the packets queued at a loss that gamma aims at.
const AIM: f64 = 0.75;

/// Compound TCP (draft-sridharan-tcpm-ctcp-02). Round trips are in seconds, windows in segments.
#[derive(Clone, Debug)]
struct Compound {
    params: CompoundParams,
    /// The delay window; its whole part is in the window.
    dwnd: f64,
    gamma: f64,
    base: f64,
    sum: f64,
    least: f64,
    samples: u32,
    /// The round trip of the last round.
    rtt: f64,
    diff: f64,
    end: Seq,
}

impl Compound {
    fn new(params: &CompoundParams) -> Compound {
        Compound {
            params: params.clone(),
            dwnd: 0.0,
            gamma: params.gamma,
            base: f64::INFINITY,
            sum: 0.0,
            least: f64::INFINITY,
            samples: 0,
            rtt: f64::NAN,
            diff: f64::NAN,
            end: Seq::SYN,
        }
    }

    /// The part of `w` packets that waits in queues.
    fn queued(&self, w: f64) -> f64 {
        w * (1.0 - self.base / self.rtt)
    }

    fn start_round(&mut self, path: &PathView) {
        (self.sum, self.least, self.samples, self.end) = (0.0, f64::INFINITY, 0, path.nxt);
    }

    /// A round is over; `delay` is true if dwnd may move.
    fn end_round(&mut self, window: &mut Segments, delay: bool) {
        self.rtt = match self.params.rtt {
            CompoundRtt::Mean => self.sum / f64::from(self.samples),
            CompoundRtt::Min => self.least,
        };
        let w = window.w as f64;
        self.diff = self.queued(w);
        if delay && window.w >= u64::from(self.params.low_window) {
            let next = self.next_dwnd(w);
            window.w = window.w + next as u64 - self.dwnd as u64;
            window.ssthresh = window.ssthresh.min(window.w);
            self.dwnd = next;
        }
    }

    /// The delay window of the next round trip.
    fn next_dwnd(&self, w: f64) -> f64 {
        let params = &self.params;
        if self.diff < self.gamma {
            self.dwnd + (params.alpha * libm::pow(w, params.k) - 1.0).max(0.0)
        } else {
            (self.dwnd - params.zeta * self.diff).max(0.0)
        }
    }

    /// The delay window is part of a window of `w`; Reno's part of it is at least two segments, the floor of every window.
    fn fit(&mut self, w: u64) {
        self.dwnd = self.dwnd.min(w.saturating_sub(2) as f64);
    }

    /// A loss shows how many packets fit into the buffer.
    fn tune(&mut self, cwnd: f64) {
        let queued = self.queued(cwnd);
        if self.params.tune_gamma && queued.is_finite() {
            let tuned = f64::midpoint(self.gamma, AIM * queued);
            self.gamma = tuned.clamp(self.params.gamma_low, self.params.gamma);
        }
    }
}

impl Module for Compound {
    fn needs(&self, needs: Needs) -> Needs {
        Needs { states: true, ..needs }
    }

    fn init(&mut self, _window: &mut Segments, path: &PathView) {
        self.start_round(path);
    }

    fn steer(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) -> Steered {
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            let rtt = rtt.as_secs_f64();
            self.base = self.base.min(rtt);
            self.least = self.least.min(rtt);
            self.sum += rtt;
            self.samples += 1;
        }
        if window.in_slow_start() {
            self.dwnd = 0.0;
        }
        self.fit(window.w);
        if ack.may_raise && path.una > self.end {
            if self.samples > 0 {
                self.end_round(window, !window.in_slow_start() && !ack.growth_barred);
            }
            self.start_round(path);
        }
        Steered::Grow
    }

    /// Reno's window grows by one for each whole window delivered.
    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        cong_avoid_ai(w, w, n, cwnd_cnt)
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        self.fit(w);
        let cwnd = (w - self.dwnd as u64) as f64;
        self.tune(cwnd);
        let left = w as f64 * (1.0 - self.params.beta);
        self.dwnd = (left - cwnd / 2.0).max(0.0);
        (left.max(cwnd / 2.0) as u64).max(2)
    }

    fn set_state(&mut self, state: CaState, _path: &PathView) {
        if state == CaState::Loss {
            self.dwnd = 0.0;
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("dwnd_segments", self.dwnd);
        out("diff_packets", self.diff);
        out("gamma_packets", self.gamma);
        out("base_rtt_s", if self.base.is_finite() { self.base } else { f64::NAN });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compound(dwnd: f64, queued: f64, w: f64) -> Compound {
        let base = 0.1;
        let rtt = base / (1.0 - queued / w);
        let params = CompoundParams { tune_gamma: false, ..CompoundParams::default() };
        Compound { dwnd, base, rtt, diff: queued, ..Compound::new(&params) }
    }

    /// spec/congestion-control section 3.13: alpha W^k at 16, 38, 100 and 1000 segments.
    #[test]
    fn growth_is_a_power_of_the_window() {
        for (w, growth) in [(16.0, 1.0), (38.0, 1.91), (100.0, 3.95), (1000.0, 22.2)] {
            let next = compound(7.0, 0.0, w).next_dwnd(w);
            assert!((next - 7.0 - (growth - 1.0)).abs() < 0.05, "{w}: {next}");
        }
    }

    /// Section 3.13: W = 100 with a dwnd of 40: with ten packets queued it grows to 42.95, with 35 it gives them up.
    #[test]
    fn delay_moves_the_delay_window() {
        assert!((compound(40.0, 10.0, 100.0).next_dwnd(100.0) - 42.95).abs() < 0.01);
        assert!((compound(40.0, 35.0, 100.0).next_dwnd(100.0) - 5.0).abs() < 1e-9);
        assert!(compound(20.0, 35.0, 100.0).next_dwnd(100.0).abs() < 1e-9);
    }

    /// Section 3.13: a loss at W = 100 with cwnd = 60 leaves 50: 30 and 20.
    #[test]
    fn a_loss_halves_both() {
        let path = PathView {
            now: windtunnel_units::Time::ZERO,
            mss: windtunnel_units::Bytes::new(1448),
            srtt: windtunnel_units::Duration::ZERO,
            min_rtt: windtunnel_units::Duration::ZERO,
            in_flight: windtunnel_units::Bytes::ZERO,
            una: Seq::FIRST_DATA,
            nxt: Seq::FIRST_DATA,
        };
        let mut compound = compound(40.0, 10.0, 100.0);
        assert_eq!(compound.ssthresh(100, &path), 50);
        assert!((compound.dwnd - 20.0).abs() < 1e-9);
    }

    /// gamma moves halfway to three quarters of the packets queued at a loss: with 10 of Reno's window, from 30 to 18.75.
    #[test]
    fn gamma_follows_the_buffer() {
        let mut compound = compound(0.0, 10.0, 100.0);
        compound.params.tune_gamma = true;
        compound.tune(100.0);
        assert!((compound.gamma - 18.75).abs() < 1e-9);
        for _ in 0..20 {
            compound.tune(1.0);
        }
        assert!((compound.gamma - 5.0).abs() < 1e-9);
    }

    fn at(una: u64, nxt: u64) -> PathView {
        PathView::of_segments(una, nxt)
    }

    fn sampled(ms: u64) -> AckSample {
        let rtt = Some(windtunnel_units::Duration::from_millis(ms));
        AckSample { rtt, may_raise: true, ..AckSample::default() }
    }

    /// Section 3.13: a round trip ends with the first ACK beyond what was sent at its start. Its mean, 113.3 ms, is
    /// 11.76 packets at W = 100 and a base of 100 ms, its least none; dwnd grows by 100^0.75 / 8 - 1 = 2.95, then at
    /// W = 102 by 3.01. The whole part of it is in the window.
    #[test]
    fn a_round_trip_moves_the_delay_window() {
        for (rtt, diff) in [(CompoundRtt::Mean, 11.7647), (CompoundRtt::Min, 0.0)] {
            let mut compound = Compound::new(&CompoundParams { rtt, ..CompoundParams::default() });
            let mut window = Segments { w: 100, ssthresh: 60 };
            compound.init(&mut window, &at(0, 10));
            for (una, ms) in [(5, 100), (10, 110)] {
                compound.steer(&mut window, &sampled(ms), &at(una, una + 100));
                assert_eq!((window.w, compound.dwnd), (100, 0.0), "the round trip is not over");
            }
            compound.steer(&mut window, &sampled(130), &at(11, 111));
            assert_eq!(window, Segments { w: 102, ssthresh: 60 });
            assert!((compound.dwnd - 2.9528).abs() < 1e-4 && (compound.diff - diff).abs() < 1e-3, "{rtt:?}");
            compound.steer(&mut window, &sampled(100), &at(111, 213));
            assert_eq!(window.w, 102);
            compound.steer(&mut window, &sampled(100), &at(112, 214));
            assert!((compound.dwnd - 5.9648).abs() < 1e-3 && compound.diff.abs() < 1e-9, "{}", compound.dwnd);
            assert_eq!(window.w, 105);
        }
    }

    /// Section 3.13: dwnd acts from 38 segments on, in congestion avoidance, and while growth is allowed.
    #[test]
    fn the_delay_window_rests_otherwise() {
        let barred = AckSample { growth_barred: true, ..sampled(100) };
        let reducing = AckSample { may_raise: false, ..sampled(100) };
        for (w, ssthresh, ack, before, after) in [
            (38, 20, sampled(100), 0.0, 0.9132),
            (37, 20, sampled(100), 0.0, 0.0),
            (100, 101, sampled(100), 7.0, 0.0),
            (100, 60, barred, 7.0, 7.0),
            (100, 60, reducing, 7.0, 7.0),
            (100, 60, sampled(100), 7.0, 9.9528),
        ] {
            let mut compound = Compound { dwnd: before, ..Compound::new(&CompoundParams::default()) };
            let mut window = Segments { w, ssthresh };
            compound.steer(&mut window, &ack, &at(1, 101));
            assert!(
                (compound.dwnd - after).abs() < 1e-3,
                "{w} segments, ssthresh {ssthresh}: {}",
                compound.dwnd
            );
        }
        // A round trip without a sample says nothing.
        let mut silent = Compound { dwnd: 7.0, ..Compound::new(&CompoundParams::default()) };
        let mut window = Segments { w: 100, ssthresh: 60 };
        silent.steer(&mut window, &AckSample { rtt: None, ..sampled(100) }, &at(1, 101));
        assert_eq!((window.w, silent.dwnd), (100, 7.0));
    }

    /// Section 3.13: gamma packets queued are too many already. A timeout takes dwnd, other states do not.
    #[test]
    fn gamma_and_timeouts_end_the_delay_window() {
        let mut compound = compound(40.0, 10.0, 100.0);
        compound.diff = compound.gamma;
        assert!((compound.next_dwnd(100.0) - 10.0).abs() < 1e-9);
        for (state, left) in [(CaState::Disorder, 40.0), (CaState::Recovery, 40.0), (CaState::Loss, 0.0)] {
            compound.set_state(state, &at(0, 10));
            assert!((compound.dwnd - left).abs() < 1e-9, "{state:?}");
        }
    }

    /// Section 3.13: where 1 - beta leaves less than half of Reno's part, 60 of 100, that half stays. gamma stays as
    /// it is without `tune_gamma`, and before a round trip is known.
    #[test]
    fn a_loss_leaves_renos_half() {
        for (beta, left, dwnd) in [(0.5, 50, 20.0), (0.7, 30, 0.0), (0.9, 30, 0.0)] {
            let mut compound = compound(40.0, 10.0, 100.0);
            compound.params.beta = beta;
            assert_eq!(compound.ssthresh(100, &at(0, 10)), left, "{beta}");
            assert!((compound.dwnd - dwnd).abs() < 1e-9 && (compound.gamma - 30.0).abs() < 1e-9, "{beta}");
        }
        let mut unknown = Compound::new(&CompoundParams::default());
        assert_eq!(unknown.ssthresh(101, &at(0, 10)), 50);
        assert!((unknown.gamma - 30.0).abs() < 1e-9);
    }

    /// Section 3.13: Reno's part grows by a segment for each window delivered.
    #[test]
    fn reno_grows_with_it() {
        let mut compound = Compound::new(&CompoundParams::default());
        let mut cwnd_cnt = CwndCnt::default();
        assert_eq!(
            (compound.cong_avoid(100, 99, &mut cwnd_cnt), compound.cong_avoid(100, 1, &mut cwnd_cnt)),
            (100, 101)
        );
    }
}
