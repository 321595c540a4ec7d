//! ECN nonces at the sender (RFC 3540, historic since RFC 8311): a receiver shows that it got what it acknowledges, unmarked.
//!
//! Each new segment leaves as ECT(0) or ECT(1), at random: a nonce of one bit. Its receiver keeps the sum, modulo 2, of
//! the nonces of everything below its ACK number, and returns it in the flag NS (now AE). CE overwrites the code point,
//! and what is lost never shows it: a receiver that conceals a mark or a loss, or acknowledges before data arrive, has
//! to guess. Each guess is right with probability 1/2, and k guesses with 2^-k. A sum starts at 1, so that a receiver
//! that knows no nonces is told from one that does.
//!
//! What an honest receiver cannot know is not checked, and its next sum is taken as it is (sections 4 to 6, "resynchronisation"):
//!
//! - where the ACK passes a segment that was sent again: a retransmission has no nonce, and either may have arrived;
//! - with ECE: the mark is reported, and its nonce is lost;
//! - from CWR on. CWR clears the receiver's latch, and with it the report of a CE that arrived before. All segments that were sent before
//!   the ACK of CWR can be among these, so that sums count again from an ACK that covers them all.
//!
//! RFC 3540 leaves the answer to the sender. Here a wrong sum is the sign of a concealed loss or mark: the window is reduced as for
//! a mark, and falls to one segment (spec/congestion-control section 5). The receiver stays under watch. A path that changes code
//! points conceals marks too, and is answered in the same way.

use std::collections::VecDeque;

use windtunnel_algorithm::RandomStream;
use windtunnel_units::{Probability, Seq};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::Progress;
use super::rfc3168::{Cwr, hears_ce};

/// While sums are not checked.
#[derive(Clone, Copy, Debug, Default)]
struct Doubt {
    /// The end of the last segment with CWR.
    cwr: Option<Seq>,
    /// SND.NXT when that was acknowledged.
    until: Option<Seq>,
}

/// The nonces of a sender, and what it makes of the sums.
#[derive(Debug)]
pub(super) struct Nonces {
    pub(super) cwr: Cwr,
    seed: u64,
    random: Option<RandomStream>,
    /// The first bytes of the segments that left as ECT(1) and are not acknowledged, in order.
    odd: VecDeque<Seq>,
    /// The sum of everything acknowledged, as the receiver gave it.
    sum: bool,
    doubt: Option<Doubt>,
    wrong: bool,
}

impl Nonces {
    pub(super) fn new(seed: u64) -> Nonces {
        Nonces {
            cwr: Cwr::default(),
            seed,
            random: None,
            odd: VecDeque::new(),
            sum: true,
            doubt: None,
            wrong: false,
        }
    }

    /// A new segment leaves, as ECT(0) so far. The connections of a flow have one seed, but start at different times.
    pub(super) fn stamp(&mut self, packet: &mut Packet) {
        let cwr = self.cwr.take();
        packet.flags |= cwr;
        if cwr != TcpFlags::NONE {
            self.doubt = Some(Doubt { cwr: Some(packet.seq + packet.payload()), until: None });
        }
        let seed = self.seed ^ packet.ts_val.as_nanos();
        let random = self.random.get_or_insert_with(|| RandomStream::new(seed));
        if packet.ecn == Ecn::Ect0 && random.chance(Probability::clamped(0.5)) {
            packet.ecn = Ecn::Ect1;
            // A segment that was left out leaves after those above it.
            let position = self.odd.partition_point(|start| *start < packet.seq);
            self.odd.insert(position, packet.seq);
        }
    }

    /// The segment stamped last leaves without a nonce.
    pub(super) fn withdraw(&mut self, seq: Seq) {
        if self.odd.back() == Some(&seq) {
            self.odd.pop_back();
        }
    }

    /// An ACK arrived. True if it reports CE, or if its sum is wrong.
    pub(super) fn hear(&mut self, packet: &Packet, progress: Progress) -> bool {
        let ece = hears_ce(packet.flags);
        if ece {
            self.doubt.get_or_insert_default().until = None;
        }
        if !progress.advanced {
            return ece;
        }
        let acked = self.odd.partition_point(|start| *start < packet.ack);
        let expected = self.sum ^ (acked % 2 == 1);
        self.odd.drain(..acked);
        self.sum = packet.flags.contains(TcpFlags::AE);
        if !ece && self.is_checked(packet.ack, progress) && self.sum != expected {
            self.wrong = true;
        }
        ece || self.wrong
    }

