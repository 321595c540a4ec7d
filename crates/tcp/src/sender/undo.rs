//! Undoing reductions that answered no real loss.
//!
//! Two proofs that a retransmission was needless: the ACK echoes a timestamp from before the first retransmission, so
//! the original arrived (Eifel, RFC 3522); or D-SACK reports every retransmission of the episode as a duplicate (RFC
//! 2883, RFC 3708). Then the state before the reduction is restored, but never after an echo of CE: that congestion
//! was real. Linux `net/ipv4/tcp_input.c`, `tcp_may_undo`; spec/congestion-control section 1.12.

use windtunnel_units::{Seq, Time};
use windtunnel_wire::SackBlock;

use super::Sender;
use super::ack::Ack;

/// The retransmissions of an episode, and how many of them were needless.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// SND.UNA when the episode started; none if there is nothing to undo.
    marker: Option<Seq>,
    /// CE showed congestion as well.
    forbidden: bool,
    retransmissions: u64,
    duplicates: u64,
    first_retransmission: Option<Time>,
}

impl Undo {
    /// An episode starts; `out` retransmissions are already in the network. If the previous episode is not over, its
    /// first retransmission remains the reference: a segment shown to be an original arrived before all of them.
    pub(crate) fn begin(&mut self, una: Seq, out: u64) {
        let first_retransmission = self.first_retransmission;
        *self = Undo { marker: Some(una), retransmissions: out, first_retransmission, ..Undo::default() };
    }

    /// There is nothing to undo any more.
    pub(crate) fn clear(&mut self) {
        self.marker = None;
    }

    /// CE was echoed.
    pub(crate) fn forbid(&mut self) {
        self.forbidden = true;
    }

    /// No retransmission is outstanding: later retransmissions are a new case.
    pub(crate) fn settle(&mut self) {
        self.first_retransmission = None;
    }

    /// A segment was sent again, not by a probe.
    pub(crate) fn on_retransmitted(&mut self, now: Time) {
        self.first_retransmission = self.first_retransmission.or(Some(now));
        self.retransmissions += 1;
    }

    /// A block was reported as received twice, and `segments` of it had been sent again.
    pub(crate) fn on_dsack(&mut self, block: SackBlock, segments: u64) {
        if self.marker.is_some_and(|marker| block.end > marker) {
            self.duplicates += segments;
        }
    }

    /// Every retransmission was a duplicate.
    fn all_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions > 0 && self.duplicates >= self.retransmissions
    }

    /// The ACK was caused by a transmission from before the first retransmission.
    fn original_arrived(&self, echo: Option<Time>) -> bool {
        matches!((self.marker, echo, self.first_retransmission), (Some(_), Some(echo), Some(first)) if echo < first)
    }
}

impl Sender {
    /// D-SACK has shown the whole episode to be needless.
    pub(super) fn needless_by_dsack(&self) -> bool {
        self.params.undo && self.undo.all_duplicates()
    }

    /// A timestamp shows that the original of a segment that counted as lost has arrived.
    pub(super) fn original_arrived(&self, ack: &Ack) -> bool {
        self.params.undo && ack.advanced && self.undo.original_arrived(ack.echo)
    }

    /// Restores the state before the episode's reduction.
    pub(super) fn undo_reduction(&mut self, ack: &Ack) {
        if !self.undo.forbidden && self.undo.marker.is_some() {
            let path = self.path(ack.now);
            self.cc.on_undo(&path);
            self.ecn.withdraw_cwr();
            self.stats.undos += 1;
            self.validation.undone();
        }
        self.validation.restart(ack.now);
        self.undo.clear();
    }

    /// Nothing is lost after all.
    pub(super) fn unmark_lost(&mut self) {
        self.board.unmark_lost();
        if let Some(rfc6675) = &mut self.rfc6675 {
            rfc6675.reset();
        }
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Duration;

    use super::*;

    /// A second timeout in one recovery: data sent between the two timeouts are not originals of the first flight, so
    /// an ACK of them undoes nothing (seen in what Linux 6.18 transmits; `retrans_stamp`). It would if the recovery
    /// were over.
    #[test]
    fn the_first_retransmission_remains_the_first() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        for (over, undone) in [(false, false), (true, true)] {
            let mut undo = Undo::default();
            undo.begin(Seq::new(1), 0);
            undo.on_retransmitted(at(500));
            if over {
                undo.settle();
            }
            undo.begin(Seq::new(1000), 0);
            undo.on_retransmitted(at(1500));
            assert_eq!(undo.original_arrived(Some(at(1200))), undone);
        }
    }

    /// Every copy has to be reported, including one that a probe sent before.
    #[test]
    fn all_copies() {
        let block = |start, end| SackBlock { start: Seq::new(start), end: Seq::new(end) };
        let mut undo = Undo::default();
        undo.begin(Seq::new(1000), 1);
        undo.on_retransmitted(Time::ZERO);
        undo.on_dsack(block(1, 1000), 1);
        undo.on_dsack(block(1000, 2000), 1);
        assert!(!undo.all_duplicates(), "the first block is of an earlier episode");
        undo.on_dsack(block(2000, 3000), 1);
        assert!(undo.all_duplicates());
    }
}
