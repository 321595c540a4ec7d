//! Sequences of events calculated by hand, and (in `model`) random ones against a naive scoreboard.

mod model;
mod rate_sample;

use super::*;

pub(in super::super) const MSS: Bytes = Bytes::new(1000);

/// `n` milliseconds after the start.
pub(in super::super) fn ms(n: u64) -> Time {
    Time::from_nanos(n * 1_000_000)
}

/// Sends the next `n` segments.
pub(in super::super) fn send(board: &mut Scoreboard, n: u64, now: Time) {
    for _ in 0..n {
        board.on_sent(board.nxt(), MSS, now, Snapshot::default());
    }
}

/// The first byte of the `n`-th segment, counted from 1 as in the RFCs' examples.
pub(in super::super) fn seq(n: u64) -> Seq {
    Seq::FIRST_DATA + MSS * (n - 1)
}

/// The name of the `n`-th segment.
pub(in super::super) fn id(n: u64) -> SegmentId {
    SegmentId(n - 1)
}

/// The number of the segment with that name: `number(id(n))` is `n`.
pub(in super::super) fn number(id: SegmentId) -> u64 {
    id.0 + 1
}

/// A block from the `first` to the `last` segment.
pub(in super::super) fn block(first: u64, last: u64) -> SackBlock {
    SackBlock { start: seq(first), end: seq(last + 1) }
}

/// SACKs blocks of segments; returns the numbers of those newly delivered.
pub(in super::super) fn sack(board: &mut Scoreboard, blocks: &[(u64, u64)]) -> Vec<u64> {
    let blocks: Vec<SackBlock> = blocks.iter().map(|&(first, last)| block(first, last)).collect();
    let mut delivered = Vec::new();
    board.on_sack(&blocks, |id, _| delivered.push(number(id)));
    delivered
}

/// Acknowledges all segments below the `n`-th; returns the numbers of those newly delivered.
pub(in super::super) fn ack(board: &mut Scoreboard, n: u64) -> Vec<u64> {
    let mut delivered = Vec::new();
    board.on_ack(seq(n), |id, _| delivered.push(number(id)));
    delivered
}

/// `n` full segments.
fn amount(n: u64) -> Amount {
    Amount { segments: n, bytes: MSS * n }
}

fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::new(false);
    send(&mut board, n, ms(0));
    board
}

/// (outstanding, sacked, lost, retransmitted, in flight) in segments; in bytes they are as many full segments.
fn counts(board: &Scoreboard) -> [u64; 5] {
    [board.outstanding(), board.sacked(), board.lost(), board.retransmitted(), board.in_flight()].map(
        |counted| {
            assert_eq!(counted, amount(counted.segments));
            counted.segments
        },
    )
}

fn transmission_order(board: &Scoreboard) -> Vec<u64> {
    std::iter::successors(board.queue.oldest_sent(), |&id| board.queue.sent_after(id))
        .map(|id| id + 1)
        .collect()
}

/// Ten segments, the third and the sixth lost and repaired: the pipe of RFC 6675 at each step.
#[test]
fn two_losses() {
    let mut board = board(10);
    assert_eq!(counts(&board), [10, 0, 0, 0, 10]);
    assert_eq!(ack(&mut board, 3), [1, 2]);
    assert_eq!(counts(&board), [8, 0, 0, 0, 8]);
    assert_eq!(sack(&mut board, &[(4, 5)]), [4, 5]);
    assert_eq!(sack(&mut board, &[(7, 9), (4, 5)]), [7, 8, 9], "the second block is known");
    assert_eq!(counts(&board), [8, 5, 0, 0, 3], "3, 6 and 10 may be in the network");
    assert_eq!(board.highest_sacked(), Some(seq(10)));

    assert!(board.mark_lost(id(3)) && board.mark_lost(id(6)));
    assert!(!board.mark_lost(id(3)), "known");
    assert!(!board.mark_lost(id(4)) && !board.mark_lost(id(1)), "delivered");
    assert_eq!(counts(&board), [8, 5, 2, 0, 1]);
    assert_eq!(board.next_lost(), Some(id(3)));
    board.on_retransmitted(id(3), ms(40), Snapshot::default());
    assert_eq!(board.next_lost(), Some(id(6)));
    assert!(!board.all_lost_retransmitted());
    board.on_retransmitted(id(6), ms(41), Snapshot::default());
    assert!(board.all_lost_retransmitted());
    assert_eq!(counts(&board), [8, 5, 2, 2, 3]);
    assert_eq!(transmission_order(&board), [10, 3, 6], "what is sent again goes to the end");

    let mut visited = Vec::new();
    let acked = board.on_ack(seq(6), |id, segment| visited.push((number(id), segment.ever_retransmitted())));
    assert_eq!(visited, [(3, true)], "4 and 5 were delivered before");
    assert_eq!(
        acked,
        Acked { removed: amount(3), delivered: amount(1), retransmitted: true, unexplained: false }
    );
    assert_eq!(counts(&board), [5, 3, 1, 1, 2]);
    assert_eq!(ack(&mut board, 11), [6, 10]);
    assert_eq!(counts(&board), [0; 5]);
    assert!(board.is_empty() && board.head().is_none() && board.oldest_sent().is_none());
}

