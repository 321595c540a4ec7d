//! What ACKs echo of congestion marks.
//!
//! CE is echoed through RFC 3168's latch (section 6.1.3): ECE on every ACK, from the segment with CE to the one with
//! CWR; CE on a segment with CWR sets it anew. SCE is echoed by the AE flag ("ESCE"; spec/queues-and-signalling
//! section 17.5), exactly: an ACK with it acknowledges nothing but segments with SCE. So the sender's count of ESCE
//! is the receiver's of SCE.
//!
//! An exact echo of CE, as DCTCP wants it (RFC 8257 section 3.2), is another [`Mark`].

use windtunnel_wire::{Ecn, TcpFlags};

/// What an ACK has to say of the segments that it acknowledges. Segments with different marks never share an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mark {
    #[default]
    None,
    Sce,
}

/// What a segment did to the latch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Latch {
    Unchanged,
    /// The first CE since the sender's last CWR.
    Set,
    /// CWR: the sender heard of it.
    Cleared,
}

/// The receiver's side of the congestion signals.
#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    /// MDS was negotiated.
    mds: bool,
    /// ECN was negotiated: without it no mark is looked at.
    ecn: bool,
    /// The latch.
    ece: bool,
}

impl Echo {
    pub(super) fn new(mds: bool) -> Echo {
        Echo { mds, ecn: false, ece: false }
    }

    /// The handshake negotiated ECN, or did not.
    pub(super) fn negotiated(&mut self, ecn: bool) {
        self.ecn = ecn;
    }

    pub(super) fn echoes_sce(self) -> bool {
        self.mds
    }

    /// SCE is a mark only where MDS was negotiated; elsewhere ECT(1) is just ECT.
    #[inline]
    pub(super) fn mark(self, ecn: Ecn) -> Mark {
        if self.mds && self.ecn && ecn == Ecn::Ect1 { Mark::Sce } else { Mark::None }
    }

    /// A segment within the window arrived. What is outside of it says nothing (RFC 3168 section 6.1.5).
    #[inline]
    pub(super) fn on_segment(&mut self, ecn: Ecn, flags: TcpFlags) -> Latch {
        if !self.ecn {
            return Latch::Unchanged;
        }
        let cleared = flags.contains(TcpFlags::CWR);
        self.ece &= !cleared;
        if ecn == Ecn::Ce && !self.ece {
            self.ece = true;
            return Latch::Set;
        }
        if cleared { Latch::Cleared } else { Latch::Unchanged }
    }

    /// The flags of an ACK of segments with `mark`.
    #[inline]
    pub(super) fn flags(self, mark: Mark) -> TcpFlags {
        TcpFlags::ACK.with_if(TcpFlags::ECE, self.ece).with_if(TcpFlags::AE, mark == Mark::Sce)
    }
}
