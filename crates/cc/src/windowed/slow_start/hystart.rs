//! `HyStart`: slow start that notices when it fills the path.
//!
//! Ha and Rhee, "Taming the elephants: New TCP slow start" (2011), in the form used by Linux's CUBIC
//! (spec/congestion-control section 2.2). From 16 segments on, two signs end it:
//!
//! - an *ACK train*: ACKs less than 2 ms apart that together last half of the minimum round trip. The window then takes
//!   a one-way delay to pass the bottleneck, and doubling it fills the path. A paced sender spreads its own ACKs, so
//!   only a train of a whole round trip is meaningful;
//! - *delay*: the minimum of at least 8 samples in a round exceeds the minimum ever by an eighth, but by no less than 4
//!   ms (below is noise) and no more than 16 ms (above is a queue).
//!
//! ssthresh is then set to cwnd; nothing is given up. As in Linux, both signs work again after a timeout, which forgets
//! everything about the path, but not after they ended a slow start. The required train length includes half of the
//! time for which a sender may hold segments back to send them in bursts: four bursts at the pacing rate, at most a
//! millisecond.

use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::{Exit, ExitResponse, Regrowth, SlowStart, SlowStartParams, SlowStartVerdict};
use crate::check;
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

/// The number of bursts that a sender may have held back.
const BURSTS: u64 = 4;
/// The pacing rate below half of ssthresh, in windows per round trip.
const PACED_WINDOWS: u64 = 2;
/// The longest time that segments are held back.
const HELD_BACK: Duration = Duration::from_millis(1);

/// Parameters of `HyStart`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Ha, Rhee 2011; Linux", "x-title" = "HyStart"))]
pub struct HystartParams {
    /// Whether a train of ACKs ends slow start.
    pub ack_train: bool,
    /// Whether a rise of the delay ends slow start.
    pub delay: bool,
    /// Delay must rise by the minimum round trip divided by this (paper: 16).
    #[schemars(range(min = 1))]
    pub delay_divisor: u32,
    /// The minimum rise of delay that counts (paper: 2 ms).
    pub delay_min: Duration,
    /// The maximum rise of delay that is required.
    pub delay_max: Duration,
    /// The samples that a round needs before its delay counts.
    pub min_samples: u32,
    /// The longest gap between two ACKs of one train.
    pub ack_spacing: Duration,
    /// The largest burst of the sender; the required train is longer by the time that bursts may take (paper: zero).
    pub burst: Bytes,
    /// The cwnd below which both signs are ignored.
    #[schemars(extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub low_window: u32,
    /// How many SCE end slow start; half of tau by default.
    pub exit_sce: Option<u32>,
    /// What slow start does to cwnd when a signal ends it.
    pub exit: ExitResponse,
    /// The pacing gain of departures.
    #[schemars(range(min = 0.0))]
    pub pacing_gain: f64,
}

impl Default for HystartParams {
    fn default() -> HystartParams {
        HystartParams {
            ack_train: true,
            delay: true,
            delay_divisor: 8,
            delay_min: Duration::from_millis(4),
            delay_max: Duration::from_millis(16),
            min_samples: 8,
            ack_spacing: Duration::from_millis(2),
            burst: Bytes::new(65_536),
            low_window: 16,
            exit_sce: None,
            exit: ExitResponse::Md,
            pacing_gain: 1.0,
        }
    }
}

impl Params for HystartParams {
    const NAME: &'static str = "hystart";
    const SUMMARY: &'static str =
        "HyStart: ends when the round trip grows, or when a train of ACKs is as long as the path";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, value) in [("delay_divisor", self.delay_divisor), ("exit_sce", self.exit_sce.unwrap_or(1))]
        {
            if value == 0 {
                return Err(OutOfRange::new(key, value, "1 or more"));
            }
        }
        if self.delay_min > self.delay_max {
            return Err(OutOfRange::new("delay_min", self.delay_min, "at most delay_max"));
        }
        check::positive("pacing_gain", self.pacing_gain)
    }
}

impl SlowStartParams for HystartParams {
    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Hystart::new(self.clone(), tau.get(), flow.paced))
    }
}

impl HystartParams {
    /// Returns the paper's constants.
    pub fn paper() -> HystartParams {
        HystartParams {
            delay_divisor: 16,
            delay_min: Duration::from_millis(2),
            burst: Bytes::ZERO,
            ..HystartParams::default()
        }
    }

    /// Returns by how much a round's minimum sample must exceed the minimum ever.
    fn rise(&self, least: Duration) -> Duration {
        (least / u64::from(self.delay_divisor)).clamp(self.delay_min, self.delay_max)
    }

    /// Returns the length of the ACK train that shows that the path is full.
    fn train(&self, least: Duration, cwnd: Bytes, srtt: Duration, paced: bool) -> Duration {
        let per_srtt = u128::from(cwnd.get()) * u128::from(PACED_WINDOWS);
        let bursts = u128::from(self.burst.get()) * u128::from(BURSTS) * u128::from(srtt.as_nanos());
        let held_back = (bursts / per_srtt.max(1)).min(u128::from(HELD_BACK.as_nanos()));
        let whole = least + Duration::from_nanos(held_back as u64);
        if paced { whole } else { whole / 2 }
    }
}

/// `HyStart`.
#[derive(Clone, Debug)]
pub(crate) struct Hystart {
    params: HystartParams,
    paced: bool,
    exit_sce: u32,
    exit: Exit,
    /// The number of SCE so far.
    sce: u32,
    /// HyStart has ended a slow start.
    ended: bool,
    /// The minimum round trip.
    least: Option<Duration>,
    round: Round,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    /// The round ends with an ACK beyond this.
    end: Seq,
    start: Time,
    /// The last ACK of the train.
    last_ack: Time,
    least: Duration,
    samples: u32,
}

