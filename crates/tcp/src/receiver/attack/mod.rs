//! Receivers that misbehave to make their sender faster, one file per attack.
//!
//! Savage, Cardwell, Wetherall and Anderson, "TCP congestion control with a misbehaving receiver" (1999);
//! spec/congestion-control section 5. None of them needs the sender's help: an ACK is believed. What defends a sender
//! is how it counts (whole segments, not ACKs) and how far it inflates its window.

mod division;
mod optimism;
mod spoofing;

use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::TcpFlags;

use self::division::Division;
use self::optimism::{Claim, Optimism};
use self::spoofing::Spoofing;
use super::segment::Segment;
use super::{Due, Receiver, SegmentReport};
use crate::ack_policy::AckParams;

/// The attacks of a receiver.
#[derive(Debug)]
pub(super) struct Attack {
    division: Division,
    spoofing: Option<Spoofing>,
    optimism: Option<Optimism>,
}

impl Attack {
    /// None for an honest receiver.
    pub(super) fn new(params: &AckParams) -> Option<Box<Attack>> {
        let attack = Attack {
            division: Division::new(params),
            spoofing: Spoofing::new(params),
            optimism: Optimism::new(params),
        };
        let honest = attack.division.is_honest() && attack.spoofing.is_none() && attack.optimism.is_none();
        (!honest).then(|| Box::new(attack))
    }

    /// When it acts without a segment.
    pub(super) fn due(&self) -> Time {
        self.optimism.as_ref().map_or(Time::NEVER, Optimism::due)
    }

    /// True if it has a timer.
    pub(super) fn has_timer(&self) -> bool {
        self.optimism.is_some()
    }
}

impl Receiver {
    /// A segment arrived at an attacker.
    #[cold]
    pub(super) fn receive_as_attacker(&mut self, segment: &Segment, now: Time) -> SegmentReport {
        if let Some(claim) = self.claim(segment, now) {
            return self.receive_claimed(segment, claim);
        }
        let report = self.receive_honestly(segment, now);
        let spoofing = self.attack.as_mut().and_then(|attack| attack.spoofing.as_mut());
        let copies = spoofing.map_or(0, |spoofing| spoofing.copies(segment, now));
        for _ in 0..copies {
            let (ack, ts_ecr) = (self.rcv_nxt, self.timestamps.echo());
            self.stats.acks += 1;
            let flags = self.feedback.flags(self.delayed_ack.mark(), self.rcv_nxt);
            let window = self.window.repeat();
            self.due.push_back(Due { seq: self.close.snd_nxt(), ack, ts_ecr, extras: None, window, flags });
        }
        report
    }

    /// What an optimist claims with this segment; none for others, and for a segment that ends the connection, with which
    /// it becomes honest.
    fn claim(&mut self, segment: &Segment, now: Time) -> Option<Claim> {
        let optimism = self.attack.as_mut()?.optimism.as_mut()?;
        if segment.len() == Bytes::ZERO {
            return None;
        }
        if segment.has_fin() {
            self.rcv_nxt = segment.seq;
            self.timestamps.retract_acks_above(segment.without_fin().end);
            optimism.stop();
            return None;
        }
        Some(optimism.on_segment(segment, now))
    }

    /// An optimist has what it claims, as far as ACKs tell; data that are missing below are missing for good.
    fn receive_claimed(&mut self, segment: &Segment, claim: Claim) -> SegmentReport {
        self.accept(segment);
        self.delayed_ack.on_ack_sent();
        self.rcv_nxt = self.rcv_nxt.max(claim.end);
        self.stats.delivered += claim.news;
        self.stats.duplicates += u64::from(claim.news == Bytes::ZERO);
        let duplicate = segment.len() - claim.news;
        SegmentReport { delivered: claim.news, duplicate, out_of_order: false }
    }

    /// The attacker's timer: the next claim leaves.
    #[cold]
    pub(super) fn attack_on_timer(&mut self, now: Time) {
        let optimism = self.attack.as_mut().and_then(|attack| attack.optimism.as_mut());
        let Some(claim) = optimism.and_then(|optimism| optimism.on_timer(now)) else { return };
        self.rcv_nxt = self.rcv_nxt.max(claim);
        self.acknowledge();
    }

    /// An attacker's ACK of everything below `ack` is due: those of the pieces before it come first.
    #[cold]
    pub(super) fn divide(&mut self, seq: Seq, ack: Seq, ts_ecr: Time, window: u16, flags: TcpFlags) {
        let Some(attack) = &self.attack else { return };
        let last = self.timestamps.last_ack_sent();
        for ack in attack.division.steps(last, ack, self.segment_size.estimate()) {
            self.stats.acks += 1;
            let flags = self.feedback.flags_of_part(flags, ack);
            self.due.push_back(Due { seq, ack, ts_ecr, extras: None, window, flags });
        }
    }
}
