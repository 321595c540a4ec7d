//! A controller: LEDBAT, which keeps the queueing delay near a target and yields to everything else (RFC 6817).
//!
//! Section 2.4.2: `cwnd += gain * off_target * bytes_newly_acked * MSS / cwnd`, with `off_target = (target - queueing
//! delay) / target`. The queueing delay is taken from round-trip times, as senders without one-way delays must (RFC
//! 6817 section 4.3 measures one way).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{OutOfRange, Params};
use windtunnel_cc::{
    AckSample, CongestionControl, CongestionEvent, Control, ControllerParams, FlowInit, PathView, Phase,
    check,
};
use windtunnel_units::{Bytes, Duration};

/// Parameters of LEDBAT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6817"))]
pub struct LedbatParams {
    /// The target queueing delay; at most 100 ms (section 2.5).
    pub target: Duration,
    /// Segments per round trip while there is no queueing delay; at most 1.
    pub gain: f64,
}

impl Default for LedbatParams {
    fn default() -> LedbatParams {
        LedbatParams { target: Duration::from_millis(100), gain: 1.0 }
    }
}

impl Params for LedbatParams {
    const NAME: &'static str = "my-ledbat";
    const SUMMARY: &'static str = "Keeps the queueing delay near a target, and yields to other traffic";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.target.is_zero() || self.target > Duration::from_millis(100) {
            return Err(OutOfRange::new("target", self.target, "more than 0 s and at most 100 ms"));
        }
        check::positive("gain", self.gain)
    }
}

impl ControllerParams for LedbatParams {
    fn build(&self, init: FlowInit) -> Box<dyn CongestionControl> {
        Box::new(Ledbat { params: self.clone(), mss: init.mss, cwnd: init.iw })
    }
}

#[derive(Debug)]
struct Ledbat {
    params: LedbatParams,
    mss: Bytes,
    cwnd: Bytes,
}

impl Ledbat {
    /// Sets cwnd, to at least two segments (MIN_CWND).
    fn set(&mut self, cwnd: f64) {
        self.cwnd = Bytes::from_f64(cwnd).max(self.mss * 2);
    }
}

impl CongestionControl for Ledbat {
    fn on_ack(&mut self, ack: &AckSample, path: &PathView) {
        let Some(rtt) = ack.rtt else { return };
        let queueing = rtt.saturating_sub(path.min_rtt);
        let off_target = 1.0 - queueing.ratio(self.params.target);
        let acked = ack.growth(ack.acked).as_f64();
        let growth = self.params.gain * off_target * acked * self.mss.as_f64() / self.cwnd.as_f64();
        self.set(self.cwnd.as_f64() + growth);
    }

    fn on_congestion(&mut self, _event: &CongestionEvent, _path: &PathView) -> bool {
        self.set(self.cwnd.as_f64() / 2.0);
        true
    }

    fn on_rto(&mut self, _new_episode: bool, _path: &PathView) {
        self.cwnd = self.mss;
    }

    fn control(&self) -> Control {
        Control { phase: Phase::CongestionAvoidance, ..Control::window(self.cwnd) }
    }
}
