//! AIMD in whole segments, as Linux counts: one segment of growth for every `W / a` segments delivered.
//!
//! spec/congestion-control sections 0.4 and 3.1: growth uses [`Credit`], which keeps amounts too small for a segment
//! and loses them at a reduction; a response leaves `floor(b W)` segments. With a = 1 and b = 0.5 this matches Linux's
//! Reno to the segment. At tau = 64, one SCE takes less than a segment from a window below 93 segments; SCE responses
//! are therefore in bytes, and leave the credit as it is.

use windtunnel_units::Bytes;

use super::AimdParams;
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Window, half_and_quarter, kept_segments, segments};
use crate::windowed::credit::Credit;

/// AIMD's growth in whole segments.
#[derive(Clone, Debug)]
pub(crate) struct AimdLinux {
    a: f64,
    b: f64,
    credit: Credit,
}

impl AimdLinux {
    pub(crate) fn new(params: &AimdParams) -> AimdLinux {
        AimdLinux { a: params.a, b: params.b, credit: Credit::default() }
    }
}

impl Avoidance for AimdLinux {
    fn md(&self) -> f64 {
        self.b
    }

    fn kept(&self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        kept_segments(base, factor, mss)
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
        let (w, n) = (cwnd / path.mss, segments(amount, path.mss));
        cwnd + path.mss * self.credit.add(w as f64 / self.a, n as f64)
    }

    fn timed_out(&mut self, _window: &mut Window, _new_episode: bool, _path: &PathView) {
        self.credit.clear();
    }

    /// An undo does not restore the credit, as in Linux.
    fn undone(&mut self, _before: AimdLinux) {}

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("credit_segments", self.credit.get());
    }
}
