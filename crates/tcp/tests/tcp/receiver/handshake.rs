//! The answer to a SYN (RFC 9293 section 3.10.7; RFC 3168 section 6.1.1; spec/queues-and-signalling section 17.1).

use std::collections::BTreeSet;
use std::num::NonZeroU32;

use windtunnel_tcp::{AckParams, AckPolicy, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, Receiver, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, FlowId, MdsCapability, Options, Packet, TcpFlags};

use super::fixture::{Bench, MSS, endpoint, ms};

/// An offer of MDS with tau = 64.
const MDS: MdsCapability = MdsCapability { log2_tau: 6 };

fn syn(flags: TcpFlags) -> Packet {
    let mut packet = Packet::new(FlowId::new(7), HEADERS, Bytes::ZERO);
    packet.flags = TcpFlags::SYN | flags;
    packet.ts_val = Time::from_nanos(5);
    packet.set_options(Options { sack_permitted: true, mds_capable: Some(MDS), ..Options::default() });
    packet
}

/// Section 17.5: the SYN/ACK accepts MDS with the tau that was offered, or refuses it by leaving the option out, where the receiver
/// supports another tau. ECN is agreed to in any case, and ESCE is then not echoed.
#[test]
fn tau() {
    for (tau, accepted) in [(None, true), (NonZeroU32::new(64), true), (NonZeroU32::new(32), false)] {
        let ack = AckParams { mds_tau: tau, ..AckParams::default() };
        let mut receiver = Receiver::new(endpoint(Ecn::Ect0, true, HEADERS), &crate::fixed_window(), ack);
        receiver.on_segment(&syn(TcpFlags::ECE | TcpFlags::CWR), Time::from_nanos(10));
        let answer = receiver.poll_ack(Time::from_nanos(11)).expect("an answer");
        assert_eq!(answer.flags.ace(), 0b001);
        assert_eq!(
            answer.options().and_then(|options| options.mds_capable),
            accepted.then_some(MDS),
            "{tau:?}"
        );
        assert_eq!(receiver.echoes_sce(), accepted);
    }
}

/// ECN is agreed to with ECE alone, if the SYN asked for it with ECE and CWR and the receiver wants it too. A SYN with AE as
/// well asks for AccECN, which this receiver does not know: it agrees to what it knows (RFC 9768 table 2, second block).
#[test]
fn flags_of_the_answer() {
    let ask = TcpFlags::ECE | TcpFlags::CWR;
    for (flags, ecn, agreed) in [
        (ask, Ecn::Ect0, true),
        (ask, Ecn::NotEct, false),
        (TcpFlags::NONE, Ecn::Ect0, false),
        (TcpFlags::ECE, Ecn::Ect0, false),
        (ask | TcpFlags::AE, Ecn::Ect0, true),
    ] {
        let endpoint = endpoint(ecn, false, HEADERS);
        let mut receiver = Receiver::new(endpoint, &crate::fixed_window(), AckParams::default());
        receiver.on_segment(&syn(flags), Time::from_nanos(10));
        let answer = receiver.poll_ack(Time::from_nanos(11)).expect("an answer");
        let expected = TcpFlags::SYN | TcpFlags::ACK;
        assert_eq!(answer.flags, expected.with_if(TcpFlags::ECE, agreed), "{flags:?} with {ecn:?}");
        assert_eq!((answer.seq.get(), answer.ack.get()), (0, 1));
        assert_eq!((answer.ts_val, answer.ts_ecr), (Time::from_nanos(11), Time::from_nanos(5)));
        assert_eq!(answer.ecn, Ecn::NotEct);
        assert!(receiver.poll_ack(Time::from_nanos(11)).is_none());
        assert_eq!(receiver.stats().acks, 0, "a SYN|ACK is not counted");
    }
}

/// The options of spec/queues-and-signalling section 18.1 in addition to 40 bytes of headers: MSS 4, SACK permitted 2,
/// timestamps 10, window scale 4 with its NOP; without SACK or timestamps, two NOPs in its place; MDS 8 with two NOPs,
/// if both ends agree on ECN.
#[test]
fn size_of_the_answer() {
    let ask = TcpFlags::ECE | TcpFlags::CWR;
    for (sack, timestamps, mds, flags, size) in [
        (true, true, false, TcpFlags::NONE, 60),
        (false, true, false, TcpFlags::NONE, 60),
        (true, false, false, TcpFlags::NONE, 52),
        (false, false, false, TcpFlags::NONE, 48),
        (true, true, true, ask, 68),
        (true, true, true, TcpFlags::NONE, 60),
    ] {
        let params = TcpParams { sack, timestamps, ..crate::fixed_window() };
        let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
        let mut receiver = Receiver::new(endpoint(Ecn::Ect0, mds, headers), &params, AckParams::default());
        receiver.on_segment(&syn(flags), Time::from_nanos(10));
        let answer = receiver.poll_ack(Time::from_nanos(11)).expect("an answer");
        assert_eq!(answer.size(), Bytes::new(size), "SACK {sack}, timestamps {timestamps}, MDS {mds}");
    }
}

