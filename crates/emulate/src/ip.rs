//! The headers of a real packet: what a path reads in them, and what it changes.
//!
//! A path reads what queues and elements decide by: length, ECN field, DSCP, addresses and ports, and the numbers and flags
//! of TCP. It changes the ECN field and the DSCP, and with them IPv4's header checksum (RFC 791 section 3.1). No checksum of
//! a transport covers either of them.

use std::net::IpAddr;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use windtunnel_units::Bytes;
use windtunnel_wire::{Dscp, Ecn, IpFields, TcpFlags};

use crate::tuples::Tuple;

/// Where IPv4 has its header checksum.
const V4_CHECKSUM: usize = 10;

/// What a path reads in the headers of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) tuple: Tuple,
    pub(crate) ip: IpFields,
    /// The data behind the headers of the transport.
    pub(crate) payload: Bytes,
    pub(crate) tcp: Option<Tcp>,
}

/// What a path reads in a TCP header: numbers are those on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tcp {
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) flags: TcpFlags,
    pub(crate) window: u16,
}

/// Reads a packet that goes from one host to another. Nothing for what no path carries: bytes that are no IP packet, packets
/// to several hosts, and those that no router forwards (RFC 4291 sections 2.5.6 and 2.7, RFC 3927 section 7).
pub(crate) fn read(packet: &[u8]) -> Option<Headers> {
    let sliced = SlicedPacket::from_ip(packet).ok()?;
    let (source, destination, ip, protocol, behind) = match sliced.net.as_ref()? {
        NetSlice::Ipv4(v4) => {
            let header = v4.header();
            let ip = fields(header.dcp().value(), header.ecn().value());
            let [source, destination] = [header.source_addr(), header.destination_addr()];
            (source.into(), destination.into(), ip, v4.payload().ip_number, v4.payload().payload.len())
        }
        NetSlice::Ipv6(v6) => {
            let header = v6.header();
            let ip = fields(header.dscp().value(), header.ecn().value());
            let [source, destination] = [header.source_addr(), header.destination_addr()];
            (source.into(), destination.into(), ip, v6.payload().ip_number, v6.payload().payload.len())
        }
        NetSlice::Arp(_) => return None,
    };
    if !is_forwarded(source) || !is_forwarded(destination) {
        return None;
    }
    let (ports, payload, tcp) = match &sliced.transport {
        Some(TransportSlice::Tcp(tcp)) => {
            let header = Tcp {
                seq: tcp.sequence_number(),
                ack: tcp.acknowledgment_number(),
                flags: [
                    (TcpFlags::FIN, tcp.fin()),
                    (TcpFlags::SYN, tcp.syn()),
                    (TcpFlags::RST, tcp.rst()),
                    (TcpFlags::PSH, tcp.psh()),
                    (TcpFlags::ACK, tcp.ack()),
                    (TcpFlags::ECE, tcp.ece()),
                    (TcpFlags::CWR, tcp.cwr()),
                    (TcpFlags::AE, tcp.ns()),
                ]
                .into_iter()
                .fold(TcpFlags::NONE, |flags, (flag, is_set)| flags.with_if(flag, is_set)),
                window: tcp.window_size(),
            };
            ((tcp.source_port(), tcp.destination_port()), tcp.payload().len(), Some(header))
        }
        Some(TransportSlice::Udp(udp)) => {
            ((udp.source_port(), udp.destination_port()), udp.payload().len(), None)
        }
        _ => ((0, 0), behind, None),
    };
    Some(Headers {
        tuple: Tuple { protocol: protocol.0, source: (source, ports.0), destination: (destination, ports.1) },
        ip,
        payload: Bytes::new(payload as u64),
        tcp,
    })
}

/// Writes what a path has changed.
pub(crate) fn write(packet: &mut [u8], ip: IpFields) {
    let class = ip.dscp.get() << 2 | ip.ecn as u8;
    match packet.first().map(|first| first >> 4) {
        Some(4) => {
            let header = usize::from(packet[0] & 0xf) * 4;
            packet[1] = class;
            packet[V4_CHECKSUM..][..2].fill(0);
            let sum = packet[..header]
                .chunks_exact(2)
                .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]))
                .sum();
            packet[V4_CHECKSUM..][..2].copy_from_slice(&checksum(sum).to_be_bytes());
        }
        Some(6) => {
            packet[0] = packet[0] & 0xf0 | class >> 4;
            packet[1] = packet[1] & 0x0f | class << 4;
        }
        _ => {}
    }
}

