//! Times in which nothing passes. What comes then is lost, or waits for the end and leaves in order.

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Passage;
use super::due::InOrder;
use super::params::{OutageParams, OutageTime};

/// A medium that is down at certain times.
#[derive(Debug)]
pub(super) struct Outage {
    params: OutageParams,
    /// The outage that is under way, or the next one.
    next: usize,
    held: InOrder,
}

impl Outage {
    pub(super) fn new(mut params: OutageParams) -> Outage {
        // Outages that touch are one: what waits for the end of the first waits for that of the last.
        params.times.dedup_by(|later, earlier| {
            let touches = later.from == earlier.to;
            if touches {
                earlier.to = later.to;
            }
            touches
        });
        Outage { params, next: 0, held: InOrder::default() }
    }

    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        match self.current(now) {
            Some(_) if !self.params.hold => Passage::Lost(packet),
            Some(outage) => self.held.enter(packet, outage.to, now),
            None => self.held.enter(packet, now, now),
        }
    }

    pub(super) fn next_release(&self) -> Time {
        self.held.next_due()
    }

    pub(super) fn release(&mut self, now: Time) -> Option<Packet> {
        self.held.release(now)
    }

    fn current(&mut self, now: Time) -> Option<OutageTime> {
        while self.params.times.get(self.next).is_some_and(|outage| outage.to <= now) {
            self.next += 1;
        }
        self.params.times.get(self.next).copied().filter(|outage| outage.from <= now)
    }
}
