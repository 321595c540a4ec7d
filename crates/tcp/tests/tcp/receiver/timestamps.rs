//! Which timestamp an ACK echoes (the examples of RFC 7323 section 4.3), and what PAWS rejects (section 5).

use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};
use windtunnel_units::{Duration, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS};

/// Segment `n` of the stream arrives with timestamp `ts`.
fn put(bench: &mut Bench, n: u64, ts: u64) {
    let mut packet = bench.packet(1 + n * MSS, MSS, TcpFlags::ACK, Ecn::NotEct);
    packet.ts_val = Time::from_nanos(ts);
    bench.put(&packet);
}

/// Case A: of several segments that one ACK acknowledges, the first is echoed.
#[test]
fn delayed_ack_echoes_the_first() {
    let ack = AckParams { policy: AckPolicy::Every, count: 3, ..AckParams::default() };
    let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::NotEct, false);
    for n in 0..6 {
        put(&mut bench, n, 101 + n);
    }
    let echoes: Vec<u64> = bench.take().iter().map(|ack| ack.ts_ecr.as_nanos()).collect();
    assert_eq!(echoes, [101, 104]);
}

/// Case B: A(1), C(3), B(2), E(5), D(4) are echoed as 1, 1, 2, 2, 4.
#[test]
fn gaps() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    for (n, ts) in [(0, 101), (2, 103), (1, 102), (4, 105), (3, 104)] {
        put(&mut bench, n, ts);
    }
    let echoes: Vec<u64> = bench.take().iter().map(|ack| ack.ts_ecr.as_nanos()).collect();
    assert_eq!(echoes, [101, 101, 102, 102, 104]);
}

/// An old duplicate is outside the window: R2 of section 5.3 rejects it before R3 records its timestamp. In Linux,
/// which compares its end with the last ACK sent (`tcp_sequence`), one that ends exactly there is still echoed.
#[test]
fn old_duplicate_is_not_echoed() {
    for (duplicate, echo) in [(0, 102), (1, 190)] {
        let mut bench = Bench::plain(AckPolicy::Immediate);
        for (n, ts) in [(0, 101), (1, 102), (duplicate, 190)] {
            put(&mut bench, n, ts);
        }
        assert_eq!(bench.take().pop().expect("an ACK").ts_ecr, Time::from_nanos(echo), "{duplicate}");
    }
}

/// The same with a delayed ACK: data that it has not acknowledged yet are not old, but start above the last ACK, except
/// for the first of them (section 4.3 (2)).
#[test]
fn duplicate_of_what_waits() {
    for (duplicate, echo) in [(1, 190), (2, 102)] {
        let ack = AckParams { policy: AckPolicy::Every, count: 9, ..AckParams::default() };
        let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::NotEct, false);
        put(&mut bench, 0, 101);
        bench.wait(Duration::from_millis(40));
        for (n, ts) in [(1, 102), (2, 103), (duplicate, 190)] {
            put(&mut bench, n, ts);
        }
        assert_eq!(bench.take().pop().expect("an ACK").ts_ecr, Time::from_nanos(echo), "{duplicate}");
    }
}

/// The echo does not go back: a segment that a later segment's copy overtook leaves `TS.Recent` as it is (R3:
/// `SEG.TSval >= TS.Recent`).
#[test]
fn echo_does_not_go_back() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    for (n, ts) in [(0, 190), (1, 102), (2, 191)] {
        put(&mut bench, n, ts);
    }
    let echoes: Vec<u64> = bench.take().iter().map(|ack| ack.ts_ecr.as_nanos()).collect();
    assert_eq!(echoes, [190, 190, 191]);
}

const TICK: u64 = 1_000_000;

