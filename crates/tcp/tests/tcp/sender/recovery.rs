//! One loss, many losses, lost retransmissions and tails (spec/congestion-control sections 1.8 to 1.10 and 6.2).
//!
//! The round trip is 40 ms and the handshake takes the first one: data leave at 40 ms, their ACKs come at 80 ms, all of
//! one flight at one moment in order. RTO is srtt + 200 ms = 240 ms.

use windtunnel_tcp::{CaState, HEADERS, LossDetection, Reduction, RtoRule, TcpParams};
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{FlowId, Options, Packet, SackBlock, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, Told, at, lost, ms};

/// A flow in avoidance with a window of 20, endless data: 1..=20 leave at 40 ms.
fn twenty(params: TcpParams, script: Script) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(40));
    assert_eq!(lab.sent_at(at(40)), (1..=20).collect::<Vec<_>>());
    lab
}

/// One loss (RACK, PRR). Segment 1 of 20 is lost. SACKs of 2 and 3 send 21 and 22 (limited transmit), the third makes 1
/// lost: ssthresh 10. PRR sends ceil(D/2) for D delivered segments from there, the retransmission first: at D = 1
/// segment 1, at D = 3 segment 23, ... until 10 are in flight; recovery ends one round trip later with cwnd 10.
#[test]
fn one_loss() {
    let mut lab = twenty(crate::fixed_window(), lost([0]));
    lab.run_until(at(80));
    // 17 ACKs from the third on: after 16 of them 11 are in flight, since 22 + 8 - 19 = 11; the 17th leaves 10.
    assert_eq!(lab.sent_at(at(80)), [21, 22, 1, 23, 24, 25, 26, 27, 28, 29]);
    assert_eq!(lab.sender.state(), CaState::Recovery);
    assert_eq!(lab.sender.control().ssthresh, super::harness::MSS * 10);
    lab.run_until(at(119));
    assert_eq!(lab.cwnd(), 10);
    lab.run_until(at(120));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.cwnd(), 10);
    assert_eq!(lab.told(), [Told::Loss]);
    assert_eq!(lab.sender.stats().rtos, 0);
    assert_eq!(lab.sender.stats().loss_episodes, 1);
    assert_eq!(lab.retransmissions(), [(1, 80)]);
}

/// RACK finds two losses of one window with the same ACKs: one reduction (spec 6.2 no. 4). Both are repaired in one
/// round trip.
#[test]
fn two_losses_one_reduction() {
    let mut lab = twenty(crate::fixed_window(), lost([0, 4]));
    lab.run_until(at(120));
    assert_eq!(lab.retransmissions(), [(1, 80), (5, 80)]);
    assert_eq!(lab.told(), [Told::Loss]);
    assert_eq!(lab.sender.state(), CaState::Open);
}

/// A loss among the data sent in Recovery, beyond the recovery point, belongs to another window: a second reduction
/// (spec 6.2 no. 4).
#[test]
fn loss_beyond_the_recovery_point() {
    // 21, 22, 1 are the transmissions 20, 21, 22; the 24th is segment 24, sent in Recovery.
    let mut lab = twenty(crate::fixed_window(), lost([0, 24]));
    lab.run_until(at(200));
    assert_eq!(lab.told(), [Told::Loss, Told::Loss]);
    assert_eq!(lab.retransmissions()[1].0, 24);
    assert_eq!(lab.sender.control().ssthresh, super::harness::MSS * 5);
}

/// Half of the window is lost, 1..=10: PRR's second branch (in flight below ssthresh) with safe ACKs repairs everything
/// within two round trips without a timeout, never with more in flight than ssthresh.
#[test]
fn burst_loss() {
    let mut lab = twenty(crate::fixed_window(), lost(0..10));
    lab.run_until(at(200));
    assert_eq!(lab.told(), [Told::Loss]);
    assert_eq!(lab.sender.stats().rtos, 0);
    let again: Vec<u64> = lab.retransmissions().iter().map(|r| r.0).collect();
    assert_eq!(again, (1..=10).collect::<Vec<_>>());
    assert_eq!(lab.sender.state(), CaState::Open);
    assert!(lab.cwnd() >= 10);
}

/// The retransmission is lost as well (spec 6.2 no. 5). RACK: segment 23, sent right after it, is SACKed at
/// 120 ms, so it is lost again and repaired without a timeout.
#[test]
fn lost_retransmission_with_rack() {
    let mut lab = twenty(crate::fixed_window(), lost([0, 22]));
    lab.run_until(at(200));
    assert_eq!(lab.retransmissions(), [(1, 80), (1, 120)]);
    assert_eq!(lab.sender.stats().rtos, 0);
    assert_eq!(lab.told(), [Told::Loss]);
}

