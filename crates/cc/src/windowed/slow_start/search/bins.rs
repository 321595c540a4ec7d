//! What was sent and what was acknowledged, by bins of time.
//!
//! Both are cumulative at the end of each bin, in rings that hold what a comparison may look back to: the last ten bins
//! of what was acknowledged, and ten bins of what was sent, up to [`EXTRA`] bins ago. A round trip that has grown to
//! more than 15 bins, 5.25 times the first, cannot be looked back over.

use windtunnel_units::{Bytes, Duration, Seq, Time};

use crate::sample::PathView;

/// Bins of a window, which spans 3.5 of the first round trip (`W`, `WINDOW_SIZE_FACTOR`).
pub(super) const WINDOW: u64 = 10;
/// How many bins more what was sent may be looked back over (`EXTRA_BINS`).
const EXTRA: u64 = 15;
/// Bins of the first round trip: 1 / 0.35, rounded up.
const FIRST_RTT: u64 = 3;
const ACKED: usize = WINDOW as usize + 1;
const SENT: usize = ACKED + EXTRA as usize;

/// The bins of a connection since its first ACK, or since the first after a reset.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    /// How long a bin lasts (`BIN_DURATION`).
    width: Duration,
    /// When the present bin ends (`bin_end`).
    end: Time,
    /// The last complete bin (`curr_idx`).
    index: u64,
    /// Bytes acknowledged by the end of each of the last bins.
    acked: [Bytes; ACKED],
    /// Bytes sent by then.
    sent: [Bytes; SENT],
}

impl Bins {
    /// Starts bins with the first round trip, or none if that is too short to be divided.
    pub(super) fn new(rtt: Duration, path: &PathView) -> Option<Bins> {
        let width = rtt * 7 / 20;
        if width.is_zero() {
            return None;
        }
        let mut bins = Bins {
            width,
            end: path.now + width,
            index: 0,
            acked: [Bytes::ZERO; ACKED],
            sent: [Bytes::ZERO; SENT],
        };
        bins.set(0, acked(path), sent(path));
        Some(bins)
    }

    /// Returns how many bins have ended by `now`, or `None` if the present one has not.
    pub(super) fn passed(&self, now: Time) -> Option<u64> {
        (now > self.end).then(|| now.since(self.end).as_nanos() / self.width.as_nanos() + 1)
    }

    /// Ends the present bin and those that passed after it: only the last of them has anything new.
    pub(super) fn advance(&mut self, passed: u64, path: &PathView) {
        let before = (self.acked[self.index as usize % ACKED], self.sent[self.index as usize % SENT]);
        let last = self.index + passed;
        for empty in last.saturating_sub(SENT as u64).max(self.index + 1)..last {
            self.set(empty, before.0, before.1);
        }
        self.index = last;
        self.end += self.width * passed;
        self.set(last, acked(path), sent(path).max(before.1));
    }

    /// Returns by what share of it the deliveries of the last ten bins fall short of what was sent in the ten bins one
    /// round trip earlier (`norm_diff`). Negative if they exceed it; `None` if there are no such bins, or if nothing
    /// was sent in them.
    pub(super) fn norm(&self, rtt: Duration) -> Option<f64> {
        let sent = self.sent_one_rtt_before(rtt)?;
        let delivered = window(&self.acked, self.index).as_f64();
        (sent > 0.0).then(|| (sent - delivered) / sent)
    }

    /// Returns what was sent in the ten bins that ended one round trip ago (`prev_sent`).
    fn sent_one_rtt_before(&self, rtt: Duration) -> Option<f64> {
        let (ago, fraction) = self.bins_of(rtt);
        let then = self.index.checked_sub(ago).filter(|then| *then > WINDOW && ago < EXTRA)?;
        let (earlier, later) = (window(&self.sent, then - 1), window(&self.sent, then));
        Some(earlier.as_f64() * fraction + later.as_f64() * (1.0 - fraction))
    }

    /// Returns what was acknowledged in the last round trip as long as the first, in whole bins.
    pub(super) fn delivered_in_first_rtt(&self) -> Bytes {
        since(&self.acked, self.index, FIRST_RTT)
    }

    /// Returns how many bins have ended.
    pub(super) const fn count(&self) -> f64 {
        self.index as f64
    }

    /// Returns the whole bins of a round trip, and the fraction that is left.
    fn bins_of(&self, rtt: Duration) -> (u64, f64) {
        let whole = rtt.as_nanos() / self.width.as_nanos();
        (whole, rtt.ratio(self.width) - whole as f64)
    }

    fn set(&mut self, index: u64, acked: Bytes, sent: Bytes) {
        self.acked[index as usize % ACKED] = acked;
        self.sent[index as usize % SENT] = sent;
    }
}

/// Returns by how much a ring has grown in the bins of a window that ended with `end`.
fn window(ring: &[Bytes], end: u64) -> Bytes {
    since(ring, end, WINDOW)
}

