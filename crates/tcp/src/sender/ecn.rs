//! Explicit congestion notification at the sender: what it asks for, which code point its data carry, and what it hears.
//!
//! One file per feedback scheme: [`rfc3168`], [`nonce`] with it, [`esce`], [`accecn`], [`quic`]. Whatever the scheme, the rest of the sender learns
//! whether an ACK reports CE or SCE, and the controller learns counts. Sources: RFC 3168 section 6.1, RFC 9768,
//! spec/queues-and-signalling section 17.

mod accecn;
mod esce;
mod nonce;
mod quic;
mod rfc3168;

use windtunnel_cc::{EcnFeedback, Feedback, Needs};
use windtunnel_units::{Bytes, Seq, Time};
use windtunnel_wire::{AccEcnOption, Dscp, Ecn, MdsCapability, Packet, TcpFlags};

use self::accecn::AccEcn;
use self::nonce::Nonces;
use self::quic::Quic;
use self::rfc3168::Cwr;
pub(super) use self::rfc3168::all;
use super::scoreboard::Amount;
use crate::config::Endpoint;
use crate::ecn_pp::{CodePoints, EcnPp};
use crate::params::TcpParams;
use crate::scheme::FeedbackScheme;

/// What was negotiated, and what is still to be told to the receiver.
#[derive(Debug)]
pub(crate) struct EcnSender {
    /// The code point of new data.
    data: Ecn,
    /// Those of other packets.
    others: CodePoints,
    /// That of the last SYN.
    syn: Ecn,
    pp: EcnPp,
    /// The seed of nonces, where they are wanted.
    nonces: Option<u64>,
    /// The DSCP of everything.
    dscp: Dscp,
    scheme: Scheme,
}

/// The sender's side of the scheme in force.
#[derive(Debug)]
enum Scheme {
    None,
    Rfc3168(Cwr),
    Nonces(Box<Nonces>),
    /// RFC 3168 for CE, and ESCE.
    Esce(Cwr),
    AccEcn(Box<AccEcn>),
    Quic(Box<Quic>),
}

/// What an ACK brought, as a scheme needs it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// SND.UNA moved.
    pub(super) advanced: bool,
    /// Whole segments newly delivered.
    pub(super) delivered: Amount,
    /// The latest timestamp of the ACKs before.
    pub(super) ts_recent: Time,
    /// The connection has SACK.
    pub(super) sack: bool,
    /// It covers a segment that was sent more than once.
    pub(super) retransmitted: bool,
    /// SND.NXT.
    pub(super) nxt: Seq,
}

impl EcnSender {
    /// With MDS the DSCP is an identifier, which packets carry once the handshake has agreed.
    pub(crate) fn new(endpoint: &Endpoint, params: &TcpParams) -> EcnSender {
        let dscp = if endpoint.feedback.is_mds() { Dscp::DEFAULT } else { endpoint.dscp };
        EcnSender {
            data: Ecn::NotEct,
            others: CodePoints::default(),
            syn: Ecn::NotEct,
            pp: params.ecn_pp,
            nonces: params.ecn_nonce.then_some(params.nonce_seed),
            dscp,
            scheme: Scheme::None,
        }
    }

    /// The DSCP of the next packet.
    #[inline]
    pub(crate) const fn dscp(&self) -> Dscp {
        self.dscp
    }

    /// The controller has given up MDS: packets leave without its identifier from now on.
    pub(super) fn drop_identifier(&mut self) {
        self.dscp = Dscp::DEFAULT;
    }

    /// The flags of a SYN that asks for this scheme (RFC 3168 section 6.1.1, RFC 9768 section 3.1.1).
    pub(crate) fn syn_flags(scheme: FeedbackScheme) -> TcpFlags {
        match scheme {
            FeedbackScheme::None => TcpFlags::NONE,
            FeedbackScheme::Rfc3168
            | FeedbackScheme::Esce
            | FeedbackScheme::Mds
            | FeedbackScheme::Dctcp
            | FeedbackScheme::Quic => TcpFlags::ECE | TcpFlags::CWR,
            FeedbackScheme::AccEcn => TcpFlags::AE | TcpFlags::ECE | TcpFlags::CWR,
        }
    }

