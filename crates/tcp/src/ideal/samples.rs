//! Delivery-rate samples for controllers of the ideal profile that ask for them, taken by the same sampler as in the
//! TCP with loss. A connection without losses needs no scoreboard, so this file keeps what the sampler needs to know
//! about each segment, in the order in which segments leave and are acknowledged.

use std::collections::VecDeque;

use windtunnel_cc::rate_sample::{RateSampler, Sample, Snapshot};
use windtunnel_units::{Bytes, Duration, Seq, Time};

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Flying {
    sent: Time,
    end: Seq,
    snapshot: Snapshot,
}

/// The sampler and the segments in flight.
#[derive(Debug)]
pub(crate) struct Samples {
    sampler: RateSampler,
    flying: VecDeque<Flying>,
}

impl Samples {
    pub(crate) fn new() -> Samples {
        Samples { sampler: RateSampler::new(true), flying: VecDeque::new() }
    }

    /// `payload` up to `end` leaves; `in_flight` was in the network before it.
    pub(crate) fn on_sent(&mut self, now: Time, end: Seq, payload: Bytes, in_flight: Bytes) {
        let snapshot = self.sampler.on_sent(now, payload, in_flight);
        self.flying.push_back(Flying { sent: now, end, snapshot });
    }

    /// Everything up to `una` is delivered, `delivered` of it by this ACK.
    pub(crate) fn on_ack(&mut self, now: Time, una: Seq, delivered: Bytes, min_rtt: Duration) -> Sample {
        while let Some(segment) = self.flying.front().filter(|segment| segment.end <= una) {
            self.sampler.on_delivered(segment.sent, segment.end, &segment.snapshot);
            self.flying.pop_front();
        }
        self.sampler.finish(now, delivered, min_rtt)
    }

    /// From now on the data sent understate what the path could deliver; `in_flight` is in the network.
    pub(crate) fn on_app_limited(&mut self, in_flight: Bytes) {
        self.sampler.on_app_limited(in_flight);
    }

    /// The memory of the segments in flight.
    pub(crate) fn memory(&self) -> Bytes {
        Bytes::new((self.flying.capacity() * size_of::<Flying>()) as u64)
    }

    pub(crate) const fn is_app_limited(&self) -> bool {
        self.sampler.is_app_limited()
    }
}
