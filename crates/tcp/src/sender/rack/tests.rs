//! RACK calculated by hand, and against its definition.

use proptest::collection::vec;
use proptest::prelude::*;
use windtunnel_cc::rate_sample::Snapshot;
use windtunnel_units::Bytes;

use super::super::scoreboard::SegmentId;
use super::super::scoreboard::tests::{MSS, block, id, ms, number, send, seq};
use super::*;

const RTT: Duration = Duration::from_millis(40);

/// `min_rtt` = `srtt` = 40 ms.
fn at(now: Time) -> RackContext {
    RackContext { now, min_rtt: RTT, srtt: RTT, recovering: false, dupthresh: 3, reordering_seen: false }
}

fn recovering(now: Time) -> RackContext {
    RackContext { recovering: true, ..at(now) }
}

fn sack(rack: &mut Rack, board: &mut Scoreboard, first: u64, last: u64, now: Time) {
    rack.on_ack_begin(now, RTT, None);
    board.on_sack(&[block(first, last)], |_, segment| rack.on_sacked(segment));
}

/// Five segments sent together at 0.
fn five() -> (Rack, Scoreboard) {
    let mut board = Scoreboard::new(false);
    send(&mut board, 5, ms(0));
    (Rack::default(), board)
}

fn detection(lost: u64, timer: Option<Time>) -> Detection {
    Detection { lost: Amount { segments: lost, bytes: MSS * lost }, timer }
}

/// The test of spec section 1.9: the third SACK leaves no time for reordering.
#[test]
fn third_sack() {
    let (mut rack, mut board) = five();
    for n in [2, 3] {
        sack(&mut rack, &mut board, n, n, ms(40));
        assert_eq!(rack.detect_losses(&mut board, &at(ms(40))), detection(0, Some(ms(52))), "SACK of {n}");
    }
    sack(&mut rack, &mut board, 4, 4, ms(40));
    assert_eq!(rack.detect_losses(&mut board, &at(ms(40))), detection(1, None));
    assert_eq!(board.next_lost(), Some(id(1)));
    assert_eq!(board.lost().segments, 1, "5 was sent after 4");
}

/// The same: with one SACK the loss is found at 40 + 10 ms and no earlier; the timer looks 2 ms later.
#[test]
fn reordering_timer() {
    let (mut rack, mut board) = five();
    sack(&mut rack, &mut board, 2, 2, ms(40));
    assert_eq!(rack.detect_losses(&mut board, &at(ms(40))).timer, Some(ms(52)));
    let early = ms(50).since(Time::from_nanos(1));
    assert_eq!(rack.detect_losses(&mut board, &at(Time::ZERO + early)).lost, Amount::ZERO);
    assert_eq!(rack.detect_losses(&mut board, &at(ms(50))), detection(1, None));
}

/// Linux's `tcp_rack_mark_lost` adds 2 ms (`TCP_TIMEOUT_MIN_US`) to what is left, however much that is: 9 ms left after an
/// ACK at 41 ms, 1 ms left after one at 49 ms, both of a wait that ends at 50 ms.
#[test]
fn timer_of_what_is_left_and_two_milliseconds() {
    for now in [ms(41), ms(49)] {
        let (mut rack, mut board) = five();
        sack(&mut rack, &mut board, 2, 2, ms(40));
        assert_eq!(rack.detect_losses(&mut board, &at(now)), detection(0, Some(ms(52))));
    }
}

/// Of segments sent at one time the higher one was sent later (RFC 8985 section 6.2 step 2).
#[test]
fn ties() {
    let (mut rack, mut board) = five();
    sack(&mut rack, &mut board, 3, 3, ms(40));
    assert_eq!(rack.detect_losses(&mut board, &recovering(ms(40))), detection(2, None));
    assert!(board.get(id(2)).is_some_and(QueuedSegment::is_lost));
    assert!(!board.get(id(4)).is_some_and(QueuedSegment::is_lost));
}

/// Segment 1 is sent again at 40 ms, and 6 after it; when 6 is delivered, 1 is lost again.
#[test]
fn lost_retransmission() {
    let (mut rack, mut board) = five();
    sack(&mut rack, &mut board, 2, 5, ms(40));
    assert_eq!(rack.detect_losses(&mut board, &at(ms(40))), detection(1, None));
    board.on_retransmitted(id(1), ms(40), Snapshot::default());
    send(&mut board, 1, ms(41));
    assert_eq!(rack.detect_losses(&mut board, &recovering(ms(79))), detection(0, None));
    sack(&mut rack, &mut board, 6, 6, ms(81));
    assert_eq!(rack.detect_losses(&mut board, &recovering(ms(81))), detection(1, None));
    assert_eq!(board.next_lost(), Some(id(1)));
    assert_eq!(board.retransmitted(), Amount::ZERO);
}

