//! The parameters of impairments, as scenarios have them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_units::{Duration, OutOfRange, Probability, Time};

/// Which packets an impairment concerns; it neither counts the others nor draws for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Affects {
    /// Every packet.
    #[default]
    All,
    /// Packets with payload: neither handshakes nor pure ACKs.
    Data,
    /// Packets without payload.
    Acks,
}

/// Nothing passes at certain times: a handover, a tunnel, a link that is down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6349; netem"))]
pub struct OutageParams {
    /// When, in order of time and apart from each other.
    pub times: Vec<OutageTime>,
    /// Packets wait until the outage ends, and then leave together, instead of being lost.
    pub hold: bool,
}

/// One outage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutageTime {
    /// From this time on.
    pub from: Time,
    /// Up to, not including, this time.
    pub to: Time,
}

impl OutageParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        let mut end = Time::ZERO;
        for outage in &self.times {
            if outage.from >= outage.to {
                return Err(OutOfRange::new("times", outage.from, "outages that end after they begin"));
            }
            if outage.from < end {
                return Err(OutOfRange::new(
                    "times",
                    outage.from,
                    "outages in order of time, apart from each other",
                ));
            }
            end = outage.to;
        }
        Ok(())
    }
}

/// Few of the pure ACKs pass, as behind asymmetric links that thin them. ACKs with SACK blocks, of the handshake, or that
/// begin or end an echo of CE, are never dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3449 section 5.2"))]
pub struct AckThinningParams {
    /// One of so many pure ACKs of a flow passes: the last of each group.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    pub keep_every: u32,
    /// An ACK that is not followed by another one within this time passes all the same; if left out, the last ACKs of a
    /// burst may be dropped, and the sender's timer has to find out.
    pub flush: Option<Duration>,
}

impl Default for AckThinningParams {
    fn default() -> AckThinningParams {
        AckThinningParams { keep_every: 2, flush: Some(Duration::from_millis(5)) }
    }
}

impl AckThinningParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        match self.flush {
            _ if self.keep_every == 0 => Err(OutOfRange::new("keep_every", 0, "1 or more")),
            Some(flush) if flush.is_zero() => Err(OutOfRange::new("flush", flush, "more than 0 s")),
            _ => Ok(()),
        }
    }
}

/// Independent losses (Bernoulli).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct LossParams {
    /// The probability that a packet is lost.
    pub probability: Probability,
    /// Which packets may be lost.
    pub affects: Affects,
}

impl Default for LossParams {
    fn default() -> LossParams {
        LossParams { probability: Probability::clamped(0.01), affects: Affects::All }
    }
}

/// Losses in bursts: a good and a bad state, between which the medium moves at every packet (Gilbert 1960, Elliott 1963).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Elliott, Estimates of Error Rates for Codes on Burst-Noise Channels, 1963; netem"))]
pub struct GilbertElliottParams {
    /// The probability of a move from good to bad, at each packet.
    pub p: Probability,
    /// The probability of a move from bad to good, at each packet: bursts last 1/r packets in the mean.
    pub r: Probability,
    /// The probability that a packet is lost in the good state.
    pub loss_good: Probability,
    /// The probability that a packet is lost in the bad state.
    pub loss_bad: Probability,
    /// Which packets may be lost.
    pub affects: Affects,
}

impl Default for GilbertElliottParams {
    fn default() -> GilbertElliottParams {
        GilbertElliottParams {
            p: Probability::clamped(0.002),
            r: Probability::clamped(0.2),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
            affects: Affects::All,
        }
    }
}

/// Every n-th packet is lost: the loss of response functions (RFC 5166).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "Floyd et al., Equation-Based Congestion Control, 2000"))]
pub struct PeriodicLossParams {
    /// The packet with this number, and with each multiple of it, is lost; the first packet has number 1.
    #[schemars(range(min = 2), extend("x-unit" = "packets"))]
    pub every: u64,
    /// Each flow's packets are counted apart.
    pub per_flow: bool,
    /// Which packets are counted and may be lost.
    pub affects: Affects,
}

impl Default for PeriodicLossParams {
    fn default() -> PeriodicLossParams {
        PeriodicLossParams { every: 1000, per_flow: true, affects: Affects::Data }
    }
}

impl PeriodicLossParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        if self.every < 2 {
            return Err(OutOfRange::new("every", self.every, "2 or more: else nothing passes"));
        }
        Ok(())
    }
}

/// Listed packets are lost: for tests and for teaching.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedLossParams {
    /// The numbers of the packets to lose, in order; the first packet has number 1. Retransmissions are counted too.
    #[schemars(extend("x-unit" = "packets"))]
    pub packets: Vec<u64>,
    /// Each flow's packets are counted apart.
    pub per_flow: bool,
    /// Which packets are counted and may be lost.
    pub affects: Affects,
}

impl ScriptedLossParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        check_listed(&self.packets)
    }
}

/// Packets are listed by number, in order.
fn check_listed(packets: &[u64]) -> Result<(), OutOfRange> {
    if packets.first() == Some(&0) {
        return Err(OutOfRange::new("packets", 0, "numbers from 1 on"));
    }
    match packets.windows(2).find(|pair| pair[0] >= pair[1]) {
        Some(pair) => Err(OutOfRange::new("packets", pair[1], "numbers in order, each once")),
        None => Ok(()),
    }
}

