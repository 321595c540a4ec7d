//! The AQMs of LFQ's bulk band: one for all flows, or one for each.

use std::sync::Arc;

use windtunnel_units::{Bytes, Time};

use crate::aqm::{Aqm, PacketView, QueueView, Signal, Verdict};
use crate::discipline::Backlog;
use crate::params::{AqmInit, AqmParams, QueueInit};

/// An AQM, and what it manages.
#[derive(Debug)]
struct Instance {
    aqm: Box<dyn Aqm>,
    held: Backlog,
}

/// The AQMs. The first is that of all flows; where each flow has its own it sees no packets and keeps the time, because
/// a queue with a timer always names its next call.
#[derive(Debug)]
pub(crate) struct BulkAqms {
    instances: Vec<Instance>,
    per_flow: bool,
    params: Arc<dyn AqmParams>,
    init: AqmInit,
}

impl BulkAqms {
    pub(crate) fn new(params: Arc<dyn AqmParams>, per_flow: bool, init: &QueueInit) -> BulkAqms {
        let init = init.aqm();
        let first = Instance { aqm: params.build(&init), held: Backlog::default() };
        BulkAqms { instances: vec![first], per_flow, params, init }
    }

    pub(crate) const fn per_flow(&self) -> bool {
        self.per_flow
    }

    /// A packet of a flow arrives, perhaps for the first time.
    #[inline]
    pub(crate) fn meet(&mut self, flow: usize, now: Time) {
        if self.per_flow && flow + 1 == self.instances.len() {
            self.add(now);
        }
    }

    #[cold]
    fn add(&mut self, now: Time) {
        /// 2^64 divided by the golden ratio: seeds of successive AQMs differ in all bits (Knuth).
        const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
        let seed = self.init.seed.wrapping_add((self.instances.len() as u64).wrapping_mul(GOLDEN));
        let init = AqmInit { seed, now, age: self.init.age + now.since_start(), ..self.init };
        self.instances.push(Instance { aqm: self.params.build(&init), held: Backlog::default() });
    }

    #[inline]
    fn instance(&mut self, flow: usize) -> &mut Instance {
        let index = if self.per_flow { flow + 1 } else { 0 };
        &mut self.instances[index]
    }

    /// The AQM of a flow.
    #[inline]
    pub(crate) fn of(&mut self, flow: usize) -> &mut Box<dyn Aqm> {
        &mut self.instance(flow).aqm
    }

    /// What the AQM of a flow manages.
    #[inline]
    pub(crate) fn held(&mut self, flow: usize) -> Backlog {
        self.instance(flow).held
    }

    /// A packet of a flow has been stored.
    #[inline]
    pub(crate) fn entered(&mut self, flow: usize, size: Bytes) {
        let held = &mut self.instance(flow).held;
        held.packets += 1;
        held.bytes += size;
    }

    /// A packet of a flow has left: its AQM, and what that manages now.
    #[inline]
    pub(crate) fn left(&mut self, flow: usize, size: Bytes) -> (&mut Box<dyn Aqm>, Backlog) {
        let Instance { aqm, held } = self.instance(flow);
        held.packets -= 1;
        held.bytes -= size;
        (aqm, *held)
    }

    /// A flow has no packets.
    pub(crate) fn idle(&mut self, flow: usize, now: Time) {
        self.instance(flow).aqm.on_empty(now);
    }

    /// No flow has packets, and the link is free.
    pub(crate) fn all_idle(&mut self, now: Time) {
        if !self.per_flow {
            self.instances[0].aqm.on_empty(now);
        }
    }

    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.instances.iter().filter_map(|instance| instance.aqm.next_timer()).min()
    }

    /// Calls the timers that are due.
    pub(crate) fn on_timer(&mut self, now: Time, view: impl Fn(Backlog) -> QueueView) {
        for Instance { aqm, held } in &mut self.instances {
            if aqm.next_timer().is_some_and(|next| next <= now) {
                aqm.on_timer(&view(*held));
            }
        }
    }

    /// The numbers of the AQM of all flows; AQMs of flows have none in results.
    pub(crate) fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        if !self.per_flow {
            self.instances[0].aqm.probe(out);
        }
    }
}

/// The AQM for a flow's last packet, which is not dropped, but keeps its mark: a drop that leaves nothing behind it to
/// tell of it would cost a timeout.
#[derive(Debug)]
pub(crate) struct LastOfFlow<'a>(pub(crate) &'a mut Box<dyn Aqm>);

impl Aqm for LastOfFlow<'_> {
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        match self.0.on_dequeue(packet, queue) {
            Verdict::Drop => Verdict::Pass,
            Verdict::Mark(Signal::Ce) if !packet.markable() => Verdict::Pass,
            verdict => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aqm::BrickWallParams;
    use crate::limit::Limit;

    /// What an AQM manages is what has entered and not left, of its flow or of all.
    #[test]
    fn held() {
        let backlog = |packets, bytes| Backlog { packets, bytes: Bytes::new(bytes) };
        for (per_flow, expected) in
            [(true, [backlog(1, 1_500), backlog(1, 100)]), (false, [backlog(2, 1_600), backlog(2, 1_600)])]
        {
            let init = QueueInit::new(Limit::Unlimited, 1);
            let mut aqms = BulkAqms::new(Arc::new(BrickWallParams::default()), per_flow, &init);
            (0..2).for_each(|flow| aqms.meet(flow, Time::ZERO));
            for (flow, size) in [(0, 500), (1, 100), (0, 1_500)] {
                aqms.entered(flow, Bytes::new(size));
            }
            let left = aqms.left(0, Bytes::new(500)).1;
            assert_eq!((left, [0, 1].map(|flow| aqms.held(flow))), (expected[0], expected));
        }
    }
}