/// An ACK sooner after a retransmission than a round trip belongs to the original: it does not make segments sent
/// before the retransmission late. The same holds for an ACK whose echo is older than the retransmission, however
/// late it comes.
#[test]
fn ack_of_the_original() {
    for (now, echo) in [(ms(45), None), (ms(90), Some(ms(0)))] {
        let (mut rack, mut board) = five();
        board.mark_head_lost();
        board.on_retransmitted(id(1), ms(40), Snapshot::default());
        rack.on_ack_begin(now, RTT, echo);
        board.on_ack(seq(2), |_, segment| rack.on_acked(segment));
        assert_eq!(rack.detect_losses(&mut board, &recovering(now)), Detection::default());
    }
    let (mut rack, mut board) = five();
    board.mark_head_lost();
    board.on_retransmitted(id(1), ms(40), Snapshot::default());
    rack.on_ack_begin(ms(80), RTT, Some(ms(40)));
    board.on_ack(seq(2), |_, segment| rack.on_acked(segment));
    assert_eq!(
        rack.detect_losses(&mut board, &recovering(ms(80))),
        detection(4, None),
        "of the retransmission"
    );
}

/// Among the segments that one ACK acknowledges, the round trip of the highest one counts, as Linux goes through them
/// (`tcp_clean_rtx_queue`). If it is 1, sent again 40 ms ago, then 6, sent 50 ms ago, is late; if it is 2, sent 80 ms
/// ago, 6 is not. RFC 8985 section 6.2 step 2 would take the 40 ms of 1, sent last, both times.
#[test]
fn round_trip_of_the_highest() {
    for (acked, lost) in [(2, 5), (3, 3)] {
        let (mut rack, mut board) = five();
        send(&mut board, 1, ms(30));
        board.mark_head_lost();
        board.on_retransmitted(id(1), ms(40), Snapshot::default());
        rack.on_ack_begin(ms(80), RTT, None);
        board.on_ack(seq(acked), |_, segment| rack.on_acked(segment));
        let detected = rack.detect_losses(&mut board, &recovering(ms(80)));
        assert_eq!(detected.lost.segments, lost, "acknowledged below {acked}");
    }
}

/// A segment SACKed by the same ACK does not count: 2, sent again 40 ms ago, is acknowledged, and 4, sent 80 ms ago, is
/// SACKed. Linux looks at SACK first. 3, sent again 41 ms ago, is late by the 40 ms of 2, and would not be by the 80 ms
/// of 4.
#[test]
fn round_trip_without_sacked() {
    let (mut rack, mut board) = five();
    board.on_ack(seq(2), |_, _| ());
    for n in [3, 2] {
        board.mark_lost(id(n));
        board.on_retransmitted(id(n), ms(42 - n), Snapshot::default());
    }
    rack.on_ack_begin(ms(80), RTT, None);
    board.on_ack(seq(3), |_, segment| rack.on_acked(segment));
    board.on_sack(&[block(4, 4)], |_, segment| rack.on_sacked(segment));
    rack.detect_losses(&mut board, &recovering(ms(80)));
    assert_eq!(board.next_lost(), Some(id(3)));
}

/// Once reordering has been seen, the detection waits for it: a quarter of `min_rtt`, also in recovery and after
/// three SACKs.
#[test]
fn reordering_seen() {
    let (mut rack, mut board) = five();
    let seen = |context| RackContext { reordering_seen: true, ..context };
    assert_eq!(rack.reo_wnd(&board, &recovering(ms(40))), Duration::ZERO);
    assert_eq!(rack.reo_wnd(&board, &seen(recovering(ms(40)))), RTT / 4);
    sack(&mut rack, &mut board, 2, 4, ms(40));
    assert_eq!(rack.detect_losses(&mut board, &seen(at(ms(40)))), detection(0, Some(ms(52))));
    assert_eq!(rack.detect_losses(&mut board, &at(ms(40))), detection(1, None));
}

