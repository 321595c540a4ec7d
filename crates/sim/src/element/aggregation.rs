//! Bursts like those of 802.11's frame aggregation: packets are collected and leave together.
//!
//! A packet that finds no open burst opens one; the burst closes when it has its number of packets or its time is
//! over. One PPDU of 802.11n and later lasts at most 5.484 ms, and an A-MPDU has 64 frames (256 from 802.11ax on).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Duration, OutOfRange, Time};
use windtunnel_wire::Packet;

use super::{Element, ElementParams, Passage, Stage, Tally};

/// Packets are collected and released together, as frame aggregation of 802.11 does (A-MPDU): order is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "IEEE 802.11-2020 section 10.12 (A-MPDU; PPDU of at most 5.484 ms)"))]
pub struct AggregationParams {
    /// The time from the first packet of a burst to its release.
    pub hold: Duration,
    /// The number of packets at which a burst is released at once.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub packets: u32,
}

impl Default for AggregationParams {
    fn default() -> AggregationParams {
        AggregationParams { hold: Duration::from_micros(5_500), packets: 64 }
    }
}

impl Params for AggregationParams {
    const NAME: &'static str = "aggregation";
    const SUMMARY: &'static str = "Packets are collected and released together, as on 802.11";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.hold.is_zero() {
            return Err(OutOfRange::new("hold", self.hold, "more than 0 s"));
        }
        if self.packets == 0 {
            return Err(OutOfRange::new("packets", self.packets, "1 or more"));
        }
        Ok(())
    }
}

impl ElementParams for AggregationParams {
    fn stage(&self) -> Stage {
        Stage::Aggregation
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(Aggregation::new(self.clone()))
    }
}

/// Releases packets in bursts.
#[derive(Debug)]
struct Aggregation {
    params: AggregationParams,
    /// Packets of closed bursts, and behind them those of the open one.
    packets: VecDeque<Packet>,
    /// The number of packets in the open burst.
    open: usize,
    /// When the open burst closes by time.
    closes: Time,
    /// When a burst was last closed by its number of packets: it has been due since then.
    due: Time,
    /// Bursts closed and not counted yet.
    closed: u64,
}

impl Aggregation {
    const fn new(params: AggregationParams) -> Aggregation {
        Aggregation {
            params,
            packets: VecDeque::new(),
            open: 0,
            closes: Time::NEVER,
            due: Time::ZERO,
            closed: 0,
        }
    }

    fn close(&mut self) {
        self.open = 0;
        self.closes = Time::NEVER;
        self.closed += 1;
    }
}

impl Element for Aggregation {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        if self.open == 0 {
            self.closes = now + self.params.hold;
        }
        self.packets.push_back(packet);
        self.open += 1;
        if self.open == self.params.packets as usize {
            self.due = now;
            self.close();
        }
        Passage::Held
    }

    fn next_release(&self) -> Time {
        if self.packets.len() > self.open { self.due } else { self.closes }
    }

    fn release(&mut self, now: Time, tally: &mut Tally) -> Option<Packet> {
        if self.closes <= now {
            self.close();
        }
        tally.bursts += std::mem::take(&mut self.closed);
        if self.packets.len() > self.open { self.packets.pop_front() } else { None }
    }
}
