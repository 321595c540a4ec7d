//! DCTCP's echo of CE (RFC 8257 section 3.2).
//!
//! ECE repeats the CE of the segments that an ACK acknowledges, no more and no less, so that a sender knows how many
//! were marked. Segments with and without CE do not share an ACK: where the state changes, the pending segments are
//! acknowledged with the old state, and the segment that changed it at once, with the new one. CWR changes nothing but
//! the time of its ACK.

use windtunnel_wire::{Ecn, TcpFlags};

use super::{Mark, News};

/// Whether the last segment had CE: `DCTCP.CE`.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::receiver) struct CeState {
    ce: bool,
}

#[inline]
pub(super) fn mark(ecn: Ecn) -> Mark {
    if ecn == Ecn::Ce { Mark::Ce } else { Mark::None }
}

impl CeState {
    #[inline]
    pub(super) fn on_segment(&mut self, ecn: Ecn, flags: TcpFlags) -> News {
        let ce = ecn == Ecn::Ce;
        if std::mem::replace(&mut self.ce, ce) != ce {
            return News::Due;
        }
        if flags.contains(TcpFlags::CWR) { News::Cwr } else { News::None }
    }

    #[inline]
    pub(super) fn flags(self) -> TcpFlags {
        TcpFlags::ACK.with_if(TcpFlags::ECE, self.ce)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8257 figure 1: the flag follows the state, an ACK is due at each change and for CWR, and CWR resets nothing.
    #[test]
    fn state_machine() {
        let mut state = CeState::default();
        let (ect, ce, cwr) = (Ecn::Ect0, Ecn::Ce, TcpFlags::ACK | TcpFlags::CWR);
        for (ecn, flags, news, echoed) in [
            (ect, TcpFlags::ACK, News::None, false),
            (ce, TcpFlags::ACK, News::Due, true),
            (ce, TcpFlags::ACK, News::None, true),
            (ce, cwr, News::Cwr, true),
            (ect, cwr, News::Due, false),
            (ect, TcpFlags::ACK, News::None, false),
        ] {
            assert_eq!(state.on_segment(ecn, flags), news);
            assert_eq!(state.flags().contains(TcpFlags::ECE), echoed);
        }
    }
}
