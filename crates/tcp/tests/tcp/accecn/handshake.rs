//! The negotiation (RFC 9768 section 3.1 and tables 2 to 4).

use windtunnel_tcp::{AckParams, Receiver};

use super::*;

const ACE_BITS: TcpFlags = TcpFlags::NONE.with_ace(0b111);

fn ace(packet: &Packet) -> u8 {
    packet.flags.ace()
}

/// Section 3.1.1: the SYN asks with AE, CWR and ECE, as does the first that is sent again; the third asks for nothing (section
/// 3.1.4.1). No SYN carries an AccECN option (section 3.2.3.2.1).
#[test]
fn syns() {
    let (mut sender, _) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 10);
    sender.write(MSS);
    for (ms, code) in [(0, 0b111), (1000, 0b111), (2000, 0)] {
        sender.on_timer(at(ms));
        let syn = sender.poll_transmit(at(ms)).expect("a SYN");
        assert_eq!((syn.flags.contains(TcpFlags::SYN), ace(&syn), syn.ecn), (true, code, Ecn::NotEct));
        assert_eq!(syn.options().and_then(|options| options.accecn), None);
    }
}

/// Table 2, the client's side: the mode that each code of a SYN/ACK leads to. A pure ACK answers. In AccECN mode
/// data carry an ACE field of 5 and ECT; in RFC 3168's data carry ECT and no flags; else they are Not-ECT. The code 101
/// counts as AccECN (section 3.1.3); 111 is the answer of a server that reflects flags.
#[test]
fn modes_of_the_client() {
    #[derive(Debug, PartialEq)]
    enum Mode {
        AccEcn,
        Classic,
        NotEcn,
    }
    let mode = |code| {
        let (mut sender, _) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 10);
        sender.write(MSS * 3);
        sender.poll_transmit(at(0)).expect("the SYN");
        sender.on_ack(&syn_ack(code, Some(initial())), at(10));
        let sent = all_that_leaves(&mut sender, at(10));
        let data = sent.last().expect("data");
        match (sent.len(), ace(data), data.ecn) {
            (4, 5, Ecn::Ect0) => Mode::AccEcn,
            (4, 0, Ecn::Ect0) => Mode::Classic,
            (4, 0, Ecn::NotEct) => Mode::NotEcn,
            other => panic!("{code:03b}: {other:?}"),
        }
    };
    let not_ect_on_syn = 0b010;
    assert_eq!(mode(not_ect_on_syn), Mode::AccEcn);
    assert_eq!(mode(0b101), Mode::AccEcn, "reserved");
    assert_eq!(mode(0b001), Mode::Classic);
    assert_eq!(mode(0b000), Mode::NotEcn);
    assert_eq!(mode(0b111), Mode::NotEcn, "broken");
}

/// Section 3.2.2.3: the SYN left as Not-ECT, so a code that says that it arrived otherwise shows that the path changes
/// the field. AccECN is in force, but data are sent as Not-ECT.
#[test]
fn syn_mangled() {
    for code in [0b011, 0b100, 0b110] {
        let (mut sender, _) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 10);
        sender.write(MSS * 3);
        sender.poll_transmit(at(0)).expect("the SYN");
        sender.on_ack(&syn_ack(code, Some(initial())), at(10));
        let sent = all_that_leaves(&mut sender, at(10));
        assert_eq!(sent.len(), 4, "the ACK of the SYN/ACK and data");
        assert!(sent.iter().all(|packet| packet.ecn == Ecn::NotEct) && ace(&sent[3]) == 5);
    }
}

