//! SYN loss, back-off, negotiation of ECN.

use windtunnel_tcp::{
    CaState, ConnectionState, FeedbackScheme, HEADERS, HEADERS_WITHOUT_TIMESTAMPS, Limited, RtoRule,
    TcpParams,
};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, Told, at, endpoint, ms};

fn with_ecn() -> Setup {
    Setup {
        endpoint: windtunnel_tcp::Endpoint {
            ecn: Ecn::Ect0,
            feedback: FeedbackScheme::Rfc3168,
            ..endpoint()
        },
        ..Setup::default()
    }
}

/// A SYN at once, ten segments when its answer comes after one round trip (RFC 6928), and the handshake's round trip as
/// the first sample.
#[test]
fn opens_in_one_round_trip() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.write_endless();
    assert_eq!(lab.sender.limited_by(), Limited::Handshake);
    lab.run_until(at(40));
    assert_eq!(lab.syns, [(at(0), TcpFlags::SYN)]);
    assert_eq!(lab.sent_at(at(40)), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!(lab.sender.stats().handshake_rtt, Some(ms(40)));
    assert_eq!(lab.sender.srtt(), ms(40));
    assert_eq!(lab.sender.rto(), ms(240), "srtt + 200 ms (spec 1.3)");
    assert_eq!(lab.sender.stats().limited[Limited::Handshake as usize], ms(40));
}

/// RFC 6298 sections 2.1 and 5.5: 1 s, doubled. Linux (6.18's own SYNs to an address that does not answer) doubles it
/// after five. It forgives one lost SYN and starts with one segment after more; RFC 5681 section 3.1 forgives none.
#[test]
fn lost_syns() {
    let (linux, rfc) = ([0, 1, 2, 3, 4, 5, 7, 11], [0, 1, 3, 7, 15, 31, 63, 127]);
    for (lost, rule, seconds, window) in [
        (1, RtoRule::Linux, linux, 10),
        (2, RtoRule::Linux, linux, 1),
        (7, RtoRule::Linux, linux, 1),
        (1, RtoRule::Rfc6298, rfc, 1),
        (3, RtoRule::Rfc6298, rfc, 1),
    ] {
        let params = TcpParams { rto: rule, ..crate::fixed_window() };
        let script = Script { syns_lost: lost, ..Script::default() };
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, script);
        lab.write_endless();
        let sent: Vec<Time> = seconds[..=lost as usize].iter().map(|s| at(s * 1000)).collect();
        let answered = at(seconds[lost as usize] * 1000 + 40);
        lab.run_until(answered);
        assert_eq!(lab.syns.iter().map(|syn| syn.0).collect::<Vec<_>>(), sent);
        assert_eq!(lab.sent_at(answered).len(), window, "{lost} lost, {rule:?}");
        assert_eq!(lab.sender.stats().control_retransmits, u64::from(lost));
        assert_eq!(lab.sender.stats().handshake_rtt, Some(ms(40)), "by the timestamp");
    }
}

/// RFC 9293 section 3.5, figure 6: a packet of its own acknowledges the SYN/ACK, before any data, and again if the SYN/ACK comes
/// again (its ACK was lost).
#[test]
fn acknowledges_the_answer() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.sender.write(MSS);
    let syn = lab.sender.poll_transmit(at(0)).expect("a SYN");
    let mut answer = windtunnel_wire::Packet::new(syn.flow, HEADERS, Bytes::ZERO);
    (answer.flags, answer.ack) = (TcpFlags::SYN | TcpFlags::ACK, windtunnel_units::Seq::FIRST_DATA);
    (answer.window, answer.ts_val) = (u16::MAX, at(40));
    let mut answered = |ms| {
        lab.sender.on_ack(&answer, at(ms));
        std::iter::from_fn(|| lab.sender.poll_transmit(at(ms)))
            .map(|packet| (packet.flags, packet.seq.get(), packet.payload()))
            .collect::<Vec<_>>()
    };
    let data = (TcpFlags::ACK | TcpFlags::PSH, 1, MSS);
    assert_eq!(answered(40), [(TcpFlags::ACK, 1, Bytes::ZERO), data]);
    assert_eq!(answered(1040), [(TcpFlags::ACK, 1 + MSS.get(), Bytes::ZERO)]);
}

