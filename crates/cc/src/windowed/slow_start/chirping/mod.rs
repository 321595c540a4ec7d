//! Paced chirping: the capacity is found by chirps, whose segments leave ever faster, and by the queue that each builds.
//!
//! Misund and Briscoe, "Paced Chirping: Rethinking TCP start-up" (2019), and their research module; spec/congestion-control
//! section 2.5. The gaps of a chirp start at `geometry` times the time that the bottleneck is thought to take for a segment and
//! shrink to almost nothing. Where the round trips start to grow, the gap is the bottleneck's; the queue of a chirp drains in the
//! guard interval after it. Each round has `gain` times as many chirps as the one before. When they fill a round trip, a round
//! trip's worth of segments leaves at the rate that was found, and congestion avoidance takes over at what is then in flight.
//!
//! A pause of the application is no gap of a chirp, and a round that it interrupts fills no round trip. The first segment after
//! one starts with the short chirps again, at the gap that is known by then.
//!
//! The module's values: a first guess of 200 us (60 Mbit/s), a gain of 2 as in slow start, a geometry of 2, which makes the mean
//! gap of a chirp about the guess. The first chirps are short, so that they fit into the initial window.

mod chirp;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Rate, Time};

use self::chirp::{Chirp, Geometry, MOST};
use super::{SlowStart, SlowStartParams, SlowStartVerdict};
use crate::control::{ExitReason, Pacing};
use crate::sample::{AckSample, FlowInit, PathView, SentSegment};

/// The number of chirps in the first rounds.
const FIRST_ROUND: u32 = 2;
/// From this chirp on, rounds grow.
const GROWS_FROM: u64 = 6;
/// The least window, in segments, while the rate that was found is used for the first time.
const LEAST_WINDOW: u64 = 10;

/// A segment is late if it leaves this part of a round trip after its time: gaps are rounded, and the round trip varies.
const PATIENCE: u64 = 8;

/// Parameters of paced chirping.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Misund and Briscoe, Paced Chirping: Rethinking TCP start-up, 2019",
    "x-title" = "Paced Chirping"
))]
pub struct PacedChirpingParams {
    /// The first guess of the time that the bottleneck takes for a segment.
    pub gap: Duration,
    /// The factor by which the number of chirps grows in a round.
    #[schemars(range(min = 1.0, max = 10.0))]
    pub gain: f64,
    /// The ratio of a chirp's first gap to the mean one.
    #[schemars(range(min = 1.0, max = 3.0))]
    pub geometry: f64,
}

impl Default for PacedChirpingParams {
    fn default() -> PacedChirpingParams {
        PacedChirpingParams { gap: Duration::from_micros(200), gain: 2.0, geometry: 2.0 }
    }
}

impl Params for PacedChirpingParams {
    const NAME: &'static str = "paced-chirping";
    const SUMMARY: &'static str =
        "Paced chirping: the rate from the queue that trains of shrinking gaps build";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.gap.is_zero() || self.gap > Duration::SECOND {
            return Err(OutOfRange::new("gap", self.gap, "more than 0 s, up to 1 s"));
        }
        if !(1.0..=10.0).contains(&self.gain) {
            return Err(OutOfRange::new("gain", self.gain, "1 to 10"));
        }
        if !(1.0..=3.0).contains(&self.geometry) {
            return Err(OutOfRange::new("geometry", self.geometry, "1 to 3"));
        }
        Ok(())
    }
}

impl SlowStartParams for PacedChirpingParams {
    fn paces(&self) -> bool {
        true
    }

    fn sets_gaps(&self) -> bool {
        true
    }

    fn build(&self, flow: &FlowInit, _tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(PacedChirping::new(self.clone(), flow.mss))
    }
}

/// Paced chirping.
#[derive(Debug)]
struct PacedChirping {
    params: PacedChirpingParams,
    mss: Bytes,
    /// The estimate of the time that the bottleneck takes for a segment.
    gap: Duration,
    /// The chirps that are being sent or whose ACKs have not all arrived; the number of the first of them.
    chirps: VecDeque<Chirp>,
    first: u64,
    /// The gaps of the chirp that is being sent, and its next segment.
    geometry: Geometry,
    next: usize,
    round: Round,
    srtt: Duration,
    /// When the last segment left, the gap that was due behind it, and when the last ACK came.
    departed: Time,
    due: Duration,
    heard: Time,
    /// What is still to be acknowledged at the rate that was found.
    trial: Option<Bytes>,
}

/// The chirps of a round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// The number of its first chirp.
    start: u64,
    /// How many it may have, and how many were sent.
    chirps: u32,
    sent: u32,
    /// The sum of their lengths.
    length: Duration,
}

impl Round {
    const FIRST: Round = Round { start: 0, chirps: FIRST_ROUND, sent: 0, length: Duration::ZERO };
}

/// The number of segments of a chirp: the first two fit into an initial window.
const fn segments(chirp: u64) -> usize {
    match chirp {
        0 | 1 => 5,
        2 | 3 => 8,
        _ => MOST,
    }
}

impl PacedChirping {
    fn new(params: PacedChirpingParams, mss: Bytes) -> PacedChirping {
        let geometry = Geometry::new(params.geometry, params.gap, segments(0));
        PacedChirping {
            mss,
            gap: params.gap,
            chirps: VecDeque::new(),
            first: 0,
            geometry,
            next: 0,
            round: Round::FIRST,
            srtt: Duration::ZERO,
            departed: Time::NEVER,
            due: Duration::ZERO,
            heard: Time::ZERO,
            trial: None,
            params,
        }
    }

