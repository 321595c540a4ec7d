//! How many ACKs leave, and when (spec/congestion-control section 1.16; spec/queues-and-signalling section 17.7; RFC
//! 5681 section 4.2).

use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, RTT, ms, policy};

const POLICIES: [AckPolicy; 6] = [
    AckPolicy::Immediate,
    AckPolicy::QuickSignal,
    AckPolicy::StateChange,
    AckPolicy::Every,
    AckPolicy::Linux,
    AckPolicy::Quic,
];

/// A Linux receiver whose credit is spent: 16 segments have arrived, 1 ms apart.
fn seasoned() -> Bench {
    let mut bench = Bench::plain(AckPolicy::Linux);
    for n in 0..16 {
        bench.segment(n);
        bench.wait(ms(1));
    }
    assert_eq!(bench.take().len(), 16, "quickack: every segment at once");
    bench
}

/// ACKs of 1000 unmarked segments, 1 ms apart: each; every second; every second after 16 single ones.
#[test]
fn volume() {
    for (ack, expected) in POLICIES.into_iter().zip([1000, 500, 500, 500, 16 + 984 / 2, 500]) {
        let mut bench = Bench::plain(ack);
        for n in 0..1000 {
            bench.segment(n);
            bench.wait(ms(1));
        }
        bench.wait(ms(500));
        assert_eq!(bench.take().len(), expected, "{ack:?}");
        assert_eq!(bench.receiver.stats().acks, expected as u64);
        let quick = if ack == AckPolicy::Linux { 16 } else { 0 };
        assert_eq!(bench.receiver.stats().quick_acks, quick, "{ack:?}");
    }
}

/// `every`: an ACK leaves at each n-th segment, or a fixed delay after the first one that waits.
#[test]
fn every_nth() {
    for count in 1..6 {
        let params = AckParams { policy: AckPolicy::Every, count, delay: ms(25), ..AckParams::default() };
        let mut bench = Bench::new(&crate::fixed_window(), params, Ecn::NotEct, false);
        let n = 60 + u64::from(count) - 1;
        for i in 0..n {
            bench.segment(i);
            bench.wait(ms(1));
        }
        let last = bench.now;
        bench.wait(ms(100));
        let acks = bench.take();
        assert_eq!(acks.len() as u64, n.div_ceil(u64::from(count)));
        if !n.is_multiple_of(u64::from(count)) {
            let rest = n % u64::from(count);
            assert_eq!(
                acks[acks.len() - 1].at + ms(rest),
                last + ms(25),
                "the first of the rest waited 25 ms"
            );
            assert_eq!(bench.receiver.stats().delayed_acks, 1);
        }
    }
}

/// Linux: a segment alone waits 40 ms; one byte more than a full segment is acknowledged at once.
#[test]
fn linux_alone_and_more_than_one() {
    let mut bench = seasoned();
    bench.segment(16);
    bench.wait(ms(39));
    assert!(bench.take().is_empty());
    bench.wait(ms(1));
    assert_eq!(bench.take().len(), 1);
    assert_eq!(bench.receiver.stats().delayed_acks, 1);
    let start = 1 + 17 * MSS;
    bench.bytes(start, start + MSS);
    assert!(bench.take().is_empty(), "one full segment");
    bench.bytes(start + MSS, start + MSS + 1);
    assert_eq!(bench.take().len(), 1);
}

/// Linux: a segment that ends a write (it has PSH or is short) is acknowledged as soon as it has been read, which is at
/// once; a second short segment of the same length is taken for a full one.
#[test]
fn linux_end_of_a_write() {
    let start = 1 + 16 * MSS;
    let mut bench = seasoned();
    bench.bytes(start, start + 100);
    assert_eq!(bench.take().len(), 1, "short");
    let mut bench = seasoned();
    bench.marked(start, start + MSS, TcpFlags::PSH, Ecn::NotEct);
    assert_eq!(bench.take().len(), 1, "pushed");
    bench.bytes(start + MSS, start + MSS + 700);
    assert_eq!(bench.take().len(), 1, "short");
    bench.bytes(start + MSS + 700, start + MSS + 1400);
    assert!(bench.take().is_empty(), "two of 700 bytes");
    bench.bytes(start + MSS + 1400, start + MSS + 1401);
    assert_eq!(bench.take().len(), 1, "more than 700 bytes");
}

