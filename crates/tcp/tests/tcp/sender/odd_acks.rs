//! ACKs that few receivers or paths send, handled as in Linux 6.18 (`net/ipv4/tcp_input.c`). Twenty segments leave at
//! 40 ms and are answered by hand; the round trip is 40 ms.

use windtunnel_tcp::{CaState, HEADERS, TcpParams};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{Ecn, FlowId, Options, Packet, SackBlock, TcpFlags};

use super::harness::{Lab, MSS, Setup, Told, at, endpoint, lost};

/// An ACK of a number of segments, with blocks from one segment to another, that left the receiver at `sent`.
fn ack(acked: u64, blocks: &[(u64, u64)], sent: Time) -> Packet {
    let byte = |segment: u64| Seq::FIRST_DATA + MSS * segment;
    let mut packet = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    packet.flags = TcpFlags::ACK;
    packet.ack = byte(acked);
    packet.window = u16::MAX;
    (packet.ts_val, packet.ts_ecr) = (sent, at(40));
    if !blocks.is_empty() {
        let mut options = Options::default();
        for &(first, last) in blocks {
            options.sack.push(SackBlock { start: byte(first - 1), end: byte(last) });
        }
        packet.set_options(options);
    }
    packet
}

fn lab(params: TcpParams) -> Lab {
    let mut endpoint = endpoint();
    endpoint.ecn = Ecn::Ect0;
    endpoint.feedback = windtunnel_tcp::FeedbackScheme::Rfc3168;
    let setup = Setup { params, endpoint, cwnd: 20, ssthresh: 20, ..Setup::default() };
    let mut lab = Lab::new(setup, lost(0..1000));
    lab.write_endless();
    lab.run_until(at(80));
    lab
}

const NOTHING: [u64; 0] = [];

/// The ACK arrives now. Returns the segments that leave on it.
fn answer(lab: &mut Lab, packet: &Packet) -> Vec<u64> {
    lab.sender.on_ack(packet, lab.now);
    let (sender, now) = (&mut lab.sender, lab.now);
    std::iter::from_fn(|| sender.poll_transmit(now))
        .map(|packet| (packet.seq.get() - 1) / MSS.get() + 1)
        .collect()
}

/// 2 was sent again, its original arrived, and then its copy: a D-SACK above SND.UNA of a SACKed segment shows that the
/// path reorders (`tcp_sacktag_one`). Then SACKs of 9 and 10 do not make 8 lost at once, although recovery is active.
#[test]
fn a_dsack_above_the_gap_is_of_reordering() {
    for (copy, then) in [(true, 24), (false, 8)] {
        let mut lab = lab(crate::fixed_window());
        let mut again = Vec::new();
        for last in 3..=7 {
            again.extend(answer(&mut lab, &ack(0, &[(3, last)], at(80))));
        }
        assert_eq!(again, [21, 22, 1, 2], "two by limited transmit");
        assert_eq!(answer(&mut lab, &ack(0, &[(2, 7)], at(80))), NOTHING);
        if copy {
            assert_eq!(answer(&mut lab, &ack(0, &[(2, 2), (2, 7)], at(80))), [23], "a copy is delivered too");
        }
        let mut sent = Vec::new();
        for last in 9..=10 {
            sent.extend(answer(&mut lab, &ack(0, &[(9, last), (2, 7)], at(80))));
        }
        assert_eq!(sent, [then], "copy {copy}");
    }
}

/// The ACK stops below a SACKed segment, which the receiver seems to have dropped. Nothing is sent again on that ACK;
/// half a round trip later everything is (`tcp_check_sack_reneging`, `tcp_timeout_mark_lost`), even 19 and 20, which
/// RACK would spare.
#[test]
fn reneging() {
    let mut lab = lab(crate::fixed_window());
    assert_eq!(answer(&mut lab, &ack(0, &[(2, 10)], at(80))), [1]);
    assert_eq!(answer(&mut lab, &ack(1, &[], at(80))), NOTHING);
    let patience = lab.sender.srtt() / 2;
    assert_eq!(lab.sender.next_timer(), Some(lab.now + patience));
    lab.now += patience;
    lab.sender.on_timer(lab.now);
    assert_eq!(lab.sender.state(), CaState::Loss);
    assert_eq!(lab.sender.in_flight(), Bytes::ZERO, "all is lost");
    assert_eq!(lab.sender.poll_transmit(lab.now).map(|packet| packet.seq), Some(Seq::FIRST_DATA + MSS));
}

