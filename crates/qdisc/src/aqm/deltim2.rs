//! DelTiM2: DelTiM on the standing queue, once per update interval.
//!
//! Source: "Multiplicative Decrease Scaling", DelTiM AQM; spec/mds section 4. Two changes to DelTiM
//! ([`super::deltim`]). The error is the *least* waiting time within the last burst, so that a burst that drains within
//! that time causes no error; it is a sliding minimum over the minima of update intervals. The control law runs once
//! per update interval instead of at every dequeue; an interval with idle time triggers the idle scaling instead. The
//! oscillators still advance at every dequeue.
//!
//! The update interval of 1 ms divides the default burst into five: fine enough for the sliding window,
//! coarse enough that several packets fall into one interval from about 50 Mbit/s on.

use std::collections::VecDeque;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Duration, OutOfRange, Time};

use super::delta_sigma::{DeltaSigma, SECOND, nanos};
use super::deltim::scale_for_idle;
use super::jitter::JitterEstimator;
use super::oscillators::DEFAULT_TAU;
use crate::aqm::{Aqm, LinkedOscillators, PacketView, QueueView, Verdict};
use crate::check;
use crate::params::{AqmInit, BuildAqm};

/// Burst, update interval and tau.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Multiplicative Decrease Scaling, DelTiM AQM",
    "x-title" = "DelTiM2",
    "x-traits" = ["marks"]
))]
pub struct Deltim2Params {
    /// The burst to tolerate: the window of the minimum waiting time, and of idle time.
    pub burst: Duration,
    /// How often the control law runs.
    pub update: Duration,
    /// The MD-scaling constant: how many SCE opportunities equal one CE opportunity. MDS flows must use the same value.
    pub tau: NonZeroU32,
}

impl Default for Deltim2Params {
    fn default() -> Deltim2Params {
        Deltim2Params { burst: Duration::from_millis(5), update: Duration::from_millis(1), tau: DEFAULT_TAU }
    }
}

impl Params for Deltim2Params {
    const NAME: &'static str = "deltim2";
    const SUMMARY: &'static str = "Delay Time Minimisation on the standing queue, updated at intervals";

    fn check(&self) -> Result<(), OutOfRange> {
        check::set_point("burst", self.burst)?;
        if self.update.is_zero() || self.update > self.burst {
            return Err(OutOfRange::new("update", self.update, "more than 0 s and at most the burst"));
        }
        Ok(())
    }
}

impl BuildAqm for Deltim2Params {
    type Aqm = Deltim2;

    const SCE_RAMP: bool = false;

    fn aqm(&self, _init: &AqmInit) -> Deltim2 {
        Deltim2::new(self)
    }
}

/// The least of the values seen within a window of time.
#[derive(Clone, Debug)]
struct SlidingMinimum {
    window: Duration,
    /// Values that no later one undercuts, with their times: both rise from front to back.
    candidates: VecDeque<(Time, i64)>,
}

impl SlidingMinimum {
    fn new(window: Duration) -> SlidingMinimum {
        SlidingMinimum { window, candidates: VecDeque::new() }
    }

    /// Adds `value` and returns the least within the window that ends now.
    fn add(&mut self, now: Time, value: i64) -> i64 {
        while self.candidates.back().is_some_and(|&(_, v)| v >= value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((now, value));
        while self.candidates.front().is_some_and(|&(t, _)| now.since(t) >= self.window) {
            self.candidates.pop_front();
        }
        self.candidates.front().map_or(value, |&(_, v)| v)
    }
}

/// The measurements of one update interval.
#[derive(Clone, Copy, Debug)]
struct Interval {
    start: Time,
    /// The time without a packet.
    idle: i64,
    /// The least waiting time of the next packet.
    least: i64,
}

impl Interval {
    const fn new(start: Time) -> Interval {
        Interval { start, idle: 0, least: i64::MAX }
    }
}

/// DelTiM2's variables.
#[derive(Clone, Debug)]
pub struct Deltim2 {
    burst: i64,
    update: Duration,
    control: DeltaSigma,
    oscillators: LinkedOscillators,
    jitter: JitterEstimator,
    least: SlidingMinimum,
    interval: Interval,
    last_dequeue: Time,
    /// How long the queue had been empty, until the first packet after that leaves.
    idle: i64,
}

impl Deltim2 {
    /// DelTiM2 with `params`.
    pub fn new(params: &Deltim2Params) -> Deltim2 {
        Deltim2 {
            burst: nanos(params.burst),
            update: params.update,
            control: DeltaSigma::new(params.burst, 0),
            oscillators: LinkedOscillators::new(params.tau),
            jitter: JitterEstimator::default(),
            least: SlidingMinimum::new(params.burst),
            interval: Interval::new(Time::ZERO),
            last_dequeue: Time::ZERO,
            idle: 0,
        }
    }

    /// Runs the control law on the interval that ends now.
    fn run(&mut self, now: Time) {
        let Interval { start, idle, least } = self.interval;
        let length = nanos(now.since(start));
        let error = self.least.add(now, least);
        if idle > 0 {
            self.control.acc = scale_for_idle(self.control.acc, idle, length - idle, self.burst);
        } else {
            self.control.advance(error, length.min(SECOND));
        }
        self.interval = Interval::new(now);
    }
}

impl Aqm for Deltim2 {
    #[inline]
    fn on_enqueue(&mut self, _packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets == 0 {
            self.idle = nanos(queue.now.since(self.last_dequeue));
            self.interval.idle += self.idle;
            self.jitter.restart(queue.now);
        }
        Verdict::Pass
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        let now = queue.now;
        let waiting = queue.head_waiting.map_or(0, |waiting| self.jitter.adjust(now, waiting));
        self.interval.least = self.interval.least.min(waiting);
        if now.since(self.interval.start) >= self.update {
            self.run(now);
        }
        let dt = nanos(now.since(self.last_dequeue));
        let verdicts = self.oscillators.advance(self.control.phase(dt - self.idle));
        self.control.relent(verdicts.overruns);
        self.idle = 0;
        self.last_dequeue = now;
        verdicts.of(packet.class)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("acc", self.control.acc as f64);
        self.oscillators.probe(out);
    }
}