    /// The application, and nothing else, kept this segment from leaving: everything before it is acknowledged, and it leaves later
    /// than its gap allows. Within a chirp cwnd has room; between two it may have waited for the last ACK.
    fn is_after_pause(&self, sent: &SentSegment, path: &PathView) -> bool {
        let since = if self.next > 0 { self.departed } else { self.departed.max(self.heard) };
        let due = self.due + self.srtt / PATIENCE;
        path.una == sent.seq && self.departed < Time::NEVER && path.now > since + due
    }

    /// Chirps start anew.
    fn restart(&mut self) {
        self.chirps.clear();
        self.first = 0;
        self.next = 0;
        self.round = Round::FIRST;
        self.trial = None;
        self.geometry = Geometry::new(self.params.geometry, self.gap, segments(0));
    }

    /// The number of the chirp that is being sent, or is sent next.
    const fn sending(&self) -> u64 {
        self.round.start + self.round.sent as u64
    }

    /// The gap after the segment that leaves next: within the chirp, or behind it to let its queue drain.
    fn gap_after_next(&self) -> Duration {
        if self.next + 1 < self.geometry.segments() {
            return self.geometry.gap(self.next + 1);
        }
        (self.srtt / u64::from(self.round.chirps)).saturating_sub(self.geometry.length()).max(self.gap)
    }

    /// What is left of the round to be sent.
    fn to_send(&self) -> Bytes {
        let last = self.round.start + u64::from(self.round.chirps);
        let count: usize = (self.sending()..last).map(segments).sum();
        self.mss * count.saturating_sub(self.next) as u64
    }

    /// Takes the chirps whose ACKs are complete into the estimate. True if any was.
    fn analyse(&mut self, path: &PathView) -> bool {
        let mut complete = 0;
        for chirp in &mut self.chirps {
            if !chirp.on_ack(path.una, path.now) {
                break;
            }
            complete += 1;
            self.gap = ((self.gap + chirp.estimate()) / 2).max(Duration::from_nanos(1));
        }
        self.chirps.drain(..complete);
        self.first += complete as u64;
        complete > 0
    }

    /// Starts the next round if this one is sent and its first chirp is heard of.
    fn advance(&mut self) {
        let heard = match self.round.start {
            0 => self.first > 0,
            start => {
                self.first > start || self.first == start && self.chirps.front().is_some_and(Chirp::is_heard)
            }
        };
        if !heard || self.round.sent < self.round.chirps {
            return;
        }
        let start = self.sending();
        let gain = if start < GROWS_FROM { 1.0 } else { self.params.gain };
        let chirps = (f64::from(self.round.chirps) * gain) as u32;
        self.round = Round { start, chirps, sent: 0, length: Duration::ZERO };
        self.geometry = Geometry::new(self.params.geometry, self.gap, segments(start));
    }

    /// A segment takes its place in a chirp.
    fn take_departure(&mut self, sent: &SentSegment, path: &PathView) {
        if sent.retransmission || self.trial.is_some() || self.round.sent >= self.round.chirps {
            return;
        }
        if self.next == 0 {
            self.chirps.push_back(Chirp::new(self.geometry.segments()));
        }
        self.next += 1;
        let Some(chirp) = self.chirps.back_mut() else { return };
        if chirp.on_sent(sent.seq + sent.payload, path.now) {
            self.round.length += self.geometry.length();
            self.round.sent += 1;
            self.next = 0;
            self.geometry = Geometry::new(self.params.geometry, self.gap, segments(self.sending()));
        }
    }

    /// The gap after the segment that leaves next.
    fn gap_in_force(&self) -> Duration {
        if self.trial.is_some() { self.gap } else { self.gap_after_next() }
    }
}

/// The window that the chirps need, but no more than it was where growth is barred.
fn allowed(cwnd: Bytes, wanted: Bytes, ack: &AckSample) -> Bytes {
    if ack.growth_barred { wanted.min(cwnd) } else { wanted }
}

impl SlowStart for PacedChirping {
    /// Marks of a chirp's own queue say nothing about the capacity.
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Stay
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        let outstanding = path.nxt - path.una;
        self.heard = path.now;
        if let Some(left) = &mut self.trial {
            *left = left.saturating_sub(ack.acked);
            if *left > Bytes::ZERO {
                return SlowStartVerdict::Stay;
            }
            *cwnd = allowed(*cwnd, outstanding.max(self.mss * 2), ack);
            return SlowStartVerdict::Leave(ExitReason::Other("chirps fill a round trip"));
        }
        if self.analyse(path) && self.round.length >= path.srtt {
            let product = path.min_rtt.as_nanos() / self.gap.as_nanos();
            self.trial = Some(self.mss * product);
            *cwnd = allowed(*cwnd, self.mss * (2 * product).max(LEAST_WINDOW), ack);
            return SlowStartVerdict::Stay;
        }
        self.advance();
        *cwnd = allowed(*cwnd, (outstanding + self.to_send()).max(self.mss * 2), ack);
        SlowStartVerdict::Stay
    }

    fn on_sent(&mut self, sent: &SentSegment, path: &PathView) {
        // Pacing has taken it for this segment.
        let due = self.gap_in_force();
        self.srtt = path.srtt;
        if !sent.retransmission && self.is_after_pause(sent, path) {
            self.restart();
        }
        self.take_departure(sent, path);
        (self.departed, self.due) = (path.now, due);
    }

    fn pacing(&self) -> Pacing {
        Pacing::Rate(Rate::of(self.mss, self.gap_in_force()))
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("chirp_gap_us", self.gap.as_nanos() as f64 / 1e3);
        out("chirp_count", self.first as f64);
        out("chirps_per_round", f64::from(self.round.chirps));
    }
}
