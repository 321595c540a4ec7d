//! More accurate ECN feedback: the data receiver (RFC 9768).
//!
//! It counts packets that arrive with CE, and bytes of payload by code point. Each ACK repeats the count of packets modulo
//! 8 in the ACE field (section 3.2.2), and the counts of bytes modulo 2^24 in an option if any has changed (section 3.2.3).
//! Nothing is latched and nothing is lost with an ACK: the next one says it again. So that the 3-bit counter is not
//! ambiguous, an ACK leaves at the first CE after another code point and at every second CE (section 3.2.2.5.1). Linux
//! acknowledges at once every change of the code point (`tcp_ecn_received_counters`): the section asks for no less, and by section 6
//! "a different mark" is what preserves the order of marks.

use windtunnel_units::Bytes;
use windtunnel_wire::{AccEcnOption, AccEcnOrder, Ecn, TcpFlags};

use super::{Answer, News};
use crate::receiver::segment::Segment;

/// Initial values (section 3.2.1): not zero, so that a zeroed field shows, and equal at both ends.
pub(crate) const INITIAL_CEP: u32 = 5;
pub(crate) const INITIAL_E0B: u32 = 1;
pub(crate) const INITIAL_E1B: u32 = 1;

/// CE marks since the last ACK that ask for one, `n` of section 3.2.2.5.1: with data that wait for an ACK, and without.
const CE_WITH_DATA: u32 = 2;
const CE_WITHOUT_DATA: u32 = 3;

/// The codes of AE, CWR and ECE that report an ECN field during the handshake: on a SYN/ACK (table 2) and on the ACK that
/// answers it (table 3).
pub(crate) const fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

/// The ECN field that a code of the handshake reports; nothing for a code that reports none.
pub(crate) const fn handshake_ecn(code: u8) -> Option<Ecn> {
    match code {
        0b010 => Some(Ecn::NotEct),
        0b011 => Some(Ecn::Ect1),
        0b100 => Some(Ecn::Ect0),
        0b110 => Some(Ecn::Ce),
        _ => None,
    }
}

/// Whether a SYN asks for AccECN: all three flags do, and so does every combination that was not in use before (section
/// 3.1.3).
pub(super) fn is_asked_for(syn: TcpFlags) -> bool {
    const NO_ECN: u8 = 0b000;
    const CLASSIC: u8 = 0b011;
    !matches!(syn.ace(), NO_ECN | CLASSIC)
}

/// The option, and the NOPs that fill it up to a multiple of four bytes.
pub(crate) fn option_size(option: &AccEcnOption) -> Bytes {
    Bytes::new(u64::from(option.length()).next_multiple_of(4))
}

fn size_of_fields(fields: u8) -> Bytes {
    let length = AccEcnOption::BASE_LENGTH + AccEcnOption::FIELD_LENGTH * fields;
    Bytes::new(u64::from(length).next_multiple_of(4))
}

/// A counter of bytes.
#[derive(Clone, Copy, Debug)]
struct ByteCount {
    bytes: u32,
    /// It has changed at some time during the connection.
    used: bool,
    /// It has changed since the last option.
    fresh: bool,
}

impl ByteCount {
    const fn new(bytes: u32) -> ByteCount {
        ByteCount { bytes, used: false, fresh: false }
    }

    fn add(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.wrapping_add(bytes.get() as u32);
        self.used = true;
        self.fresh = true;
    }
}

/// Where the handshake is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// SYN-RCVD.
    Answered,
    Established,
}

/// The counters of the data receiver, and what this end, as a data sender, learns in the handshake.
#[derive(Debug)]
pub(in crate::receiver) struct AccEcn {
    /// Packets with CE: `r.cep`.
    cep: u32,
    /// Bytes with CE, ECT(0) and ECT(1): `r.ceb`, `r.e0b`, `r.e1b`.
    ceb: ByteCount,
    e0b: ByteCount,
    e1b: ByteCount,
    stage: Stage,
    answers: u32,
    /// The ECN field of the packet before, at first that of the SYN.
    last: Ecn,
    /// CE marks that no ACK has reported.
    unreported: u32,
    syn_ack: Option<Ecn>,
}

impl AccEcn {
    pub(super) fn new() -> AccEcn {
        AccEcn {
            cep: INITIAL_CEP,
            ceb: ByteCount::new(0),
            e0b: ByteCount::new(INITIAL_E0B),
            e1b: ByteCount::new(INITIAL_E1B),
            stage: Stage::Answered,
            answers: 0,
            last: Ecn::NotEct,
            unreported: 0,
            syn_ack: None,
        }
    }

