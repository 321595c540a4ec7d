//! What ACKs echo: RFC 3168's latch, and ESCE in proportion to SCE.

use proptest::prelude::*;
use windtunnel_tcp::{AckParams, AckPolicy, EcnPp, Endpoint, FeedbackScheme, HEADERS, Receiver, TcpParams};
use windtunnel_units::{Bytes, Duration, Probability};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, endpoint, ms, policy};

fn ecn_bench(ack: AckPolicy) -> Bench {
    Bench::new(&crate::fixed_window(), policy(ack), Ecn::Ect0, false)
}

/// RFC 3168 section 6.1.3: from CE on every ACK has ECE, until CWR; CE on the packet with CWR sets the latch anew.
#[test]
fn latch() {
    let mut bench = ecn_bench(AckPolicy::Immediate);
    let cwr = TcpFlags::CWR;
    let none = TcpFlags::NONE;
    let script = [
        (none, Ecn::Ect0, false),
        (none, Ecn::Ce, true),
        (none, Ecn::Ect0, true),
        (none, Ecn::NotEct, true),
        (none, Ecn::Ect1, true),
        (cwr, Ecn::Ect0, false),
        (none, Ecn::Ect0, false),
        (none, Ecn::Ce, true),
        (cwr, Ecn::Ce, true),
        (none, Ecn::Ect0, true),
        (cwr, Ecn::Ect0, false),
    ];
    for (n, (flags, ecn, ece)) in (0..).zip(script) {
        bench.marked(1 + n * MSS, 1 + (n + 1) * MSS, flags, ecn);
        let ack = bench.take().pop().expect("an ACK");
        assert_eq!((ack.ece(), ack.esce()), (ece, false), "segment {n}");
    }
    assert_eq!(bench.receiver.stats().ce, 3);
}

/// The ACK carries the latch's state when it leaves (spec/queues-and-signalling section 17.1): one CE of two segments
/// is enough.
#[test]
fn latch_and_delayed_acks() {
    let mut bench = ecn_bench(AckPolicy::Every);
    for (n, ecn, ece) in [(0, Ecn::Ect0, false), (2, Ecn::Ce, true), (4, Ecn::Ect0, true)] {
        bench.segment_with(n, ecn);
        bench.segment_with(n + 1, Ecn::Ect0);
        assert_eq!(bench.take().iter().map(super::fixture::Reply::ece).collect::<Vec<_>>(), [ece]);
    }
}

/// Out-of-order segments are within the window: their CE counts. Duplicates below it and segments beyond it are
/// outside: neither their CE nor their CWR counts (RFC 3168 section 6.1.5).
#[test]
fn outside_of_the_window() {
    let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::Ect0, false);
    let mut ece = |start: u64, flags, ecn| {
        bench.marked(start, start + MSS, flags, ecn);
        bench.take().pop().expect("an ACK").ece()
    };
    assert!(!ece(1, TcpFlags::NONE, Ecn::Ect0));
    assert!(!ece(1, TcpFlags::NONE, Ecn::Ce), "below");
    assert!(!ece(1 + MSS + (1 << 14), TcpFlags::NONE, Ecn::Ce), "beyond");
    assert!(ece(1 + 2 * MSS, TcpFlags::NONE, Ecn::Ce), "above a gap");
    assert!(ece(1, TcpFlags::CWR, Ecn::Ect0), "CWR below");
    assert!(!ece(1 + MSS, TcpFlags::CWR, Ecn::Ect0), "CWR in the gap");
}

/// Without ECN in the handshake no mark is echoed; without MDS ECT(1) is just ECT.
#[test]
fn not_negotiated() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    bench.segment_with(0, Ecn::Ce);
    assert!(!bench.take()[0].ece());
    let mut bench = ecn_bench(AckPolicy::StateChange);
    bench.segment_with(0, Ecn::Ect1);
    bench.segment_with(1, Ecn::Ect0);
    let acks = bench.take();
    assert_eq!(acks.len(), 1, "no change of state");
    assert!(!acks[0].esce() && !bench.receiver.echoes_sce());
}

/// MDS flows echo CE through the latch in addition to ESCE.
#[test]
fn both_echoes() {
    let mut bench = Bench::new(&crate::fixed_window(), policy(AckPolicy::Immediate), Ecn::Ect0, true);
    assert!(bench.receiver.echoes_sce());
    for (n, ecn, ece, esce) in
        [(0, Ecn::Ect1, false, true), (1, Ecn::Ce, true, false), (2, Ecn::Ect1, true, true)]
    {
        bench.segment_with(n, ecn);
        let ack = bench.take().pop().expect("an ACK");
        assert_eq!((ack.ece(), ack.esce()), (ece, esce));
    }
    let stats = bench.receiver.stats();
    assert_eq!((stats.ce, stats.sce), (1, 2));
}

