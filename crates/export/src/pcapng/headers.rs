//! A simulated packet as the bytes of a frame (spec/queues-and-signalling section 18.1).
//!
//! Headers are as long as their options need, and the simulation counts the same lengths: 52 bytes, and 4 + 8 n for n
//! SACK blocks; 40 without timestamps; 60 on a SYN, 68 with MDS. Only the SYN of a loss-free endpoint counts as less.

use arrayvec::ArrayVec;
use etherparse::checksum::Sum16BitWords;
use etherparse::{
    EtherType, Ethernet2Header, IpDscp, IpEcn, IpFragOffset, IpNumber, Ipv4Header, Ipv4Options,
    Ipv6FlowLabel, Ipv6Header, TcpHeader, TcpOptionElement, TcpOptions, UdpHeader,
};

use super::flow::{Ends, Flow, MdsOffer};
use super::{Format, IpVersion, Link, Row};

const TTL: usize = 64;
/// RFC 7323 section 2.3.
const LARGEST_WINDOW_SCALE: u8 = 14;

const FIN: u32 = 0x001;
const SYN: u32 = 0x002;
const RST: u32 = 0x004;
const PSH: u32 = 0x008;
const ACK: u32 = 0x010;
const ECE: u32 = 0x040;
const CWR: u32 = 0x080;
const AE: u32 = 0x100;

const TCP: u8 = 6;
const UDP: u8 = 17;
/// Where the checksum is in a TCP header.
const TCP_CHECKSUM: usize = 16;

/// Number and time of sending, with which a datagram's data start.
const STAMPS: usize = 16;

/// A frame: all its headers and data. The data are zeros, but for the first of a datagram, or for all of it where its
/// payload was kept.
#[derive(Debug, Default)]
pub(super) struct Frame {
    /// The bytes before the zeros.
    start: Vec<u8>,
    length: usize,
}

impl Frame {
    #[cfg(test)]
    pub(super) fn of(start: &[u8], length: usize) -> Frame {
        Frame { start: start.to_vec(), length }
    }

    /// Becomes a packet whose bytes are all known.
    pub(super) fn hold(&mut self, packet: &[u8]) {
        self.start.clear();
        self.start.extend_from_slice(packet);
        self.length = packet.len();
    }

