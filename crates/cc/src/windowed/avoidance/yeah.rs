//! YeAH: Scalable growth while the queue is small, Reno's otherwise.
//!
//! Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP" (2007); Linux `net/ipv4/tcp_yeah.c`;
//! spec/congestion-control section 3.14. Once per round trip, Vegas' estimate of the packets queued, Q, decides the mode:
//!
//! - fast, with Scalable's growth, while Q is at most 80 and the queue's delay at most an eighth of the base;
//! - slow, with Reno's growth, otherwise. If Q exceeds 80, the window also gives up Q, at most its half: the flow empties
//!   what it filled before a loss does.
//!
//! A flow of Reno on the same path would take what an emptied queue leaves. YeAH therefore keeps a count of its window
//! that Reno would have (`reno_count`), below which it does not empty the queue, and after 16 rounds in slow mode takes it
//! that others fill the queue: a loss then takes a half. Before, a loss takes Q, between an eighth and a half.
//! After more than 50 fast rounds no other flow is there, and the count starts anew.

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::module::{InSegments, Module, Segments, cong_avoid_ai, half};
use super::round_trips::RoundTrips;
use crate::controller::CongestionControl;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;
use crate::windowed::cwnd_cnt::CwndCnt;

/// Parameters of YeAH: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Baiocchi, Castellani, Vacirca 2007", "x-title" = "YeAH"))]
pub struct YeahParams {}

impl Params for YeahParams {
    const NAME: &'static str = "yeah";
    const SUMMARY: &'static str = "Scalable growth while the queue is small, Reno's otherwise";
}

impl AvoidanceParams for YeahParams {
    fn build(&self, composition: Composition) -> Box<dyn CongestionControl> {
        composition.with(InSegments::new(Yeah::new()))
    }
}

/// The most packets queued in fast mode (alpha).
const QUEUED: u64 = 80;
/// The queue's delay in fast mode is at most this part of the base (1 / phi).
const DELAY: u64 = 8;
/// Slow rounds that show other flows (rho).
const SLOW_ROUNDS: u32 = 16;
/// Fast rounds after which no other flow is there (zeta).
const FAST_ROUNDS: u32 = 50;
/// Segments delivered for a segment of growth in fast mode, at most: Scalable's 1 / a.
const SCALABLE_AI_CNT: u64 = 100;
/// The least part of the window that a loss takes (1 / 2^delta).
const LEAST_CUT: u64 = 8;

/// YeAH.
#[derive(Clone, Debug)]
struct Yeah {
    times: RoundTrips,
    /// Packets queued, in the last round.
    last_q: u64,
    /// Rounds in slow mode since the last fast one.
    doing_reno_now: u32,
    fast_count: u32,
    /// The window that Reno would have.
    reno_count: u64,
}

impl Yeah {
    const fn new() -> Yeah {
        Yeah { times: RoundTrips::new(), last_q: 0, doing_reno_now: 0, fast_count: 0, reno_count: 2 }
    }

    fn end_round(&mut self, window: &mut Segments) {
        let (base, rtt) = (self.times.base_us(), self.times.least_us());
        self.last_q = window.w * (rtt - base) / rtt;
        if self.last_q <= QUEUED && rtt - base <= base / DELAY {
            self.fast_count += 1;
            if self.fast_count > FAST_ROUNDS {
                (self.reno_count, self.fast_count) = (2, 0);
            }
            self.doing_reno_now = 0;
            return;
        }
        if self.last_q > QUEUED && window.w > self.reno_count {
            window.w = (window.w - self.last_q.min(window.w / 2)).max(self.reno_count);
            window.ssthresh = window.w;
        }
        self.reno_count = if self.reno_count <= 2 { half(window.w) } else { self.reno_count + 1 };
        self.doing_reno_now += 1;
    }
}

impl Module for Yeah {
    fn init(&mut self, _window: &mut Segments, path: &PathView) {
        self.times.forget(path);
    }

