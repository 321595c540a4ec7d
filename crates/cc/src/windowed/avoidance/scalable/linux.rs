//! Scalable as in Linux: in whole segments.
//!
//! spec/congestion-control section 3.4: the window grows by one segment for every `min(W, 100)` delivered, which is
//! Reno's growth up to 100 segments; a response gives up `floor(W / 8)`.

use windtunnel_units::Bytes;

use super::{LINUX, ScalableParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit, after_giving_up, segments};
use crate::windowed::cwnd_cnt::CwndCnt;

/// Linux's growth.
#[derive(Clone, Debug)]
pub(crate) struct ScalableLinux {
    inv_a: u64,
    b: f64,
    cwnd_cnt: CwndCnt,
}

impl ScalableLinux {
    pub(crate) fn new(params: &ScalableParams) -> ScalableLinux {
        let inv_a = u64::from(params.inv_a.unwrap_or(LINUX.inv_a).get());
        ScalableLinux { inv_a, b: params.b.unwrap_or(LINUX.b), cwnd_cnt: CwndCnt::default() }
    }
}

impl Avoidance for ScalableLinux {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        1.0 - self.b
    }

    /// The amount given up is rounded down, not the amount kept.
    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        after_giving_up(base, factor, mss)
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let cnt = (cwnd / path.mss).clamp(1, self.inv_a);
        cwnd + path.mss * self.cwnd_cnt.add(cnt as f64, segments(amount, path.mss) as f64)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("credit_segments", self.cwnd_cnt.get());
    }
}
