//! ECN nonces: an honest receiver is never accused, and a guess is right with probability 1/2
//! (RFC 3540; spec/congestion-control section 5, "Tests"; `sender/ecn/nonce.rs`).

use proptest::prelude::*;
use windtunnel_tcp::{Endpoint, FeedbackScheme, HEADERS, TcpParams};
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, at, endpoint, ms};

fn with_nonces(seed: u64) -> TcpParams {
    TcpParams { ecn_nonce: true, nonce_seed: seed, ..crate::fixed_window() }
}

fn capable() -> Endpoint {
    Endpoint { ecn: Ecn::Ect0, feedback: FeedbackScheme::Rfc3168, ..endpoint() }
}

fn lab(seed: u64, script: Script) -> Lab {
    let setup = Setup { params: with_nonces(seed), endpoint: capable(), fixed: true, ..Setup::default() };
    let mut lab = Lab::new(setup, script);
    lab.write(400);
    lab
}

/// New segments leave as ECT(0) and ECT(1), each about half of the time (400 of them, five standard errors); a retransmission carries
/// no nonce, because it is not ECN-capable (RFC 3168 section 6.1.5).
#[test]
fn half_of_the_segments_are_ect1() {
    let mut lab = lab(1, Script { lost: [7].into(), ..Script::default() });
    lab.run_to_the_end();
    let with = |ecn| lab.sent.iter().filter(|sent| sent.ecn == ecn).count();
    assert!((150..=250).contains(&with(Ecn::Ect1)), "{}", with(Ecn::Ect1));
    assert!(lab.sent.iter().all(|sent| sent.again == (sent.ecn == Ecn::NotEct)), "{:?}", lab.sent);
    assert_eq!(lab.sender.stats().nonce_fail, 0);
}

/// An ACK of the first `segments` segments with this sum.
fn forged(lab: &Lab, segments: u64, sum: bool) -> Packet {
    let mut packet = Packet::new(endpoint().flow, HEADERS, Bytes::ZERO);
    packet.ack = Seq::FIRST_DATA + MSS * segments;
    packet.ts_val = lab.now;
    packet.ts_ecr = lab.now;
    packet.window = u16::MAX;
    packet.flags = TcpFlags::ACK.with_if(TcpFlags::AE, sum);
    packet
}

/// Of 2000 connections whose receiver guesses `k` sums, 2000 / 2^k are not found out, within five standard deviations of the binomial distribution;
/// and each wrong guess costs all of the window.
#[test]
fn guesses_pass_with_two_to_the_minus_k() {
    const CONNECTIONS: u64 = 2000;
    let mut passed = [0_u64; 9];
    for seed in 0..CONNECTIONS {
        let mut lab = lab(seed, Script { lost: (0..100).collect(), ..Script::default() });
        lab.run_until(at(40));
        for k in 1..=8 {
            let packet = forged(&lab, k, true);
            lab.sender.on_ack(&packet, lab.now);
            if lab.sender.stats().nonce_fail > 0 {
                break;
            }
            passed[k as usize] += 1;
        }
    }
    let mut p = 1.0;
    for (k, passed) in passed.iter().enumerate().skip(1) {
        p /= 2.0;
        let (mean, variance) = (CONNECTIONS as f64 * p, CONNECTIONS as f64 * p * (1.0 - p));
        assert!((*passed as f64 - mean).abs() <= 5.0 * variance.sqrt(), "{k}: {passed}");
    }
}

/// A wrong sum is answered as a mark, once per window, and the window falls to one segment; no CWR leaves, for there was no ECE. The sum
/// is then taken as it is: the next right one passes.
#[test]
fn a_wrong_sum_costs_the_window() {
    let setup = Setup { params: with_nonces(1), endpoint: capable(), ..Setup::default() };
    let mut lab = Lab::new(setup, Script { lost: (0..100).collect(), ..Script::default() });
    lab.write(400);
    lab.run_until(at(40));
    let odd =
        |lab: &Lab, n: usize| lab.sent[..n].iter().filter(|sent| sent.ecn == Ecn::Ect1).count() % 2 == 1;
    // The right sum of the first segment is 1 + its nonce.
    let wrong = odd(&lab, 1);
    let packet = forged(&lab, 1, wrong);
    lab.sender.on_ack(&packet, lab.now);
    assert_eq!(lab.sender.stats().nonce_fail, 1);
    for n in 2..=10 {
        let packet = forged(&lab, n, odd(&lab, n as usize));
        lab.sender.on_ack(&packet, lab.now);
    }
    let stats = *lab.sender.stats();
    assert_eq!((stats.nonce_fail, stats.ecn_reductions), (1, 1));
    assert!(lab.sender.cwnd() <= MSS * 2, "{}", lab.sender.cwnd());
    assert_eq!(lab.sender.control().ssthresh, MSS * 5);
    let next = lab.sender.poll_transmit(lab.now).expect("room for one");
    assert!(!next.flags.contains(TcpFlags::CWR));
}

/// A receiver that knows no ECN is not asked for sums.
#[test]
fn without_ecn_there_are_no_nonces() {
    let setup = Setup { params: with_nonces(1), endpoint: capable(), ..Setup::default() };
    let mut lab = Lab::new(setup, Script::default());
    lab.refuse_ecn();
    lab.write(100);
    lab.run_to_the_end();
    assert!(lab.sent.iter().all(|sent| sent.ecn == Ecn::NotEct));
    assert_eq!(lab.sender.stats().nonce_fail, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    /// Over paths that lose, delay, reorder and mark data and lose ACKs, an honest receiver is never accused, with skips or without, and
    /// it gets everything.
    #[test]
    fn the_honest_are_never_accused(
        seed in any::<u64>(),
        every in 1_u32..4,
        paced in any::<bool>(),
        switch in any::<[bool; 4]>(),
        lost in prop::collection::btree_set(0_u64..300, 0..40),
        acks_lost in prop::collection::btree_set(0_u64..300, 0..80),
        marked in prop::collection::btree_set(0_u64..300, 0..60),
        late in prop::collection::btree_map(0_u64..300, 1_u64..80, 0..40),
    ) {
        let late = late.into_iter().map(|(index, by)| (index, ms(by))).collect();
        let skips = windtunnel_units::Probability::clamped(if switch[3] { 0.1 } else { 0.0 });
        let params = TcpParams {
            tlp: switch[0],
            timestamps: switch[1],
            undo: switch[2],
            skip_probability: skips,
            ..with_nonces(seed)
        };
        let mut endpoint = capable();
        endpoint.paced = paced;
        let setup = Setup { params, endpoint, every, ..Setup::default() };
        let mut lab = Lab::new(setup, Script { lost, late, acks_lost, ..Script::default() });
        lab.mark_if_capable = marked;
        lab.write(250);
        lab.run_to_the_end();
        prop_assert_eq!(lab.sender.stats().nonce_fail, 0);
        prop_assert_eq!(lab.received(), MSS * 250);
    }
}
