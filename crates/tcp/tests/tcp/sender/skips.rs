//! Random skips: what they cost an honest receiver, and how soon they expose one that is not
//! (Savage et al. 1999; Sherwood, Bhattacharjee and Braud 2005; `sender/skip.rs`).

use proptest::prelude::*;
use windtunnel_tcp::{CaState, HEADERS, TcpParams};
use windtunnel_units::{Bytes, Probability, Seq};
use windtunnel_wire::{Options, Packet, SackBlock, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, Told, at, endpoint, ms};

fn skipping(percent: f64) -> TcpParams {
    TcpParams { skip_probability: Probability::clamped(percent / 100.0), ..crate::fixed_window() }
}

/// A window of 10 over 40 ms with a skip in every round trip that can have one.
fn lab(script: Script) -> Lab {
    let setup = Setup { params: skipping(100.0), fixed: true, ..Setup::default() };
    let mut lab = Lab::new(setup, script);
    lab.write(400);
    lab
}

/// The segment after the first of a flight is left out. The SACK of the one behind it comes a round trip later; with it the segment leaves,
/// once. Nothing is lost, sent again or reduced, and the path shows no reordering.
#[test]
fn a_hole_is_filled_at_the_first_sack() {
    let mut lab = lab(Script::default());
    lab.run_until(at(40));
    // 40 ms: the SYN/ACK; the first flight.
    assert_eq!(lab.sent_at(at(40)), [1, 3, 4, 5, 6, 7, 8, 9, 10], "the hole counts as in flight");
    assert_eq!(lab.sender.in_flight(), MSS * 10);
    lab.run_until(at(80));
    let second = lab.sent_at(at(80));
    assert_eq!(second[..4], [11, 2, 12, 13], "at the SACK of 3");
    assert_eq!(lab.sender.state(), CaState::Disorder);
    lab.run_until(at(120));
    assert_eq!(lab.sender.state(), CaState::Open);
    lab.run_to_the_end();
    let stats = *lab.sender.stats();
    assert!(stats.skips > 10, "{}", stats.skips);
    assert_eq!((stats.retransmits, stats.loss_episodes, stats.rtos, stats.exposed), (0, 0, 0, 0));
    assert!(!lab.told().iter().any(|told| matches!(told, Told::Loss | Told::Rto { .. })), "{:?}", lab.told());
    assert_eq!(lab.received(), MSS * 400);
    assert_eq!(stats.segments_sent, 400, "each leaves once");
    assert_eq!(lab.sender.info().reordering, Some(3));
}

/// In slow start, and with a skip in every second round trip, the window grows as without: the ACK that fills the hole counts for
/// all that it acknowledges. The transfer takes at most one round trip longer.
#[test]
fn the_window_grows_as_without_skips() {
    let time = |params| {
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, Script::default());
        lab.write(2000);
        lab.run_to_the_end();
        (lab.now, lab.cwnd())
    };
    let (without, window) = time(crate::fixed_window());
    let (with, same) = time(skipping(100.0));
    assert_eq!(same, window);
    assert!(with.since(without) <= ms(40), "{without} {with}");
}

/// If everything behind the hole is lost, no SACK comes. The segment then leaves as the tail loss probe, two round trips after the
/// last sign of life, and its ACK shows what is missing.
#[test]
fn without_a_sack_it_is_the_probe() {
    let mut lab = lab(Script { lost: (1..18).collect(), ..Script::default() });
    lab.run_until(at(40));
    lab.run_exactly_until(at(400));
    let second = lab.sent.iter().find(|sent| sent.segment == 2).expect("it leaves");
    // 80 ms: the ACK of 1; 82 = 2 * 40 + 2 ms later.
    assert_eq!(second.time.as_nanos() / 1_000_000, 162);
    lab.run_to_the_end();
    assert_eq!(lab.received(), MSS * 400);
    assert_eq!(lab.sender.stats().exposed, 0);
}

