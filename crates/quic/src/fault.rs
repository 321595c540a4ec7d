//! What a stack can be made to do wrong, so that a test of stacks can be seen to fail.
//!
//! The faults are at the socket: the stack inside is not changed. What its controller may do wrong needs no fault, since
//! one of windtunnel's controllers with other parameters can take its place.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::Ecn;

/// The time between two bursts of [`Fault::Bursts`]: a packet scheduler that is too coarse for pacing.
const BURST_INTERVAL: Duration = Duration::from_millis(20);

/// By how much [`Fault::LateProbes`] delays a timer.
const LATE: Duration = Duration::from_secs(1);

/// A timer that expires later than this after the last packet left is not that of the pacer.
const PROBES_FROM: Duration = Duration::from_millis(60);

/// What the hosts do wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// CE arrives as ECT(0), so that the receiver counts no marks.
    DeafToCe,
    /// Every packet has ECT(0), whatever the validation of ECN says (RFC 9000 section 13.4.2).
    AlwaysEct,
    /// Datagrams leave at once every 20 ms: there is no pacing (RFC 9002 section 7.7).
    Bursts,
    /// The sender's timers expire a second late if that is more than 60 ms after its last packet: there are no probes in
    /// time (RFC 9002 section 6.2).
    LateProbes,
}

impl Fault {
    /// The fault that the receiver has as well.
    pub(crate) fn of_receiver(self) -> Option<Fault> {
        (self != Fault::LateProbes).then_some(self)
    }
}

/// A host with a fault, or without.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Faulty {
    fault: Option<Fault>,
    /// When the next burst leaves.
    burst: Time,
    /// Datagrams wait for it.
    is_withholding: bool,
    last_sent: Time,
}

impl Faulty {
    pub(crate) fn new(fault: Option<Fault>) -> Faulty {
        Faulty { fault, ..Faulty::default() }
    }

    /// The ECN field that the stack sees of a packet.
    pub(crate) fn received(&self, ecn: Ecn) -> Ecn {
        if self.fault == Some(Fault::DeafToCe) && ecn == Ecn::Ce { Ecn::Ect0 } else { ecn }
    }

    /// The ECN field of a packet that the stack sends with `ecn` at `now`.
    pub(crate) fn sent(&mut self, ecn: Ecn, now: Time) -> Ecn {
        self.last_sent = now;
        if self.fault == Some(Fault::AlwaysEct) { Ecn::Ect0 } else { ecn }
    }

    /// Whether the stack may send now.
    pub(crate) fn may_send(&mut self, now: Time) -> bool {
        self.is_withholding = self.fault == Some(Fault::Bursts) && now < self.burst;
        !self.is_withholding
    }

    /// The stack has sent all that it may at `now`.
    pub(crate) fn drained(&mut self, now: Time) {
        if self.fault == Some(Fault::Bursts) {
            self.burst = now + BURST_INTERVAL;
        }
    }

    /// When a timer of the stack for `timer` expires.
    pub(crate) fn timer(&self, timer: Time) -> Time {
        match self.fault {
            Some(Fault::Bursts) if self.is_withholding => timer.min(self.burst),
            Some(Fault::LateProbes) if timer < Time::NEVER && timer > self.last_sent + PROBES_FROM => {
                timer + LATE
            }
            _ => timer,
        }
    }
}
