//! What a socket tells about its sender: what `ss -ti`, flowgrind and Flent read from Linux's `tcp_info`
//! (include/uapi/linux/tcp.h, `tcp_get_info`), and web10g from RFC 4898's tables.

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
    /// How many times the timeout has been doubled.
    pub backoff: u32,
    /// Expiries of the timer since data were last acknowledged.
    pub consecutive_rtos: u32,
    /// The rate of departures; none if they are not paced, or not paced yet.
    pub pacing_rate: Option<Rate>,
    /// The rate of delivery, as sampled last.
    pub delivery_rate: Option<Rate>,
    /// Sent and not yet cumulatively acknowledged.
    pub unacked: Bytes,
    /// Of these, delivered above the cumulative ACK.
    pub sacked: Bytes,
    /// Of these, considered lost.
    pub lost: Bytes,
    /// Of these, sent again and still in the network.
    pub retrans_out: Bytes,
    /// By how many segments data may be late before they are considered lost; none if duplicate ACKs say nothing.
    pub reordering: Option<u32>,
}
