//! LFQ's rule: a flow that sends at most one MTU between two sweeps is sparse (spec/queues-and-signalling section 11).
//!
//! A flow pays for what it sends. One that has overdrawn is given an MTU and is skipped until the next sweep; a flow
//! that is queued, has overdrawn, or is skipped is not sparse. LFQ sweeps whenever it has scanned its bulk band once
//! ([`crate::Lfq`]). In a bulk band that is first in, first out ([`DeficitRule`]), a scan is the time until all packets
//! have left that were in it at the sweep before.

use windtunnel_units::Bytes;
use windtunnel_wire::{FlowId, Packet};

use super::{BULK, Gone, SparseRule};
use crate::accounts::QueueCx;
use crate::flows::Classifier;

/// A flow's account.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Its packets in both bands.
    backlog: u32,
    /// Bytes that it may still send before it is skipped.
    deficit: i64,
    skip: bool,
    /// Something has happened to it since the last sweep.
    dirty: bool,
}

/// The accounts of all flows.
#[derive(Debug)]
pub(crate) struct Deficits {
    classifier: Classifier,
    accounts: Vec<Account>,
    dirty: Vec<u32>,
    mtu: i64,
}

impl Deficits {
    pub(crate) fn new(classifier: Classifier, mtu: Bytes) -> Deficits {
        let mtu = mtu.get().cast_signed();
        Deficits { classifier, accounts: Vec::new(), dirty: Vec::new(), mtu }
    }

    /// The account of a flow: accounts have numbers in the order in which their flows are met.
    #[inline]
    pub(crate) fn of(&mut self, flow: FlowId) -> usize {
        let account = self.classifier.band_of(flow);
        if account == self.accounts.len() {
            self.accounts.push(Account::default());
        }
        account
    }

    /// How many accounts there are.
    pub(crate) fn len(&self) -> usize {
        self.accounts.len()
    }

    #[inline]
    pub(crate) fn is_sparse(&self, account: usize) -> bool {
        let Account { backlog, deficit, skip, .. } = self.accounts[account];
        backlog == 0 && deficit >= 0 && !skip
    }

    #[inline]
    pub(crate) fn skips(&self, account: usize) -> bool {
        self.accounts[account].skip
    }

    #[inline]
    pub(crate) fn backlog(&self, account: usize) -> u32 {
        self.accounts[account].backlog
    }

    #[inline]
    pub(crate) fn arrived(&mut self, account: usize) {
        self.accounts[account].backlog += 1;
        self.touch(account);
    }

    /// A packet has left; the flow pays for it if it was served.
    #[inline]
    pub(crate) fn left(&mut self, account: usize, size: Bytes, served: bool) {
        let mtu = self.mtu;
        let flow = &mut self.accounts[account];
        flow.backlog -= 1;
        if served {
            flow.deficit -= size.get().cast_signed();
            if flow.deficit < 0 {
                flow.skip = true;
                flow.deficit += mtu;
            }
        }
        self.touch(account);
    }

    /// Skipped flows are no longer skipped; a flow without packets that was not has its account settled.
    pub(crate) fn sweep(&mut self) {
        for account in self.dirty.drain(..) {
            let flow = &mut self.accounts[account as usize];
            if flow.skip {
                flow.skip = false;
            } else if flow.backlog == 0 {
                flow.deficit = 0;
            }
            flow.dirty = false;
        }
    }

    /// Flows that the next sweep looks at.
    pub(crate) fn dirty(&self) -> usize {
        self.dirty.len()
    }

    #[inline]
    fn touch(&mut self, account: usize) {
        if !std::mem::replace(&mut self.accounts[account].dirty, true) {
            self.dirty.push(account as u32);
        }
    }
}

/// The rule in front of a bulk band that is first in, first out.
#[derive(Debug)]
pub(crate) struct DeficitRule {
    deficits: Deficits,
    /// Packets that have entered the bulk band so far, and that have left it.
    entered: u64,
    left: u64,
    /// The next sweep is when this many have left.
    sweep_at: u64,
}

impl DeficitRule {
    pub(crate) fn new(deficits: Deficits) -> DeficitRule {
        DeficitRule { deficits, entered: 0, left: 0, sweep_at: 0 }
    }
}

impl SparseRule for DeficitRule {
    fn is_sparse(&mut self, packet: &Packet, _cx: &QueueCx) -> bool {
        let account = self.deficits.of(packet.flow);
        self.deficits.is_sparse(account)
    }

