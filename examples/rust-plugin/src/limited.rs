//! A slow start: Limited Slow-Start for large windows (RFC 3742).
//!
//! Up to `max_ssthresh` cwnd doubles each round trip; beyond it an ACK of a segment adds `MSS / K` with `K = cwnd /
//! (max_ssthresh / 2)`, so that a round trip adds at most half of `max_ssthresh` (section 2).

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_cc::{
    AckSample, ExitReason, FlowInit, PathView, SlowStart, SlowStartParams, SlowStartVerdict,
};
use windtunnel_units::{Bytes, Duration};

/// Parameters of Limited Slow-Start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3742"))]
pub struct LimitedParams {
    /// The window above which growth is limited.
    #[schemars(extend("x-unit" = "segments"))]
    pub max_ssthresh: u32,
}

impl Default for LimitedParams {
    /// Section 2.1 recommends 100 segments.
    fn default() -> LimitedParams {
        LimitedParams { max_ssthresh: 100 }
    }
}

impl Params for LimitedParams {
    const NAME: &'static str = "my-limited";
    const SUMMARY: &'static str = "Doubles up to a window, then adds half of that window per round trip";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.max_ssthresh < 2 {
            return Err(OutOfRange::new("max_ssthresh", self.max_ssthresh, "2 or more"));
        }
        Ok(())
    }
}

impl SlowStartParams for LimitedParams {
    fn build(&self, flow: &FlowInit, _tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(Limited { half: flow.mss * u64::from(self.max_ssthresh) / 2 })
    }
}

#[derive(Debug)]
struct Limited {
    /// Half of `max_ssthresh`.
    half: Bytes,
}

impl SlowStart for Limited {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Exit(ExitReason::Ce)
    }

    fn on_ack(&mut self, cwnd: &mut Bytes, ack: &AckSample, _path: &PathView) -> SlowStartVerdict {
        let limited = *cwnd > self.half * 2;
        let k = if limited { *cwnd / self.half } else { 1 };
        *cwnd += ack.growth(ack.acked) / k;
        SlowStartVerdict::Stay
    }

    /// The multiplicative decrease of the avoidance follows.
    fn exits_by_md(&self) -> bool {
        true
    }
}
