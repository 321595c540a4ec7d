//! The echo of SCE at the sender (draft-grimes-tcpm-tcpsce; spec/queues-and-signalling section 17.7).
//!
//! ESCE, the flag AE, is exact: it speaks of all that its ACK newly acknowledges, and of nothing else. It is not reliable: an
//! ACK that is lost takes its ESCE with it, which costs a small decrease.

use windtunnel_wire::TcpFlags;

#[inline]
pub(super) fn hears_sce(flags: TcpFlags) -> bool {
    flags.contains(TcpFlags::AE)
}
