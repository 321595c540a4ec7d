//! Receivers that deceive their sender (Savage, Cardwell, Wetherall and Anderson 1999; spec/congestion-control
//! section 5).

use windtunnel_tcp::{AckParams, AckPolicy, ConnectionState, TcpParams};
use windtunnel_units::{Bytes, Duration, Probability, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, ms, policy};

/// The window that an honest receiver offers here, in units of 2^7 bytes, and the most that the field can say.
const WINDOW: u64 = 1 << 14;
const MOST: u64 = 65_535 << 7;

/// A receiver with this behaviour that acknowledges every segment at once.
fn attacker(ack: AckParams) -> Bench {
    let params = TcpParams { receive_window: Bytes::new(WINDOW), ..crate::fixed_window() };
    let ack = AckParams { policy: AckPolicy::Immediate, ..ack };
    Bench::new(&params, ack, Ecn::NotEct, false)
}

/// An optimist that acknowledges a segment in each millisecond and stays within four of what has arrived. The
/// sender's ACK has ended the handshake.
fn optimist() -> Bench {
    let mut bench = attacker(AckParams {
        optimistic: ms(1),
        optimistic_step: Bytes::new(MSS),
        optimistic_lead: Bytes::new(4 * MSS),
        ..AckParams::default()
    });
    bench.bytes(1, 1);
    bench
}

/// When ACKs left since `start`, and how many segments they acknowledge.
fn claims(bench: &mut Bench, start: Time) -> Vec<(Duration, u64)> {
    bench.take().iter().map(|ack| (ack.at - start, (ack.ack - 1) / MSS)).collect()
}

/// ACK division with M = 4: a full segment of 1448 bytes is acknowledged by four ACKs, 362 bytes each. The window is
/// that of an honest receiver, and nothing waits for a timer.
#[test]
fn division() {
    let mut bench = attacker(AckParams { division: 4, ..AckParams::default() });
    assert!(!bench.receiver.delays());
    bench.segment(0);
    let acks = bench.take();
    assert_eq!(acks.iter().map(|ack| ack.ack).collect::<Vec<_>>(), [363, 725, 1087, 1449]);
    assert!(acks.iter().all(|ack| ack.window == WINDOW && ack.flags == TcpFlags::ACK));
    assert_eq!((bench.receiver.stats().acks, bench.receiver.next_timer()), (4, None));
}

/// Spoofed duplicates: K = 3 copies of the ACK follow the first segment, and then the first one after each interval
/// of 10 ms. A packet without data causes none.
#[test]
fn spoofed_duplicates() {
    let mut bench =
        attacker(AckParams { duplicates: 3, duplicates_interval: ms(10), ..AckParams::default() });
    bench.bytes(1, 1);
    assert!(bench.take().is_empty(), "the end of the handshake");
    for (n, (wait, copies)) in (0..).zip([(0, 3), (5, 0), (5, 3), (9, 0), (1, 3), (30, 3)]) {
        bench.wait(ms(wait));
        bench.segment(n);
        let acks = bench.take();
        assert_eq!(acks.len(), 1 + copies, "segment {n}");
        assert!(acks.iter().all(|ack| ack.ack == 1 + (n + 1) * MSS && ack.window == WINDOW));
    }
    assert_eq!(bench.receiver.stats().acks, 6 + 4 * 3);
    assert!(!bench.receiver.delays());
}

/// Optimistic ACKs: one in each interval, a step further, from the first segment on until the lead is used up; then
/// again from the next segment on. A loss is concealed, and the window is the largest: nothing is kept.
#[test]
fn optimistic_acks() {
    let mut bench = optimist();
    assert!(bench.receiver.delays());
    assert_eq!(bench.receiver.next_timer(), None, "nothing to claim yet");
    let report = bench.segment(0);
    assert_eq!((report.delivered, report.duplicate), (Bytes::new(MSS), Bytes::ZERO));
    let start = bench.now;
    bench.receiver.on_timer(start);
    assert!(bench.receiver.poll_ack(start).is_none(), "too early");
    bench.wait(ms(20));
    assert_eq!(claims(&mut bench, start), [(ms(1), 2), (ms(2), 3), (ms(3), 4), (ms(4), 5)]);
    assert_eq!(bench.receiver.next_timer(), None, "no progress");

    let report = bench.segment(2);
    assert_eq!((report.delivered, report.out_of_order), (Bytes::new(MSS), false), "the second was lost");
    let start = bench.now;
    bench.wait(ms(20));
    let acks = bench.acks.clone();
    assert_eq!(claims(&mut bench, start), [(ms(1), 6), (ms(2), 7)]);
    assert!(acks.iter().all(|ack| ack.blocks.is_empty() && ack.window == MOST));
    assert_eq!(bench.receiver.rcv_nxt().get(), 1 + 7 * MSS);

    let report = bench.bytes(1 + 2 * MSS + 1000, 1 + 3 * MSS + 1000);
    assert_eq!((report.delivered.get(), report.duplicate.get()), (1000, MSS - 1000));
    assert_eq!(bench.receiver.stats().duplicates, 0);
    let report = bench.segment(2);
    assert_eq!((report.delivered.get(), report.duplicate.get()), (0, MSS));
    let stats = bench.receiver.stats();
    assert_eq!((stats.duplicates, stats.delivered, stats.acks), (1, Bytes::new(2 * MSS + 1000), 6));
}