    /// The SYN/ACK says how the SYN arrived (table 2). A CE on it is in that code alone, not in `r.cep` (section 3.2.2.2).
    /// The first SYN/ACK tests whether the option gets through (section 3.2.3.2.1); if the SYN comes again, a box may have
    /// dropped it for its option, and the next has none (section 3.2.3.2.2).
    pub(super) fn answer(&mut self, syn: Ecn) -> Answer {
        self.answers = self.answers.saturating_add(1);
        self.last = syn;
        let counters =
            AccEcnOption::new(AccEcnOrder::Zero, 3, self.e0b.bytes, self.ceb.bytes, self.e1b.bytes);
        Answer {
            flags: TcpFlags::NONE.with_ace(handshake_code(syn)),
            mds: None,
            option: (self.answers == 1).then_some(counters),
        }
    }

    /// An acceptable packet with data, or several merged into one.
    pub(super) fn on_data(&mut self, segment: &Segment) -> News {
        self.stage = Stage::Established;
        match segment.ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.e0b.add(segment.len()),
            Ecn::Ect1 => self.e1b.add(segment.len()),
            Ecn::Ce => self.ceb.add(segment.len()),
        }
        let changed = segment.ecn != self.last;
        self.count(segment);
        match segment.ecn {
            Ecn::Ce if changed || self.unreported >= CE_WITH_DATA => News::Due,
            _ if self.unreported >= CE_WITH_DATA => News::Due,
            _ if changed => News::Changed,
            _ => News::None,
        }
    }

    /// An acceptable packet without data: CE on it counts as well. True if it must be acknowledged.
    pub(super) fn on_pure_ack(&mut self, segment: &Segment) -> bool {
        if self.stage == Stage::Answered {
            // Table 4. Codes without a meaning leave the sender's mirror of the counter as it is.
            self.syn_ack = handshake_ecn(segment.flags.ace());
            self.stage = Stage::Established;
        }
        self.count(segment);
        self.unreported >= CE_WITHOUT_DATA
    }

    fn count(&mut self, segment: &Segment) {
        self.last = segment.ecn;
        if segment.ecn == Ecn::Ce {
            self.cep = self.cep.wrapping_add(segment.packets);
            self.unreported += segment.packets;
        }
    }

    /// The ACE field is `r.cep` modulo 8.
    pub(super) fn flags(&self) -> TcpFlags {
        TcpFlags::ACK.with_ace((self.cep % 8) as u8)
    }

    /// How the SYN/ACK arrived, as its ACK said.
    pub(super) fn syn_ack_arrived_as(&self) -> Option<Ecn> {
        self.syn_ack
    }

    /// Which order is shorter, and how many fields hold every counter that `counts` (section 3.2.3.3: what has ever changed,
    /// or, where there is no room, what has changed since the last option).
    fn fields(&self, counts: impl Fn(&ByteCount) -> bool) -> (AccEcnOrder, u8) {
        let (e0b, ceb, e1b) = (counts(&self.e0b), counts(&self.ceb), counts(&self.e1b));
        let fields = |last, first| match (last, ceb, first) {
            (true, ..) => 3,
            (false, true, _) => 2,
            (false, false, true) => 1,
            (false, false, false) => 0,
        };
        let (zero, one) = (fields(e1b, e0b), fields(e0b, e1b));
        if one < zero { (AccEcnOrder::One, one) } else { (AccEcnOrder::Zero, zero) }
    }

    fn is_fresh(&self) -> bool {
        self.ceb.fresh || self.e0b.fresh || self.e1b.fresh
    }

    /// The least room for an option that reports what changed.
    pub(super) fn wanted(&self) -> Bytes {
        if self.is_fresh() { size_of_fields(self.fields(|count| count.fresh).1) } else { Bytes::ZERO }
    }

    /// The option of the ACK that leaves now: there is one if a counter has changed since the last option and there is
    /// room for what has changed (section 3.2.3.3, the recommended scheme).
    pub(super) fn option(&mut self, room: Bytes) -> Option<AccEcnOption> {
        self.unreported = 0;
        if !self.is_fresh() {
            return None;
        }
        let candidates = [self.fields(|count| count.used), self.fields(|count| count.fresh)];
        let (order, fields) = candidates.into_iter().find(|(_, fields)| size_of_fields(*fields) <= room)?;
        for count in [&mut self.e0b, &mut self.ceb, &mut self.e1b] {
            count.fresh = false;
        }
        Some(AccEcnOption::new(order, fields, self.e0b.bytes, self.ceb.bytes, self.e1b.bytes))
    }
}

