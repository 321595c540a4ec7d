//! The options of the receiver's packets: SACK blocks and AccECN's counters share what timestamps leave of 40 bytes.

use windtunnel_units::Bytes;
use windtunnel_wire::{AckRate, Ecn, EcnCounts, Extras, Options, Packet, SackBlocks, TcpFlags};

use super::Receiver;
use super::feedback::{Answer, Feedback, option_size};
use super::sack::Sack;
use crate::config::HEADERS_WITHOUT_TIMESTAMPS;
use crate::ecn_pp::CodePoints;

/// The room for options in a TCP header (RFC 9293 section 3.1).
const OPTION_SPACE: Bytes = Bytes::new(40);

/// QUIC's counts, a multiple of four bytes.
const COUNTS: Bytes = Bytes::new(EcnCounts::LENGTH as u64);

/// SACK blocks that come before an AccECN option (RFC 9768 section 3.2.3.3).
const BLOCKS_BEFORE_ACCECN: u8 = 2;

/// How many options are kept at most: media that duplicate packets, and captures, give back more than left.
const SPARE: usize = 64;

impl Receiver {
    /// The options of the ACK that leaves next.
    #[inline]
    pub(super) fn extras(&mut self) -> Option<Box<Extras>> {
        let has_blocks = self.sack.has_blocks();
        let counts = matches!(self.feedback, Feedback::AccEcn(_) | Feedback::Quic(_));
        if has_blocks || counts { self.fill(has_blocks) } else { None }
    }

    /// The space that timestamps leave.
    fn option_space(&self) -> Bytes {
        OPTION_SPACE - (self.endpoint.headers - HEADERS_WITHOUT_TIMESTAMPS)
    }

    #[inline(never)]
    fn fill(&mut self, has_blocks: bool) -> Option<Box<Extras>> {
        let mut sack = SackBlocks::default();
        if has_blocks {
            sack = self.sack.blocks();
        }
        let space = self.option_space();
        let wanted = self.feedback.wanted();
        if wanted > Bytes::ZERO && has_blocks {
            let fitted = (BLOCKS_BEFORE_ACCECN + 1..=SackBlocks::MOST)
                .rev()
                .find(|blocks| Sack::size_of(*blocks) + wanted <= space);
            sack.truncate(fitted.unwrap_or(BLOCKS_BEFORE_ACCECN));
        }
        let left = space.saturating_sub(Sack::option_size(&sack));
        let accecn = self.feedback.option(left);
        let ecn_counts = match &self.feedback {
            Feedback::Quic(counts) if COUNTS <= left => Some(counts.counts()),
            _ => None,
        };
        (has_blocks || accecn.is_some() || ecn_counts.is_some()).then(|| {
            let mut extras = self.spare.pop().unwrap_or_default();
            *extras = Extras::from(Options { sack, accecn, ecn_counts, ..Options::default() });
            extras
        })
    }

    /// Takes the memory of an ACK's options back that has arrived: the next one that needs some has it, so that no ACK
    /// allocates any while as many come back as leave.
    pub fn take_back(&mut self, extras: Box<Extras>) {
        if self.spare.len() < SPARE {
            self.spare.push(extras);
        }
    }

    /// The options of a SYN/ACK.
    pub(super) fn syn_ack_options(&self, answer: &Answer) -> Box<Extras> {
        Box::new(Extras::from(Options {
            mds_capable: answer.mds,
            ack_rate: self.delayed_ack.takes_requests().then_some(AckRate::Capable),
            sack_permitted: self.sack.is_enabled(),
            accecn: answer.option,
            ..Options::default()
        }))
    }

    /// The ECN fields of its packets, as the SYN has just agreed.
    pub(super) fn choose_code_points(&mut self) {
        if matches!(self.feedback, Feedback::None) {
            return;
        }
        let accecn = matches!(self.feedback, Feedback::AccEcn(_));
        self.syn_ack_ecn = self.ecn_pp.syn_ack(&self.endpoint, self.handshake.answered_before());
        self.code_points = self.ecn_pp.established(&self.endpoint, accecn, self.sack.is_enabled());
    }

    /// A path that changed the SYN/ACK's ECN field may change those of other packets (RFC 9768 section 3.2.2.3).
    pub(super) fn check_syn_ack(&mut self) {
        let bleached = self.feedback.syn_ack_arrived_as() == Some(Ecn::NotEct);
        if self.syn_ack_ecn != Ecn::NotEct && bleached {
            self.code_points = CodePoints::default();
        }
    }

    /// The ECN field of a packet.
    #[inline]
    pub(super) fn stamp(&self, packet: &mut Packet) {
        packet.ecn = if packet.flags.contains(TcpFlags::SYN) {
            self.syn_ack_ecn
        } else if packet.flags.contains(TcpFlags::FIN) {
            self.code_points.other
        } else {
            self.code_points.pure_ack
        };
    }

    /// The headers of a packet with these options.
    #[inline]
    pub(super) fn headers(&self, options: Option<&Options>, syn: bool) -> Bytes {
        let Some(options) = options else { return self.endpoint.headers };
        let accecn = options.accecn.as_ref().map_or(Bytes::ZERO, option_size);
        let counts = if options.ecn_counts.is_some() { COUNTS } else { Bytes::ZERO };
        let others = if syn {
            self.endpoint.syn_headers(options)
        } else {
            self.endpoint.headers + Sack::option_size(&options.sack)
        };
        others + accecn + counts
    }

    /// The sender may ask for an ACK rate with the packet, or for an ACK of what no ACK has acknowledged yet.
    #[cold]
    pub(super) fn take_ack_request(&mut self, packet: &Packet) {
        match packet.options().and_then(|options| options.ack_rate) {
            Some(AckRate::AT_ONCE) if self.delayed_ack.is_pending() => self.acknowledge(),
            Some(AckRate::AT_ONCE | AckRate::Capable) | None => {}
            Some(AckRate::Every(ratio)) => self.delayed_ack.on_request(ratio),
        }
    }

    /// A SYN without "SACK permitted" forbids SACK (RFC 2018 section 2).
    pub(super) fn negotiate_sack(&mut self, syn: &Packet) {
        let permitted = syn.options().is_some_and(|options| options.sack_permitted);
        if !permitted && self.sack.is_enabled() {
            self.sack = Sack::disabled();
        }
    }
}
