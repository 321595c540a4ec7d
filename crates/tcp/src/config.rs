//! What both ends of a connection agree on.

use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, FlowId};

use crate::memory::{Ratio, footprint};

/// Headers of a packet: IPv4 20, TCP 20, timestamps option with padding 12 bytes (RFC 7323).
pub const HEADERS: Bytes = Bytes::new(52);
/// The same without timestamps.
pub const HEADERS_WITHOUT_TIMESTAMPS: Bytes = Bytes::new(40);

/// The largest scale of a receive window (RFC 7323 section 2.3).
const LARGEST_WINDOW_SHIFT: u32 = 14;
/// `net.core.rmem_max` of Linux 6.18: what an application may ask for. The scale allows for it.
const LEAST_SCALED_MEMORY: u64 = 1 << 22;

/// The scale of the receive window (RFC 7323 section 2), `packet.window << shift` bytes, of a connection whose window
/// never exceeds `largest`. As in Linux the memory of that window fits into the field with a bit to spare.
pub fn window_shift(endpoint: &Endpoint, largest: Bytes) -> u32 {
    let memory = Ratio::of(endpoint.mss().get(), footprint(endpoint.mtu)).memory(largest.get());
    (memory.max(LEAST_SCALED_MEMORY).ilog2() - 15).min(LARGEST_WINDOW_SHIFT)
}

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
    /// The code point of data packets: ECT(0), ECT(1) for L4S, or Not-ECT.
    pub ecn: Ecn,
    /// MDS was negotiated: data packets carry `dscp` as the MDS identifier, the receiver echoes SCE, and
    /// the sender responds to it.
    pub mds: bool,
    /// The DSCP of data packets.
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
