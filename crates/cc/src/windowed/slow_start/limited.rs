//! Limited slow start: beyond `max_ssthresh` the window no longer doubles.
//!
//! RFC 3742 section 2. Where the window is thousands of segments, the last round trip of slow start sends as many segments
//! too many, which overflow the queue together. Up to `max_ssthresh`, limited slow start is standard slow start; beyond it
//! an ACK adds `1 / K` of what it would, with `K = floor(W / (max_ssthresh / 2))`. The window then grows by little more than
//! `max_ssthresh / 2` segments per round trip, and overflows a queue by that much at most.
//!
//! `max_ssthresh` is 100 segments, the RFC's example: no flow on a path that carries less notices it, and 50 segments fit
//! into the queues of faster paths. From two segments it takes 24 round trips to 1000 segments, 204 to 10,000.

use std::num::NonZeroU32;
use std::sync::Arc;

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_units::{Bytes, Duration};

use super::standard::Standard;
use super::{
    ExitResponse, Regrowth, SlowStart, SlowStartGrowth, SlowStartParams, SlowStartVerdict, StandardParams,
};
use crate::Style;
use crate::sample::{AckSample, FlowInit, PathView};
use crate::windowed::carry::Carry;

/// Parameters of limited slow start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3742"))]
pub struct LimitedParams {
    /// The cwnd up to which slow start is the standard one, in segments.
    #[schemars(range(min = 2), extend("x-unit" = "segments"))]
    #[serde(deserialize_with = "windtunnel_units::count::segments")]
    pub max_ssthresh: u32,
    /// The amount by which an ACK grows cwnd up to there; by default what it acknowledges, counted as the endpoints do.
    pub growth: Option<SlowStartGrowth>,
    /// What slow start does to cwnd when it ends; the default depends on the endpoints.
    pub exit: Option<ExitResponse>,
}

impl Default for LimitedParams {
    fn default() -> LimitedParams {
        LimitedParams { max_ssthresh: 100, growth: None, exit: None }
    }
}

impl Params for LimitedParams {
    const NAME: &'static str = "limited";
    const SUMMARY: &'static str = "Limited slow start: above max_ssthresh, half of that per round trip";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.max_ssthresh < 2 {
            return Err(OutOfRange::new("max_ssthresh", self.max_ssthresh, "2 segments or more"));
        }
        Ok(())
    }
}

impl SlowStartParams for LimitedParams {
    fn resolved(&self, style: Style) -> Option<Arc<dyn SlowStartParams>> {
        let StandardParams { growth, exit, .. } = self.standard().of_style(style);
        Some(Arc::new(LimitedParams { growth, exit, ..self.clone() }))
    }

    fn build(&self, flow: &FlowInit, tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Limited {
            standard: Standard::new(self.standard(), tau.get()),
            max_ssthresh: flow.mss * u64::from(self.max_ssthresh),
            carry: Carry::default(),
        })
    }
}

impl LimitedParams {
    /// Returns the slow start that is limited.
    fn standard(&self) -> StandardParams {
        StandardParams { growth: self.growth, exit: self.exit, ..StandardParams::default() }
    }
}

/// Limited slow start.
#[derive(Clone, Debug)]
struct Limited {
    standard: Standard,
    /// The window from which on growth is limited (RFC 3742 section 2).
    max_ssthresh: Bytes,
    /// The remainder of `growth / K` (RFC 3742 section 2).
    carry: Carry,
}

impl Limited {
    /// Returns what is left at a window of `cwnd` of the growth of standard slow start.
    fn limited(&mut self, cwnd: Bytes, growth: Bytes) -> Bytes {
        if growth == Bytes::ZERO {
            return growth;
        }
        let k = self.k(cwnd);
        self.carry.divide(growth, k)
    }

    /// By how much growth is divided (RFC 3742 section 2).
    fn k(&self, cwnd: Bytes) -> u64 {
        if cwnd <= self.max_ssthresh { 1 } else { cwnd * 2 / self.max_ssthresh }
    }
}

impl SlowStart for Limited {
    fn on_ce(&mut self, cwnd: &mut Bytes, rtt: Option<Duration>, path: &PathView) -> SlowStartVerdict {
        self.standard.on_ce(cwnd, rtt, path)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, path: &PathView) -> SlowStartVerdict {
        let before = *cwnd;
        let verdict = self.standard.on_ack(cwnd, ack, path);
        *cwnd = before + self.limited(before, *cwnd - before);
        verdict
    }

    fn exit_cwnd(&self, cwnd: Bytes, rtt: Option<Duration>, path: &PathView) -> Bytes {
        self.standard.exit_cwnd(cwnd, rtt, path)
    }

    fn exits_by_md(&self) -> bool {
        self.standard.exits_by_md()
    }

    fn regrow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Regrowth {
        match self.standard.regrow(cwnd, ack, path) {
            Regrowth::By(growth) => Regrowth::By(self.limited(cwnd, growth)),
            Regrowth::Leave => Regrowth::Leave,
        }
    }

    fn limit(&self, window: Bytes) -> Bytes {
        window + (self.standard.limit(window) - window) / self.k(window)
    }

    fn timed_out(&mut self, path: &PathView) {
        self.standard.timed_out(path);
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.standard.probe(out);
    }
}