    /// Flags and ECN field of a SYN that asks for ECN, which may have been sent before.
    pub(crate) fn stamp_syn(&mut self, endpoint: &Endpoint, again: bool, packet: &mut Packet) {
        self.syn = self.pp.syn(endpoint, again);
        packet.ecn = self.syn;
        packet.flags |= EcnSender::syn_flags(endpoint.feedback);
    }

    /// The SYN/ACK arrived: what it agrees to. `asked`: the last SYN asked for ECN; `sack`: both ends have SACK; `needs`: what the
    /// controller wants to hear.
    pub(crate) fn on_syn_ack(
        &mut self,
        endpoint: &Endpoint,
        asked: bool,
        sack: bool,
        needs: &Needs,
        packet: &Packet,
    ) {
        self.agree(endpoint, asked, needs, packet);
        if self.data != Ecn::NotEct {
            let accecn = matches!(self.scheme, Scheme::AccEcn(_));
            self.others = self.pp.established(endpoint, accecn, sack);
        }
    }

    fn agree(&mut self, endpoint: &Endpoint, asked: bool, needs: &Needs, packet: &Packet) {
        let scheme = endpoint.feedback;
        if scheme == FeedbackScheme::AccEcn
            && let Some(accecn) = AccEcn::agreed(endpoint.mss(), self.syn, packet)
        {
            // RFC 9768 section 3.2.2.3: a path that changed the SYN's ECN field may change those of data.
            self.data = if accecn.syn_was_mangled() { Ecn::NotEct } else { endpoint.ecn };
            self.scheme = Scheme::AccEcn(Box::new(accecn));
            return;
        }
        if !asked || !scheme.uses_ecn() || !rfc3168::is_agreed(packet.flags) {
            return;
        }
        // Without counts a sender must not claim to be an L4S one (RFC 9331 section 4.2).
        let unheard = scheme == FeedbackScheme::AccEcn && endpoint.ecn == Ecn::Ect1;
        self.data = if unheard { Ecn::NotEct } else { endpoint.ecn };
        // What comes back is what was offered, or it is a refusal.
        let accepted = packet.options().and_then(|options| options.mds_capable);
        let mds = accepted == Some(mds_offer(needs));
        match scheme {
            FeedbackScheme::Mds if mds => {
                self.dscp = endpoint.dscp;
                self.scheme = Scheme::Esce(Cwr::default());
            }
            FeedbackScheme::Esce => self.scheme = Scheme::Esce(Cwr::default()),
            FeedbackScheme::Quic => {
                let quic = Quic::new(endpoint.mss(), endpoint.ecn, needs.feedback == Feedback::PlainSce);
                self.scheme = Scheme::Quic(Box::new(quic));
            }
            FeedbackScheme::None
            | FeedbackScheme::Rfc3168
            | FeedbackScheme::Mds
            | FeedbackScheme::Dctcp
            | FeedbackScheme::AccEcn => {
                self.scheme = match self.nonces {
                    Some(seed) => Scheme::Nonces(Box::new(Nonces::new(seed))),
                    None => Scheme::Rfc3168(Cwr::default()),
                };
            }
        }
    }

    /// The feedback that the handshake agreed on, of a flow that asked for `scheme`.
    pub(crate) fn agreed(&self, scheme: FeedbackScheme) -> Feedback {
        match &self.scheme {
            Scheme::None => Feedback::None,
            Scheme::Rfc3168(_) if scheme == FeedbackScheme::Dctcp => Feedback::Shares,
            Scheme::Rfc3168(_) | Scheme::Nonces(_) => Feedback::Classic,
            Scheme::Esce(_) if scheme.is_mds() => Feedback::Sce,
            Scheme::Esce(_) => Feedback::PlainSce,
            Scheme::Quic(quic) if quic.hears_sce() => Feedback::PlainSce,
            Scheme::AccEcn(_) | Scheme::Quic(_) => Feedback::Counts,
        }
    }

