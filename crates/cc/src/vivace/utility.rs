//! What a sender wants: numbers of a monitor interval in, utility out.

use windtunnel_algorithm::schema::{Deserialize, JsonSchema, Serialize};

use super::params::VivaceParams;

/// The loss that Allegro's sigmoid tolerates (NSDI 2015 section 2.2).
const ALLEGRO_LOSS: f64 = 0.05;
/// The slope of the sigmoid there: at least 100, so that few flows are enough for its equilibrium.
const ALLEGRO_SLOPE: f64 = 100.0;

/// The utility functions of PCC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VivaceUtility {
    /// Throughput, less the growth of the round trip, less losses: Vivace-Latency.
    #[default]
    Latency,
    /// Throughput less losses, whatever the delay: Vivace-Loss, the same with b = 0.
    Loss,
    /// Throughput until 5 % are lost: PCC Allegro (Dong et al., NSDI 2015). It has no t, b or c.
    Allegro,
}

/// What was measured of the packets of one monitor interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measurement {
    /// What was sent, in Mbit/s.
    pub(super) rate: f64,
    /// How much the round trip grew for each unit of time that passed between departures.
    pub(super) rtt_gradient: f64,
    /// The share that was lost.
    pub(super) loss: f64,
}

impl VivaceParams {
    /// True if the round trip enters the utility.
    pub(super) fn counts_delay(&self) -> bool {
        self.utility == VivaceUtility::Latency && self.b > 0.0
    }

    /// The utility of what was measured (equation 1 of the paper). Its unit is that of `rate^t`.
    pub(super) fn utility_of(&self, measured: &Measurement) -> f64 {
        let &Measurement { rate, rtt_gradient, loss } = measured;
        match self.utility {
            VivaceUtility::Latency => {
                libm::pow(rate, self.t) - self.b * rate * rtt_gradient - self.c * rate * loss
            }
            VivaceUtility::Loss => libm::pow(rate, self.t) - self.c * rate * loss,
            VivaceUtility::Allegro => {
                let tolerance = 1.0 / (1.0 + libm::exp(ALLEGRO_SLOPE * (loss - ALLEGRO_LOSS)));
                rate * (1.0 - loss) * tolerance - rate * loss
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utility(utility: VivaceUtility, rate: f64, rtt_gradient: f64, loss: f64) -> f64 {
        let params = VivaceParams { utility, ..VivaceParams::default() };
        params.utility_of(&Measurement { rate, rtt_gradient, loss })
    }

    fn assert_near(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value}, not {expected}");
    }

    /// 100^0.9 = 63.0957. A round trip that grows by 1 % of the time costs 900 * 100 * 0.01 = 900; one that shrinks earns
    /// as much. 2 % of loss cost 11.35 * 100 * 0.02 = 22.7.
    #[test]
    fn latency_and_loss() {
        assert_near(utility(VivaceUtility::Latency, 100.0, 0.0, 0.0), 63.0957);
        assert_near(utility(VivaceUtility::Latency, 100.0, 0.01, 0.0), -836.9043);
        assert_near(utility(VivaceUtility::Latency, 100.0, -0.01, 0.02), 940.3957);
        assert_near(utility(VivaceUtility::Loss, 100.0, 0.01, 0.02), 40.3957);
    }

    /// At 5 % the sigmoid is one half: 100 * 0.95 / 2 - 100 * 0.05 = 42.5. Without loss it is 1/(1 + e^-5) = 0.993307; at
    /// 10 % it is 0.006693: 100 * 0.9 * 0.006693 - 10 = -9.3976.
    #[test]
    fn allegro() {
        assert_near(utility(VivaceUtility::Allegro, 100.0, 0.5, 0.05), 42.5);
        assert_near(utility(VivaceUtility::Allegro, 100.0, 0.5, 0.0), 99.3307);
        assert_near(utility(VivaceUtility::Allegro, 100.0, 0.5, 0.1), -9.3976);
    }

    /// Section 3.2: alone on a link of C, a sender keeps its rate at C while the loss is below t * C^(t-1) / c, because more
    /// is still better there. C = 100 Mbit/s: 0.9 * 0.630957 / 11.35 = 5.003 %. C = 40: 5.483 %.
    #[test]
    fn loss_that_a_sender_withstands() {
        let grows = |rate: f64, loss: f64| {
            utility(VivaceUtility::Loss, rate * 1.0001, 0.0, loss)
                > utility(VivaceUtility::Loss, rate, 0.0, loss)
        };
        assert!(grows(100.0, 0.0499) && !grows(100.0, 0.0501));
        assert!(grows(40.0, 0.0547) && !grows(40.0, 0.0549));
    }

    /// Only Vivace-Latency has a term of the round trip, and with b = 0 it has none either (section 3.1).
    #[test]
    fn the_round_trip_counts_for_latency_alone() {
        for (utility, b, counts) in [
            (VivaceUtility::Latency, 900.0, true),
            (VivaceUtility::Latency, 0.0, false),
            (VivaceUtility::Loss, 900.0, false),
            (VivaceUtility::Allegro, 900.0, false),
        ] {
            let params = VivaceParams { utility, b, ..VivaceParams::default() };
            assert_eq!(params.counts_delay(), counts, "{utility:?} {b}");
        }
    }
}