/// The same with RFC 6675, which marks originals only: the timer has to repair it. RFC 6298 restarts it at the
/// retransmission, and with ACKs of new data: 200 ms later. Linux also with SACKs of what was sent before the
/// retransmission (`tcp_clean_rtx_queue`): the last one, of 22, comes at 120 ms, 240 ms before the timeout.
#[test]
fn lost_retransmission_with_rfc6675() {
    for (rto, rto_min, expiry) in [(RtoRule::Rfc6298, Some(ms(200)), 280), (RtoRule::Linux, None, 360)] {
        let loss_detection = LossDetection::Rfc6675;
        let params = TcpParams { loss_detection, rto, rto_min, ..crate::fixed_window() };
        let mut lab = twenty(params, lost([0, 22]));
        lab.run_until(at(500));
        assert_eq!(lab.retransmissions()[..2], [(1, 80), (1, expiry)]);
        assert_eq!(lab.sender.stats().rtos, 1);
        assert_eq!(
            lab.told(),
            [Told::Loss, Told::Rto { new_episode: false }],
            "the same window: ssthresh once"
        );
    }
}

/// A tail loss with TLP (spec 6.2 no. 6): 10 segments, the last one lost. TLP is scheduled by the ACK of 9 at 80 ms:
/// one segment is outstanding, so 2 srtt + 200 ms, but not later than the RTO of 240 ms. With two outstanding the probe
/// comes at 80 + 80 + 2 ms.
#[test]
fn tail_loss_with_probe() {
    let mut lab = Lab::new(Setup::default(), lost([8, 9]));
    lab.write(10);
    lab.run_to_the_end();
    assert_eq!(lab.sender.stats().tlps, 1);
    assert_eq!(lab.sender.stats().rtos, 0);
    // The probe is 10 again; its SACK at 202 ms shows 9 to be lost (sent before 10, a round trip and a quarter ago).
    assert_eq!(lab.retransmissions(), [(10, 162), (9, 202)]);
    assert_eq!(lab.told(), [Told::Loss]);
}

/// The same without TLP: the timer expires 240 ms after the last ACK.
#[test]
fn tail_loss_without_probe() {
    let mut lab = Lab::new(
        Setup { params: TcpParams { tlp: false, ..crate::fixed_window() }, ..Setup::default() },
        lost([8, 9]),
    );
    lab.write(10);
    lab.run_to_the_end();
    assert_eq!(lab.sender.stats().rtos, 1);
    assert_eq!(lab.retransmissions()[0], (9, 320));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
}

/// A lone segment's probe allows for a delayed ACK: `rto_min`, as Linux has it (`tcp_schedule_loss_probe`). With 20 ms
/// the last of ten is probed 2 * 40 + 20 ms after the ACKs of 80 ms, before the RTO of 40 + 80 ms.
#[test]
fn probe_allows_for_a_delayed_ack() {
    let params = TcpParams { rto_min: Some(ms(20)), ..crate::fixed_window() };
    let mut lab = Lab::new(Setup { params, ..Setup::default() }, lost([9]));
    lab.write(10);
    lab.run_until(at(190));
    assert_eq!(lab.retransmissions(), [(10, 180)]);
    assert_eq!(lab.sender.stats().tlps, 1);
}

/// A probe that repairs the only loss hides it: when an ACK passes the probe, cwnd is reduced once (RFC 8985 section
/// 7.4.2).
#[test]
fn repaired_by_the_probe() {
    let mut lab = Lab::new(Setup::default(), lost([9]));
    lab.write(10);
    lab.run_until(at(315));
    // One outstanding: min(2 * 40 + 200, 240) = 240 ms after the ACKs of 80 ms.
    assert_eq!(lab.sender.stats().tlps, 0);
    lab.run_until(at(360));
    assert_eq!(lab.retransmissions(), [(10, 320)]);
    assert_eq!(lab.sender.stats().tlps, 1);
    assert!(lab.told().is_empty(), "not known yet: the original may have been late");
    lab.write(1);
    lab.run_to_the_end();
    assert_eq!(lab.told(), [Told::Loss]);
    assert_eq!(lab.sender.state(), CaState::Open);
}

