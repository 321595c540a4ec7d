//! The options of the receiver's packets: SACK blocks and AccECN's counters share what timestamps leave of 40 bytes.

use windtunnel_units::Bytes;
use windtunnel_wire::{Options, Packet, SackBlocks};

use super::Receiver;
use super::feedback::{Answer, Feedback, option_size};
use super::sack::Sack;
use crate::config::HEADERS_WITHOUT_TIMESTAMPS;

/// The room for options in a TCP header (RFC 9293 section 3.1).
const OPTION_SPACE: Bytes = Bytes::new(40);

/// SACK blocks that come before an AccECN option (RFC 9768 section 3.2.3.3).
const BLOCKS_BEFORE_ACCECN: u8 = 2;

/// How many options are kept at most: media that duplicate packets, and captures, give back more than left.
const SPARE: usize = 64;

impl Receiver {
    /// The options of the ACK that leaves next.
    #[inline]
    pub(super) fn options(&mut self) -> Option<Box<Options>> {
        let has_blocks = self.sack.has_blocks(&self.reassembly);
        if has_blocks || matches!(self.feedback, Feedback::AccEcn(_)) { self.fill(has_blocks) } else { None }
    }

    #[inline(never)]
    fn fill(&mut self, has_blocks: bool) -> Option<Box<Options>> {
        let mut sack = SackBlocks::default();
        if has_blocks {
            sack = self.sack.blocks(&self.reassembly);
        }
        let space = OPTION_SPACE - (self.endpoint.headers - HEADERS_WITHOUT_TIMESTAMPS);
        let wanted = self.feedback.wanted();
        if wanted > Bytes::ZERO && has_blocks {
            let beside = (BLOCKS_BEFORE_ACCECN + 1..=SackBlocks::MOST)
                .rev()
                .find(|blocks| Sack::size_of(*blocks) + wanted <= space);
            sack.truncate(beside.unwrap_or(BLOCKS_BEFORE_ACCECN));
        }
        let accecn = self.feedback.option(space.saturating_sub(Sack::option_size(&sack)));
        (has_blocks || accecn.is_some()).then(|| {
            let mut options = self.spare.pop().unwrap_or_default();
            *options = Options { sack, accecn, ..Options::default() };
            options
        })
    }

    /// Takes the options of an ACK back that has arrived: the next one that needs some has them, so that no ACK
    /// allocates any while as many come back as leave.
    pub fn take_back(&mut self, options: Box<Options>) {
        if self.spare.len() < SPARE {
            self.spare.push(options);
        }
    }

    /// The options of a SYN/ACK.
    pub(super) fn syn_ack_options(&self, answer: &Answer) -> Box<Options> {
        Box::new(Options {
            mds_capable: answer.mds,
            sack_permitted: self.sack.is_enabled(),
            accecn: answer.option,
            ..Options::default()
        })
    }

    /// The headers of a packet with these options.
    #[inline]
    pub(super) fn headers(&self, options: Option<&Options>, syn: bool) -> Bytes {
        let Some(options) = options else { return self.endpoint.headers };
        let accecn = options.accecn.as_ref().map_or(Bytes::ZERO, option_size);
        let others = if syn {
            self.endpoint.syn_headers(options.sack_permitted, options.mds_capable)
        } else {
            self.endpoint.headers + Sack::option_size(&options.sack)
        };
        others + accecn
    }

    /// A SYN without "SACK permitted" forbids SACK (RFC 2018 section 2).
    pub(super) fn negotiate_sack(&mut self, syn: &Packet) {
        let permitted = syn.options.as_ref().is_some_and(|options| options.sack_permitted);
        if !permitted && self.sack.is_enabled() {
            self.sack = Sack::disabled();
        }
    }
}