/// Table 3: the ACE field of the ACK of the SYN/ACK says how that arrived; data then carry `r.cep`, 6 if it was CE. The ACK is
/// pure and carries the option (section 3.2.3.2.1); a SYN/ACK that comes again is answered again (section 3.2.2.1).
#[test]
fn third_ack() {
    for (arrived, code, cep) in
        [(Ecn::NotEct, 0b010, 5), (Ecn::Ect1, 0b011, 5), (Ecn::Ect0, 0b100, 5), (Ecn::Ce, 0b110, 6)]
    {
        let (mut sender, _) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 10);
        sender.write(MSS * 2);
        sender.poll_transmit(at(0)).expect("the SYN");
        let mut answer = syn_ack(0b010, Some(initial()));
        answer.ecn = arrived;
        sender.on_ack(&answer, at(10));
        let sent = all_that_leaves(&mut sender, at(10));
        let third = &sent[0];
        assert_eq!((third.payload(), third.seq, third.ack), (Bytes::ZERO, Seq::FIRST_DATA, Seq::FIRST_DATA));
        assert_eq!((ace(third), third.ecn), (code, Ecn::Ect0), "{arrived:?}: as Linux, see `ecn_pp`");
        assert!(third.options().is_some_and(|options| options.accecn == Some(initial())));
        assert_eq!(third.size(), HEADERS + Bytes::new(12));
        assert!(sent[1..].iter().all(|data| ace(data) == cep && data.payload() == MSS), "{arrived:?}");
        sender.on_ack(&answer, at(20));
        assert_eq!(all_that_leaves(&mut sender, at(20)).iter().map(ace).collect::<Vec<_>>(), [code]);
    }
}

/// What a receiver answers to a SYN with these flags and this ECN field.
fn answer(scheme: FeedbackScheme, code: u8, ecn: Ecn) -> (Receiver, Packet) {
    let mut receiver =
        Receiver::new(endpoint(scheme, Ecn::Ect0), &TcpParams::default(), AckParams::default());
    let answer = syn(&mut receiver, code, ecn);
    (receiver, answer)
}

fn syn(receiver: &mut Receiver, code: u8, ecn: Ecn) -> Packet {
    let mut syn = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    syn.flags = TcpFlags::SYN.with_ace(code);
    syn.ecn = ecn;
    receiver.on_segment(&syn, at(0));
    receiver.poll_ack(at(0)).expect("an answer")
}

/// Table 2, the server's side. One that supports AccECN answers 111 with the ECN field of the SYN, 011 with classic ECN
/// and 000 with none; it answers every combination that was not in use like 111 (section 3.1.3). One that knows RFC
/// 3168 alone ignores AE.
#[test]
fn modes_of_the_server() {
    let code = |scheme, code| ace(&answer(scheme, code, Ecn::NotEct).1);
    let accecn = [0b111, 0b001, 0b010, 0b100, 0b101, 0b110];
    assert_eq!(accecn.map(|syn| code(FeedbackScheme::AccEcn, syn)), [0b010; 6]);
    assert_eq!([0b011, 0b000].map(|syn| code(FeedbackScheme::AccEcn, syn)), [0b001, 0b000]);
    assert_eq!([0b111, 0b011, 0b000].map(|syn| code(FeedbackScheme::Rfc3168, syn)), [0b001, 0b001, 0]);
    assert_eq!([0b111, 0b011].map(|syn| code(FeedbackScheme::None, syn)), [0, 0]);
    for (ecn, expected) in [(Ecn::Ect1, 0b011), (Ecn::Ect0, 0b100), (Ecn::Ce, 0b110)] {
        assert_eq!(ace(&answer(FeedbackScheme::AccEcn, 0b111, ecn).1), expected);
    }
}

/// Section 3.1.5: once in AccECN mode a server stays there. It answers a SYN that comes without flags by an AccECN SYN/ACK that
/// reports the latest SYN; that has no option, since a box may have dropped the first for its option (section 3.2.3.2.2).
#[test]
fn syn_again() {
    let (mut receiver, first) = answer(FeedbackScheme::AccEcn, 0b111, Ecn::NotEct);
    assert!(first.options().is_some_and(|options| options.accecn == Some(initial())));
    // No SACK was offered: 52 bytes of headers, MSS 4, window scale 4, AccECN 12.
    assert_eq!(first.size(), HEADERS + Bytes::new(4 + 4 + 12));
    let again = syn(&mut receiver, 0b111, Ecn::Ect0);
    assert_eq!((ace(&again), again.options().and_then(|options| options.accecn)), (0b100, None));
    let bare = syn(&mut receiver, 0b000, Ecn::NotEct);
    assert_eq!(ace(&bare), 0b010);
    let mut data = Packet::new(FlowId::new(0), HEADERS + MSS, MSS);
    data.seq = Seq::FIRST_DATA;
    data.flags = TcpFlags::ACK.with_ace(5);
    data.ecn = Ecn::Ce;
    receiver.on_segment(&data, at(1));
    assert_eq!(ace(&receiver.poll_ack(at(1)).expect("at once")), 6, "still AccECN");
}