/// An optimist becomes honest at the end: two claims later, which passed it, the FIN is answered with its true
/// number, and the claims stop. What is due then is its own FIN, after 20 + 200 ms.
#[test]
fn optimism_ends_with_the_fin() {
    let mut bench = optimist();
    bench.segment(0);
    bench.wait(ms(2));
    assert_eq!(bench.take().last().map(|ack| ack.ack), Some(1 + 3 * MSS));
    let report = bench.marked(1 + MSS, 1 + 2 * MSS, TcpFlags::FIN, Ecn::NotEct);
    assert_eq!(report.delivered, Bytes::new(MSS));
    assert_eq!(bench.receiver.connection_state(), ConnectionState::LastAck);
    let answers: Vec<_> = bench.take().iter().map(|ack| (ack.ack, ack.flags)).collect();
    assert_eq!(answers, [(2 + 2 * MSS, TcpFlags::ACK | TcpFlags::FIN)]);
    assert_eq!(bench.receiver.next_timer(), Some(bench.now + ms(220)));
}

/// A sender that has found the attacker out resets the connection (Sherwood, Bhattacharjee and Braud 2005): no claim
/// follows.
#[test]
fn a_reset_ends_the_attack() {
    let mut bench = optimist();
    bench.segment(0);
    assert!(bench.receiver.next_timer().is_some() && !bench.receiver.is_at_end());
    let reset = bench.packet(1 + MSS, 0, TcpFlags::RST, Ecn::NotEct);
    bench.put(&reset);
    assert_eq!(bench.receiver.connection_state(), ConnectionState::Closed);
    assert_eq!((bench.receiver.next_timer(), bench.receiver.is_at_end()), (None, true));
    bench.wait(ms(20));
    assert!(bench.take().is_empty());
}

/// The flag NS (AE) and ECE of the ACKs of segments with these code points, from a receiver that knows nonces.
fn sums(ack: AckParams, arrivals: &[Ecn]) -> (Vec<(bool, bool)>, u64) {
    let params = TcpParams { ecn_nonce: true, ..crate::fixed_window() };
    let mut bench = Bench::new(&params, ack, Ecn::Ect0, false);
    for (n, ecn) in (0..).zip(arrivals) {
        bench.segment_with(n, *ecn);
    }
    let flags = bench.take().iter().map(|ack| (ack.esce(), ack.ece())).collect();
    (flags, bench.receiver.stats().ce)
}

/// RFC 3540: the sum starts at 1, and a segment with ECT(1) counts with its first byte, so each part of a divided ACK
/// of two segments has a sum of its own. CE counts nothing.
#[test]
fn divided_acks_have_sums_of_their_own() {
    let ack = AckParams { division: 2, ..policy(AckPolicy::Every) };
    let (ect0, ect1, ce) = (Ecn::Ect0, Ecn::Ect1, Ecn::Ce);
    let (flags, _) = sums(ack, &[ect0, ect1, ect1, ect0, ce, ect1]);
    let one_then_zero = |ece| [(true, ece), (true, ece), (false, ece), (false, ece)];
    let expected = [one_then_zero(false), [(true, false); 4], one_then_zero(true)];
    assert_eq!(flags, expected.concat());
}

/// A receiver that hides CE cannot hide that its nonce is lost, and ECT(1) is no mark to it: the sum after each
/// segment is 1 + the segments with ECT(1).
#[test]
fn hidden_marks_and_nonces() {
    let ack = AckParams { hide_marks: Probability::ONE, ..policy(AckPolicy::Immediate) };
    let (flags, ce) = sums(ack, &[Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::Ect1]);
    assert_eq!(flags, [(false, false), (false, false), (false, false), (true, false)]);
    assert_eq!(ce, 1, "it has arrived");
}
