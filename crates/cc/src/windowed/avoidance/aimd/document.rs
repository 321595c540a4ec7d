//! AIMD as in the MDS document: timed, or counted in bytes.
//!
//! Timed growth adds all of `a` at once, on the first ACK more than one srtt after the last growth (spec/mds section
//! 3). Growth counted in acknowledged bytes (RFC 3465 section 2.1) waits until one cwnd of bytes is acknowledged. In
//! both, marked ACKs add no growth.

use windtunnel_units::{Bytes, Time};

use super::{AimdGrowth, AimdParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window};

/// AIMD's growth.
#[derive(Clone, Debug)]
pub(crate) struct Aimd {
    a: f64,
    b: f64,
    /// Growth is timed, not counted.
    timed: bool,
    vars: AimdVars,
}

#[derive(Clone, Copy, Debug, Default)]
struct AimdVars {
    /// When cwnd last grew (spec/mds section 3).
    last_growth: Time,
    /// Bytes acknowledged since cwnd last grew: `bytes_acked` of RFC 3465 section 2.1.
    acked: Bytes,
}

impl Aimd {
    pub(crate) fn new(params: &AimdParams) -> Aimd {
        let timed = params.growth.unwrap_or_default() == AimdGrowth::PerSrtt;
        Aimd { a: params.a, b: params.b, timed, vars: AimdVars::default() }
    }

    /// Another growth function takes over: the time and the bytes until the next increase count from now.
    pub(crate) fn yield_to_another(&mut self, path: &PathView) {
        self.vars.last_growth = path.now;
        self.vars.acked = Bytes::ZERO;
    }

    fn increase_is_due(&mut self, cwnd: Bytes, amount: Bytes, path: &PathView) -> bool {
        let vars = &mut self.vars;
        if self.timed {
            let due = path.now.since(vars.last_growth) > path.srtt;
            if due {
                vars.last_growth = path.now;
            }
            due
        } else {
            vars.acked += amount;
            let due = vars.acked >= cwnd;
            if due {
                vars.acked -= cwnd;
            }
            due
        }
    }
}

impl Avoidance for Aimd {
    fn md(&self) -> f64 {
        self.b
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.vars.acked = Bytes::ZERO;
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() || !self.increase_is_due(cwnd, amount, path) {
            return cwnd;
        }
        cwnd + path.mss.scale(self.a)
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.vars.acked = Bytes::ZERO;
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("last_growth_s", self.vars.last_growth.as_secs_f64());
    }
}
