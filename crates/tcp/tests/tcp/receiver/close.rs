//! The end of a connection, as the receiving side has it: RFC 9293 sections 3.6 and 3.10.7.4. When Linux's receiver
//! answers a FIN is recorded (`../linux_receiver.rs`).

use windtunnel_tcp::{AckPolicy, ConnectionState, HEADERS, Receiver, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, Options, TcpFlags};

use super::fixture::{Bench, MSS, endpoint, ms, policy};

const FIN: TcpFlags = TcpFlags::FIN;

/// Packets that arrive at once: first sequence number, length, and whether they carry a FIN.
fn arrive(bench: &mut Bench, packets: &[(u64, u64, bool)]) {
    for (seq, len, fin) in packets {
        let packet = bench.packet(*seq, *len, TcpFlags::ACK.with_if(FIN, *fin), Ecn::NotEct);
        bench.put(&packet);
    }
}

/// The sender's ACK of the receiver's FIN.
fn acknowledge(bench: &mut Bench, seq: u64) {
    let mut packet = bench.packet(seq, 0, TcpFlags::ACK, Ecn::NotEct);
    packet.ack = windtunnel_units::Seq::new(2);
    bench.put(&packet);
}

/// With every policy, a FIN that acknowledges the sender's FIN answers it at once, in whatever order the last data and
/// the FIN arrive; a FIN does not count as data. LAST-ACK ends with the ACK of the answer.
#[test]
fn every_fin_is_answered() {
    let (first, second, end) = (1, 1 + MSS, 1 + 2 * MSS);
    let orders: [&[(u64, u64, bool)]; 5] = [
        &[(first, MSS, false), (second, MSS, true)],
        &[(first, MSS, false), (second, MSS, false), (end, 0, true)],
        &[(first, MSS, false), (end, 0, true), (second, MSS, false)],
        &[(second, MSS, true), (first, MSS, false)],
        &[(end, 0, true), (second, MSS, false), (first, MSS, false)],
    ];
    for policy in [AckPolicy::Linux, AckPolicy::Immediate, AckPolicy::Every, AckPolicy::StateChange] {
        for order in orders {
            let mut bench = Bench::plain(policy);
            arrive(&mut bench, order);
            let last = bench.acks.last().expect("an answer");
            assert_eq!((last.flags, last.ack), (TcpFlags::ACK | FIN, end + 1), "{policy:?} {order:?}");
            assert_eq!(bench.receiver.stats().delivered, Bytes::new(2 * MSS));
            assert_eq!(bench.acks.iter().filter(|ack| ack.flags.contains(FIN)).count(), 1);
            assert_eq!(bench.receiver.connection_state(), ConnectionState::LastAck);
            assert!(!bench.receiver.is_done());
            acknowledge(&mut bench, end + 1);
            assert_eq!(bench.receiver.connection_state(), ConnectionState::Closed);
            assert!(bench.receiver.is_done() && bench.receiver.next_timer().is_none());
        }
    }
}

/// Its FIN is repeated: a loss probe, here at the retransmission timeout of 20 + 200 ms (Linux) because 2 * 20 + 200 ms
/// are more, then the timeout with its back-off (RFC 6298 section 5.5). The sender's own FIN, sent again, is acknowledged
/// without one.
#[test]
fn its_fin_is_repeated() {
    let mut bench = Bench::plain(AckPolicy::Linux);
    arrive(&mut bench, &[(1, MSS, true)]);
    bench.acks.clear();
    let start = bench.now;
    arrive(&mut bench, &[(1, MSS, true)]);
    assert_eq!(bench.acks.pop().map(|ack| ack.flags), Some(TcpFlags::ACK));
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < 4 {
        let due: Time = bench.receiver.next_timer().expect("LAST-ACK has a timer");
        bench.receiver.on_timer(due);
        let answer = bench.receiver.poll_ack(due).expect("the FIN");
        assert_eq!((answer.flags, answer.seq.get(), answer.ack.get()), (TcpFlags::ACK | FIN, 1, MSS + 2));
        times.push(due.since(start));
    }
    assert_eq!(times, [ms(220), ms(440), ms(880), ms(1760)]);
}

/// A FIN beyond the window is cut off with the data that do not fit.
#[test]
fn a_fin_beyond_the_window() {
    let mut bench = Bench::plain(AckPolicy::Linux);
    let edge = 1 + (1 << 30);
    arrive(&mut bench, &[(edge - 100, 100, true), (edge, 0, true)]);
    assert!(bench.acks.iter().all(|ack| !ack.flags.contains(FIN)));
    assert_eq!(bench.receiver.connection_state(), ConnectionState::Established);
}