/// The volume of state-change ACKs at independent marks of probability m: 1/2 + m(1-m) (spec/queues-and-signalling
/// section 17.7).
#[test]
fn volume_of_state_change_acks() {
    for (share, expected) in [(0.0, 0.5), (0.02, 0.5196), (0.25, 0.6875), (0.5, 0.75)] {
        let mut bench = Bench::new(&crate::fixed_window(), policy(AckPolicy::StateChange), Ecn::Ect0, true);
        let mut state = 1_u64;
        let n = 200_000;
        for i in 0..n {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let u = (state >> 11) as f64 / (1_u64 << 53) as f64;
            bench.segment_with(i, if u < share { Ecn::Ect1 } else { Ecn::Ect0 });
        }
        let volume = bench.take().len() as f64 / n as f64;
        assert!(
            (volume - expected).abs() < 0.005,
            "share {share}: {volume} ACKs per segment, not {expected}"
        );
    }
}

/// How a sender with SACK reads the ACKs: bytes newly acknowledged, in total and by ACKs with ESCE.
struct Feedback {
    acked: Vec<bool>,
    esce: u64,
}

impl Feedback {
    fn on_acks(&mut self, bench: &mut Bench) {
        for ack in bench.take() {
            let mut newly = 0;
            for (start, end) in std::iter::once((1, ack.ack)).chain(ack.blocks.iter().copied()) {
                for segment in ((start - 1) / MSS)..((end - 1) / MSS) {
                    newly += u64::from(!std::mem::replace(&mut self.acked[segment as usize], true));
                }
            }
            if ack.esce() {
                self.esce += newly;
            }
        }
    }
}

fn policies() -> impl Strategy<Value = AckPolicy> {
    prop_oneof![
        Just(AckPolicy::Immediate),
        Just(AckPolicy::QuickSignal),
        Just(AckPolicy::StateChange),
        Just(AckPolicy::Every),
        Just(AckPolicy::Linux),
        Just(AckPolicy::Quic),
    ]
}

fn marks() -> impl Strategy<Value = Ecn> {
    prop_oneof![4 => Just(Ecn::Ect0), 4 => Just(Ecn::Ect1), 1 => Just(Ecn::Ce), 1 => Just(Ecn::NotEct)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// The proportion property, with losses, reordering, duplicates, gaps in time and GRO: the bytes that ACKs with
    /// ESCE newly acknowledge are the bytes that arrived with SCE, for every policy.
    #[test]
    fn proportion_of_sce_is_kept(
        ack in policies(),
        count in 1_u32..5,
        gro in prop::option::weighted(0.3, 0_u64..300),
        segments in prop::collection::vec(
            (marks(), 0_u64..12, prop_oneof![8 => 1_u64..400, 1 => 30_000_u64..60_000], prop::bool::weighted(0.1)),
            1..200,
        ),
    ) {
        let params = TcpParams { gro: gro.map(Duration::from_micros), ..crate::fixed_window() };
        let ack = AckParams { policy: ack, count, ..AckParams::default() };
        let mut bench = Bench::new(&params, ack, Ecn::Ect0, true);
        let mut feedback = Feedback { acked: vec![false; segments.len()], esce: 0 };
        // Each segment comes some places later than it was sent: reordering, or a retransmission after a loss.
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|i| i + if segments[*i].1 > 8 { segments[*i].1 as usize * 3 } else { 0 });
        let mut sce = 0;
        for i in order {
            let (ecn, _, gap, twice) = segments[i];
            bench.wait(Duration::from_micros(gap));
            feedback.on_acks(&mut bench);
            sce += u64::from(ecn == Ecn::Ect1);
            for _ in 0..=u32::from(twice) {
                bench.segment_with(i as u64, ecn);
                feedback.on_acks(&mut bench);
            }
        }
        bench.wait(ms(1000));
        feedback.on_acks(&mut bench);
        prop_assert!(feedback.acked.iter().all(|acked| *acked), "all is acknowledged");
        prop_assert_eq!(feedback.esce, sce);
    }
}

