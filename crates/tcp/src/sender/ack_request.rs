//! Requests for an ACK rate (TARR, draft-ietf-tcpm-ack-rate-request): the sender tells its receiver how many full segments one
//! ACK may cover.
//!
//! Both ends announce the option in the handshake. A request travels in a packet without data, so that segments keep their size,
//! and takes effect when it arrives. Nothing acknowledges it: the sender repeats it once per round trip, with what it wants then.
//! It asks at once for more ACKs than it has asked for, since a path that is probed should not wait (draft-ietf-ccwg-bbr,
//! "Impact of changing ACK frequency"). A loss probe is followed by a request for an ACK at once: its receiver may otherwise hold
//! the probe's back, as long as any other (draft-ietf-quic-ack-frequency gives a PTO's probes `IMMEDIATE_ACK`).

use windtunnel_units::{Bytes, Time};
use windtunnel_wire::{AckRate, Options, Packet};

use super::Sender;
use super::transmit::Forced;
use crate::params::TcpParams;

/// How many segments per ACK are asked for.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// This many.
    Ratio(u32),
    /// As many as give this many ACKs in a round trip.
    PerRtt(u32),
    /// What the controller says.
    Controller,
}

/// The requests of a sender.
#[derive(Debug)]
pub(crate) struct AckRequests {
    rule: Rule,
    /// The last request, and what the next one is.
    asked: Option<u8>,
    wanted: u8,
    /// When it is repeated.
    again: Time,
}

impl AckRequests {
    /// None without requests.
    pub(super) fn new(params: &TcpParams) -> Option<Box<AckRequests>> {
        let rule = match (params.ack_ratio, params.acks_per_rtt) {
            (Some(ratio), _) => Rule::Ratio(ratio),
            (None, Some(acks)) => Rule::PerRtt(acks),
            (None, None) if params.controller_asks_acks => Rule::Controller,
            (None, None) => return None,
        };
        Some(Box::new(AckRequests { rule, asked: None, wanted: 0, again: Time::ZERO }))
    }
}

impl Sender {
    /// What a SYN offers.
    pub(super) fn ack_rate_offer(&self) -> Option<AckRate> {
        self.ack_requests.is_some().then_some(AckRate::Capable)
    }

    /// The SYN/ACK arrived: without the option in it there are no requests.
    pub(super) fn negotiate_ack_requests(&mut self, syn_ack: &Packet) {
        if syn_ack.options().is_none_or(|options| options.ack_rate.is_none()) {
            self.ack_requests = None;
        }
    }

    /// After an ACK: the next packet is a request, if one is due.
    #[cold]
    pub(super) fn consider_ack_request(&mut self, now: Time) {
        let segments = self.cwnd / self.mss;
        let Some(requests) = &mut self.ack_requests else { return };
        let wanted = match requests.rule {
            Rule::Ratio(ratio) => u64::from(ratio),
            Rule::PerRtt(acks) => segments / u64::from(acks),
            Rule::Controller => match self.cc.ack_ratio() {
                Some(ratio) => u64::from(ratio),
                None => return,
            },
        };
        requests.wanted = wanted.clamp(1, u64::from(AckRate::MOST)) as u8;
        let urgent = requests.asked.is_none_or(|asked| requests.wanted < asked);
        if self.forced.is_none() && (urgent || now >= requests.again) {
            self.forced = Some(Forced::AckRequest);
        }
    }

    /// A packet that asks.
    pub(super) fn ack_request(&mut self, now: Time) -> Packet {
        let again = now + self.rtt.srtt();
        let Some(requests) = &mut self.ack_requests else { return self.pure_ack(now) };
        (requests.asked, requests.again) = (Some(requests.wanted), again);
        let rate = AckRate::Every(requests.wanted);
        self.asking(rate, now)
    }

    /// A packet without data that asks for this rate.
    pub(super) fn asking(&mut self, rate: AckRate, now: Time) -> Packet {
        let mut packet = self.pure_ack_with(Bytes::new(rate.padded_length()), now);
        packet.set_options(Options { ack_rate: Some(rate), ..Options::default() });
        packet
    }
}
