//! RED for each flow of sfq, as in Linux since 3.3 (`redflowlimit` and the keys that go with it).
//!
//! Source: Linux `sch_sfq`; tc-sfq(8); spec/queues-and-signalling section 13. A flow that has packets has RED's average of
//! its own bytes ([`crate::Red`]). It starts anew with each time that the flow becomes active, so it knows no idle time, and
//! the packet that makes the flow active is not examined. With `headdrop` the oldest packet of the flow is marked or
//! dropped in place of the arriving one: the sender hears of it a queueing delay earlier.

use windtunnel_units::Bytes;

use crate::aqm::{Aqm, NoAqm, PacketView, QueueView, Red, RedParams, Verdict};
use crate::limit::Limit;
use crate::params::AqmInit;

/// The AQM of a flow.
pub(super) trait FlowAqm: Aqm {
    /// What the verdict on the packet that has just arrived does to the oldest one of the flow instead.
    fn for_oldest(&mut self) -> Option<Verdict> {
        None
    }
}

impl FlowAqm for NoAqm {}

impl FlowAqm for Box<dyn Aqm> {}

/// The RED of a flow.
#[derive(Debug)]
pub(super) struct FlowRed {
    red: Red,
    headdrop: bool,
    for_oldest: Option<Verdict>,
}

impl FlowRed {
    pub(super) fn new(params: RedParams, limit: Bytes, headdrop: bool, init: &AqmInit) -> FlowRed {
        let init = AqmInit { limit: Limit::Bytes(limit), ..*init };
        FlowRed { red: Red::new(params, &init), headdrop, for_oldest: None }
    }
}

impl FlowAqm for FlowRed {
    fn for_oldest(&mut self) -> Option<Verdict> {
        self.for_oldest.take()
    }
}

impl Aqm for FlowRed {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView) -> Verdict {
        if queue.packets == 0 {
            self.red.restart();
            return Verdict::Pass;
        }
        let verdict = self.red.on_enqueue(packet, queue);
        if self.headdrop && verdict != Verdict::Pass {
            self.for_oldest = Some(verdict);
            return Verdict::Pass;
        }
        verdict
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        self.red.probe(out);
    }
}
