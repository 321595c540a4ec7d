//! Merging of packets by the network card's driver (spec/congestion-control section 1.16).

use windtunnel_tcp::{AckPolicy, SegmentReport, TcpParams};
use windtunnel_units::{Bytes, Duration, Time};
use windtunnel_wire::{Ecn, TcpFlags};

use super::fixture::{Bench, MSS, ms, policy};

const POLL: Duration = Duration::from_micros(50);

fn bench(gro: Duration, ack: AckPolicy) -> Bench {
    let params = TcpParams { gro: Some(gro), ..crate::fixed_window() };
    let mut bench = Bench::new(&params, policy(ack), Ecn::Ect0, false);
    for n in 0..16 {
        bench.segment_with(n, Ecn::Ect0); // Linux's credit
        bench.wait(ms(1));
    }
    assert_eq!(bench.take().len(), if ack == AckPolicy::Every { 8 } else { 16 });
    bench
}

/// Packets of one poll period are delivered at its end and acknowledged once; the next packet starts a new period.
#[test]
fn one_ack_for_a_poll() {
    for (packets, acks) in [(2, 1), (5, 1), (45, 1), (46, 1), (90, 2)] {
        let mut bench = bench(POLL, AckPolicy::Linux);
        let begin = bench.now;
        for n in 16..16 + packets {
            assert_eq!(bench.segment_with(n, Ecn::Ect0), SegmentReport::default(), "the card holds it");
        }
        let report = bench.wait(POLL);
        assert_eq!(report.delivered, Bytes::new(packets * MSS));
        let left = bench.take();
        // 65535 bytes hold 45 segments of 1448: 90 packets make two, each acknowledged; of 46 packets the last one
        // waits.
        assert_eq!(left.len(), acks, "{packets} packets");
        assert!(left.iter().all(|ack| ack.at == begin + POLL));
    }
}

/// A single packet is a single segment: its ACK waits as always.
#[test]
fn one_packet() {
    let mut bench = bench(POLL, AckPolicy::Linux);
    bench.segment_with(16, Ecn::Ect0);
    bench.wait(ms(40));
    assert!(bench.take().is_empty());
    bench.wait(POLL);
    assert_eq!(bench.take().len(), 1, "40 ms after the poll");
}

/// A period of zero merges packets that arrive at the same instant.
#[test]
fn period_of_zero() {
    let mut bench = bench(Duration::ZERO, AckPolicy::Linux);
    for n in 16..26 {
        bench.segment_with(n, Ecn::Ect0);
    }
    bench.wait(Duration::ZERO);
    assert_eq!(bench.take().len(), 1);
}

/// `every`: a merged segment counts as the packets that it holds.
#[test]
fn counted_by_packets() {
    let mut bench = bench(POLL, AckPolicy::Every);
    for n in 16..26 {
        bench.segment_with(n, Ecn::Ect0);
    }
    bench.wait(POLL);
    assert_eq!(bench.take().len(), 1);
    assert_eq!(bench.receiver.stats().segments, 26);
}

/// Another code point, a gap, CWR and PSH end a merge. Each part has two packets, so each is acknowledged.
#[test]
fn what_ends_a_merge() {
    let none = TcpFlags::NONE;
    let plain = (0, none, Ecn::Ect0);
    for (what, third, acks) in [
        ("nothing", plain, 1),
        ("CE", (0, none, Ecn::Ce), 2),
        ("CWR", (0, TcpFlags::CWR, Ecn::Ect0), 2),
        ("a gap", (1, none, Ecn::Ect0), 3),
    ] {
        let mut bench = bench(POLL, AckPolicy::Linux);
        let (skip, flags, ecn) = third;
        bench.segment_with(16, Ecn::Ect0);
        bench.segment_with(17, Ecn::Ect0);
        for n in [18, 19] {
            let start = 1 + (n + skip) * MSS;
            bench.marked(start, start + MSS, flags, ecn);
        }
        bench.wait(POLL);
        let left = bench.take().len();
        if what == "a gap" {
            assert_eq!(left, 2, "{what}: the part above it is acknowledged too");
            assert_eq!(bench.receiver.stats().out_of_order, 2);
        } else if what == "CWR" {
            assert_eq!(left, 3, "each packet with CWR is alone, and is acknowledged at once");
        } else {
            assert_eq!(left, acks, "{what}");
        }
    }
    let mut bench = bench(POLL, AckPolicy::Linux);
    for (n, flags) in [(16, none), (17, TcpFlags::PSH), (18, none), (19, none)] {
        bench.marked(1 + n * MSS, 1 + (n + 1) * MSS, flags, Ecn::Ect0);
    }
    bench.wait(POLL);
    assert_eq!(bench.take().len(), 2, "PSH ends the merge");
}

