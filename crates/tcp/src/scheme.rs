//! How marks get back to a sender: the feedback schemes, chosen per flow.
//!
//! Each scheme has one file at the receiver (`receiver/feedback/`) and one at the sender (`sender/ecn/`). Every scheme
//! reports counts to the controller. Ideal endpoints have an echo of their own (`ideal/receiver.rs`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a receiver reports the marks that it receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FeedbackScheme {
    /// Not at all: the connection is not ECN-capable.
    #[default]
    None,
    /// ECE from a CE mark on until CWR answers it: one event per round trip (RFC 3168).
    Rfc3168,
    /// ECE as in RFC 3168 for CE, and ESCE (the flag AE) for each SCE mark, without negotiation
    /// (draft-grimes-tcpm-tcpsce).
    Esce,
    /// The same, negotiated by the option of MDS ("Multiplicative Decrease Scaling", Negotiation).
    Mds,
    /// ECE for just those ACKs that acknowledge CE marks: each mark is heard once (RFC 8257). It is not negotiated beyond RFC
    /// 3168: both ends must be configured for it.
    Dctcp,
    /// A counter of CE marks in each header, and counters of bytes in an option (RFC 9768).
    #[serde(rename = "accecn")]
    AccEcn,
    /// Counts of the packets received with each code point, as in QUIC's ACK frames (RFC 9000 section 19.3.2), in an experimental
    /// option. It is not negotiated beyond RFC 3168: both ends must be configured for it.
    Quic,
}

impl FeedbackScheme {
    /// True if ECN is asked for at all.
    #[inline]
    pub const fn uses_ecn(self) -> bool {
        !matches!(self, FeedbackScheme::None)
    }

    /// True if ECT(1) is SCE, the fine signal: data must then leave as ECT(0).
    #[inline]
    pub const fn hears_sce(self) -> bool {
        matches!(self, FeedbackScheme::Esce | FeedbackScheme::Mds)
    }

    /// True if MDS is asked for: packets carry its identifier.
    #[inline]
    pub const fn is_mds(self) -> bool {
        matches!(self, FeedbackScheme::Mds)
    }
}
