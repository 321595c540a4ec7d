//! TCP small queues (spec/congestion-control section 1.15), on a path whose round trip of 40 ms and window of 10
//! segments give a pacing rate of 2 * 10 * 1448 bytes / 40 ms, so that a millisecond is less than two packets. Each
//! occupies 1448 + 832 = 2280 bytes, so that two are the limit. The lab's packets leave the host when a test says so.

use windtunnel_tcp::{HEADERS, Limited, TcpParams};
use windtunnel_units::{Bytes, Duration, Seq};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use super::harness::{Lab, Script, Setup, at, lost, ms};

fn params() -> TcpParams {
    TcpParams { small_queues: true, ..crate::fixed_window() }
}

/// An endless flow with a fixed window, after its SYN has left the host and was answered at 40 ms, and the ACK of the
/// answer has left.
fn established(cwnd: u64, params: TcpParams, script: Script) -> Lab {
    let mut lab = Lab::new(Setup { params, cwnd, fixed: true, ..Setup::default() }, script);
    lab.write_endless();
    leave(&mut lab, 1);
    lab.run_until(at(40));
    leave(&mut lab, 1);
    lab
}

/// This many packets leave the host, 0.4 ms apart.
fn leave(lab: &mut Lab, packets: u64) {
    for _ in 0..packets {
        lab.sender.left_host(lab.now);
        lab.run_until(lab.now);
    }
}

fn segments(lab: &Lab) -> Vec<u64> {
    lab.sent.iter().map(|sent| sent.segment).collect()
}

/// Two packets leave the sender, and each one that leaves the host lets one more follow, until cwnd is full. Then no
/// packet that leaves the host wakes the sender.
#[test]
fn a_packet_leaves_for_each_that_has_left() {
    let mut lab = established(10, params(), Script::default());
    assert_eq!((segments(&lab), lab.sender.in_host()), (vec![1, 2], Bytes::new(4560)));
    assert_eq!(lab.sender.limited_by(), Limited::Host);
    for sent in 3..=10 {
        leave(&mut lab, 1);
        assert_eq!(lab.sent.len(), sent);
    }
    leave(&mut lab, 1);
    assert_eq!((lab.sent.len(), lab.sender.limited_by()), (10, Limited::Cwnd));
    assert!(lab.sender.next_timer().is_some_and(|due| due > lab.now), "nothing is asked for");
    leave(&mut lab, 1);
    assert_eq!(lab.sender.in_host(), Bytes::ZERO);
    assert!(lab.sender.stats().limited[Limited::Host as usize] > Duration::ZERO);
}

/// Without small queues the window leaves at once, and nothing is counted.
#[test]
fn off() {
    let mut lab = established(10, crate::fixed_window(), Script::default());
    assert_eq!((lab.sent.len(), lab.sender.in_host()), (10, Bytes::ZERO));
    leave(&mut lab, 3);
    assert_eq!(lab.sent.len(), 10);
}

/// `tcp_limit_output_bytes` below one packet: while a single packet is outstanding, a second one may still leave; the
/// third waits until both have left the host.
#[test]
fn a_single_packet_outstanding_withholds_nothing() {
    let limit_output_bytes = Bytes::new(1);
    let mut lab = established(10, TcpParams { limit_output_bytes, ..params() }, Script::default());
    assert_eq!(segments(&lab), [1, 2]);
    leave(&mut lab, 1);
    assert_eq!(segments(&lab), [1, 2], "a packet is still in the host");
    leave(&mut lab, 1);
    assert_eq!(segments(&lab), [1, 2, 3]);
}

/// The rate may exceed two packets: a window of 100 in 4 ms is 2 * 144800 / 4 ms, in 2^-10 s 70703 bytes, and that is
/// exceeded by 32 packets.
#[test]
fn a_millisecond_at_the_pacing_rate() {
    let setup = Setup { params: params(), cwnd: 100, fixed: true, rtt: ms(4), ..Setup::default() };
    let mut lab = Lab::new(setup, Script::default());
    lab.write_endless();
    leave(&mut lab, 1);
    lab.run_until(at(4));
    leave(&mut lab, 1);
    assert_eq!(lab.sent.len(), 70_703 / 2280 + 1);
}

