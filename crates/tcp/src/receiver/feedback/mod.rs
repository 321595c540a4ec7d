//! What ACKs report of the marks that arrive: one file per scheme.
//!
//! The handshake chooses the scheme (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1 and table 2,
//! spec/queues-and-signalling sections 17.1 and 17.5): the SYN asks, and the SYN/ACK agrees to that or to less.

mod accecn;
mod dctcp;
mod esce;
mod nonce;
mod quic;
mod rfc3168;

use std::num::NonZeroU32;

use windtunnel_units::{Bytes, Seq};
use windtunnel_wire::{AccEcnOption, Ecn, MdsCapability, Packet, TcpFlags};

pub(crate) use self::accecn::{
    INITIAL_CEP, INITIAL_E0B, INITIAL_E1B, handshake_code, handshake_ecn, option_size,
};

use self::accecn::AccEcn;
use self::dctcp::CeState;
use self::nonce::NonceSum;
use self::quic::Counts;
use self::rfc3168::CeLatch;
use super::segment::Segment;
use crate::scheme::FeedbackScheme;

/// What an ACK has to say about the segments that it acknowledges. Segments with different marks never share an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    None,
    Sce,
    /// CE, where each is echoed for itself (DCTCP).
    Ce,
}

/// What a segment means for the time of its ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum News {
    None,
    /// The first CE since the sender's last CWR.
    FirstCe,
    /// CWR: the sender heard of it, and may have few segments in flight.
    Cwr,
    /// AccECN or DCTCP wants an ACK to leave at once, whatever the policy.
    Due,
    /// QUIC's count of CE has grown: an ACK leaves at once (RFC 9000 section 13.2.1), unless the policy has a rule for that.
    Ce,
    /// With AccECN: another code point than before, but no CE.
    Changed,
}

impl News {
    /// Linux acknowledges at once.
    pub(super) fn is_urgent(self) -> bool {
        matches!(self, News::Cwr | News::Due | News::Ce | News::Changed)
    }
}

/// The receiver's side of the scheme in force.
#[derive(Debug)]
pub(super) enum Feedback {
    /// No ECN: no mark is examined.
    None,
    Rfc3168(CeLatch),
    /// RFC 3168, and the sum of nonces.
    Nonces(Box<NonceSum>),
    /// RFC 3168 for CE, and ESCE.
    Esce(CeLatch),
    Dctcp(CeState),
    AccEcn(Box<AccEcn>),
    Quic(Counts),
}

/// The answer to a SYN.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answer {
    /// AE, CWR and ECE of the SYN/ACK.
    pub(super) flags: TcpFlags,
    /// The capability of MDS, if it is confirmed.
    pub(super) mds: Option<MdsCapability>,
    /// The AccECN option that tests the path.
    pub(super) option: Option<AccEcnOption>,
}

impl Feedback {
    /// A SYN arrived at a receiver that supports `scheme`, and MDS with any tau or with one, and perhaps `nonces`: what is in force from now on, and the
    /// answer. Another tau is refused by an answer without the option (spec/queues-and-signalling section 17.5).
    pub(super) fn on_syn(
        &mut self,
        scheme: FeedbackScheme,
        tau: Option<NonZeroU32>,
        nonces: bool,
        syn: &Packet,
    ) -> Answer {
        const CLASSIC: TcpFlags = TcpFlags::ECE;
        if let Feedback::AccEcn(accecn) = self {
            // RFC 9768 section 3.1.5: it never leaves this mode, and reports the ECN field of the latest SYN.
            return accecn.answer(syn.ecn);
        }
        if scheme == FeedbackScheme::AccEcn && accecn::is_asked_for(syn.flags) {
            let mut accecn = Box::new(AccEcn::new());
            let answer = accecn.answer(syn.ecn);
            *self = Feedback::AccEcn(accecn);
            return answer;
        }
        if !scheme.uses_ecn() || !syn.flags.contains(TcpFlags::ECE | TcpFlags::CWR) {
            *self = Feedback::None;
            return Answer::default();
        }
        let offered = syn.options().and_then(|options| options.mds_capable);
        let is_known = |offer: &MdsCapability| tau.is_none_or(|tau| tau.ilog2() == u32::from(offer.log2_tau));
        let mds = offered.filter(|offer| scheme.is_mds() && is_known(offer));
        *self = match scheme {
            FeedbackScheme::Dctcp => Feedback::Dctcp(CeState::default()),
            FeedbackScheme::Esce => Feedback::Esce(CeLatch::default()),
            FeedbackScheme::Quic => Feedback::Quic(Counts::default()),
            FeedbackScheme::Rfc3168 if nonces => Feedback::Nonces(Box::new(NonceSum::new())),
            _ if mds.is_some() => Feedback::Esce(CeLatch::default()),
            _ => Feedback::Rfc3168(CeLatch::default()),
        };
        Answer { flags: CLASSIC, mds, option: None }
    }

