//! Which packets are ECN-capable (draft-ietf-tcpm-generalized-ecn-16, table 1; Linux 7.3 `tcp_ecn_send`, `tcp_ecn_send_syn`,
//! `tcp_ecn_send_synack`).

use std::sync::Arc;

use windtunnel_cc::{ControllerParams, FlowInit, Style, WindowedConfig};
use windtunnel_tcp::{AckParams, EcnPp, Endpoint, FeedbackScheme, HEADERS, Receiver, Sender, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

const MSS: Bytes = Bytes::new(1448);
const RTT: Duration = Duration::from_millis(10);

/// The ECN fields of one connection's packets.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    syn: Ecn,
    syn_ack: Ecn,
    /// The ACK of the SYN/ACK.
    third: Ecn,
    data: Ecn,
    ack: Ecn,
    again: Ecn,
    fin: Ecn,
    peer_fin: Ecn,
    last_ack: Ecn,
}

struct Pair {
    sender: Sender,
    receiver: Receiver,
    now: Time,
}

impl Pair {
    fn new(ecn_pp: EcnPp, feedback: FeedbackScheme, ecn: Ecn, needs_ecn: bool) -> Pair {
        let endpoint = Endpoint {
            flow: FlowId::new(0),
            mtu: MSS + HEADERS,
            headers: HEADERS,
            iw: MSS * 10,
            paced: false,
            needs_ecn,
            ecn,
            feedback,
            dscp: Dscp::DEFAULT,
        };
        let params = Arc::new(TcpParams { ecn_pp, ..TcpParams::default() });
        let mut reno = WindowedConfig::default();
        reno.resolve(Style::Linux);
        let sender = Sender::new(endpoint, &params, reno.build(FlowInit::new(MSS)));
        Pair { sender, receiver: Receiver::new(endpoint, &params, AckParams::default()), now: Time::ZERO }
    }

    /// What the sender sends now, after its timer if nothing else makes it send.
    fn sent(&mut self) -> Packet {
        for _ in 0..20 {
            if let Some(packet) = self.sender.poll_transmit(self.now) {
                return packet;
            }
            self.now = self.sender.next_timer().expect("a timer").max(self.now);
            self.sender.on_timer(self.now);
        }
        panic!("nothing is sent");
    }

    /// The receiver gets a packet; its answer reaches the sender.
    fn deliver(&mut self, packet: &Packet) -> Vec<Ecn> {
        self.now += RTT;
        self.receiver.on_segment(packet, self.now);
        let mut answers = Vec::new();
        while let Some(answer) = self.receiver.poll_ack(self.now) {
            answers.push(answer.ecn);
            self.sender.on_ack(&answer, self.now);
        }
        answers
    }
}

/// A connection: the handshake, a segment, one that is lost and sent again, and the close from both sides.
fn seen(mut pair: Pair) -> Seen {
    let mut seen = Seen::default();
    pair.sender.write(MSS);
    let syn = pair.sent();
    seen.syn = syn.ecn;
    seen.syn_ack = pair.deliver(&syn)[0];
    let third = pair.sent();
    assert_eq!(third.payload(), Bytes::ZERO);
    seen.third = third.ecn;
    pair.deliver(&third);
    let data = pair.sent();
    seen.data = data.ecn;
    seen.ack = pair.deliver(&data)[0];
    pair.sender.write(MSS);
    assert_eq!(pair.sent().ecn, seen.data, "lost");
    let again = pair.sent();
    assert_eq!(again.payload(), MSS);
    seen.again = again.ecn;
    pair.deliver(&again);
    pair.sender.close();
    let fin = pair.sent();
    assert!(fin.flags.contains(TcpFlags::FIN) && fin.payload() == Bytes::ZERO);
    seen.fin = fin.ecn;
    seen.peer_fin = *pair.deliver(&fin).last().expect("a FIN");
    seen.last_ack = pair.sent().ecn;
    seen
}

/// Every packet alike, but for the SYNs.
fn alike(syns: Ecn, data: Ecn, others: Ecn) -> Seen {
    Seen {
        syn: syns,
        syn_ack: syns,
        third: others,
        data,
        ack: others,
        again: others,
        fin: others,
        peer_fin: others,
        last_ack: others,
    }
}

const NOT: Ecn = Ecn::NotEct;

/// Linux: a classic connection has ECT on new data alone; DCTCP's, on everything; one with AccECN, on all but the SYNs; with
/// AccECN and a controller that needs ECN, on everything, Prague's as ECT(1).
#[test]
fn linux() {
    let seen_with = |feedback, ecn, needs| seen(Pair::new(EcnPp::Linux, feedback, ecn, needs));
    let (ect0, ect1) = (Ecn::Ect0, Ecn::Ect1);
    assert_eq!(seen_with(FeedbackScheme::Rfc3168, ect0, false), alike(NOT, ect0, NOT));
    assert_eq!(seen_with(FeedbackScheme::Dctcp, ect0, true), alike(ect0, ect0, ect0));
    assert_eq!(seen_with(FeedbackScheme::AccEcn, ect0, false), alike(NOT, ect0, ect0));
    assert_eq!(seen_with(FeedbackScheme::AccEcn, ect1, true), alike(ect1, ect1, ect1));
}

