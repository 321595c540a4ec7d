//! PIE's parameters, and where its two descriptions differ ([`super::pie`]).
//!
//! Names and defaults are tc's (`tc-pie`); where Linux has a constant and the RFC another, or a choice, there is a
//! parameter beyond tc's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_units::{Bytes, Duration, OutOfRange, Probability};

use super::timer_wheel::WheelTimer;
use crate::aqm::Pie;
use crate::ecn::EcnMode;
use crate::limit::Limit;
use crate::params::{AqmInit, BuildAqm, QueuePlace};

/// The description of PIE to follow where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PieVariant {
    /// Linux: the delay of the last departure is compared with half of the target, a queue of fewer than 2 MTU is too
    /// short to drop from, p rises by 0.02 per update above 250 ms and is not bounded by 1, p decays by 1/64 in idle
    /// time, and the first update is after half a second. Updates are made by a timer of the kernel, which rounds up to
    /// the ticks after them: every 16 ms with `HZ` 1000, every 20 ms with 250.
    #[default]
    Linux,
    /// RFC 8033: the delay at the last update is compared, a queue of 2 MTU is too short too, p does not rise faster
    /// above 250 ms, p decays by 0.02, and the first update is after `tupdate`.
    Rfc,
}

/// How the burst allowance runs out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PieBurstMode {
    /// By the time between departures.
    #[default]
    Linux,
    /// By `tupdate` at each update.
    Rfc,
}

/// How a probability becomes signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PieRandom {
    /// Coins, tossed only when the probabilities since the last signal add up to 0.85 (RFC 8033 section 5.4).
    #[default]
    Derandomized,
    /// A coin for each packet (RFC 8033 section 4.1).
    Coin,
    /// None: a signal whenever the probabilities add up to more than 1 (RFC 9332 appendix A).
    Recur,
}

/// PIE's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 8033; Linux sch_pie", "x-title" = "PIE", "x-traits" = ["target"]))]
#[expect(clippy::struct_excessive_bools, reason = "tc's switches, independent of each other")]
pub struct PieParams {
    /// Whether to follow the RFC or Linux where they differ.
    pub variant: PieVariant,
    /// The queueing delay at which the queue is held.
    pub target: Duration,
    /// How often the drop probability is updated.
    pub tupdate: Duration,
    /// The kernel's tick, to which Linux's timer rounds: 1 ms with `HZ` 1000, 4 ms with 250. The RFC's timer is exact.
    pub tick: Duration,
    /// The gain of the distance from the target, in 1/16 Hz.
    pub alpha: f64,
    /// The gain of the change of the delay, in 1/16 Hz.
    pub beta: f64,
    /// Whether packets that understand CE are marked; if not, all are dropped.
    pub ecn: bool,
    /// The drop probability above which packets are dropped even with `ecn`.
    pub ecn_prob: Probability,
    /// How long a burst passes without drops after idle time.
    pub max_burst: Duration,
    /// How the burst allowance runs out.
    pub burst_mode: PieBurstMode,
    /// Whether the probability is proportionally lower for packets shorter than `mtu`.
    pub bytemode: bool,
    /// The longest packet with its overhead: a queue of twice this length is too short to drop from. Linux uses 1514 B
    /// on Ethernet.
    pub mtu: Bytes,
    /// Whether the delay is estimated from the departure rate instead of measured.
    pub dq_rate_estimator: bool,
    /// How a probability becomes signals.
    pub random: PieRandom,
    /// Whether, as in Linux (`pie_drop_early`), the sum of probabilities is kept when it forced a mark, so that the
    /// next packet is signalled too.
    pub linux_exact: bool,
}

impl Default for PieParams {
    fn default() -> PieParams {
        PieParams {
            variant: PieVariant::default(),
            target: Duration::from_millis(15),
            tupdate: Duration::from_millis(15),
            tick: WheelTimer::TICK,
            alpha: 2.0,
            beta: 20.0,
            ecn: false,
            ecn_prob: Probability::clamped(0.1),
            max_burst: Duration::from_millis(150),
            burst_mode: PieBurstMode::default(),
            bytemode: false,
            mtu: Bytes::new(1_500),
            dq_rate_estimator: false,
            random: PieRandom::default(),
            linux_exact: true,
        }
    }
}

impl Params for PieParams {
    const NAME: &'static str = "pie";
    const SUMMARY: &'static str =
        "Proportional Integral controller Enhanced: drops or marks on enqueue, towards a target delay";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, span) in [("target", self.target), ("tupdate", self.tupdate)] {
            if span.is_zero() {
                return Err(OutOfRange::new(key, span, "more than 0 s"));
            }
        }
        WheelTimer::check(self.tick)?;
        if self.variant == PieVariant::Rfc && self.tick != WheelTimer::TICK {
            return Err(OutOfRange::new(
                "tick",
                self.tick,
                "left out with variant = \"rfc\", whose timer is exact",
            ));
        }
        for (key, gain) in [("alpha", self.alpha), ("beta", self.beta)] {
            if !(0.0..=32.0).contains(&gain) {
                return Err(OutOfRange::new(key, gain, "from 0 to 32, in 1/16 Hz"));
            }
        }
        if self.mtu == Bytes::ZERO {
            return Err(OutOfRange::new("mtu", self.mtu, "more than 0 B"));
        }
        Ok(())
    }
}

impl BuildAqm for PieParams {
    type Aqm = Pie;

    const LIMIT: Limit = PieParams::DEFAULT_LIMIT;

    /// Linux's.
    const ECN_MODE: EcnMode = EcnMode::Rfc3168;

    fn placed(self, place: &QueuePlace, is_given: &dyn Fn(&str) -> bool) -> Self {
        let mtu = if is_given("mtu") { self.mtu } else { self.mtu + place.overhead };
        Self { mtu, ..self }
    }

    fn aqm(&self, init: &AqmInit) -> Pie {
        Pie::new(self.clone(), init)
    }

    fn target(&self) -> Option<Duration> {
        Some(self.target)
    }
}

impl PieParams {
    /// Linux's limit.
    pub(crate) const DEFAULT_LIMIT: Limit = Limit::Packets(1_000);
}
