//! Rapid Start: slow start that trebles cwnd per round trip until a queue builds up.
//!
//! draft-kazuho-ccwg-rapid-start, editor's copy 00e5ea1 (after -02). While the least round trip of the present round is
//! within `min(min_rtt + 4 ms, 1.1 min_rtt)`, each byte acknowledged grows cwnd by two; beyond, by one as in standard
//! slow start. The first flight is paced over one round trip, so that with twice the usual initial window (the
//! scenario's `iw`) it is no burst; from the first ACK on departures are paced at twice cwnd per round trip, which
//! carries the growth. The first loss or CE starts a [recovery](ByArrivals) that takes cwnd back by what arrives. Later slow
//! starts are standard.
//!
//! CUBIC is told of twice what path and queue hold, as the draft asks for where flows compete: with what they hold
//! alone, it would grow more slowly than after a slow start that overshot by two (`peak`).
//!
//! `variant = "quicly"` has that implementation's (h2o/quicly b11d363) tolerance, which is the larger of 4 ms and 3/32 of
//! the least round trip, no trebling where that is below 4 ms, and a floor of half the initial window. Its round is a
//! sliding window of four slots, which is not done here: both texts leave the window open.

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Seq};

use super::recovery::ByArrivals;
use super::standard::Standard;
use super::{
    ExitResponse, Recovery, Regrowth, SlowStart, SlowStartGrowth, SlowStartParams, SlowStartVerdict,
    StandardParams,
};
use crate::Style;
use crate::check;
use crate::sample::{AckSample, FlowInit, PathView};

/// The additive part of the tolerance, and the least round trip with which quicly trebles.
const TOLERANCE: Duration = Duration::from_millis(4);

/// Whose tolerance a rise of the round trip has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RapidVariant {
    /// The draft's: the lesser of 4 ms and a tenth.
    #[default]
    Draft,
    /// That of quicly: the larger of 4 ms and 3/32, and none below 4 ms.
    Quicly,
}

/// Parameters of Rapid Start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "draft-kazuho-ccwg-rapid-start-02, editor's copy 00e5ea1", "x-title" = "Rapid Start"))]
pub struct RapidParams {
    /// Whose tolerance decides where a queue builds up.
    pub variant: RapidVariant,
    /// What growth takes for the window before the response (CUBIC's `W_max`), as a multiple of what path and queue hold: 2
    /// where flows compete, 1 without fast convergence.
    #[schemars(range(min = 1.0))]
    pub peak: f64,
    /// The pacing gain of departures after the first flight, which is paced over one round trip.
    #[schemars(range(min = 1.0))]
    pub pacing_gain: f64,
    /// Half of the growth by an ACK without a queue; by default what it acknowledges, counted as the endpoints do.
    pub growth: Option<SlowStartGrowth>,
}

impl Default for RapidParams {
    fn default() -> RapidParams {
        RapidParams { variant: RapidVariant::Draft, peak: 2.0, pacing_gain: 2.0, growth: None }
    }
}

impl Params for RapidParams {
    const NAME: &'static str = "rapid";
    const SUMMARY: &'static str =
        "Rapid Start: cwnd trebles each round trip until a queue builds up, and is found in recovery";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, value) in [("peak", self.peak), ("pacing_gain", self.pacing_gain)] {
            check::positive(key, value)?;
            if value < 1.0 {
                return Err(OutOfRange::new(key, value, "1 or more"));
            }
        }
        Ok(())
    }
}

impl SlowStartParams for RapidParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let growth = self.standard().of_style(style).growth;
        Some(Arc::new(RapidParams { growth, ..self.clone() }))
    }

    /// The first flight leaves over a round trip.
    fn paces(&self) -> bool {
        true
    }

    fn paces_first(&self) -> bool {
        true
    }

    fn hears_losses(&self) -> bool {
        true
    }

    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Rapid {
            standard: Standard::new(self.standard(), tau.get()),
            params: self.clone(),
            iw: flow.iw,
            min_cwnd: flow.min_cwnd,
            round_end: Seq::SYN,
            floor: None,
            trebles: true,
        })
    }
}

