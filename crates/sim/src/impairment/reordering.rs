//! Packets that overtake others: a share of them is late, or a share is early because all others wait (netem's `reorder`).

use windtunnel_units::Time;
use windtunnel_wire::Packet;

use super::Passage;
use super::due::ByTime;
use super::params::{ReorderingMode, ReorderingParams};
use crate::random::Random;

/// Changes the place of some packets.
#[derive(Debug)]
pub(super) struct Reordering {
    params: ReorderingParams,
    random: Random,
    held: ByTime,
}

impl Reordering {
    pub(super) fn new(params: ReorderingParams, seed: u64) -> Reordering {
        Reordering { params, random: Random::new(seed), held: ByTime::default() }
    }

    /// Also packets that go on at once take their place in the heap: it is the heap that knows what overtook what.
    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        let chosen = self.random.chance(self.params.probability);
        let late = chosen == (self.params.mode == ReorderingMode::Late);
        self.held.enter(packet, if late { now + self.params.delay } else { now })
    }

    pub(super) fn next_release(&self) -> Time {
        self.held.next_due()
    }

    pub(super) fn release(&mut self, now: Time, reordered: &mut u64) -> Option<Packet> {
        self.held.release(now, reordered)
    }
}
