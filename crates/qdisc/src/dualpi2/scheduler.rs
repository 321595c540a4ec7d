//! Which of the two queues sends next.
//!
//! Source: RFC 9332 sections 2.3, 4.1.1 and 4.2.2; Linux `sch_dualpi2`; spec/queues-and-signalling section 8. The
//! low-latency queue goes first, but must not starve the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Bytes, Duration, Probability};

use super::{CLASSIC, LOW_LATENCY};

/// How the two queues take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DualPi2Scheduler {
    /// Weighted round robin by bytes, with a credit: while it is positive, the classic queue sends (Linux).
    WrrCredit,
    /// Weighted round robin by packets.
    Wrr,
    /// The packet at the head of the classic queue goes first if it has waited longer than that of the low-latency queue
    /// by `tshift` or more. A burst of classic packets then blocks the low-latency queue.
    TimeShiftedFifo,
    /// The low-latency queue always goes first: the classic queue can starve.
    StrictPriority,
}

/// A scheduler's variables.
#[derive(Clone, Debug)]
pub(super) enum Scheduler {
    WrrCredit { credit: i64, start: i64, classic: i64 },
    Wrr { due: i64, classic: i64 },
    TimeShiftedFifo { tshift: Duration },
    StrictPriority,
}

/// Weights are millionths: a credit is in millionths of a byte.
const ALL: i64 = 1_000_000;

impl Scheduler {
    /// A scheduler that gives the classic queue `weight` while both queues have packets.
    pub(super) fn new(
        kind: DualPi2Scheduler,
        weight: Probability,
        tshift: Duration,
        mtu: Bytes,
    ) -> Scheduler {
        let classic = (weight.get() * ALL as f64).round() as i64;
        match kind {
            DualPi2Scheduler::WrrCredit => {
                // Linux: the queue with the larger weight sends first.
                let start = mtu.get().cast_signed().saturating_mul(2 * classic - ALL);
                Scheduler::WrrCredit { credit: start, start, classic }
            }
            DualPi2Scheduler::Wrr => Scheduler::Wrr { due: 0, classic },
            DualPi2Scheduler::TimeShiftedFifo => Scheduler::TimeShiftedFifo { tshift },
            DualPi2Scheduler::StrictPriority => Scheduler::StrictPriority,
        }
    }

    /// The queue that sends next. Both have packets, and their heads have waited for `waiting`.
    #[inline]
    pub(super) fn choose(&self, waiting: impl Fn(usize) -> Duration) -> usize {
        let classic_is_next = match self {
            Scheduler::WrrCredit { credit, .. } => *credit > 0,
            Scheduler::Wrr { due, classic } => *due + *classic >= ALL,
            Scheduler::TimeShiftedFifo { tshift } => waiting(LOW_LATENCY) + *tshift < waiting(CLASSIC),
            Scheduler::StrictPriority => false,
        };
        if classic_is_next { CLASSIC } else { LOW_LATENCY }
    }

    /// A packet of `size` was sent from `band` while the other queue had packets, too.
    #[inline]
    pub(super) fn sent(&mut self, band: usize, size: Bytes) {
        match self {
            Scheduler::WrrCredit { credit, classic, .. } => {
                let weight = if band == LOW_LATENCY { *classic } else { *classic - ALL };
                *credit += weight * size.get().cast_signed();
            }
            Scheduler::Wrr { due, classic } => {
                *due += if band == LOW_LATENCY { *classic } else { *classic - ALL }
            }
            Scheduler::TimeShiftedFifo { .. } | Scheduler::StrictPriority => {}
        }
    }

    /// Both queues are empty.
    #[inline]
    pub(super) fn reset(&mut self) {
        match self {
            Scheduler::WrrCredit { credit, start, .. } => *credit = *start,
            Scheduler::Wrr { due, .. } => *due = 0,
            Scheduler::TimeShiftedFifo { .. } | Scheduler::StrictPriority => {}
        }
    }

    /// The credit in bytes; NaN for a scheduler without.
    pub(super) fn credit(&self) -> f64 {
        match self {
            Scheduler::WrrCredit { credit, .. } => *credit as f64 / ALL as f64,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: Bytes = Bytes::new(1_500);

    fn scheduler(kind: DualPi2Scheduler, weight: f64) -> Scheduler {
        Scheduler::new(kind, Probability::clamped(weight), Duration::from_millis(50), MTU)
    }

    /// The bytes that each queue sends while both have packets.
    fn bytes(mut scheduler: Scheduler, sizes: [u64; 2]) -> [u64; 2] {
        let mut sent = [0, 0];
        for _ in 0..10_000 {
            let band = scheduler.choose(|_| Duration::ZERO);
            scheduler.sent(band, Bytes::new(sizes[band]));
            sent[band] += sizes[band];
        }
        sent
    }

    /// spec/queues-and-signalling section 8: with 10 % of protection the credit starts at -80 % of an MTU and is per cent
    /// of bytes, so that Linux's numbers are these times 100; both queues full, the classic one sends 10 % of the bytes,
    /// whatever the packets' sizes.
    #[test]
    fn protection() {
        let wrr = scheduler(DualPi2Scheduler::WrrCredit, 0.1);
        assert!((wrr.credit() + 0.8 * 1_500.0).abs() < 1e-9);
        for sizes in [[1_500, 1_500], [100, 1_500], [1_500, 100]] {
            let [low_latency, classic] = bytes(wrr.clone(), sizes);
            let share = classic as f64 / (low_latency + classic) as f64;
            assert!((share - 0.1).abs() < 0.002, "{share} with {sizes:?}");
        }
        let [low_latency, classic] = bytes(scheduler(DualPi2Scheduler::Wrr, 1.0 / 16.0), [100, 1_500]);
        assert!((classic / 1_500).abs_diff(low_latency / 100 / 15) <= 1, "{classic}");
    }

    /// At a weight of 0 and with strict priority the classic queue starves, at 100 % the other.
    #[test]
    fn starvation() {
        assert_eq!(bytes(scheduler(DualPi2Scheduler::WrrCredit, 0.0), [1, 1])[CLASSIC], 0);
        assert_eq!(bytes(scheduler(DualPi2Scheduler::WrrCredit, 1.0), [1, 1])[LOW_LATENCY], 0);
        assert_eq!(bytes(scheduler(DualPi2Scheduler::Wrr, 0.0), [1, 1])[CLASSIC], 0);
        assert_eq!(bytes(scheduler(DualPi2Scheduler::Wrr, 1.0), [1, 1])[LOW_LATENCY], 0);
        assert_eq!(bytes(scheduler(DualPi2Scheduler::StrictPriority, 0.5), [1, 1])[CLASSIC], 0);
    }

    /// The classic head goes first once it has waited 50 ms longer.
    #[test]
    fn time_shifted() {
        let fifo = scheduler(DualPi2Scheduler::TimeShiftedFifo, 0.1);
        let ms = Duration::from_millis;
        assert_eq!(fifo.choose(|band| [ms(3), ms(53)][band]), LOW_LATENCY);
        assert_eq!(fifo.choose(|band| [ms(3), ms(54)][band]), CLASSIC);
    }

    /// Empty queues give the credit back.
    #[test]
    fn reset() {
        let mut wrr = scheduler(DualPi2Scheduler::WrrCredit, 0.1);
        let start = wrr.credit();
        wrr.sent(LOW_LATENCY, MTU);
        assert!((wrr.credit() - start - 150.0).abs() < 1e-9);
        wrr.reset();
        assert!((wrr.credit() - start).abs() < 1e-9);
    }
}
