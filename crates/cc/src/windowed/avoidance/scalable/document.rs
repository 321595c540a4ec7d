//! Scalable as in the MDS document: growth per acknowledged byte, and Reno's growth below lwnd.
//!
//! spec/mds section 3. Marked ACKs add no growth.

use std::num::NonZeroU32;

use windtunnel_units::Bytes;

use super::{DOCUMENT, ScalableParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::Avoidance;
use crate::windowed::avoidance::aimd::{Aimd, AimdParams};
use crate::windowed::carry::Carry;

/// Scalable's growth.
#[derive(Clone, Debug)]
pub(crate) struct Scalable {
    inv_a: NonZeroU32,
    b: f64,
    lwnd: Bytes,
    vars: ScalableVars,
    /// Growth below lwnd.
    reno: Aimd,
}

#[derive(Clone, Copy, Debug, Default)]
struct ScalableVars {
    carry: Carry,
}

impl Scalable {
    pub(crate) fn new(params: &ScalableParams) -> Scalable {
        Scalable {
            inv_a: params.inv_a.unwrap_or(DOCUMENT.inv_a),
            b: params.b.unwrap_or(DOCUMENT.b),
            lwnd: params.lwnd.unwrap_or(DOCUMENT.lwnd),
            vars: ScalableVars::default(),
            reno: Aimd::new(&AimdParams { growth: params.growth, ..AimdParams::default() }),
        }
    }
}

impl Avoidance for Scalable {
    fn md(&self) -> f64 {
        1.0 - self.b
    }

    fn decreased(&mut self, before: Bytes, after: Bytes, factor: f64, path: &PathView) {
        self.reno.decreased(before, after, factor, path);
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if cwnd < self.lwnd {
            return self.reno.grow(cwnd, amount, ack, path);
        }
        if ack.ecn.any() {
            return cwnd;
        }
        // A window that falls below lwnd does not gain a segment at once, but one round trip later.
        self.reno.yield_to_another(path);
        cwnd + self.vars.carry.divide(amount, u64::from(self.inv_a.get()))
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.reno.probe(out);
    }
}
