//! Receive-buffer autotuning: the window follows what the application reads in a round trip.
//!
//! Linux, net/ipv4 ("dynamic right-sizing", Fisk & Feng 2001), as of 6.18. Once per round trip, if the application read
//! more than in any one before, the window may become twice that; as the sender may double its own meanwhile, twice the
//! growth rate is added on top. What lies above a gap counts as well, as soon as it arrives. The window never shrinks.
//! (Up to 6.15 there were 16 spare segments, and nothing for gaps.)
//!
//! The receiver measures the round trip by the echo of its own timestamps: a smaller one counts at once, a larger one
//! with gain 1/8. Where data carry no echo it takes the time in which a whole window arrives, which no less than a round
//! trip takes; the least such time counts.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::segment::Segment;

/// What the first round trip is compared with: the initial window of the sender (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

#[derive(Debug)]
pub(super) struct Autotuning {
    /// The most that was read in one round trip.
    most_read: Bytes,
    round_start: Time,
    round_seq: Seq,
    rtt: RoundTrip,
}

impl Autotuning {
    /// `window` is what the SYN|ACK offers.
    pub(super) fn new(mss: Bytes, window: Bytes) -> Autotuning {
        Autotuning {
            most_read: (mss * INITIAL_SEGMENTS).min(window),
            round_start: Time::ZERO,
            round_seq: Seq::FIRST_DATA,
            rtt: RoundTrip::default(),
        }
    }

    /// The handshake is over.
    pub(super) fn on_established(&mut self, now: Time) {
        self.round_start = now;
        self.rtt = RoundTrip::default();
    }

    /// A segment arrived in order; `window` is what was offered last, `full` the sender's segment.
    #[inline]
    pub(super) fn on_segment(&mut self, segment: &Segment, full: Bytes, window: Bytes, now: Time) {
        self.rtt.on_segment(segment, full, window, now);
    }

    /// The clamp of the window has changed.
    pub(super) fn clamp(&mut self, clamp: Bytes) {
        self.most_read = self.most_read.min(clamp).max(Bytes::new(1));
    }

    /// The application read all below `rcv_nxt`: the window that the buffer should be good for, if that may be more
    /// than before.
    #[inline]
    pub(super) fn on_read(&mut self, rcv_nxt: Seq, now: Time) -> Option<Bytes> {
        let rtt = self.rtt.estimate?;
        if now - self.round_start < rtt {
            return None;
        }
        let read = rcv_nxt - self.round_seq;
        self.round_start = now;
        self.round_seq = rcv_nxt;
        if read <= self.most_read {
            return None;
        }
        let before = std::mem::replace(&mut self.most_read, read);
        let twice = read * 2;
        let growth = u128::from(twice.get()) * u128::from((read - before).get()) / u128::from(before.get());
        Some(twice + Bytes::new(growth as u64) * 2)
    }

    /// The same for data that lie above a gap, up to `extent` above the next byte expected.
    pub(super) fn window_with(&self, extent: Bytes) -> Bytes {
        self.most_read * 2 + extent
    }
}

/// The receiver's estimate of the round-trip time.
#[derive(Debug, Default)]
struct RoundTrip {
    estimate: Option<Duration>,
    /// The echo of the last sample: several segments carry the same one, and only the first is in time.
    last_echo: Time,
    /// When the window that is now arriving started to, and where it ends.
    window_start: Time,
    window_end: Seq,
}

impl RoundTrip {
    #[inline]
    fn on_segment(&mut self, segment: &Segment, full: Bytes, window: Bytes, now: Time) {
        if segment.ts_ecr != self.last_echo {
            self.last_echo = segment.ts_ecr;
            if segment.len() >= full {
                self.sample(now - segment.ts_ecr);
            }
        }
        self.time_a_window(segment, window, now);
    }

    fn sample(&mut self, sample: Duration) {
        self.estimate = Some(match self.estimate {
            Some(old) if sample >= old => old - old / 8 + sample / 8,
            _ => sample,
        });
    }

    #[inline]
    fn time_a_window(&mut self, segment: &Segment, window: Bytes, now: Time) {
        if self.window_end > Seq::SYN {
            if segment.end < self.window_end {
                return;
            }
            let sample = now - self.window_start;
            self.estimate = Some(self.estimate.map_or(sample, |old| old.min(sample)));
        }
        self.window_start = now;
        self.window_end = segment.end + window;
    }
}
