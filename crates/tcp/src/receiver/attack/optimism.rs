//! Optimistic ACKs: data are acknowledged before they have arrived.
//!
//! At fixed intervals the attacker acknowledges the next bytes, whether they have arrived or not. To the sender the round trip
//! seems short and nothing is ever lost, so that cwnd grows without a limit. An ACK of data that were not sent is ignored
//! (RFC 9293 section 3.10.7.4): the attacker therefore stays within a lead of what has arrived, which should be at most what
//! the sender has in flight. Data that the network loses are lost for good; an application would ask for them again.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::ack_policy::AckParams;
use crate::receiver::segment::Segment;

/// What an optimist has, as it says.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// The end of it.
    pub(super) end: Seq,
    /// What the last segment really brought.
    pub(super) news: Bytes,
}

#[derive(Debug)]
pub(super) struct Optimism {
    interval: Duration,
    step: Bytes,
    lead: Bytes,
    /// The end of what has arrived.
    highest: Seq,
    /// The end of what was acknowledged.
    claimed: Seq,
    due: Time,
}

impl Optimism {
    pub(super) fn new(params: &AckParams) -> Option<Optimism> {
        (!params.optimistic.is_zero()).then_some(Optimism {
            interval: params.optimistic,
            step: params.optimistic_step,
            lead: params.optimistic_lead,
            highest: Seq::FIRST_DATA,
            claimed: Seq::FIRST_DATA,
            due: Time::NEVER,
        })
    }

    pub(super) fn due(&self) -> Time {
        self.due
    }

    /// The attack ends.
    pub(super) fn stop(&mut self) {
        self.due = Time::NEVER;
    }

    /// A segment arrived.
    pub(super) fn on_segment(&mut self, segment: &Segment, now: Time) -> Claim {
        let new_from = self.highest.max(segment.seq).min(segment.end);
        self.highest = self.highest.max(segment.end);
        if self.due == Time::NEVER {
            self.due = now + self.interval;
        }
        Claim { end: self.claimed.max(self.highest), news: segment.end - new_from }
    }

    /// The next claim, if there is one. Without progress the claims stop until the next segment.
    pub(super) fn on_timer(&mut self, now: Time) -> Option<Seq> {
        if now < self.due {
            return None;
        }
        let limit = self.highest + self.lead;
        let claim = (self.claimed.max(self.highest) + self.step).min(limit);
        let progress = claim > self.claimed;
        self.claimed = claim.max(self.claimed);
        self.due = if progress { now + self.interval } else { Time::NEVER };
        progress.then_some(claim)
    }
}
