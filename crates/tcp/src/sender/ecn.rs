//! Explicit congestion notification at the sender (RFC 3168 section 6.1; spec/queues-and-signalling section 17.1), and
//! the echo of SCE.
//!
//! The receiver repeats ECE until it sees CWR, so ECE is an event of a window, not of an ACK: it is answered once, and
//! the next new segment carries CWR. ESCE, the AE flag of MDS flows, is exact: it speaks of all that its ACK newly
//! acknowledges.

use windtunnel_cc::{EcnFeedback, Marked};
use windtunnel_units::Bytes;
use windtunnel_wire::{Ecn, Packet, TcpFlags};

use super::scoreboard::Amount;
use crate::config::Endpoint;

/// What was negotiated, and what is still to be told to the receiver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EcnSender {
    /// The code point of data, if ECN is negotiated.
    data: Ecn,
    mds: bool,
    cwr_due: bool,
}

impl EcnSender {
    pub(crate) const fn new() -> EcnSender {
        EcnSender { data: Ecn::NotEct, mds: false, cwr_due: false }
    }

    /// The SYN-ACK agreed.
    pub(crate) fn negotiated(&mut self, endpoint: &Endpoint) {
        self.data = endpoint.ecn;
        self.mds = endpoint.mds;
    }

    /// Whether an ACK echoes CE and SCE.
    #[inline]
    pub(crate) fn echoes(self, packet: &Packet) -> (bool, bool) {
        let capable = self.data != Ecn::NotEct;
        let ece = capable && packet.flags.contains(TcpFlags::ECE);
        let esce = capable && self.mds && packet.flags.contains(TcpFlags::AE);
        (ece, esce)
    }

    /// An echo as counts: all that the ACK delivered counts as marked. CE stands for SCE as well.
    #[inline]
    pub(crate) fn feedback(ece: bool, esce: bool, delivered: Amount) -> EcnFeedback {
        if !ece && !esce {
            return EcnFeedback::default();
        }
        let marked = Marked { bytes: delivered.bytes, packets: delivered.segments as u32 };
        let none = Marked { bytes: Bytes::ZERO, packets: 0 };
        EcnFeedback {
            ce: if ece { marked } else { none },
            sce: if esce && !ece { marked } else { none },
            ect1: none,
        }
    }

    /// cwnd was reduced: the receiver is to be told.
    pub(crate) fn queue_cwr(&mut self) {
        self.cwr_due = self.data != Ecn::NotEct;
    }

    /// The reduction is undone.
    pub(crate) fn withdraw_cwr(&mut self) {
        self.cwr_due = false;
    }

    /// The ECN field and the CWR flag of a new data segment. A retransmission has neither: its loss would hide a mark
    /// (RFC 3168 section 6.1.5), and its CWR might belong to an older window.
    #[inline]
    pub(crate) fn stamp(&mut self, packet: &mut Packet) {
        packet.ecn = self.data;
        if self.cwr_due {
            packet.flags |= TcpFlags::CWR;
            self.cwr_due = false;
        }
    }
}
