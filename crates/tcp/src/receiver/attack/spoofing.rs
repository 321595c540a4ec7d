//! Duplicate ACKs that no segment caused.
//!
//! A sender in fast recovery takes each duplicate ACK for a segment that left the network and sends another one (Reno's
//! inflation): the attacker decides how much is sent. A sender that limits the inflation to what was outstanding (RFC 5681
//! section 3.2), or that counts what SACK reports, sends nothing more.

use windtunnel_units::{Bytes, Duration, Time};

use crate::ack_policy::AckParams;
use crate::receiver::segment::Segment;

#[derive(Debug)]
pub(super) struct Spoofing {
    count: u32,
    interval: Duration,
    next: Option<Time>,
}

impl Spoofing {
    pub(super) fn new(params: &AckParams) -> Option<Spoofing> {
        (params.duplicates > 0).then_some(Spoofing {
            count: params.duplicates,
            interval: params.duplicates_interval,
            next: None,
        })
    }

    /// How many copies of the present ACK follow this segment: once at the start, then once in each interval.
    pub(super) fn copies(&mut self, segment: &Segment, now: Time) -> u32 {
        if segment.len() == Bytes::ZERO || self.next.is_some_and(|next| now < next) {
            return 0;
        }
        self.next = Some(now + self.interval);
        self.count
    }
}