#[cfg(test)]
mod tests {
    use windtunnel_units::{Seq, Time};

    use super::*;

    fn segment(ecn: Ecn, len: u64, packets: u32) -> Segment {
        Segment {
            ack: Seq::SYN,
            seq: Seq::FIRST_DATA,
            end: Seq::FIRST_DATA + Bytes::new(len),
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            packets,
            flags: TcpFlags::ACK,
            ecn,
        }
    }

    /// RFC 9768 table 2, top block: (AE, CWR, ECE) of the SYN/ACK for each ECN field of the SYN. A second SYN/ACK has no
    /// option (section 3.2.3.2.2), and CE on the SYN is not counted (section 3.2.2.2).
    #[test]
    fn syn_ack_codes() {
        for (syn, ae, cwr, ece) in
            [(Ecn::NotEct, 0, 1, 0), (Ecn::Ect1, 0, 1, 1), (Ecn::Ect0, 1, 0, 0), (Ecn::Ce, 1, 1, 0)]
        {
            let mut accecn = AccEcn::new();
            let answer = accecn.answer(syn);
            assert_eq!(answer.flags.ace(), ae * 4 + cwr * 2 + ece, "{syn:?}");
            let option = answer.option.expect("it tests the path");
            assert_eq!((option.ect0(), option.ce(), option.ect1()), (Some(1), Some(0), Some(1)));
            assert!(accecn.answer(syn).option.is_none());
            assert_eq!(accecn.flags().ace(), 5);
        }
    }

    /// RFC 9768 table 4: what the ACE field of the ACK of the SYN/ACK says; 000, 001, 101 and 111 say nothing of its ECN
    /// field. Only the first packet after the SYN is read so.
    #[test]
    fn third_ack() {
        let none = None;
        let meanings =
            [none, none, Some(Ecn::NotEct), Some(Ecn::Ect1), Some(Ecn::Ect0), none, Some(Ecn::Ce), none];
        for (ace, meaning) in (0..).zip(meanings) {
            let mut accecn = AccEcn::new();
            let mut ack = segment(Ecn::NotEct, 0, 1);
            ack.flags = TcpFlags::ACK.with_ace(ace);
            assert!(!accecn.on_pure_ack(&ack));
            assert_eq!(accecn.syn_ack_arrived_as(), meaning, "{ace}");
            ack.flags = TcpFlags::ACK.with_ace(0b110);
            accecn.on_pure_ack(&ack);
            assert_eq!(accecn.syn_ack_arrived_as(), meaning, "once");
        }
    }

    /// RFC 9768 section 3.2.2.5.1: an ACK at the first CE after another code point, and at every second CE; CE on packets
    /// without data asks for an ACK at the third.
    #[test]
    fn when_to_acknowledge() {
        let mut accecn = AccEcn::new();
        let mut data = |ecn| {
            let news = accecn.on_data(&segment(ecn, 1448, 1));
            if news == News::Due {
                accecn.option(Bytes::new(40));
            }
            news == News::Due
        };
        let (ect, ce) = (Ecn::Ect0, Ecn::Ce);
        let arrivals = [ect, ect, ce, ce, ce, ce, ect, ce, ect];
        assert_eq!(arrivals.map(&mut data), [false, false, true, false, true, false, false, true, false]);
        let mut idle = AccEcn::new();
        let urgent = [(); 3].map(|()| idle.on_pure_ack(&segment(Ecn::Ce, 0, 1)));
        assert_eq!(urgent, [false, false, true]);
        assert_eq!(idle.flags().ace(), (5 + 3) % 8);
    }

    /// Another code point without CE is news as well, for receivers that acknowledge it (Linux `tcp_ecn_received_counters`). The first
    /// segment is compared with the SYN, and packets without data count.
    #[test]
    fn changes() {
        let mut accecn = AccEcn::new();
        accecn.answer(Ecn::Ect0);
        let mut news = |ecn, len| {
            let segment = segment(ecn, len, 1);
            let news = if len == 0 { News::None } else { accecn.on_data(&segment) };
            if len == 0 {
                accecn.on_pure_ack(&segment);
            }
            accecn.option(Bytes::new(40));
            news
        };
        let (not, ect, ce) = (Ecn::NotEct, Ecn::Ect0, Ecn::Ce);
        let arrivals = [
            (ect, 1),
            (ect, 1),
            (ce, 1),
            (ce, 1),
            (ect, 1),
            (not, 1),
            (not, 1),
            (ect, 0),
            (ect, 1),
            (ce, 0),
            (ect, 1),
        ];
        let (none, due, changed) = (News::None, News::Due, News::Changed);
        assert_eq!(
            arrivals.map(|(ecn, len)| news(ecn, len)),
            [none, none, due, none, changed, changed, none, none, none, none, changed]
        );
    }