/// Linux: the ATO doubles when a delayed ACK's timer runs out, not when that of a compressed one does.
#[test]
fn compression_does_not_touch_the_ato() {
    let mut bench = Bench::far(policy(AckPolicy::Linux), ms(200));
    for n in (0..16).chain(17..30) {
        bench.segment(n);
    }
    bench.wait(ms(10));
    assert_eq!(bench.receiver.stats().delayed_acks, 1, "the compressed one");
    bench.segment(16);
    bench.take();
    for (n, delay) in [(30, 40), (31, 80)] {
        bench.segment(n);
        let alone = bench.now;
        bench.wait(ms(100));
        assert_eq!(bench.take()[0].at, alone + ms(delay));
    }
}

/// Linux: after an idle time longer than the RTO (20 ms of round trip + 200 ms) the credit is full again; after a
/// shorter one not.
#[test]
fn linux_quickack_after_idle() {
    for (idle, quick) in [(210, 0), (230, 16)] {
        let mut bench = seasoned();
        bench.segment(16);
        bench.segment(17);
        bench.take();
        bench.wait(ms(idle));
        for n in 18..50 {
            bench.segment(n);
        }
        assert_eq!(bench.take().len() as u64, quick + (32 - quick) / 2, "after {idle} ms");
    }
}

/// RFC 5681 section 4.2, all policies: at once above a gap, in the gap, and for a duplicate. Without quickack, and
/// with pending segments that the same ACK acknowledges.
#[test]
fn at_once() {
    for ack in POLICIES {
        let mut bench = Bench::plain(ack);
        for n in 0..16 {
            bench.segment(n);
        }
        bench.take();
        bench.segment(16);
        bench.take();
        for n in [18, 20, 17, 19] {
            bench.segment(n);
            assert_eq!(bench.take().len(), 1, "{ack:?}: segment {n} at once");
        }
        for duplicate in [3, 20] {
            bench.segment(duplicate);
            assert_eq!(bench.take().len(), 1, "{ack:?}: a duplicate at once");
        }
        assert_eq!(bench.receiver.rcv_nxt().get(), 1 + 21 * MSS);
        assert_eq!(bench.receiver.next_timer(), None, "{ack:?}: nothing waits");
    }
}

/// Compression (section 1.16): of a train above a gap the first three are acknowledged at once; then one ACK for
/// those of 5 % of the round trip (20 ms: 1 ms), for at most 44.
#[test]
fn compression_of_sacks() {
    let mut bench = seasoned();
    for n in 17..217 {
        bench.segment(n);
        bench.wait(Duration::from_micros(100));
    }
    let acks = bench.take();
    let first: Vec<u64> = acks.iter().take(3).map(|ack| ack.blocks[0].1).collect();
    assert_eq!(first, [18, 19, 20].map(|n| 1 + n * MSS));
    // From the fourth on, the timer of each ACK starts with a segment and ends 1 ms later, before or with the tenth
    // segment after it.
    assert!(acks[3..].windows(2).all(|pair| pair[1].at - pair[0].at >= ms(1)));
    assert!((18..=21).contains(&acks[3..].len()), "197 segments of 19.7 ms: {}", acks.len() - 3);
    assert!(bench.receiver.stats().compressed_acks > 170);

    bench.segment(16);
    let acks = bench.take();
    assert_eq!(acks.len(), 1, "the gap is filled: one ACK at once, and none for what was held");
    assert_eq!(acks[0].table(), (1 + 217 * MSS, vec![]));

    for n in 218..318 {
        bench.segment(n); // in one instant: the timer cannot run out
    }
    let ends: Vec<u64> = bench.take().iter().map(|ack| (ack.blocks[0].1 - 1) / MSS - 218).collect();
    assert_eq!(ends, [1, 2, 3, 48, 93], "three, then 44 held and the 45th at once");
}

