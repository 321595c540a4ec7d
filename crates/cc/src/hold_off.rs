//! The hold-off after a congestion response: at most one response per round.
//!
//! The round in which a response was made ends when the data sent after the response is acknowledged
//! (RFC 3168 section 6.1.2, RFC 6582 section 3.2 step 1; spec/mds section 2, "once per RTT"). A sender uses it for losses:
//! the first of a round is a congestion event, and the others belong to it (RFC 9002 section 7.3.1).

use windtunnel_units::Seq;

/// Refuses responses until the cumulative ACK has passed `recover`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldOff {
    recover: Seq,
}

impl Default for HoldOff {
    fn default() -> HoldOff {
        HoldOff::new()
    }
}

impl HoldOff {
    /// Creates a hold-off that allows the first response: even the first segment's ACK is beyond the SYN.
    pub const fn new() -> HoldOff {
        HoldOff { recover: Seq::SYN }
    }

    /// Returns true if the controller may respond to an ACK up to `una`. The comparison is strict: the ACK of exactly
    /// the data outstanding at the response still belongs to its round.
    pub fn allows(self, una: Seq) -> bool {
        una > self.recover
    }

    /// Starts a new round at `nxt`, the next sequence number to be sent.
    pub fn start(&mut self, nxt: Seq) {
        self.recover = nxt;
    }

    /// SND.NXT at the last response.
    pub const fn recover(self) -> Seq {
        self.recover
    }
}
