//! Packets that arrive twice, one directly behind the other.

use windtunnel_wire::Packet;

use super::Passage;
use super::params::DuplicationParams;
use crate::random::Random;

/// Duplicates packets.
#[derive(Debug)]
pub(super) struct Duplication {
    params: DuplicationParams,
    random: Random,
}

impl Duplication {
    pub(super) fn new(params: DuplicationParams, seed: u64) -> Duplication {
        Duplication { params, random: Random::new(seed) }
    }

    pub(super) fn enter(&mut self, packet: Packet) -> Passage {
        if self.params.affects.includes(&packet) && self.random.chance(self.params.probability) {
            let copy = packet.duplicate();
            return Passage::Twice(packet, copy);
        }
        Passage::On(packet)
    }
}
