//! No slow start: congestion avoidance from the first ACK on.

use windtunnel_units::{Bytes, Duration};

use super::{SlowStart, Verdict};
use crate::control::ExitReason;
use crate::sample::{AckSample, PathView};

/// Ends at the first event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unused;

impl SlowStart for Unused {
    fn on_ce(&mut self, _cwnd: &mut Bytes, _rtt: Option<Duration>, _path: &PathView) -> Verdict {
        Verdict::Exit(ExitReason::Unused)
    }

    fn on_ack(&mut self, _cwnd: &mut Bytes, _ack: &AckSample, _path: &PathView) -> Verdict {
        Verdict::Exit(ExitReason::Unused)
    }

    fn exit_cwnd(&self, cwnd: Bytes, _rtt: Option<Duration>, _path: &PathView) -> Bytes {
        cwnd
    }

    fn pacing_gain(&self) -> f64 {
        1.0
    }
}
