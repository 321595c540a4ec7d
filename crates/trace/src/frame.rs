//! One captured frame: from the link's header to the TCP segment.
//!
//! Captures are often cut after the headers, so every step takes what is there. Lengths come from the IP header, not
//! from the bytes at hand.

use std::net::IpAddr;

use etherparse::{EtherType, IpNumber, LaxNetSlice, LaxSlicedPacket};
use pcap_parser::Linktype;

use crate::options::{Options, word};

/// `LINKTYPE_LINUX_SLL2`, newer than the parser's list of names.
const LINUX_SLL2: Linktype = Linktype(276);
/// Raw IP, as OpenBSD and old libpcaps number it.
const OTHER_RAW: Linktype = Linktype(12);
const SLL_HEADER: usize = 16;
const SLL_PROTOCOL: usize = 14;
const SLL2_HEADER: usize = 20;
const NULL_HEADER: usize = 4;
const TCP_HEADER: usize = 20;

/// A TCP segment.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) from: (IpAddr, u16),
    pub(crate) to: (IpAddr, u16),
    pub(crate) ecn: u8,
    pub(crate) dscp: u8,
    pub(crate) payload: u32,
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    /// With AE as bit 8.
    pub(crate) flags: u32,
    /// As it is on the wire.
    pub(crate) window: u16,
    pub(crate) options: Options,
}

pub(crate) const FIN: u32 = 0x01;
pub(crate) const SYN: u32 = 0x02;
pub(crate) const RST: u32 = 0x04;
pub(crate) const ACK: u32 = 0x10;

/// Why a frame has no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Other {
    /// Not TCP over IP.
    Protocol,
    /// A later fragment of a packet, which has no TCP header.
    Fragment,
    /// Cut or damaged before the end of the fixed TCP header.
    Cut,
    /// The kind of link is not known.
    Link(i32),
}

/// The segment in a frame of `length` bytes; `data` is the part that was captured.
pub(crate) fn segment(link: Linktype, data: &[u8], length: u32) -> Result<Segment, Other> {
    let (packet, header) = match link {
        Linktype::ETHERNET => (LaxSlicedPacket::from_ethernet(data).map_err(|_| Other::Cut)?, None),
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 | OTHER_RAW => (ip(data)?, Some(0)),
        Linktype::NULL | Linktype::LOOP => {
            (ip(data.get(NULL_HEADER..).ok_or(Other::Cut)?)?, Some(NULL_HEADER))
        }
        Linktype::LINUX_SLL => (cooked(data, SLL_HEADER, SLL_PROTOCOL)?, None),
        LINUX_SLL2 => (cooked(data, SLL2_HEADER, 0)?, None),
        Linktype(other) => return Err(Other::Link(other)),
    };
    let net =
        packet.net.as_ref().ok_or(if packet.stop_err.is_some() { Other::Cut } else { Other::Protocol })?;
    let (from, to, ecn, dscp, claimed, payload) = match net {
        LaxNetSlice::Ipv4(ip) => {
            let h = ip.header();
            let (from, to) = (h.source_addr().into(), h.destination_addr().into());
            let claimed = u32::from(h.total_len());
            (from, to, h.ecn().value(), h.dcp().value(), claimed, ip.payload())
        }
        LaxNetSlice::Ipv6(ip) => {
            let h = ip.header();
            let (from, to) = (h.source_addr().into(), h.destination_addr().into());
            let claimed = match h.payload_length() {
                0 => 0,
                length => u32::from(length) + 40,
            };
            (from, to, h.ecn().value(), h.dscp().value(), claimed, ip.payload())
        }
        LaxNetSlice::Arp(_) => return Err(Other::Protocol),
    };
    if payload.ip_number != IpNumber::TCP {
        return Err(Other::Protocol);
    }
    let before = headers_before(data, payload.payload);
    // Offsets of fragments are in the IP header; only the first has the TCP header.
    if payload.fragmented && !first_fragment(net) {
        return Err(Other::Fragment);
    }
    let tcp = payload.payload;
    if tcp.len() < TCP_HEADER {
        return Err(Other::Cut);
    }
    let link_header = header.unwrap_or_else(|| link_header(data, net));
    // Segmentation offload leaves the length 0 in packets beyond 64 kB.
    let size = if claimed > 0 { claimed } else { length.saturating_sub(link_header as u32) };
    let ip_header = before.saturating_sub(link_header);
    let tcp_header = usize::from(tcp[12] >> 4) * 4;
    let payload = size.saturating_sub((ip_header + tcp_header.max(TCP_HEADER)) as u32);
    let end = tcp_header.clamp(TCP_HEADER, tcp.len());
    Ok(Segment {
        from: (from, u16::from_be_bytes([tcp[0], tcp[1]])),
        to: (to, u16::from_be_bytes([tcp[2], tcp[3]])),
        ecn,
        dscp,
        payload,
        seq: word(&tcp[4..]),
        ack: word(&tcp[8..]),
        flags: u32::from(tcp[12] & 1) << 8 | u32::from(tcp[13]),
        window: u16::from_be_bytes([tcp[14], tcp[15]]),
        options: Options::read(&tcp[TCP_HEADER..end]),
    })
}

fn ip(data: &[u8]) -> Result<LaxSlicedPacket<'_>, Other> {
    LaxSlicedPacket::from_ip(data).map_err(|_| Other::Cut)
}

/// Linux's cooked header, which `tcpdump -i any` writes: `protocol` is where the `EtherType` stands in it. It has packets of all
/// kinds of devices (tunnels have no link layer), and what stands there for IP is the same in all.
fn cooked(data: &[u8], header: usize, protocol: usize) -> Result<LaxSlicedPacket<'_>, Other> {
    let payload = data.get(header..).ok_or(Other::Cut)?;
    let protocol = EtherType(u16::from_be_bytes([data[protocol], data[protocol + 1]]));
    Ok(LaxSlicedPacket::from_ether_type(protocol, payload))
}

/// The bytes of `data` in front of `part` of it.
fn headers_before(data: &[u8], part: &[u8]) -> usize {
    (part.as_ptr() as usize).saturating_sub(data.as_ptr() as usize)
}

fn link_header(data: &[u8], net: &LaxNetSlice<'_>) -> usize {
    match net {
        LaxNetSlice::Ipv4(ip) => headers_before(data, ip.header().slice()),
        LaxNetSlice::Ipv6(ip) => headers_before(data, ip.header().slice()),
        LaxNetSlice::Arp(_) => 0,
    }
}

fn first_fragment(net: &LaxNetSlice<'_>) -> bool {
    match net {
        LaxNetSlice::Ipv4(ip) => ip.header().fragments_offset().value() == 0,
        _ => false,
    }
}
