//! CHOKe: RED that compares each arriving packet with a random one of the queue, and drops both if they belong to one
//! flow.
//!
//! Source: Pan, Prabhakar and Psounis, "CHOKe, A Stateless Active Queue Management Scheme for Approximating Fair
//! Bandwidth Allocation", 2000, section II; Linux `sch_choke`; tc-choke(8); spec/queues-and-signalling section 3.1. While
//! the average queue is above `min`, a flow that has the share s of the queue loses two packets for the share s of what
//! it sends, without any state per flow: the more it overloads the queue, the more it pays. A packet that is not matched
//! is then RED's ([`crate::Red`]): signalled with a probability that rises from 0 at `min` to `probability` at `max`, and
//! always above.
//!
//! As in Linux, the queue is counted in whole packets, in the average too: it moves by the weight times what the queue
//! has more than the average's whole packets. The random packet is any of the queue but one that is being transmitted.
//! With loss-free endpoints no packet is taken out of the queue: the arriving one alone is marked.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Bytes, OutOfRange, Probability, Rate, Time};
use windtunnel_wire::Packet;

use crate::accounts::{DropReason, QueueCx};
use crate::aqm::{Aqm, Decay, PacketView, QueueView, RedIdle, Signal, Verdict, weight};
use crate::band::Band;
use crate::discipline::{Backlog, QueueDiscipline};
use crate::ecn::EcnMode;
use crate::gate::Gate;
use crate::limit::{Limit, Room};
use crate::params::{AqmParams, QueueInit, QueueParams};
use crate::spec::Parts;

/// CHOKe's parameters, named as in tc.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend(
    "x-source" = "Pan, Prabhakar, Psounis 2000; Linux sch_choke",
    "x-title" = "CHOKe",
    "x-traits" = ["red"]
))]
pub struct ChokeParams {
    /// The average queue up to which nothing happens; a third of `max` if left out.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub min: Option<u32>,
    /// The average queue above which every packet is signalled; a quarter of a `limit` in packets if left out, else 250.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub max: Option<u32>,
    /// The mean size of a packet: the unit of idle time.
    pub avpkt: Bytes,
    /// How many packets may arrive at once to an empty queue before the average reaches `min`: it sets the weight of a
    /// packet in the average; `(2 min + max) / 3` if left out.
    #[schemars(extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub burst: Option<u32>,
    /// The probability of a signal at `max`.
    pub probability: Probability,
    /// The link's rate, as far as the average in idle time depends on it.
    pub bandwidth: Rate,
    /// Whether packets that understand CE are marked where RED signals; if not, all are dropped. Matched packets are
    /// dropped in any case.
    pub ecn: bool,
    /// How the average falls in idle time.
    pub idle: RedIdle,
}

impl Default for ChokeParams {
    fn default() -> ChokeParams {
        ChokeParams {
            min: None,
            max: None,
            avpkt: Bytes::new(1_000),
            burst: None,
            probability: Probability::clamped(0.02),
            bandwidth: Rate::from_mbps(10),
            ecn: false,
            idle: RedIdle::Linux,
        }
    }
}

impl ChokeParams {
    /// tc requires a limit; this is the one of a plain queue.
    const LIMIT: u32 = 1_000;
    /// Linux's largest table.
    const MOST: u32 = 128 * 1024 - 1;

    /// `min` and `max` in a queue that holds `limit`.
    fn thresholds(&self, limit: Limit) -> (u32, u32) {
        let held = match limit {
            Limit::Packets(limit) => u32::try_from(limit).unwrap_or(ChokeParams::MOST),
            _ => ChokeParams::LIMIT,
        };
        // However small the limit, there is a band, and a weight for it.
        let max = self.max.unwrap_or_else(|| (held / 4).max(self.min.map_or(6, |min| min.saturating_add(1))));
        (self.min.unwrap_or(max / 3), max)
    }

    /// The weight of a packet in the average.
    fn weight(&self, (min, max): (u32, u32)) -> Option<f64> {
        let burst = self.burst.unwrap_or_else(|| (2 * min + max) / 3);
        weight(f64::from(min), f64::from(burst))
    }
}

impl Params for ChokeParams {
    const NAME: &'static str = "choke";
    const SUMMARY: &'static str =
        "CHOKe: RED that also drops an arriving packet and a random one of the queue if both are of one flow";

