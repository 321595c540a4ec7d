//! The echo of SCE: ESCE, the flag AE (draft-grimes-tcpm-tcpsce; spec/queues-and-signalling sections 15.1 and 17.7).
//!
//! It is exact: an ACK with ESCE acknowledges nothing but segments with SCE, so a sender that counts what ESCE newly
//! acknowledges counts what the receiver got. For that, segments with different marks do not share an ACK. Whether
//! ACKs leave at once for every segment, for every marked one or at each change is decided by the receiver's
//! [`AckPolicy`](crate::AckPolicy).

use windtunnel_wire::Ecn;

use super::Mark;

/// SCE is ECT(1) on a connection whose sender sends ECT(0).
#[inline]
pub(super) fn mark(ecn: Ecn) -> Mark {
    if ecn == Ecn::Ect1 { Mark::Sce } else { Mark::None }
}
