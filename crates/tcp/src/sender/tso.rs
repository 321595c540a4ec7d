//! How many segments leave as one burst (TSO, GSO).
//!
//! A burst is about a millisecond of data at the pacing rate, so that its queue is about a millisecond as well; on very
//! short round trips more, because there the cost of a packet, not a queue, is the bottleneck. Linux
//! `net/ipv4/tcp_output.c`, `tcp_tso_autosize`; spec/congestion-control section 1.14. Without pacing what cwnd allows
//! leaves at once anyway, and a burst is no unit of anything; deferring a partial burst is not modelled.

use windtunnel_units::{Bytes, Duration, Rate};

/// A millisecond as a shift (Linux's `sk_pacing_shift`): 2^-10 s.
const PACING_SHIFT: u32 = 10;
/// The term for short round trips is halved with every 512 us of the least round-trip time (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// The least burst, in segments.
const LEAST: u64 = 2;

/// Segments per burst at the pacing rate `rate`.
pub(crate) fn burst(rate: Rate, min_rtt: Duration, gso_max: Bytes, mss: Bytes) -> u32 {
    let paced = (rate.bits_per_sec() / 8) >> PACING_SHIFT;
    let shift = (min_rtt.as_nanos() / 1_000) >> RTT_SHIFT;
    let short = if shift <= 31 { gso_max.get() >> shift } else { 0 };
    let bytes = paced.saturating_add(short).min(gso_max.get());
    let most = (u64::from(u16::MAX) / mss.get()).max(1);
    (bytes / mss.get()).max(LEAST).min(most) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// spec/congestion-control section 1.14: 12.5 MB/s are 12207 bytes in 2^-10 s, 8 segments of 1460; 1 Mbit/s the
    /// least of 2.
    #[test]
    fn a_millisecond() {
        let size = |mbps, rtt_us| {
            burst(Rate::from_mbps(mbps), Duration::from_micros(rtt_us), Bytes::new(65_536), Bytes::new(1460))
        };
        assert_eq!(size(100, 20_000), 8);
        assert_eq!(size(1, 20_000), 2);
        assert_eq!(size(100_000, 20_000), 44, "65535 bytes at most");
        assert_eq!(size(1, 100), 44, "64 KiB below 512 us");
        assert_eq!(size(1, 600), 22, "the half of it below 1024 us");
    }
}
