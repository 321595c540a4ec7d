//! Reordering, and spurious timeouts (spec/congestion-control sections 1.9 and 1.12; RFC 5682, RFC 3522, RFC 8985).

use windtunnel_tcp::{CaState, HEADERS, LossDetection, TcpParams};
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{FlowId, Options, Packet, SackBlock, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, Told, at, lost, ms};

fn lab(params: TcpParams, script: Script) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(40));
    lab
}

/// All ACKs of the first flight are held up for 400 ms: the timer at 280 ms was spurious.
fn late_acks() -> Script {
    Script { ack_outage: Some((at(50), at(500))), ..Script::default() }
}

/// F-RTO (without timestamps, so that Eifel cannot detect anything): at 520 ms the ACK of 1 sends two new segments
/// instead of 2 and 3; the ACK of 2, which was never sent again, proves that nothing was lost. cwnd is restored, only 1
/// was sent again.
#[test]
fn frto() {
    let params = TcpParams { timestamps: false, tlp: false, ..crate::fixed_window() };
    let mut lab = lab(params, late_acks());
    lab.run_until(at(519));
    assert_eq!((lab.sender.state(), lab.cwnd()), (CaState::Loss, 1));
    lab.run_until(at(521));
    assert_eq!(lab.retransmissions(), [(1, 280)]);
    assert_eq!(lab.sender.state(), CaState::Open);
    assert!(lab.cwnd() >= 20);
    assert_eq!(lab.sent_at(at(520))[..2], [21, 22]);
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }, Told::Undo]);
    assert_eq!(lab.sender.stats().spurious_rtos, 1);
    assert_eq!(lab.sender.stats().undos, 1);
}

/// Eifel: the first ACK echoes a timestamp from before the retransmission; the timeout is undone at once, without
/// F-RTO.
#[test]
fn eifel() {
    let params = TcpParams { frto: false, tlp: false, ..crate::fixed_window() };
    let mut lab = lab(params, late_acks());
    lab.run_until(at(521));
    assert_eq!(lab.retransmissions(), [(1, 280)]);
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }, Told::Undo]);
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.sender.stats().spurious_rtos, 1);
}

/// With neither F-RTO nor Eifel, everything is sent again in slow start.
#[test]
fn neither() {
    let params =
        TcpParams { frto: false, undo: false, timestamps: false, tlp: false, ..crate::fixed_window() };
    let mut lab = lab(params, late_acks());
    lab.run_until(at(600));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
    assert!(lab.retransmissions().len() > 1);
    assert_eq!(lab.sender.stats().undos, 0);
}

/// A real timeout is not undone: F-RTO's two new segments are SACKed, then the flight is repaired.
#[test]
fn real_timeout_with_frto() {
    let params = TcpParams { tlp: false, ..crate::fixed_window() };
    let mut lab = lab(params, lost(0..20));
    lab.run_until(at(320));
    // The ACK of 1, sent again at 280 ms: 21 and 22 instead of 2 and 3.
    assert_eq!(lab.sent_at(at(320)), [21, 22]);
    lab.run_until(at(360));
    assert_eq!(lab.sent_at(at(360))[..2], [2, 3], "the loss was real");
    lab.run_until(at(2000));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.sender.stats().spurious_rtos, 0);
}

/// A second timeout after SND.UNA moved, in the same recovery: F-RTO stays off (RFC 5682 section 3.1 step 1; Linux
/// `tcp_enter_loss`). The two new segments of 320 ms are lost; the timer sends 2 at 560 ms, and its ACK 3 and 4, not
/// new data once more.
#[test]
fn frto_only_at_the_begin_of_a_recovery() {
    let params = TcpParams { tlp: false, ..crate::fixed_window() };
    let mut lab = lab(params, lost((0..20).chain([21, 22])));
    lab.run_until(at(600));
    assert_eq!(lab.sent_at(at(320)), [21, 22]);
    assert_eq!(lab.sent_at(at(560)), [2]);
    assert_eq!(lab.sent_at(at(600)), [3, 4]);
    let timeout = Told::Rto { new_episode: true };
    assert_eq!(lab.told(), [timeout, timeout], "2 had not been sent again (RFC 5681 section 3.1)");
}

