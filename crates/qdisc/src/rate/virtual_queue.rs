//! A virtual queue: what would wait if a link of the policed rate were there, as a time. It is the token bucket's fill
//! deficit: a bucket of depth B at rate R that lacks x B of tokens is a virtual queue of x B / R.

use windtunnel_units::{Bytes, Duration, Rate, Time};

/// Backlog in time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct VirtualQueue {
    backlog: Duration,
    /// When it was that long.
    at: Time,
}

impl VirtualQueue {
    /// How long a packet would wait that arrives now.
    pub(super) fn wait(&self, now: Time) -> Duration {
        self.backlog.saturating_sub(now.since(self.at))
    }

    /// A packet joins.
    pub(super) fn add(&mut self, size: Bytes, rate: Rate, now: Time) {
        *self = VirtualQueue { backlog: self.wait(now) + rate.transfer_time(size), at: now };
    }

    /// How long it was when a packet joined last.
    pub(super) fn last(&self) -> Duration {
        self.backlog
    }
}
