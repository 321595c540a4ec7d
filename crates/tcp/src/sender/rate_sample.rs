//! Samples of the delivery rate (draft-ietf-ccwg-bbr section 4.1; spec/congestion-control section 1.17).
//!
//! Each segment remembers, from its latest transmission, how much had been delivered by then. When it is delivered,
//! the amount delivered in between divided by the time that this took is the rate at which the path delivers. That
//! time is the longer of two: the time between the transmissions of the data (otherwise a burst would be mistaken for
//! the rate), and the time between their ACKs (otherwise ACKs that come in a burst would).
//!
//! While the application has nothing to send, the rate is the application's own: samples are marked as such until the
//! data in flight at that time have been delivered.

use windtunnel_cc::RateSample;
use windtunnel_units::{Bytes, Duration, Rate, Seq, Time};

pub(crate) use super::scoreboard::Snapshot;

/// The sample of one ACK.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sample {
    /// The rate, if the sample is reliable.
    pub(crate) rate: Option<RateSample>,
    /// A packet-timed round starts: data sent after the start of the last one have been delivered.
    pub(crate) round_start: bool,
}

/// The segment that provides an ACK's sample: the latest one sent among those that it delivered.
#[derive(Clone, Copy, Debug)]
struct Sampled {
    sent: Time,
    end: Seq,
    snapshot: Snapshot,
}

/// The sampler's state.
#[derive(Debug, Default)]
pub(crate) struct RateSampler {
    /// The controller asked for samples; the latest rate is kept in any case.
    wanted: bool,
    delivered: Bytes,
    delivered_time: Time,
    /// Bytes found to be lost.
    lost: Bytes,
    /// The transmission time of the segment that provided the latest sample.
    first_sent: Time,
    /// Samples are limited by the application until more than this is delivered.
    app_limited: Option<Bytes>,
    next_round_delivered: Bytes,
    sampled: Option<Sampled>,
    /// The bytes and the time whose quotient is [`RateSampler::latest`], which is seldom asked for. Zero before the
    /// first sample.
    latest: (Bytes, Duration),
}

impl RateSampler {
    /// A sampler that produces samples for ACKs if they are `wanted`.
    pub(crate) fn new(wanted: bool) -> RateSampler {
        RateSampler { wanted, ..RateSampler::default() }
    }

    /// A segment leaves, for the first time or again; `in_flight` was in the network before it. The snapshot is
    /// stored with the segment.
    #[inline]
    pub(crate) fn on_sent(&mut self, now: Time, payload: Bytes, in_flight: Bytes) -> Snapshot {
        if in_flight == Bytes::ZERO {
            self.first_sent = now;
            self.delivered_time = now;
        }
        Snapshot::new(
            self.delivered,
            self.delivered_time,
            self.first_sent,
            in_flight + payload,
            self.app_limited.is_some(),
            self.lost,
        )
    }

    /// Data were found lost.
    pub(crate) fn on_lost(&mut self, bytes: Bytes) {
        self.lost += bytes;
    }

    /// The ACK delivered the segment up to `end`, which left at `sent`.
    #[inline]
    pub(crate) fn on_delivered(&mut self, sent: Time, end: Seq, snapshot: &Snapshot) {
        let later = |sampled: &Sampled| (sent, end) > (sampled.sent, sampled.end);
        if self.sampled.as_ref().is_none_or(later) {
            self.sampled = Some(Sampled { sent, end, snapshot: *snapshot });
        }
    }

    /// The whole ACK has been processed: it newly delivered `delivered`.
    pub(crate) fn finish(&mut self, now: Time, delivered: Bytes, min_rtt: Duration) -> Sample {
        if delivered > Bytes::ZERO {
            self.delivered += delivered;
            self.delivered_time = now;
        }
        if self.app_limited.is_some_and(|until| self.delivered > until) {
            self.app_limited = None;
        }
        let Some(Sampled { sent, snapshot, .. }) = self.sampled.take() else { return Sample::default() };
        self.first_sent = sent;
        let round_start = snapshot.delivered >= self.next_round_delivered;
        if round_start {
            self.next_round_delivered = self.delivered;
        }
        let interval = sent.since(snapshot.first_sent).max(now.since(snapshot.delivered_time));
        if interval < min_rtt || interval.is_zero() {
            return Sample { rate: None, round_start };
        }
        let delivered = self.delivered - snapshot.delivered;
        if !snapshot.app_limited() || Rate::of(delivered, interval) >= self.latest_rate() {
            self.latest = (delivered, interval);
        }
        let rate = self.wanted.then(|| RateSample {
            rate: Rate::of(delivered, interval),
            interval,
            delivered,
            lost: snapshot.lost_since(self.lost),
            departure: snapshot.departure(sent, self.lost),
        });
        Sample { rate, round_start }
    }

    /// The application has less than a segment to send, cwnd has room, and all lost segments were retransmitted.
    pub(crate) fn on_app_limited(&mut self, in_flight: Bytes) {
        self.app_limited = Some((self.delivered + in_flight).max(Bytes::new(1)));
    }

    /// The rate of the latest sample. One that the application limited counts only if it is not lower (Linux
    /// `net/ipv4/tcp_rate.c`, `tcp_rate_gen`).
    pub(crate) fn latest(&self) -> Option<Rate> {
        Some(self.latest_rate()).filter(|rate| *rate != Rate::ZERO)
    }

    fn latest_rate(&self) -> Rate {
        let (delivered, interval) = self.latest;
        Rate::of(delivered, interval)
    }

    /// Bytes delivered since the connection started.
    pub(crate) const fn delivered(&self) -> Bytes {
        self.delivered
    }

    /// Bytes found to be lost since the connection started.
    pub(crate) const fn lost(&self) -> Bytes {
        self.lost
    }

    /// From now on the rate of the data sent is the application's.
    pub(crate) const fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::tests::{MSS, block, id, ms, seq};
    use super::super::scoreboard::{Amount, Scoreboard};
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
}
