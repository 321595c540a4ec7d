//! More accurate ECN feedback: the data sender (RFC 9768).
//!
//! It keeps mirrors of the receiver's counters and, from each ACK, computes by how much they have grown. The ACE field has 3
//! bits: if an ACK acknowledges eight packets or more, the counter may have gone round. Then the sender assumes the safest
//! likely case (section 3.2.2.5.2): without the option, that all of them were marked that can have been; with it, the bytes
//! marked tell how often the counter went round, even if lost ACKs and too few SACK blocks hide part of what arrived.
//!
//! It sends no CWR. An ACK that another has superseded is not read (section 3.2.3.1): its counters are older than the
//! mirrors, and the difference would be taken for a counter that has gone round.

use std::cmp::Ordering;

use windtunnel_cc::{EcnFeedback, Marked};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{ACE_MODULUS, AccEcnOption, AccEcnOrder, COUNTER_MODULUS, Ecn, Packet, TcpFlags};

use super::{Progress, bytes_of};
use crate::receiver::{INITIAL_CEP, INITIAL_E0B, INITIAL_E1B, handshake_code, handshake_ecn};
use crate::timestamp_clock;

/// The code of a SYN/ACK that is reserved: a client treats it as AccECN with a SYN that arrived unchanged (section 3.1.3).
const RESERVED: u8 = 0b101;

/// The number of SACK blocks that always fit next to an option (section 3.2.3.3).
const BLOCKS_NEXT_TO_OPTION: usize = 2;

/// CE marks on packets without data that ask for an ACK (section 3.2.2.5.1).
const CE_WHILE_SILENT: u32 = 3;

/// No bound on the packets that an ACK may be for.
const UNKNOWN: u32 = u32::MAX;

/// What the ACKs since the last option said. The next option says how many bytes were marked in all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// By how much the ACE field has grown, modulo 8.
    least: u32,
    acked: u32,
    /// What the controller was told. It may be more than was marked: that is made up for later.
    told: Marked,
}

/// The sender's mirrors of the receiver's counters, and what the handshake said.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the handshake and the path")]
#[derive(Debug)]
pub(super) struct AccEcn {
    mss: Bytes,
    /// `s.cep` modulo 8.
    cep: u32,
    /// `s.ceb`, `s.e0b` and `s.e1b` modulo 2^24.
    ceb: u32,
    e0b: u32,
    e1b: u32,
    /// Since the last option.
    span: Span,
    /// What no [`AccEcn::take_counts`] has taken.
    counts: EcnFeedback,
    /// No ACK has been read.
    first: bool,
    /// A first option with a zeroed counter: options are ignored (section 3.2.3.2.4).
    ignores_options: bool,
    /// A first ACE field of zero: all feedback is ignored (section 3.2.2.4).
    ignores_feedback: bool,
    distrusts_path: bool,
    mangled_syn: bool,
    marked_syn: bool,
    /// How the latest SYN/ACK arrived.
    syn_ack: Ecn,
    /// `r.cep` of this end, whose peer sends no data but may send ECN-capable ACKs.
    own_cep: u32,
    /// By how much it has grown since the last packet that reported it.
    unreported: u32,
}

impl AccEcn {
    /// The mode that a SYN/ACK agrees to (table 2), of a SYN that was `sent` with this ECN field; nothing if it agrees to less.
    pub(super) fn agreed(mss: Bytes, sent: Ecn, syn_ack: &Packet) -> Option<AccEcn> {
        let code = syn_ack.flags.ace();
        let syn = handshake_ecn(code);
        if syn.is_none() && code != RESERVED {
            return None;
        }
        let option = syn_ack.options().and_then(|options| options.accecn);
        let zeroed = |counter: Option<u32>| counter == Some(0);
        let mut accecn = AccEcn {
            mss,
            cep: INITIAL_CEP,
            ceb: 0,
            e0b: INITIAL_E0B,
            e1b: INITIAL_E1B,
            span: Span::default(),
            counts: EcnFeedback::default(),
            first: true,
            ignores_options: option.is_some_and(|option| zeroed(option.ect0()) || zeroed(option.ect1())),
            ignores_feedback: false,
            distrusts_path: false,
            mangled_syn: syn.is_some_and(|ecn| !is_valid(sent, ecn)),
            marked_syn: syn == Some(Ecn::Ce) && is_valid(sent, Ecn::Ce),
            syn_ack: Ecn::NotEct,
            own_cep: INITIAL_CEP,
            unreported: 0,
        };
        accecn.on_syn_ack(syn_ack.ecn);
        Some(accecn)
    }