    /// A SYN/ACK came again.
    pub(crate) fn on_another_syn_ack(&mut self, ecn: Ecn) {
        if let Scheme::AccEcn(accecn) = &mut self.scheme {
            accecn.on_syn_ack(ecn);
        }
    }

    /// Flags and option of the ACK of the SYN/ACK, where it says how that arrived (RFC 9768 section 3.2.2.1).
    pub(crate) fn third_ack(&self) -> Option<(TcpFlags, AccEcnOption)> {
        match &self.scheme {
            Scheme::AccEcn(accecn) => Some(accecn.third_ack()),
            _ => None,
        }
    }

    /// An ACK without a flag reports nothing, and says nothing else.
    #[inline]
    pub(super) const fn hears_flags_alone(&self) -> bool {
        matches!(self.scheme, Scheme::None | Scheme::Rfc3168(_) | Scheme::Esce(_))
    }

    /// Whether an ACK reports CE and SCE.
    #[inline]
    pub(super) fn hear(&mut self, packet: &Packet, progress: Progress) -> (bool, bool) {
        match &mut self.scheme {
            Scheme::None => (false, false),
            Scheme::Rfc3168(_) => (rfc3168::hears_ce(packet.flags), false),
            Scheme::Nonces(nonces) => (nonces.hear(packet, progress), false),
            Scheme::Esce(_) => (rfc3168::hears_ce(packet.flags), esce::hears_sce(packet.flags)),
            Scheme::AccEcn(accecn) => {
                let ce = accecn.hear(packet, progress);
                if accecn.distrusts_path() {
                    self.data = Ecn::NotEct;
                    self.others = CodePoints::default();
                }
                (ce, false)
            }
            Scheme::Quic(quic) => {
                let heard = quic.hear(packet, progress);
                if quic.has_failed() {
                    self.data = Ecn::NotEct;
                    self.others = CodePoints::default();
                }
                heard
            }
        }
    }

    /// What the controller is told: the marks that this ACK reports, and those reported by ACKs before it that delivered
    /// nothing. A flag says that all that its ACK delivered was marked; CE stands for SCE as well.
    #[inline]
    pub(super) fn counts(&mut self, ce: bool, sce: bool, delivered: Amount) -> EcnFeedback {
        match &mut self.scheme {
            Scheme::AccEcn(accecn) => accecn.take_counts(),
            Scheme::Quic(quic) => quic.take_counts(),
            Scheme::None | Scheme::Rfc3168(_) | Scheme::Nonces(_) | Scheme::Esce(_) => {
                of_flags(ce, sce, delivered)
            }
        }
    }

    /// What [`EcnSender::counts`] will say about the same ACK.
    pub(super) fn foretold_counts(&self, ce: bool, sce: bool, delivered: Amount) -> EcnFeedback {
        match &self.scheme {
            Scheme::AccEcn(accecn) => accecn.counts(),
            Scheme::Quic(quic) => quic.counts(),
            Scheme::None | Scheme::Rfc3168(_) | Scheme::Nonces(_) | Scheme::Esce(_) => {
                of_flags(ce, sce, delivered)
            }
        }
    }

    /// cwnd was reduced: the receiver is to be told.
    pub(crate) fn queue_cwr(&mut self) {
        self.set_cwr(true);
    }