/// Karn: without timestamps the answer to a second SYN is not a sample, and data start with a timeout of 3 s (RFC 6298
/// section 5.7; Linux `TCP_TIMEOUT_FALLBACK`).
#[test]
fn no_sample_without_timestamps() {
    for rto in [RtoRule::Linux, RtoRule::Rfc6298] {
        let params = TcpParams { rto, timestamps: false, ..crate::fixed_window() };
        let script = Script { syn_acks_lost: 1, ..Script::default() };
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, script);
        lab.write_endless();
        lab.run_until(at(1040));
        assert_eq!(lab.sender.stats().handshake_rtt, None);
        assert_eq!(lab.sender.rto(), ms(3000), "{rto:?}");
    }
}

/// The SYN asks with ECE and CWR (spec queues 17.1); data are ECT(0) once the SYN-ACK agreed. After two lost SYNs ECN
/// is given up.
#[test]
fn negotiates_ecn() {
    let asked = TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR;
    let mut lab = Lab::new(with_ecn(), Script::default());
    lab.write_endless();
    lab.run_until(at(40));
    assert_eq!(lab.syns, [(at(0), asked)]);
    assert!(lab.sent.iter().all(|sent| sent.ecn == Ecn::Ect0));
    let mut hole = Lab::new(with_ecn(), Script { syns_lost: 2, ..Script::default() });
    hole.write_endless();
    hole.run_until(at(2040));
    assert_eq!(hole.syns, [(at(0), asked), (at(1000), asked), (at(2000), TcpFlags::SYN)]);
    assert!(hole.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
    assert_eq!(hole.told(), [Told::Validation(1)]);
}

/// The options of spec/queues-and-signalling section 18.1 in addition to 40 bytes of headers: MSS 4, SACK permitted 2,
/// timestamps 10, window scale 4 with its NOP; without SACK or timestamps, two NOPs in its place; MDS 8 with two NOPs,
/// as long as the SYN asks for ECN: not on the third one.
#[test]
fn size_of_the_syn() {
    for (sack, timestamps, mds, sizes) in [
        (true, true, false, [60, 60, 60]),
        (false, true, false, [60, 60, 60]),
        (true, false, false, [52, 52, 52]),
        (false, false, false, [48, 48, 48]),
        (true, true, true, [68, 68, 60]),
    ] {
        let params = TcpParams { sack, timestamps, ..crate::fixed_window() };
        let headers = if timestamps { HEADERS } else { HEADERS_WITHOUT_TIMESTAMPS };
        let feedback = if mds { FeedbackScheme::Mds } else { FeedbackScheme::Rfc3168 };
        let endpoint = windtunnel_tcp::Endpoint { headers, feedback, ..with_ecn().endpoint };
        let mut lab = Lab::new(Setup { params, endpoint, ..Setup::default() }, Script::default());
        lab.sender.write(MSS);
        let syn_at = |lab: &mut Lab, ms| {
            lab.sender.on_timer(at(ms));
            lab.sender.poll_transmit(at(ms)).expect("a SYN").size().get()
        };
        assert_eq!([0, 1000, 3000].map(|ms| syn_at(&mut lab, ms)), sizes, "{sack} {timestamps} {mds}");
    }
}

/// Section 17.5: the SYN offers the controller's tau. A SYN/ACK that accepts just that agrees to MDS: data carry the identifier. One
/// with another tau, or without the option, refuses: the flow is a conventional one with ECN.
#[test]
fn tau() {
    use windtunnel_wire::{Dscp, MdsCapability};
    for (accepted, agreed) in [(Some(6), true), (Some(5), false), (None, false)] {
        let mut setup = with_ecn();
        setup.endpoint.feedback = FeedbackScheme::Mds;
        setup.endpoint.dscp = Dscp::MDS;
        let mut lab = Lab::new(setup, Script::default());
        lab.sender.write(MSS);
        let syn = lab.sender.poll_transmit(at(0)).expect("a SYN");
        let capability = |log2_tau| MdsCapability { log2_tau };
        assert_eq!(syn.options().and_then(|options| options.mds_capable), Some(capability(6)), "tau = 64");
        let mut answer = windtunnel_wire::Packet::new(syn.flow, HEADERS, Bytes::ZERO);
        answer.flags = TcpFlags::SYN | TcpFlags::ACK | TcpFlags::ECE;
        answer.ack = windtunnel_units::Seq::FIRST_DATA;
        let mds_capable = accepted.map(capability);
        answer.set_options(windtunnel_wire::Options { mds_capable, ..Default::default() });
        lab.sender.on_ack(&answer, at(20));
        let third = lab.sender.poll_transmit(at(20)).expect("the ACK of the SYN/ACK");
        let data = lab.sender.poll_transmit(at(20)).expect("data");
        let dscp = if agreed { Dscp::MDS } else { Dscp::DEFAULT };
        assert_eq!((third.dscp, third.ecn), (dscp, Ecn::NotEct), "{accepted:?}");
        assert_eq!((data.dscp, data.ecn), (dscp, Ecn::Ect0), "{accepted:?}");
    }
}

/// A receiver that does not know ECN gets Not-ECT data.
#[test]
fn without_agreement_no_ecn() {
    let mut lab = Lab::new(with_ecn(), Script::default());
    lab.refuse_ecn();
    lab.write_endless();
    lab.run_until(at(40));
    assert!(lab.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
}

/// Stopped before the SYN was answered: no SYN is sent again, and no timer stays due; a later write goes on.
#[test]
fn stopped_during_the_handshake() {
    let mut lab = Lab::new(Setup::default(), Script { syns_lost: 1, ..Script::default() });
    lab.write(3);
    lab.sender.stop();
    lab.run_until(at(5000));
    assert_eq!((lab.syns.len(), lab.sender.next_timer()), (1, None));
    lab.write(2);
    lab.run_to_the_end();
    assert_eq!((lab.syns.len(), lab.sent.len()), (2, 2));
}

/// A second answer to the SYN, and ACKs before the handshake, change nothing.
#[test]
fn stray_handshake_packets() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.write(3);
    let mut stray = windtunnel_wire::Packet::new(endpoint().flow, windtunnel_tcp::HEADERS, Bytes::ZERO);
    for (flags, ack) in
        [(TcpFlags::ACK, 1_000_000), (TcpFlags::ACK, 1), (TcpFlags::SYN | TcpFlags::ACK, 1_000_000)]
    {
        (stray.flags, stray.ack) = (flags, windtunnel_units::Seq::new(ack));
        lab.sender.on_ack(&stray, at(1));
        assert_eq!(lab.sender.connection_state(), ConnectionState::SynSent, "{flags:?}, {ack}");
    }
    lab.run_until(at(40));
    stray.flags = TcpFlags::SYN | TcpFlags::ACK;
    stray.ack = windtunnel_units::Seq::FIRST_DATA;
    lab.sender.on_ack(&stray, at(41));
    assert_eq!(lab.sender.in_flight(), MSS * 3);
    lab.run_to_the_end();
    assert_eq!(lab.sent.len(), 3);
}

/// A SYN/ACK that does not permit SACK (RFC 2018 section 2): the third duplicate ACK without any block shows the loss
/// of 1 (RFC 6582).
#[test]
fn sack_refused() {
    let mut lab = Lab::new(Setup::default(), Script::default());
    lab.sender.write(MSS * 10);
    let drain =
        |lab: &mut Lab, ms| std::iter::from_fn(|| lab.sender.poll_transmit(at(ms))).collect::<Vec<_>>();
    let syn = drain(&mut lab, 0);
    let mut answer = windtunnel_wire::Packet::new(syn[0].flow, HEADERS, Bytes::ZERO);
    (answer.flags, answer.ack) = (TcpFlags::SYN | TcpFlags::ACK, windtunnel_units::Seq::FIRST_DATA);
    (answer.window, answer.ts_val) = (u16::MAX, at(40));
    lab.sender.on_ack(&answer, at(40));
    assert_eq!(drain(&mut lab, 40).len(), 1 + 10, "the ACK of the SYN/ACK, and data");
    answer.flags = TcpFlags::ACK;
    for state in [CaState::Disorder, CaState::Disorder, CaState::Recovery] {
        lab.sender.on_ack(&answer, at(80));
        assert_eq!(lab.sender.state(), state);
    }
    assert_eq!(drain(&mut lab, 80)[0].seq, windtunnel_units::Seq::FIRST_DATA);
}