/// RFC 8985 section 6.2 step 4: a D-SACK adds a quarter of `min_rtt`, once per round trip and up to srtt; sixteen
/// recoveries without one take it back.
#[test]
fn dsack_widens_the_window() {
    let (mut rack, board) = five();
    let context = RackContext { srtt: RTT * 10, ..at(ms(40)) };
    let window = |rack: &Rack| rack.reo_wnd(&board, &context);
    assert_eq!(window(&rack), RTT * 1 / 4);
    rack.on_dsack(seq(1), seq(6));
    rack.on_dsack(seq(5), seq(8));
    assert_eq!(window(&rack), RTT * 2 / 4, "one round trip");
    rack.on_dsack(seq(6), seq(11));
    assert_eq!(window(&rack), RTT * 3 / 4);
    for _ in 0..15 {
        rack.on_recovery_exit();
    }
    assert_eq!(window(&rack), RTT * 3 / 4);
    rack.on_recovery_revoked();
    rack.on_recovery_exit();
    assert_eq!(window(&rack), RTT * 3 / 4, "one of the fifteen was undone (Linux `tcp_try_undo_dsack`)");
    rack.on_recovery_exit();
    assert_eq!(window(&rack), RTT * 1 / 4);
    assert_eq!(rack.reo_wnd(&board, &RackContext { srtt: RTT / 8, ..context }), RTT / 8, "srtt bounds it");
    for round in 0..300 {
        rack.on_dsack(seq(100 + round), seq(101 + round));
    }
    assert_eq!(rack.reo_wnd(&board, &RackContext { srtt: RTT * 1000, ..context }), RTT * 255 / 4);
}

/// At a timeout the head is lost, and so are segments sent a round trip ago; younger ones are not (RFC 8985 section
/// 6.3).
#[test]
fn timeout() {
    let (mut rack, mut board) = five();
    rack.on_ack_begin(ms(40), RTT, None);
    board.on_ack(seq(2), |_, segment| rack.on_acked(segment));
    board.on_retransmitted(id(2), ms(230), Snapshot::default());
    send(&mut board, 1, ms(210));
    send(&mut board, 1, ms(211));
    let marked = rack.mark_timed_out(&mut board, ms(250));
    assert_eq!(marked.segments, 5, "2, the head, though young; 3, 4, 5; and 6, sent 40 ms ago");
    assert_eq!(board.in_flight(), Amount::one(MSS));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// The detection marks every segment that the definition (RFC 8985 section 6.2 step 5) says is lost, and the
    /// timer is the latest deadline of the segments sent before the newest delivered one, whatever walk of the list
    /// finds it.
    #[test]
    fn by_definition(steps in vec((0..5u8, any::<u64>(), 1..20u64), 1..100)) {
        let mut board = Scoreboard::new(false);
        let mut rack = Rack::default();
        let mut now = ms(100);
        for (kind, n, wait) in steps {
            now += Duration::from_millis(wait);
            let outstanding = board.outstanding().segments;
            let first = board.head().map_or(1, number);
            match kind {
                0 | 1 => send(&mut board, 1, now),
                2 if outstanding > 0 => {
                    let n = first + n % outstanding;
                    sack(&mut rack, &mut board, n, n, now);
                }
                3 => if let Some(lost) = board.next_lost() {
                    board.on_retransmitted(lost, now, Snapshot::default());
                },
                4 => {
                    rack.on_ack_begin(now, RTT, None);
                    board.on_ack(seq(first + n % 3), |_, segment| rack.on_acked(segment));
                }
                _ => {}
            }
            let context = RackContext { recovering: n % 2 == 0, reordering_seen: n % 3 == 0, ..at(now) };
            let deadline = rack.rtt + rack.reo_wnd(&board, &context);
            let segments = |board: &Scoreboard| -> Vec<(SegmentId, QueuedSegment)> {
                let first = board.head().map_or(1, number);
                (first..).map(id).map_while(|id| Some((id, *board.get(id)?))).collect()
            };
            let late: Vec<(SegmentId, QueuedSegment)> = segments(&board)
                .into_iter()
                .filter(|(_, segment)| segment.is_in_network())
                .filter(|(_, segment)| rack.newest > Some((segment.sent(), segment.end())))
                .collect();
            let detection = rack.detect_losses(&mut board, &context);
            let (lost, waiting): (Vec<_>, Vec<_>) =
                late.into_iter().partition(|(_, segment)| now >= segment.sent() + deadline);
            let timer = waiting.iter().map(|(_, segment)| segment.sent() + deadline).max();
            prop_assert_eq!(detection.timer, timer.map(|timer| timer + LEAST_TIMEOUT));
            prop_assert_eq!(detection.lost.bytes, lost.iter().map(|(_, segment)| segment.payload()).sum::<Bytes>());
            for (id, _) in lost {
                prop_assert!(board.get(id).is_some_and(|segment| segment.is_lost() && !segment.is_in_network()));
            }
        }
    }
}
