//! Generic receive offload: the network card's driver merges the packets that arrived since its last poll.
//!
//! spec/congestion-control section 1.16. The first packet after a poll schedules the next poll one poll period later
//! (the card's interrupt moderation); then all packets that have arrived are handed to TCP at once. Consecutive data
//! packets become one segment if the second starts where the first ends, their ECN fields and timestamps are equal
//! (the bytes of the options have to be the same, Linux `tcp_gro_receive`), and they carry no flag other than ACK.
//! ECT(1) that is a nonce is never merged: with a duplicate in front of it, its nonce would be lost. PSH or FIN ends a segment,
//! and so does the largest IP packet of 64 KiB. A segment of two packets or more is more than one full segment: TCP acknowledges
//! it once, so the ratio of packets to ACKs grows from 2 to 45.

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::Receiver;
use super::segment::Segment;
use super::stats::SegmentReport;
use crate::params::TcpParams;
use crate::timestamp_clock;

/// The length field of the IP header has 16 bits.
const MAX_IP_PACKET: Bytes = Bytes::new(65_535);

#[derive(Debug)]
pub(super) struct Gro {
    period: Duration,
    timestamps: bool,
    /// ECT(1) is a nonce: its segments are told apart.
    nonces: bool,
    /// The most data of a merged segment.
    most: Bytes,
    poll_at: Time,
    held: VecDeque<Segment>,
}

impl Gro {
    pub(super) fn new(period: Duration, params: &TcpParams, headers: Bytes) -> Gro {
        let (timestamps, nonces) = (params.timestamps, params.ecn_nonce);
        let most = MAX_IP_PACKET - headers;
        Gro { period, timestamps, nonces, most, poll_at: Time::NEVER, held: VecDeque::new() }
    }

    /// When the driver polls; [`Time::NEVER`] if there is nothing to poll for.
    pub(super) fn poll_at(&self) -> Time {
        self.poll_at
    }

    /// A packet arrived at the card.
    pub(super) fn take(&mut self, packet: &Packet, now: Time) {
        if self.held.is_empty() {
            self.poll_at = now + self.period;
        }
        let next = Segment::of(packet);
        let same_time = |last: &Segment| {
            !self.timestamps || timestamp_clock::ticks(last.ts_val) == timestamp_clock::ticks(next.ts_val)
        };
        let apart = self.nonces && next.ecn == Ecn::Ect1;
        let joins = |last: &Segment| !apart && merges(last, &next, self.most) && same_time(last);
        match self.held.back_mut().filter(|last| joins(last)) {
            Some(last) => {
                last.end = next.end;
                last.ack = next.ack;
                last.flags = next.flags;
                last.packets += 1;
            }
            None => self.held.push_back(next),
        }
    }

    /// The next segment of a poll.
    pub(super) fn poll(&mut self) -> Option<Segment> {
        self.poll_at = Time::NEVER;
        self.held.pop_front()
    }
}

impl Receiver {
    /// The card holds the packet until its driver polls.
    pub(super) fn on_offload(&mut self, packet: &Packet, now: Time) -> SegmentReport {
        let overdue = self.gro.as_ref().is_some_and(|gro| gro.poll_at() < now);
        let report = if overdue { self.poll_offload(now) } else { SegmentReport::default() };
        if let Some(gro) = &mut self.gro {
            gro.take(packet, now);
        }
        report
    }

    /// Hands over the packets that the card holds, if it is time.
    pub(super) fn poll_offload(&mut self, now: Time) -> SegmentReport {
        let mut report = SegmentReport::default();
        if self.gro.as_ref().is_some_and(|gro| gro.poll_at() <= now) {
            while let Some(segment) = self.gro.as_mut().and_then(|gro| gro.poll()) {
                report += self.receive(&segment, now);
            }
        }
        report
    }
}

fn merges(last: &Segment, next: &Segment, most: Bytes) -> bool {
    // All flags must be equal except PSH and FIN, which end a segment: with AccECN all may carry the same ACE field. CWR
    // is never merged, and neither is a FIN without data.
    let last_one = TcpFlags::PSH | TcpFlags::FIN;
    let ends = last_one | TcpFlags::CWR;
    last.end == next.seq
        && last.ecn == next.ecn
        && last.len() > Bytes::ZERO
        && next.without_fin().len() > Bytes::ZERO
        && last.flags.without(ends) == last.flags
        && next.flags.without(last_one) == last.flags
        && next.end - last.seq <= most
}
