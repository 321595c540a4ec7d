//! What a medium does to packets, as data: a name, its parameters, and what is built from them.
//!
//! Where several work on one way, each is a hop of its own, in the order of [`ImpairmentConfig::stage`].

use windtunnel_units::OutOfRange;

use super::params::{
    AckThinningParams, AggregationParams, CorruptionParams, DuplicationParams, GilbertElliottParams,
    JitterParams, LossParams, OutageParams, PeriodicLossParams, ReorderingParams, ScriptedLossParams,
    ScriptedReorderingParams,
};

/// An impairment with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ImpairmentConfig {
    /// Nothing passes at certain times.
    Outage(OutageParams),
    /// Few of the pure ACKs pass.
    AckThinning(AckThinningParams),
    /// Independent losses (Bernoulli).
    Loss(LossParams),
    /// Losses in bursts (Gilbert-Elliott).
    GilbertElliott(GilbertElliottParams),
    /// Every n-th packet is lost.
    PeriodicLoss(PeriodicLossParams),
    /// Listed packets are lost.
    ScriptedLoss(ScriptedLossParams),
    /// Packets are damaged.
    Corruption(CorruptionParams),
    /// Packets arrive twice.
    Duplication(DuplicationParams),
    /// Packets are released in bursts.
    Aggregation(AggregationParams),
    /// A delay that varies.
    Jitter(JitterParams),
    /// Some packets overtake others.
    Reordering(ReorderingParams),
    /// Listed packets are overtaken.
    ScriptedReordering(ScriptedReorderingParams),
}

impl ImpairmentConfig {
    /// Its place where several combine on one way, least first: whether there is a medium at all, what enters it, what it
    /// loses, damages or doubles, and when it delivers. Those of one stage keep the order in which they are written.
    pub const fn stage(&self) -> u8 {
        match self {
            ImpairmentConfig::Outage(_) => 0,
            ImpairmentConfig::AckThinning(_) => 1,
            ImpairmentConfig::Loss(_)
            | ImpairmentConfig::GilbertElliott(_)
            | ImpairmentConfig::PeriodicLoss(_)
            | ImpairmentConfig::ScriptedLoss(_) => 2,
            ImpairmentConfig::Corruption(_) => 3,
            ImpairmentConfig::Duplication(_) => 4,
            ImpairmentConfig::Aggregation(_) => 5,
            ImpairmentConfig::Jitter(_) => 6,
            ImpairmentConfig::Reordering(_) | ImpairmentConfig::ScriptedReordering(_) => 7,
        }
    }

    /// Its name, as in scenarios and results.
    pub const fn kind(&self) -> &'static str {
        match self {
            ImpairmentConfig::Outage(_) => "outage",
            ImpairmentConfig::AckThinning(_) => "ack-thinning",
            ImpairmentConfig::Loss(_) => "loss",
            ImpairmentConfig::GilbertElliott(_) => "gilbert-elliott",
            ImpairmentConfig::PeriodicLoss(_) => "periodic-loss",
            ImpairmentConfig::ScriptedLoss(_) => "scripted-loss",
            ImpairmentConfig::Corruption(_) => "corruption",
            ImpairmentConfig::Duplication(_) => "duplication",
            ImpairmentConfig::Aggregation(_) => "aggregation",
            ImpairmentConfig::Jitter(_) => "jitter",
            ImpairmentConfig::Reordering(_) => "reordering",
            ImpairmentConfig::ScriptedReordering(_) => "scripted-reordering",
        }
    }

    /// True if no packet overtakes another, or comes twice: what loss-free endpoints rely on.
    pub const fn keeps_order(&self) -> bool {
        match self {
            ImpairmentConfig::Duplication(_)
            | ImpairmentConfig::Reordering(_)
            | ImpairmentConfig::ScriptedReordering(_) => false,
            ImpairmentConfig::Jitter(params) => !params.reorder,
            ImpairmentConfig::Outage(_)
            | ImpairmentConfig::AckThinning(_)
            | ImpairmentConfig::Loss(_)
            | ImpairmentConfig::GilbertElliott(_)
            | ImpairmentConfig::PeriodicLoss(_)
            | ImpairmentConfig::ScriptedLoss(_)
            | ImpairmentConfig::Corruption(_)
            | ImpairmentConfig::Aggregation(_) => true,
        }
    }

    /// Whether the parameters are within what the impairment is defined for.
    pub fn check(&self) -> Result<(), OutOfRange> {
        match self {
            ImpairmentConfig::Outage(params) => params.check(),
            ImpairmentConfig::AckThinning(params) => params.check(),
            ImpairmentConfig::Loss(_)
            | ImpairmentConfig::GilbertElliott(_)
            | ImpairmentConfig::Corruption(_)
            | ImpairmentConfig::Duplication(_) => Ok(()),
            ImpairmentConfig::PeriodicLoss(params) => params.check(),
            ImpairmentConfig::ScriptedLoss(params) => params.check(),
            ImpairmentConfig::Aggregation(params) => params.check(),
            ImpairmentConfig::Jitter(params) => params.check(),
            ImpairmentConfig::Reordering(params) => params.check(),
            ImpairmentConfig::ScriptedReordering(params) => params.check(),
        }
    }
}