    fn pkts_acked(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.times.sample(rtt);
        }
    }

    fn cong_avoid(&mut self, w: u64, n: u64, cwnd_cnt: &mut CwndCnt) -> u64 {
        let cnt = if self.doing_reno_now == 0 { w.min(SCALABLE_AI_CNT) } else { w };
        cong_avoid_ai(w, cnt, n, cwnd_cnt)
    }

    fn settled(&mut self, window: &mut Segments, ack: &AckSample, path: &PathView) {
        if ack.growth_barred || !self.times.ends_round(path) {
            return;
        }
        if self.times.suffice() {
            self.end_round(window);
        }
        self.times.start_round(path);
    }

    fn ssthresh(&mut self, w: u64, _path: &PathView) -> u64 {
        let cut = if self.doing_reno_now < SLOW_ROUNDS {
            self.last_q.min(half(w)).max(w / LEAST_CUT)
        } else {
            half(w)
        };
        self.fast_count = 0;
        self.reno_count = half(self.reno_count);
        w.saturating_sub(cut).max(2)
    }

    fn set_state(&mut self, state: CaState, path: &PathView) {
        if state == CaState::Open {
            self.times.start_round(path);
        }
    }

    fn cwnd_restart(&mut self, path: &PathView) {
        self.times.forget(path);
    }

    fn tx_start(&mut self, path: &PathView) {
        self.times.forget(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("queued_packets", self.last_q as f64);
        out("slow_rounds", f64::from(self.doing_reno_now));
        out("reno_count_segments", self.reno_count as f64);
        out("base_rtt_s", self.times.base_s());
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Duration;

    use super::*;

    fn path() -> PathView {
        PathView::of_segments(0, 0)
    }

    /// After a round trip of `rtt_us` on a path of 100 ms. Measured round trips count with a microsecond more.
    fn yeah(rtt_us: u64) -> Yeah {
        let mut yeah = Yeah::new();
        yeah.times.sample(Duration::from_micros(99_999));
        yeah.times.start_round(&path());
        for _ in 0..3 {
            yeah.times.sample(Duration::from_micros(rtt_us - 1));
        }
        yeah
    }

    /// spec/congestion-control section 3.14, `Q = W (r - base) / r`: fast mode with up to 80 packets and up to an
    /// eighth of the base. In slow mode more than 80 are given up, at most a half of the window, and not below Reno's
    /// count, which becomes half of the window at first and grows by one later.
    #[test]
    fn rounds_are_fast_or_slow() {
        for (w, rtt_us, reno, queued, left, reno_left, slow) in [
            (800, 110_000, 2, 72, 800, 2, 0),
            (880, 110_000, 2, 80, 880, 2, 0),
            (100, 112_500, 2, 11, 100, 2, 0),
            (100, 112_600, 2, 11, 100, 50, 1),
            (480, 120_000, 2, 80, 480, 240, 1),
            (100, 120_000, 50, 16, 100, 51, 1),
            (100, 120_000, 3, 16, 100, 4, 1),
            (891, 110_000, 2, 81, 810, 405, 1),
            (800, 300_000, 2, 533, 400, 200, 1),
            (891, 110_000, 850, 81, 850, 851, 1),
            (891, 110_000, 891, 81, 891, 892, 1),
        ] {
            let mut yeah = yeah(rtt_us);
            yeah.reno_count = reno;
            let mut window = Segments { w, ssthresh: 700 };
            yeah.end_round(&mut window);
            let case = format!("{w} segments at {rtt_us} us, Reno's {reno}");
            assert_eq!(
                (yeah.last_q, window.w, yeah.reno_count, yeah.doing_reno_now),
                (queued, left, reno_left, slow),
                "{case}"
            );
            assert_eq!(window.ssthresh, if left < w { left } else { 700 }, "{case}");
            assert_eq!(yeah.fast_count, 1 - slow, "{case}");
        }
    }

    /// Section 3.14: the slow rounds count up to a fast one; after more than 50 fast ones Reno's count starts anew.
    #[test]
    fn fast_rounds_forget_reno() {
        let mut window = Segments { w: 100, ssthresh: 50 };
        let mut slow = yeah(120_000);
        for rounds in 1..=3 {
            slow.end_round(&mut window);
            assert_eq!((slow.doing_reno_now, slow.reno_count), (rounds, 49 + u64::from(rounds)));
        }
        let mut fast = Yeah { doing_reno_now: 3, reno_count: 60, ..yeah(100_000) };
        for rounds in 1..=50 {
            fast.end_round(&mut window);
            assert_eq!((fast.fast_count, fast.doing_reno_now, fast.reno_count), (rounds, 0, 60));
        }
        fast.end_round(&mut window);
        assert_eq!((fast.fast_count, fast.reno_count), (0, 2));
    }

    /// Section 3.14: W = 800. Up to 15 slow rounds a loss takes Q, between an eighth and a half; from 16 on a half.
    /// It halves Reno's count.
    #[test]
    fn a_loss_takes_the_queue_until_others_fill_it() {
        for (queued, doing_reno_now, left) in
            [(20, 3, 700), (300, 3, 500), (500, 3, 400), (300, 15, 500), (300, 16, 400), (20, 17, 400)]
        {
            let mut yeah =
                Yeah { last_q: queued, doing_reno_now, fast_count: 7, reno_count: 101, ..Yeah::new() };
            assert_eq!(yeah.ssthresh(800, &path()), left, "{queued} packets, {doing_reno_now} rounds");
            assert_eq!((yeah.fast_count, yeah.reno_count), (0, 50));
        }
    }

    /// As Vegas (section 3.9): the round starts anew when the state is Open again; idle time and a restart forget the
    /// base.
    #[test]
    fn states_and_silence_start_the_round_anew() {
        for (state, samples) in [(CaState::Disorder, true), (CaState::Recovery, true), (CaState::Open, false)]
        {
            let mut yeah = yeah(110_000);
            yeah.set_state(state, &path());
            assert_eq!((yeah.times.suffice(), yeah.times.base_us()), (samples, 100_000), "{state:?}");
        }
        for forget in [Yeah::cwnd_restart, Yeah::tx_start] {
            let mut yeah = yeah(110_000);
            forget(&mut yeah, &path());
            assert!(!yeah.times.suffice() && yeah.times.base_us() > 1_000_000_000);
        }
    }

    /// A round ends with the first ACK beyond what was sent at its start, if growth is not barred; the first one is
    /// that of the first window.
    #[test]
    fn the_first_round_is_whole() {
        let ack = AckSample::default();
        let beyond = |segments| PathView::of_segments(segments, segments).una;
        let sent = PathView { nxt: beyond(10), ..path() };
        for (una, barred, fast_count) in [(9, false, 0), (10, false, 0), (11, true, 0), (11, false, 1)] {
            let mut yeah = Yeah::new();
            let mut window = Segments { w: 10, ssthresh: 5 };
            yeah.init(&mut window, &sent);
            for _ in 0..3 {
                yeah.times.sample(Duration::from_millis(100));
            }
            let ack = AckSample { growth_barred: barred, ..ack };
            yeah.settled(&mut window, &ack, &PathView { una: beyond(una), ..sent });
            assert_eq!(yeah.fast_count, fast_count, "{una}");
        }
    }
}