/// Linux `__tcp_ack_snd_check`: the ACK of a segment that fills a part of the gap is the first of three that report the next gap;
/// where more than a segment is acknowledged it is not counted.
#[test]
fn compression_after_a_partial_fill() {
    for (more, at_once) in [(vec![], 2), (vec![17], 3)] {
        let mut bench = seasoned();
        for n in more.into_iter().chain(20..26) {
            bench.segment(n);
        }
        bench.wait(ms(2));
        bench.take();
        bench.segment(16);
        assert_eq!(bench.take().len(), 1);
        for n in 26..32 {
            bench.segment(n);
        }
        assert_eq!(bench.take().len(), at_once);
    }
}

/// Without compression every segment above a gap is acknowledged; the same holds without a round-trip time, 5 % of
/// which would be the wait.
#[test]
fn no_compression() {
    let params = AckParams { sack_compression: false, ..policy(AckPolicy::Linux) };
    let mut bench = Bench::new(&crate::fixed_window(), params, Ecn::NotEct, false);
    for n in (0..16).chain(17..117) {
        bench.segment(n);
    }
    assert_eq!(bench.take().len(), 116);
}

/// A held ACK leaves before one of its blocks is displaced from the first two, so that every block is reported in time.
#[test]
fn compression_loses_no_block() {
    let mut bench = seasoned();
    let mut reported = std::collections::BTreeSet::new();
    for n in 0..100 {
        bench.segment(18 + 2 * n);
        bench.wait(Duration::from_micros(1 + n % 7 * 150));
        reported.extend(bench.take().iter().flat_map(|ack| ack.blocks.clone()));
    }
    bench.wait(ms(2));
    reported.extend(bench.take().iter().flat_map(|ack| ack.blocks.clone()));
    assert_eq!(reported.len(), 100);
    assert!(bench.receiver.stats().compressed_acks > 10);
}

/// Linux 7.3 (`tcp_sack_new_ofo_skb`): the ACK of 21 is held back. 23 would displace a block from the first two, so that the
/// held ACK leaves before it, without it; 23 has no ACK of its own and no timer. 18 again has a D-SACK at once, with 23.
#[test]
fn compression_and_duplicate() {
    let mut bench = seasoned();
    for n in [17, 18, 19, 21, 23] {
        bench.segment(n);
    }
    assert_eq!(bench.receiver.next_timer(), None);
    bench.segment(18);
    let block = |from: u64, to: u64| (1 + from * MSS, 1 + to * MSS);
    let awaited = 1 + 16 * MSS;
    assert_eq!(
        bench.table(),
        [
            (awaited, vec![block(17, 18)]),
            (awaited, vec![block(17, 19)]),
            (awaited, vec![block(17, 20)]),
            (awaited, vec![block(21, 22), block(17, 20)]),
            (awaited, vec![block(18, 19), block(17, 20), block(23, 24)]),
        ]
    );
}

/// CE for the first time turns quickack on for two ACKs; a segment with CWR is acknowledged at once (sections 1.11,
/// 17.7).
#[test]
fn linux_and_ecn() {
    let mut bench = Bench::new(&crate::fixed_window(), policy(AckPolicy::Linux), Ecn::Ect0, false);
    for n in 0..16 {
        bench.segment_with(n, Ecn::Ect0);
    }
    bench.take();
    let mut acks = |n: u64, flags, ecn| {
        bench.marked(1 + n * MSS, 1 + (n + 1) * MSS, flags, ecn);
        bench.take().len()
    };
    assert_eq!(acks(16, TcpFlags::NONE, Ecn::Ce), 1);
    assert_eq!(acks(17, TcpFlags::NONE, Ecn::Ce), 1);
    assert_eq!(acks(18, TcpFlags::NONE, Ecn::Ce), 0, "no longer the first, and no credit left");
    assert_eq!(acks(19, TcpFlags::NONE, Ecn::Ect0), 1, "the second segment");
    assert_eq!(acks(20, TcpFlags::CWR, Ecn::Ect0), 1);
    assert_eq!(acks(21, TcpFlags::NONE, Ecn::Ect0), 0);
}