    /// A SYN/ACK arrived: a CE on it is counted, once however often it comes (section 3.2.2.2).
    pub(super) fn on_syn_ack(&mut self, ecn: Ecn) {
        self.syn_ack = ecn;
        if ecn == Ecn::Ce {
            self.own_cep = INITIAL_CEP + 1;
        }
    }

    /// The SYN, which was ECN-capable, had CE when it arrived.
    pub(super) fn syn_was_marked(&self) -> bool {
        self.marked_syn
    }

    /// The SYN's ECN field had changed on its way, and not by a mark.
    pub(super) fn syn_was_mangled(&self) -> bool {
        self.mangled_syn
    }

    /// What was heard shows that the path or the receiver cannot be trusted with ECN: data are sent Not-ECT.
    pub(super) fn distrusts_path(&self) -> bool {
        self.distrusts_path
    }

    /// Flags and option of the ACK of the SYN/ACK (section 3.2.2.1, table 3).
    pub(super) fn third_ack(&self) -> (TcpFlags, AccEcnOption) {
        let option = AccEcnOption::new(AccEcnOrder::Zero, 3, INITIAL_E0B, 0, INITIAL_E1B);
        (TcpFlags::ACK.with_ace(handshake_code(self.syn_ack)), option)
    }

    /// The ACE field of a packet that leaves.
    #[inline]
    pub(super) fn ace(&mut self) -> TcpFlags {
        self.unreported = 0;
        TcpFlags::NONE.with_ace((self.own_cep % ACE_MODULUS) as u8)
    }

    /// Enough marks have arrived for a packet of their own: three while this end is `silent`, and before the field can go round in
    /// any case.
    pub(super) fn owes_ack(&self, silent: bool) -> bool {
        self.unreported >= if silent { CE_WHILE_SILENT } else { ACE_MODULUS - 1 }
    }

    /// An ACK arrived. True if it reports CE.
    pub(super) fn hear(&mut self, packet: &Packet, progress: Progress) -> bool {
        if packet.ecn == Ecn::Ce {
            self.own_cep = self.own_cep.wrapping_add(1);
            self.unreported += 1;
        }
        let ace = u32::from(packet.flags.ace());
        if std::mem::take(&mut self.first) && ace == 0 {
            self.ignores_feedback = true;
            self.distrusts_path = true;
        }
        let option = packet.options().and_then(|options| options.accecn);
        let option = option.filter(|_| !self.ignores_options);
        if self.ignores_feedback || self.is_superseded(packet.ts_val, option.as_ref(), progress) {
            return false;
        }
        if let Some(counter) = option.and_then(|option| option.ect0()) {
            self.e0b = counter;
        }
        if let Some(counter) = option.and_then(|option| option.ect1()) {
            let bytes = Bytes::new(grown(&mut self.e1b, counter, COUNTER_MODULUS).into());
            let packets = bytes.get().div_ceil(self.mss.get()) as u32;
            add(&mut self.counts.ect1, Marked { bytes, packets });
        }
        // A counter that has ever changed is in every option with room for it (section 3.2.3.3).
        let reported = option.and_then(|option| option.ce().or((self.ceb == 0).then_some(0)));
        let reported = reported.map(|counter| grown(&mut self.ceb, counter, COUNTER_MODULUS));
        let reported = reported.map(|bytes| Bytes::new(bytes.into()));
        let blocks = packet.options().map_or(0, |options| options.sack.as_slice().len());
        // With as many blocks as there was room for, or without SACK, more may have arrived than the ACKs that came have shown.
        let hides_some = !progress.sack || blocks >= BLOCKS_NEXT_TO_OPTION;
        self.hear_ce(ace, reported, progress.delivered.segments as u32, hides_some)
    }

    /// Another ACK that left the receiver after this one has arrived before it.
    ///
    /// An ACK that moves SND.UNA left after all that came before. Of two others, timestamps tell which is the older as far as
    /// their ticks differ. Within a tick and without timestamps, an ACK that delivers nothing may be older: it is not read,
    /// as in Linux, because the next one repeats the counters. One that delivers something may still be older, where its
    /// SACK blocks report data for which later ACKs had no room. Then a counter of the option that has gone back shows it.
    fn is_superseded(&self, ts_val: Time, option: Option<&AccEcnOption>, progress: Progress) -> bool {
        if progress.advanced {
            return false;
        }
        match timestamp_clock::ticks(ts_val).cmp(&timestamp_clock::ticks(progress.ts_recent)) {
            Ordering::Less => true,
            Ordering::Greater => false,
            Ordering::Equal if progress.delivered.is_zero() => true,
            Ordering::Equal => option.is_some_and(|option| self.is_behind(option)),
        }
    }

