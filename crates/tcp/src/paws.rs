//! Protection against wrapped sequence numbers: which timestamps are too old (RFC 7323 section 5).
//!
//! A segment with a timestamp before `TS.Recent` is an old duplicate, whatever its number says. Here numbers do not wrap,
//! and there is nothing to protect; but where a path reorders, PAWS discards what was overtaken by something newer.
//! Timestamps are compared in ticks of 1 ms, as the option would carry them, and one tick is tolerated (Linux
//! `TCP_PAWS_WINDOW`). That `TS.Recent` is void after 24 days of silence (section 5.5) is left out.

use windtunnel_units::Time;

/// The tick of the timestamp clock in nanoseconds: 1 ms (Linux; RFC 7323 section 5.4 allows 1 ms to 1 s).
const TICK: u64 = 1_000_000;
/// A timestamp may be so many ticks before `TS.Recent`.
const WINDOW: u64 = 1;

/// `ts_val` is too old beside `recent`.
#[inline]
pub(crate) fn rejects(ts_val: Time, recent: Time) -> bool {
    ts_val < recent && ticks(ts_val) + WINDOW < ticks(recent)
}

/// What the option would carry.
pub(crate) fn ticks(timestamp: Time) -> u64 {
    timestamp.as_nanos() / TICK
}