/// An echo of CE on an ACK that delivers nothing starts a reduction; cwnd stays as it is (`tcp_cwnd_reduction`) until
/// something is delivered: two segments then leave 18 in flight, and one may follow.
#[test]
fn a_reduction_that_begins_without_delivery() {
    let mut lab = lab(crate::fixed_window());
    let mut echo = ack(0, &[], at(80));
    echo.flags = TcpFlags::ACK | TcpFlags::ECE;
    assert_eq!(answer(&mut lab, &echo), NOTHING);
    assert_eq!((lab.sender.state(), lab.cwnd(), lab.told()), (CaState::Cwr, 20, vec![Told::Ce]));
    assert_eq!(answer(&mut lab, &ack(2, &[], at(80))), [21]);
    assert_eq!(lab.cwnd(), 19);
}

/// PAWS (RFC 7323 section 5.3; `tcp_validate_incoming`): an ACK that was overtaken by more than a tick is ignored,
/// unless it is a duplicate of the last one (`tcp_disordered_ack`), for 1.2 RTO.
#[test]
fn overtaken_acks() {
    let state = |acked, sent, timestamps| {
        let mut lab = lab(TcpParams { timestamps, ..crate::fixed_window() });
        answer(&mut lab, &ack(1, &[], at(1000)));
        answer(&mut lab, &ack(acked, &[(5, 5)], at(sent)));
        lab.sender.state()
    };
    assert_eq!(state(0, 999, true), CaState::Disorder, "one tick");
    assert_eq!(state(0, 998, true), CaState::Open);
    assert_eq!(state(0, 998, false), CaState::Disorder);
    assert_eq!(
        [state(1, 712, true), state(1, 711, true)],
        [CaState::Disorder, CaState::Open],
        "1.2 * 240 ms"
    );
}

/// A receiver that reneged may have dropped everything: also what left 15 ms before the half round trip began counts
/// as lost, which RACK would spare when the timer expires (`tcp_timeout_mark_lost`).
#[test]
fn reneging_spares_nothing() {
    let mut lab = lab(crate::fixed_window());
    answer(&mut lab, &ack(0, &[(2, 10)], at(80)));
    lab.now = at(95);
    assert!(!answer(&mut lab, &ack(0, &[(2, 18)], at(95))).is_empty(), "sent 15 ms before");
    let sent = answer(&mut lab, &ack(1, &[], at(95)));
    assert!(sent.iter().all(|segment| *segment > 20), "nothing is sent again: {sent:?}");
    assert!(lab.sender.in_flight() > Bytes::ZERO);
    lab.now = lab.sender.next_timer().expect("half of a round trip");
    lab.sender.on_timer(lab.now);
    assert_eq!((lab.sender.state(), lab.sender.in_flight()), (CaState::Loss, Bytes::ZERO));
}

/// Growth on an ACK that only SACKs (Linux `tcp_may_raise_cwnd`): barred, unless the path is known to reorder by more
/// than three segments. 5 and 6 arriving before 1 to 4 show six. A stack that counts ACKs counts those of new data
/// alone.
#[test]
fn growth_on_sack_alone() {
    for (reordered, count_acks, barred) in [(false, false, 1), (true, false, 0), (false, true, 1)] {
        let mut lab = lab(TcpParams { count_acks, ..crate::fixed_window() });
        if reordered {
            answer(&mut lab, &ack(0, &[(5, 6)], at(80)));
        }
        answer(&mut lab, &ack(6, &[], at(80)));
        assert_eq!(lab.sender.info().reordering, Some(if reordered { 6 } else { 3 }));
        let before = lab.barred();
        answer(&mut lab, &ack(6, &[(9, 9)], at(80)));
        assert_eq!(lab.barred() - before, barred, "reordered {reordered}, counts ACKs {count_acks}");
    }
}

/// CE is congestion whatever else was spurious (Linux `tcp_may_undo`): the timestamp of a late original undoes a
/// reduction only if no ACK of the episode echoed CE, neither the one that showed the loss nor one that had started
/// CWR before.
#[test]
fn congestion_is_not_undone() {
    for (ece_before, ece_with_loss, told) in [
        (false, false, vec![Told::Loss, Told::Undo]),
        (true, false, vec![Told::Ce]),
        (false, true, vec![Told::Loss]),
    ] {
        let mut lab = lab(crate::fixed_window());
        let with = |ece, mut packet: Packet| {
            packet.flags = packet.flags.with_if(TcpFlags::ECE, ece);
            packet
        };
        answer(&mut lab, &with(ece_before, ack(0, &[], at(80))));
        answer(&mut lab, &with(ece_with_loss, ack(0, &[(2, 4)], at(80))));
        assert_eq!(lab.sender.state(), CaState::Recovery);
        lab.now = at(90);
        answer(&mut lab, &ack(4, &[], at(90)));
        let answers = lab.told().into_iter().filter(|told| !matches!(told, Told::CeMarks(_)));
        assert_eq!(answers.collect::<Vec<_>>(), told, "ECE {ece_before}, {ece_with_loss}");
    }
}
