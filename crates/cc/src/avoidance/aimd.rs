//! Additive increase, multiplicative decrease: AIMD(a, b).
//!
//! cwnd grows by `a` segments per round trip and is multiplied by `b` on congestion (Chiu and Jain
//! 1989; Floyd, Handley and Padhye 2000). Reno is AIMD(1, 0.5). `a = 3 (1 - b) / (1 + b)` has Reno's
//! mean rate at the same loss rate (RFC 9438 section 4.3).
//!
//! The MDS document's growth is timed: all of `a` at once, on the first ACK more than one srtt after
//! the last growth (spec/mds section 3). Growth counted in acknowledged bytes (RFC 3465 section 2.1)
//! is selectable. A marked ACK grows nothing in either.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, OutOfRange, Time};

use super::{Avoidance, marked};
use crate::check;
use crate::sample::{AckSample, PathView};

/// When the additive increase is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AimdGrowth {
    /// Once more than one srtt has passed since the last increase (the MDS document).
    #[default]
    PerSrtt,
    /// Once a cwnd of bytes was acknowledged (RFC 3465, appropriate byte counting).
    PerWindow,
}

/// Parameters of AIMD(a, b).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Floyd, Handley, Padhye 2000"))]
pub struct AimdParams {
    /// Additive increase, in segments per round trip.
    #[schemars(range(min = 0.0), extend("x-unit" = "segments"))]
    pub a: f64,
    /// Multiplicative decrease: the factor of cwnd that is kept on congestion.
    #[schemars(range(min = 0.0, max = 1.0))]
    #[serde(alias = "beta")]
    pub b: f64,
    /// When the additive increase is made.
    pub growth: AimdGrowth,
}

impl Default for AimdParams {
    fn default() -> AimdParams {
        AimdParams { a: 1.0, b: 0.5, growth: AimdGrowth::default() }
    }
}

impl AimdParams {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        check::positive("a", self.a)?;
        check::kept_fraction("b", self.b)
    }
}

/// AIMD's growth.
#[derive(Clone, Debug)]
pub(crate) struct Aimd {
    params: AimdParams,
    vars: AimdVars,
}

#[derive(Clone, Copy, Debug, Default)]
struct AimdVars {
    /// When cwnd last grew.
    last_growth: Time,
    /// Bytes acknowledged since cwnd last grew.
    acked: Bytes,
}

impl Aimd {
    pub(crate) fn new(params: AimdParams) -> Aimd {
        Aimd { params, vars: AimdVars::default() }
    }

    /// Another growth function has its turn: the time and the bytes until the next increase count from here.
    pub(super) fn yield_to_another(&mut self, path: &PathView) {
        self.vars.last_growth = path.now;
        self.vars.acked = Bytes::ZERO;
    }

    fn increase_is_due(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> bool {
        let vars = &mut self.vars;
        match self.params.growth {
            AimdGrowth::PerSrtt => {
                let due = path.now.since(vars.last_growth) > path.srtt;
                if due {
                    vars.last_growth = path.now;
                }
                due
            }
            AimdGrowth::PerWindow => {
                vars.acked += ack.acked;
                let due = vars.acked >= cwnd;
                if due {
                    vars.acked -= cwnd;
                }
                due
            }
        }
    }
}

impl Avoidance for Aimd {
    fn md(&self) -> f64 {
        self.params.b
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _path: &PathView) {
        self.vars.acked = Bytes::ZERO;
    }

    fn grow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if marked(&ack.ecn) || !self.increase_is_due(cwnd, ack, path) {
            return cwnd;
        }
        cwnd + path.mss.scale(self.params.a)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("last_growth_s", self.vars.last_growth.as_secs_f64());
    }
}
