//! The number of segments that leave as one burst (TSO, GSO), and when a smaller burst waits.
//!
//! A burst is about a millisecond of data at the pacing rate, so its queue is about a millisecond as well. On very
//! short round trips it is larger, because there the cost per packet, not a queue, is the bottleneck. Linux
//! `net/ipv4/tcp_output.c`, `tcp_tso_autosize`; spec/congestion-control section 1.14. The rate is computed whether or
//! not departures are paced.
//!
//! New data smaller than a full burst wait for the next ACK, which makes room for more (`tcp_tso_should_defer`),
//! unless a third of the window is free, or waiting gains nothing: ACKs do not come in close succession (the last
//! departure or the next ACK is more than a millisecond away), or a loss is being repaired. So congestion avoidance
//! sends pairs where ACKs come one by one. "The next ACK" is that of the oldest segment, a round trip after it was
//! sent. Until October 2025 (in stable kernels too) Linux instead tested whether that segment was sent less than half
//! a round trip ago.
//!
//! Data that the application wrote at different times are merged here: Linux keeps them in buffers of up to 64 KiB,
//! and a single segment left at the end of a buffer does not wait.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::Sender;
use super::limits::Limited;
use crate::params::TcpParams;
use windtunnel_cc::CaState;

/// A millisecond as a shift (Linux's `sk_pacing_shift`): 2^-10 s.
const PACING_SHIFT: u32 = 10;
/// The term for short round trips is halved with every 512 us of the least round-trip time (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// The least burst, in segments (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// A burst of this part of the window is large enough (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// The last departure and the next ACK count as near if they are within this time.
const NEAR: Duration = Duration::from_millis(1);

/// The bursts of a sender.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tso {
    on: bool,
    max: Bytes,
    mss: Bytes,
    /// Segments of a full burst.
    full: u64,
    /// Segments of the current burst, and how many of them have not left yet.
    size: u64,
    left: u64,
}

impl Tso {
    pub(crate) fn new(params: &TcpParams, mss: Bytes) -> Tso {
        Tso { on: params.gso, max: params.gso_max, mss, full: LEAST, size: 0, left: 0 }
    }

    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.on
    }

    /// Segments of a full burst.
    pub(crate) const fn full(&self) -> u64 {
        self.full
    }

    /// The pacing rate, or the least round trip, has changed. Without a rate only the largest packet is a limit.
    pub(crate) fn resize(&mut self, rate: Rate, min_rtt: Duration) {
        let rate = if rate == Rate::ZERO { Rate::from_bits_per_sec(u64::MAX) } else { rate };
        self.full = full_burst(rate, min_rtt, self.max, self.mss);
    }

    /// The controller determines how much leaves at once, but at least one segment.
    pub(crate) fn set_full(&mut self, quantum: Bytes) {
        self.full = (quantum.min(self.max) / self.mss).max(1);
    }

    /// The next segment belongs to the burst that left last.
    #[inline]
    pub(crate) const fn goes_on(&self) -> bool {
        self.left > 0
    }

    /// The segments of the current burst that have not left yet.
    pub(crate) const fn ahead(&self) -> u64 {
        self.left
    }

    fn begin(&mut self, segments: u64) {
        self.size = segments;
        self.left = segments;
    }

    /// A segment left. Returns the size of the burst that started with it, if one did.
    #[inline]
    pub(crate) fn sent(&mut self) -> Option<u64> {
        if self.left == 0 {
            return Some(1);
        }
        self.left -= 1;
        (self.left + 1 == self.size).then_some(self.size)
    }

    /// Nothing more can leave now: the rest of the burst is not kept for later.
    #[inline]
    pub(crate) fn end(&mut self) {
        self.left = 0;
    }
}

