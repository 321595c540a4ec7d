//! RED's parameters, and the values derived from them ([`super::red`]).
//!
//! Names and defaults are tc's (`tc-red`). Floyd's gentle slope, the choice of the coin, and the automatic setting of
//! Adaptive RED go beyond tc.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability, Rate};

use crate::aqm::Red;
use crate::ecn::EcnMode;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm};

/// How a probability becomes signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedRandom {
    /// Gaps that are uniform from 1 to 1/p packets: method 2 of the paper's section 7, and Linux.
    #[default]
    Uniform,
    /// A coin for each packet, hence geometric gaps: the paper's method 1.
    Coin,
    /// None: a signal whenever the probabilities add up to more than 1, every (1/p)-th packet.
    Recur,
}

/// How the average falls in idle time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RedIdle {
    /// As if packets had arrived to an empty queue for as long.
    #[default]
    Exact,
    /// By Linux's table of shifts, which falls faster (powers of 2 instead of e) and in steps.
    Linux,
}

/// RED's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Floyd, Jacobson 1993; Floyd, Gummadi, Shenker 2001; Linux sch_red",
    "x-title" = "RED",
    "x-traits" = ["red"]
))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct RedParams {
    /// The average queue below which nothing is signalled; the default is a third of `max`.
    pub min: Option<Bytes>,
    /// The average queue at which the probability is `probability` and above which every packet is signalled, unless
    /// `gentle`; the default is three times `min`, or a quarter of the queue's `limit`.
    pub max: Option<Bytes>,
    /// The mean size of a packet: the unit of `burst` and of idle time.
    pub avpkt: Bytes,
    /// How many packets may arrive at once to an empty queue before the average reaches `min`: it sets the weight of a
    /// packet in the average; if left out, `(2 min + max) / (3 avpkt)`.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub burst: Option<u32>,
    /// The probability of a signal at `max`; with `adaptive`, the initial value.
    pub probability: Probability,
    /// The link's rate, as far as the average in idle time depends on it.
    pub bandwidth: Rate,
    /// Whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// Whether packets are dropped, not marked, where every packet is signalled.
    pub harddrop: bool,
    /// Whether packets that do not understand CE pass instead of being dropped; needs `ecn`.
    pub nodrop: bool,
    /// Whether the probability rises from `probability` at `max` to 1 at twice `max`, instead of jumping to 1.
    pub gentle: bool,
    /// Whether the probability at `max` is adapted, to keep the average half-way between `min` and `max`.
    pub adaptive: bool,
    /// Whether, as Adaptive RED has it, `min`, `max` and the weight follow from the link's rate too; includes
    /// `adaptive`.
    pub adaptive_auto: bool,
    /// With `adaptive_auto`: the mean queueing delay to aim at.
    pub delay_target: Duration,
    /// How a probability becomes signals.
    pub random: RedRandom,
    /// How the average falls in idle time.
    pub idle: RedIdle,
}

impl Default for RedParams {
    fn default() -> RedParams {
        RedParams {
            min: None,
            max: None,
            avpkt: Bytes::new(1_000),
            burst: None,
            probability: Probability::clamped(0.02),
            bandwidth: Rate::from_mbps(10),
            ecn: false,
            harddrop: false,
            nodrop: false,
            gentle: false,
            adaptive: false,
            adaptive_auto: false,
            delay_target: Duration::from_millis(5),
            random: RedRandom::default(),
            idle: RedIdle::default(),
        }
    }
}

/// The thresholds of the average, in bytes, and the weight of a packet in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Band {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) weight: f64,
}

impl Params for RedParams {
    const NAME: &'static str = "red";
    const SUMMARY: &'static str =
        "Random Early Detection: drops or marks with a probability that rises with the average queue";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.avpkt == Bytes::ZERO || self.avpkt > RedParams::LONGEST {
            return Err(OutOfRange::new("avpkt", self.avpkt, "more than 0 B and at most 64 KiB"));
        }
        for (key, size) in [("min", self.min), ("max", self.max)] {
            if let Some(size) = size.filter(|&size| size > RedParams::MOST) {
                return Err(OutOfRange::new(key, size, "at most 1000 GB"));
            }
        }
        if self.probability == Probability::ZERO {
            return Err(OutOfRange::new("probability", self.probability, "more than 0 %"));
        }
        if self.bandwidth == Rate::ZERO {
            return Err(OutOfRange::new("bandwidth", self.bandwidth, "more than 0 bit/s"));
        }
        if self.nodrop && !self.ecn {
            return Err(OutOfRange::new("nodrop", self.nodrop, "false without `ecn`"));
        }
        if self.adaptive_auto { self.check_automatic() } else { self.check_thresholds() }
    }
}

impl BuildAqm for RedParams {
    type Aqm = Red;

    const LIMIT: Limit = RedParams::DEFAULT_LIMIT;

    /// Linux's.
    const ECN_MODE: EcnMode = EcnMode::Rfc3168;

    fn aqm(&self, init: &AqmInit) -> Red {
        Red::new(self.clone(), init)
    }
}

