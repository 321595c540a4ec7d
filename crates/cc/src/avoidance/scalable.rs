//! Scalable TCP: growth in proportion to cwnd.
//!
//! Kelly, "Scalable TCP: improving performance in highspeed wide area networks" (2003), with the MDS
//! document's parameters (spec/mds section 3): each acknowledged byte adds `a`, so that the time to
//! recover from a decrease does not depend on the rate. Below `lwnd` growth is Reno's, so that flows
//! at low rates converge. A marked ACK grows nothing.
//!
//! a = 1/200 and b = 0.5 are the MDS document's, chosen for fairness with conventional flows over
//! Kelly's 1/100 and 0.125. lwnd = 250 kB is near the window at which both growth functions are
//! equal, 1448 B / (1/200) = 290 kB; above, Scalable is the faster one.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, OutOfRange};

use super::aimd::{Aimd, AimdGrowth, AimdParams};
use super::{Avoidance, marked};
use crate::carry::Carry;
use crate::check;
use crate::sample::{AckSample, PathView};

/// Parameters of Scalable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Kelly 2003; Multiplicative Decrease Scaling"))]
pub struct ScalableParams {
    /// Inverse of the growth per acknowledged byte, 1/a (Kelly: 100).
    pub inv_a: NonZeroU32,
    /// The fraction of cwnd that is given up on congestion (Kelly: 0.125).
    #[schemars(range(min = 0.0, max = 1.0))]
    pub b: f64,
    /// Below this cwnd growth is Reno's; zero for none.
    pub lwnd: Bytes,
    /// When Reno's growth is made.
    pub growth: AimdGrowth,
}

impl Default for ScalableParams {
    fn default() -> ScalableParams {
        ScalableParams {
            inv_a: const { NonZeroU32::new(200).unwrap() },
            b: 0.5,
            lwnd: Bytes::new(250_000),
            growth: AimdGrowth::default(),
        }
    }
}

impl ScalableParams {
    pub(crate) fn check(&self) -> Result<(), OutOfRange> {
        check::kept_fraction("b", self.b)
    }
}

/// Scalable's growth.
#[derive(Clone, Debug)]
pub(crate) struct Scalable {
    params: ScalableParams,
    vars: ScalableVars,
    /// Growth below lwnd.
    reno: Aimd,
}

#[derive(Clone, Copy, Debug, Default)]
struct ScalableVars {
    carry: Carry,
}

impl Scalable {
    pub(crate) fn new(params: ScalableParams) -> Scalable {
        let reno = Aimd::new(AimdParams { growth: params.growth, ..AimdParams::default() });
        Scalable { params, vars: ScalableVars::default(), reno }
    }
}

impl Avoidance for Scalable {
    fn md(&self) -> f64 {
        1.0 - self.params.b
    }

    fn decreased(&mut self, before: Bytes, after: Bytes, path: &PathView) {
        self.reno.decreased(before, after, path);
    }

    fn grow(&mut self, cwnd: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if cwnd < self.params.lwnd {
            return self.reno.grow(cwnd, ack, path);
        }
        if marked(&ack.ecn) {
            return cwnd;
        }
        // A window that falls below lwnd does not gain a segment at once: its first one comes a round trip later.
        self.reno.yield_to_another(path);
        cwnd + self.vars.carry.divide(ack.acked, u64::from(self.params.inv_a.get()))
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.reno.probe(out);
    }
}
