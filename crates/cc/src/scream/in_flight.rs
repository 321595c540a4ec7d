//! The most that was in flight, in this round trip and in the one before (section "Status Update When Sending Data").
//!
//! The amount in flight jumps when congestion starts; the round trip before tells what the path carried without it.

use windtunnel_units::{Duration, Time};

/// The most in flight, in bytes.
#[derive(Debug, Default)]
pub(super) struct MaxInFlight {
    pub(super) current: f64,
    pub(super) previous: f64,
    /// When this round trip started.
    since: Option<Time>,
}

impl MaxInFlight {
    pub(super) fn update(&mut self, in_flight: f64, now: Time, srtt: Duration) {
        if now.since(*self.since.get_or_insert(now)) >= srtt {
            self.previous = self.current;
            self.current = 0.0;
            self.since = Some(now);
        }
        self.current = self.current.max(in_flight);
    }

    pub(super) const fn most(&self) -> f64 {
        self.current.max(self.previous)
    }
}
