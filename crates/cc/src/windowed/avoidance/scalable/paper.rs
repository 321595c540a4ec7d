//! Scalable as in Kelly's paper.
//!
//! Each ACK adds the fraction `a` of a segment, and a response gives up the fraction `b` of the window. Up to lwnd both
//! are Reno's: one segment per window of ACKs, and half of the window.

use windtunnel_units::Bytes;

use super::{PAPER, ScalableParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit};
use crate::windowed::carry::Fraction;

/// The paper's growth.
#[derive(Clone, Debug)]
pub(crate) struct ScalablePaper {
    a: f64,
    b: f64,
    lwnd: Bytes,
    fraction: Fraction,
}

impl ScalablePaper {
    pub(crate) fn new(params: &ScalableParams) -> ScalablePaper {
        ScalablePaper {
            a: 1.0 / f64::from(params.inv_a.unwrap_or(PAPER.inv_a).get()),
            b: params.b.unwrap_or(PAPER.b),
            lwnd: params.lwnd.unwrap_or(PAPER.lwnd),
            fraction: Fraction::default(),
        }
    }
}

impl Avoidance for ScalablePaper {
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        1.0 - self.b
    }

    fn kept(&self, base: Bytes, factor: f64, _mss: Bytes) -> Bytes {
        if base <= self.lwnd { base / 2 } else { base.scale(factor) }
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.fraction = Fraction::default();
    }

    fn limit(&self, window: Bytes, _ack: &AckSample, path: &PathView) -> Bytes {
        window + window.scale(self.a).max(path.mss)
    }

    fn grow(&mut self, cwnd: Bytes, _amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let mss = path.mss.as_f64();
        let segments = if cwnd <= self.lwnd { mss / cwnd.as_f64() } else { self.a };
        cwnd + self.fraction.whole(mss * segments)
    }
}
