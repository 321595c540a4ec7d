//! AIMD with a small increase at each ACK: `W += a / W`.
//!
//! RFC 5681 section 3.1 equation 3, Jacobson 1988: each ACK of new data adds `SMSS * SMSS / cwnd` bytes, however much
//! it acknowledges, so delayed ACKs halve the growth. The remainder below one byte is carried over, whereas the RFC
//! rounds and adds at least one byte: rounding down would cost a third of the growth of a window of 1000 segments.
//!
//! 4.3BSD-Reno added an eighth of a segment to every increase, which RFC 2525 section 2.6 lists as a known problem: the
//! window grows by an eighth per round trip.

use windtunnel_units::Bytes;

use super::{AimdGrowth, AimdParams};
use crate::sample::{AckSample, PathView};
use crate::windowed::avoidance::{Avoidance, Unit};
use crate::windowed::carry::Fraction;

/// AIMD's growth with each ACK.
#[derive(Clone, Debug)]
pub(crate) struct AimdPerAck {
    a: f64,
    b: f64,
    /// The additional fraction of a segment that each ACK adds (RFC 2525 section 2.6).
    extra: f64,
    /// What the bytes of cwnd lack of the sum of all increases (RFC 5681 section 3.1, equation 3).
    fraction: Fraction,
}

impl AimdPerAck {
    pub(crate) fn new(params: &AimdParams) -> AimdPerAck {
        let eighth = params.growth == Some(AimdGrowth::PerAckPlusEighth);
        let extra = if eighth { 0.125 } else { 0.0 };
        AimdPerAck { a: params.a, b: params.b, extra, fraction: Fraction::default() }
    }
}

impl Avoidance for AimdPerAck {
    const UNIT: Unit = Unit::BytesDelivered;

    fn md(&self) -> f64 {
        self.b
    }

    fn decreased(&mut self, _before: Bytes, _after: Bytes, _factor: f64, _path: &PathView) {
        self.fraction = Fraction::default();
    }

    fn grow(&mut self, cwnd: Bytes, _amount: Bytes, ack: &AckSample, path: &PathView) -> Bytes {
        if ack.ecn.any() {
            return cwnd;
        }
        let segment = path.mss.as_f64();
        let segments = self.a * segment / cwnd.as_f64() + self.extra;
        cwnd + self.fraction.whole(segment * segments)
    }
}