/// A lost retransmission has to be sent again; when the original arrives after all, both counts return to zero.
#[test]
fn lost_retransmission() {
    let mut board = board(4);
    assert!(board.mark_head_lost());
    board.on_retransmitted(id(1), ms(10), Snapshot::default());
    assert_eq!(counts(&board), [4, 0, 1, 1, 4]);
    assert!(board.mark_lost(id(1)), "the retransmission is news");
    assert_eq!(counts(&board), [4, 0, 1, 0, 3]);
    assert_eq!(board.next_lost(), Some(id(1)));
    board.on_retransmitted(id(1), ms(20), Snapshot::default());
    assert_eq!(ack(&mut board, 2), [1]);
    assert_eq!(counts(&board), [3, 0, 0, 0, 3]);
}

/// RFC 6675 counts a segment twice if it was sent again and is not known to be lost (rule 3), and once when it then
/// is.
#[test]
fn retransmitted_without_loss() {
    let mut board = board(3);
    board.on_retransmitted(id(1), ms(10), Snapshot::default());
    assert_eq!(counts(&board), [3, 0, 0, 1, 4]);
    assert!(board.mark_original_lost(id(1)));
    assert!(!board.mark_original_lost(id(1)), "known");
    assert_eq!(counts(&board), [3, 0, 1, 1, 3]);
    assert_eq!(board.next_lost(), None, "its retransmission is in the network");
    assert!(board.mark_original_lost(id(2)));
    assert_eq!(board.next_lost(), Some(id(2)));
}

/// A probe is not a second transmission in the network (Linux `tcp_send_loss_probe`): the segment only has a later
/// transmission time, and was sent more than once. A lost segment is not probed.
#[test]
fn probed() {
    let mut board = board(3);
    board.on_probed(id(1), ms(10), Snapshot::default());
    assert_eq!(counts(&board), [3, 0, 0, 0, 3]);
    assert_eq!(transmission_order(&board), [2, 3, 1]);
    assert!(board.get(id(1)).is_some_and(QueuedSegment::ever_retransmitted));
    assert!(board.awaits_retransmission(), "it is the head");
    board.mark_lost(id(2));
    board.on_probed(id(2), ms(20), Snapshot::default());
    assert_eq!(board.next_lost(), Some(id(2)));
    assert_eq!(sack(&mut board, &[(3, 3)]), [3]);
    assert_eq!(board.first_sacked_twice(&block(2, 3)), None, "3 was sent once");
}

/// A timeout marks all but the SACKed segments lost, retransmissions too; an undo takes that back, and the order of
/// transmission is that of the latest transmissions.
#[test]
fn timeout_and_undo() {
    let mut board = board(6);
    sack(&mut board, &[(3, 4)]);
    board.mark_lost(id(1));
    board.on_retransmitted(id(1), ms(30), Snapshot::default());
    assert_eq!(board.mark_all_lost(), amount(4));
    assert_eq!(counts(&board), [6, 2, 4, 0, 0]);
    assert_eq!(board.oldest_sent(), None);
    board.on_retransmitted(id(1), ms(40), Snapshot::default());
    assert_eq!(board.next_lost(), Some(id(2)));
    board.on_retransmitted(id(2), ms(50), Snapshot::default());
    assert_eq!(board.next_lost(), Some(id(5)));
    assert_eq!(board.mark_all_lost(), amount(2), "only the retransmissions are news");
    board.on_retransmitted(id(2), ms(60), Snapshot::default());
    board.unmark_lost();
    assert_eq!(counts(&board), [6, 2, 0, 1, 5]);
    assert!(board.all_lost_retransmitted());
    assert_eq!(transmission_order(&board), [5, 6, 1, 2], "sent at 0, 0, 40 and 60 ms");
}