impl Round {
    /// Starts a round that covers the data in flight now.
    const fn new(now: Time, end: Seq) -> Round {
        Round { end, start: now, last_ack: now, least: Duration::MAX, samples: 0 }
    }
}

impl Hystart {
    /// Creates the `HyStart` of a flow in which tau SCE equal one CE.
    pub(crate) fn new(params: HystartParams, tau: u32, paced: bool) -> Hystart {
        let exit_sce = params.exit_sce.unwrap_or(tau / 2).max(1);
        let exit = Exit::new(params.exit);
        let round = Round::new(Time::ZERO, Seq::SYN);
        Hystart { params, paced, exit_sce, exit, sce: 0, ended: false, least: None, round }
    }

    /// Takes a sample; returns the sign that it shows.
    fn sample(&mut self, rtt: Duration, cwnd: Bytes, path: &PathView) -> Option<ExitReason> {
        let least = self.least.map_or(rtt, |least| least.min(rtt));
        self.least = Some(least);
        if path.una > self.round.end {
            self.round = Round::new(path.now, path.nxt);
        }
        if cwnd < path.mss * u64::from(self.params.low_window) {
            return None;
        }
        let train = self.lengthens_train(least, cwnd, path);
        let delayed = self.delays(rtt, least);
        let reason = match (train, delayed) {
            (true, _) => ExitReason::AckTrain,
            (false, true) => ExitReason::Delay,
            (false, false) => return None,
        };
        self.ended = true;
        Some(reason)
    }

    fn lengthens_train(&mut self, least: Duration, cwnd: Bytes, path: &PathView) -> bool {
        let round = &mut self.round;
        if !self.params.ack_train || path.now.since(round.last_ack) > self.params.ack_spacing {
            return false;
        }
        round.last_ack = path.now;
        path.now.since(round.start) > self.params.train(least, cwnd, path.srtt, self.paced)
    }

    fn delays(&mut self, rtt: Duration, least: Duration) -> bool {
        let round = &mut self.round;
        if !self.params.delay {
            return false;
        }
        round.least = round.least.min(rtt);
        if round.samples < self.params.min_samples {
            round.samples += 1;
            return false;
        }
        round.least > least + self.params.rise(least)
    }
}

impl SlowStart for Hystart {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Exit(ExitReason::Ce)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        self.exit.observe(path);
        self.sce = self.sce.saturating_add(ack.ecn.sce.packets);
        if self.sce >= self.exit_sce {
            return SlowStartVerdict::Exit(ExitReason::Sce);
        }
        if let Some(reason) = ack.rtt.and_then(|rtt| self.sample(rtt, *cwnd, path)) {
            return SlowStartVerdict::Leave(reason);
        }
        *cwnd += ack.growth(ack.newly_delivered);
        SlowStartVerdict::Stay
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.exit.cwnd(cwnd, rtt, path)
    }

    fn exits_by_md(&self) -> bool {
        self.exit.is_md()
    }

    fn regrow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        let leaves = match ack.rtt {
            Some(rtt) if !self.ended => self.sample(rtt, cwnd, path).is_some(),
            _ => false,
        };
        if leaves { Regrowth::Leave } else { Regrowth::By(ack.growth(ack.newly_delivered)) }
    }

    fn timed_out(&mut self, path: &PathView) {
        self.ended = false;
        self.least = None;
        self.round = Round::new(path.now, path.nxt);
    }

    fn pacing_gain(&self) -> f64 {
        self.params.pacing_gain
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |time: Option<Duration>| time.map_or(f64::NAN, Duration::as_secs_f64);
        let sampled = (self.round.samples > 0).then_some(self.round.least);
        out("least_rtt_s", seconds(self.least));
        out("round_least_rtt_s", seconds(sampled));
        out("round_samples", f64::from(self.round.samples));
        out("slow_start_sce", f64::from(self.sce));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// spec/congestion-control section 2.2: with minimum round trips of 40, 20 and 200 ms, delay must exceed 45, 24 and
    /// 216 ms; the paper's sixteenth is 42.5, 22 and 212.5 ms.
    #[test]
    fn the_delay_threshold_is_a_fraction_within_bounds() {
        let linux = HystartParams::default();
        let paper = HystartParams::paper();
        for (least, rise, in_paper) in [(40, 5000, 2500), (20, 4000, 2000), (200, 16_000, 12_500)] {
            assert_eq!(linux.rise(MS(least)), Duration::from_micros(rise));
            assert_eq!(paper.rise(MS(least)), Duration::from_micros(in_paper));
        }
    }

    /// spec/congestion-control section 2.2: half of the round trip and of the time for four bursts, a millisecond at
    /// most; all of the round trip if paced. At 320 segments of 1448 bytes per 10 ms, and a pacing rate of twice that,
    /// four bursts of 64 KiB take 262144 / 926720 of 10 ms: more than a millisecond; at 10 times that rate a tenth of
    /// 2.83 ms.
    #[test]
    fn the_train_is_half_a_round_trip() {
        let linux = HystartParams::default();
        let train = |segments, srtt, paced| linux.train(MS(40), Bytes::new(1448) * segments, srtt, paced);
        assert_eq!(train(320, MS(10), false), Duration::from_micros(20_500));
        assert_eq!(train(320, MS(10), true), MS(41));
        assert_eq!(
            train(3200, MS(10), true),
            MS(40) + Duration::from_nanos(262_144 * 10_000_000 / 9_267_200)
        );
        assert_eq!(train(320, Duration::ZERO, false), MS(20), "no pacing rate");
        let paper = HystartParams::paper();
        assert_eq!(paper.train(MS(40), Bytes::new(1448) * 320, MS(10), false), MS(20));
    }
}