    fn stored(&mut self, flow: FlowId, band: usize) {
        let account = self.deficits.of(flow);
        self.deficits.arrived(account);
        self.entered += u64::from(band == BULK);
    }

    fn left(&mut self, gone: Gone) {
        let account = self.deficits.of(gone.flow);
        self.deficits.left(account, gone.size, gone.served);
        self.left += u64::from(gone.band == BULK);
    }

    fn bulk_turn(&mut self) {
        if self.left >= self.sweep_at {
            self.deficits.sweep();
            self.sweep_at = self.entered;
        }
    }

    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("dirty_flows", self.deficits.dirty() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flows::{Buckets, FlowHash};
    use crate::sparse::SPARSE;

    /// By hand, with an MTU of 1500: a packet of 600 overdraws an empty account, and leaves 900 after it. The sweep ends
    /// the skipping; the next packet leaves 300 and no skipping, and the next sweep settles the account of a flow without
    /// packets.
    #[test]
    fn an_account() {
        let classifier = Classifier::new(FlowHash::Perfect, Buckets::Scaled(1), 1);
        let mut deficits = Deficits::new(classifier, Bytes::new(1_500));
        let flow = deficits.of(FlowId::new(7));
        let mut states = Vec::new();
        let mut sends = |deficits: &mut Deficits| {
            deficits.arrived(flow);
            deficits.left(flow, Bytes::new(600), true);
            states.push((deficits.accounts[flow].deficit, deficits.skips(flow)));
            deficits.sweep();
            states.push((deficits.accounts[flow].deficit, deficits.skips(flow)));
        };
        sends(&mut deficits);
        sends(&mut deficits);
        assert_eq!(states, [(900, true), (900, false), (300, false), (0, false)]);
        // What was lost costs nothing.
        deficits.arrived(flow);
        assert!(!deficits.is_sparse(flow));
        deficits.left(flow, Bytes::new(600), false);
        assert!(deficits.is_sparse(flow));
    }

    /// A flow that has sent exactly what it may has not overdrawn: it is not skipped, and its account is settled with
    /// the next sweep (spec/queues-and-signalling section 11: `deficit < 0`). What a sweep looks at is what happened
    /// since the last.
    #[test]
    fn an_mtu_exactly() {
        let classifier = Classifier::new(FlowHash::Perfect, Buckets::Scaled(1), 1);
        let mut deficits = Deficits::new(classifier, Bytes::new(1_500));
        let flow = deficits.of(FlowId::new(7));
        assert_eq!((deficits.len(), deficits.dirty()), (1, 0));
        for (size, deficit, skips) in [(600, 900, true), (900, 0, false)] {
            (0..2).for_each(|_| deficits.arrived(flow));
            assert_eq!(deficits.dirty(), 1, "once, however often");
            deficits.left(flow, Bytes::new(size), true);
            deficits.left(flow, Bytes::new(size), false);
            assert_eq!((deficits.accounts[flow].deficit, deficits.skips(flow)), (deficit, skips));
            deficits.sweep();
            assert_eq!(deficits.dirty(), 0);
        }
        deficits.of(FlowId::new(3));
        assert_eq!(deficits.len(), 2);
    }

    /// In front of a FIFO, a sweep comes when all packets have left that were in it at the sweep before. Only packets
    /// of the bulk band count.
    #[test]
    fn sweeps_of_a_fifo() {
        let classifier = Classifier::new(FlowHash::Perfect, Buckets::Scaled(1), 1);
        let mut rule = DeficitRule::new(Deficits::new(classifier, Bytes::new(1_500)));
        let gone = |flow, band| Gone { flow: FlowId::new(flow), size: Bytes::new(600), band, served: true };
        rule.stored(FlowId::new(0), BULK);
        rule.stored(FlowId::new(0), BULK);
        rule.stored(FlowId::new(1), SPARSE);
        rule.bulk_turn();
        assert_eq!((rule.entered, rule.left, rule.sweep_at), (2, 0, 2));
        let mut dirty = Vec::new();
        for (flow, band) in [(1, SPARSE), (0, BULK), (0, BULK)] {
            rule.left(gone(flow, band));
            rule.bulk_turn();
            dirty.push(rule.deficits.dirty());
        }
        // Flow 1 is examined together with flow 0, when both of its packets have left.
        assert_eq!((rule.left, dirty), (2, vec![1, 2, 0]));
    }
}