    fn check(&self) -> Result<(), OutOfRange> {
        for (key, packets) in [("min", self.min), ("max", self.max)] {
            if let Some(packets) = packets.filter(|&packets| packets == 0 || packets > ChokeParams::MOST) {
                return Err(OutOfRange::new(key, packets, "from 1 to 131071 packets"));
            }
        }
        let (min, max) = self.thresholds(Limit::Packets(ChokeParams::LIMIT as usize));
        if max <= min {
            return Err(OutOfRange::new("max", max, "more than `min`"));
        }
        if self.avpkt == Bytes::ZERO || self.avpkt > Bytes::new(65_536) {
            return Err(OutOfRange::new("avpkt", self.avpkt, "more than 0 B and at most 64 KiB"));
        }
        if self.probability == Probability::ZERO {
            return Err(OutOfRange::new("probability", self.probability, "more than 0 %"));
        }
        if self.bandwidth == Rate::ZERO {
            return Err(OutOfRange::new("bandwidth", self.bandwidth, "more than 0 bit/s"));
        }
        match (self.burst, self.min) {
            (None, Some(min)) if min < 2 => {
                Err(OutOfRange::new("min", min, "at least 2 packets where `burst` is left out"))
            }
            (None, None) if min < 2 => {
                Err(OutOfRange::new("max", max, "at least 6 packets where `min` is left out"))
            }
            (Some(burst), _) if self.weight((min, max)).is_none() => {
                Err(OutOfRange::new("burst", burst, "`min` or more, and not too many for a weight of 2^-31"))
            }
            _ => Ok(()),
        }
    }
}

impl QueueParams for ChokeParams {
    fn default_limit(&self) -> Limit {
        Limit::Packets(ChokeParams::LIMIT as usize)
    }

    /// Linux's.
    fn default_ecn_mode(&self, _aqms: &[Option<Arc<dyn AqmParams>>]) -> EcnMode {
        EcnMode::Rfc3168
    }

    fn build(&self, _parts: &Parts, init: &QueueInit) -> Box<dyn QueueDiscipline> {
        Box::new(Choke::new(self, init))
    }
}

/// RED's law in packets, and whether the arriving packet has been matched.
#[derive(Debug)]
struct Law {
    random: RandomStream,
    /// Thresholds of the average, in packets.
    min: f64,
    max: f64,
    max_p: f64,
    weight: f64,
    decay: Decay,
    ecn: bool,
    avg: f64,
    /// When the link found the queue empty, if nothing has arrived since.
    idle_since: Option<Time>,
    /// Packets since the last signal; nothing outside of the band.
    count: Option<u32>,
    /// R: the uniform number that ends the gap.
    r: f64,
    /// The arriving packet is dropped with another of its flow.
    matched: bool,
}

impl Law {
    /// A packet arrives and finds `packets`: updates the average.
    fn arrived(&mut self, packets: usize, now: Time) {
        self.avg = match self.idle_since.take() {
            // The average has as many binary places as the weight.
            Some(since) => {
                let left = self.decay.after(self.avg, now.since(since));
                libm::floor(left / self.weight) * self.weight
            }
            None => self.avg + self.weight * (packets as f64 - libm::floor(self.avg)),
        };
    }

    /// Whether the gap between signals ends with this packet: see [`crate::Red`].
    fn signals(&mut self) -> bool {
        let p = self.max_p * libm::floor(self.avg - self.min) / (self.max - self.min);
        let ends = self.count.is_some_and(|count| f64::from(count + 1) * p >= self.r);
        self.count = match self.count {
            Some(count) if !ends => Some(count + 1),
            _ => {
                self.r = self.random.uniform();
                Some(0)
            }
        };
        ends
    }
}

impl Aqm for Law {
    fn on_enqueue(&mut self, _packet: &PacketView, _queue: &QueueView) -> Verdict {
        let signal = if self.ecn { Verdict::Mark(Signal::Ce) } else { Verdict::Drop };
        if std::mem::take(&mut self.matched) {
            Verdict::Drop
        } else if self.avg <= self.min {
            self.count = None;
            Verdict::Pass
        } else if self.avg > self.max {
            self.count = None;
            signal
        } else if self.signals() {
            signal
        } else {
            Verdict::Pass
        }
    }
}

/// CHOKe's variables.
#[derive(Debug)]
struct Choke {
    law: Law,
    gate: Gate,
    room: Room,
    band: Band,
    matched: u64,
    /// The packet at the head has been chosen.
    chosen: bool,
}

impl Choke {
    fn new(params: &ChokeParams, init: &QueueInit) -> Choke {
        let thresholds = params.thresholds(init.limit);
        let weight = params.weight(thresholds).unwrap_or(1.0);
        Choke {
            law: Law {
                random: RandomStream::new(init.seed),
                min: f64::from(thresholds.0),
                max: f64::from(thresholds.1),
                max_p: params.probability.get(),
                weight,
                decay: Decay::new(weight, params.avpkt, params.bandwidth, params.idle),
                ecn: params.ecn,
                avg: 0.0,
                idle_since: None,
                count: None,
                r: 0.0,
                matched: false,
            },
            gate: Gate::new(init.ecn),
            room: Room::new(init.limit),
            band: Band::new(),
            matched: 0,
            chosen: false,
        }
    }