/// A probe with new data needs no further thought: its ACK clears it.
#[test]
fn probe_with_new_data() {
    let mut lab = Lab::new(Setup { cwnd: 4, fixed: true, ..Setup::default() }, lost([2, 3]));
    lab.write_endless();
    lab.run_until(at(79));
    assert_eq!(lab.sent.len(), 4);
    lab.run_until(at(81));
    // ACKs of 1 and 2 release 5 and 6, whose SACKs show the loss of 3 and 4 without a probe.
    assert_eq!(lab.sent_at(at(80)), [5, 6]);
    lab.run_until(at(200));
    assert_eq!(lab.sender.stats().tlps, 0);
    assert_eq!(lab.sender.stats().rtos, 0);
    let mut all = Lab::new(Setup { cwnd: 4, fixed: true, ..Setup::default() }, lost([0, 1, 2, 3]));
    all.write_endless();
    all.run_until(at(200));
    // 2 srtt + 2 ms after the last transmission: new data beyond cwnd.
    assert_eq!(all.sent_at(at(40 + 82)), [5]);
    assert_eq!(all.sender.stats().tlps, 1);
    all.run_until(at(400));
    assert_eq!(all.sender.stats().rtos, 0, "the probe's SACK showed the losses");
}

/// RACK's timer (spec 1.9): of five segments only 2 is SACKed at 80 ms, the others' ACKs are lost with them; 1 is lost
/// a quarter of the shortest round trip later, and the timer looks 2 ms after that (`tcp_rack_mark_lost`).
#[test]
fn reordering_timer() {
    let mut lab = Lab::new(Setup { cwnd: 2, fixed: true, ..Setup::default() }, lost([0]));
    lab.write(2);
    lab.run_until(at(91));
    assert!(lab.retransmissions().is_empty());
    assert_eq!(lab.sender.state(), CaState::Disorder);
    lab.run_until(at(92));
    assert_eq!(lab.retransmissions(), [(1, 92)]);
    assert_eq!(lab.sender.state(), CaState::Recovery);
    lab.run_to_the_end();
    assert_eq!(lab.told(), [Told::Loss]);
}

/// Linux's timeout: the head and all segments sent a round trip ago are lost, cwnd 1, ssthresh W/2; a second expiry in
/// the same window doubles the timer and nothing else (spec 6.2 no. 10).
#[test]
fn timeouts_back_off() {
    let params = TcpParams { tlp: false, ..crate::fixed_window() };
    let mut lab = Lab::new(Setup { params, ..Setup::default() }, lost(0..12));
    lab.write_endless();
    lab.run_until(at(280));
    assert_eq!(lab.sent_at(at(280)), [1]);
    assert_eq!((lab.cwnd(), lab.sender.state()), (1, CaState::Loss));
    assert_eq!(lab.sender.rto(), ms(480));
    lab.run_until(at(40 + 240 + 480 + 960));
    let times: Vec<u64> = lab.retransmissions().iter().map(|r| r.1).collect();
    assert_eq!(times, [280, 760, 1720]);
    let rto = |new_episode| Told::Rto { new_episode };
    assert_eq!(lab.told(), [rto(true), rto(false), rto(false)]);
    assert_eq!(lab.sender.control().ssthresh, super::harness::MSS * 5);
    lab.run_until(at(2500));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert!(lab.sender.rto() < ms(241), "a round trip of new data takes the back-off back");
}

/// RFC 6675 with W = ssthresh at once: nothing new leaves until less than ssthresh is in flight, then one for one.
#[test]
fn rfc6675_without_prr() {
    let params = TcpParams {
        loss_detection: LossDetection::Rfc6675,
        reduction: Reduction::None,
        ..crate::fixed_window()
    };
    let mut lab = twenty(params, lost([0]));
    lab.run_until(at(80));
    // After the third SACK: 22 outstanding, 3 SACKed, 1 lost: 18 in flight, W = 10. 16 more SACKs: the 9th leaves 9,
    // one new each from there.
    let sent = lab.sent_at(at(80));
    assert_eq!(sent[..2], [21, 22]);
    assert_eq!(sent[2..], [1, 23, 24, 25, 26, 27, 28, 29]);
    lab.run_until(at(120));
    assert_eq!((lab.sender.state(), lab.cwnd()), (CaState::Open, 10));
}

