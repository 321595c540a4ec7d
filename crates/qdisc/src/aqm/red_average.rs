//! RED's queue average: an exponentially weighted mean of the backlog that arriving packets find, and how it falls in
//! idle time.
//!
//! Source: Floyd and Jacobson 1993, section 4; Linux `red.h`; spec/queues-and-signalling section 3. Averaging counts
//! packets, and none arrive in idle time. The average then falls as if packets of mean size had arrived at an empty
//! queue as fast as the link could send them: by `(1 - W)^m` for m packets. Linux uses a table of shifts whose entries
//! are natural logarithms but are used as powers of two, so its average falls faster.
//!
//! In the sources, idle time starts when the link asks an empty queue for its next packet, that is, when the last
//! packet has been sent. Here, that is the time at which the last packet leaves the queue plus its transmission time.

use windtunnel_units::{Bytes, Duration, Rate, Time};

use super::red_params::RedIdle;
use crate::aqm::QueueView;

/// The average in bytes.
#[derive(Clone, Debug)]
pub(super) struct QueueAverage {
    avg: f64,
    weight: f64,
    idle: Decay,
    /// If the queue is empty now, when idle time starts; this may be in the future.
    idle_from: Time,
}

impl QueueAverage {
    /// An average in which a packet has `weight`. `avpkt` at `bandwidth` are the packets of idle time.
    pub(super) fn new(weight: f64, avpkt: Bytes, bandwidth: Rate, idle: RedIdle) -> QueueAverage {
        QueueAverage {
            avg: 0.0,
            weight,
            idle: Decay::new(weight, avpkt, bandwidth, idle),
            idle_from: Time::ZERO,
        }
    }

    /// The same average, with the weight and idle time of `other` from now on.
    pub(super) fn retune(&mut self, other: QueueAverage) {
        *self = QueueAverage { avg: self.avg, idle_from: self.idle_from, ..other };
    }

    /// Forgets all queues so far.
    pub(super) fn restart(&mut self) {
        self.avg = 0.0;
    }

    /// A packet arrives, even if it is then dropped: updates the average with the backlog that it finds.
    #[inline]
    pub(super) fn arrived(&mut self, queue: &QueueView) -> f64 {
        match self.idle_since(queue) {
            Some(idle) => {
                self.avg = self.idle.after(self.avg, idle);
                // If the packet is dropped, idle time goes on.
                self.idle_from = queue.now;
            }
            None => self.avg += self.weight * (queue.bytes.as_f64() - self.avg),
        }
        self.avg
    }

    /// The last packet has left, and is sent until `sent`.
    pub(super) fn emptied(&mut self, sent: Time) {
        self.idle_from = sent;
    }

    /// The average as it is now.
    pub(super) fn now(&self, queue: &QueueView) -> f64 {
        self.idle_since(queue).map_or(self.avg, |idle| self.idle.after(self.avg, idle))
    }

    /// The average at the last arrival.
    pub(super) const fn last(&self) -> f64 {
        self.avg
    }

    #[inline]
    fn idle_since(&self, queue: &QueueView) -> Option<Duration> {
        (queue.packets == 0 && queue.now > self.idle_from).then(|| queue.now.since(self.idle_from))
    }
}

/// What idle time leaves of an average.
#[derive(Clone, Debug)]
pub(crate) enum Decay {
    /// By `e^(-l t)`, with `l` per microsecond.
    Exact { l: f64 },
    /// By `2^-floor(l t)`, for t in whole cells of `cell` microseconds; linearly within the first one.
    Table { l: f64, cell: f64 },
}

impl Decay {
    /// Cells of Linux's table, and the shift that takes an average of 32 bits to nothing.
    const CELLS: f64 = 256.0;
    const MOST: f64 = 31.0;