/// A receiver that drops data that it had SACKed (RFC 2018 section 8) shows it by a cumulative ACK just below them.
#[test]
fn reneging() {
    let mut board = board(5);
    sack(&mut board, &[(2, 3)]);
    ack(&mut board, 2);
    assert!(board.head_is_sacked());
    board.forget_sack();
    assert!(!board.head_is_sacked());
    assert_eq!(counts(&board), [4, 0, 0, 0, 4]);
    assert_eq!(transmission_order(&board), [2, 3, 4, 5]);
    assert_eq!(ack(&mut board, 4), [2, 3], "delivered again");
}

/// Only whole segments are delivered (spec section 0.1).
#[test]
fn parts_of_segments() {
    let mut board = board(5);
    let mut visited = 0;
    let part = Bytes::new(1);
    let before = Bytes::new(999);
    assert_eq!(board.on_ack(seq(1) + before, |_, _| visited += 1), Acked::default());
    assert_eq!(board.head(), Some(id(1)));
    let inside = SackBlock { start: seq(2) + part, end: seq(4) + before };
    assert_eq!(board.on_sack(&[inside], |id, _| visited += number(id)), amount(1));
    assert_eq!(visited, 3, "of 2, 3 and 4 it is 3 that is covered");
    let acked = board.on_ack(seq(2) + part, |_, _| ());
    assert_eq!(acked.removed, amount(1));
    assert_eq!(counts(&board), [4, 1, 0, 0, 3]);
}

/// ACKs and blocks that no honest receiver sends are ignored.
#[test]
fn nonsense() {
    let mut board = board(5);
    ack(&mut board, 3);
    let never = |_: SegmentId, _: &QueuedSegment| panic!("nothing is delivered");
    let before = counts(&board);
    assert_eq!(board.on_ack(seq(7), never), Acked::default(), "never sent");
    assert_eq!(board.on_ack(seq(2), never), Acked::default(), "old");
    for (start, end) in [(4, 4), (5, 4), (1, 3), (1, 5), (3, 4), (5, 7), (7, 9)] {
        let block = SackBlock { start: seq(start), end: seq(end) };
        assert_eq!(board.on_sack(&[block], never), Amount::ZERO, "{start} to {end}");
    }
    assert_eq!(board.on_sack(&[SackBlock { start: Seq::new(u64::MAX), end: Seq::SYN }], never), Amount::ZERO);
    assert_eq!(counts(&board), before);
    let overlapping = [(4, 5), (5, 5), (4, 4), (4, 5)];
    assert_eq!(sack(&mut board, &overlapping), [4, 5]);
    assert_eq!(counts(&board), [3, 2, 0, 0, 1]);
}

/// Without SACK (spec section 1.7): each duplicate ACK is one more segment delivered; an ACK of new data takes them
/// back, because one of its segments was the hole.
#[test]
fn duplicate_acks_as_sack() {
    let counted = |n| Acked { delivered: amount(n), ..Acked::default() };
    let surplus = Acked { unexplained: true, ..Acked::default() };
    let mut board = board(6);
    for n in 1..=3 {
        assert_eq!(board.on_duplicate_ack(), counted(1));
        assert_eq!(counts(&board), [6, n, 0, 0, 6 - n]);
    }
    board.mark_head_lost();
    board.on_retransmitted(id(1), ms(20), Snapshot::default());
    assert_eq!(counts(&board), [6, 3, 1, 1, 3]);
    assert_eq!(board.on_duplicate_ack(), counted(1));
    assert_eq!(board.on_duplicate_ack(), counted(1));
    assert_eq!(board.on_duplicate_ack(), surplus, "there is at least one hole");
    let acked = board.on_ack(seq(4), |_, _| ());
    assert_eq!(acked.removed, amount(3));
    assert_eq!(acked.delivered, amount(1), "two of the three had caused duplicate ACKs");
    assert!(
        acked.unexplained,
        "of five counted three are left, but one of the three segments is the next hole"
    );
    assert_eq!(counts(&board), [3, 2, 0, 0, 1]);
    board.mark_all_lost();
    assert_eq!(counts(&board), [3, 0, 3, 0, 0]);
    assert_eq!(board.on_duplicate_ack(), surplus, "all are holes");
    let acked = board.on_ack(seq(7), |_, _| ());
    assert_eq!((acked.removed, acked.delivered, acked.unexplained), (amount(3), amount(3), false));
    assert_eq!(counts(&board), [0; 5]);
}

