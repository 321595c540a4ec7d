//! Scalable as in Linux: in whole segments.
//!
//! spec/congestion-control section 3.4: the window grows by one segment for every `min(W, 100)` delivered, which is
//! Reno's growth up to 100 segments; a response gives up `floor(W / 8)`.

use windtunnel_units::Bytes;

use super::{LINUX, ScalableParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window, after_giving_up, half_and_quarter, segments};
use crate::windowed::credit::Credit;

/// Linux's growth.
#[derive(Clone, Debug)]
pub(crate) struct ScalableLinux {
    inv_a: u64,
    b: f64,
    credit: Credit,
}

impl ScalableLinux {
    pub(crate) fn new(params: &ScalableParams) -> ScalableLinux {
        let inv_a = u64::from(params.inv_a.unwrap_or(LINUX.inv_a).get());
        ScalableLinux { inv_a, b: params.b.unwrap_or(LINUX.b), credit: Credit::default() }
    }
}

impl Avoidance for ScalableLinux {
    fn md(&self) -> f64 {
        1.0 - self.b
    }

    /// The amount given up is rounded down, not the amount kept.
    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        after_giving_up(base, factor, mss)
    }

    fn remembered(&self, cwnd: Bytes, mss: Bytes) -> Bytes {
        half_and_quarter(cwnd, mss)
    }

    fn counted(ack: &AckSample) -> Bytes {
        ack.newly_delivered
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.credit.clear();
    }

    fn scaled(&mut self, _before: Bytes, _after: Bytes, _path: &PathView) {}

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let price = (cwnd / path.mss).clamp(1, self.inv_a);
        cwnd + path.mss * self.credit.add(price as f64, segments(amount, path.mss) as f64)
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.credit.clear();
    }

    /// An undo does not restore the credit, as in Linux.
    fn undone(&mut self, _before: ScalableLinux) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("credit_segments", self.credit.get());
    }
}
