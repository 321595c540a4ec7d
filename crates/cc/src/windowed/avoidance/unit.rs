//! What an avoidance counts, and the rules that depend on it.

use windtunnel_units::Bytes;

use super::Avoidance;
use crate::sample::AckSample;

/// What an avoidance counts. Four rules depend on it: what of an ACK counts for growth, how a response rounds, what a
/// response to an SCE does to the algorithm's state, and what an undo restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes acknowledged cumulatively, as in the MDS document. A response to an SCE is a decrease as any other, and an
    /// undo restores the state.
    BytesAcked,
    /// Bytes delivered, as in RFCs and papers: a window is a real number. A response to an SCE leaves the state as it is,
    /// and an undo restores the state.
    BytesDelivered,
    /// Whole segments delivered, as in Linux's modules. Growth too small for a segment accumulates in `snd_cwnd_cnt`, which
    /// a reduction clears ([`Avoidance::clear_cwnd_cnt`]). A response rounds down; a response to an SCE takes less than a
    /// segment and leaves the state as it is; an undo restores the window alone.
    Segments,
}

impl Unit {
    /// Returns how much of an ACK counts for growth.
    pub(crate) const fn counted(self, ack: &AckSample) -> Bytes {
        match self {
            Unit::BytesAcked => ack.acked,
            Unit::BytesDelivered | Unit::Segments => ack.newly_delivered,
        }
    }

    /// Returns what a response with `factor` leaves of `base`. A billionth of a segment is added because products such as
    /// 0.57 * 100 fall below the whole number only for lack of an exact binary representation of 0.57.
    pub(super) fn kept(self, base: Bytes, factor: f64, mss: Bytes) -> Bytes {
        match self {
            Unit::BytesAcked | Unit::BytesDelivered => base.scale(factor),
            Unit::Segments => mss * (((base / mss) as f64 * factor + 1e-9) as u64),
        }
    }
}

/// Returns the ssthresh that a window leaves which was not used: three quarters of it (RFC 2861 section 3.1). Linux's
/// `tcp_current_ssthresh` adds a half and a quarter, each rounded down.
pub(crate) fn current_ssthresh<A: Avoidance>(avoidance: &A, cwnd: Bytes, mss: Bytes) -> Bytes {
    if A::UNIT == Unit::Segments {
        let w = cwnd / mss;
        mss * (w / 2 + w / 4)
    } else {
        avoidance.kept(cwnd, 0.75, mss)
    }
}