/// Reordering (spec 6.2 no. 7): segment 1 arrives 20 ms late. Without reordering seen, the third SACK makes it lost;
/// the original's arrival gives the late ACK an old timestamp (Eifel), or, without timestamps, the retransmission comes
/// back as D-SACK: undone. The timestamp also shows reordering (Linux `tcp_try_undo_partial`): RACK waits for the next
/// segment that is late. The D-SACK does not say which copy arrived first, so the next late segment is sent again.
#[test]
fn reordering_is_undone_and_learned() {
    for timestamps in [true, false] {
        let params = TcpParams { timestamps, ..crate::fixed_window() };
        let mut script = Script::default();
        script.late.insert(0, ms(20));
        let mut lab = lab(params, script);
        lab.run_until(at(80));
        assert_eq!(lab.retransmissions(), [(1, 80)]);
        assert_eq!(lab.sender.state(), CaState::Recovery);
        lab.run_until(at(125));
        assert_eq!(lab.told(), [Told::Loss, Told::Undo], "timestamps {timestamps}");
        assert_eq!(lab.sender.stats().dsacks, 1);
        assert!(lab.cwnd() >= 20);
        let within_a_flight = lab.sent.len() as u64 + 3;
        lab.script.late.insert(within_a_flight, ms(5));
        lab.run_until(lab.now + ms(200));
        assert_eq!(lab.retransmissions().len(), if timestamps { 1 } else { 2 });
    }
}

/// A D-SACK of a segment that was never sent again reports a copy made by the network: the loss of 1 was real, and the
/// response to it stays (Linux `tcp_sacktag_one`, `tcp_dsack_seen`). A D-SACK of 1 itself, below SND.UNA, undoes the
/// reduction, unless more copies were reported than sent.
#[test]
fn copies_of_the_network() {
    for copies in [0, 1, 2] {
        let mut lab = lab(TcpParams { timestamps: false, ..crate::fixed_window() }, lost([0]));
        lab.run_until(at(85));
        assert_eq!((lab.sender.state(), lab.retransmissions().len()), (CaState::Recovery, 1));
        for copy in 0..copies {
            report(&mut lab, 0, &[(4 + copy, 5 + copy), (1, 20)]);
        }
        assert_eq!(lab.told(), [Told::Loss]);
        report(&mut lab, 22, &[(0, 1)]);
        let undone = [Told::Loss, Told::Undo];
        assert_eq!(lab.told(), undone[..if copies == 0 { 2 } else { 1 }], "{copies} copies");
        assert_eq!(lab.sender.stats().dsacks, copies + 1);
    }
}

/// An ACK of a number of segments, with these blocks of segments, arrives now.
fn report(lab: &mut Lab, acked: u64, blocks: &[(u64, u64)]) {
    let byte = |segment: u64| Seq::FIRST_DATA + MSS * segment;
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    packet.flags = TcpFlags::ACK;
    packet.ack = byte(acked);
    let mut options = Options::default();
    for &(start, end) in blocks {
        options.sack.push(SackBlock { start: byte(start), end: byte(end) });
    }
    packet.set_options(options);
    lab.sender.on_ack(&packet, lab.now);
}

/// RACK adapts (spec 6.2 no. 7). A segment that arrives after two later ones, without having been sent again, shows
/// reordering: from then on RACK waits a quarter of the shortest round trip, 10 ms. A segment that is 15 ms late is
/// sent again after 10 ms, and its D-SACK makes the window 20 ms: RACK waits for the next one that is 15 ms late.
#[test]
fn rack_adapts() {
    let mut script = Script::default();
    script.late.insert(0, windtunnel_units::Duration::from_micros(2));
    let mut lab = lab(crate::fixed_window(), script);
    lab.run_until(at(90));
    assert!(lab.retransmissions().is_empty());
    let mut again = Vec::new();
    for _ in 0..2 {
        let next = lab.sent.len() as u64;
        lab.script.late.insert(next, ms(15));
        lab.run_until(lab.now + ms(300));
        again.push(lab.retransmissions().len());
    }
    assert_eq!(again, [1, 1], "{:?}", lab.retransmissions());
    assert_eq!(lab.sender.stats().dsacks, 1);
    assert_eq!(lab.told(), [Told::Loss, Told::Undo]);
}

/// D-SACKs that do not affect RACK's window (Linux `tcp_dsack_seen`): one before reordering was ever seen, one of a
/// tail loss probe. The window stays a quarter of the shortest round trip, 10 ms, so that a segment that is 15 ms late
/// is sent again.
#[test]
fn dsacks_that_rack_ignores() {
    let micros = windtunnel_units::Duration::from_micros;
    let params = TcpParams { timestamps: false, ..crate::fixed_window() };
    let mut unseen = lab(params, Script { late: [(0, ms(20))].into(), ..Script::default() });
    unseen.run_until(at(200));
    let overtaken = unseen.sent.len() as u64 + 3;
    unseen.script.late.insert(overtaken, micros(2));
    unseen.run_until(at(300));

    let script = Script { late: [(0, micros(2))].into(), ..Script::default() };
    let mut probe = Lab::new(Setup::default(), script);
    probe.write(10);
    probe.run_until(at(300));
    probe.script.ack_outage = Some((at(300), at(420)));
    probe.write(10);
    probe.run_until(at(500));
    assert_eq!(probe.sender.stats().tlps, 1);

    for (mut lab, why) in [(unseen, "no reordering was seen"), (probe, "the timer had sent it")] {
        assert_eq!(lab.sender.stats().dsacks, 1, "{why}");
        let before = lab.retransmissions().len();
        assert_eq!(before, 1, "{why}");
        let late = lab.sent.len() as u64 + 3;
        lab.script.late.insert(late, ms(15));
        lab.write(10);
        lab.run_until(lab.now + ms(200));
        assert_eq!(lab.retransmissions().len(), 2, "{why}");
    }
}