/// The timeout is R + 4 R/2, at least R + 200 ms (RFC 6298 section 2.2 with Linux's least variance term), and 1 s
/// without a sample (Karn); it doubles. A loss probe, after 2 R + 200 ms if that is less, comes before it without a
/// doubling; it needs TLP, SACK and a sample of the round trip.
#[test]
fn when_its_fin_is_repeated() {
    for (tlp, sack, syns, rtt, expected) in [
        (true, true, 1, 300, [800, 1700, 3500]),
        (false, true, 1, 300, [900, 2700, 6300]),
        (true, false, 1, 300, [900, 2700, 6300]),
        (false, true, 1, 20, [220, 660, 1540]),
        (true, true, 2, 300, [1000, 3000, 7000]),
    ] {
        let params = TcpParams { tlp, sack, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
        bench.receiver =
            Receiver::new(endpoint(Ecn::NotEct, false, HEADERS), &params, policy(AckPolicy::Immediate));
        for _ in 0..syns {
            let mut syn = bench.packet(0, 0, TcpFlags::SYN, Ecn::NotEct);
            syn.set_options(Options { sack_permitted: true, ..Options::default() });
            bench.put(&syn);
        }
        bench.wait(ms(rtt));
        arrive(&mut bench, &[(1, MSS, true)]);
        assert!(bench.receiver.is_at_end());
        bench.take();
        let start = bench.now;
        bench.wait(ms(expected[2]));
        let times: Vec<Duration> = bench.take().iter().map(|ack| ack.at - start).collect();
        assert_eq!(times, expected.map(ms), "TLP {tlp}, SACK {sack}, {syns} SYNs, {rtt} ms");
    }
}

/// Only the ACK of its own FIN, which has number 1, ends LAST-ACK: the sender's repeated FIN acknowledges the SYN|ACK
/// alone.
#[test]
fn last_ack_waits_for_its_ack() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    arrive(&mut bench, &[(1, MSS, true)]);
    let mut again = bench.packet(1, MSS, TcpFlags::ACK | FIN, Ecn::NotEct);
    again.ack = windtunnel_units::Seq::new(1);
    bench.put(&again);
    assert_eq!(bench.receiver.connection_state(), ConnectionState::LastAck);
    acknowledge(&mut bench, 2 + MSS);
    assert_eq!(bench.receiver.connection_state(), ConnectionState::Closed);
}

/// A FIN beyond the window does not end the stream either when all data below the edge are there.
#[test]
fn a_full_window_without_its_fin() {
    let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
    let edge = 1 + (1 << 14);
    arrive(&mut bench, &[(edge - 100, 100, true), (1, edge - 101, false)]);
    assert_eq!(bench.receiver.stats().delivered, Bytes::new(1 << 14));
    assert_eq!(bench.receiver.rcv_nxt().get(), edge);
    assert!(!bench.receiver.is_at_end() && bench.acks.iter().all(|ack| !ack.flags.contains(FIN)));
}

/// A last segment that repeats data below its FIN is reported as the duplicate that it is (RFC 2883), and answered
/// like any FIN.
#[test]
fn a_fin_with_old_data() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    arrive(&mut bench, &[(1, MSS, false)]);
    bench.take();
    let report = bench.marked(1, 1 + 2 * MSS, FIN, Ecn::NotEct);
    assert_eq!((report.delivered.get(), report.duplicate.get()), (MSS, MSS));
    let acks = bench.take();
    assert_eq!(acks[0].blocks, [(1, 1 + MSS)]);
    assert_eq!(acks.last().map(|ack| ack.flags), Some(TcpFlags::ACK | FIN));
}

/// Linux: more than one full segment is acknowledged before its FIN is answered (`__tcp_ack_snd_check`); the FIN's
/// number counts, so that 1447 bytes with a FIN are one full segment, and 1448 more.
#[test]
fn linux_acknowledges_more_than_a_segment_first() {
    for (len, acks) in [(MSS - 1, 1), (MSS, 2)] {
        let mut bench = Bench::plain(AckPolicy::Linux);
        for n in 0..16 {
            bench.segment(n);
        }
        bench.take();
        arrive(&mut bench, &[(1 + 16 * MSS, len, true)]);
        assert_eq!(bench.take().len(), acks, "{len} bytes");
    }
}
