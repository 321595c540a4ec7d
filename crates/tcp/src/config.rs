//! What both ends of a connection agree on.

use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, FlowId, Options, Packet, TcpFlags};

use crate::memory::{Blocks, Ratio};
use crate::params::TcpParams;

use crate::scheme::FeedbackScheme;

/// Headers of a packet: IPv4 20, TCP 20, timestamps option with padding 12 bytes (RFC 7323).
pub const HEADERS: Bytes = Bytes::new(52);
/// The same without timestamps.
pub const HEADERS_WITHOUT_TIMESTAMPS: Bytes = Bytes::new(40);

/// The largest scale of a receive window (RFC 7323 section 2.3).
const LARGEST_WINDOW_SHIFT: u32 = 14;
/// The same where the receiver limits its sender by the window (RFC 9840 section 4.1).
const LARGEST_SHIFT_OF_RLEDBAT: u32 = 11;
/// `net.core.rmem_max` of Linux 6.18: the largest buffer that an application may ask for. The scale allows for it.
const LEAST_SCALED_MEMORY: u64 = 1 << 22;

/// What the window field of a connection's packets means (RFC 7323 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowScale {
    /// The field counts units of 2 to this power.
    pub shift: u32,
    /// The field of a SYN is scaled like any other. RFC 7323 section 2.2 forbids it; a window that is fixed from the
    /// start needs it, or a large initial window would wait for the first ACK.
    pub scaled_syn: bool,
}

impl WindowScale {
    /// The window of endpoints that ignore windows.
    pub const LARGEST: WindowScale = WindowScale { shift: LARGEST_WINDOW_SHIFT, scaled_syn: true };

    /// The window of a connection. As in Linux, the field holds the memory of the largest window with a bit to spare.
    pub fn new(endpoint: &Endpoint, params: &TcpParams) -> WindowScale {
        let ratio =
            Ratio::of(endpoint.mss().get(), Blocks::new(params).received(endpoint.headers, endpoint.mss()));
        let memory = ratio.memory(params.receive_window.get()).max(LEAST_SCALED_MEMORY);
        // A unit of more than a segment would be rounded up with each ACK of one: the window could never close.
        let whole_segment = || endpoint.mss().get().max(1).ilog2().min(LARGEST_SHIFT_OF_RLEDBAT);
        let largest = params.rledbat.as_ref().map_or(LARGEST_WINDOW_SHIFT, |_| whole_segment());
        WindowScale { shift: (memory.ilog2() - 15).min(largest), scaled_syn: params.has_fixed_window() }
    }

    /// The window that a packet offers.
    #[inline]
    pub fn window(self, packet: &Packet) -> Bytes {
        let unscaled = packet.flags.contains(TcpFlags::SYN) && !self.scaled_syn;
        Bytes::new(u64::from(packet.window) << if unscaled { 0 } else { self.shift })
    }
}

/// One connection as both of its ends see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The controller needs ECN, as DCTCP does: Linux then makes every packet ECN-capable (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// How the receiver reports marks, if the handshake agrees.
    pub feedback: FeedbackScheme,
    /// The DSCP of data packets; with MDS its identifier, which packets carry once the handshake has agreed on it.
    pub dscp: Dscp,
}

impl Endpoint {
    /// Payload of a full segment.
    pub fn mss(&self) -> Bytes {
        self.mtu - self.headers
    }

    /// Headers of a SYN or SYN|ACK: those of other packets, and the options that only these two carry
    /// (spec/queues-and-signalling section 18.1): SACK permitted, with MDS its offer, and that ACK rates may be asked for.
    pub(crate) fn syn_headers(&self, options: &Options) -> Bytes {
        /// Each with the NOPs that make it a multiple of four bytes.
        const MAXIMUM_SEGMENT_SIZE: Bytes = Bytes::new(4);
        const WINDOW_SCALE: Bytes = Bytes::new(4);
        const SACK_PERMITTED: Bytes = Bytes::new(4);
        const MDS: Bytes = Bytes::new(8);
        let option = |present, size| if present { size } else { Bytes::ZERO };
        // With timestamps, SACK permitted replaces their two NOPs.
        let ack_rate = options.ack_rate.map_or(Bytes::ZERO, |rate| Bytes::new(rate.padded_length()));
        let sack =
            option(options.sack_permitted && self.headers == HEADERS_WITHOUT_TIMESTAMPS, SACK_PERMITTED);
        self.headers
            + MAXIMUM_SEGMENT_SIZE
            + WINDOW_SCALE
            + sack
            + option(options.mds_capable.is_some(), MDS)
            + ack_rate
    }

    /// The floor of cwnd: two segments.
    pub fn min_cwnd(&self) -> Bytes {
        self.mss() * 2
    }
}
