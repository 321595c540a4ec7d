//! What the sender's controller was told: the simulator's recorder reads it.
//!
//! The stacks say little about themselves from outside, but they tell their controller of every ACK and loss. A watcher
//! stands in front of the controller, passes each call on and notes it here. Connection and simulator hold the same
//! record; a run is one thread, so that the lock is always free.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use windtunnel_cc::ExitReason;
use windtunnel_units::{Bytes, Duration};

use crate::clock::duration;

/// What the controller was told so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// The round-trip time of the newest packet acknowledged; its reader takes it.
    pub(crate) rtt: Option<Duration>,
    pub(crate) srtt: Duration,
    pub(crate) in_flight: Bytes,
    /// The connection had no data to send when the last ACK came.
    pub(crate) app_limited: bool,
    /// Packet bytes acknowledged.
    pub(crate) delivered: Bytes,
    pub(crate) ssthresh: Option<Bytes>,
    /// Recovery periods that a loss started (RFC 9002 section 7.3.2), whether or not the controller reduced its window.
    pub(crate) loss_episodes: u64,
    /// When the last of them started.
    recovery: Option<Instant>,
    /// Why slow start ended, if the controller is one of windtunnel's, which says so.
    pub(crate) slow_start_exit: Option<ExitReason>,
    /// Reductions for CE.
    pub(crate) ecn_reductions: u64,
    /// Reductions that were undone, where the stack undoes any.
    pub(crate) undos: u64,
}

impl Seen {
    /// A packet sent at `sent` was acknowledged.
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        srtt: std::time::Duration,
    ) {
        self.rtt = Some(duration(now - sent));
        self.srtt = duration(srtt);
        self.delivered += Bytes::new(bytes);
    }

    /// An ACK is processed.
    pub(crate) fn ack_ended(&mut self, in_flight: u64, app_limited: bool, ssthresh: Option<u64>) {
        self.in_flight = Bytes::new(in_flight);
        self.app_limited = app_limited;
        self.ssthresh = ssthresh.filter(|ssthresh| *ssthresh != u64::MAX).map(Bytes::new);
    }

    /// A packet sent at `sent` was lost.
    pub(crate) fn lost(&mut self, now: Instant, sent: Instant) {
        if self.recovery.is_none_or(|start| sent > start) {
            self.recovery = Some(now);
            self.loss_episodes += 1;
        }
    }
}

/// The record, shared by the controller's watcher and the sending half.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record(Arc<Mutex<Seen>>);

impl Record {
    /// The record, to be read or written.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
