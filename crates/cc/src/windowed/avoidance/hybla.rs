//! Hybla: a flow with a long round trip grows as fast, per second, as one with 25 ms.
//!
//! Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks" (2004), in the form of Linux's
//! `tcp_hybla` (spec/congestion-control section 3.8), made for satellites. Reno's rate grows by a segment per round trip
//! per round trip, so a flow with `rho` times the round trip grows `rho^2` times as slowly. With `rho = srtt / rtt0`,
//! Hybla grows by `2^rho - 1` with each ACK of slow start and by `rho^2 / W` in congestion avoidance: as a Reno flow whose
//! round trip is `rtt0`. rho is at least 1: a flow with a short round trip is Reno's.
//!
//! In Linux rho is a multiple of 1/8 and follows the smallest srtt; windows are in 128ths of a segment; growth is per
//! ACK, not per segment; and a connection starts with rho segments, one below 50 ms. Whatever the state is but Open, Hybla
//! grows as Reno does, and a loss halves. Since slow start is Hybla's own, a scenario cannot choose another.

use std::num::NonZeroU32;

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration};

use super::{Avoidance, AvoidanceParams, Steered, Unit, Window, segments};
use crate::controller::CongestionControl;
use crate::needs::Needs;
use crate::sample::{AckSample, PathView};
use crate::state::CaState;
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Windows are in units of 1 / this.
const FINE: u64 = 128;
/// rho is in units of 1 / this.
const EIGHTHS: u64 = 8;
/// 2^(k/8) in 128ths, rounded.
const POWERS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// The largest rho whose power is used.
const RHO_MAX: u64 = 16;
/// The largest window, in segments.
const CLAMP: u64 = 65_535;

/// Parameters of Hybla, by the name and in the unit of Linux's module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Caini, Firrincieli 2004; Linux net/ipv4/tcp_hybla.c"))]
pub struct HyblaParams {
    /// The round trip of the Reno flow whose growth is matched, in milliseconds.
    pub rtt0: NonZeroU32,
}

impl Default for HyblaParams {
    fn default() -> HyblaParams {
        HyblaParams { rtt0: const { NonZeroU32::new(25).unwrap() } }
    }
}

impl Params for HyblaParams {
    const NAME: &'static str = "hybla";
    const SUMMARY: &'static str = "Hybla: grows per second as Reno does with a round trip of 25 ms";
}

impl AvoidanceParams for HyblaParams {
    fn fixes_slow_start(&self) -> Option<&'static str> {
        Some("hybla's slow start is its own, by 2^rho - 1 with each ACK")
    }

    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(Hybla::new(self))
    }
}

/// Hybla's growth.
#[derive(Clone, Debug)]
pub(crate) struct Hybla {
    /// In microseconds.
    rtt0: u64,
    /// The state is Open.
    open: bool,
    /// rho in eighths.
    rho: u64,
    /// The smallest srtt, in eighths of a microsecond.
    min_srtt: u64,
    /// The fraction of a segment by which the window is ahead, in 128ths.
    snd_cwnd_cents: u64,
    cwnd_cnt: CwndCnt,
}

/// Returns an srtt in eighths of a microsecond.
fn eighths(srtt: Duration) -> u64 {
    srtt.as_nanos() * EIGHTHS / 1000
}

impl Hybla {
    fn new(params: &HyblaParams) -> Hybla {
        Hybla {
            rtt0: u64::from(params.rtt0.get()) * 1000,
            open: true,
            rho: EIGHTHS,
            min_srtt: 0,
            snd_cwnd_cents: 0,
            cwnd_cnt: CwndCnt::default(),
        }
    }

    fn set_rho(&mut self, srtt: u64) {
        self.rho = (srtt / self.rtt0).max(EIGHTHS);
        self.min_srtt = srtt;
    }

    /// Returns the growth with an ACK in slow start, in 128ths of a segment: `2^rho - 1`.
    fn slow_start(&self) -> u64 {
        let (whole, rest) = (self.rho / EIGHTHS, self.rho % EIGHTHS);
        (POWERS[rest as usize] << whole.min(RHO_MAX)) - FINE
    }

    /// Returns the growth with an ACK at a window of `w` in congestion avoidance, in 128ths: `rho^2 / W`.
    fn avoidance(&self, w: u64) -> u64 {
        2 * self.rho * self.rho / w
    }

    /// Returns a window of `w` after an ACK that grows it by `growth` 128ths.
    fn grown(&mut self, w: u64, growth: u64) -> u64 {
        self.snd_cwnd_cents += growth % FINE;
        let mut grown = w + growth / FINE + self.snd_cwnd_cents / FINE;
        if self.snd_cwnd_cents >= FINE {
            self.snd_cwnd_cents %= FINE;
            self.cwnd_cnt.clear();
        }
        // Growth too small for a 128th: Reno's.
        if growth == 0 && self.cwnd_cnt.get() >= grown as f64 {
            grown += 1;
            self.cwnd_cnt.clear();
        }
        grown
    }
}

