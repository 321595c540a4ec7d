//! What a sender counts.

use windtunnel_units::{Bytes, Duration};

use super::limits::Limited;

/// Totals of a connection. There may be many: what happens seldom is counted in 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Of these, retransmissions.
    pub retransmits: u64,
    /// SYNs, and FINs without data, sent again.
    pub control_retransmits: u64,
    /// Losses answered by a reduction, timeouts included.
    pub loss_episodes: u64,
    /// Expiries of the retransmission timer.
    pub rtos: u64,
    /// Tail loss probes sent.
    pub tlps: u32,
    /// Reductions undone.
    pub undos: u64,
    /// Timeouts that F-RTO or a timestamp showed to be spurious.
    pub spurious_rtos: u32,
    /// ACKs with a D-SACK block.
    pub dsacks: u64,
    /// Echoes of CE answered by a reduction.
    pub ecn_reductions: u64,
    /// Probes into a closed receive window.
    pub window_probes: u32,
    /// Segments left out to expose optimistic ACKs.
    pub skips: u32,
    /// Receivers exposed by an ACK of a segment left out: one at most.
    pub exposed: u32,
    /// ACKs whose sum of nonces was wrong.
    pub nonce_fail: u32,
    /// Whole segments delivered.
    pub delivered: Bytes,
    /// Time spent under each limit, by [`Limited`], up to the last event.
    pub limited: [Duration; Limited::COUNT],
    /// The handshake's round-trip time, if it could be measured.
    pub handshake_rtt: Option<Duration>,
}
