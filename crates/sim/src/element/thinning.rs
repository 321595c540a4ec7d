//! ACK thinning: of the pure ACKs of a flow, one in n passes (RFC 3449 section 5.2).
//!
//! A cumulative ACK makes earlier ones redundant, so the newest one is held and replaces the one held before, until
//! the n-th arrives or none has arrived for a time. ACKs that say more than "received up to here" are kept: those
//! with SACK blocks, those of the handshake, and those whose echo of congestion differs from the ACK before (as
//! Linux's CAKE keeps them).

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::{Params, RandomStream};
use windtunnel_units::{Bytes, Duration, OutOfRange, Time};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use super::{Element, ElementParams, Passage, Stage, Tally};

/// Only the last of every few pure ACKs passes, as on asymmetric links that thin ACKs. ACKs with SACK blocks, of the handshake, or that
/// start or end an echo of CE, are never dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "RFC 3449 section 5.2", "x-title" = "ACK thinning"))]
pub struct AckThinningParams {
    /// The number of pure ACKs of a flow in a group; only the last one of each group passes.
    #[schemars(range(min = 1), extend("x-unit" = "packets"))]
    #[serde(deserialize_with = "windtunnel_units::count::packets")]
    pub keep_every: u32,
    /// An ACK passes if no other one follows it within this time; without it, the last ACKs of a burst may be
    /// dropped, and only the sender's timer notices.
    pub flush: Option<Duration>,
}

impl Default for AckThinningParams {
    fn default() -> AckThinningParams {
        AckThinningParams { keep_every: 2, flush: Some(Duration::from_millis(5)) }
    }
}

impl Params for AckThinningParams {
    const NAME: &'static str = "ack-thinning";
    const SUMMARY: &'static str = "Only the last of every few pure ACKs passes";

    fn check(&self) -> Result<(), OutOfRange> {
        match self.flush {
            _ if self.keep_every == 0 => Err(OutOfRange::new("keep_every", 0, "1 or more")),
            Some(flush) if flush.is_zero() => Err(OutOfRange::new("flush", flush, "more than 0 s")),
            _ => Ok(()),
        }
    }
}

impl ElementParams for AckThinningParams {
    fn stage(&self) -> Stage {
        Stage::Entrance
    }

    fn build(&self, _random: RandomStream) -> Box<dyn Element> {
        Box::new(AckThinning::new(self.clone()))
    }
}

/// Lets only few ACKs pass.
#[derive(Debug)]
struct AckThinning {
    params: AckThinningParams,
    flows: Vec<Thinned>,
    /// Flows in the order in which their held ACKs are to be flushed; entries of ACKs replaced since are skipped.
    flushes: VecDeque<(Time, FlowId)>,
}

/// The state of one flow.
#[derive(Debug, Default)]
struct Thinned {
    held: Option<Packet>,
    /// When the held ACK is flushed.
    flush: Time,
    /// ACKs since the last one that passed.
    count: u32,
    echo: TcpFlags,
}

impl AckThinning {
    const fn new(params: AckThinningParams) -> AckThinning {
        AckThinning { params, flows: Vec::new(), flushes: VecDeque::new() }
    }
}

impl Element for AckThinning {
    fn enter(&mut self, packet: Packet, now: Time, _tally: &mut Tally) -> Passage {
        if packet.payload() > Bytes::ZERO || !packet.flags.contains(TcpFlags::ACK) {
            return Passage::On(packet);
        }
        let index = packet.flow.index();
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, Thinned::default);
        }
        let flow = &mut self.flows[index];
        let echo = TcpFlags::NONE
            .with_if(TcpFlags::ECE, packet.flags.contains(TcpFlags::ECE))
            .with_if(TcpFlags::AE, packet.flags.contains(TcpFlags::AE));
        flow.count += 1;
        let passes = echo != flow.echo || flow.count >= self.params.keep_every || says_more(&packet);
        flow.echo = echo;
        if passes {
            flow.count = 0;
            return match flow.held.take() {
                Some(older) => Passage::Replacing(Some(packet), older),
                None => Passage::On(packet),
            };
        }
        let Some(flush) = self.params.flush else { return Passage::Lost(packet) };
        flow.flush = now + flush;
        self.flushes.push_back((flow.flush, packet.flow));
        match flow.held.replace(packet) {
            Some(older) => Passage::Replacing(None, older),
            None => Passage::Held,
        }
    }

    fn next_release(&self) -> Time {
        self.flushes.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    fn release(&mut self, now: Time, _tally: &mut Tally) -> Option<Packet> {
        while self.next_release() <= now {
            let Some((at, flow)) = self.flushes.pop_front() else { break };
            let flow = &mut self.flows[flow.index()];
            if flow.flush == at && flow.held.is_some() {
                flow.count = 0;
                return flow.held.take();
            }
        }
        None
    }
}

/// True for an ACK that a later one does not make redundant.
fn says_more(packet: &Packet) -> bool {
    packet.flags.contains(TcpFlags::SYN)
        || packet.options().is_some_and(|options| !options.sack.as_slice().is_empty())
}