/// Segments per burst at the pacing rate `rate`.
fn full_burst(rate: Rate, min_rtt: Duration, gso_max: Bytes, mss: Bytes) -> u64 {
    let paced = (rate.bits_per_sec() / 8) >> PACING_SHIFT;
    let shift = (min_rtt.as_nanos() / 1_000) >> RTT_SHIFT;
    let short = if shift <= 31 { gso_max.get() >> shift } else { 0 };
    let bytes = paced.saturating_add(short).min(gso_max.get());
    let most = (u64::from(u16::MAX) / mss.get()).max(1);
    (bytes / mss.get()).max(LEAST).min(most)
}

impl Sender {
    /// A burst is to start, with new data if `new`. Returns what prevents it, if anything does. There is room for at
    /// least one segment.
    pub(super) fn begin_burst(&mut self, new: bool, now: Time) -> Result<(), Limited> {
        let window = self.cwnd / self.mss;
        let room = window.saturating_sub(self.board.in_flight().segments).max(1);
        if new && let Some(limit) = self.awaits_more_room(room, now) {
            return Err(limit);
        }
        // At least two bursts per window (`tcp_cwnd_test`).
        self.tso.begin(room.min(self.tso.full).min((window / 2).max(1)));
        Ok(())
    }

    /// New data wait until more of them can leave at once. Returns what they wait for.
    fn awaits_more_room(&self, room: u64, now: Time) -> Option<Limited> {
        let written = self.last_sent.max(self.pacer.scheduled());
        if self.state >= CaState::Recovery || self.unsent <= self.mss || now.since(written) > NEAR {
            return None;
        }
        let cong_win = self.mss * room;
        let send_win = self.window_end - self.board.nxt();
        let limit = cong_win.min(send_win);
        let window = (self.window_end - self.board.una()).min(self.cwnd);
        if limit >= self.mss * self.tso.full || limit >= window / WINDOW_DIVISOR {
            return None;
        }
        let head = self.board.head().and_then(|head| self.board.get(head))?;
        let srtt = self.rtt.srtt();
        if head.sent() + srtt > now + (srtt / 2).min(NEAR) {
            return None;
        }
        Some(match limit {
            limit if limit > self.unsent => Limited::Application,
            limit if limit == cong_win => Limited::Cwnd,
            _ => Limited::Receiver,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 1.14: 12.5 MB/s are 12207 bytes in 2^-10 s, 8 segments of 1460; 1 Mbit/s the
    /// least of 2.
    #[test]
    fn a_millisecond() {
        let size = |mbps, rtt_us| {
            full_burst(
                Rate::from_mbps(mbps),
                Duration::from_micros(rtt_us),
                Bytes::new(65_536),
                Bytes::new(1460),
            )
        };
        assert_eq!(size(100, 20_000), 8);
        assert_eq!(size(1, 20_000), 2);
        assert_eq!(size(100_000, 20_000), 44, "65535 bytes at most");
        assert_eq!(size(1, 100), 44, "64 KiB below 512 us");
        assert_eq!(size(1, 600), 22, "the half of it below 1024 us");
    }

    /// The first segment gives the size of the burst; a segment that leaves on its own is a burst of one.
    #[test]
    fn of_three() {
        let mut tso = Tso::new(&TcpParams::default(), Bytes::new(1460));
        assert_eq!(tso.sent(), Some(1));
        tso.begin(3);
        assert_eq!([tso.sent(), tso.sent(), tso.sent(), tso.sent()], [Some(3), None, None, Some(1)]);
        tso.begin(3);
        tso.sent();
        tso.end();
        assert_eq!(tso.sent(), Some(1));
    }

    /// Linux `tcp_tso_autosize` with packets above 64 KiB allowed: the headers' length field still holds 65,535
    /// bytes, 44 segments of 1460, or 1 of 40,000; a segment of 64 KiB is a burst of its own.
    #[test]
    fn at_most_a_packet() {
        let size = |mss| {
            let (rate, rtt) = (Rate::from_mbps(100_000), Duration::from_millis(20));
            full_burst(rate, rtt, Bytes::new(1 << 20), Bytes::new(mss))
        };
        assert_eq!([size(1460), size(40_000), size(65_536)], [44, 1, 1]);
    }
}