    /// A counter of the option is less than its mirror. Counters never decrease, so that half a turn or more forward is a
    /// step back.
    fn is_behind(&self, option: &AccEcnOption) -> bool {
        let mirrors = [(option.ce(), self.ceb), (option.ect0(), self.e0b), (option.ect1(), self.e1b)];
        mirrors.into_iter().any(|(counter, mut mirror)| {
            counter.is_some_and(|counter| grown(&mut mirror, counter, COUNTER_MODULUS) >= COUNTER_MODULUS / 2)
        })
    }

    /// The ACE field, and bytes that the option reports as marked. `hides_some`: the counters may include packets that
    /// no ACK has acknowledged yet, so that it is not certain how often the field went round (section 3.2.3.2.5).
    fn hear_ce(&mut self, ace: u32, reported: Option<Bytes>, acked: u32, hides_some: bool) -> bool {
        let least = grown(&mut self.cep, ace, ACE_MODULUS);
        let span = &mut self.span;
        span.least = (span.least + least) % ACE_MODULUS;
        span.acked += acked;
        let news = if let Some(bytes) = reported {
            let most = if hides_some { UNKNOWN } else { span.acked };
            let packets = safest_likely(span.least, most, reported, self.mss);
            if packets == 0 && bytes > Bytes::ZERO {
                // Section 3.2.3.2.5: bytes were marked, but no packet. Something on the path writes into the header.
                self.distrusts_path = true;
            }
            let told = span.told;
            *span = Span::default();
            span.told = beyond(told, Marked { bytes, packets });
            beyond(Marked { bytes, packets }, told)
        } else {
            let packets = safest_likely(least, acked, None, self.mss);
            let estimate = Marked { bytes: bytes_of(packets, self.mss), packets };
            add(&mut span.told, estimate);
            estimate
        };
        add(&mut self.counts.ce, news);
        news.packets > 0
    }

    /// What was heard since the last [`AccEcn::take_counts`].
    pub(super) const fn counts(&self) -> EcnFeedback {
        self.counts
    }

    /// What was heard since the last call.
    pub(super) fn take_counts(&mut self) -> EcnFeedback {
        std::mem::take(&mut self.counts)
    }
}

/// A network may do this to an ECN field: leave it, mark what is ECN-capable, or write one ECN-capable code point over the other
/// (section 3.2.2.3; only Not-ECT from or to something else is a transition that shows a fault).
fn is_valid(sent: Ecn, arrived: Ecn) -> bool {
    sent == arrived || (sent != Ecn::NotEct && arrived != Ecn::NotEct)
}

/// The least amount by which a counter can have grown if its low bits are now `counter`. The mirror follows.
fn grown(mirror: &mut u32, counter: u32, modulus: u32) -> u32 {
    let growth = (counter + modulus - *mirror % modulus) % modulus;
    *mirror = counter;
    growth
}

/// What `marked` is more than `other`.
fn beyond(marked: Marked, other: Marked) -> Marked {
    Marked {
        bytes: marked.bytes.saturating_sub(other.bytes),
        packets: marked.packets.saturating_sub(other.packets),
    }
}

fn add(sum: &mut Marked, marked: Marked) {
    sum.bytes += marked.bytes;
    sum.packets += marked.packets;
}

/// The number of marked packets that an ACK reports if its ACE field has grown by `least`, modulo 8 (section 3.2.2.5.2,
/// appendix A.2).
///
/// If it acknowledges fewer than eight packets, the field has not gone round; nor if it has grown by more than it
/// acknowledges, where packets without data were marked. Otherwise the safe case is the largest number that fits into what
/// it acknowledges. With the bytes that were marked, it is the least number that makes no packet larger than the maximum
/// segment: on average, what the appendix tests for.
fn safest_likely(least: u32, acked: u32, bytes: Option<Bytes>, mss: Bytes) -> u32 {
    if acked < ACE_MODULUS || acked <= least {
        return least;
    }
    let safer = acked - (acked - least) % ACE_MODULUS;
    let Some(bytes) = bytes else { return safer };
    let beyond = bytes.saturating_sub(bytes_of(least, mss));
    let rounds = beyond.get().div_ceil(bytes_of(ACE_MODULUS, mss).get()) as u32;
    (least + rounds * ACE_MODULUS).min(safer)
}

#[cfg(test)]
mod tests {
    use windtunnel_units::Seq;
    use windtunnel_wire::FlowId;

