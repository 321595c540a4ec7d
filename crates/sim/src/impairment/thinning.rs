//! ACK thinning: of the pure ACKs of a flow, one in n passes (RFC 3449 section 5.2).
//!
//! A cumulative ACK makes those before it dispensable, so the newest one is held and replaces the one held before, until
//! the n-th comes or none has come for a time. ACKs that say more than "received up to here" are kept: those with SACK
//! blocks, of the handshake, and those whose echo of congestion differs from the ACK before (as Linux's CAKE keeps them).

use std::collections::VecDeque;

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{FlowId, Packet, TcpFlags};

use super::Passage;
use super::params::AckThinningParams;

/// Lets few ACKs pass.
#[derive(Debug)]
pub(super) struct AckThinning {
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
    pub(super) const fn new(params: AckThinningParams) -> AckThinning {
        AckThinning { params, flows: Vec::new(), flushes: VecDeque::new() }
    }

    pub(super) fn enter(&mut self, packet: Packet, now: Time) -> Passage {
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

    pub(super) fn next_release(&self) -> Time {
        self.flushes.front().map_or(Time::NEVER, |(at, _)| *at)
    }

    pub(super) fn release(&mut self, now: Time) -> Option<Packet> {
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

/// True for an ACK that a later one does not make dispensable.
fn says_more(packet: &Packet) -> bool {
    packet.flags.contains(TcpFlags::SYN)
        || packet.options.as_ref().is_some_and(|options| !options.sack.as_slice().is_empty())
}