    /// True if SCE is echoed.
    #[inline]
    pub(super) fn echoes_sce(&self) -> bool {
        matches!(self, Feedback::Esce(_))
    }

    #[inline]
    pub(super) fn mark(&self, ecn: Ecn) -> Mark {
        match self {
            Feedback::Esce(_) => esce::mark(ecn),
            Feedback::Dctcp(_) => dctcp::mark(ecn),
            Feedback::None
            | Feedback::Rfc3168(_)
            | Feedback::Nonces(_)
            | Feedback::AccEcn(_)
            | Feedback::Quic(_) => Mark::None,
        }
    }

    /// A segment within the window arrived. What is outside of it says nothing (RFC 3168 section 6.1.5; RFC 9768 section
    /// 1.3, "Acceptable packet").
    #[inline]
    pub(super) fn on_segment(&mut self, segment: &Segment) -> News {
        match self {
            Feedback::None => News::None,
            Feedback::Rfc3168(latch) | Feedback::Esce(latch) => latch.on_segment(segment.ecn, segment.flags),
            Feedback::Nonces(sum) => sum.on_segment(segment),
            Feedback::Dctcp(state) => state.on_segment(segment.ecn, segment.flags),
            Feedback::AccEcn(accecn) => accecn.on_data(segment),
            Feedback::Quic(counts) => counts.on_segment(segment),
        }
    }

    /// A segment without data arrived. True if it must be acknowledged.
    pub(super) fn on_pure_ack(&mut self, segment: &Segment) -> bool {
        match self {
            Feedback::AccEcn(accecn) => accecn.on_pure_ack(segment),
            _ => false,
        }
    }

    /// The flags of an ACK of segments with `mark`, and with the number `ack`.
    #[inline]
    pub(super) fn flags(&mut self, mark: Mark, ack: Seq) -> TcpFlags {
        match self {
            Feedback::None | Feedback::Quic(_) => TcpFlags::ACK,
            Feedback::Rfc3168(latch) => latch.flags(),
            Feedback::Nonces(sum) => sum.flags(ack),
            Feedback::Esce(latch) => latch.flags().with_if(TcpFlags::AE, mark == Mark::Sce),
            Feedback::Dctcp(state) => state.flags(),
            Feedback::AccEcn(accecn) => accecn.flags(),
        }
    }

    /// ECT(1) is a nonce, and no mark.
    pub(super) fn has_nonces(&self) -> bool {
        matches!(self, Feedback::Nonces(_))
    }

    /// The flags of an ACK of a part of what one with `flags` acknowledges.
    pub(super) fn flags_of_part(&self, flags: TcpFlags, ack: Seq) -> TcpFlags {
        match self {
            Feedback::Nonces(sum) => flags.without(TcpFlags::AE) | sum.nonce_sum(ack),
            _ => flags,
        }
    }

    /// The AccECN option of an ACK that leaves now, if it carries one; there is room for `room` bytes of options.
    #[inline]
    pub(super) fn option(&mut self, room: Bytes) -> Option<AccEcnOption> {
        match self {
            Feedback::AccEcn(accecn) => accecn.option(room),
            _ => None,
        }
    }

    /// The least room that an ACK should leave for [`Feedback::option`].
    #[inline]
    pub(super) fn wanted(&self) -> Bytes {
        match self {
            Feedback::AccEcn(accecn) => accecn.wanted(),
            _ => Bytes::ZERO,
        }
    }

    /// What the ACK of the SYN/ACK said about the SYN/ACK's ECN field, once it has come (RFC 9768 table 4).
    pub(super) fn syn_ack_arrived_as(&self) -> Option<Ecn> {
        match self {
            Feedback::AccEcn(accecn) => accecn.syn_ack_arrived_as(),
            _ => None,
        }
    }
}
