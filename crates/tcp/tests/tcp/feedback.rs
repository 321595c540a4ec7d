//! The receiver's feedback (spec/mds section 6; "Multiplicative Decrease Scaling", Receiver Feedback).

use proptest::prelude::*;
use windtunnel_tcp::ideal::Receiver;
use windtunnel_tcp::{AckParams, AckPolicy, Endpoint, FeedbackScheme, HEADERS};
use windtunnel_units::{Bytes, Duration, Seq, Time};
use windtunnel_wire::{Dscp, Ecn, FlowId, Packet, TcpFlags};

const MSS: Bytes = Bytes::new(1448);

fn endpoint() -> Endpoint {
    Endpoint {
        flow: FlowId::new(0),
        mtu: MSS + HEADERS,
        headers: HEADERS,
        iw: MSS * 10,
        paced: true,
        needs_ecn: false,
        ecn: Ecn::Ect0,
        feedback: FeedbackScheme::Mds,
        dscp: Dscp::MDS,
    }
}

/// The feedback: bytes acknowledged, those among them with ESCE and with ECE, and the number of ACKs.
#[derive(Debug, Default, PartialEq)]
struct Feedback {
    acked: Bytes,
    esce: Bytes,
    ece: Bytes,
    acks: usize,
}

/// Sends segments with these marks and gaps to a receiver, lets its last timer run out, and sums up the ACKs.
fn deliver(policy: AckPolicy, count: u32, segments: &[(Ecn, u64)]) -> Feedback {
    let mut receiver = Receiver::new(endpoint(), AckParams { policy, count, ..AckParams::default() });
    let mut feedback = Feedback::default();
    let mut una = Seq::FIRST_DATA;
    let mut now = Time::ZERO;
    let mut collect = |receiver: &mut Receiver, now| {
        while let Some(ack) = receiver.poll_ack(now) {
            let newly = ack.ack - una;
            una = ack.ack;
            feedback.acked += newly;
            feedback.acks += 1;
            if ack.flags.contains(TcpFlags::AE) {
                feedback.esce += newly;
            }
            if ack.flags.contains(TcpFlags::ECE) {
                feedback.ece += newly;
            }
        }
    };
    for (i, (ecn, gap_us)) in segments.iter().enumerate() {
        let arrival = now + Duration::from_micros(*gap_us);
        if let Some(timer) = receiver.next_timer().filter(|t| *t <= arrival) {
            receiver.on_timer(timer);
            collect(&mut receiver, timer);
        }
        now = arrival;
        let mut packet = Packet::new(FlowId::new(0), MSS + HEADERS, MSS);
        packet.seq = Seq::FIRST_DATA + MSS * i as u64;
        packet.ecn = *ecn;
        packet.ts_val = now;
        receiver.on_segment(&packet, now);
        collect(&mut receiver, now);
    }
    if let Some(timer) = receiver.next_timer() {
        receiver.on_timer(timer);
        collect(&mut receiver, timer);
    }
    feedback
}

fn marks() -> impl Strategy<Value = Ecn> {
    prop_oneof![4 => Just(Ecn::Ect0), 3 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce)]
}

fn policies() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![Just(AckPolicy::Immediate), Just(AckPolicy::QuickSignal), Just(AckPolicy::StateChange)]
}

proptest! {
    /// The proportion property: bytes acknowledged with ESCE (ECE) equal the bytes received with SCE (CE), for every
    /// policy, on random patterns of marks and gaps (some longer than the delayed ACK's 40 ms).
    #[test]
    fn proportion_of_marks_is_kept(
        policy in policies(),
        count in 1_u32..5,
        segments in prop::collection::vec((marks(), prop_oneof![1_u64..2_000, 30_000_u64..60_000]), 1..300),
    ) {
        let feedback = deliver(policy, count, &segments);
        let marked = |ecn: Ecn| MSS * segments.iter().filter(|(e, _)| *e == ecn).count() as u64;
        prop_assert_eq!(feedback.acked, MSS * segments.len() as u64);
        prop_assert_eq!(feedback.esce, marked(Ecn::Ect1));
        prop_assert_eq!(feedback.ece, marked(Ecn::Ce));
    }
}

