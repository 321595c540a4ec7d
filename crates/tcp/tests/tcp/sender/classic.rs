//! Recovery by duplicate ACKs (spec/congestion-control section 1.7): Tahoe, Reno, `NewReno`.

use windtunnel_tcp::{CaState, HEADERS, Inflation, LossDetection, Reduction, TcpParams};
use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use super::harness::{Lab, MSS, Script, Setup, Told, at, lost};

fn params(loss_detection: LossDetection) -> TcpParams {
    TcpParams { sack: false, loss_detection, reduction: Reduction::None, ..crate::fixed_window() }
}

/// A window of 20 in avoidance, endless data; 1..=20 leave at 40 ms.
fn twenty(params: TcpParams, script: Script) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() }, script);
    lab.write_endless();
    lab.run_until(at(40));
    assert_eq!(lab.sent.len(), 20);
    lab
}

/// Tahoe: W = 20, one loss. Two duplicate ACKs send 21 and 22 (limited transmit), the third one makes W = 1, ssthresh =
/// 10, and sends 1; later ones are ignored. Its ACK at 120 ms acknowledges 22. One segment for each ACK (RFC 5681): 2,
/// 4, 8, 10, so that 10 are regained after log2(10) = 3.3 round trips.
#[test]
fn tahoe() {
    let setup = Setup {
        params: params(LossDetection::Tahoe),
        cwnd: 20,
        ssthresh: 20,
        per_ack: true,
        ..Setup::default()
    };
    let mut lab = Lab::new(setup, lost([0]));
    lab.write_endless();
    lab.run_until(at(80));
    assert_eq!(lab.sent_at(at(80)), [21, 22, 1]);
    assert_eq!((lab.cwnd(), lab.sender.state()), (1, CaState::Loss));
    assert_eq!(lab.sender.control().ssthresh, MSS * 10);
    lab.run_until(at(119));
    assert_eq!(lab.cwnd(), 1);
    let windows: Vec<u64> = (0..4)
        .map(|round| {
            lab.run_until(at(120 + 40 * round));
            lab.cwnd()
        })
        .collect();
    assert_eq!(windows, [2, 4, 8, 10]);
    assert_eq!((lab.sender.stats().rtos, lab.sender.stats().loss_episodes), (0, 1));
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }]);
}

/// Tahoe goes back: with 1 and 5 lost, everything from 5 on is sent again in slow start, except for the segments that
/// the ACK of 5 shows to have arrived.
#[test]
fn tahoe_goes_back() {
    let mut lab = twenty(params(LossDetection::Tahoe), lost([0, 4]));
    lab.run_until(at(120));
    // The ACK of 1 acknowledges 4: W = 1 + what was delivered, so 5 and following go again.
    assert_eq!(lab.sent_at(at(120))[0], 5);
    lab.run_until(at(400));
    assert_eq!(lab.sender.stats().rtos, 0);
    assert_eq!(lab.told(), [Told::Rto { new_episode: true }], "one reduction");
}

/// Reno 1990: W = 20, one loss. The third duplicate sends 1, W = 10 + 3; each of the other 16 adds one. 22 are
/// outstanding, so the thirteenth duplicate, W = 23, is the first that sends new data. The ACK at 120 ms ends it with W
/// = 10.
#[test]
fn reno() {
    let mut lab = twenty(params(LossDetection::Reno), lost([0]));
    lab.run_until(at(80));
    // 19 duplicates in all: W = 10 + 19 = 29 > 22 outstanding: 23..=29.
    assert_eq!(lab.sent_at(at(80)), [21, 22, 1, 23, 24, 25, 26, 27, 28, 29]);
    assert_eq!(lab.cwnd(), 29, "inflated");
    assert_eq!(lab.sender.state(), CaState::Recovery);
    lab.run_until(at(120));
    assert_eq!(lab.sender.state(), CaState::Open);
    assert_eq!(lab.cwnd(), 10);
    assert_eq!(lab.told(), [Told::Loss]);
}

/// Reno halves once for each loss of a window: the ACK of the first repair ends the recovery, and duplicate ACKs for
/// the segments sent meanwhile start another one.
#[test]
fn reno_halves_for_each_loss() {
    let mut lab = twenty(params(LossDetection::Reno), lost([0, 9]));
    lab.run_until(at(160));
    assert_eq!(lab.told()[..2], [Told::Loss, Told::Loss]);
}