    /// What idle time leaves of an average in which a packet has `weight`: see [`QueueAverage::new`].
    pub(crate) fn new(weight: f64, avpkt: Bytes, bandwidth: Rate, idle: RedIdle) -> Decay {
        let packet_us = avpkt.bits() as f64 * 1e6 / bandwidth.bits_per_sec() as f64;
        let l = -libm::log1p(-weight) / packet_us;
        match idle {
            RedIdle::Exact => Decay::Exact { l },
            RedIdle::Linux => {
                let mut cell = 1.0;
                while Decay::MOST / l / cell >= 2.0 * Decay::CELLS {
                    cell *= 2.0;
                }
                Decay::Table { l, cell }
            }
        }
    }

    /// What is left of `avg` after `idle`.
    pub(crate) fn after(&self, avg: f64, idle: Duration) -> f64 {
        let us = idle.as_nanos_f64() / 1e3;
        match *self {
            Decay::Exact { l } => avg * libm::exp(-l * us),
            Decay::Table { l, cell } => {
                let last = Decay::CELLS - 1.0;
                let us = us.min(last * cell);
                let index = libm::floor(us / cell);
                let shift =
                    if index < last { libm::floor(index * cell * l).min(Decay::MOST) } else { Decay::MOST };
                if shift > 0.0 { avg / libm::exp2(shift) } else { avg - (avg * us / cell).min(avg / 2.0) }
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "halves are exact")]
mod tests {
    use super::*;

    /// 1000-byte packets at 8 Mbit/s: a packet is a millisecond.
    fn decay(weight: f64, idle: RedIdle) -> Decay {
        Decay::new(weight, Bytes::new(1_000), Rate::from_mbps(8), idle)
    }

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// (1 - W)^m: with W = 1/2 a packet's time halves, and half of it leaves 1/sqrt(2).
    #[test]
    fn exact() {
        let decay = decay(0.5, RedIdle::Exact);
        for (idle, left) in [(0, 1.0), (500, 0.5_f64.sqrt()), (1_000, 0.5), (3_000, 0.125), (100_000, 0.0)] {
            assert!((decay.after(8.0, us(idle)) - 8.0 * left).abs() < 1e-12, "{idle}");
        }
    }

    /// By hand for W = 1/32: l = 0.031749 per packet, so that 31 / l = 976.4 ms. Cells are 2048 us: the first power of
    /// two with fewer than 512 of them (977 ms / 1024 us = 953, / 2048 us = 476). The shift is floor(i * 2.048 *
    /// 0.031749) = floor(0.065022 i): 1 from cell 16 on, 2 from 31; in cell 254 it is 16, and 31 in the last.
    #[test]
    fn table() {
        let decay = decay(1.0 / 32.0, RedIdle::Linux);
        assert!(matches!(decay, Decay::Table { cell: 2048.0, .. }), "{decay:?}");
        let left = |idle| decay.after(1.0, us(idle));
        assert_eq!((left(0), left(512), left(1_024), left(2_047)), (1.0, 0.75, 0.5, 0.5));
        // Half at most while the shift is 0.
        assert_eq!((left(15 * 2_048), left(16 * 2_048 - 1)), (0.5, 0.5));
        assert_eq!((left(16 * 2_048), left(31 * 2_048 - 1), left(31 * 2_048)), (0.5, 0.5, 0.25));
        assert_eq!(left(254 * 2_048), libm::exp2(-16.0));
        assert_eq!((left(255 * 2_048), left(1 << 30)), (libm::exp2(-31.0), libm::exp2(-31.0)));
    }

    /// The table is not the exact law: where the law leaves e^-1, Linux leaves a half; e^-3 is 2^-3 there.
    #[test]
    fn table_falls_by_powers_of_two() {
        let [exact, table] = [RedIdle::Exact, RedIdle::Linux].map(|idle| decay(1.0 / 32.0, idle));
        let time = us(31_500 * 3 + 200);
        assert!((exact.after(1.0, time) - libm::exp(-3.0)).abs() < 0.001);
        assert_eq!(table.after(1.0, us(47 * 2_048)), 0.125);
    }
}