    /// An ACK without ECE says what the nonces were.
    fn is_checked(&mut self, ack: Seq, progress: Progress) -> bool {
        let Some(doubt) = &mut self.doubt else { return !progress.retransmitted };
        match doubt.until {
            Some(until) if ack >= until => self.doubt = None,
            None if doubt.cwr.is_none_or(|cwr| ack >= cwr) => doubt.until = Some(progress.nxt),
            Some(_) | None => {}
        }
        false
    }

    /// A sum was wrong, once.
    pub(super) fn take_wrong(&mut self) -> bool {
        std::mem::take(&mut self.wrong)
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Bytes, Time};
    use windtunnel_wire::FlowId;

    use super::super::Amount;
    use super::*;

    const MSS: Bytes = Bytes::new(1000);

    /// A new segment that starts at `seq` leaves.
    fn stamped(nonces: &mut Nonces, seq: u64, ecn: Ecn) -> Packet {
        let mut packet = Packet::new(FlowId::new(0), MSS, MSS);
        (packet.seq, packet.ecn) = (Seq::new(seq), ecn);
        nonces.stamp(&mut packet);
        packet
    }

    /// An ACK with this sum, while `nxt` is SND.NXT. Returns whether it reports CE or a wrong sum, and whether its
    /// sum is wrong.
    fn hears(nonces: &mut Nonces, ack: u64, sum: bool, ece: bool, nxt: u64) -> (bool, bool) {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(52), Bytes::ZERO);
        packet.ack = Seq::new(ack);
        packet.flags = TcpFlags::ACK.with_if(TcpFlags::AE, sum).with_if(TcpFlags::ECE, ece);
        let progress = Progress {
            advanced: true,
            delivered: Amount::one(MSS),
            ts_recent: Time::ZERO,
            sack: true,
            retransmitted: false,
            nxt: Seq::new(nxt),
        };
        (nonces.hear(&packet, progress), nonces.take_wrong())
    }

    const RIGHT: (bool, bool) = (false, false);
    const WRONG: (bool, bool) = (true, true);

    /// RFC 3540 sections 4 to 6, without any nonces, so that the sum has to stay: while ECE is set and up to the ACK
    /// of all that was sent before the first ACK without it, sums are not checked. Then the last one is taken as it
    /// is, and the next is checked.
    #[test]
    fn resynchronisation_after_ece() {
        let mut nonces = Nonces::new(1);
        assert_eq!(hears(&mut nonces, 1000, true, false, 5000), RIGHT);
        assert_eq!(hears(&mut nonces, 2000, false, true, 5000), (true, false), "a mark, whatever the sum");
        for (ack, sum) in [(3000, true), (5000, false), (5500, true), (6000, false)] {
            assert_eq!(hears(&mut nonces, ack, sum, false, ack + 3000), RIGHT, "{ack}");
        }
        assert_eq!(hears(&mut nonces, 7000, true, false, 9000), WRONG);
        assert_eq!(hears(&mut nonces, 8000, true, false, 9000), RIGHT, "taken as it is");
    }

    /// CWR may clear a report that the sender has not seen: from it on, sums are not checked up to the ACK of all
    /// that was sent before the ACK of the segment with CWR.
    #[test]
    fn resynchronisation_after_cwr() {
        let mut nonces = Nonces::new(1);
        nonces.cwr.due = true;
        assert!(stamped(&mut nonces, 1000, Ecn::NotEct).flags.contains(TcpFlags::CWR));
        for (ack, sum, nxt) in [
            (1000, false, 3000),
            (2000, true, 4000),
            (3000, false, 6000),
            (3500, true, 6000),
            (4000, false, 6000),
        ] {
            assert_eq!(hears(&mut nonces, ack, sum, false, nxt), RIGHT, "{ack}");
        }
        assert_eq!(hears(&mut nonces, 5000, true, false, 9000), WRONG);
    }

    /// A segment that leaves without its nonce after all, as a window probe does, counts as ECT(0); a segment without
    /// one changes nothing.
    #[test]
    fn withdrawn() {
        for (withdraws, sum) in [(true, true), (false, false)] {
            let mut nonces = Nonces::new(1);
            let starts: Vec<u64> = (0..64).map(|n| 1 + 1000 * n).collect();
            let odd = starts.into_iter().find(|seq| stamped(&mut nonces, *seq, Ecn::Ect0).ecn == Ecn::Ect1);
            let odd = odd.expect("one of 64 is ECT(1)");
            nonces.withdraw(Seq::new(if withdraws { odd } else { odd + 1000 }));
            assert_eq!(hears(&mut nonces, odd + 1000, sum, false, odd + 1000), RIGHT, "{withdraws}");
        }
    }
}
