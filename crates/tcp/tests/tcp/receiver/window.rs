//! The receive window: its size, that it never shrinks, and autotuning.

use windtunnel_tcp::{AckParams, AckPolicy, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, RTT, ms, policy};

/// A fixed window, in units of the least scale that twice the window needs (RFC 7323 section 2.3): rounded down, and
/// 2^16 - 1 units at most.
#[test]
fn offered() {
    for (buffer, window) in
        [(1_u64, 128), (16_384, 16_384), (65_600, 65_536), (5_000_000, 4_999_936), (1 << 30, 65_535 << 14)]
    {
        let params = TcpParams { receive_window: Bytes::new(buffer), ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
        bench.segment(0);
        bench.segment(2);
        bench.segment(1);
        assert!(bench.take().iter().all(|ack| ack.window == window), "a buffer of {buffer}");
    }
}

/// Data beyond the right edge are discarded and acknowledged; the part of a segment below the edge is accepted.
#[test]
fn right_edge() {
    let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(AckPolicy::Every), Ecn::NotEct, false);
    let edge = 1 + (1 << 14);
    let report = bench.bytes(edge, edge + 100);
    assert_eq!(report.delivered, Bytes::ZERO);
    assert_eq!(bench.table(), [(1, vec![])]);
    assert_eq!(bench.receiver.stats().discarded, 1);
    bench.bytes(edge - 100, edge + 100);
    assert_eq!(bench.table(), [(1, vec![(edge - 100, edge)])]);
    let report = bench.bytes(1, edge + 100);
    assert_eq!(report.delivered, Bytes::new(1 << 14));
    assert_eq!(bench.take().pop().expect("an ACK").ack, edge);
}

/// A sender that doubles its window each round trip, from 10 segments to 2000, then keeps it: its flight in each
/// round trip, and the window offered at the end of it.
fn rounds(receive_window: u64, echo: bool) -> Vec<(u64, u64)> {
    let params =
        TcpParams { receive_window: Bytes::new(receive_window), timestamps: echo, ..TcpParams::default() };
    let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
    let mut offered = bench.receiver.rcv_nxt().get() + 65_160.min(receive_window / 2 / MSS * MSS);
    let mut rounds = Vec::new();
    let mut next = 0;
    let mut flight: u64 = 10;
    for _ in 0..14 {
        let begin = bench.now;
        let first = next;
        let sent_at = begin.since(Time::ZERO + RTT);
        while next < first + flight && (next + 1) * MSS < offered {
            let mut packet = bench.packet(1 + next * MSS, MSS, TcpFlags::ACK, Ecn::NotEct);
            packet.ts_ecr = if echo { Time::ZERO + sent_at } else { Time::ZERO };
            bench.put(&packet);
            next += 1;
        }
        let last = bench.take().pop().expect("an ACK");
        assert!(last.ack + last.window >= offered, "the right edge moved back");
        offered = last.ack + last.window;
        rounds.push(((next - first) * MSS, last.window));
        flight = (flight * 2).min(2000);
        bench.wait((begin + RTT).since(bench.now));
    }
    rounds
}

/// Autotuning starts at 64 KiB, keeps ahead of a sender in slow start, which it never holds back, grows no more once
/// the sender does not, and stays below its limit; with the echo of timestamps as without.
#[test]
fn autotuning() {
    for echo in [true, false] {
        let rounds = rounds(1 << 30, echo);
        // The window that 128 KiB of memory allow in addition to the newly arrived packet, in units of 16 KiB.
        assert_eq!(rounds[0].1, 5 << 14, "80 KiB in the first round");
        let flights: Vec<u64> = rounds.iter().map(|(flight, _)| flight / MSS).collect();
        let doubled = [10, 20, 40, 80, 160, 320, 640, 1280, 2000, 2000, 2000, 2000, 2000, 2000];
        let held_back = flights.iter().zip(doubled).position(|(flight, wanted)| *flight != wanted);
        assert_eq!(held_back, None, "echo {echo}: flights {flights:?}");
        let (flight, window) = rounds[13];
        assert!(window >= 2 * flight, "twice what is read in a round trip");
        assert!(window <= 8 * flight, "and no more than slow start needed: {window} for {flight}");
        assert_eq!(rounds[12].1, window, "it has settled");
    }
}

