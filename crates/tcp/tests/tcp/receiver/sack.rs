//! SACK and D-SACK against the tables of their RFCs: bytes in, acknowledgment and blocks out.

use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Ecn;

use super::fixture::{Bench, policy};

/// One line of a table: what arrives, and the acknowledgment and blocks that it causes.
type Line<'a> = ((u64, u64), u64, &'a [(u64, u64)]);

/// Everything below `start` has arrived; then the lines of the table follow.
fn check(start: u64, lines: &[Line<'_>]) {
    for timestamps in [true, false] {
        let params = TcpParams { timestamps, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
        bench.bytes(1, start);
        bench.take();
        for (i, ((from, to), ack, blocks)) in lines.iter().enumerate() {
            bench.bytes(*from, *to);
            let acks = bench.take();
            assert_eq!(acks.len(), 1, "line {i}");
            assert_eq!(acks[0].table(), (*ack, blocks.to_vec()), "line {i}");
            let option = if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() as u64 };
            assert_eq!(acks[0].size, if timestamps { 52 } else { 40 } + option, "line {i}: the size");
        }
    }
}

/// RFC 2018 section 5, case 2: the first of eight segments is lost.
#[test]
fn rfc2018_case_2() {
    let lines: Vec<_> =
        (1..8).map(|n| ((5000 + n * 500, 5500 + n * 500), [(5500, 5500 + n * 500)])).collect();
    let lines: Vec<Line<'_>> = lines.iter().map(|(bytes, blocks)| (*bytes, 5000, &blocks[..])).collect();
    check(5000, &lines);
}

/// RFC 2018 section 5, case 3: the second, fourth, sixth and eighth are lost; the fourth comes, then the second.
#[test]
fn rfc2018_case_3() {
    check(
        5000,
        &[
            ((5000, 5500), 5500, &[]),
            ((6000, 6500), 5500, &[(6000, 6500)]),
            ((7000, 7500), 5500, &[(7000, 7500), (6000, 6500)]),
            ((8000, 8500), 5500, &[(8000, 8500), (7000, 7500), (6000, 6500)]),
            ((6500, 7000), 5500, &[(6000, 7500), (8000, 8500)]),
            ((5500, 6000), 7500, &[(8000, 8500)]),
        ],
    );
}

/// RFC 2883 section 4.1.1: a duplicate segment.
#[test]
fn rfc2883_duplicate() {
    check(
        3000,
        &[
            ((3000, 3500), 3500, &[]),
            ((3500, 4000), 4000, &[]),
            ((3000, 3500), 4000, &[(3000, 3500)]),
            ((4000, 4500), 4500, &[]), // a duplicate is reported once
        ],
    );
}

/// RFC 2883 section 4.1.2: an out-of-order segment and a duplicate segment.
#[test]
fn rfc2883_duplicate_and_gap() {
    check(
        3500,
        &[
            ((3500, 4000), 4000, &[]),
            ((4500, 5000), 4000, &[(4500, 5000)]),
            ((3000, 3500), 4000, &[(3000, 3500), (4500, 5000)]),
        ],
    );
}

/// RFC 2883 section 4.1.3: a duplicate of an out-of-order segment.
#[test]
fn rfc2883_duplicate_above_the_gap() {
    check(
        4000,
        &[
            ((4500, 5000), 4000, &[(4500, 5000)]),
            ((5000, 5500), 4000, &[(4500, 5500)]),
            ((5000, 5500), 4000, &[(5000, 5500), (4500, 5500)]),
        ],
    );
}

/// RFC 2883 section 4.2.1: a segment whose first half is a duplicate.
#[test]
fn rfc2883_duplicate_part() {
    check(
        500,
        &[
            ((500, 1000), 1000, &[]),
            ((2000, 2500), 1000, &[(2000, 2500)]),
            ((1000, 1500), 1500, &[(2000, 2500)]),
            ((1000, 2000), 2500, &[(1000, 1500)]),
        ],
    );
}

/// RFC 2883 section 4.2.2: two duplicate parts below the acknowledgment; the first is reported.
#[test]
fn rfc2883_two_parts_below() {
    check(
        1000,
        &[
            ((3000, 3500), 1000, &[(3000, 3500)]),
            ((1000, 1500), 1500, &[(3000, 3500)]),
            ((2000, 2500), 1500, &[(2000, 2500), (3000, 3500)]),
            ((1000, 2500), 2500, &[(1000, 1500), (3000, 3500)]),
        ],
    );
}

/// RFC 2883 section 4.2.3: two duplicate parts above the acknowledgment; the first is reported, then the block that
/// holds it.
#[test]
fn rfc2883_two_parts_above() {
    check(
        1000,
        &[
            ((3500, 4000), 1000, &[(3500, 4000)]),
            ((1500, 2000), 1000, &[(1500, 2000), (3500, 4000)]),
            ((2500, 3000), 1000, &[(2500, 3000), (1500, 2000), (3500, 4000)]),
            ((1500, 3000), 1000, &[(1500, 2000), (1500, 3000), (3500, 4000)]),
        ],
    );
}

/// Six blocks: an ACK holds three next to timestamps, four without, the most recent first (RFC 2018 section 3); a
/// D-SACK takes one place. Of the others the next one comes back when there is room, as in Linux, which keeps four.
#[test]
fn room_for_blocks() {
    let blocks: Vec<(u64, u64)> = (1..7).map(|n| (n * 1000, n * 1000 + 500)).collect();
    for (timestamps, room) in [(true, 3), (false, 4)] {
        let params = TcpParams { timestamps, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, AckParams::default(), Ecn::NotEct, false);
        bench.bytes(1, 500);
        for (from, to) in &blocks {
            bench.bytes(*from, *to);
        }
        let newest_first: Vec<_> = blocks.iter().rev().copied().collect();
        assert_eq!(bench.take().pop().expect("an ACK").blocks, newest_first[..room]);
        bench.bytes(1, 500);
        let with_duplicate: Vec<_> = [(1, 500)].iter().chain(&newest_first[..room - 1]).copied().collect();
        assert_eq!(bench.take().pop().expect("an ACK").blocks, with_duplicate);
        bench.bytes(4500, 5000);
        bench.bytes(5500, 6000); // 4000 to 6500 is one block now
        assert_eq!(bench.take().pop().expect("an ACK").blocks, [(4000, 6500), (3000, 3500)]);
    }
}

/// Without SACK a duplicate ACK says only its number.
#[test]
fn without_sack() {
    let params = TcpParams {
        sack: false,
        loss_detection: windtunnel_tcp::LossDetection::Newreno,
        ..crate::fixed_window()
    };
    let mut bench = Bench::new(&params, policy(AckPolicy::Linux), Ecn::NotEct, false);
    bench.bytes(1, 500);
    for n in 1..60 {
        bench.bytes(n * 1000, n * 1000 + 500);
    }
    bench.bytes(1, 500);
    let acks = bench.take();
    assert_eq!(acks.len(), 61, "each leaves at once: they are counted by the sender");
    assert!(acks.iter().all(|ack| ack.table() == (500, vec![]) && ack.size == 52));
    assert_eq!((bench.receiver.stats().dsacks, bench.receiver.stats().compressed_acks), (0, 0));
}

/// Nothing is allocated for an ACK's options while those of others come back: 50 ACKs with blocks, one after the other, have
/// the same.
#[test]
fn options_are_used_again() {
    let mut bench = Bench::new(&crate::fixed_window(), policy(AckPolicy::Immediate), Ecn::NotEct, false);
    for n in 1..=50 {
        bench.bytes(1000 * n + 500, 1000 * n + 1000);
    }
    assert_eq!(bench.take().iter().filter(|ack| !ack.blocks.is_empty()).count(), 50);
    assert_eq!(bench.addresses.len(), 1);
}

/// Reports and counters of a scene with a duplicate, a gap, and a segment beyond the window.
#[test]
fn reports() {
    let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
    let mut report = |from, to| {
        let report = bench.bytes(from, to);
        (report.delivered.get(), report.duplicate.get(), report.out_of_order)
    };
    assert_eq!(report(1, 1001), (1000, 0, false));
    assert_eq!(report(1, 1001), (0, 1000, false));
    assert_eq!(report(2001, 3001), (0, 0, true));
    assert_eq!(report(2501, 3501), (0, 500, true));
    assert_eq!(report(501, 2501), (2500, 1000, false), "500 below, 500 of the block above");
    assert_eq!(report(3501 + (1 << 14), 4501 + (1 << 14)), (0, 0, false), "beyond the window");
    assert_eq!(report(3501, 4501), (1000, 0, false));
    let stats = bench.receiver.stats();
    assert_eq!(
        (stats.segments, stats.duplicates, stats.out_of_order, stats.discarded, stats.dsacks, stats.acks),
        (7, 1, 2, 1, 3, 7)
    );
    assert_eq!(stats.delivered, Bytes::new(4500));
    assert!(bench.now > Time::ZERO);
}
