//! The clock of the timestamps option, which counts milliseconds (Linux `TCP_TS_HZ`; RFC 7323 section 5.4 allows 1 ms to
//! 1 s). Packets carry exact times; what an endpoint concludes from the option, it concludes from these ticks.

use windtunnel_units::{Duration, Time};

/// A tick in nanoseconds.
const TICK: u64 = 1_000_000;

/// The value that the option would carry.
#[inline]
pub(crate) fn ticks(timestamp: Time) -> u64 {
    timestamp.as_nanos() / TICK
}

/// The first time at which the option carries what it does at `timestamp`.
pub(crate) fn start_of_tick(timestamp: Time) -> Time {
    Time::ZERO + Duration::from_nanos(ticks(timestamp) * TICK)
}

/// The round trip that an echo of the own timestamp shows: whole ticks, none within the same one (Linux
/// `tcp_rtt_tsopt_us`).
#[inline]
pub(crate) fn round_trip(echo: Time, now: Time) -> Duration {
    Duration::from_nanos(ticks(now).saturating_sub(ticks(echo)) * TICK)
}

/// The same for a sender, which takes at least a tick.
pub(crate) fn round_trip_of_sender(echo: Time, now: Time) -> Duration {
    round_trip(echo, now).max(Duration::from_nanos(TICK))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 7.3 `tcp_rtt_tsopt_us`: the difference of two counts of milliseconds, not a rounded difference.
    #[test]
    fn whole_ticks() {
        let at = |micros: u64| Time::ZERO + Duration::from_micros(micros);
        for (echo, now, ms) in
            [(1_999, 2_000, 1), (1_000, 1_999, 0), (1_999, 42_001, 41), (1_000, 41_999, 40)]
        {
            let expected = Duration::from_millis(ms);
            assert_eq!(round_trip(at(echo), at(now)), expected, "{echo} to {now} us");
            assert_eq!(round_trip_of_sender(at(echo), at(now)), expected.max(Duration::from_millis(1)));
        }
    }
}
