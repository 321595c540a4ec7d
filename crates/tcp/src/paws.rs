//! Protection against wrapped sequence numbers: which timestamps are too old (RFC 7323 section 5).
//!
//! A segment with a timestamp before `TS.Recent` is an old duplicate, whatever its sequence number. Sequence numbers
//! do not wrap here, so there is nothing to protect; but on a path that reorders, PAWS discards segments that newer
//! ones have overtaken. Timestamps are compared in ticks of 1 ms, as the option would carry them, and one tick is
//! tolerated (Linux `TCP_PAWS_WINDOW`). The rule that `TS.Recent` is void after 24 days of silence (section 5.5) is
//! left out.

use windtunnel_units::Time;

use crate::timestamp_clock::ticks;

/// How many ticks a timestamp may be before `TS.Recent`.
const WINDOW: u64 = 1;

/// `ts_val` is too old compared with `recent`.
#[inline]
pub(crate) fn rejects(ts_val: Time, recent: Time) -> bool {
    ts_val < recent && ticks(ts_val) + WINDOW < ticks(recent)
}