/// With duplicate ACKs by SACK ranges (RFC 6675) the spurious halving is undone by D-SACK as well.
#[test]
fn rfc6675_reordering_is_undone() {
    let params =
        TcpParams { loss_detection: LossDetection::Rfc6675, timestamps: false, ..crate::fixed_window() };
    let mut script = Script::default();
    script.late.insert(0, ms(20));
    let mut lab = lab(params, script);
    lab.run_until(at(125));
    assert_eq!(lab.told(), [Told::Loss, Told::Undo]);
    let without = TcpParams { undo: false, loss_detection: LossDetection::Rfc6675, ..crate::fixed_window() };
    let mut script = Script::default();
    script.late.insert(0, ms(20));
    let mut lab = self::lab(without, script);
    lab.run_until(at(125));
    assert_eq!(lab.told(), [Told::Loss]);
    assert_eq!(lab.cwnd(), 10);
}

/// A probe whose original was only late: the D-SACK says so, nothing is reduced (RFC 8985 section 7.4.2).
#[test]
fn needless_probe() {
    let script = Script { ack_outage: Some((at(50), at(180))), ..Script::default() };
    let mut lab = Lab::new(Setup::default(), script);
    lab.write(10);
    lab.run_until(at(300));
    lab.write(10);
    lab.run_to_the_end();
    // 2 srtt + 2 ms after the last transmission: 40 + 80 + 2 ms.
    assert_eq!(lab.retransmissions(), [(10, 122)]);
    assert_eq!(lab.sender.stats().tlps, 1);
    assert!(lab.told().is_empty());
}

/// RFC 5682 section 3.1 step 3.a: SACKs of the new data end F-RTO. 10 is later than the timer and arrives when they
/// have come, at 390 ms: it was never sent again, but proves nothing any more, and the reduction stays.
#[test]
fn an_original_after_frto_has_ended() {
    let params = TcpParams { timestamps: false, tlp: false, ..crate::fixed_window() };
    let flight = (0..20).filter(|n| *n != 9);
    let mut lab = lab(params, Script { late: [(9, ms(310))].into(), ..lost(flight) });
    lab.run_until(at(361));
    assert_eq!(lab.sent_at(at(320)), [21, 22]);
    lab.run_until(at(391));
    assert!(lab.retransmissions().iter().all(|again| again.0 != 10));
    lab.run_until(at(2000));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
    assert_eq!(lab.sender.stats().spurious_rtos, 0);
}

/// RFC 5682 section 3.1 step 2.a: an ACK of all that was sent before the timeout ends the recovery, and tells nothing
/// of it.
#[test]
fn frto_of_a_single_segment() {
    let params = TcpParams { tlp: false, ..crate::fixed_window() };
    let mut lab = Lab::new(Setup { params, cwnd: 1, ..Setup::default() }, lost([0]));
    lab.write_endless();
    lab.run_until(at(320));
    assert_eq!(lab.retransmissions(), [(1, 280)]);
    assert_eq!((lab.sender.state(), lab.sent_at(at(320))), (CaState::Open, vec![2, 3]));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
}

/// The late original of 1 completes the recovery, since the application wrote no more than the flight: its timestamp
/// undoes the reduction (Linux `tcp_try_undo_recovery`), or, without timestamps, the D-SACK of 1r that follows.
#[test]
fn the_last_ack_of_a_recovery_undoes_it() {
    for (timestamps, undone) in [(true, 100), (false, 120)] {
        let params = TcpParams { timestamps, ..crate::fixed_window() };
        let setup = Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() };
        let mut lab = Lab::new(setup, Script { late: [(0, ms(20))].into(), ..Script::default() });
        lab.write(20);
        lab.run_until(at(undone - 1));
        assert_eq!((lab.retransmissions(), lab.told()), (vec![(1, 80)], vec![Told::Loss]));
        lab.run_until(at(undone));
        assert_eq!(lab.told(), [Told::Loss, Told::Undo], "timestamps {timestamps}");
        assert_eq!((lab.sender.state(), lab.cwnd()), (CaState::Open, 20));
    }
}