/// `NewReno`: k losses in one window are repaired one per round trip, with one reduction. 1, 4, 7 of 20 are lost: sent
/// again at 80, 120, 160 ms, by partial ACKs; the full ACK at 200 ms ends it. Then W = min(ssthresh, flight + 1).
#[test]
fn newreno_repairs_one_loss_per_round_trip() {
    for reduction in [Reduction::None, Reduction::Prr] {
        let mut lab = twenty(TcpParams { reduction, ..params(LossDetection::Newreno) }, lost([0, 3, 6]));
        lab.run_until(at(199));
        let repairs = [(1, 80), (4, 120), (7, 160)];
        assert_eq!(lab.retransmissions(), repairs, "{reduction:?}");
        assert_eq!(lab.sender.state(), CaState::Recovery);
        // Linux waits for what was sent in Recovery, so that it ends with the ACK of more than high_seq.
        lab.run_until(at(if reduction == Reduction::None { 200 } else { 240 }));
        assert_eq!(lab.sender.state(), CaState::Open);
        assert_eq!(lab.told()[..1], [Told::Loss]);
        assert_eq!(lab.retransmissions(), repairs, "nothing else is sent again");
        assert!(!lab.told().contains(&Told::Rto { new_episode: true }));
        assert_eq!(lab.told().iter().filter(|told| **told == Told::Loss).count(), 1);
        let after = lab.sent.iter().find(|sent| sent.time > at(199) && sent.state == CaState::Open);
        // The ACK that ends it may be the first to grow.
        assert!(after.is_none_or(|sent| sent.cwnd <= 11), "{after:?}");
    }
}

/// RFC 6582 section 3.2 step 2: duplicate ACKs that do not cover more than `recover` start no second fast retransmit.
/// After a timeout of a whole window, needless retransmissions cause duplicates.
#[test]
fn newreno_ignores_duplicates_of_its_own_retransmissions() {
    let only_ack_lost = Script { acks_lost: (0..20).collect(), ..Script::default() };
    let params = TcpParams { frto: false, undo: false, ..params(LossDetection::Newreno) };
    let mut lab = Lab::new(Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() }, only_ack_lost);
    lab.write_endless();
    lab.run_until(at(1000));
    assert_eq!(lab.told().iter().filter(|told| **told == Told::Loss).count(), 0);
}

/// Without limited transmit the first two duplicates send nothing (RFC 3042 says one each); with SACK as well.
#[test]
fn limited_transmit() {
    for (sack, loss_detection) in
        [(false, LossDetection::Newreno), (true, LossDetection::Rack), (true, LossDetection::Rfc6675)]
    {
        for limited_transmit in [true, false] {
            let params = TcpParams { sack, limited_transmit, loss_detection, ..crate::fixed_window() };
            let mut lab = twenty(params, lost([0]));
            lab.run_until(at(80));
            let begin: &[u64] = if limited_transmit { &[21, 22, 1] } else { &[1] };
            assert_eq!(&lab.sent_at(at(80))[..begin.len()], begin, "{loss_detection:?}");
        }
    }
}

/// A duplicate ACK (RFC 5681 section 2): same number, no data, no change of the window, and something outstanding.
fn duplicate_ack(lab: &Lab, acked: u64, window: u16) -> Packet {
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    packet.flags = TcpFlags::ACK;
    packet.ack = Seq::FIRST_DATA + MSS * acked;
    packet.window = window;
    (packet.ts_val, packet.ts_ecr) = (lab.now, lab.now);
    packet
}

/// An ACK that is not a duplicate ACK by RFC 5681 section 2 does not lead to a loss.
#[test]
fn definition_of_duplicate_acks() {
    let from = |window: u16| (0..9).map(move |n| window + n);
    let cases: [(Vec<u16>, u64, u64, bool); 4] = [
        (vec![2000; 9], 0, 0, true),
        (from(2000).collect(), 0, 0, false),
        (vec![2000; 9], 0, 1448, false),
        (vec![2000; 9], 5, 0, false),
    ];
    for (windows, acked, data, loss) in cases {
        let params = params(LossDetection::Newreno);
        let mut lab = Lab::new(Setup { params, ..Setup::default() }, lost(0..100));
        lab.set_window(2000);
        lab.write(5);
        lab.run_until(at(60));
        lab.sender.on_ack(&duplicate_ack(&lab, acked, 2000), lab.now);
        for window in windows {
            let mut packet = duplicate_ack(&lab, acked, window);
            if data > 0 {
                packet = Packet::new(FlowId::new(0), HEADERS + Bytes::new(data), Bytes::new(data));
                (packet.flags, packet.ack, packet.window) = (TcpFlags::ACK, Seq::FIRST_DATA, window);
            }
            lab.sender.on_ack(&packet, lab.now);
        }
        assert_eq!(lab.told().contains(&Told::Loss), loss, "acked {acked}, data {data}");
    }
}

