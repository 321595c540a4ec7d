//! AIMD in whole segments, as Linux counts: one segment of growth for every `W / a` segments delivered.
//!
//! spec/congestion-control sections 0.4 and 3.1: growth uses [`CwndCnt`], which keeps amounts too small for a segment
//! and loses them at a reduction; a response leaves `floor(b W)` segments. With a = 1 and b = 0.5 this matches Linux's
//! Reno to the segment. At tau = 64, one SCE takes less than a segment from a window below 93 segments; SCE responses
//! are therefore in bytes, and leave the count as it is.

use windtunnel_units::Bytes;

use super::AimdParams;
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit, segments};
use crate::windowed::cwnd_cnt::CwndCnt;

/// AIMD's growth in whole segments.
#[derive(Clone, Debug)]
pub(crate) struct AimdLinux {
    a: f64,
    b: f64,
    cwnd_cnt: CwndCnt,
}

impl AimdLinux {
    pub(crate) fn new(params: &AimdParams) -> AimdLinux {
        AimdLinux { a: params.a, b: params.b, cwnd_cnt: CwndCnt::default() }
    }
}

impl Avoidance for AimdLinux {
    const UNIT: Unit = Unit::Segments;

    fn md(&self) -> f64 {
        self.b
    }

    fn clear_cwnd_cnt(&mut self) {
        self.cwnd_cnt.clear();
    }

    fn grow(&mut self, cwnd: Bytes, amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let (w, n) = (cwnd / path.mss, segments(amount, path.mss));
        cwnd + path.mss * self.cwnd_cnt.add(w as f64 / self.a, n as f64)
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("credit_segments", self.cwnd_cnt.get());
    }
}
