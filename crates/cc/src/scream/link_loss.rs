//! Losses of the link (sections "Link layer losses" and, in -01 alone, "and rate policers").
//!
//! A link that loses a packet now and then does not say that the path is full. A loss is answered only if losses are
//! frequent or the queue is not short. Frequent losses over a short queue are those of a policer.

use super::params::ScreamParams;

/// Losses count from this part of the delay target on, however rare they are.
const SHORT: f64 = 1.0 / 4.0;

/// `loss_rate`: the average share of packets that are lost. It stays zero where each loss counts.
#[derive(Debug, Default)]
pub(super) struct LinkLoss {
    rate: f64,
}

impl LinkLoss {
    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    /// The gain: the average is over two windows, or over 4/`LOSS_RATE_THRESHOLD` packets if those are more.
    fn gain(params: &ScreamParams, segment_ratio: f64) -> f64 {
        (params.loss_rate_threshold / 4.0).min(segment_ratio / 2.0)
    }

    /// Packets arrived.
    pub(super) fn on_delivery(&mut self, params: &ScreamParams, packets: u32, segment_ratio: f64) {
        self.rate *= libm::pow(1.0 - Self::gain(params, segment_ratio), f64::from(packets));
    }

    /// A packet is lost.
    pub(super) fn on_loss(&mut self, params: &ScreamParams, segment_ratio: f64) {
        self.rate += Self::gain(params, segment_ratio) * (1.0 - self.rate);
    }

    /// Whether a loss is a sign of congestion.
    pub(super) fn counts(&self, params: &ScreamParams, qdelay_avg: f64, qdelay_target: f64) -> bool {
        let threshold = params.loss_rate_threshold;
        threshold <= 0.0 || self.rate > threshold || qdelay_avg > qdelay_target * SHORT
    }

    /// Whether it is that of a policer, which makes no queue.
    pub(super) fn is_policed(&self, params: &ScreamParams, qdelay_avg: f64, qdelay_target: f64) -> bool {
        self.rate > params.loss_rate_threshold_policer && qdelay_avg < qdelay_target * SHORT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> ScreamParams {
        ScreamParams { loss_rate_threshold: 0.01, ..ScreamParams::default() }
    }

    /// By the draft's formula: of a window of 100 segments the gain is min(0.01/4, 1/100/2) = 1/400, of one of 1000
    /// segments 1/2000. Four losses in a row are 1 - (399/400)^4 = 0.996 %, five are more than 1 %.
    #[test]
    fn rates_by_hand() {
        for (segments, gain) in [(100.0, 1.0 / 400.0), (1000.0, 1.0 / 2000.0)] {
            let mut losses = LinkLoss::default();
            losses.on_loss(&params(), 1.0 / segments);
            assert!((losses.rate() - gain).abs() < 1e-15, "{}", losses.rate());
            losses.on_delivery(&params(), 2, 1.0 / segments);
            assert!((losses.rate() - gain * (1.0 - gain) * (1.0 - gain)).abs() < 1e-15);
        }
        let mut row = LinkLoss::default();
        let counts: Vec<bool> = (0..5)
            .map(|_| {
                row.on_loss(&params(), 0.01);
                row.counts(&params(), 0.0, 0.06)
            })
            .collect();
        assert_eq!(counts, [false, false, false, false, true]);
    }

    /// A delay of just a quarter of the target is still short; without a threshold each loss counts.
    #[test]
    fn a_loss_counts_where_the_queue_is_not_short() {
        let losses = LinkLoss::default();
        for (qdelay_avg, counts) in [(0.25, false), (0.2501, true)] {
            assert_eq!(losses.counts(&params(), qdelay_avg, 1.0), counts);
            assert!(losses.counts(&ScreamParams::default(), qdelay_avg, 1.0));
        }
    }

    /// More than 10 %, and less than a quarter of the target: both bounds are strict. Without a threshold for policers,
    /// not even losing everything is one.
    #[test]
    fn a_policer_loses_much_and_queues_nothing() {
        let policer = ScreamParams { loss_rate_threshold_policer: 0.125, ..params() };
        for (rate, qdelay_avg, policed) in
            [(0.125, 0.0, false), (0.126, 0.0, true), (0.126, 0.2499, true), (0.126, 0.25, false)]
        {
            assert_eq!(
                LinkLoss { rate }.is_policed(&policer, qdelay_avg, 1.0),
                policed,
                "{rate} {qdelay_avg}"
            );
        }
        assert!(!LinkLoss { rate: 1.0 }.is_policed(&params(), 0.0, 1.0));
    }
}
