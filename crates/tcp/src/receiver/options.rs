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

impl Receiver {
    /// The options of the ACK that leaves next.
    #[inline]
    pub(super) fn options(&mut self) -> Option<Box<Options>> {
        let options = self.sack.options(&self.reassembly);
        if let Feedback::AccEcn(_) = self.feedback { self.add_accecn(options) } else { options }
    }

    #[inline(never)]
    fn add_accecn(&mut self, mut options: Option<Box<Options>>) -> Option<Box<Options>> {
        let space = OPTION_SPACE - (self.endpoint.headers - HEADERS_WITHOUT_TIMESTAMPS);
        let wanted = self.feedback.wanted();
        if wanted > Bytes::ZERO
            && let Some(options) = &mut options
        {
            let beside = (BLOCKS_BEFORE_ACCECN + 1..=SackBlocks::MOST)
                .rev()
                .find(|blocks| Sack::size_of(*blocks) + wanted <= space);
            options.sack.truncate(beside.unwrap_or(BLOCKS_BEFORE_ACCECN));
        }
        let sack = options.as_ref().map_or(Bytes::ZERO, |options| Sack::option_size(&options.sack));
        if let Some(accecn) = self.feedback.option(space.saturating_sub(sack)) {
            options.get_or_insert_default().accecn = Some(accecn);
        }
        options
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
