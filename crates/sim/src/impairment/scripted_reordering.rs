//! Listed packets that are overtaken: each by so many of those that follow it, or by all that come within a time.
//!
//! A packet that n others overtake has a reordering extent of n (RFC 4737 section 4.2), which is what a sender sees as n
//! duplicate ACKs, or n segments above it by SACK.

use std::collections::VecDeque;

use windtunnel_units::Time;
use windtunnel_wire::{FlowId, Packet};

use super::Passage;
use super::counting::PacketCount;
use super::due::Order;
use super::params::ScriptedReorderingParams;

/// Holds listed packets back.
#[derive(Debug)]
pub(super) struct ScriptedReordering {
    params: ScriptedReorderingParams,
    count: PacketCount,
    /// All packets that came.
    arrived: u64,
    /// Packets held back, in the order in which they came.
    held: VecDeque<Held>,
    /// Packets on their way out, with their numbers by arrival. Also those that are not held back pass through here, so
    /// that one that is leaves right behind the last that overtakes it, whatever else comes in that nanosecond.
    leaving: VecDeque<(u64, Packet)>,
    /// When the last of these came to leave.
    leaving_since: Time,
    order: Order,
}

#[derive(Debug)]
struct Held {
    number: u64,
    packet: Packet,
    /// How many have passed it.
    overtaken: u32,
    /// When it leaves at the latest.
    until: Time,
}

impl ScriptedReordering {
    pub(super) fn new(params: ScriptedReorderingParams) -> ScriptedReordering {
        ScriptedReordering {
            count: PacketCount::new(params.per_flow),
            params,
            arrived: 0,
            held: VecDeque::new(),
            leaving: VecDeque::new(),
            leaving_since: Time::ZERO,
            order: Order::default(),
        }
    }

    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
        let number = self.arrived;
        self.arrived += 1;
        let counted = self.params.affects.includes(&packet);
        if counted && self.params.packets.binary_search(&self.count.next(packet.flow)).is_ok() {
            let until = self.params.delay.map_or(Time::NEVER, |delay| now + delay);
            self.held.push_back(Held { number, packet, overtaken: 0, until });
        } else {
            let flow = packet.flow;
            self.leave(number, packet, now);
            if counted {
                self.overtake(flow, now);
            }
        }
        Passage::Held
    }

    /// A packet of `flow` has passed all that are held back; some have been overtaken often enough.
    fn overtake(&mut self, flow: FlowId, now: Time) {
        for held in &mut self.held {
            held.overtaken += u32::from(!self.params.per_flow || held.packet.flow == flow);
        }
        let Some(enough) = self.params.overtaken_by else { return };
        while let Some(at) = self.held.iter().position(|held| held.overtaken >= enough) {
            self.leave_held(at, now);
        }
    }

    fn leave_held(&mut self, at: usize, now: Time) {
        if let Some(Held { number, packet, .. }) = self.held.remove(at) {
            self.leave(number, packet, now);
        }
    }

    fn leave(&mut self, number: u64, packet: Packet, now: Time) {
        self.leaving.push_back((number, packet));
        self.leaving_since = now;
    }

    pub(super) fn next_release(&self) -> Time {
        if self.leaving.is_empty() {
            // All are held for the same time: the first that came is the first to leave.
            self.held.front().map_or(Time::NEVER, |held| held.until)
        } else {
            self.leaving_since
        }
    }

    pub(super) fn release(&mut self, now: Time, reordered: &mut u64) -> Option<Packet> {
        while self.held.front().is_some_and(|held| held.until <= now) {
            self.leave_held(0, now);
        }
        let (number, packet) = self.leaving.pop_front()?;
        *reordered += u64::from(self.order.leaves(number));
        Some(packet)
    }
}
