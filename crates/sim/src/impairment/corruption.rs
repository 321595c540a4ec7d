//! Damage: a packet goes on, is queued and takes its time on every wire, and is discarded where it arrives: the checksums
//! of IP and TCP are taken to find every error (the Internet checksum misses some; RFC 3819 section 15).

use windtunnel_wire::Packet;

use super::params::CorruptionParams;
use crate::random::Random;

/// Damages packets.
#[derive(Debug)]
pub(super) struct Corruption {
    params: CorruptionParams,
    random: Random,
}

impl Corruption {
    pub(super) fn new(params: CorruptionParams, seed: u64) -> Corruption {
        Corruption { params, random: Random::new(seed) }
    }

    pub(super) fn pass(&mut self, mut packet: Packet, corrupted: &mut u64) -> Packet {
        if self.params.affects.includes(&packet) && self.random.chance(self.params.probability) {
            packet.options.get_or_insert_default().corrupted = true;
            *corrupted += 1;
        }
        packet
    }
}
