//! CNQ's rule: a flow is sparse if nothing of it is queued (spec/queues-and-signalling section 11).
//!
//! Together with each packet in the sparse band, a dummy joins the bulk band. It keeps the flow's place there, and
//! vanishes when its turn comes: a flow that sends again before the bulk band has moved on by as much is not sparse.
//! Dummies are not packets: each has the number of bulk packets before it, and its turn comes when that many have left.

use std::collections::VecDeque;

use windtunnel_wire::{FlowId, Packet};

use super::{BULK, Gone, SPARSE, SparseRule};
use crate::accounts::QueueCx;
use crate::flows::Classifier;

/// The queued packets of each flow.
#[derive(Debug)]
pub(crate) struct Presence {
    classifier: Classifier,
    /// Packets and dummies of each flow that has been met.
    present: Vec<u32>,
    dummies: VecDeque<Dummy>,
    /// Packets that have entered the bulk band so far, and that have left it.
    entered: u64,
    left: u64,
}

/// A flow's place in the bulk band.
#[derive(Clone, Copy, Debug)]
struct Dummy {
    /// How many packets had entered the bulk band before it.
    before: u64,
    flow: u32,
}

impl Presence {
    pub(crate) fn new(classifier: Classifier) -> Presence {
        Presence { classifier, present: Vec::new(), dummies: VecDeque::new(), entered: 0, left: 0 }
    }

    fn slot(&mut self, flow: FlowId) -> usize {
        let slot = self.classifier.band_of(flow);
        if slot == self.present.len() {
            self.present.push(0);
        }
        slot
    }

    /// How many packets and dummies of a flow are queued.
    #[cfg(test)]
    fn of(&mut self, flow: u32) -> u32 {
        let slot = self.slot(FlowId::new(flow));
        self.present[slot]
    }
}

impl SparseRule for Presence {
    fn is_sparse(&mut self, packet: &Packet, _cx: &QueueCx) -> bool {
        let slot = self.slot(packet.flow);
        self.present[slot] == 0
    }

    fn stored(&mut self, flow: FlowId, band: usize) {
        let slot = self.slot(flow);
        self.present[slot] += 1;
        if band == SPARSE {
            self.present[slot] += 1;
            self.dummies.push_back(Dummy { before: self.entered, flow: slot as u32 });
        } else {
            self.entered += 1;
        }
    }

    fn left(&mut self, gone: Gone) {
        let slot = self.slot(gone.flow);
        self.present[slot] -= 1;
        self.left += u64::from(gone.band == BULK);
    }

    fn bulk_turn(&mut self) {
        while let Some(dummy) = self.dummies.front().filter(|dummy| dummy.before <= self.left) {
            self.present[dummy.flow as usize] -= 1;
            self.dummies.pop_front();
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("dummies", self.dummies.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Bytes;

    use super::*;
    use crate::flows::{Buckets, FlowHash};

    fn left(rule: &mut Presence, flow: u32, band: usize) {
        rule.left(Gone { flow: FlowId::new(flow), size: Bytes::new(1), band, served: true });
    }

    /// A dummy keeps its place: behind two bulk packets it vanishes when both have left, and no earlier.
    #[test]
    fn dummies_keep_their_place() {
        let classifier = Classifier::new(FlowHash::Perfect, Buckets::Scaled(1), 1);
        let mut rule = Presence::new(classifier);
        let [bulk, sparse] = [FlowId::new(0), FlowId::new(1)];
        rule.stored(bulk, BULK);
        rule.stored(bulk, BULK);
        rule.stored(sparse, SPARSE);
        assert_eq!((rule.of(0), rule.of(1)), (2, 2));
        left(&mut rule, 1, SPARSE);
        for (n, (packets, dummy)) in [(2, 1), (1, 1), (0, 0)].into_iter().enumerate() {
            if n > 0 {
                left(&mut rule, 0, BULK);
            }
            rule.bulk_turn();
            assert_eq!((rule.of(0), rule.of(1)), (packets, dummy), "{n}");
        }
        assert!(rule.dummies.is_empty());
    }
}
