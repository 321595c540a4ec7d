//! What a socket tells of its sender: what `ss -ti`, flowgrind and Flent read from Linux's `tcp_info` (include/uapi/linux/tcp.h,
//! `tcp_get_info`), and web10g from RFC 4898's tables.

use windtunnel_units::{Bytes, Duration, Rate};

use crate::sender::CaState;

/// The state of a sender that no packet shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// The state of congestion control.
    pub state: CaState,
    /// The slow-start threshold; none while it is infinite.
    pub ssthresh: Option<Bytes>,
    /// The mean deviation of the round-trip time; none before the first sample.
    pub rttvar: Option<Duration>,
    /// The retransmission timeout, back-off included.
    pub rto: Duration,
    /// How often the timeout is doubled.
    pub backoff: u32,
    /// Expiries of the timer since data were last acknowledged.
    pub consecutive_rtos: u32,
    /// The rate of departures; none if they are not paced, or not yet.
    pub pacing_rate: Option<Rate>,
    /// The rate of delivery, as last sampled.
    pub delivery_rate: Option<Rate>,
    /// Sent, and not cumulatively acknowledged.
    pub unacked: Bytes,
    /// Of it, delivered above the cumulative ACK.
    pub sacked: Bytes,
    /// Of it, taken for lost.
    pub lost: Bytes,
    /// Of it, sent again, and that is under way.
    pub retrans_out: Bytes,
    /// By how many segments data may be late and not be taken for lost; none if duplicate ACKs tell nothing.
    pub reordering: Option<u32>,
}