    /// The reduction is undone.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.set_cwr(false);
    }

    fn set_cwr(&mut self, due: bool) {
        match &mut self.scheme {
            Scheme::Rfc3168(cwr) | Scheme::Esce(cwr) => cwr.due = due,
            Scheme::Nonces(nonces) => nonces.cwr.due = due,
            Scheme::None | Scheme::AccEcn(_) | Scheme::Quic(_) => {}
        }
    }

    /// The sum of nonces of the last ACK was wrong; asked once.
    pub(super) fn takes_wrong_sum(&mut self) -> bool {
        if let Scheme::Nonces(nonces) = &mut self.scheme { nonces.take_wrong() } else { false }
    }

    /// The ECN field and flags of a new data segment.
    #[inline]
    pub(crate) fn stamp(&mut self, packet: &mut Packet) {
        packet.ecn = self.data;
        match &mut self.scheme {
            Scheme::None | Scheme::Quic(_) => {}
            Scheme::Rfc3168(cwr) | Scheme::Esce(cwr) => packet.flags |= cwr.take(),
            Scheme::Nonces(nonces) => nonces.stamp(packet),
            Scheme::AccEcn(accecn) => packet.flags |= accecn.ace(),
        }
    }

    /// The ECN field and flags of a segment that is sent again, or of a FIN. By RFC 3168 it is not ECN-capable: the loss of a
    /// retransmission would hide a mark (section 6.1.5), and its CWR might belong to an older window.
    pub(crate) fn stamp_again(&mut self, packet: &mut Packet) {
        packet.ecn = self.others.other;
        self.stamp_flags(packet);
        self.note_bare();
    }

    /// The ECN field and flags of a packet without data.
    pub(crate) fn stamp_pure_ack(&mut self, packet: &mut Packet) {
        packet.ecn = self.others.pure_ack;
        self.stamp_flags(packet);
    }

    /// The ECN field of the ACK of the SYN/ACK, whose flags say how that arrived.
    pub(crate) fn stamp_handshake_ack(&self, packet: &mut Packet) {
        packet.ecn = self.others.pure_ack;
    }

    /// A new segment leaves as a window probe (RFC 3168 section 6.1.6).
    pub(crate) fn stamp_probe(&mut self, packet: &mut Packet) {
        packet.ecn = self.others.other;
        self.note_bare();
        if let Scheme::Nonces(nonces) = &mut self.scheme {
            nonces.withdraw(packet.seq);
        }
    }

    /// The counts may lack a segment that is not ECN-capable.
    fn note_bare(&mut self) {
        if let Scheme::Quic(quic) = &mut self.scheme
            && self.others.other == Ecn::NotEct
        {
            quic.sent_bare();
        }
    }

    fn stamp_flags(&mut self, packet: &mut Packet) {
        if let Scheme::AccEcn(accecn) = &mut self.scheme {
            packet.flags |= accecn.ace();
        }
    }

    /// Marks on the receiver's packets are to be reported by a packet without data (RFC 9768 section 3.2.2.5.1); `silent`: no
    /// data are about to leave.
    pub(crate) fn owes_ack(&self, silent: bool) -> bool {
        matches!(&self.scheme, Scheme::AccEcn(accecn) if accecn.owes_ack(silent))
    }

    /// The SYN arrived with a mark, which asks for an initial window of one segment.
    pub(crate) fn syn_was_marked(&self) -> bool {
        let marked = matches!(&self.scheme, Scheme::AccEcn(accecn) if accecn.syn_was_marked());
        marked && self.pp.answers_marked_syn()
    }
}

/// What a flow with MDS offers. A tau that is no power of two is offered as the next lower one.
pub(crate) fn mds_offer(needs: &Needs) -> MdsCapability {
    MdsCapability { log2_tau: needs.tau.ilog2() as u8 }
}

/// What the flags of an ACK say.
#[inline]
fn of_flags(ce: bool, sce: bool, delivered: Amount) -> EcnFeedback {
    if !ce && !sce {
        return EcnFeedback::default();
    }
    let marked = all(delivered);
    if ce {
        EcnFeedback { ce: marked, ..EcnFeedback::default() }
    } else {
        EcnFeedback { sce: marked, ..EcnFeedback::default() }
    }
}

/// The bytes of `segments` full segments.
fn bytes_of(segments: u32, mss: Bytes) -> Bytes {
    mss * u64::from(segments)
}
