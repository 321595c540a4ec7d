//! Receive-buffer autotuning: the window follows what the application reads in a round trip.
//!
//! Linux, net/ipv4 ("dynamic right-sizing", Fisk & Feng 2001), as of 6.18. Once per round trip, if the application
//! read more than in any earlier one, the window may become twice that amount; because the sender may double its own
//! window meanwhile, twice the growth rate is added on top. Data above a gap count too, as soon as they arrive. What a
//! retransmission makes readable is read buffer by buffer, and the round ends with the first: the others count for the
//! next one. The window never shrinks. (Up to 6.15 there were 16 spare segments, and data above a gap did not count.)
//!
//! The receiver measures the round trip by the echo of its own timestamps, in whole ticks of their clock: a smaller
//! sample counts at once, a larger one with gain 1/8, and none within one tick (`tcp_rcv_rtt_measure_ts`). The time in
//! which a whole window arrives is at least one round trip; the least such time counts too, exactly
//! (`tcp_rcv_rtt_measure`). Left out: `tcp_rcvbuf_low_rtt`, by which 7.3 slows growth on round trips below 1 ms.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use super::segment::Segment;
use crate::timestamp_clock::{round_trip, ticks};

/// The reference for the first round trip: the sender's initial window (RFC 6928).
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

    /// A segment arrived, in order or not; `full` is the sender's full segment.
    #[inline]
    pub(super) fn on_echo(&mut self, segment: &Segment, full: Bytes, now: Time) {
        self.rtt.on_echo(segment, full, now);
    }

    /// A segment arrived in order; `window` was offered last.
    #[inline]
    pub(super) fn on_segment(&mut self, segment: &Segment, window: Bytes, now: Time) {
        self.rtt.time_a_window(segment, window, now);
    }

    /// The clamp of the window has changed.
    pub(super) fn clamp(&mut self, clamp: Bytes) {
        self.most_read = self.most_read.min(clamp).max(Bytes::new(1));
    }

    /// The application read everything below `rcv_nxt`; the first buffer ended at `first`, and data lie up to `extent`
    /// above a gap. Returns the window that the buffer should support, if that may have grown.
    #[inline]
    pub(super) fn on_read(&mut self, first: Seq, rcv_nxt: Seq, extent: Bytes, now: Time) -> Option<Bytes> {
        let rtt = self.rtt.estimate?;
        if now - self.round_start < rtt {
            return None;
        }
        // What was still unread when the first buffer had been is subtracted (`tcp_rcv_space_adjust`).
        let read = (first - self.round_seq).saturating_sub(rcv_nxt - first);
        self.round_start = now;
        self.round_seq = first;
        if read <= self.most_read {
            return None;
        }
        let before = std::mem::replace(&mut self.most_read, read);
        let twice = read * 2;
        let growth = u128::from(twice.get()) * u128::from((read - before).get()) / u128::from(before.get());
        Some(twice + Bytes::new(growth as u64) * 2 + extent)
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
    /// The tick of the last echo, from 1 on: several segments carry the same, and only the first one is in time.
    last_echo: u64,
    /// When the window that is now arriving started to arrive, and where it ends.
    window_start: Time,
    window_end: Seq,
}

impl RoundTrip {
    #[inline]
    fn on_echo(&mut self, segment: &Segment, full: Bytes, now: Time) {
        if segment.ts_ecr == Time::ZERO {
            return; // no timestamps
        }
        let echo = ticks(segment.ts_ecr) + 1;
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = round_trip(segment.ts_ecr, now);
        if segment.len() >= full && sample > Duration::ZERO {
            self.sample(sample);
        }
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

#[cfg(test)]
mod tests {
    use windtunnel_wire::{Ecn, TcpFlags};

    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    /// A segment that ends this many bytes after the first one.
    fn segment(bytes: u64) -> Segment {
        Segment {
            seq: Seq::FIRST_DATA,
            end: Seq::FIRST_DATA + Bytes::new(bytes),
            ack: Seq::SYN,
            ts_val: Time::ZERO,
            ts_ecr: Time::ZERO,
            packets: 1,
            flags: TcpFlags::ACK,
            ecn: Ecn::NotEct,
        }
    }

    /// Linux's `tcp_rcv_rtt_update`: a smaller sample counts at once, a larger one with gain 1/8: 80 - 80/8 + 160/8 =
    /// 90.
    #[test]
    fn round_trip() {
        let mut rtt = RoundTrip::default();
        for (sample, estimate) in [(80, 80), (160, 90), (90, 90), (40, 40), (48, 41)] {
            rtt.sample(Duration::from_millis(sample));
            assert_eq!(rtt.estimate, Some(Duration::from_millis(estimate)), "after {sample} ms");
        }
    }

    /// The window that data above a gap need: twice the most that was read in a round trip, at first the initial
    /// window, and the extent of the data (Linux `tcp_rcvbuf_grow`). The most that was read is limited by the clamp
    /// (`tcp_measure_rcv_mss`).
    #[test]
    fn above_a_gap() {
        let mut autotuning = Autotuning::new(MSS, Bytes::new(65_535));
        assert_eq!(autotuning.window_with(Bytes::new(5000)).get(), 2 * 14_480 + 5000);
        autotuning.clamp(Bytes::new(20_000));
        assert_eq!(autotuning.window_with(Bytes::new(5000)).get(), 2 * 14_480 + 5000);
        autotuning.clamp(Bytes::new(7000));
        assert_eq!(autotuning.window_with(Bytes::ZERO).get(), 14_000);
    }

    /// Linux 7.3 `tcp_rcv_rtt_measure_ts`: the echo counts in whole ticks, once per tick of the echo, and not within the
    /// same tick (`tcp_rtt_tsopt_us(tp, 0)`); only full segments count.
    #[test]
    fn echoes() {
        let at = |micros: u64| Time::ZERO + Duration::from_micros(micros);
        let mut rtt = RoundTrip::default();
        for (echo, now, bytes, estimate) in [
            (5_900, 6_000, 1000, None),
            (6_100, 6_900, 1448, None),
            (7_990, 48_010, 1448, Some(41_000)),
            (7_995, 90_000, 1448, Some(41_000)),
            (8_000, 47_999, 1448, Some(39_000)),
            (9_000, 56_500, 1448, Some(39_000 - 4_875 + 5_875)),
        ] {
            let segment = Segment { ts_ecr: at(echo), ..segment(bytes) };
            rtt.on_echo(&segment, MSS, at(now));
            assert_eq!(rtt.estimate, estimate.map(Duration::from_micros), "{echo} to {now} us");
        }
    }

    /// Without an echo, the time in which a whole window arrives is a sample, and the least one counts: of 10
    /// segments from 100 ms on, the last arrives at 130 ms; the next window takes 20 ms, and one more 25 ms.
    #[test]
    fn time_of_a_window() {
        let mut rtt = RoundTrip::default();
        for (at, segments, estimate) in
            [(100, 1, None), (129, 10, None), (130, 11, Some(30)), (150, 21, Some(20)), (175, 31, Some(20))]
        {
            let segment = segment(1448 * segments);
            rtt.time_a_window(&segment, MSS * 10, Time::ZERO + Duration::from_millis(at));
            assert_eq!(rtt.estimate, estimate.map(Duration::from_millis), "at {at} ms");
        }
    }
}
