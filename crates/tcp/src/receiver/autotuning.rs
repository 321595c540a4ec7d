//! Receive-buffer autotuning: the window follows what the application reads in a round trip.
//!
//! Linux, net/ipv4 ("dynamic right-sizing", Fisk & Feng 2001). Once per round trip, if the application read more than
//! in any one before, the buffer becomes twice that and 16 segments; as the sender may double its window meanwhile,
//! twice the growth rate is added on top. It begins at 64 KiB, the largest window that a SYN can offer, and never
//! shrinks.
//!
//! The receiver measures the round trip by the echo of its own timestamps, smoothed with gain 1/8; where data carry
//! no echo, by the time in which a whole window arrives, which no less than a round trip takes: the least such time
//! counts. Linux also lets the window grow by two segments for each that arrives at most; that limit is left out.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::segment::Segment;

/// The window of the SYN|ACK: 16 bits, unscaled.
const INITIAL_WINDOW: Bytes = Bytes::new(65_536);
/// What the first round trip is compared with: the initial window of the sender (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;
/// Room for retransmissions and for what a burst holds.
const SPARE_SEGMENTS: u64 = 16;

#[derive(Debug)]
pub(super) struct Autotuning {
    mss: Bytes,
    limit: Bytes,
    /// The most that was read in one round trip.
    most_read: Bytes,
    round_start: Time,
    round_seq: Seq,
    rtt: RoundTrip,
}

impl Autotuning {
    pub(super) fn new(mss: Bytes, limit: Bytes) -> Autotuning {
        Autotuning {
            mss,
            limit,
            most_read: mss * INITIAL_SEGMENTS,
            round_start: Time::ZERO,
            round_seq: Seq::FIRST_DATA,
            rtt: RoundTrip::default(),
        }
    }

    /// The buffer before anything was read.
    pub(super) fn initial_window(limit: Bytes) -> Bytes {
        limit.min(INITIAL_WINDOW)
    }

    /// The handshake is over.
    pub(super) fn on_established(&mut self, rtt: Option<Duration>, now: Time) {
        self.round_start = now;
        self.rtt = RoundTrip { estimate: rtt, window_start: now, ..RoundTrip::default() };
    }

    /// A segment was delivered, and all below `rcv_nxt` with it: the buffer, if it grows. `window` is what is
    /// offered.
    pub(super) fn on_delivered(
        &mut self,
        segment: &Segment,
        rcv_nxt: Seq,
        window: Bytes,
        now: Time,
    ) -> Option<Bytes> {
        self.rtt.on_segment(segment, rcv_nxt, self.mss, window, now);
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
        let twice = read * 2 + self.mss * SPARE_SEGMENTS;
        let growth = (read - self.most_read).as_f64() / self.most_read.as_f64();
        self.most_read = read;
        Some((twice + twice.scale(2.0 * growth)).min(self.limit))
    }
}

/// The receiver's estimate of the round-trip time.
#[derive(Debug, Default)]
struct RoundTrip {
    estimate: Option<Duration>,
    /// The echo of the last sample: several segments carry the same one, and only the first is in time.
    last_echo: Time,
    /// When the window that is now arriving began to, and where it ends.
    window_start: Time,
    window_end: Seq,
}

impl RoundTrip {
    fn on_segment(&mut self, segment: &Segment, rcv_nxt: Seq, mss: Bytes, window: Bytes, now: Time) {
        if segment.ts_ecr > Time::ZERO {
            if segment.ts_ecr > self.last_echo && segment.len() >= mss {
                self.last_echo = segment.ts_ecr;
                let sample = now - segment.ts_ecr;
                self.estimate = Some(self.estimate.map_or(sample, |old| old - old / 8 + sample / 8));
            }
        } else if rcv_nxt >= self.window_end {
            if self.window_end > Seq::SYN {
                let sample = now - self.window_start;
                self.estimate = Some(self.estimate.map_or(sample, |old| old.min(sample)));
            }
            self.window_start = now;
            self.window_end = rcv_nxt + window;
        }
    }
}
