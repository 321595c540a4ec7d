//! An AQM that a scenario puts into one of the two queues.

use windtunnel_units::Time;

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};

/// The AQM, and what it has been told.
#[derive(Debug)]
pub(super) struct Slot {
    aqm: Box<dyn Aqm>,
    /// It knows that its queue is empty.
    told_empty: bool,
}

impl Slot {
    pub(super) fn new(aqm: Box<dyn Aqm>) -> Slot {
        Slot { aqm, told_empty: false }
    }

    pub(super) fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        self.told_empty = false;
        self.aqm.on_enqueue(packet, queue)
    }

    pub(super) fn on_full(&mut self, now: Time) {
        self.aqm.on_full(now);
    }

    pub(super) fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        self.aqm.on_dequeue(packet, queue)
    }

    /// Its queue has no packet although the link is free. An AQM hears that once, however often the other queue sends
    /// meanwhile.
    pub(super) fn on_empty(&mut self, now: Time) {
        if !self.told_empty {
            self.aqm.on_empty(now);
            self.told_empty = true;
        }
    }

    pub(super) fn next_timer(&self) -> Option<Time> {
        self.aqm.next_timer()
    }

    pub(super) fn on_timer(&mut self, queue: &QueueView) {
        if self.aqm.next_timer().is_some_and(|next| next <= queue.now) {
            self.aqm.on_timer(queue);
        }
    }

    pub(super) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.probe(out);
    }
}

/// The more severe of two verdicts.
pub(super) const fn severer(a: Verdict, b: Verdict) -> Verdict {
    if severity(a) >= severity(b) { a } else { b }
}

const fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Pass => 0,
        Verdict::Mark(Signal::Sce) => 1,
        Verdict::Mark(Signal::Ce) => 2,
        Verdict::Drop => 3,
    }
}
