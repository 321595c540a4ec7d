//! How much leaves at once, and how much the window allows for it.

use windtunnel_units::{Bytes, Duration};

use super::super::fixed::span;

/// Below this pace, in bytes per second (1.2 Mbit/s), packets leave one by one.
const SINGLE_PACKETS: u64 = 1_200_000 / 8;
/// A burst is what the pace sends in 2^-10 s.
const SHIFT: u32 = 10;
/// The largest burst in bytes: Linux's largest packet, and its share that holds data.
const LARGEST: u64 = 65_536;
const LARGEST_DATA: u64 = LARGEST - 1 - 320;
/// The most packets that a burst counts as.
const MOST_PACKETS: u64 = 127;
/// The term for short round trips is halved with every 512 us.
const RTT_SHIFT: u32 = 9;

fn least(pace: u64) -> u64 {
    if pace < SINGLE_PACKETS { 1 } else { 2 }
}

/// The packets of a burst at a pace in bytes per second, as the window counts them.
pub(super) fn goal(pace: u64, mss: Bytes) -> u64 {
    let bytes = (pace >> SHIFT).min(LARGEST_DATA);
    (bytes / mss.get()).max(least(pace)).min(MOST_PACKETS)
}

/// The packets that leave at once: more on short round trips, where ACKs come soon (Linux `tcp_tso_autosize`).
pub(super) fn size(pace: u64, least_rtt: Duration, mss: Bytes) -> u64 {
    let shift = span(least_rtt) >> RTT_SHIFT;
    let short = if shift < 32 { LARGEST >> shift } else { 0 };
    let bytes = ((pace >> SHIFT) + short).min(LARGEST);
    (bytes / mss.get()).max(least(pace))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 100 Mbit/s is 12,207 bytes in 2^-10 s, 8 segments of 1448; one packet below 1.2 Mbit/s, else two; 45
    /// segments at a pace without limit, 127 of a small size.
    #[test]
    fn by_hand() {
        let mss = Bytes::new(1448);
        let sizes = |mbps: u64| goal(mbps * 1_000_000 / 8, mss);
        assert_eq!([sizes(1), sizes(2), sizes(100), sizes(100_000)], [1, 2, 8, 45]);
        assert_eq!([goal(149_999, mss), goal(150_000, mss)], [1, 2], "from 1.2 Mbit/s on");
        assert_eq!(goal(10_000_000_000, Bytes::new(100)), 127);
        let rtt = Duration::from_micros(600);
        assert_eq!(size(250_000, rtt, mss), 22, "half of 64 KiB");
        assert_eq!(size(250_000, Duration::from_millis(20), mss), 2);
    }
}