    /// Draws a packet of the queue. If it belongs to the flow of the arriving one, it is dropped, and the arriving one
    /// will be.
    fn compare(&mut self, arriving: &Packet, cx: &mut QueueCx) {
        let spared = usize::from(self.chosen);
        let candidates = self.band.backlog().packets - spared;
        if candidates == 0 {
            return;
        }
        let drawn = spared + (self.law.random.uniform() * candidates as f64) as usize;
        if self.band.get(drawn).is_some_and(|packet| packet.flow == arriving.flow) {
            self.law.matched = true;
            self.matched += 1;
            if !cx.deliver_drops
                && let Some(packet) = self.band.take(drawn)
            {
                cx.drop(packet, DropReason::Aqm);
            }
        }
    }

    fn release(&mut self, replaces: bool, cx: &mut QueueCx) -> Option<Packet> {
        let packet = self.band.pop()?;
        let view = self.band.view(cx);
        self.gate.release(&mut self.law, packet, replaces, &view, cx)
    }

    fn found_empty(&mut self, now: Time) {
        self.law.idle_since.get_or_insert(now);
    }
}

impl QueueDiscipline for Choke {
    fn enqueue(&mut self, packet: Packet, cx: &mut QueueCx) {
        let size = packet.size();
        self.law.arrived(self.band.backlog().packets, cx.now);
        if self.law.avg > self.law.min {
            self.compare(&packet, cx);
        }
        let mut arrival = self.gate.arrive(packet, cx);
        if !self.law.matched && !self.room.takes(self.band.backlog(), size, cx) {
            match self.gate.refuse(&mut self.law, arrival, cx) {
                Some(refused) => arrival = refused,
                None => return,
            }
        }
        let view = self.band.view(cx);
        if let Some(packet) = self.gate.admit(&mut self.law, arrival, &view, cx) {
            self.band.push(packet);
        }
    }

    fn choose(&mut self, cx: &mut QueueCx) -> Option<Bytes> {
        let size = self.band.head().map(Packet::size);
        self.chosen = size.is_some();
        if !self.chosen {
            self.found_empty(cx.now);
        }
        size
    }

    fn serve(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        if std::mem::take(&mut self.chosen) { self.release(false, cx) } else { None }
    }

    fn dequeue(&mut self, cx: &mut QueueCx) -> Option<Packet> {
        self.chosen = false;
        let packet = self.release(false, cx);
        if packet.is_none() {
            self.found_empty(cx.now);
        }
        packet
    }

    /// `choke_peek_head`.
    fn peeks(&self) -> bool {
        true
    }

    fn room(&mut self) -> Option<&mut Room> {
        Some(&mut self.room)
    }

    fn backlog(&self) -> Backlog {
        self.band.backlog()
    }

    /// The average as the last arrival left it.
    fn probe(&self, out: &mut dyn FnMut(&'static str, f64)) {
        out("avg_packets", self.law.avg);
        out("matched", self.matched as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc's defaults (spec/queues-and-signalling section 3.1): `max` is a quarter of a limit in packets, `min` a
    /// third of `max`, and `burst` is `(2 min + max) / 3`. Its example of 20 and 60 packets has a burst of 33 and the
    /// weight 1/16: 33 + 1 - 20 = 14, at most (1 - (15/16)^33) * 16 = 14.1, but not (1 - (7/8)^33) * 8 = 7.9.
    #[test]
    fn derived() {
        let plain = ChokeParams::default();
        for (limit, thresholds) in [
            (Limit::Packets(400), (33, 100)),
            (Limit::Packets(1_000), (83, 250)),
            (Limit::Packets(8), (2, 6)),
            (Limit::Unlimited, (83, 250)),
            (Limit::Bytes(Bytes::new(400)), (83, 250)),
        ] {
            assert_eq!(plain.thresholds(limit), thresholds, "{limit:?}");
        }
        assert_eq!(plain.weight((20, 60)), Some(1.0 / 16.0));
        for thresholds in [(20, 60), (10, 100), (50, 60), (83, 250), (2, 6)] {
            let burst = [(20, 33), (10, 40), (50, 53), (83, 138), (2, 3)];
            let burst = burst.into_iter().find_map(|(min, burst)| (min == thresholds.0).then_some(burst));
            let set = ChokeParams { burst, ..ChokeParams::default() };
            assert_eq!(plain.weight(thresholds), set.weight(thresholds), "{thresholds:?}");
        }
    }

    /// The ends of the ranges that are named in refusals are within them, and nothing beyond them is.
    #[test]
    fn ends_of_the_ranges() {
        let plain = ChokeParams::default;
        for params in [
            ChokeParams { max: Some(131_071), ..plain() },
            ChokeParams { max: Some(6), ..plain() },
            ChokeParams { min: Some(2), ..plain() },
            ChokeParams { avpkt: Bytes::new(65_536), ..plain() },
        ] {
            assert_eq!(params.check(), Ok(()), "{params:?}");
        }
        assert!(ChokeParams { avpkt: Bytes::new(65_537), ..plain() }.check().is_err());
    }
}
