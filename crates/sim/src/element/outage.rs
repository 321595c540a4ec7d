//! Times in which nothing passes. Packets that arrive then are lost, or wait for the end and leave in order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{OutOfRange, Time};
use windtunnel_wire::Packet;

use super::due::InOrder;
use super::{Element, ElementParams, Passage, Stage, Tally};

/// Nothing passes at certain times: a handover, a tunnel, a link that is down.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 6349; netem"))]
pub struct OutageParams {
    /// The outages, in order of time and disjoint.
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

impl Params for OutageParams {
    const NAME: &'static str = "outage";
    const SUMMARY: &'static str = "Nothing passes at certain times";

    fn check(&self) -> Result<(), OutOfRange> {
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

impl ElementParams for OutageParams {
    fn stage(&self) -> Stage {
        Stage::Outage
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(Outage::new(self.clone()))
    }
}

/// A medium that is down at certain times.
#[derive(Debug)]
struct Outage {
    params: OutageParams,
    /// The current outage, or the next one.
    next: usize,
    held: InOrder,
}

impl Outage {
    fn new(mut params: OutageParams) -> Outage {
        // Outages that touch count as one: packets that wait for the end of the first wait for that of the last.
        params.times.dedup_by(|later, earlier| {
            let touches = later.from == earlier.to;
            if touches {
                earlier.to = later.to;
            }
            touches
        });
        Outage { params, next: 0, held: InOrder::default() }
    }

    fn current(&mut self, now: Time) -> Option<OutageTime> {
        while self.params.times.get(self.next).is_some_and(|outage| outage.to <= now) {
            self.next += 1;
        }
        self.params.times.get(self.next).copied().filter(|outage| outage.from <= now)
    }
}

impl Element for Outage {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        match self.current(now) {
            Some(_) if !self.params.hold => Passage::Lost(packet),
            Some(outage) => self.held.enter(packet, outage.to, now),
            None => self.held.enter(packet, now, now),
        }
    }

    fn next_release(&self) -> Time {
        self.held.next_due()
    }

    fn release(&mut self, now: Time, _tally: &mut Tally) -> Option<Packet> {
        self.held.release(now)
    }
}
