//! Careful Resume: slow start that jumps to half of what an earlier connection found on the same path.
//!
//! RFC 9959 (draft-ietf-tsvwg-careful-resume-24), section "The Phases of CC using Careful Resume":
//!
//! - *Reconnaissance*: normal slow start from the initial window, until all of that is acknowledged. The path counts as
//!   the saved one if its least round trip is more than half of the saved one and at most ten times it.
//! - *Unvalidated*: cwnd is half of the saved one. What leaves beyond the flight at the jump is paced over a round trip,
//!   and cwnd does not grow, until all of it has left, its first ACK comes, or a round trip is over.
//! - *Validating*: cwnd is what is in flight, and grows as ever, until the last of that is acknowledged. Then slow start
//!   is normal.
//! - A loss or CE in the two phases is answered by a [`SafeRetreat`] to half of what the path is known to hold
//!   (`PipeSize`: the flight at the jump, and what was acknowledged of the data after it).
//!
//! An application that does not fill the window stays in Reconnaissance. BBR jumps in a way of its own (`bbr/v3/resume.rs`).

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::standard::Standard;
use super::{
    ExitResponse, Recovery, Regrowth, SlowStart, SlowStartGrowth, SlowStartParams, SlowStartVerdict,
    StandardParams,
};
use crate::Style;
use crate::sample::{AckSample, FlowInit, PathView};
use crate::saved_path::SavedPath;

/// The pacing gain of slow start: departures at twice cwnd per round trip carry its growth.
const SLOW_START_GAIN: f64 = 2.0;

/// Parameters of Careful Resume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 9959", "x-title" = "Careful Resume"))]
pub struct ResumeParams {
    /// `saved_cwnd`: what was acknowledged in a round trip of an earlier connection; without it slow start is standard.
    pub saved_cwnd: Option<Bytes>,
    /// `saved_rtt`: the least round trip of that connection.
    pub saved_rtt: Option<Duration>,
    /// `max_jump`: the largest window after the jump; if left out, half of `saved_cwnd` alone limits it.
    pub max_jump: Option<Bytes>,
    /// The amount by which an ACK grows cwnd; by default what it acknowledges, counted as the endpoints do.
    pub growth: Option<SlowStartGrowth>,
    /// What slow start does to cwnd when CE ends it before or after the resumption; the default depends on the endpoints.
    pub exit: Option<ExitResponse>,
}

impl Params for ResumeParams {
    const NAME: &'static str = "careful-resume";
    const ALIASES: &'static [&'static str] = &["resume"];
    const SUMMARY: &'static str = "Careful Resume: cwnd jumps to half of what an earlier connection found";

    fn check(&self) -> Result<(), OutOfRange> {
        SavedPath::check(self.saved_cwnd, self.saved_rtt, self.max_jump)
    }
}

impl SlowStartParams for ResumeParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let StandardParams { growth, exit, .. } = self.standard().of_style(style);
        Some(Arc::new(ResumeParams { growth, exit, ..self.clone() }))
    }

    /// The unvalidated segments leave over a round trip.
    fn paces(&self) -> bool {
        true
    }

    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        let saved = SavedPath::of(self.saved_cwnd, self.saved_rtt, self.max_jump);
        Box::new(Resume {
            standard: Standard::new(self.standard(), tau.get()),
            iw: flow.iw,
            min_cwnd: flow.min_cwnd,
            phase: saved.map_or(Phase::Normal, Phase::Reconnaissance),
        })
    }
}

impl ResumeParams {
    /// Returns the slow start before and after the resumption.
    fn standard(&self) -> StandardParams {
        StandardParams { growth: self.growth, exit: self.exit, ..StandardParams::default() }
    }
}

/// The phase (`CC.CRPhase`).
#[derive(Clone, Copy, Debug)]
enum Phase {
    Reconnaissance(SavedPath),
    Unvalidated {
        pipe: Pipe,
        began: Time,
    },
    /// `last`: the sequence number after the last unvalidated segment.
    Validating {
        pipe: Pipe,
        last: Seq,
    },
    Normal,
}

/// What the path is known to hold.
#[derive(Clone, Copy, Debug)]
struct Pipe {
    /// `PipeSize`.
    size: Bytes,
    /// The sequence number of the first unvalidated segment.
    first: Seq,
    /// What is left of the flight at the jump: it is in the size already.
    validated: Bytes,
}

impl Pipe {
    fn new(path: &PathView) -> Pipe {
        Pipe { size: path.in_flight, first: path.nxt, validated: path.in_flight }
    }

    /// An ACK delivered `amount`. What belongs to the unvalidated segments adds to the size.
    fn on_ack(&mut self, amount: Bytes) {
        let validated = amount.min(self.validated);
        self.validated -= validated;
        self.size += amount - validated;
    }
}