/// The limit holds: the sender gets no more than that in a round trip.
#[test]
fn autotuning_limit() {
    for limit in [1_u64 << 14, 200_000, 1 << 20] {
        let rounds = rounds(limit, true);
        assert!(rounds.iter().all(|(flight, window)| *window <= limit && *flight <= limit));
        // The packet that is acknowledged takes its share of memory: 2304 bytes of memory allow a window of 1440.
        let reached = rounds[13].1;
        assert!(reached > limit - 1440 - 128 && reached <= limit, "{reached} of {limit}");
    }
}

/// A slow reader of the clock: a sender with one segment in each 1 ms of a 20 ms round trip reads 20 segments per
/// round trip.
#[test]
fn autotuning_of_a_steady_flow() {
    let steady = |segments_per_echo: u64| {
        let params =
            TcpParams { receive_window: Bytes::new(1 << 30), autotuning: true, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Linux), Ecn::NotEct, false);
        let mut echo = Time::ZERO;
        for n in 0..2000 {
            if n % segments_per_echo == 0 {
                echo = Time::ZERO + bench.now.since(Time::ZERO + RTT);
            }
            let mut packet = bench.packet(1 + n * MSS, MSS, TcpFlags::ACK, Ecn::NotEct);
            packet.ts_ecr = echo;
            bench.put(&packet);
            bench.wait(ms(1));
        }
        assert!(bench.now.since(Time::ZERO) > Duration::SECOND);
        bench.take().pop().expect("an ACK").window
    };
    let window = steady(1);
    // At the first growth: 2 x 21 segments, and twice the growth of 21/10 - 1 on top: 42 x 3.2 = 134 segments = 195 kB,
    // in units of 16 KiB.
    assert_eq!(window, 12 << 14);
    assert_eq!(steady(15), window, "an echo that comes again is no sample");
}

/// A buffer of 64 KiB whose window grows, with the ACKs of `ack`: 104,857 bytes of memory, 2304 for each segment.
fn small_buffer(ack: AckParams) -> Bench {
    let params = TcpParams { receive_window: Bytes::new(1 << 16), autotuning: false, ..TcpParams::default() };
    Bench::new(&params, ack, Ecn::NotEct, false)
}

/// Reading sends an ACK of its own where less than half of the clamp is left and the window can be twice as large
/// (Linux `tcp_cleanup_rbuf`): of the 65,160 bytes offered first, 65,160 - 23 * 1448 are the first below 32,767.
#[test]
fn reading_reopens_the_window() {
    let mut bench =
        small_buffer(AckParams { count: 100, delay: Duration::SECOND, ..policy(AckPolicy::Every) });
    for n in 0..30 {
        bench.segment(n);
    }
    assert_eq!(bench.table(), [(1 + 23 * MSS, vec![])]);
}

/// Linux ends quickack mode while less than half of the buffer is free (`__tcp_select_window`): with 30 segments
/// above a gap (69,120 of 104,857 bytes), but not with 10, the credit of a duplicate is gone, and the ACK of the next
/// one is held back.
#[test]
fn little_memory_ends_quickack() {
    for (above, acks) in [(10, 1), (30, 0)] {
        let mut bench = small_buffer(policy(AckPolicy::Linux));
        for n in (0..1).chain(2..2 + above) {
            bench.segment(n);
        }
        bench.segment(0);
        bench.take();
        bench.segment(2 + above);
        assert_eq!(bench.take().len(), acks, "{above} segments above the gap");
    }
}

/// A packet without data is answered if it lies outside of the window (RFC 9293 section 3.10.7.4), to which Linux
/// adds its edge (`tcp_sequence`).
#[test]
fn probes_beyond_the_edge() {
    let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
    for (beyond, acks) in [(0, 0), (1, 1), (1000, 1)] {
        let mut bench = Bench::new(&params, policy(AckPolicy::Linux), Ecn::NotEct, false);
        let at = 1 + (1 << 14) + beyond;
        bench.bytes(at, at);
        assert_eq!(bench.take().len(), acks, "{beyond} beyond the edge");
    }
}
