//! The echo of CE at the sender (RFC 3168 section 6.1.2).
//!
//! The receiver repeats ECE until it sees CWR, so ECE is an event of a window, not of an ACK: it is answered once, and the
//! next new segment carries CWR.

use windtunnel_cc::Marked;
use windtunnel_wire::TcpFlags;

use super::super::scoreboard::Amount;

/// Whether CWR is due.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cwr {
    pub(super) due: bool,
}

impl Cwr {
    /// CWR, once.
    #[inline]
    pub(super) fn take(&mut self) -> TcpFlags {
        TcpFlags::NONE.with_if(TcpFlags::CWR, std::mem::take(&mut self.due))
    }
}

/// An ECN-setup SYN/ACK has ECE and not CWR (section 6.1.1), and not AE (RFC 9768 table 2).
pub(super) fn is_agreed(syn_ack: TcpFlags) -> bool {
    syn_ack.ace() == 0b001
}

#[inline]
pub(super) fn hears_ce(flags: TcpFlags) -> bool {
    flags.contains(TcpFlags::ECE)
}

/// All that an ACK delivered.
pub(in crate::sender) fn all(delivered: Amount) -> Marked {
    Marked { bytes: delivered.bytes, packets: delivered.segments as u32 }
}
