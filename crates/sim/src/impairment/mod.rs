//! What a medium does to packets outside of queues: hops that lose, damage, double, delay or reorder them.
//!
//! A hop either lets a packet pass at once, or holds it and names one time at which it will release packets: each takes
//! one place among the event sources. Those that keep order hold packets in a ring, those that do not in a heap by due
//! time or, if what passes meanwhile releases them, in a list. Each has its own random stream, and draws for every packet
//! that it concerns, needed or not, so that what one packet meets does not shift what later ones draw.

mod aggregation;
mod config;
mod corruption;
mod counting;
mod due;
mod duplication;
mod jitter;
mod loss;
mod outage;
mod params;
mod reordering;
mod scripted_reordering;
mod thinning;

pub use config::ImpairmentConfig;
pub use params::{
    AckThinningParams, Affects, AggregationParams, CorruptionParams, DuplicationParams, GilbertElliottParams,
    JitterDistribution, JitterParams, LossParams, OutageParams, OutageTime, PeriodicLossParams,
    ReorderingMode, ReorderingParams, ScriptedLossParams, ScriptedReorderingParams,
};

use aggregation::Aggregation;
use corruption::Corruption;
use duplication::Duplication;
use jitter::Jitter;
use loss::{GilbertElliott, Loss, PeriodicLoss, ScriptedLoss};
use outage::Outage;
use reordering::Reordering;
use scripted_reordering::ScriptedReordering;
use thinning::AckThinning;
use windtunnel_units::{Bytes, Time};
use windtunnel_wire::Packet;

use crate::network::ImpairmentSpec;

/// What becomes of a packet that enters an impairment.
#[derive(Debug)]
pub(crate) enum Passage {
    /// It goes on.
    On(Packet),
    /// It goes on twice.
    Twice(Packet, Packet),
    /// It is lost.
    Lost(Packet),
    /// It will be released later.
    Held,
    /// It goes on, or is held if it is not here, and one that was held is lost for it.
    Replacing(Option<Packet>, Packet),
}

/// Counters of an impairment. `arrived + duplicated = passed + lost + held` in packets, at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImpairmentStats {
    pub(crate) arrived: u64,
    pub(crate) passed: u64,
    pub(crate) lost: u64,
    pub(crate) corrupted: u64,
    pub(crate) duplicated: u64,
    pub(crate) reordered: u64,
    pub(crate) bursts: u64,
}

/// An impairment of the network.
#[derive(Debug)]
pub(crate) struct Impairment {
    kind: Kind,
    stats: ImpairmentStats,
}

#[derive(Debug)]
enum Kind {
    Outage(Outage),
    AckThinning(AckThinning),
    Loss(Loss),
    GilbertElliott(GilbertElliott),
    PeriodicLoss(PeriodicLoss),
    ScriptedLoss(ScriptedLoss),
    Corruption(Corruption),
    Duplication(Duplication),
    Aggregation(Aggregation),
    Jitter(Jitter),
    Reordering(Reordering),
    ScriptedReordering(ScriptedReordering),
}

impl Impairment {
    /// # Panics
    /// If [`ImpairmentConfig::check`] finds fault.
    pub(crate) fn new(spec: &ImpairmentSpec) -> Impairment {
        if let Err(error) = spec.config.check() {
            panic!("{}: {error}", spec.name);
        }
        let seed = spec.seed;
        let kind = match spec.config.clone() {
            ImpairmentConfig::Outage(params) => Kind::Outage(Outage::new(params)),
            ImpairmentConfig::AckThinning(params) => Kind::AckThinning(AckThinning::new(params)),
            ImpairmentConfig::Loss(params) => Kind::Loss(Loss::new(params, seed)),
            ImpairmentConfig::GilbertElliott(params) => {
                Kind::GilbertElliott(GilbertElliott::new(params, seed))
            }
            ImpairmentConfig::PeriodicLoss(params) => Kind::PeriodicLoss(PeriodicLoss::new(&params)),
            ImpairmentConfig::ScriptedLoss(params) => Kind::ScriptedLoss(ScriptedLoss::new(params)),
            ImpairmentConfig::Corruption(params) => Kind::Corruption(Corruption::new(params, seed)),
            ImpairmentConfig::Duplication(params) => Kind::Duplication(Duplication::new(params, seed)),
            ImpairmentConfig::Aggregation(params) => Kind::Aggregation(Aggregation::new(params)),
            ImpairmentConfig::Jitter(params) => Kind::Jitter(Jitter::new(&params, seed)),
            ImpairmentConfig::Reordering(params) => Kind::Reordering(Reordering::new(params, seed)),
            ImpairmentConfig::ScriptedReordering(params) => {
                Kind::ScriptedReordering(ScriptedReordering::new(params))
            }
        };
        Impairment { kind, stats: ImpairmentStats::default() }
    }