/// A repeated SYN is answered again; the last one decides whether there is ECN (RFC 3168 section 6.1.1.1: the sender
/// tries without). Among data it is only acknowledged.
#[test]
fn syn_again() {
    let mut receiver =
        Receiver::new(endpoint(Ecn::Ect0, false, HEADERS), &crate::fixed_window(), AckParams::default());
    let answer = |receiver: &mut Receiver, flags, at| {
        receiver.on_segment(&syn(flags), Time::from_nanos(at));
        receiver.poll_ack(Time::from_nanos(at)).expect("an answer").flags
    };
    let synack = TcpFlags::SYN | TcpFlags::ACK;
    assert_eq!(answer(&mut receiver, TcpFlags::ECE | TcpFlags::CWR, 10), synack | TcpFlags::ECE);
    assert_eq!(answer(&mut receiver, TcpFlags::NONE, 20), synack);
    let mut data = Packet::new(FlowId::new(7), HEADERS + Bytes::new(MSS), Bytes::new(MSS));
    data.seq = windtunnel_units::Seq::FIRST_DATA;
    data.ecn = Ecn::Ce;
    receiver.on_segment(&data, Time::from_nanos(30));
    assert_eq!(receiver.poll_ack(Time::from_nanos(30)).expect("at once").flags, TcpFlags::ACK, "no ECN");
    assert_eq!(answer(&mut receiver, TcpFlags::NONE, 40), TcpFlags::ACK);
}

/// Nothing is answered before a SYN.
#[test]
fn data_before_the_syn() {
    let mut receiver =
        Receiver::new(endpoint(Ecn::Ect0, false, HEADERS), &crate::fixed_window(), AckParams::default());
    for seq in [0, 1, 1449] {
        let mut data = Packet::new(FlowId::new(7), HEADERS + Bytes::new(MSS), Bytes::new(MSS));
        data.seq = windtunnel_units::Seq::new(seq);
        assert_eq!(receiver.on_segment(&data, Time::ZERO).delivered, Bytes::ZERO);
        assert!(receiver.poll_ack(Time::ZERO).is_none());
    }
}

/// The sender's ACK of the SYN|ACK is not acknowledged; a probe below the window is (RFC 9293 section 3.10.7.4).
#[test]
fn segments_without_data() {
    let mut bench = Bench::plain(AckPolicy::Linux);
    bench.bytes(1, 1);
    assert!(bench.take().is_empty());
    bench.segment(0);
    assert_eq!(bench.take().len(), 1);
    bench.bytes(MSS, MSS);
    assert_eq!(bench.take().len(), 1, "a probe");
}

/// The handshake's round trip bounds the delay of Linux's ACKs: with 100 ms an ATO of 80 ms holds, with 20 ms it is
/// 40 ms. After two SYN|ACKs there is no round trip (Karn).
#[test]
fn round_trip() {
    let delay = |syns: u64, rtt: u64| -> Duration {
        let params = AckParams { policy: AckPolicy::Linux, ..AckParams::default() };
        let receiver = Receiver::new(endpoint(Ecn::NotEct, false, HEADERS), &crate::fixed_window(), params);
        let mut bench = Bench {
            receiver,
            now: Time::ZERO,
            acks: Vec::new(),
            shift: 14,
            addresses: BTreeSet::new(),
            others: Vec::new(),
        };
        for _ in 0..syns {
            bench.put(&syn(TcpFlags::NONE));
        }
        bench.wait(ms(rtt));
        for n in 0..16 {
            bench.segment(n); // the credit
        }
        bench.take();
        bench.segment(16);
        let alone = bench.now;
        bench.wait(ms(100));
        assert_eq!(bench.take()[0].at - alone, ms(40), "the first one alone");
        bench.segment(17);
        let alone = bench.now;
        bench.wait(ms(200));
        bench.take()[0].at - alone
    };
    assert_eq!(delay(1, 100), ms(80), "the ATO doubled when the timer ran out");
    assert_eq!(delay(1, 20), ms(40));
    assert_eq!(delay(2, 20), ms(80));
}