/// Linux without SACK (`tcp_check_reno_reordering`): of five segments outstanding at most four can have caused
/// duplicate ACKs; a fifth one shows that the path reorders, by five segments at most. From then on the sender waits
/// for this number of duplicates. RFC 6582 has no such rule.
#[test]
fn reordering_is_learned_from_duplicate_acks() {
    for (reduction, duplicates, dupthresh) in
        [(Reduction::Prr, 4, 3), (Reduction::Prr, 5, 5), (Reduction::None, 5, 3)]
    {
        let params = TcpParams { reduction, ..params(LossDetection::Newreno) };
        let setup = Setup { params, cwnd: 20, fixed: true, ..Setup::default() };
        let mut lab = Lab::new(setup, lost(0..100));
        lab.write(5);
        lab.run_until(at(60));
        let send_acks = |lab: &mut Lab, acked: u64, count: u64| {
            (0..count).find(|_| {
                let before = lab.sender.state();
                let packet = duplicate_ack(lab, acked, u16::MAX);
                lab.sender.on_ack(&packet, lab.now);
                while lab.sender.poll_transmit(lab.now).is_some() {}
                before < CaState::Recovery && lab.sender.state() == CaState::Recovery
            })
        };
        assert_eq!(send_acks(&mut lab, 0, duplicates), Some(2), "the third declares the loss");
        send_acks(&mut lab, 0, duplicates - 3);
        // All that was sent then is acknowledged, and one more, so that the recovery is over.
        lab.write(10);
        send_acks(&mut lab, 6, 1);
        assert_eq!(lab.sender.state(), CaState::Open);
        assert_eq!(send_acks(&mut lab, 6, 9), Some(dupthresh - 1), "{reduction:?}");
    }
}

/// Two losses near the end without SACK: too few duplicates, the timer repairs both.
#[test]
fn tail_without_sack() {
    let mut lab =
        Lab::new(Setup { params: params(LossDetection::Newreno), ..Setup::default() }, lost([8, 9]));
    lab.write(10);
    lab.run_to_the_end();
    assert_eq!(lab.retransmissions()[0], (9, 320));
    assert_eq!(lab.sender.stats().tlps, 0, "TLP needs SACK");
}

/// What made-up duplicate ACKs gain (spec/congestion-control section 1.7), with W = 20 and 1 lost: after the third
/// one W = 10 + 3, and of 24 segments 22 are outstanding. Forty in all add 40 without a bound, the 22 outstanding at
/// the loss by RFC 5681 section 3.2, and by default those outstanding at the moment except for the hole. With endless
/// data, each lets one more segment leave where there is no bound, because what leaves is outstanding too. Two
/// duplicates do not inflate cwnd (RFC 3042).
#[test]
fn inflation_by_duplicate_acks() {
    for (inflation, of_24, endless) in
        [(Inflation::Unlimited, 50, 50), (Inflation::Entry, 32, 32), (Inflation::Outstanding, 33, 50)]
    {
        for (segments, window, last) in [(24, of_24, 24), (1000, endless, endless)] {
            let params = TcpParams { inflation, ..params(LossDetection::Newreno) };
            let setup = Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() };
            let mut lab = Lab::new(setup, lost(0..1000));
            lab.write(segments);
            lab.run_until(at(60));
            let mut newest = 20;
            for duplicate in 1..=40 {
                let packet = duplicate_ack(&lab, 0, u16::MAX);
                lab.sender.on_ack(&packet, lab.now);
                while let Some(packet) = lab.sender.poll_transmit(lab.now) {
                    newest = newest.max((packet.seq - Seq::FIRST_DATA) / MSS + 1);
                }
                let expected = if duplicate < 3 { 20 } else { (10 + duplicate).min(window) };
                assert_eq!(lab.cwnd(), expected, "{inflation:?}, duplicate {duplicate} of {segments}");
            }
            assert_eq!(newest, last, "{inflation:?}, of {segments}");
        }
    }
}

/// RFC 6582 section 3.2 step 3: the full ACK sets cwnd to min(ssthresh, max(flight, 1) + 1) segments. 1 of 20 is
/// lost, and 1 to 22 have arrived at the full ACK at 120 ms. Of 22, 25, 29 or 40 segments 0, 3, 7 or 9 are then in
/// flight, since 21 duplicates let 31 leave; 10 is ssthresh, and nothing changes.
#[test]
fn newreno_deflates_to_the_flight() {
    for (segments, cwnd) in [(22, Some(2)), (25, Some(4)), (29, Some(8)), (40, None)] {
        let params = params(LossDetection::Newreno);
        let setup = Setup { params, cwnd: 20, ssthresh: 20, ..Setup::default() };
        let mut lab = Lab::new(setup, lost([0]));
        lab.write(segments);
        lab.run_until(at(119));
        assert_eq!(lab.sender.state(), CaState::Recovery);
        lab.run_until(at(200));
        let mut told = vec![Told::Loss];
        told.extend(cwnd.map(Told::Validation));
        assert_eq!(lab.told(), told, "{segments}");
    }
}