/// The third ACK is read by the server (table 4), and not acknowledged.
#[test]
fn third_ack_arrives() {
    let (mut receiver, _) = answer(FeedbackScheme::AccEcn, 0b111, Ecn::NotEct);
    assert_eq!(receiver.syn_ack_arrived_as(), None);
    let mut third = ack(1, TcpFlags::NONE.with_ace(0b100), at(1));
    third.seq = Seq::FIRST_DATA;
    receiver.on_segment(&third, at(1));
    assert_eq!(receiver.syn_ack_arrived_as(), Some(Ecn::Ect0));
    assert!(receiver.poll_ack(at(1)).is_none());
}

/// A flow may choose to send ECT(1) with any scheme, except those for which ECT(1) means SCE.
#[test]
fn ect1() {
    for (scheme, code) in [(FeedbackScheme::AccEcn, 0b010), (FeedbackScheme::Rfc3168, 0b001)] {
        let (mut sender, _) = sender(scheme, Ecn::Ect1, 10);
        sender.write(MSS * 2);
        let syn = sender.poll_transmit(at(0)).expect("the SYN");
        assert_eq!(syn.ecn, Ecn::NotEct);
        sender.on_ack(&syn_ack(code, None), at(10));
        let data: Vec<Ecn> = all_that_leaves(&mut sender, at(10))
            .iter()
            .filter(|packet| packet.payload() > Bytes::ZERO)
            .map(|packet| packet.ecn)
            .collect();
        assert_eq!(data, [Ecn::Ect1, Ecn::Ect1], "{scheme:?}");
    }
}

/// Neither end uses a flag of the ACE field for anything else: no CWR answers CE.
#[test]
fn no_cwr() {
    let (mut sender, told_to) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 4);
    sender.write(Bytes::MAX);
    sender.poll_transmit(at(0)).expect("the SYN");
    sender.on_ack(&syn_ack(0b010, Some(initial())), at(10));
    assert_eq!(all_that_leaves(&mut sender, at(10)).len(), 5);
    sender.on_ack(&ack(1 + 1448, TcpFlags::NONE.with_ace(6), at(20)), at(20));
    assert_eq!(told(&told_to).counts.ce.packets, 1);
    assert_eq!(told(&told_to).events, 1, "CE is a congestion event");
    let next = all_that_leaves(&mut sender, at(20));
    assert!(!next.is_empty() && next.iter().all(|data| data.flags.without(ACE_BITS) == TcpFlags::ACK));
    assert!(next.iter().all(|data| ace(data) == 5));
}

/// Section 3.2.2.2: a CE on a SYN/ACK is counted, also on one that comes again, and then once. A SYN/ACK that
/// acknowledges anything but the SYN is not answered.
#[test]
fn a_mark_on_a_later_syn_ack() {
    let (mut sender, _) = sender(FeedbackScheme::AccEcn, Ecn::Ect0, 10);
    sender.write(MSS * 2);
    sender.poll_transmit(at(0)).expect("the SYN");
    sender.on_ack(&syn_ack(0b010, Some(initial())), at(10));
    assert_eq!(all_that_leaves(&mut sender, at(10)).iter().map(ace).collect::<Vec<_>>(), [0b010, 5, 5]);
    let mut marked = syn_ack(0b010, Some(initial()));
    marked.ecn = Ecn::Ce;
    for ms in [20, 30] {
        sender.on_ack(&marked, at(ms));
        assert_eq!(all_that_leaves(&mut sender, at(ms)).iter().map(ace).collect::<Vec<_>>(), [0b110]);
    }
    marked.ack = Seq::new(1_000_000);
    sender.on_ack(&marked, at(40));
    assert_eq!(all_that_leaves(&mut sender, at(40)), []);
    sender.write(MSS);
    assert_eq!(all_that_leaves(&mut sender, at(50)).iter().map(ace).collect::<Vec<_>>(), [6]);
}
