//! The round trips of a window of data, as Vegas measures them.
//!
//! The least round trip ever (base) stands for an empty queue, the least of the last window of data for the queue of
//! now. Times are in whole microseconds, one more than measured, so that none is zero (spec/congestion-control section
//! 3.9).

use windtunnel_units::{Duration, Seq};

use crate::sample::PathView;

/// Greater than any round trip: none was measured.
const UNKNOWN: u64 = 0x7fff_ffff;

/// Fewer samples than this can be delayed ACKs alone.
const ENOUGH: u32 = 3;

/// Round trips, in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrips {
    base: u64,
    least: u64,
    samples: u32,
    /// The window of data ends with an ACK beyond this.
    end: Seq,
}

impl RoundTrips {
    pub(super) const fn new() -> RoundTrips {
        RoundTrips { base: UNKNOWN, least: UNKNOWN, samples: 0, end: Seq::SYN }
    }

    /// Forgets the path.
    pub(super) fn forget(&mut self, path: &PathView) {
        self.forget_base();
        self.start_round(path);
    }

    /// Forgets all round trips, but not how many samples there were.
    pub(super) const fn forget_base(&mut self) {
        self.base = UNKNOWN;
        self.least = UNKNOWN;
    }

    /// A window of data starts with what is sent next.
    pub(super) fn start_round(&mut self, path: &PathView) {
        *self = RoundTrips { base: self.base, end: path.nxt, ..RoundTrips::new() };
    }

    /// True if the window of data is acknowledged.
    pub(super) fn ends_round(&self, path: &PathView) -> bool {
        path.una > self.end
    }

    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt = (rtt.as_nanos() / 1000 + 1).min(UNKNOWN);
        self.base = self.base.min(rtt);
        self.least = self.least.min(rtt);
        self.samples += 1;
    }

    /// True if there are enough samples of this window of data.
    pub(super) const fn suffice(&self) -> bool {
        self.samples >= ENOUGH
    }

    /// Forgets the least round trip of this window of data, but not how many samples there were.
    pub(super) const fn forget_least(&mut self) {
        self.least = UNKNOWN;
    }

    /// The least round trip ever, in microseconds.
    pub(super) const fn base_us(&self) -> u64 {
        self.base
    }

    /// The least round trip of this window of data, in microseconds.
    pub(super) const fn least_us(&self) -> u64 {
        self.least
    }

    /// The least round trip ever, in seconds; none is NaN.
    pub(super) fn base_s(&self) -> f64 {
        seconds(self.base)
    }
}

fn seconds(us: u64) -> f64 {
    if us == UNKNOWN { f64::NAN } else { us as f64 * 1e-6 }
}
