//! Which timestamp an ACK echoes: the examples of RFC 7323 section 4.3.

use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};
use windtunnel_units::Time;
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
    let mut bench = Bench::new(&TcpParams::default(), ack, Ecn::NotEct, false);
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

/// A segment that had arrived before is echoed (section 4.3 (2) has no lower bound on `SEG.SEQ`): its ACK may be the
/// first that the sender sees, and must not give it a round trip that began with the first copy.
#[test]
fn retransmission_is_echoed() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    for (n, ts) in [(0, 101), (1, 102), (0, 190)] {
        put(&mut bench, n, ts);
    }
    assert_eq!(bench.take().pop().expect("an ACK").ts_ecr, Time::from_nanos(190));
}

/// The echo does not go back: a segment that was overtaken by a later one's copy leaves `TS.Recent` as it is (R3:
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

/// Without the option nothing is echoed.
#[test]
fn without_timestamps() {
    let params = TcpParams { timestamps: false, ..TcpParams::default() };
    let mut bench = Bench::new(&params, AckParams::default(), Ecn::NotEct, false);
    put(&mut bench, 0, 100);
    let ack = bench.take().pop().expect("an ACK");
    assert_eq!((ack.ts_ecr, ack.size), (Time::ZERO, 40));
}