/// Segments of unequal length are found too, where the position cannot be computed.
#[test]
fn unequal_segments() {
    let mut board = Scoreboard::new(false);
    let lengths = [1000, 10, 1000, 1, 1, 1, 3000, 5];
    for length in lengths {
        board.on_sent(board.nxt(), Bytes::new(length), ms(0), Snapshot::default());
    }
    let mut byte = Seq::FIRST_DATA;
    for (index, length) in lengths.into_iter().enumerate() {
        for _ in 0..length {
            assert_eq!(board.queue.find(byte), Some(index as u64));
            byte = byte + Bytes::new(1);
        }
    }
    assert_eq!((board.queue.find(byte), board.queue.find(Seq::SYN)), (None, None));
}

/// RFC 2883 section 4: a D-SACK is below the cumulative ACK, or within the second block; nothing else is one.
#[test]
fn d_sacks() {
    let blocks = |bounds: &[(u64, u64)]| -> Vec<SackBlock> {
        bounds.iter().map(|&(start, end)| SackBlock { start: Seq::new(start), end: Seq::new(end) }).collect()
    };
    let reports = |una: u64, bounds: &[(u64, u64)]| {
        d_sack(Seq::new(una), &blocks(bounds)).map(|block| (block.start.get(), block.end.get()))
    };
    assert_eq!(reports(4000, &[(3000, 3500)]), Some((3000, 3500)), "below the ACK");
    assert_eq!(reports(4000, &[(3000, 3500), (4500, 5000)]), Some((3000, 3500)));
    assert_eq!(reports(4000, &[(5000, 5500), (4500, 6000)]), Some((5000, 5500)), "within the second block");
    assert_eq!(reports(4000, &[(4500, 5500)]), None);
    assert_eq!(reports(4000, &[(5500, 6000), (4500, 5000)]), None);
    assert_eq!(reports(4000, &[(4500, 5000), (4600, 6000)]), None, "in part only");
    assert_eq!(reports(4000, &[(3500, 3000)]), None, "inverted");
    assert_eq!(reports(4000, &[]), None);
}

/// Without SACK, duplicate ACKs count segments as delivered, but never a hole: a second hole takes one of the count
/// away. An ACK of five segments (one the hole, three counted before) newly delivers two.
#[test]
fn holes_limit_what_duplicate_acks_count() {
    let mut board = board(5);
    for _ in 0..4 {
        board.on_duplicate_ack();
    }
    assert_eq!(counts(&board), [5, 4, 0, 0, 1]);
    assert!(board.mark_lost(id(1)) && board.mark_lost(id(2)));
    assert_eq!(counts(&board), [5, 3, 2, 0, 0]);

    let mut board = self::board(10);
    for _ in 0..3 {
        board.on_duplicate_ack();
    }
    assert!(board.mark_head_lost());
    let acked = board.on_ack(seq(6), |_, _| ());
    assert_eq!((acked.removed, acked.delivered), (amount(5), amount(2)));
    assert_eq!(counts(&board), [5, 0, 0, 0, 5], "all that were counted are acknowledged");
}

/// A D-SACK counts as many needless retransmissions as it covers segments that were sent again.
#[test]
fn segments_sent_again_within_a_block() {
    let mut board = board(10);
    for n in [3, 4, 8] {
        board.mark_lost(id(n));
        board.on_retransmitted(id(n), ms(40), Snapshot::default());
    }
    let within = [(2, 5), (4, 8), (5, 7), (2, 10)].map(|(a, b)| board.ever_retransmitted(&block(a, b)));
    assert_eq!(within, [2, 2, 0, 3]);
}
