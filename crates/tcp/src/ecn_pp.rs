//! Which packets in addition to new data are ECN-capable (ECN++, draft-ietf-tcpm-generalized-ecn;
//! spec/queues-and-signalling section 17.1).
//!
//! RFC 3168 allows none: a mark on a SYN would not be reported, and one on a pure ACK not answered (sections 6.1.1, 6.1.4 to
//! 6.1.6). What is not ECN-capable is dropped where data are marked: a shallow threshold takes the SYNs, the ACKs and the
//! repairs of just those flows that it is made for. So Linux makes all packets of a controller that needs ECN capable
//! (`INET_ECN_xmit` for `TCP_CONG_NEEDS_ECN`), and with AccECN, which counts marks on every packet, all but SYN and SYN/ACK.
//!
//! The draft's rules: a SYN may be marked if it asks for AccECN, which reports the mark, and the sender then starts with one
//! segment; pure ACKs, with AccECN and SACK; SYN/ACKs, FINs, window probes and retransmissions, with any feedback. A SYN or
//! SYN/ACK that is repeated is not ECN-capable: a middlebox may have dropped the first for that.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_wire::Ecn;

use crate::config::Endpoint;
use crate::scheme::FeedbackScheme;

/// Which packets in addition to new data are ECN-capable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPp {
    /// As Linux: all of a controller that needs ECN (DCTCP, Prague); with AccECN all but SYN and SYN/ACK; otherwise none.
    #[default]
    Linux,
    /// None (RFC 3168).
    Off,
    /// All that draft-ietf-tcpm-generalized-ecn allows.
    On,
}

/// The code points of an established connection's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CodePoints {
    pub(crate) pure_ack: Ecn,
    /// FINs, window probes and retransmissions.
    pub(crate) other: Ecn,
}

impl EcnPp {
    /// The code point of a SYN that asks for ECN. `again`: it was sent before.
    pub(crate) fn syn(self, endpoint: &Endpoint, again: bool) -> Ecn {
        capable(
            endpoint,
            match self {
                EcnPp::Off => false,
                EcnPp::Linux => endpoint.needs_ecn,
                EcnPp::On => !again && endpoint.feedback == FeedbackScheme::AccEcn,
            },
        )
    }

    /// The code point of a SYN/ACK that agrees to ECN. `again`: it was sent before.
    pub(crate) fn syn_ack(self, endpoint: &Endpoint, again: bool) -> Ecn {
        capable(
            endpoint,
            match self {
                EcnPp::Off => false,
                EcnPp::Linux => endpoint.needs_ecn,
                EcnPp::On => !again,
            },
        )
    }

    /// The code points of what follows, on a connection that has agreed on ECN, perhaps on AccECN and on SACK.
    pub(crate) fn established(self, endpoint: &Endpoint, accecn: bool, sack: bool) -> CodePoints {
        let (pure_ack, other) = match self {
            EcnPp::Off => (false, false),
            EcnPp::Linux => (accecn || endpoint.needs_ecn, accecn || endpoint.needs_ecn),
            EcnPp::On => (accecn && sack, true),
        };
        CodePoints { pure_ack: capable(endpoint, pure_ack), other: capable(endpoint, other) }
    }

    /// A mark on the SYN is answered by an initial window of one segment. Linux has no answer.
    pub(crate) fn answers_marked_syn(self) -> bool {
        self == EcnPp::On
    }
}

fn capable(endpoint: &Endpoint, capable: bool) -> Ecn {
    if capable { endpoint.ecn } else { Ecn::NotEct }
}