/// The complement of the one's complement sum (RFC 1071): carries are added until there is none.
fn checksum(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn fields(dscp: u8, ecn: u8) -> IpFields {
    let ecn = match ecn {
        0b00 => Ecn::NotEct,
        0b01 => Ecn::Ect1,
        0b10 => Ecn::Ect0,
        _ => Ecn::Ce,
    };
    IpFields { dscp: Dscp::new(dscp), ecn }
}

/// Whether routers forward packets from and to this address.
fn is_forwarded(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast() || v4.is_link_local())
        }
        IpAddr::V6(v6) => !(v6.is_unspecified() || v6.is_multicast() || v6.is_unicast_link_local()),
    }
}

#[cfg(test)]
mod tests {
    use etherparse::{Ipv4Header, PacketBuilder};

    use super::*;

    fn segment(v6: bool) -> Vec<u8> {
        let builder = if v6 {
            let [mut a, mut b] = [[0; 16]; 2];
            (a[0], a[15], b[0], b[15]) = (0xfd, 1, 0xfd, 2);
            PacketBuilder::ipv6(a, b, 64)
        } else {
            PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        };
        let mut packet = Vec::new();
        builder.tcp(40_000, 5201, 7, 1000).ns().ack(9).write(&mut packet, &[1; 100]).expect("a packet");
        packet
    }

    /// Every field that queues and elements decide by is read; etherparse wrote the packet.
    #[test]
    fn a_segment_is_read() {
        for v6 in [false, true] {
            let headers = read(&segment(v6)).expect("a packet between hosts");
            assert_eq!(headers.payload, Bytes::new(100));
            assert_eq!(headers.tuple.protocol, 6);
            assert_eq!((headers.tuple.source.1, headers.tuple.destination.1), (40_000, 5201));
            let tcp = headers.tcp.expect("TCP");
            assert_eq!((tcp.seq, tcp.ack, tcp.window), (7, 9, 1000));
            assert_eq!(tcp.flags, TcpFlags::ACK | TcpFlags::AE);
            assert_eq!(headers.ip, IpFields::default());
        }
    }

    /// A mark changes the ECN field, the DSCP and, for IPv4, the checksum, which etherparse computes anew; nothing else.
    #[test]
    fn a_mark_changes_the_class_and_the_checksum() {
        for v6 in [false, true] {
            let before = segment(v6);
            let mut after = before.clone();
            let marked = IpFields { dscp: Dscp::new(43), ecn: Ecn::Ce };
            write(&mut after, marked);
            assert_eq!(read(&after).expect("a packet").ip, marked);
            if !v6 {
                let (header, _) = Ipv4Header::from_slice(&after).expect("a header");
                assert_eq!(header.calc_header_checksum(), header.header_checksum);
            }
            write(&mut after, IpFields::default());
            assert_eq!(after, before);
        }
    }

    /// Router solicitations, MLD reports and broadcasts stay on their link.
    #[test]
    fn what_no_router_forwards_is_not_carried() {
        let mut packet = Vec::new();
        for destination in [[224, 0, 0, 22], [255, 255, 255, 255], [169, 254, 0, 1]] {
            packet.clear();
            let builder = PacketBuilder::ipv4([10, 0, 0, 1], destination, 1);
            builder.udp(1, 2).write(&mut packet, &[]).expect("a packet");
            assert_eq!(read(&packet), None);
        }
        packet.clear();
        let [mut link_local, mut all_routers] = [[0; 16]; 2];
        (link_local[0], link_local[1], link_local[15]) = (0xfe, 0x80, 1);
        (all_routers[0], all_routers[1], all_routers[15]) = (0xff, 2, 2);
        PacketBuilder::ipv6(link_local, all_routers, 255)
            .udp(1, 2)
            .write(&mut packet, &[])
            .expect("a packet");
        assert_eq!(read(&packet), None);
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[0x45; 20]), None);
    }
}
