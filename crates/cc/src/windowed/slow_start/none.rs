//! No slow start: congestion avoidance starts with the first ACK.

use std::num::NonZeroU32;

use windtunnel_algorithm::Params;
use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};
use windtunnel_units::{Bytes, Duration};

use super::{SlowStart, SlowStartParams, SlowStartVerdict};
use crate::control::ExitReason;
use crate::sample::{AckSample, FlowInit, PathView};

/// No slow start has no parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct NoSlowStartParams {}

impl Params for NoSlowStartParams {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "Congestion avoidance from the first ACK on";
}

impl SlowStartParams for NoSlowStartParams {
    fn build(&self, _flow: &FlowInit, _tau: NonZeroU32) -> Box<dyn SlowStart> {
        Box::new(NoSlowStart)
    }
}

/// A slow start that ends at the first event. It has learned nothing, so there is no exit response and no hold-off.
#[derive(Clone, Copy, Debug)]
struct NoSlowStart;

impl SlowStart for NoSlowStart {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Leave(ExitReason::Unused)
    }

    fn on_ack(&mut self, _cwnd: &mut Bytes, _ack: &AckSample, _path: &PathView) -> SlowStartVerdict {
        SlowStartVerdict::Leave(ExitReason::Unused)
    }
}
