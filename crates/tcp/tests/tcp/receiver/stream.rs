//! The application gets every byte once and in order over any network (RFC 9293 section 3.4, 3.10.7.4).

use proptest::prelude::*;
use windtunnel_tcp::{AckPolicy, TcpParams};
use windtunnel_units::{Bytes, Duration};
use windtunnel_wire::Ecn;

use super::fixture::{Bench, Reply, ms, policy};

/// The stream's length. The window, 16 KiB, is less than half of it.
const STREAM: u64 = 40_000;

/// A receiver that follows the RFC literally: a map of bytes that accepts those within the window.
struct Book {
    arrived: Vec<bool>,
    rcv_nxt: u64,
    edge: u64,
}

impl Book {
    /// What the segment must report: delivered, duplicate.
    fn on_segment(&mut self, start: u64, end: u64) -> (u64, u64) {
        let clipped = end.min(self.edge).max(start);
        let duplicate = (start..clipped).filter(|byte| self.arrived[*byte as usize]).count() as u64;
        self.arrived[start as usize..clipped as usize].fill(true);
        let before = self.rcv_nxt;
        while self.arrived.get(self.rcv_nxt as usize) == Some(&true) {
            self.rcv_nxt += 1;
        }
        (self.rcv_nxt - before, duplicate)
    }

    fn on_acks(&mut self, acks: &[Reply]) {
        for ack in acks {
            assert!(ack.ack + ack.window >= self.edge, "the right edge moved back");
            self.edge = ack.ack + ack.window;
            assert!(ack.ack <= self.rcv_nxt);
            for (i, (start, end)) in ack.blocks.iter().enumerate() {
                assert!(start < end && *end <= self.edge);
                assert!(
                    self.arrived[*start as usize..*end as usize].iter().all(|byte| *byte),
                    "SACKed, not arrived"
                );
                assert!(*start > ack.ack || i == 0, "only a D-SACK is below");
            }
        }
    }
}

fn segment() -> impl Strategy<Value = (u64, u64)> {
    (1..STREAM, 1_u64..3000).prop_map(|(start, len)| (start, (start + len).min(STREAM)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    /// Random segments, overlapping, with holes, repeated, far beyond the window; then everything that is missing, cut
    /// at random, in order: reports equal those of the literal receiver to the byte, the stream is delivered once, and
    /// each ACK is correct.
    #[test]
    fn exactly_once_in_order(
        ack in prop_oneof![
            Just(AckPolicy::Immediate), Just(AckPolicy::StateChange), Just(AckPolicy::Every), Just(AckPolicy::Linux),
            Just(AckPolicy::Quic)
        ],
        near in prop::collection::vec((0_u64..8_000, 1_u64..3_000, 0_u64..3_000), 0..60),
        wild in prop::collection::vec(segment(), 0..60),
        cuts in prop::collection::vec(1_u64..2_000, 60),
    ) {
        let params = TcpParams { receive_window: Bytes::new(1 << 14), ..crate::fixed_window() };
        let mut bench = Bench::new(&params, policy(ack), Ecn::NotEct, false);
        let mut book = Book { arrived: vec![false; STREAM as usize], rcv_nxt: 1, edge: 1 + (1 << 14) };
        book.arrived[0] = true;
        let mut delivered = 0;
        let mut total = 0;
        let mut put = |bench: &mut Bench, book: &mut Book, start: u64, end: u64, wait: u64| {
            let out_of_order = start > bench.receiver.rcv_nxt().get() && start < book.edge;
            let expected = book.on_segment(start, end);
            let report = bench.bytes(start, end);
            assert_eq!((report.delivered.get(), report.duplicate.get()), expected);
            assert_eq!(report.out_of_order, out_of_order);
            delivered += report.delivered.get();
            total += 1;
            assert_eq!(bench.receiver.rcv_nxt().get(), book.rcv_nxt);
            book.on_acks(&bench.take());
            bench.wait(Duration::from_micros(wait));
            book.on_acks(&bench.take());
        };
        // Around the next byte expected, where most of it overlaps.
        for (offset, len, wait) in near {
            let start = (book.rcv_nxt + offset).saturating_sub(4_000).max(1);
            put(&mut bench, &mut book, start.min(STREAM - 1), (start + len).clamp(2, STREAM), wait);
        }
        for (start, end) in wild {
            put(&mut bench, &mut book, start, end, 0);
        }
        for len in cuts.iter().cycle() {
            if book.rcv_nxt >= STREAM {
                break;
            }
            let start = book.rcv_nxt;
            put(&mut bench, &mut book, start, (start + len).min(STREAM), 100);
        }
        bench.wait(ms(1000));
        prop_assert_eq!(delivered, STREAM - 1);
        prop_assert_eq!(bench.receiver.stats().delivered, Bytes::new(STREAM - 1));
        prop_assert_eq!(bench.receiver.stats().segments, total);
    }
}

/// A receiver that drops out-of-order data keeps nothing: the sender must send everything again.
#[test]
fn dropping_out_of_order() {
    let mut bench = Bench::plain(AckPolicy::Immediate);
    bench.receiver = bench.receiver.dropping_out_of_order();
    bench.bytes(1, 1001);
    for start in [2001, 3001] {
        let report = bench.bytes(start, start + 1000);
        assert!(report.out_of_order);
        assert_eq!((report.delivered, report.duplicate), (Bytes::ZERO, Bytes::ZERO));
    }
    assert_eq!(bench.bytes(1001, 2001).delivered, Bytes::new(1000));
    assert_eq!(bench.table(), [1001, 1001, 1001, 2001].map(|ack| (ack, vec![])));
}
