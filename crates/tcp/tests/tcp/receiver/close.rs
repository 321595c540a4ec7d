//! The end of a connection, as the receiving side has it: RFC 9293 sections 3.6 and 3.10.7.4. When Linux's receiver
//! answers a FIN is recorded (`../linux_receiver.rs`).

use windtunnel_tcp::{AckPolicy, ConnectionState};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, ms};

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