fn answer(lab: &Lab, ack: u64, sacked: Option<(u64, u64)>) -> Packet {
    let segment = |n: u64| Seq::FIRST_DATA + MSS * (n - 1);
    let mut packet = Packet::new(endpoint().flow, HEADERS, Bytes::ZERO);
    packet.ack = segment(ack);
    packet.ts_val = lab.now;
    packet.ts_ecr = lab.now;
    packet.window = u16::MAX;
    packet.flags = TcpFlags::ACK;
    if let Some((first, last)) = sacked {
        let mut options = Options::default();
        options.sack.push(SackBlock { start: segment(first), end: segment(last + 1) });
        packet.set_options(options);
    }
    packet
}

/// A cumulative ACK beyond the hole, one into it, or a block over it: each resets the connection. One RST leaves, and nothing after
/// it, whatever arrives.
#[test]
fn an_acknowledgment_of_the_hole_resets() {
    for (ack, sacked) in [(4, None), (11, None), (2, Some((2, 5))), (1, Some((2, 2)))] {
        let mut lab = lab(Script { lost: (0..100).collect(), ..Script::default() });
        lab.run_until(at(40));
        let packet = answer(&lab, ack, sacked);
        lab.sender.on_ack(&packet, lab.now);
        assert_eq!(lab.sender.stats().exposed, 1, "{ack} {sacked:?}");
        let reset = lab.sender.poll_transmit(lab.now).expect("RST");
        assert!(reset.flags.contains(TcpFlags::RST) && reset.payload() == Bytes::ZERO);
        assert_eq!(reset.seq, lab.sender.snd_nxt());
        lab.sender.write(MSS * 10);
        let packet = answer(&lab, 11, None);
        lab.sender.on_ack(&packet, lab.now);
        assert!(lab.sender.poll_transmit(lab.now).is_none() && lab.sender.next_timer().is_none());
        assert!(lab.sender.is_drained() && lab.sender.is_reset());
        assert_eq!((lab.sender.in_flight(), lab.sender.stats().exposed), (Bytes::ZERO, 1));
    }
    let mut honest = lab(Script { lost: (0..100).collect(), ..Script::default() });
    honest.run_until(at(40));
    let packet = answer(&honest, 2, Some((3, 5)));
    honest.sender.on_ack(&packet, honest.now);
    assert_eq!(honest.sender.stats().exposed, 0);
    // Data never sent: ignored, as always.
    let packet = answer(&honest, 200, None);
    honest.sender.on_ack(&packet, honest.now);
    assert_eq!(honest.sender.stats().exposed, 0);
}

/// Without SACK nothing would tell the hole from a loss: a receiver that permits none gets all segments in order.
#[test]
fn needs_rack() {
    let params = TcpParams { loss_detection: windtunnel_tcp::LossDetection::Rfc6675, ..skipping(1.0) };
    let refused = params.check().expect_err("RFC 6675 counts what is SACKed above");
    assert_eq!(refused.key, "skip_probability");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Over paths that lose, delay and reorder data and lose ACKs, an honest receiver is never exposed, and it gets everything.
    #[test]
    fn the_honest_are_never_accused(
        percent in prop_oneof![Just(100.0), Just(20.0), Just(3.0)],
        every in 1_u32..3,
        paced in any::<bool>(),
        switch in any::<[bool; 3]>(),
        lost in prop::collection::btree_set(0_u64..300, 0..60),
        acks_lost in prop::collection::btree_set(0_u64..300, 0..60),
        late in prop::collection::btree_map(0_u64..300, 1_u64..80, 0..40),
    ) {
        let late = late.into_iter().map(|(index, by)| (index, ms(by))).collect();
        let params = TcpParams { tlp: switch[0], timestamps: switch[1], undo: switch[2], ..skipping(percent) };
        let mut endpoint = endpoint();
        endpoint.paced = paced;
        let setup = Setup { params, endpoint, every, ..Setup::default() };
        let mut lab = Lab::new(setup, Script { lost, late, acks_lost, ..Script::default() });
        lab.write(250);
        lab.run_to_the_end();
        prop_assert_eq!(lab.sender.stats().exposed, 0);
        prop_assert_eq!(lab.received(), MSS * 250);
        prop_assert_eq!(lab.sender.in_flight(), Bytes::ZERO);
        prop_assert_eq!(lab.sender.stats().delivered, MSS * 250);
    }
}