/// A receiver with DCTCP's echo and every second segment acknowledged.
fn dctcp_receiver() -> Bench {
    let params = crate::fixed_window();
    let mut bench = Bench::new(&params, policy(AckPolicy::Every), Ecn::Ect0, false);
    let endpoint = Endpoint { feedback: FeedbackScheme::Dctcp, ..endpoint(Ecn::Ect0, false, HEADERS) };
    bench.receiver = Receiver::new(endpoint, &params, policy(AckPolicy::Every));
    let syn = bench.packet(0, 0, TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR, Ecn::NotEct);
    bench.put(&syn);
    assert_eq!(bench.acks.remove(0).flags.ace(), 0b001, "negotiated as RFC 3168");
    bench
}

/// RFC 8257 section 3.2: ECE says for each ACK whether its segments had CE; a segment that waits is acknowledged before
/// one with another mark, and that one at once. So the bytes acknowledged with ECE are those that arrived with CE.
#[test]
fn dctcp_echoes_each_mark() {
    let mut bench = dctcp_receiver();
    let arrivals = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0, Ecn::Ect0];
    for (n, ecn) in (0..).zip(arrivals) {
        bench.segment_with(n, ecn);
    }
    let echoed: Vec<(u64, bool)> = bench.take().iter().map(|ack| ((ack.ack - 1) / MSS, ack.ece())).collect();
    assert_eq!(echoed, [(1, false), (2, true), (4, true), (5, false), (7, false)]);
}

/// A receiver with AccECN, past the ACKs with which Linux starts.
fn accecn_receiver(acks: AckPolicy) -> Bench {
    let params = TcpParams { ecn_pp: EcnPp::Off, ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(acks), Ecn::Ect0, false);
    let endpoint = Endpoint { feedback: FeedbackScheme::AccEcn, ..endpoint(Ecn::Ect0, false, HEADERS) };
    bench.receiver = Receiver::new(endpoint, &params, policy(acks));
    let syn = bench.packet(0, 0, TcpFlags::SYN.with_ace(0b111), Ecn::Ect0);
    bench.put(&syn);
    for n in 0..100 {
        bench.wait(ms(1));
        bench.segment_with(n, Ecn::Ect0);
    }
    bench.take();
    bench
}

/// AccECN: CE after ECT is acknowledged at once by every policy (RFC 9768 section 3.2.2.5.1); ECT after CE by Linux's, which
/// acknowledges every change of the code point (`tcp_ecn_received_counters`), and otherwise with the next segment.
#[test]
fn accecn_acknowledges_changes() {
    for (acks, expected) in
        [(AckPolicy::Linux, vec![102, 103, 104, 106, 107]), (AckPolicy::Every, vec![102, 103, 105, 107])]
    {
        let mut bench = accecn_receiver(acks);
        for (n, ecn) in (100..).zip([Ecn::Ect0, Ecn::Ect0, Ecn::Ce, Ecn::Ect0, Ecn::Ect0, Ecn::Ect0, Ecn::Ce])
        {
            bench.segment_with(n, ecn);
        }
        let acked: Vec<u64> = bench.take().iter().map(|ack| (ack.ack - 1) / MSS).collect();
        assert_eq!(acked, expected, "{acks:?}");
    }
}

/// Section 17.7, dithered: with every second segment acknowledged there is exactly one ACK for two segments whatever is marked,
/// and the segments acknowledged with ESCE differ from those that arrived with SCE by one at most.
#[test]
fn dithered_echo_of_sce() {
    let mut bench = Bench::new(&crate::fixed_window(), policy(AckPolicy::Dithered), Ecn::Ect0, true);
    let (mut arrived, mut echoed, mut acks) = (0_i64, 0_i64, 0);
    let mut state = 5_u64;
    for n in 0..4000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let sce = (state >> 60) < 1 + n / 400;
        arrived += i64::from(sce);
        bench.segment_with(n, if sce { Ecn::Ect1 } else { Ecn::Ect0 });
        for ack in bench.take() {
            acks += 1;
            echoed += if ack.esce() { 2 } else { 0 };
            assert!((arrived - echoed).abs() <= 1, "{arrived} arrived, {echoed} echoed");
        }
    }
    assert_eq!(acks, 2000);
    assert!(arrived > 500);
}

/// A receiver that hides all marks echoes none, counts them as arrived, and delays ACKs as if there were none.
#[test]
fn hidden_marks() {
    let ack = AckParams { hide_marks: Probability::ONE, ..policy(AckPolicy::StateChange) };
    let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::Ect0, true);
    for (n, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::Ect1]) {
        bench.segment_with(n, ecn);
    }
    let acks = bench.take();
    assert_eq!(acks.len(), 2, "every second segment");
    assert!(acks.iter().all(|ack| !ack.ece() && !ack.esce()));
    assert_eq!((bench.receiver.stats().ce, bench.receiver.stats().sce), (1, 2));
}