impl RedParams {
    /// tc requires a limit. This one is from its manual page; thresholds are derived from it where the queue's own
    /// limit is not in bytes.
    pub(crate) const DEFAULT_LIMIT: Limit = Limit::Bytes(Bytes::new(RedParams::LIMIT_BYTES));
    const LIMIT_BYTES: u64 = 400_000;
    /// A `min` below it would react to single bursts (Floyd 1997, "Discussions of Setting Parameters").
    const LEAST_PACKETS: u64 = 5;
    /// No packet is longer, and no queue holds more.
    const LONGEST: Bytes = Bytes::new(65_536);
    const MOST: Bytes = Bytes::new(1_000_000_000_000);

    /// Whether the probability at `max` is adapted.
    pub(super) fn adapts(&self) -> bool {
        self.adaptive || self.adaptive_auto
    }

    /// Thresholds and weight in a queue that holds `limit`.
    pub(super) fn band(&self, limit: Limit) -> Band {
        let (min, max) = self.thresholds(limit);
        let weight = weight(self.packets(min), self.burst_packets(min, max));
        Band { min: min.as_f64(), max: max.as_f64(), weight: weight.unwrap_or(1.0) }
    }

    /// Those of Adaptive RED on a link of `rate`: `delay_target` is the middle of the band, and the average has the
    /// time constant of ten round trips of 100 ms, a second of packets.
    pub(super) fn automatic_band(&self, rate: Rate) -> Band {
        let least = (self.avpkt * RedParams::LEAST_PACKETS).as_f64();
        let min = ((rate * self.delay_target).as_f64() / 2.0).max(least);
        let per_second = rate.bits_per_sec() as f64 / self.avpkt.bits() as f64;
        Band { min, max: 3.0 * min, weight: 1.0 - libm::exp(-1.0 / per_second) }
    }

    fn thresholds(&self, limit: Limit) -> (Bytes, Bytes) {
        let held = match limit {
            Limit::Bytes(limit) => limit,
            Limit::Packets(limit) => self.avpkt * limit as u64,
            Limit::Unlimited | Limit::Time(_) => Bytes::new(RedParams::LIMIT_BYTES),
        };
        match (self.min, self.max) {
            (Some(min), Some(max)) => (min, max),
            (Some(min), None) => (min, min * 3),
            (None, Some(max)) => (max / 3, max),
            (None, None) => {
                let min = (held / 12).max(self.avpkt * RedParams::LEAST_PACKETS);
                (min, (held / 4).max(min * 3))
            }
        }
    }

    fn packets(&self, size: Bytes) -> f64 {
        size.as_f64() / self.avpkt.as_f64()
    }

    /// What is left out is rounded down as tc does, but never so far that there is no weight.
    fn burst_packets(&self, min: Bytes, max: Bytes) -> f64 {
        self.burst.map_or_else(
            || {
                libm::floor((2.0 * self.packets(min) + self.packets(max)) / 3.0)
                    .max(libm::ceil(self.packets(min)))
            },
            f64::from,
        )
    }

    fn check_automatic(&self) -> Result<(), OutOfRange> {
        const SET: &str = "left out with `adaptive_auto`, which sets it";
        if self.delay_target.is_zero() {
            return Err(OutOfRange::new("delay_target", self.delay_target, "more than 0 s"));
        }
        for (key, size) in [("min", self.min), ("max", self.max)] {
            if let Some(size) = size {
                return Err(OutOfRange::new(key, size, SET));
            }
        }
        self.burst.map_or(Ok(()), |burst| Err(OutOfRange::new("burst", burst, SET)))
    }

    fn check_thresholds(&self) -> Result<(), OutOfRange> {
        let (min, max) = self.thresholds(RedParams::DEFAULT_LIMIT);
        match (self.min, self.max, self.burst) {
            (_, Some(max), _) if max <= min => return Err(OutOfRange::new("max", max, "more than `min`")),
            (Some(min), _, _) if min <= self.avpkt => {
                return Err(OutOfRange::new("min", min, "more than one packet of `avpkt`"));
            }
            (None, Some(max), _) if min <= self.avpkt => {
                return Err(OutOfRange::new("max", max, "more than three packets of `avpkt`"));
            }
            (None, None, Some(burst)) => {
                return Err(OutOfRange::new("burst", burst, "left out where `min` and `max` are"));
            }
            _ => {}
        }
        if weight(self.packets(min), self.burst_packets(min, max)).is_none() {
            let burst = self.burst_packets(min, max);
            return Err(OutOfRange::new(
                "burst",
                burst,
                "`min / avpkt` or more, and not too many for a weight of 2^-31",
            ));
        }
        Ok(())
    }
}

/// The largest weight 2^-n with which the average of a queue that grows from nothing by `burst` packets stays below
/// `min` packets, by up to one (Floyd and Jacobson, section 6.1; tc's `tc_red_eval_ewma`). Linux shifts by n, from 1 to
/// 31.
pub(crate) fn weight(min: f64, burst: f64) -> Option<f64> {
    let left = burst + 1.0 - min;
    if left < 1.0 {
        return None;
    }
    (1..32).map(|n| 1.0 / f64::from(1_u32 << n)).find(|w| left <= (1.0 - libm::pow(1.0 - w, burst)) / w)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "powers of two are exact")]
