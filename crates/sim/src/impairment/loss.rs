//! Losses: independent, in bursts, periodic, and scripted.
//!
//! Independent losses are Bernoulli trials. The Gilbert-Elliott model (Gilbert, "Capacity of a Burst-Noise Channel", 1960;
//! Elliott 1963) is a Markov chain of a good and a bad state with a loss probability in each; a packet meets the state
//! that the chain is in when it arrives, and then the chain moves. Its long-run share of bad packets is `p / (p + r)`,
//! bursts have the mean length `1 / r`.

use windtunnel_wire::Packet;

use super::counting::PacketCount;
use super::params::{Affects, GilbertElliottParams, LossParams, PeriodicLossParams, ScriptedLossParams};
use crate::random::Random;

/// Independent losses.
#[derive(Debug)]
pub(super) struct Loss {
    params: LossParams,
    random: Random,
}

impl Loss {
    pub(super) fn new(params: LossParams, seed: u64) -> Loss {
        Loss { params, random: Random::new(seed) }
    }

    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        self.params.affects.includes(packet) && self.random.chance(self.params.probability)
    }
}

/// Losses in bursts.
#[derive(Debug)]
pub(super) struct GilbertElliott {
    params: GilbertElliottParams,
    random: Random,
    bad: bool,
}

impl GilbertElliott {
    /// The medium is in its good state at first.
    pub(super) fn new(params: GilbertElliottParams, seed: u64) -> GilbertElliott {
        GilbertElliott { params, random: Random::new(seed), bad: false }
    }

    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        let GilbertElliottParams { p, r, loss_good, loss_bad, affects } = self.params;
        if !affects.includes(packet) {
            return false;
        }
        let (loss, moves) = if self.bad { (loss_bad, r) } else { (loss_good, p) };
        let lost = self.random.chance(loss);
        self.bad ^= self.random.chance(moves);
        lost
    }
}

/// Every n-th packet is lost.
#[derive(Debug)]
pub(super) struct PeriodicLoss {
    every: u64,
    affects: Affects,
    count: PacketCount,
}

impl PeriodicLoss {
    pub(super) fn new(params: &PeriodicLossParams) -> PeriodicLoss {
        PeriodicLoss {
            every: params.every,
            affects: params.affects,
            count: PacketCount::new(params.per_flow),
        }
    }

    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        self.affects.includes(packet) && self.count.next(packet.flow).is_multiple_of(self.every)
    }
}

/// Listed packets are lost.
#[derive(Debug)]
pub(super) struct ScriptedLoss {
    params: ScriptedLossParams,
    count: PacketCount,
}

impl ScriptedLoss {
    pub(super) fn new(params: ScriptedLossParams) -> ScriptedLoss {
        ScriptedLoss { count: PacketCount::new(params.per_flow), params }
    }

    pub(super) fn loses(&mut self, packet: &Packet) -> bool {
        self.params.affects.includes(packet)
            && self.params.packets.binary_search(&self.count.next(packet.flow)).is_ok()
    }
}
