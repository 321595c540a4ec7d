//! The echo of CE (RFC 3168 section 6.1.3).
//!
//! From the first segment with CE on, every ACK carries ECE, so that a lost ACK loses nothing, until the sender says with
//! CWR that it has heard. CE on the segment that carries CWR sets the latch anew.

use windtunnel_wire::{Ecn, TcpFlags};

use super::News;

/// The receiver's latch.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::receiver) struct CeLatch {
    set: bool,
}

impl CeLatch {
    #[inline]
    pub(super) fn on_segment(&mut self, ecn: Ecn, flags: TcpFlags) -> News {
        let cleared = flags.contains(TcpFlags::CWR);
        self.set &= !cleared;
        if ecn == Ecn::Ce && !self.set {
            self.set = true;
            return News::FirstCe;
        }
        if cleared { News::Cwr } else { News::None }
    }

    #[inline]
    pub(super) fn flags(self) -> TcpFlags {
        TcpFlags::ACK.with_if(TcpFlags::ECE, self.set)
    }
}