    use super::super::Amount;
    use super::*;

    const MSS: Bytes = Bytes::new(1460);

    /// RFC 9768 appendix A.2.1: an ACK for 9 packets with an increment of 2 reports 2 (9 - (9 - 2) mod 8); one for 10 packets
    /// may report 10. Beyond them by the same formula: 8 packets and no increment may be 8; 44 packets, 36.
    #[test]
    fn without_the_option() {
        for (least, acked, packets) in
            [(2, 9, 2), (2, 10, 10), (0, 8, 8), (0, 7, 0), (7, 7, 7), (4, 44, 44), (5, 44, 37), (7, 3, 7)]
        {
            assert_eq!(safest_likely(least, acked, None, MSS), packets, "{least} of {acked}");
        }
    }

    /// RFC 9768 appendix A.2.2, its three examples: no increment and 1460 bytes: the field went round; 2 and 1460 bytes: it
    /// did not; 7 and 10,200 bytes: it did not. The ACK is for the packets that make the safe case.
    #[test]
    fn with_the_option() {
        for (least, acked, bytes, packets) in
            [(0, 8, 1460, 8), (2, 10, 1460, 2), (7, 15, 10_200, 7), (4, 44, 20 * 1460, 20), (0, 44, 0, 0)]
        {
            let bytes = Some(Bytes::new(bytes));
            assert_eq!(safest_likely(least, acked, bytes, MSS), packets, "{least} of {acked}");
        }
    }

    /// RFC 9768 appendix A.1: `s.ceb` is 33,554,433 and ECEB is 1461: 1460 bytes were marked.
    #[test]
    fn counters_of_bytes() {
        let mut mirror = 33_554_433 % COUNTER_MODULUS;
        assert_eq!(grown(&mut mirror, 1461, COUNTER_MODULUS), 1460);
        let mut mirror = COUNTER_MODULUS - 100;
        assert_eq!(grown(&mut mirror, 1348, COUNTER_MODULUS), 1448, "over the top");
    }

    /// A connection whose SYN left as Not-ECT and arrived so.
    fn agreed() -> AccEcn {
        let mut syn_ack = Packet::new(FlowId::new(0), Bytes::new(52), Bytes::ZERO);
        syn_ack.flags = TcpFlags::SYN.with_ace(0b010);
        AccEcn::agreed(MSS, Ecn::NotEct, &syn_ack).expect("AccECN")
    }

    /// An ACK with this ACE field and ECN field, and what it brings: it moves SND.UNA if it delivers a segment.
    fn hears(accecn: &mut AccEcn, ace: u8, ecn: Ecn, segments: u64) -> bool {
        let mut packet = Packet::new(FlowId::new(0), Bytes::new(52), Bytes::ZERO);
        packet.flags = TcpFlags::ACK.with_ace(ace);
        packet.ecn = ecn;
        let delivered = Amount { segments, bytes: MSS * segments };
        let progress = Progress {
            advanced: segments > 0,
            delivered,
            ts_recent: Time::ZERO,
            sack: true,
            retransmitted: false,
            nxt: Seq::FIRST_DATA,
        };
        accecn.hear(&packet, progress)
    }

    /// Section 3.2.2.5.1: three CE marks on packets without data ask for an ACK while there is nothing else to send,
    /// and at most seven in any case; a packet that leaves reports them.
    #[test]
    fn marks_that_ask_for_an_ack() {
        let mut accecn = agreed();
        for marks in 0..=8 {
            assert_eq!([accecn.owes_ack(true), accecn.owes_ack(false)], [marks >= 3, marks >= 7], "{marks}");
            hears(&mut accecn, 5, Ecn::Ce, 1);
        }
        assert_eq!(accecn.ace(), TcpFlags::NONE.with_ace((5 + 9) % 8));
        assert_eq!([accecn.owes_ack(true), accecn.owes_ack(false)], [false, false]);
    }

    /// An ACK reports CE if the counter has grown. One of the same tick that delivers nothing may be older, and is
    /// not read: its 5 after a 6 would be seven marks.
    #[test]
    fn an_older_ack_of_the_same_tick() {
        let mut accecn = agreed();
        assert!(!hears(&mut accecn, 5, Ecn::NotEct, 1), "nothing was marked");
        assert!(hears(&mut accecn, 6, Ecn::NotEct, 1));
        assert!(!hears(&mut accecn, 5, Ecn::NotEct, 0));
        assert!(!hears(&mut accecn, 6, Ecn::NotEct, 1));
        assert_eq!(accecn.take_counts().ce.packets, 1);
    }
}