mod tests {
    use super::*;

    const MIN: Option<Bytes> = Some(Bytes::new(30_000));
    const MAX: Option<Bytes> = Some(Bytes::new(90_000));

    fn band(params: &RedParams, limit: Limit) -> (f64, f64, f64) {
        assert_eq!(params.check(), Ok(()));
        let Band { min, max, weight } = params.band(limit);
        (min, max, 1.0 / weight)
    }

    /// The test point of spec/queues-and-signalling section 3, which is the example of tc's manual page: shift 5. By
    /// hand: 55 + 1 - 30 = 26; (1 - (31/32)^55) * 32 = 26.42, and with 16 in place of 32 it is 15.54.
    #[test]
    fn test_point() {
        let params = RedParams { min: MIN, max: MAX, burst: Some(55), ..RedParams::default() };
        assert_eq!(band(&params, RedParams::DEFAULT_LIMIT), (30_000.0, 90_000.0, 32.0));
    }

    /// The paper's own example (section 6.1): for a burst of 50 packets with `min` 5 packets the weight is at most
    /// 0.0042, rounded. tc counts up to a packet more, and so takes 2^-9, near the 0.002 of the paper's simulations.
    #[test]
    fn example_of_the_paper() {
        let average = |w: f64| 50.0 + 1.0 + (libm::pow(1.0 - w, 51.0) - 1.0) / w;
        assert!(average(0.004_15) < 5.0 && average(0.004_25) > 5.0);
        assert_eq!(weight(5.0, 50.0), Some(1.0 / 512.0));
    }

    /// tc's defaults: `max` a quarter of the limit, `min` a third of that; or one from the other; the burst is
    /// (2 min + max) / (3 avpkt): (66.7 + 100) / 3 = 55 packets, 55 + 1 - 33.3 = 22.7 <= 26.4, not 15.5.
    #[test]
    fn defaults() {
        let plain = RedParams::default();
        assert_eq!(band(&plain, RedParams::DEFAULT_LIMIT), (33_333.0, 100_000.0, 32.0));
        assert_eq!(band(&plain, Limit::Packets(400)), band(&plain, RedParams::DEFAULT_LIMIT));
        for limit in [Limit::Unlimited, Limit::Time(Duration::from_millis(1))] {
            assert_eq!(band(&plain, limit), band(&plain, RedParams::DEFAULT_LIMIT));
        }
        let of = |min, max| band(&RedParams { min, max, ..RedParams::default() }, Limit::Packets(1));
        assert_eq!((of(MIN, None), of(None, MAX)), (of(MIN, MAX), of(MIN, MAX)));
        // Five packets at least.
        assert_eq!(band(&plain, Limit::Bytes(Bytes::ZERO)), (5_000.0, 15_000.0, 8.0));
    }

    /// Adaptive RED's own numbers: 15 Mbit/s and 1000 B are 1875 packets/s; 5 ms of them are 9.4 kB, so that `min` is
    /// five packets; at 100 Mbit/s it is 31.25 kB. The weight is about 1/C.
    #[test]
    fn automatic() {
        let auto = RedParams { adaptive_auto: true, ..RedParams::default() };
        assert_eq!(auto.check(), Ok(()));
        let slow = auto.automatic_band(Rate::from_mbps(15));
        assert_eq!((slow.min, slow.max), (5_000.0, 15_000.0));
        assert!((slow.weight - 1.0 / 1_875.5).abs() < 1e-9, "{}", slow.weight);
        let fast = auto.automatic_band(Rate::from_mbps(100));
        assert_eq!((fast.min, fast.max), (31_250.0, 93_750.0));
    }

    /// Every burst for which there is a weight keeps the average of a growing queue below `min`, and twice the weight
    /// does not (or is none): the average is computed packet by packet.
    #[test]
    fn weight_lets_the_burst_pass() {
        let average =
            |w: f64, burst: u32| (1..=burst).fold(0.0, |avg, queued| avg + w * (f64::from(queued) - avg));
        let mut bursts = 0;
        for min in [2.0, 5.0, 12.5, 30.0, 200.0] {
            for burst in [1, 2, 6, 13, 31, 55, 200, 600, 3_000] {
                let Some(w) = weight(min, f64::from(burst)) else {
                    assert!(f64::from(burst) < min);
                    continue;
                };
                bursts += 1;
                // tc's bound is this average and `(1 - w)^burst`.
                let bound = |w: f64| average(w, burst) + libm::pow(1.0 - w, f64::from(burst));
                assert!(bound(w) <= min + 1e-9, "{min} {burst} {w}");
                assert!(w == 0.5 || bound(2.0 * w) > min - 1e-9, "{min} {burst} {w}");
            }
        }
        assert!(bursts > 25);
    }
}