impl RapidParams {
    /// Returns the slow start to which the growth without a queue is added. CE is answered as in congestion avoidance,
    /// so by the recovery.
    fn standard(&self) -> StandardParams {
        StandardParams { growth: self.growth, exit: Some(ExitResponse::Md), ..StandardParams::default() }
    }

    /// Returns the round trip up to which there is no queue (`queue_buildup_thresh`), or `None` if cwnd never trebles.
    fn threshold(&self, min_rtt: Duration) -> Option<Duration> {
        match self.variant {
            RapidVariant::Draft => Some(min_rtt + TOLERANCE.min(min_rtt / 10)),
            RapidVariant::Quicly => (min_rtt >= TOLERANCE).then(|| min_rtt + TOLERANCE.max(min_rtt * 3 / 32)),
        }
    }
}

/// Rapid Start.
#[derive(Clone, Debug)]
struct Rapid {
    params: RapidParams,
    standard: Standard,
    iw: Bytes,
    min_cwnd: Bytes,
    /// The sequence number whose acknowledgement ends the round; SYN before the first ACK.
    round_end: Seq,
    /// The least round trip of the present round (`rtt_floor`), or of the last until this one has a sample.
    floor: Option<Duration>,
    /// Whether the last ACK showed no queue.
    trebles: bool,
}

impl Rapid {
    /// Takes the round trip of an ACK, which may be the first of a round.
    fn sample(&mut self, rtt: Option<Duration>, path: &PathView) {
        let starts = path.una > self.round_end;
        if starts {
            self.round_end = path.nxt;
        }
        if let Some(rtt) = rtt {
            self.floor = Some(self.floor.filter(|_| !starts).map_or(rtt, |floor| floor.min(rtt)));
        }
        let threshold = self.params.threshold(path.min_rtt);
        self.trebles = self.floor.zip(threshold).is_some_and(|(floor, threshold)| floor <= threshold);
    }
}

impl SlowStart for Rapid {
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict {
        self.standard.on_ce(cwnd, rtt, path)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        self.sample(ack.rtt, path);
        let before = *cwnd;
        let verdict = self.standard.on_ack(cwnd, ack, path);
        if self.trebles {
            *cwnd += *cwnd - before;
        }
        verdict
    }

    fn recovery(&self, cwnd: Bytes, kept: f64, path: &PathView) -> Option<Box<dyn Recovery>> {
        let of_iw = match self.params.variant {
            RapidVariant::Draft => kept,
            RapidVariant::Quicly => 0.5,
        };
        let least = self.iw.scale(of_iw).max(self.min_cwnd);
        Some(Box::new(ByArrivals::new(cwnd, kept, least, self.params.peak, path)))
    }

    fn exits_by_md(&self) -> bool {
        self.standard.exits_by_md()
    }

    fn regrow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        self.standard.regrow(cwnd, ack, path)
    }

    fn timed_out(&mut self, path: &PathView) {
        self.standard.timed_out(path);
    }

    fn limit(&self, window: Bytes) -> Bytes {
        let growth = self.standard.limit(window) - window;
        window + if self.trebles { growth * 2 } else { growth }
    }

    fn pacing_gain(&self) -> f64 {
        if self.round_end == Seq::SYN { 1.0 } else { self.params.pacing_gain }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.standard.probe(out);
        out("rtt_floor_s", self.floor.map_or(f64::NAN, Duration::as_secs_f64));
        out("rapid_growth", if self.trebles { 3.0 } else { 2.0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/ccwg-2026 section F.1: 22 ms at 20 ms, 104 at 100. quicly takes the larger part of both, and trebles from 4
    /// ms on only.
    #[test]
    fn the_tolerance_of_a_rise() {
        let draft = RapidParams::default();
        let quicly = RapidParams { variant: RapidVariant::Quicly, ..RapidParams::default() };
        let us = Duration::from_micros;
        for (ms, draft_us, quicly_us) in [
            (2_000, 2_200, None),
            (4_000, 4_400, Some(8_000)),
            (20_000, 22_000, Some(24_000)),
            (40_000, 44_000, Some(44_000)),
            (100_000, 104_000, Some(109_375)),
        ] {
            assert_eq!(draft.threshold(us(ms)), Some(us(draft_us)));
            assert_eq!(quicly.threshold(us(ms)), quicly_us.map(us), "{ms} us");
        }
    }
}