/// A burst is one packet: with bursts of two, 2 * 1448 + 832 bytes each, two bursts are the limit, and the memory of one
/// is free when both of its segments have left.
#[test]
fn bursts() {
    let mut lab = established(20, TcpParams { gso: true, ..params() }, Script::default());
    assert_eq!((segments(&lab), lab.sender.in_host()), (vec![1, 2, 3, 4], Bytes::new(2 * (2 * 1448 + 832))));
    leave(&mut lab, 1);
    assert_eq!(lab.sent.len(), 4);
    leave(&mut lab, 1);
    assert_eq!(lab.sent.len(), 6);
}

/// Retransmissions have twice the limit: with segments 9 and 10 in the host, 1 and 2 are sent again, which makes four
/// packets, and 3 waits until one has left.
#[test]
fn retransmissions_have_twice_the_limit() {
    let mut lab = established(10, params(), lost([0, 1, 2]));
    leave(&mut lab, 8);
    assert_eq!((lab.sent.len(), lab.sender.in_host()), (10, Bytes::new(4560)));
    lab.run_until(at(83));
    assert_eq!(segments(&lab)[10..], [1, 2]);
    assert_eq!((lab.sender.in_host(), lab.sender.limited_by()), (Bytes::new(9120), Limited::Host));
    leave(&mut lab, 1);
    assert_eq!(segments(&lab)[10..], [1, 2, 3]);
}

/// Pacing comes on top: the first ten segments leave when the host permits it, every 0.4 ms, after the ACK of the
/// SYN/ACK; those after them are paced,
/// 40 ms / (2 * 20) apart, although the host has room (the tenth was late, so that half of its interval is forgiven).
#[test]
fn with_pacing() {
    let mut setup = Setup { params: params(), cwnd: 20, fixed: true, ..Setup::default() };
    setup.endpoint.paced = true;
    let mut lab = Lab::new(setup, Script::default());
    lab.write_endless();
    leave(&mut lab, 1);
    lab.run_until(at(40));
    leave(&mut lab, 1);
    while lab.sent.len() < 20 {
        leave(&mut lab, 1);
    }
    let gaps: Vec<u64> =
        lab.sent.windows(2).map(|pair| pair[1].time.since(pair[0].time).as_nanos() / 1000).collect();
    assert_eq!(gaps[..9], [0, 800, 400, 400, 400, 400, 400, 400, 400]);
    assert_eq!(gaps[9], 500);
    assert!(gaps[10..].iter().all(|gap| (999..=1001).contains(gap)), "{gaps:?}");
}

/// A SYN occupies the record of a packet, 832 bytes, and an ACK without data 2 bytes (Linux `skb_set_tcp_pure_ack`):
/// that of the SYN/ACK, and the one that answers the peer's FIN.
#[test]
fn packets_without_data() {
    let mut lab = Lab::new(Setup { params: params(), ..Setup::default() }, Script::default());
    lab.write(1);
    assert_eq!(lab.sender.in_host(), Bytes::new(832));
    leave(&mut lab, 1);
    lab.run_until(at(60));
    assert_eq!((lab.sent.len(), lab.sender.in_host()), (1, Bytes::new(2 + 2280)));
    leave(&mut lab, 2);
    assert_eq!((lab.sent.len(), lab.sender.in_host()), (1, Bytes::ZERO));
    let mut fin = Packet::new(FlowId::new(0), HEADERS, Bytes::ZERO);
    (fin.flags, fin.seq, fin.ack) = (TcpFlags::ACK | TcpFlags::FIN, Seq::FIRST_DATA, Seq::FIRST_DATA);
    (fin.ts_val, fin.ts_ecr) = (lab.now, at(40));
    lab.sender.on_ack(&fin, lab.now);
    assert!(lab.sender.poll_transmit(lab.now).is_some_and(|ack| ack.payload() == Bytes::ZERO));
    assert_eq!(lab.sender.in_host(), Bytes::new(2));
}

/// A burst is at most half of the window (Linux `tcp_cwnd_test`), however fast the path: ten segments are two packets
/// of the host, although over 1 ms forty would be one.
#[test]
fn two_bursts_per_window() {
    let params = TcpParams { gso: true, ..params() };
    let mut lab = Lab::new(Setup { params, fixed: true, rtt: ms(1), ..Setup::default() }, Script::default());
    lab.write_endless();
    leave(&mut lab, 1);
    lab.run_until(at(1));
    leave(&mut lab, 1);
    assert_eq!((lab.sent.len(), lab.sender.in_host()), (10, Bytes::new(2 * (5 * 1448 + 832))));
}
