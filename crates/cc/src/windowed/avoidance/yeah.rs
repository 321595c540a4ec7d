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
//! After more than 50 fast rounds nobody else is there, and the count starts anew.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;

use super::module::{InSegments, Module, Segments, additive, half};
use super::round_trips::RoundTrips;
use crate::controller::CongestionControl;
use crate::sample::{AckSample, Delivery, PathView};
use crate::state::CaState;
use crate::windowed::avoidance::AvoidanceParams;
use crate::windowed::config::Composition;
use crate::windowed::credit::Credit;

/// Parameters of YeAH: none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Baiocchi, Castellani, Vacirca 2007"))]
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
const FAST_PRICE: u64 = 100;
/// The least part of the window that a loss takes (1 / 2^delta).
const LEAST_CUT: u64 = 8;

/// YeAH.
#[derive(Clone, Debug)]
struct Yeah {
    times: RoundTrips,
    /// Packets queued, in the last round.
    queued: u64,
    /// Rounds in slow mode since the last fast one.
    slow_rounds: u32,
    fast_rounds: u32,
    /// The window that Reno would have beside it.
    reno_count: u64,
}

impl Yeah {
    const fn new() -> Yeah {
        Yeah { times: RoundTrips::new(), queued: 0, slow_rounds: 0, fast_rounds: 0, reno_count: 2 }
    }

    fn end_round(&mut self, window: &mut Segments) {
        let (base, rtt) = (self.times.base_us(), self.times.least_us());
        self.queued = window.w * (rtt - base) / rtt;
        if self.queued <= QUEUED && rtt - base <= base / DELAY {
            self.fast_rounds += 1;
            if self.fast_rounds > FAST_ROUNDS {
                (self.reno_count, self.fast_rounds) = (2, 0);
            }
            self.slow_rounds = 0;
            return;
        }
        if self.queued > QUEUED && window.w > self.reno_count {
            window.w = (window.w - self.queued.min(window.w / 2)).max(self.reno_count);
            window.ssthresh = window.w;
        }
        self.reno_count = if self.reno_count <= 2 { half(window.w) } else { self.reno_count + 1 };
        self.slow_rounds += 1;
    }
}

impl Module for Yeah {
    fn established(&mut self, _window: &mut Segments, path: &PathView) {
        self.times.forget(path);
    }

    fn delivered(&mut self, delivery: &Delivery, _w: u64, _path: &PathView) {
        if let Some(rtt) = delivery.rtt {
            self.times.sample(rtt);
        }
    }

    fn grow(&mut self, w: u64, n: u64, credit: &mut Credit) -> u64 {
        let price = if self.slow_rounds == 0 { w.min(FAST_PRICE) } else { w };
        additive(w, price, n, credit)
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
        let cut = if self.slow_rounds < SLOW_ROUNDS {
            self.queued.min(half(w)).max(w / LEAST_CUT)
        } else {
            half(w)
        };
        self.fast_rounds = 0;
        self.reno_count = half(self.reno_count);
        w.saturating_sub(cut).max(2)
    }

    fn state(&mut self, state: CaState, path: &PathView) {
        if state == CaState::Open {
            self.times.start_round(path);
        }
    }

    fn restarted(&mut self, path: &PathView) {
        self.times.forget(path);
    }

    fn idled(&mut self, path: &PathView) {
        self.times.forget(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("queued_packets", self.queued as f64);
        out("slow_rounds", f64::from(self.slow_rounds));
        out("reno_count_segments", self.reno_count as f64);
        out("base_rtt_s", self.times.base_s());
    }
}