    /// Its bytes that are not known to be zeros.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// The length of all of it.
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    /// Becomes that of `row` after a number of queues; `content` is the payload of a datagram, if it was kept.
    pub(super) fn write(
        &mut self,
        row: &Row,
        flow: &Flow,
        content: Option<&[u8]>,
        passed: usize,
        format: &Format,
    ) -> Result<(), String> {
        let ends = Ends::of(row);
        let ip = Ip { version: format.ip, ends, row, ttl: TTL.saturating_sub(passed).max(1) as u8 };
        self.start.clear();
        match row.proto {
            TCP => {
                let header = tcp(row, flow, ends)?;
                let length = header.header_len() + row.payload as usize;
                ip.write(&mut self.start, format.link, IpNumber::TCP, length)?;
                let at = self.start.len();
                self.start.extend_from_slice(&header.to_bytes());
                let checksum = ip.tcp_checksum(&self.start[at..], length);
                self.start[at + TCP_CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
                self.length = at + length;
            }
            UDP => {
                let (stamps, simulated) = udp_payload(row);
                let payload = content.map_or(simulated, <[u8]>::len);
                let data = content.unwrap_or(&stamps[..payload.min(STAMPS)]);
                let header = ip.udp(data, payload)?;
                ip.write(&mut self.start, format.link, IpNumber::UDP, UdpHeader::LEN + payload)?;
                self.start.extend_from_slice(&header.to_bytes());
                self.length = self.start.len() + payload;
                self.start.extend_from_slice(data);
            }
            other => return Err(format!("protocol {other} is neither TCP (6) nor UDP (17)")),
        }
        Ok(())
    }
}

/// The TCP header without its checksum.
fn tcp(row: &Row, flow: &Flow, ends: Ends) -> Result<TcpHeader, String> {
    let has = |flag| row.flags & flag != 0;
    let syn = has(SYN);
    // Once a connection is established every segment has ACK (RFC 9293 section 3.10.7.4), and both SYNs are past.
    let (seq, ack) = if syn { (row.seq, row.ack) } else { (row.seq.max(1), row.ack.max(1)) };
    let acknowledges = has(ACK) || !syn;
    let window = if syn { row.window } else { row.window >> row.window_scale.min(LARGEST_WINDOW_SCALE) };
    let mut header = TcpHeader::new(
        ends.source.port(),
        ends.destination.port(),
        wrapped(ends.source.isn(), seq),
        window.min(u64::from(u16::MAX)) as u16,
    );
    header.ack = acknowledges;
    header.acknowledgment_number = if acknowledges { wrapped(ends.destination.isn(), ack) } else { 0 };
    header.fin = has(FIN);
    header.syn = syn;
    header.rst = has(RST);
    header.psh = has(PSH);
    header.ece = has(ECE);
    header.cwr = has(CWR);
    header.ns = has(AE);
    header.options = options(row, flow, ends, syn, acknowledges)?;
    Ok(header)
}

/// A 64-bit number as the 32 bits on the wire.
fn wrapped(isn: u32, number: u64) -> u32 {
    isn.wrapping_add(number as u32)
}

/// The options, in the order of Linux.
fn options(row: &Row, flow: &Flow, ends: Ends, syn: bool, acknowledges: bool) -> Result<TcpOptions, String> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgementPermitted, Timestamp, WindowScale,
    };
    let millis = |ns: u64| (ns / 1_000_000) as u32;
    let timestamp = flow.timestamps.then(|| {
        let echo = ends.destination.clock().wrapping_add(millis(row.ts_ecr_ns));
        let value = ends.source.clock().wrapping_add(millis(row.ts_val_ns));
        Timestamp(value, if acknowledges { echo } else { 0 })
    });
    // On a SYN seven at most, on other segments six.
    let mut elements = ArrayVec::<_, 8>::new();
    if syn {
        elements.push(MaximumSegmentSize(flow.mss));
        // SACK permitted and timestamps are 12 bytes together; each alone is preceded by two more.
        if flow.sack != flow.timestamps {
            elements.extend([Noop, Noop]);
        }
        if flow.sack {
            elements.push(SelectiveAcknowledgementPermitted);
        }
        elements.extend(timestamp);
        elements.extend([Noop, WindowScale(row.window_scale.min(LARGEST_WINDOW_SCALE))]);
    } else {
        if let Some(timestamp) = timestamp {
            elements.extend([Noop, Noop, timestamp]);
        }
        elements.extend(sack(row, ends).into_iter().flat_map(|sack| [Noop, Noop, sack]));
    }
    let options = TcpOptions::try_from_elements(&elements).map_err(|e| e.to_string())?;
    let mds = mds(row, flow, syn, options.len());
    let (ack_rate, counts) = (row.ack_rate(), row.counts());
    if mds.is_none() && ack_rate.is_empty() && counts.is_empty() {
        return Ok(options);
    }
    let parts = [options.as_slice(), mds.as_ref().map_or(&[][..], |mds| mds), &ack_rate, &counts];
    let mut all = ArrayVec::<u8, { TcpOptions::MAX_LEN }>::new();
    for part in parts {
        all.try_extend_from_slice(part).map_err(|_| {
            let needed: usize = parts.iter().map(|part| part.len()).sum();
            format!("its options need {needed} bytes, and a header has room for {}", TcpOptions::MAX_LEN)
        })?;
    }
    TcpOptions::try_from_slice(&all).map_err(|e| e.to_string())
}

/// The SACK option (RFC 2018). Its numbers are those of the other end's data.
fn sack(row: &Row, ends: Ends) -> Option<TcpOptionElement> {
    let edge = |n| wrapped(ends.destination.isn(), n);
    let mut blocks = row.sack().map(|(start, end)| (edge(start), edge(end)));
    let first = blocks.next()?;
    Some(TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), blocks.next()]))
}

const NOP: u8 = 1;

/// The capability of MDS, if the packet has it, or the NOPs with which a middlebox has overwritten it, for which the packet is too long;
/// a receiver that refuses leaves it out.
fn mds(row: &Row, flow: &Flow, syn: bool, options: usize) -> Option<[u8; 8]> {
    const HEADERS: usize = 40;
    let offer = flow.mds.unwrap_or_default();
    match row.mds.checked_sub(1) {
        Some(log2_tau) => Some(mds_option(log2_tau, offer)),
        None => (syn && flow.mds.is_some() && row.size as usize == HEADERS + options + 8).then_some([NOP; 8]),
    }
}

/// The offer of MDS, or its acceptance: two NOPs and an experimental option (RFC 6994).
fn mds_option(log2_tau: u8, offer: MdsOffer) -> [u8; 8] {
    const EXPERIMENT_2: u8 = 254;
    const LENGTH: u8 = 6;
    /// Not registered.
    const EXID: [u8; 2] = *b"MD";
    const MDS: u8 = 0b0100;
    let capabilities = MDS | u8::from(offer.state_change_acks) << 1 | u8::from(offer.immediate_acks);
    [NOP, NOP, EXPERIMENT_2, LENGTH, EXID[0], EXID[1], capabilities, log2_tau]
}