/// Delayed ACKs: every second segment at once, a single one after 40 ms (RFC 9293 section 3.8.6.3).
#[test]
fn delayed_ack_by_count_and_time() {
    let unmarked = vec![(Ecn::Ect0, 100); 9];
    let feedback = deliver(AckPolicy::StateChange, 2, &unmarked);
    assert_eq!(feedback.acks, 5, "four pairs, and the last one by its timer");
    let sparse = vec![(Ecn::Ect0, 50_000); 4];
    assert_eq!(deliver(AckPolicy::StateChange, 2, &sparse).acks, 4, "each by its timer");
}

/// The volume of state-change ACKs with independent marks of probability m and every second segment acknowledged:
/// 1/2 + m(1-m) per segment (spec/queues-and-signalling section 17.7), so 0.5 for a clean flow and at most 0.75.
#[test]
fn volume_of_state_change_acks() {
    for (share, expected) in [(0.0, 0.5), (0.02, 0.5196), (0.25, 0.6875), (0.5, 0.75)] {
        let mut state = 1_u64;
        let n = 200_000;
        let segments: Vec<(Ecn, u64)> = (0..n)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let u = (state >> 11) as f64 / (1_u64 << 53) as f64;
                (if u < share { Ecn::Ect1 } else { Ecn::Ect0 }, 100)
            })
            .collect();
        let volume = deliver(AckPolicy::StateChange, 2, &segments).acks as f64 / f64::from(n);
        assert!(
            (volume - expected).abs() < 0.005,
            "share {share}: {volume} ACKs per segment, expected {expected}"
        );
    }
}

/// A receiver that did not negotiate MDS takes ECT(1) for ECT(0) (RFC 3168 section 5).
#[test]
fn without_mds_no_esce() {
    let mut receiver =
        Receiver::new(Endpoint { feedback: FeedbackScheme::None, ..endpoint() }, AckParams::default());
    let mut packet = Packet::new(FlowId::new(0), MSS + HEADERS, MSS);
    packet.seq = Seq::FIRST_DATA;
    packet.ecn = Ecn::Ect1;
    receiver.on_segment(&packet, Time::ZERO);
    let ack = receiver.poll_ack(Time::ZERO).expect("acknowledged at once");
    assert!(!ack.flags.contains(TcpFlags::AE) && !ack.flags.contains(TcpFlags::ECE));
}

/// Section 6, quick-signal: a marked segment is acknowledged at once, after those that wait with another mark;
/// unmarked ones wait for the third or for 40 ms, and a timer that is called early or in vain does nothing.
#[test]
fn quick_signal_by_hand() {
    let ack = AckParams { policy: AckPolicy::QuickSignal, count: 3, ..AckParams::default() };
    let mut receiver = Receiver::new(endpoint(), ack);
    let acks = |receiver: &mut Receiver, now| std::iter::from_fn(|| receiver.poll_ack(now)).count();
    let at = |ms| Time::ZERO + Duration::from_millis(ms);
    receiver.on_timer(at(0));
    assert_eq!(acks(&mut receiver, at(0)), 0, "nothing waits");
    for (n, ecn, expected) in [
        (0, Ecn::Ect0, 0),
        (1, Ecn::Ect1, 2),
        (2, Ecn::Ect1, 1),
        (3, Ecn::Ce, 1),
        (4, Ecn::Ect0, 0),
        (5, Ecn::Ect0, 0),
        (6, Ecn::Ect0, 1),
        (7, Ecn::Ect0, 0),
    ] {
        let mut packet = Packet::new(FlowId::new(0), MSS + HEADERS, MSS);
        (packet.seq, packet.ecn) = (Seq::FIRST_DATA + MSS * n, ecn);
        receiver.on_segment(&packet, at(n));
        assert_eq!(acks(&mut receiver, at(n)), expected, "segment {n}");
    }
    for (ms, expected) in [(46, 0), (47, 1), (100, 0)] {
        receiver.on_timer(at(ms));
        assert_eq!(acks(&mut receiver, at(ms)), expected, "at {ms} ms");
    }
}
