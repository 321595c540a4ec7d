//! What the sender's controller was told: the simulator's recorder reads it.
//!
//! The stacks say little about themselves from outside, but they tell their controller of every ACK and loss. A watcher
//! stands in front of the controller, passes each call on and notes it here. Connection and simulator hold the same
//! record; a run is one thread, so that the lock is always free. A *shadow* is told the same: one of windtunnel's
//! controllers that follows the stack's packets and decides nothing, so that both windows can be compared.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use windtunnel_cc::ExitReason;
use windtunnel_hosted::{Hosted, Marks};
use windtunnel_units::{Bytes, Duration, Rate};

/// What the controller was told so far.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// What follows the stack's packets and decides nothing.
    pub(crate) shadow: Option<Hosted>,
    /// The round-trip time of the newest packet acknowledged; its reader takes it.
    pub(crate) rtt: Option<Duration>,
    pub(crate) srtt: Duration,
    pub(crate) in_flight: Bytes,
    /// The connection had no data to send when the last ACK came.
    pub(crate) app_limited: bool,
    /// Packet bytes acknowledged.
    pub(crate) delivered: Bytes,
    /// Packet bytes declared lost.
    pub(crate) lost: Bytes,
    pub(crate) ssthresh: Option<Bytes>,
    /// What its pacer is told, if the controller sets a rate.
    pub(crate) pacing_rate: Option<Rate>,
    /// Recovery periods that a loss started (RFC 9002 section 7.3.2), whether or not the controller reduced its window.
    pub(crate) loss_episodes: u64,
    /// When the last of them started.
    recovery: Option<Instant>,
    /// No packet sent since then is acknowledged.
    pub(crate) is_recovering: bool,
    /// Why slow start ended, if the controller is one of windtunnel's, which says so.
    pub(crate) slow_start_exit: Option<ExitReason>,
    /// Expiries of the probe timeout, where the stack tells.
    pub(crate) probe_timeouts: Option<u64>,
    /// Reductions for CE.
    pub(crate) ecn_reductions: u64,
    /// Reductions that were undone, where the stack undoes any.
    pub(crate) undos: u64,
}

impl Seen {
    /// A packet leaves.
    pub(crate) fn sent(&mut self, now: Instant, bytes: u64) {
        self.in_flight += Bytes::new(bytes);
        if let Some(shadow) = &mut self.shadow {
            shadow.on_sent(now, bytes);
        }
    }

    /// A packet sent at `sent` was acknowledged.
    pub(crate) fn acknowledged(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        [srtt, min_rtt]: [std::time::Duration; 2],
    ) {
        self.is_recovering &= self.recovery.is_some_and(|start| sent <= start);
        self.rtt = Some((now - sent).into());
        self.srtt = srtt.into();
        self.delivered += Bytes::new(bytes);
        if let Some(shadow) = &mut self.shadow {
            shadow.on_acked(now, sent, bytes, app_limited, [srtt, min_rtt]);
        }
    }

    /// An ACK is processed. The controller now has this slow-start threshold and pacing rate, if it has any.
    pub(crate) fn ack_ended(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        (ssthresh, pacing_rate): (Option<u64>, Option<Rate>),
    ) {
        self.in_flight = Bytes::new(in_flight);
        self.app_limited = app_limited;
        self.ssthresh = ssthresh.filter(|ssthresh| *ssthresh != u64::MAX).map(Bytes::new);
        self.pacing_rate = pacing_rate;
        if let Some(shadow) = &mut self.shadow {
            shadow.on_ack_end(now, in_flight);
        }
    }

    /// Packets were lost, or were marked if none was lost: the newest of them left at `sent`.
    pub(crate) fn congested(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        self.lost += Bytes::new(lost);
        if lost > 0 && self.recovery.is_none_or(|start| sent > start) {
            (self.recovery, self.is_recovering) = (Some(now), true);
            self.loss_episodes += 1;
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.on_congestion(now, sent, is_persistent, lost);
        }
    }

    /// The packets whose loss started the recovery period have arrived after all.
    #[cfg_attr(not(feature = "noq"), expect(dead_code, reason = "quinn does not tell"))]
    pub(crate) fn spurious(&mut self) {
        self.undos += 1;
        if let Some(shadow) = &mut self.shadow {
            shadow.on_spurious();
        }
    }

    /// What else the controller was told, and what the shadow would do.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        let bytes = |bytes: Option<Bytes>| bytes.map_or(f64::NAN, Bytes::as_f64);
        out("ssthresh", bytes(self.ssthresh));
        out("lost", self.lost.as_f64());
        out("pacing_rate", self.pacing_rate.map_or(f64::NAN, |rate| rate.bits_per_sec() as f64));
        out("probe_timeouts", self.probe_timeouts.map_or(f64::NAN, |count| count as f64));
        match &self.shadow {
            // Among its numbers may be one of this name.
            None => out("in_flight_bytes", self.in_flight.as_f64()),
            Some(shadow) => {
                out("shadow_cwnd", shadow.window() as f64);
                out("shadow_ssthresh", bytes(shadow.ssthresh().map(Bytes::new)));
                shadow.probe(out);
            }
        }
    }
}

/// The record, shared by the controller's watcher and the sending half.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    seen: Arc<Mutex<Seen>>,
    /// Marks that the hosts count, on their way to a controller that hears each.
    pub(crate) marks: Option<Marks>,
}

impl Record {
    /// The record, to be read or written.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