/// RFC 3168: nothing but new data, whatever the controller and the feedback.
#[test]
fn off() {
    for feedback in [FeedbackScheme::Rfc3168, FeedbackScheme::Dctcp, FeedbackScheme::AccEcn] {
        let seen = seen(Pair::new(EcnPp::Off, feedback, Ecn::Ect0, true));
        assert_eq!(seen, alike(NOT, Ecn::Ect0, NOT), "{feedback:?}");
    }
}

/// The draft's table 1: with AccECN everything; with RFC 3168's feedback neither the SYN nor pure ACKs.
#[test]
fn generalized() {
    let ect = Ecn::Ect0;
    let accecn = seen(Pair::new(EcnPp::On, FeedbackScheme::AccEcn, ect, false));
    assert_eq!(accecn, alike(ect, ect, ect));
    let classic = seen(Pair::new(EcnPp::On, FeedbackScheme::Rfc3168, ect, false));
    let expected = Seen { syn: NOT, third: NOT, ack: NOT, last_ack: NOT, ..alike(ect, ect, ect) };
    assert_eq!(classic, expected);
}

/// A SYN and a SYN/ACK that are sent again are not ECN-capable, in case the first were dropped for that.
#[test]
fn handshake_again() {
    let mut pair = Pair::new(EcnPp::On, FeedbackScheme::AccEcn, Ecn::Ect0, false);
    pair.sender.write(MSS);
    let (first, second) = (pair.sent(), pair.sent());
    assert!([&first, &second].iter().all(|packet| packet.flags.contains(TcpFlags::SYN)));
    assert_eq!([first.ecn, second.ecn], [Ecn::Ect0, NOT]);
    let mut answer = |packet: &Packet| {
        pair.receiver.on_segment(packet, pair.now);
        pair.receiver.poll_ack(pair.now).expect("an answer").ecn
    };
    assert_eq!([answer(&first), answer(&second)], [Ecn::Ect0, NOT]);
}

/// A SYN that was marked: with the draft's rules the flow starts with one segment (section 3.2.1); Linux starts with all ten. One
/// that arrives as Not-ECT was bleached: data are then Not-ECT (RFC 9768 section 3.2.2.3).
#[test]
fn syn_marked_or_bleached() {
    for (mode, mark, window, data) in [
        (EcnPp::On, Ecn::Ce, 1, Ecn::Ect1),
        (EcnPp::Linux, Ecn::Ce, 10, Ecn::Ect1),
        (EcnPp::On, NOT, 10, NOT),
        (EcnPp::On, Ecn::Ect1, 10, Ecn::Ect1),
    ] {
        let mut pair = Pair::new(mode, FeedbackScheme::AccEcn, Ecn::Ect1, true);
        pair.sender.write(Bytes::MAX);
        let mut syn = pair.sent();
        syn.ecn = mark;
        pair.deliver(&syn);
        let sent: Vec<_> = std::iter::from_fn(|| pair.sender.poll_transmit(pair.now)).collect();
        let segments: Vec<_> = sent.iter().filter(|packet| packet.payload() == MSS).collect();
        assert_eq!(segments.len(), window, "{mode:?} {mark:?}");
        assert!(segments.iter().all(|packet| packet.ecn == data), "{mode:?} {mark:?}");
    }
}

/// Marks on ACKs are counted in the ACE field of what the data sender sends (RFC 9768 section 3.2.2: every acceptable packet); if
/// it has no data to send, the third is reported by a packet without data (section 3.2.2.5.1).
#[test]
fn marked_acks() {
    let mut pair = Pair::new(EcnPp::Linux, FeedbackScheme::AccEcn, Ecn::Ect0, false);
    pair.sender.write(MSS);
    let syn = pair.sent();
    pair.deliver(&syn);
    pair.sent();
    let data = pair.sent();
    assert_eq!((data.payload(), data.flags.ace()), (MSS, 5));
    pair.receiver.on_segment(&data, pair.now);
    let mut ack = pair.receiver.poll_ack(pair.now).expect("an ACK");
    ack.ecn = Ecn::Ce;
    let mut reports = Vec::new();
    for _ in 0..6 {
        pair.now += RTT;
        ack.ts_val = pair.now;
        pair.sender.on_ack(&ack, pair.now);
        reports
            .push(pair.sender.poll_transmit(pair.now).map(|report| (report.payload(), report.flags.ace())));
    }
    let report = |ace| Some((Bytes::ZERO, ace));
    assert_eq!(reports, [None, None, report(0), None, None, report(3)]);
}

/// The default is Linux's.
#[test]
fn default_mode() {
    assert_eq!(TcpParams::default().ecn_pp, EcnPp::Linux);
}

/// RFC 9768 section 3.2.2.3: if the sender says that the SYN/ACK, which left as ECT(0), arrived as Not-ECT (table 4,
/// code 010), the receiver's packets are Not-ECT from then on.
#[test]
fn a_bleached_syn_ack() {
    for (code, ack) in [(0b100, Ecn::Ect0), (0b010, Ecn::NotEct)] {
        let mut pair = Pair::new(EcnPp::On, FeedbackScheme::AccEcn, Ecn::Ect0, false);
        pair.sender.write(MSS);
        let syn = pair.sent();
        assert_eq!(pair.deliver(&syn), [Ecn::Ect0], "the SYN/ACK");
        let mut third = pair.sent();
        third.flags = TcpFlags::ACK.with_ace(code);
        pair.deliver(&third);
        let data = pair.sent();
        assert_eq!(pair.deliver(&data), [ack], "{code:03b}");
    }
}