/// Section 17.7, quick-signal: segments with SCE or CE are acknowledged at once, and those that wait before a segment
/// with SCE get an ACK of their own; others wait.
#[test]
fn quick_signal() {
    let ack = AckParams { count: 9, ..policy(AckPolicy::QuickSignal) };
    let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::Ect0, true);
    let arrivals =
        [(Ecn::Ect0, 0), (Ecn::Ect1, 2), (Ecn::Ect1, 1), (Ecn::Ect0, 0), (Ecn::Ce, 1), (Ecn::Ect0, 0)];
    for (n, (ecn, acks)) in (0..).zip(arrivals) {
        bench.segment_with(n, ecn);
        assert_eq!(bench.take().len(), acks, "segment {n}");
    }
}

/// With the scheme `esce` both ends are configured: SCE is echoed without an offer of MDS in the SYN, and CE through
/// the latch.
#[test]
fn esce_needs_no_offer() {
    let params = crate::fixed_window();
    let mut bench = ecn_bench(AckPolicy::Immediate);
    let endpoint = Endpoint { feedback: FeedbackScheme::Esce, ..endpoint(Ecn::Ect0, false, HEADERS) };
    bench.receiver = Receiver::new(endpoint, &params, policy(AckPolicy::Immediate));
    let syn = bench.packet(0, 0, TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR, Ecn::NotEct);
    bench.put(&syn);
    bench.take();
    for (n, ecn) in (0..).zip([Ecn::Ect0, Ecn::Ect1, Ecn::Ce]) {
        bench.segment_with(n, ecn);
    }
    let echoes: Vec<_> = bench.take().iter().map(|ack| (ack.esce(), ack.ece())).collect();
    assert_eq!(echoes, [(false, false), (true, false), (false, true)]);
}

/// Section 17.7, dithered, by hand: an ACK of n segments carries ESCE if at least n/2 are owed (arrived with SCE, not
/// yet acknowledged with ESCE). Of eight: 3 are too few, 3 + 1 are enough and leave -4, then 4 leave 0. Where nothing
/// is owed, the ACK of a duplicate has none.
#[test]
fn dithered_by_hand() {
    let ack = AckParams { count: 8, ..policy(AckPolicy::Dithered) };
    let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::Ect0, true);
    let mut n = 0;
    for (sce, esce, owed) in [
        (3, false, 3),
        (1, true, -4),
        (4, false, 0),
        (1, false, 1),
        (3, true, -4),
        (5, false, 1),
        (3, true, -4),
    ] {
        for i in 0..8 {
            bench.segment_with(n, if i < sce { Ecn::Ect1 } else { Ecn::Ect0 });
            n += 1;
        }
        let echoes: Vec<bool> = bench.take().iter().map(super::fixture::Reply::esce).collect();
        assert_eq!(echoes, [esce], "up to segment {n}");
        if owed <= 0 {
            bench.segment_with(0, Ecn::Ect0);
            assert!(!bench.take()[0].esce(), "a duplicate after segment {n}");
        }
    }
}

/// QUIC's receiver: of marks in a row the first is acknowledged at once (draft-ietf-quic-ack-frequency section 6.4; docs/spec/ccwg-2026
/// section H), and with a `count` of 2 each is, as RFC 9000 section 13.2.1 asks. Other packets wait for the count.
#[test]
fn quic_acknowledges_the_first_of_marks() {
    let params = crate::fixed_window();
    for (count, expected) in [(10, vec![4, 14]), (2, vec![1, 3, 4, 5, 6, 8, 10, 12, 14])] {
        let acks = AckParams { count, ..policy(AckPolicy::Quic) };
        let mut bench = Bench::new(&params, acks, Ecn::Ect0, false);
        let endpoint = Endpoint { feedback: FeedbackScheme::Quic, ..endpoint(Ecn::Ect0, false, HEADERS) };
        bench.receiver = Receiver::new(endpoint, &params, acks);
        let syn = bench.packet(0, 0, TcpFlags::SYN | TcpFlags::ECE | TcpFlags::CWR, Ecn::NotEct);
        bench.put(&syn);
        bench.take();
        let after = |packet: &u64| {
            bench.segment_with(*packet, if (4..=6).contains(packet) { Ecn::Ce } else { Ecn::Ect0 });
            !bench.take().is_empty()
        };
        assert_eq!((0..16).filter(after).collect::<Vec<u64>>(), expected, "{count}");
    }
}