/// The phase *Safe Retreat*: half of what the path is known to hold, until the last unvalidated segment is acknowledged.
/// Slow start then leads to the response's part of that.
#[derive(Clone, Copy, Debug)]
struct SafeRetreat {
    cwnd: Bytes,
    pipe: Pipe,
    /// What a response leaves (`beta`).
    kept: f64,
    least: Bytes,
}

impl Recovery for SafeRetreat {
    fn on_lost(&mut self, _lost: Bytes) {}

    fn on_ack(&mut self, delivered: Bytes, _path: &PathView) {
        self.pipe.on_ack(delivered);
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn ssthresh(&self) -> Bytes {
        self.pipe.size.scale(self.kept).max(self.least)
    }

    fn kept(&self) -> f64 {
        self.kept
    }

    fn peak(&self) -> Bytes {
        self.pipe.size
    }
}

/// Careful Resume.
#[derive(Clone, Debug)]
struct Resume {
    standard: Standard,
    iw: Bytes,
    min_cwnd: Bytes,
    phase: Phase,
}

impl Resume {
    /// Reconnaissance ends when the initial window is acknowledged: with a jump, if the path is the saved one.
    fn reconnoitre(&mut self, saved: SavedPath, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) {
        if path.una < Seq::FIRST_DATA + self.iw {
            return;
        }
        if !saved.confirms(path.min_rtt) || saved.jump <= *cwnd {
            self.phase = Phase::Normal;
        } else if !ack.app_limited {
            self.phase = Phase::Unvalidated { pipe: Pipe::new(path), began: path.now };
            *cwnd = saved.jump;
        }
    }

    /// The unvalidated segments have left, or are not as many as might: those that have are to be validated. What an ACK has
    /// `delivered` was in flight until then.
    fn check(&mut self, pipe: Pipe, began: Time, cwnd: &mut Bytes, delivered: Bytes, path: &PathView) {
        let flight = path.in_flight + delivered;
        let all_left = flight + path.mss > *cwnd;
        if !all_left && path.una <= pipe.first && path.now.since(began) < path.srtt {
            return;
        }
        if flight <= self.iw.max(pipe.size) {
            *cwnd = pipe.size.max(self.iw).min(*cwnd);
            self.phase = Phase::Normal;
        } else {
            *cwnd = flight.min(*cwnd);
            self.phase = Phase::Validating { pipe, last: path.nxt };
        }
    }
}

impl SlowStart for Resume {
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict {
        self.standard.on_ce(cwnd, rtt, path)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        match &mut self.phase {
            Phase::Unvalidated { pipe, began } => {
                pipe.on_ack(ack.newly_delivered);
                let (pipe, began) = (*pipe, *began);
                self.check(pipe, began, cwnd, ack.newly_delivered, path);
                return SlowStartVerdict::Stay;
            }
            Phase::Validating { pipe, last } => {
                pipe.on_ack(ack.newly_delivered);
                if path.una >= *last {
                    self.phase = Phase::Normal;
                }
            }
            Phase::Reconnaissance(_) | Phase::Normal => {}
        }
        let verdict = self.standard.on_ack(cwnd, ack, path);
        if let Phase::Reconnaissance(saved) = self.phase {
            self.reconnoitre(saved, cwnd, ack, path);
        }
        verdict
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.standard.exit_cwnd(cwnd, rtt, path)
    }

    /// CE is answered by the retreat, as a loss is.
    fn exits_by_md(&self) -> bool {
        matches!(self.phase, Phase::Unvalidated { .. } | Phase::Validating { .. })
            || self.standard.exits_by_md()
    }

    fn recovery(&self, cwnd: Bytes, kept: f64, _path: &PathView) -> Option<Box<dyn Recovery>> {
        let (Phase::Unvalidated { pipe, .. } | Phase::Validating { pipe, .. }) = self.phase else {
            return None;
        };
        let retreat = (pipe.size / 2).max(self.iw).max(self.min_cwnd).min(cwnd);
        Some(Box::new(SafeRetreat { cwnd: retreat, pipe, kept, least: self.min_cwnd }))
    }

    fn regrow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        self.standard.regrow(cwnd, ack, path)
    }

    fn limit(&self, window: Bytes) -> Bytes {
        self.standard.limit(window)
    }

    fn timed_out(&mut self, path: &PathView) {
        self.phase = Phase::Normal;
        self.standard.timed_out(path);
    }

    fn pacing_gain(&self) -> f64 {
        if matches!(self.phase, Phase::Unvalidated { .. }) { 1.0 } else { SLOW_START_GAIN }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.standard.probe(out);
        let (phase, pipe) = match self.phase {
            Phase::Reconnaissance(_) => (1.0, None),
            Phase::Unvalidated { pipe, .. } => (2.0, Some(pipe)),
            Phase::Validating { pipe, .. } => (3.0, Some(pipe)),
            Phase::Normal => (5.0, None),
        };
        out("cr_phase", phase);
        out("pipe_size_bytes", pipe.map_or(f64::NAN, |pipe| pipe.size.as_f64()));
    }
}

#[cfg(test)]
mod tests;
