//! Listed packets that are overtaken, each by a number of the packets that follow it, or by all that arrive within a
//! time.
//!
//! A packet that n others overtake has a reordering extent of n (RFC 4737 section 4.2), which is what a sender sees as n
//! duplicate ACKs, or n segments above it by SACK.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::{FlowId, Packet};

use super::counting::{PacketCount, check_numbers};
use super::due::Order;
use super::{Affects, Element, ElementParams, Passage, Stage, Tally};

/// Listed packets are overtaken: for tests and for teaching. A packet is held back until a number of others have
/// passed it, or for a time, whichever ends first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 4737 section 4.2 (reordering extent)"))]
pub struct ScriptedReorderingParams {
    /// The numbers of the packets to hold back, in order; the first packet has number 1. Retransmissions are counted too.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub packets: Vec<u64>,
    /// The number of later packets after which a listed packet leaves; packets that are held back themselves do not
    /// count.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub overtaken_by: Option<u32>,
    /// The longest time for which a packet is held; without it, a packet is held as long as necessary, possibly to
    /// the end.
    pub delay: Option<Duration>,
    /// Packets of each flow are counted separately, and only those overtake.
    pub per_flow: bool,
    /// Which packets are counted, may be held back, and overtake.
    pub affects: Affects,
}

impl Params for ScriptedReorderingParams {
    const NAME: &'static str = "scripted-reordering";
    const SUMMARY: &'static str = "Listed packets are overtaken";

    fn check(&self) -> Result<(), OutOfRange> {
        check_numbers(&self.packets)?;
        match (self.overtaken_by, self.delay) {
            (None, None) if !self.packets.is_empty() => {
                Err(OutOfRange::missing("overtaken_by", "how many packets overtake; or give `delay`"))
            }
            (Some(0), _) => Err(OutOfRange::new("overtaken_by", 0, "1 or more")),
            (_, Some(delay)) if delay.is_zero() => Err(OutOfRange::new("delay", delay, "more than 0 s")),
            _ => Ok(()),
        }
    }
}

impl ElementParams for ScriptedReorderingParams {
    fn stage(&self) -> Stage {
        Stage::Order
    }

    fn keeps_order(&self) -> bool {
        false
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(ScriptedReordering::new(self.clone()))
    }
}

/// Holds listed packets back.
#[derive(Debug)]
struct ScriptedReordering {
    params: ScriptedReorderingParams,
    count: PacketCount,
    /// The number of packets that arrived.
    arrived: u64,
    /// Packets held back, in order of arrival.
    held: VecDeque<Held>,
    /// Packets on their way out, with their arrival numbers. Packets that are not held back also pass through here,
    /// so that a released one leaves directly behind the last one that overtakes it, whatever else arrives in that
    /// nanosecond.
    leaving: VecDeque<(u64, Packet)>,
    /// When the last of these was due to leave.
    leaving_since: Time,
    order: Order,
}

#[derive(Debug)]
struct Held {
    number: u64,
    packet: Packet,
    /// The number of packets that have passed it.
    overtaken: u32,
    /// The latest time at which it leaves.
    until: Time,
}

impl ScriptedReordering {
    fn new(params: ScriptedReorderingParams) -> ScriptedReordering {
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

    /// A packet of `flow` has passed all packets that are held back; some of them may have been overtaken often
    /// enough.
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
}

impl Element for ScriptedReordering {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
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

    fn next_release(&self) -> Time {
        if self.leaving.is_empty() {
            // All are held for the same time: the first to arrive is the first to leave.
            self.held.front().map_or(Time::NEVER, |held| held.until)
        } else {
            self.leaving_since
        }
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        while self.held.front().is_some_and(|held| held.until <= now) {
            self.leave_held(0, now);
        }
        let (number, packet) = self.leaving.pop_front()?;
        tally.reordered += u64::from(self.order.leaves(number));
        Some(packet)
    }
}
