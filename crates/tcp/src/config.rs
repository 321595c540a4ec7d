//! What both ends of a connection agree on.

use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::scheme::FeedbackScheme;

/// Headers of a packet: IPv4 20, TCP 20, timestamps option with padding 12 bytes (RFC 7323).
pub const HEADERS: Bytes = Bytes::new(52);
/// The same without timestamps.
pub const HEADERS_WITHOUT_TIMESTAMPS: Bytes = Bytes::new(40);

/// The scale of the receive window (RFC 7323 section 2): `packet.window << WINDOW_SHIFT` bytes. 14, the largest that
/// there is, on every connection: windows of up to 1 GiB in units of 16 KiB.
pub const WINDOW_SHIFT: u32 = 14;

/// One connection as both of its ends see it.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    /// The flow's index in the network.
    pub flow: FlowId,
    /// The largest IP packet.
    pub mtu: Bytes,
    /// Headers of a data packet and of an ACK without further options. The SYNs of a TCP with loss have more.
    pub headers: Bytes,
    /// The initial window.
    pub iw: Bytes,
    /// Departures are spaced by the controller's pacing.
    pub paced: bool,
    /// The code point of data packets: ECT(0), ECT(1), or Not-ECT.
    pub ecn: Ecn,
    /// How the receiver reports marks, if the handshake agrees.
    pub feedback: FeedbackScheme,
    /// The DSCP of data packets; with MDS its identifier, which they carry once the handshake has agreed.
    pub dscp: Dscp,
}

impl Endpoint {
    /// Payload of a full segment.
    pub fn mss(&self) -> Bytes {
        self.mtu - self.headers
    }

    /// Headers of a SYN or SYN|ACK: those of other packets, and the options that only these two have
    /// (spec/queues-and-signalling section 18.1): with SACK permitted, with the offer of MDS.
    pub(crate) fn syn_headers(&self, sack: bool, mds: bool) -> Bytes {
        /// Each with the NOPs that make it a multiple of four bytes.
        const MAXIMUM_SEGMENT_SIZE: Bytes = Bytes::new(4);
        const WINDOW_SCALE: Bytes = Bytes::new(4);
        const SACK_PERMITTED: Bytes = Bytes::new(4);
        const MDS: Bytes = Bytes::new(8);
        let option = |present, size| if present { size } else { Bytes::ZERO };
        // With timestamps, SACK permitted takes the place of their two NOPs.
        let sack = option(sack && self.headers == HEADERS_WITHOUT_TIMESTAMPS, SACK_PERMITTED);
        self.headers + MAXIMUM_SEGMENT_SIZE + WINDOW_SCALE + sack + option(mds, MDS)
    }

    /// The floor of cwnd: two segments.
    pub fn min_cwnd(&self) -> Bytes {
        self.mss() * 2
    }
}