/// Packets are damaged: they travel on, and the receiver's checksum discards them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem; RFC 9293 section 3.1"))]
pub struct CorruptionParams {
    /// The probability that a packet is damaged.
    pub probability: Probability,
    /// Which packets may be damaged.
    pub affects: Affects,
}

impl Default for CorruptionParams {
    fn default() -> CorruptionParams {
        CorruptionParams { probability: Probability::clamped(0.001), affects: Affects::All }
    }
}

/// Packets arrive twice, one directly behind the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct DuplicationParams {
    /// The probability that a packet is duplicated.
    pub probability: Probability,
    /// Which packets may be duplicated.
    pub affects: Affects,
}

impl Default for DuplicationParams {
    fn default() -> DuplicationParams {
        DuplicationParams { probability: Probability::clamped(0.001), affects: Affects::All }
    }
}

/// Packets are collected and released together, as frame aggregation of 802.11 does (A-MPDU): order is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "IEEE 802.11-2020 section 10.12 (A-MPDU; PPDU of at most 5.484 ms)"))]
pub struct AggregationParams {
    /// The burst is released so long after its first packet came.
    pub hold: Duration,
    /// It is released at once when it has so many packets.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    pub packets: u32,
}

impl Default for AggregationParams {
    fn default() -> AggregationParams {
        AggregationParams { hold: Duration::from_micros(5_500), packets: 64 }
    }
}

impl AggregationParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        if self.hold.is_zero() {
            return Err(OutOfRange::new("hold", self.hold, "more than 0 s"));
        }
        if self.packets == 0 {
            return Err(OutOfRange::new("packets", self.packets, "1 or more"));
        }
        Ok(())
    }
}

/// A delay that varies from packet to packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct JitterParams {
    /// How it varies.
    pub distribution: JitterDistribution,
    /// The mean of the added delay, before it is cut at zero.
    pub mean: Duration,
    /// Uniform: the half width. Normal and Pareto: the standard deviation.
    pub deviation: Duration,
    /// A packet with a short delay overtakes others; if not, none leaves before those ahead of it have.
    pub reorder: bool,
}

/// How a delay varies. What falls below zero is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JitterDistribution {
    /// Not at all.
    Fixed,
    /// Evenly, from mean - deviation to mean + deviation.
    #[default]
    Uniform,
    /// Normally.
    Normal,
    /// Pareto (heavy tail above a least delay), with this mean and standard deviation.
    Pareto,
}

impl Default for JitterParams {
    fn default() -> JitterParams {
        JitterParams {
            distribution: JitterDistribution::default(),
            mean: Duration::from_millis(1),
            deviation: Duration::from_millis(1),
            reorder: false,
        }
    }
}

impl JitterParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        if self.distribution == JitterDistribution::Pareto
            && (self.mean.is_zero() || self.deviation.is_zero())
        {
            let (key, value) =
                if self.mean.is_zero() { ("mean", self.mean) } else { ("deviation", self.deviation) };
            return Err(OutOfRange::new(key, value, "more than 0 s for a Pareto distribution"));
        }
        Ok(())
    }
}

/// Some packets overtake others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "netem"))]
pub struct ReorderingParams {
    /// The share of packets that change their place.
    pub probability: Probability,
    /// How they do.
    pub mode: ReorderingMode,
    /// The delay that makes the difference.
    pub delay: Duration,
}

/// How packets change their place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReorderingMode {
    /// The chosen packets are late by `delay`; the others pass at once.
    #[default]
    Late,
    /// The chosen packets pass at once; all others are delayed by `delay` (netem).
    Early,
}

impl Default for ReorderingParams {
    fn default() -> ReorderingParams {
        ReorderingParams {
            probability: Probability::clamped(0.01),
            mode: ReorderingMode::default(),
            delay: Duration::from_millis(2),
        }
    }
}

impl ReorderingParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        if self.delay.is_zero() {
            return Err(OutOfRange::new("delay", self.delay, "more than 0 s"));
        }
        Ok(())
    }
}

/// Listed packets are overtaken: for tests and for teaching. One is held back until so many others have passed it, or for
/// a time, whichever is over first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 4737 section 4.2 (reordering extent)"))]
pub struct ScriptedReorderingParams {
    /// The numbers of the packets to hold back, in order; the first packet has number 1. Retransmissions are counted too.
    #[schemars(extend("x-unit" = "packets"))]
    pub packets: Vec<u64>,
    /// A listed packet leaves right after so many later ones have passed it; those that are held back themselves do not count.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    pub overtaken_by: Option<u32>,
    /// None is held longer than this; if left out, as long as it takes, which may be to the end.
    pub delay: Option<Duration>,
    /// Each flow's packets are counted apart, and only those overtake.
    pub per_flow: bool,
    /// Which packets are counted, may be held back, and overtake.
    pub affects: Affects,
}

impl ScriptedReorderingParams {
    pub(super) fn check(&self) -> Result<(), OutOfRange> {
        check_listed(&self.packets)?;
        match (self.overtaken_by, self.delay) {
            (None, None) if !self.packets.is_empty() => {
                Err(OutOfRange::new("overtaken_by", "nothing", "how many packets overtake; or give `delay`"))
            }
            (Some(0), _) => Err(OutOfRange::new("overtaken_by", 0, "1 or more")),
            (_, Some(delay)) if delay.is_zero() => Err(OutOfRange::new("delay", delay, "more than 0 s")),
            _ => Ok(()),
        }
    }
}
