//! The sampler of the delivery rate, told by a scoreboard which segments an ACK delivered.

use windtunnel_cc::rate_sample::{RateSampler, Sample};
use windtunnel_units::{Duration, Rate};

use super::*;

const MIN_RTT: Duration = Duration::from_millis(20);

#[derive(Default)]
struct Flow {
    sampler: RateSampler,
    board: Scoreboard,
}

impl Flow {
    fn new() -> Flow {
        Flow { board: Scoreboard::new(false), sampler: RateSampler::new(true) }
    }

    fn send(&mut self, now: Time) {
        let snapshot = self.sampler.on_sent(now, MSS, self.board.in_flight().bytes);
        self.board.on_sent(self.board.nxt(), MSS, now, snapshot);
    }

    fn retransmit(&mut self, n: u64, now: Time) {
        let snapshot = self.sampler.on_sent(now, MSS, self.board.in_flight().bytes);
        self.board.on_retransmitted(id(n), now, snapshot);
    }

    fn lose(&mut self, n: u64) {
        assert!(self.board.mark_lost(id(n)));
    }

    /// Acknowledges all below segment `n`.
    fn ack(&mut self, n: u64, now: Time) -> Sample {
        let acked = self.board.on_ack(seq(n), |_, segment| {
            self.sampler.on_delivered(segment.sent(), segment.end(), segment.snapshot());
        });
        self.sampler.finish(now, acked.delivered.bytes, MIN_RTT)
    }

    fn sack(&mut self, first: u64, last: u64, now: Time) -> Sample {
        let delivered = self.board.on_sack(&[block(first, last)], |_, segment| {
            self.sampler.on_delivered(segment.sent(), segment.end(), segment.snapshot());
        });
        self.sampler.finish(now, delivered.bytes, MIN_RTT)
    }
}

/// What a sample says about the amount delivered, and about the rate.
fn of(sample: &Sample) -> (Bytes, Rate) {
    let rate = sample.rate.expect("a reliable sample");
    (rate.delivered, rate.rate)
}

/// `n` segments in this many milliseconds.
fn segments(n: u64, millis: u64) -> (Bytes, Rate) {
    (MSS * n, Rate::from_bits_per_sec(n * 8_000_000 / millis))
}

/// Ten segments leave at once; the path passes one per 10 ms. The rate is that of the ACKs: n segments in 20 + 10
/// n ms, because nothing had been delivered when they left. Segments from 11 on left as each ACK came: ten
/// segments in 100 ms.
#[test]
fn rate_of_the_path() {
    let mut flow = Flow::new();
    for _ in 0..10 {
        flow.send(ms(0));
    }
    for n in 1..=10 {
        let sample = flow.ack(n + 1, ms(20 + 10 * n));
        assert_eq!(of(&sample), segments(n, 20 + 10 * n));
        assert_eq!(sample.rate.map(|rate| rate.departure.in_flight), Some(MSS * n), "with itself");
        flow.send(ms(20 + 10 * n));
    }
    for n in 11..=15 {
        let sample = flow.ack(n + 1, ms(20 + 10 * n));
        assert_eq!(of(&sample), segments(10, 100));
        assert_eq!(sample.rate.map(|rate| rate.rate), Some(Rate::from_bits_per_sec(800_000)));
    }
}

/// ACKs that were held up come at once and would show any rate: the time between the transmissions bounds it. One
/// segment leaves per 50 ms; an ACK of two comes at 145 ms, one of two more at 175 ms, 30 ms later. They left in
/// the 100 ms after the second segment.
#[test]
fn compressed_acks() {
    let mut flow = Flow::new();
    for n in 0..3 {
        flow.send(ms(50 * n));
    }
    assert_eq!(of(&flow.ack(3, ms(145))), segments(2, 145));
    flow.send(ms(150));
    assert_eq!(of(&flow.ack(5, ms(175))), segments(2, 100));
}

/// The sample belongs to the segment sent last among those delivered, and to its latest transmission: segment 1,
/// sent again at 40 ms when 3 were delivered. Each segment counts once.
#[test]
fn retransmission() {
    let mut flow = Flow::new();
    for _ in 0..5 {
        flow.send(ms(0));
    }
    assert_eq!(of(&flow.sack(2, 4, ms(40))), segments(3, 40));
    flow.lose(1);
    flow.retransmit(1, ms(40));
    flow.lose(5);
    assert_eq!(of(&flow.ack(5, ms(80))), segments(1, 40));
    assert_eq!(flow.sampler.delivered(), MSS * 4);
    assert_eq!(flow.board.in_flight(), Amount::ZERO);
}

/// A sample over less than a round trip is discarded (ACKs of segments that counted as lost).
#[test]
fn unreliable() {
    let mut flow = Flow::new();
    flow.send(ms(0));
    assert!(flow.ack(2, ms(19)).rate.is_none());
    flow.send(ms(30));
    assert!(flow.ack(3, ms(50)).rate.is_some(), "exactly min_rtt");
    assert!(flow.sampler.finish(ms(51), Bytes::ZERO, MIN_RTT).rate.is_none(), "nothing was delivered");
}

/// Segments sent after the application ran dry are marked, until more is delivered than was in flight then.
#[test]
fn application_limited() {
    let mut flow = Flow::new();
    flow.send(ms(0));
    flow.send(ms(0));
    flow.sampler.on_app_limited(flow.board.in_flight().bytes);
    flow.send(ms(1));
    let limited = |sample: &Sample| sample.rate.map(|rate| rate.departure.app_limited);
    assert_eq!(limited(&flow.ack(2, ms(40))), Some(false), "sent before");
    assert_eq!(limited(&flow.ack(3, ms(41))), Some(false));
    assert!(flow.sampler.is_app_limited(), "exactly what was in flight");
    assert_eq!(flow.sampler.latest(), Some(segments(2, 41).1), "the last that is the path's");
    assert_eq!(limited(&flow.ack(4, ms(42))), Some(true));
    assert!(!flow.sampler.is_app_limited());
    flow.send(ms(42));
    assert_eq!(limited(&flow.ack(5, ms(82))), Some(false));
    assert_eq!(flow.sampler.latest(), Some(segments(1, 40).1), "lower than before, and the path's");
    flow.sampler.on_app_limited(Bytes::ZERO);
    flow.send(ms(82));
    assert_eq!(limited(&flow.ack(6, ms(182))), Some(true));
    assert_eq!(flow.sampler.latest(), Some(segments(1, 40).1), "the application's, and lower");
}

/// A round starts with the ACK of a segment that was sent after the start of the last one.
#[test]
fn rounds() {
    let mut flow = Flow::new();
    for _ in 0..4 {
        flow.send(ms(0));
    }
    let mut starts = Vec::new();
    for n in 1..=12 {
        let now = ms(30 + 10 * n);
        starts.push(flow.ack(n + 1, now).round_start);
        flow.send(now);
    }
    let begins: Vec<usize> = (1..=12).filter(|&n| starts[n - 1]).collect();
    assert_eq!(begins, [1, 5, 9], "four segments in flight");
}