/// Another timestamp ends a merge as well (Linux `tcp_gro_receive`): two packets of one millisecond and two of the next
/// are two segments. Without the option they are one.
#[test]
fn another_timestamp() {
    for (timestamps, acks) in [(true, 2), (false, 1)] {
        let params = TcpParams { gro: Some(POLL), timestamps, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Every), Ecn::Ect0, false);
        for (n, micros) in [(0, 20_000), (1, 20_999), (2, 21_000), (3, 21_001)] {
            let mut packet = bench.packet(1 + n * MSS, MSS, TcpFlags::ACK, Ecn::Ect0);
            packet.ts_val = Time::ZERO + Duration::from_micros(micros);
            bench.put(&packet);
        }
        bench.wait(POLL);
        assert_eq!(bench.take().len(), acks, "timestamps {timestamps}");
    }
}

/// Packets without data are never merged (Linux `tcp_gro_receive`), neither with the data after nor with those before
/// them: each is handed over, and only the data count as segments. A FIN alone is not merged either.
#[test]
fn packets_without_data() {
    let params = TcpParams { gro: Some(POLL), ..crate::fixed_window() };
    for (lengths, fin, acks) in [([0, MSS], false, 1), ([MSS, 0], false, 1), ([MSS, 0], true, 2)] {
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::NotEct, false);
        assert!(bench.receiver.delays(), "the card has a timer");
        bench.marked(1, 1 + lengths[0], TcpFlags::NONE, Ecn::NotEct);
        let last = TcpFlags::NONE.with_if(TcpFlags::FIN, fin);
        bench.marked(1 + lengths[0], 1 + lengths[0] + lengths[1], last, Ecn::NotEct);
        bench.wait(POLL);
        assert_eq!(bench.receiver.stats().segments, 1, "{lengths:?}, FIN {fin}");
        assert_eq!(bench.take().len(), acks, "{lengths:?}, FIN {fin}");
    }
}

/// A nonce is told apart from the next one: with nonces, packets with ECT(1) are not merged. ECT(0), and ECT(1)
/// without nonces, are.
#[test]
fn nonces_are_not_merged() {
    for (ecn_nonce, ecn, acks) in
        [(true, Ecn::Ect1, 4), (true, Ecn::Ect0, 1), (false, Ecn::Ect1, 1), (false, Ecn::Ect0, 1)]
    {
        let params = TcpParams { gro: Some(POLL), ecn_nonce, ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(AckPolicy::Immediate), Ecn::Ect0, false);
        for n in 0..4 {
            bench.segment_with(n, ecn);
        }
        bench.wait(POLL);
        assert_eq!(bench.take().len(), acks, "nonces {ecn_nonce}, {ecn:?}");
    }
}

/// A poll reports the sum of what it hands over. What is overdue when a packet arrives is handed over before it is
/// taken.
#[test]
fn reports_of_a_poll() {
    let mut bench = bench(POLL, AckPolicy::Linux);
    for n in [16, 17, 19] {
        bench.segment_with(n, Ecn::Ect0);
    }
    let report = bench.wait(POLL);
    assert_eq!((report.delivered.get(), report.out_of_order), (2 * MSS, true));
    bench.segment_with(18, Ecn::Ect0);
    bench.now += POLL * 2;
    let report = bench.segment_with(20, Ecn::Ect0);
    assert_eq!(report.delivered.get(), 2 * MSS, "18 and, above it, 19");
}