/// RFC 6675 section 5 step 1: the third duplicate ACK shows the loss of the head, also if the segments SACKed are so
/// small that `IsLost()` does not hold: one range of 300 bytes, where it takes three or more than 2 SMSS.
#[test]
fn third_duplicate_of_small_segments() {
    let params = TcpParams { loss_detection: LossDetection::Rfc6675, ..crate::fixed_window() };
    let mut lab = Lab::new(Setup { params, cwnd: 20, ..Setup::default() }, lost(0..100));
    lab.sender.write(Bytes::new(100));
    lab.write(0);
    lab.run_until(at(40));
    for _ in 0..5 {
        lab.sender.write(Bytes::new(100));
        lab.write(0);
    }
    assert_eq!(lab.sent.len(), 6);
    lab.run_until(at(80));
    for (end, state) in [(201, CaState::Disorder), (301, CaState::Disorder), (401, CaState::Recovery)] {
        let mut ack = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
        (ack.flags, ack.ack, ack.window) = (TcpFlags::ACK, Seq::FIRST_DATA, u16::MAX);
        (ack.ts_val, ack.ts_ecr) = (lab.now, at(40));
        let mut options = Options::default();
        options.sack.push(SackBlock { start: Seq::new(101), end: Seq::new(end) });
        ack.set_options(options);
        lab.sender.on_ack(&ack, lab.now);
        assert_eq!(lab.sender.state(), state, "SACK up to {end}");
    }
    assert_eq!(lab.sender.poll_transmit(lab.now).map(|packet| packet.seq), Some(Seq::FIRST_DATA));
}

/// RFC 6675 section 4, `NextSeg()` rule 4: when nothing else can be sent, the highest segment not SACKed goes once as
/// a rescue. Of ten segments 1 and 10 are lost; no SACK can show the second loss, and no timer is needed.
#[test]
fn rescue_retransmission() {
    let params = TcpParams { loss_detection: LossDetection::Rfc6675, tlp: false, ..crate::fixed_window() };
    let mut lab = Lab::new(Setup { params, ..Setup::default() }, lost([0, 9]));
    lab.write(10);
    lab.run_to_the_end();
    assert_eq!(lab.retransmissions(), [(1, 80), (10, 80)]);
    assert_eq!(lab.sender.stats().rtos, 0);
}

/// RFC 8985 section 6.3, as Linux has it (`tcp_timeout_mark_lost`, without the reordering window): when the timer
/// expires, the head is lost and what was sent a round trip of 40 ms ago, but not what has been sent since. 2 leaves
/// at 100 ms, 3 at 200 ms, and 4 20 ms before the expiry at 340 ms: cwnd is one segment more than the one that is
/// left in flight. By other detectors everything is lost.
#[test]
fn timeout_spares_what_was_just_sent() {
    for (loss_detection, spared) in [(LossDetection::Rack, 1), (LossDetection::Rfc6675, 0)] {
        let params = TcpParams { tlp: false, loss_detection, ..crate::fixed_window() };
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, lost(1..100));
        lab.write(1);
        for ms in [100, 200, 320] {
            lab.run_exactly_until(at(ms));
            lab.write(1);
        }
        lab.run_exactly_until(at(339));
        assert_eq!(lab.sender.stats().rtos, 0);
        lab.run_until(at(341));
        assert_eq!((lab.sender.state(), lab.sender.stats().rtos), (CaState::Loss, 1));
        assert_eq!(lab.cwnd(), spared + 1);
        assert_eq!(lab.sender.in_flight() / MSS, spared + 1, "2 has left again");
    }
}

/// RFC 8985 section 7.3: there is at most one probe at a time. The probe with 5 at 122 ms is lost like 2 to 4, and
/// the late ACK of 1 at 190 ms samples a round trip: the next timer is nevertheless the retransmission timer's.
#[test]
fn one_probe_at_a_time() {
    let script = Script { late: [(0, ms(110))].into(), ..lost(1..6) };
    let mut lab = Lab::new(Setup::default(), script);
    lab.write(5);
    lab.run_until(at(189));
    assert_eq!(lab.retransmissions(), [(5, 122)]);
    lab.run_until(at(191));
    assert_eq!(lab.sender.in_flight(), MSS * 4);
    lab.run_to_the_end();
    assert_eq!((lab.sender.stats().tlps, lab.sender.stats().rtos), (1, 1));
}

/// Each kind of loss is one episode in the counts, as many as the controller is told of: one found by SACK, one by
/// the timer, and one that a tail loss probe repairs.
#[test]
fn episodes_are_counted() {
    for (script, tlp) in [(lost([0]), true), (lost([9]), false), (lost([9]), true)] {
        let params = TcpParams { tlp, ..crate::fixed_window() };
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, script);
        lab.write(10);
        lab.run_to_the_end();
        lab.write(5);
        lab.run_to_the_end();
        assert_eq!(lab.sender.stats().loss_episodes, 1, "{:?}", lab.told());
    }
}