/// Returns by how much a ring has grown in the last bins up to `end`.
fn since(ring: &[Bytes], end: u64, bins: u64) -> Bytes {
    let at = |index: u64| ring[index as usize % ring.len()];
    at(end) - at(end.saturating_sub(bins))
}

/// Bytes acknowledged since the start.
fn acked(path: &PathView) -> Bytes {
    path.una - Seq::SYN
}

/// Bytes sent since the start.
fn sent(path: &PathView) -> Bytes {
    path.nxt - Seq::SYN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64, una: u64, nxt: u64) -> PathView {
        PathView { now: Time::ZERO + Duration::from_millis(ms), ..PathView::of_segments(una, nxt) }
    }

    /// spec/ccwg-2026 section D, vector 1: a first round trip of 100 ms makes bins of 35 ms; 80 ms are two bins and
    /// 28.57 % of one.
    #[test]
    fn a_bin_is_a_tenth_of_a_window() {
        let bins = Bins::new(Duration::from_millis(100), &at(0, 1, 10)).expect("long enough");
        assert_eq!(bins.width, Duration::from_millis(35));
        let (whole, fraction) = bins.bins_of(Duration::from_millis(80));
        assert!(whole == 2 && (fraction - 2.0 / 7.0).abs() < 1e-12, "{whole}, {fraction}");
        assert!(Bins::new(Duration::from_nanos(2), &at(0, 1, 10)).is_none(), "0.7 ns");
    }

    /// A bin has ended after its end, not at it. An ACK 60 ms after the bin of 35 ms began ends one more than that;
    /// what was counted before is the content of the empty one.
    #[test]
    fn bins_without_acks_repeat_the_last() {
        let mut bins = Bins::new(Duration::from_millis(100), &at(0, 1, 10)).expect("long enough");
        let passed = [35, 36, 70, 71, 95, 105].map(|ms| bins.passed(at(ms, 0, 0).now));
        assert_eq!(passed, [None, Some(1), Some(2), Some(2), Some(2), Some(3)]);
        bins.advance(2, &at(95, 5, 20));
        let counted =
            |bins: &Bins, n: usize| (bins.acked[n] / Bytes::new(1448), bins.sent[n] / Bytes::new(1448));
        assert_eq!([counted(&bins, 0), counted(&bins, 1), counted(&bins, 2)], [(1, 10), (1, 10), (5, 20)]);
        assert_eq!((bins.index, bins.end), (2, Time::ZERO + Duration::from_millis(105)));
        // A gap longer than the rings leaves nothing of what was before.
        bins.advance(1000, &at(40_000, 7, 30));
        assert_eq!((bins.index, bins.norm(Duration::from_millis(100))), (1002, None), "nothing was sent");
    }

    /// One segment is sent and one acknowledged in each bin: over a round trip of any length nothing is missing. If no
    /// more are acknowledged from bin 20 on, five bins later half of the window is.
    #[test]
    fn the_norm_is_what_is_missing() {
        let mut bins = Bins::new(Duration::from_millis(100), &at(0, 1, 1)).expect("long enough");
        for n in 1..=25 {
            bins.advance(1, &at(0, 1 + n.min(20), 1 + n));
            let norm = bins.norm(Duration::from_millis(80));
            // Two bins ago, more than a window of bins must have ended.
            assert_eq!(norm.is_some(), n > 12, "bin {n}");
            let missing = n.saturating_sub(20) as f64 / 10.0;
            assert!(norm.is_none_or(|norm| (norm - missing).abs() < 1e-9), "{norm:?} at bin {n}");
        }
    }

    /// The fraction of a bin is taken from the bin before, which is where a longer round trip leads. What is sent
    /// doubles from bin to bin; 2.25 bins before bin 16, a quarter of the window that ended with bin 13 counts, and
    /// three quarters of that of bin 14.
    #[test]
    fn the_fraction_is_taken_from_the_bin_before() {
        let mut bins = Bins::new(Duration::from_millis(100), &at(0, 1, 1)).expect("long enough");
        for n in 1..=16 {
            bins.advance(1, &at(0, 1, 1 << n));
        }
        let window = |end: u32| f64::from((1 << end) - (1 << (end - 10)));
        let sent = bins.sent_one_rtt_before(Duration::from_micros(78_750)).expect("bins") / 1448.0;
        assert!((sent - (0.25 * window(13) + 0.75 * window(14))).abs() < 1e-6, "{sent}");
    }

    /// spec/ccwg-2026 section D, vector 4: 15 bins cannot be looked back over. 5.25 first round trips are 15 bins.
    #[test]
    fn a_round_trip_may_grow_to_fifteen_bins() {
        let mut bins = Bins::new(Duration::from_millis(100), &at(0, 1, 1)).expect("long enough");
        (1..=100).for_each(|n| bins.advance(1, &at(0, 1, 1 + n)));
        let computed = [100, 524, 525, 600].map(|ms| bins.norm(Duration::from_millis(ms)).is_some());
        assert_eq!(computed, [true, true, false, false]);
    }
}