/// A receiver that never delays says so and has no timer.
#[test]
fn timers() {
    for ack in POLICIES {
        let mut bench = Bench::plain(ack);
        for n in 0..17 {
            bench.segment(n);
        }
        assert_eq!(bench.receiver.delays(), ack != AckPolicy::Immediate);
        assert_eq!(bench.receiver.next_timer().is_some(), ack != AckPolicy::Immediate, "{ack:?}");
        bench.take();
        bench.receiver.on_timer(bench.now); // too early: nothing happens
        assert!(bench.receiver.poll_ack(bench.now).is_none());
        bench.wait(ms(500));
        assert_eq!(bench.take().len(), usize::from(ack != AckPolicy::Immediate));
        assert_eq!(bench.receiver.next_timer(), None);
        assert_eq!(bench.receiver.stats().delivered, Bytes::new(17 * MSS));
        assert!(bench.now > Time::ZERO);
    }
}

/// A segment with old data, and a probe of the window's edge, refill Linux's credit (`tcp_data_queue`); a segment that
/// starts beyond the edge does not (`tcp_validate_incoming`).
#[test]
fn beyond_the_window() {
    let edge = 1 << 14;
    for (at, quick) in [(0, true), (edge, true), (edge + 1, false)] {
        let params = TcpParams { receive_window: Bytes::new(edge), ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Linux), Ecn::NotEct, false);
        // The credit of five pairs of segments, and a pair.
        for n in 0..7 {
            bench.segment(n);
            bench.wait(ms(1));
        }
        assert_eq!(bench.take().len(), 6);
        let next = 1 + 7 * MSS;
        let start = if at == 0 { 1 } else { next + at };
        bench.bytes(start, start + 100);
        assert_eq!(bench.take().len(), 1, "at once");
        bench.bytes(next, next + MSS);
        assert_eq!(!bench.take().is_empty(), quick, "{at} beyond the next byte");
    }
}

/// The packets, counted from 0, after which an ACK left at once.
fn acknowledged(bench: &mut Bench, packets: &[u64]) -> Vec<u64> {
    let after = |packet: &&u64| {
        bench.bytes(1 + **packet * MSS, 1 + (**packet + 1) * MSS);
        !bench.take().is_empty()
    };
    packets.iter().filter(after).copied().collect()
}

fn quic(count: u32, reordering_threshold: u32) -> AckParams {
    AckParams { count, reordering_threshold, delay: ms(25), ..policy(AckPolicy::Quic) }
}

/// The vectors of docs/spec/ccwg-2026 section H: with a reordering threshold of 3 or 5 a gap is reported once it is that old,
/// and again only for what is missing above; with 1 each gap is, and with 0 none. A threshold of 9 unacknowledged packets
/// gives an ACK for each tenth.
#[test]
fn quics_order() {
    for (reordering_threshold, packets, expected) in [
        (3, vec![0, 1, 3, 4, 5, 8, 9, 10], vec![5, 9, 10]),
        (5, vec![0, 1, 3, 5, 6, 7, 8, 9], vec![7, 9]),
        (1, vec![0, 1, 3, 4, 5], vec![3]),
        (1, vec![0, 1, 3, 2, 4], vec![3, 2]),
        (0, vec![0, 1, 3, 2, 6, 5], vec![]),
        (3, (0..20).collect(), vec![9, 19]),
    ] {
        let count = if packets.len() == 20 { 10 } else { 100 };
        let mut bench = Bench::far(quic(count, reordering_threshold), RTT);
        let acks = acknowledged(&mut bench, &packets);
        assert_eq!(acks, expected, "{reordering_threshold}: {packets:?}");
    }
}

/// RFC 9000 section 13.2.2 by default: an ACK for every second packet, or 25 ms after one.
#[test]
fn quics_delay() {
    let mut bench = Bench::far(quic(2, 1), RTT);
    assert_eq!(acknowledged(&mut bench, &[0, 1, 2]), [1]);
    let due = bench.now + ms(25);
    assert_eq!(bench.receiver.next_timer(), Some(due));
}