/// PAWS (section 5.3 R1): a segment two ticks before `TS.Recent` is discarded and acknowledged at once, whether or not
/// others wait for an ACK; one tick is tolerated (Linux `TCP_PAWS_WINDOW`), though it lasts nearly two milliseconds
/// here.
#[test]
fn paws_tolerates_one_tick() {
    for (ts, taken) in [(9 * TICK, true), (9 * TICK - 1, false)] {
        let ack = AckParams { policy: AckPolicy::Every, count: 9, ..AckParams::default() };
        let mut bench = Bench::new(&crate::fixed_window(), ack, Ecn::NotEct, false);
        put(&mut bench, 0, 10 * TICK + TICK - 1);
        assert!(bench.take().is_empty(), "delayed");
        put(&mut bench, 1, ts);
        assert_eq!(bench.receiver.stats().paws, u64::from(!taken));
        assert_eq!(bench.take().len(), usize::from(!taken));
        assert_eq!(bench.receiver.rcv_nxt().get(), 1 + if taken { 2 * MSS } else { MSS });
    }
}

/// PAWS on a path that reorders: 1 and 2 are late. 1 is sent again and fills its gap; 2, which was sent before that,
/// arrives afterwards and is discarded, and 1 as well, with a D-SACK. The ACKs ask for 2 until it is sent again.
#[test]
fn paws_discards_late_originals() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    for (n, ts) in [(0, 10), (3, 10), (1, 50), (2, 10), (1, 10), (4, 51), (2, 90)] {
        put(&mut bench, n, ts * TICK);
    }
    let block = |from: u64, to: u64| (1 + from * MSS, 1 + to * MSS);
    let segment = |n: u64| 1 + n * MSS;
    assert_eq!(
        bench.table(),
        [
            (segment(1), vec![]),
            (segment(1), vec![block(3, 4)]),
            (segment(2), vec![block(3, 4)]),
            (segment(2), vec![block(3, 4)]),
            (segment(2), vec![block(1, 2), block(3, 4)]),
            (segment(2), vec![block(3, 5)]),
            (segment(5), vec![]),
        ]
    );
    let stats = bench.receiver.stats();
    assert_eq!((stats.paws, stats.duplicates, stats.discarded, stats.segments), (2, 1, 0, 7));
}

/// A segment that PAWS discards is ignored: neither its mark nor its CWR counts (RFC 3168 section 6.1.5).
#[test]
fn paws_ignores_marks() {
    let mut bench = Bench::new(&crate::fixed_window(), AckParams::default(), Ecn::Ect0, false);
    put(&mut bench, 0, 10 * TICK);
    let mut packet = bench.packet(1 + MSS, MSS, TcpFlags::ACK, Ecn::Ce);
    packet.ts_val = Time::from_nanos(TICK);
    let report = bench.put(&packet);
    assert_eq!((report.delivered.get(), report.duplicate.get()), (0, 0));
    assert!(bench.take().iter().all(|ack| !ack.ece()));
    assert_eq!(bench.receiver.stats().ce, 0);
}

/// Without the option nothing is echoed, and nothing is too old.
#[test]
fn without_timestamps() {
    let params = TcpParams { timestamps: false, ..crate::fixed_window() };
    let mut bench = Bench::new(&params, AckParams::default(), Ecn::NotEct, false);
    put(&mut bench, 0, 100);
    let ack = bench.take().pop().expect("an ACK");
    assert_eq!((ack.ts_ecr, ack.size), (Time::ZERO, 40));
    put(&mut bench, 1, 100 * TICK);
    put(&mut bench, 2, 0);
    assert_eq!(bench.receiver.rcv_nxt().get(), 1 + 3 * MSS);
}

/// Linux: an old timestamp enters quickack mode if the data are old as well (`tcp_send_dupack`), not if only the
/// timestamp is. Either way it is answered at once; D-SACK reports old data alone.
#[test]
fn paws_and_quickack() {
    for (n, acks) in [(15, 1), (16, 0)] {
        let mut bench = Bench::plain(AckPolicy::Linux);
        for n in 0..16 {
            bench.segment(n);
            bench.wait(Duration::from_millis(1));
        }
        bench.take();
        put(&mut bench, n, 1_000_000);
        let answers = bench.take();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].blocks.len(), acks, "D-SACK");
        assert_eq!(bench.receiver.stats().paws, 1);
        bench.segment(16);
        assert_eq!(bench.take().len(), acks, "after segment {n} with an old timestamp");
    }
}