    /// A packet enters.
    pub(crate) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        let stats = &mut self.stats;
        stats.arrived += 1;
        let passage = match &mut self.kind {
            Kind::Outage(outage) => outage.enter(packet, now),
            Kind::AckThinning(thinning) => thinning.enter(packet, now),
            Kind::Loss(loss) => lost_if(loss.loses(&packet), packet),
            Kind::GilbertElliott(loss) => lost_if(loss.loses(&packet), packet),
            Kind::PeriodicLoss(loss) => lost_if(loss.loses(&packet), packet),
            Kind::ScriptedLoss(loss) => lost_if(loss.loses(&packet), packet),
            Kind::Corruption(corruption) => Passage::On(corruption.pass(packet, &mut stats.corrupted)),
            Kind::Duplication(duplication) => duplication.enter(packet),
            Kind::Aggregation(aggregation) => aggregation.enter(packet, now),
            Kind::Jitter(jitter) => jitter.enter(packet, now),
            Kind::Reordering(reordering) => reordering.enter(packet, now),
            Kind::ScriptedReordering(reordering) => reordering.enter(packet, now),
        };
        match &passage {
            Passage::On(_) => stats.passed += 1,
            Passage::Twice(..) => {
                stats.passed += 2;
                stats.duplicated += 1;
            }
            Passage::Lost(_) => stats.lost += 1,
            Passage::Held => {}
            Passage::Replacing(passed, _) => {
                stats.passed += u64::from(passed.is_some());
                stats.lost += 1;
            }
        }
        passage
    }

    /// When [`Impairment::release`] has something, at the latest from what is held now.
    pub(crate) fn next_release(&self) -> Time {
        match &self.kind {
            Kind::Outage(outage) => outage.next_release(),
            Kind::AckThinning(thinning) => thinning.next_release(),
            Kind::Aggregation(aggregation) => aggregation.next_release(),
            Kind::Jitter(jitter) => jitter.next_release(),
            Kind::Reordering(reordering) => reordering.next_release(),
            Kind::ScriptedReordering(reordering) => reordering.next_release(),
            Kind::Loss(_)
            | Kind::GilbertElliott(_)
            | Kind::PeriodicLoss(_)
            | Kind::ScriptedLoss(_)
            | Kind::Corruption(_)
            | Kind::Duplication(_) => Time::NEVER,
        }
    }

    /// The next packet that is due; call until there is none.
    pub(crate) fn release(&mut self, now: Time) -> Option<Packet> {
        let stats = &mut self.stats;
        let packet = match &mut self.kind {
            Kind::Outage(outage) => outage.release(now),
            Kind::AckThinning(thinning) => thinning.release(now),
            Kind::Aggregation(aggregation) => aggregation.release(now, &mut stats.bursts),
            Kind::Jitter(jitter) => jitter.release(now, &mut stats.reordered),
            Kind::Reordering(reordering) => reordering.release(now, &mut stats.reordered),
            Kind::ScriptedReordering(reordering) => reordering.release(now, &mut stats.reordered),
            Kind::Loss(_)
            | Kind::GilbertElliott(_)
            | Kind::PeriodicLoss(_)
            | Kind::ScriptedLoss(_)
            | Kind::Corruption(_)
            | Kind::Duplication(_) => None,
        };
        stats.passed += u64::from(packet.is_some());
        packet
    }

    pub(crate) const fn stats(&self) -> &ImpairmentStats {
        &self.stats
    }

    /// Packets held now.
    pub(crate) const fn held(&self) -> u64 {
        self.stats.arrived + self.stats.duplicated - self.stats.passed - self.stats.lost
    }
}

impl Affects {
    /// True for a packet of this class.
    fn includes(self, packet: &Packet) -> bool {
        match self {
            Affects::All => true,
            Affects::Data => packet.payload() > Bytes::ZERO,
            Affects::Acks => packet.payload() == Bytes::ZERO,
        }
    }
}

fn lost_if(lost: bool, packet: Packet) -> Passage {
    if lost { Passage::Lost(packet) } else { Passage::On(packet) }
}

#[cfg(test)]
mod tests;