    /// RFC 9768 section 3.2.3.3: the examples of the recommended scheme. ECT(0) alone is reported by EE0B alone; from the first
    /// CE on there are two fields; a connection of ECT(1) uses order 1; what never changed is left out; without a change
    /// there is no option.
    #[test]
    fn which_fields() {
        let reported = |arrivals: &[Ecn]| {
            let mut accecn = AccEcn::new();
            for ecn in arrivals {
                accecn.on_data(&segment(*ecn, 100, 1));
            }
            let option = accecn.option(Bytes::new(40));
            assert_eq!(accecn.option(Bytes::new(40)), None, "nothing has changed");
            option.map(|option| (option.order().kind(), option.fields().to_vec()))
        };
        assert_eq!(reported(&[Ecn::NotEct]), None);
        assert_eq!(reported(&[Ecn::Ect0]), Some((172, vec![101])));
        assert_eq!(reported(&[Ecn::Ect0, Ecn::Ce]), Some((172, vec![101, 100])));
        assert_eq!(reported(&[Ecn::Ect1]), Some((174, vec![101])));
        assert_eq!(reported(&[Ecn::Ect1, Ecn::Ce, Ecn::Ce]), Some((174, vec![101, 200])));
        assert_eq!(reported(&[Ecn::Ect0, Ecn::Ect1]), Some((172, vec![101, 0, 101])));
        assert_eq!(reported(&[Ecn::Ce]), Some((172, vec![1, 100])));
    }

    /// RFC 9768 section 3.2.3.3: with little room the option is cut at its tail as long as what changed is in it, and left out if
    /// not even that fits. 8 bytes hold two fields, 4 none.
    #[test]
    fn little_room() {
        let mut accecn = AccEcn::new();
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            accecn.on_data(&segment(ecn, 100, 1));
        }
        assert_eq!(accecn.option(Bytes::new(12)).map(|option| option.length()), Some(11));
        accecn.on_data(&segment(Ecn::Ce, 100, 1));
        assert_eq!(accecn.wanted(), Bytes::new(8));
        let option = accecn.option(Bytes::new(8)).expect("two fields");
        assert_eq!((option.length(), option.ce()), (8, Some(200)));
        accecn.on_data(&segment(Ecn::Ce, 100, 1));
        assert_eq!(accecn.option(Bytes::new(4)), None);
        assert_eq!(accecn.option(Bytes::new(12)).and_then(|option| option.ce()), Some(300), "not forgotten");
    }

    /// Counters are sent modulo 8 and 2^24; merged segments count as the packets that they were.
    #[test]
    fn wrapping() {
        let mut accecn = AccEcn::new();
        accecn.on_data(&segment(Ecn::Ce, 44 * 1448, 44));
        assert_eq!(accecn.flags().ace(), ((5 + 44) % 8) as u8);
        for _ in 0..263 {
            accecn.on_data(&segment(Ecn::Ce, 44 * 1448, 44));
        }
        let option = accecn.option(Bytes::new(40)).expect("an option");
        assert_eq!(option.ce(), Some(264 * 44 * 1448 - (1 << 24)));
    }

    /// RFC 9768 section 3.2.2.5.1: two CE marks on packets without data, which ask for no ACK, make one due with the
    /// next data; one does if the data are marked too.
    #[test]
    fn marks_without_data_make_the_next_ack_due() {
        for (marks, ecn, news) in
            [(1, Ecn::Ect0, News::Changed), (2, Ecn::Ect0, News::Due), (1, Ecn::Ce, News::Due)]
        {
            let mut accecn = AccEcn::new();
            for _ in 0..marks {
                assert!(!accecn.on_pure_ack(&segment(Ecn::Ce, 0, 1)));
            }
            assert_eq!(accecn.on_data(&segment(ecn, 1448, 1)), news, "{marks} marks, then {ecn:?}");
        }
    }
}
