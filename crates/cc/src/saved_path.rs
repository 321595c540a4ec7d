//! What an earlier connection saved of a path, for Careful Resume (RFC 9959).
//!
//! A jump goes to half of the saved window, because other flows may have come in the meantime. What a scenario gives as
//! saved counts as young enough; other ways to lose the right to jump (several users of one set, a changed address) do not
//! happen in it.

use windtunnel_algorithm::OutOfRange;
use windtunnel_units::{Bytes, Duration};

/// The least round trip may be as many times the saved one (section "Confirming the Path").
const LONGEST_RTT: u64 = 10;

/// The saved parameters of a path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedPath {
    /// `jump_cwnd`.
    pub(crate) jump: Bytes,
    /// `saved_rtt`.
    pub(crate) rtt: Duration,
}

impl SavedPath {
    /// Returns what was saved, if anything was. `max_jump` limits the window after the jump.
    pub(crate) fn of(
        saved_cwnd: Option<Bytes>,
        saved_rtt: Option<Duration>,
        max_jump: Option<Bytes>,
    ) -> Option<SavedPath> {
        let jump = (saved_cwnd? / 2).min(max_jump.unwrap_or(Bytes::MAX));
        Some(SavedPath { jump, rtt: saved_rtt? })
    }

    /// Checks the three keys of a scenario.
    pub(crate) fn check(
        saved_cwnd: Option<Bytes>,
        saved_rtt: Option<Duration>,
        max_jump: Option<Bytes>,
    ) -> Result<(), OutOfRange> {
        if max_jump == Some(Bytes::ZERO) {
            return Err(OutOfRange::new("max_jump", Bytes::ZERO, "1 byte or more"));
        }
        match (saved_cwnd, saved_rtt) {
            (Some(Bytes::ZERO), _) => Err(OutOfRange::new("saved_cwnd", Bytes::ZERO, "1 byte or more")),
            (Some(cwnd), None) => Err(OutOfRange::new(
                "saved_cwnd",
                cwnd,
                "absent, or give `saved_rtt` as well: both tell the path",
            )),
            (None, Some(rtt)) => Err(OutOfRange::new(
                "saved_rtt",
                rtt,
                "absent, or give `saved_cwnd` as well: both tell the path",
            )),
            (Some(_), Some(rtt)) if rtt.is_zero() => Err(OutOfRange::new("saved_rtt", rtt, "more than 0 s")),
            _ => Ok(()),
        }
    }

    /// Whether the path with this least round trip may be the saved one.
    pub(crate) fn confirms(&self, min_rtt: Duration) -> bool {
        min_rtt * 2 > self.rtt && min_rtt <= self.rtt * LONGEST_RTT
    }
}