/// The data after the UDP header: number and time of sending, then zeros; and their length.
fn udp_payload(row: &Row) -> ([u8; STAMPS], usize) {
    const IPV4_AND_UDP: u32 = 28;
    let mut stamps = [0; STAMPS];
    stamps[..8].copy_from_slice(&row.seq.to_be_bytes());
    stamps[8..].copy_from_slice(&row.ts_val_ns.to_be_bytes());
    (stamps, row.size.saturating_sub(IPV4_AND_UDP) as usize)
}

/// The IP header of a packet, and the parts of it that the transport's checksum covers.
struct Ip<'a> {
    version: IpVersion,
    ends: Ends,
    row: &'a Row,
    ttl: u8,
}

impl Ip<'_> {
    /// The checksum of a TCP segment of `length` bytes that are zeros behind its header (RFC 9293 section 3.1): zeros change
    /// nothing in the sum, only the length does.
    fn tcp_checksum(&self, header: &[u8], length: usize) -> u16 {
        let Ends { source, destination } = self.ends;
        let mut sum = Sum16BitWords::new();
        sum = match self.version {
            IpVersion::V4 => sum.add_4bytes(source.ipv4()).add_4bytes(destination.ipv4()),
            IpVersion::V6 => sum.add_16bytes(source.ipv6()).add_16bytes(destination.ipv6()),
        };
        sum.add_4bytes((length as u32).to_be_bytes())
            .add_2bytes([0, TCP])
            .add_slice(header)
            .ones_complement()
            .to_be()
    }

    /// The header of `payload` bytes that start with `data` and go on with zeros, which change nothing in the checksum.
    fn udp(&self, data: &[u8], payload: usize) -> Result<UdpHeader, String> {
        let Ends { source, destination } = self.ends;
        let mut header = UdpHeader {
            source_port: source.port(),
            destination_port: destination.port(),
            length: u16::try_from(UdpHeader::LEN + payload).map_err(|e| e.to_string())?,
            checksum: 0,
        };
        header.checksum = match self.version {
            IpVersion::V4 => header.calc_checksum_ipv4_raw(source.ipv4(), destination.ipv4(), data),
            IpVersion::V6 => header.calc_checksum_ipv6_raw(source.ipv6(), destination.ipv6(), data),
        }
        .map_err(|e| e.to_string())?;
        Ok(header)
    }

    /// Writes the link's header, if there is one, and that of IP in front of `length` bytes of `protocol`.
    fn write(
        &self,
        frame: &mut Vec<u8>,
        link: Link,
        protocol: IpNumber,
        length: usize,
    ) -> Result<(), String> {
        let Ends { source, destination } = self.ends;
        if link == Link::Ethernet {
            let header = Ethernet2Header {
                source: source.ethernet(),
                destination: destination.ethernet(),
                ether_type: match self.version {
                    IpVersion::V4 => EtherType::IPV4,
                    IpVersion::V6 => EtherType::IPV6,
                },
            };
            frame.extend_from_slice(&header.to_bytes());
        }
        match self.version {
            IpVersion::V4 => frame.extend_from_slice(&self.v4(protocol, length)?.to_bytes()),
            IpVersion::V6 => frame.extend_from_slice(&self.v6(protocol, length)?.to_bytes()),
        }
        Ok(())
    }

    fn v4(&self, protocol: IpNumber, length: usize) -> Result<Ipv4Header, String> {
        let mut header = Ipv4Header {
            dscp: self.dscp()?,
            ecn: self.ecn()?,
            // The same at every place and different for each transmission; a copy is equal to the last bit.
            identification: self.row.original() as u16,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: IpFragOffset::ZERO,
            time_to_live: self.ttl,
            protocol,
            header_checksum: 0,
            source: self.ends.source.ipv4(),
            destination: self.ends.destination.ipv4(),
            options: Ipv4Options::new(),
            total_len: 0,
        };
        header.set_payload_len(length).map_err(|e| e.to_string())?;
        header.header_checksum = header.calc_header_checksum();
        Ok(header)
    }

    fn v6(&self, protocol: IpNumber, length: usize) -> Result<Ipv6Header, String> {
        const LABELS: u32 = 1 << 20;
        let mut header = Ipv6Header {
            traffic_class: self.dscp()?.value() << 2 | self.ecn()?.value(),
            flow_label: Ipv6FlowLabel::try_new((self.row.connection + 1) % LABELS)
                .map_err(|e| e.to_string())?,
            payload_length: 0,
            next_header: protocol,
            hop_limit: self.ttl,
            source: self.ends.source.ipv6(),
            destination: self.ends.destination.ipv6(),
        };
        header.set_payload_length(length).map_err(|e| e.to_string())?;
        Ok(header)
    }

    fn dscp(&self) -> Result<IpDscp, String> {
        IpDscp::try_new(self.row.dscp).map_err(|e| e.to_string())
    }

    fn ecn(&self) -> Result<IpEcn, String> {
        IpEcn::try_new(self.row.ecn).map_err(|e| e.to_string())
    }
}