impl Avoidance for Hybla {
    const STEERS: bool = true;
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        0.5
    }

    fn needs(&self, needs: Needs) -> Needs {
        Needs { states: true, ..needs }
    }

    fn established(&mut self, window: &mut Window, path: &PathView) {
        self.set_rho(eighths(path.srtt));
        window.cwnd = path.mss * (self.rho / EIGHTHS);
    }

    fn state(&mut self, state: CaState, _path: &PathView) {
        self.open = state == CaState::Open;
    }

    fn steer(&mut self, window: &mut Window, ack: &AckSample, path: &PathView) -> Steered {
        if !ack.may_raise {
            return Steered::Grow;
        }
        let srtt = eighths(path.srtt);
        if srtt < self.min_srtt {
            self.set_rho(srtt);
        }
        if ack.growth_barred || !self.open || ack.ecn.any() {
            return Steered::Grow;
        }
        let w = (window.cwnd / path.mss).max(1);
        let slow_start = window.in_slow_start();
        let growth = if slow_start { self.slow_start() } else { self.avoidance(w) };
        if !slow_start && growth < FINE {
            self.cwnd_cnt.save(1.0);
        }
        let grown = path.mss * (self.grown(w, growth).min(CLAMP).max(w) - w);
        let limit = if slow_start { window.ssthresh } else { Bytes::MAX };
        window.cwnd = (window.cwnd + grown).min(limit);
        Steered::Done
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    /// Reno's growth, in other states than Open.
    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let w = (cwnd / path.mss).max(1);
        cwnd + path.mss * self.cwnd_cnt.add(w as f64, segments(amount, path.mss) as f64)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("rho", self.rho as f64 / EIGHTHS as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 3.8: at 25 ms Reno's growth; at 50 ms 3 and 4 / W; at 100 ms 15 and 16 / W; at
    /// 600 ms rho is 24, and slow start goes by 2^16 - 1.
    #[test]
    fn growth_by_round_trip() {
        let w = 64;
        for (ms, slow_start, squared) in
            [(25, 1, 1), (50, 3, 4), (100, 15, 16), (600, (1 << 16) - 1, 576), (10, 1, 1)]
        {
            let mut hybla = Hybla::new(&HyblaParams::default());
            hybla.set_rho(eighths(Duration::from_millis(ms)));
            assert_eq!(hybla.slow_start(), slow_start * FINE, "{ms} ms");
            assert_eq!(hybla.avoidance(w), squared * FINE / w, "{ms} ms");
        }
    }

    /// The powers of two between whole ones, rounded to 128ths.
    #[test]
    fn the_powers_are_those_of_two() {
        for (k, power) in POWERS.into_iter().enumerate() {
            let exact = 128.0 * libm::exp2(k as f64 / 8.0);
            assert!((power as f64 - exact).abs() < 1.0, "{k}: {power}, not {exact}");
        }
    }

    fn at(srtt_ms: u64) -> PathView {
        PathView { srtt: Duration::from_millis(srtt_ms), ..PathView::of_segments(0, 0) }
    }

    fn started(srtt_ms: u64) -> Hybla {
        let mut hybla = Hybla::new(&HyblaParams::default());
        let mut window = Window { cwnd: Bytes::new(14_480), ssthresh: Bytes::MAX };
        hybla.established(&mut window, &at(srtt_ms));
        hybla
    }

    const ACK: AckSample = AckSample {
        acked: Bytes::new(1448),
        newly_delivered: Bytes::new(1448),
        may_raise: true,
        growth_barred: false,
        newly_lost: Bytes::ZERO,
        delivered: Bytes::ZERO,
        lost: Bytes::ZERO,
        prior_in_flight: Bytes::ZERO,
        next_departure: windtunnel_units::Time::ZERO,
        rtt: None,
        one_way: None,
        rate: None,
        ecn: crate::sample::EcnFeedback {
            ce: crate::sample::Marked { bytes: Bytes::ZERO, packets: 0 },
            sce: crate::sample::Marked { bytes: Bytes::ZERO, packets: 0 },
            ect1: crate::sample::Marked { bytes: Bytes::ZERO, packets: 0 },
        },
        app_limited: false,
        cwnd_limited: false,
        window_unused: false,
        max_flight: None,
        round_start: false,
    };

    /// Section 3.8: rho is computed anew when srtt reaches a new minimum, and does not rise again.
    #[test]
    fn rho_follows_the_least_srtt() {
        let mut hybla = started(100);
        for (srtt_ms, rho) in [(100, 32), (120, 32), (50, 16), (80, 16), (20, 8), (30, 8)] {
            let mut window = Window { cwnd: Bytes::new(1448) * 100, ssthresh: Bytes::new(1448) };
            hybla.steer(&mut window, &ACK, &at(srtt_ms));
            assert_eq!(hybla.rho, rho, "{srtt_ms} ms");
        }
    }

    /// Linux `hybla_cong_avoid`: in congestion avoidance an ACK that adds less than a segment counts as one of Reno's
    /// ACKs, which matter once rho^2 / W is below a 128th: with rho = 1 from W = 129 on, a window of ACKs adds a
    /// segment.
    #[test]
    fn large_windows_grow_as_renos() {
        let mss = Bytes::new(1448);
        // At 100 ms (rho = 4) 16 / W is a segment at 16 segments and more below.
        for (w, ssthresh, counted) in [(8, 1, 0.0), (16, 1, 0.0), (17, 1, 1.0), (100, 1, 1.0), (8, 100, 0.0)]
        {
            let mut hybla = started(100);
            let mut window = Window { cwnd: mss * w, ssthresh: mss * ssthresh };
            hybla.steer(&mut window, &ACK, &at(100));
            assert!((hybla.cwnd_cnt.get() - counted).abs() < 1e-9, "{w} segments, ssthresh {ssthresh}");
        }
        let mut hybla = started(25);
        let mut window = Window { cwnd: mss * 200, ssthresh: mss };
        let growths: Vec<u32> = (1..=500)
            .filter(|_| {
                let before = window.cwnd;
                hybla.steer(&mut window, &ACK, &at(25));
                window.cwnd > before
            })
            .collect();
        assert_eq!(growths, [200, 200 + 201]);
    }
}
