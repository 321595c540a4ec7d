//! The bytes of a frame, against headers computed by hand and the RFCs' layouts.

use windtunnel_export::pcapng::{Flow, Format, IpVersion, Link, MdsOffer, Row};

use crate::reader::{TCP, UDP, data, file, flow, packets, sum};

const SYN: u32 = 0x002;
const ACK: u32 = 0x010;
const ECE: u32 = 0x040;
const CWR: u32 = 0x080;
const AE: u32 = 0x100;

fn raw(ip: IpVersion) -> Format {
    Format { link: Link::Raw, ip, snaplen: 0, ..Format::default() }
}

fn frame(flow: Flow, row: Row, format: &Format) -> Vec<u8> {
    let mut seen = packets(&file(flow, &[row], format));
    assert_eq!(seen[0].length as usize, seen[0].frame.len(), "all of it is captured");
    seen.remove(0).frame
}

/// The IPv4 packet of a row.
fn v4(flow: Flow, row: Row) -> Vec<u8> {
    let bytes = frame(flow, row, &raw(IpVersion::V4));
    assert_eq!(usize::from(u16::from_be_bytes([bytes[2], bytes[3]])), bytes.len(), "total length");
    assert_eq!(sum(&bytes[..20]), 0xFFFF, "header checksum");
    let length = (bytes.len() - 20) as u16;
    let pseudo = [&bytes[12..20], &[0, bytes[9]], &length.to_be_bytes(), &bytes[20..]].concat();
    assert_eq!(sum(&pseudo), 0xFFFF, "checksum of the transport");
    bytes
}

/// The options of a TCP header behind an IPv4 header.
fn tcp_options(bytes: &[u8]) -> &[u8] {
    &bytes[40..20 + usize::from(bytes[32] >> 4) * 4]
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// A full data segment with the MDS identifier 43, ECT(0). Both headers and their checksums were computed by hand from RFC
/// 791, 9293 and 1071: sequence number 1000 + 1449, acknowledgment 501000 + 1, timestamp 1000 + 25 ms, echo 501000 + 12 ms.
#[test]
fn data_segment() {
    #[rustfmt::skip]
    let expected = [
        0x45, 0xae, 0x05, 0xdc, 0x00, 0x07, 0x40, 0x00, 0x40, 0x06, 0x48, 0x31,
        192, 0, 2, 1, 198, 51, 100, 1,
        0x9c, 0x40, 0x14, 0x51, 0x00, 0x00, 0x09, 0x91, 0x00, 0x07, 0xa5, 0x09, 0x80, 0x10, 0xff, 0xff, 0x7c, 0x8f, 0, 0,
        1, 1, 8, 10, 0x00, 0x00, 0x04, 0x01, 0x00, 0x07, 0xa5, 0x14,
    ];
    let bytes = v4(flow(), Row { dscp: 43, ..data() });
    assert_eq!(bytes[..52], expected);
    assert_eq!(bytes.len(), 1500);
    assert!(bytes[52..].iter().all(|&byte| byte == 0));
}

/// The DS byte of spec 18.1's table: MDS identifier 3 with each code point; CS5, EF, NQB and LE with ECT(0).
#[test]
fn ds_byte() {
    let byte = |dscp, ecn| v4(flow(), Row { dscp, ecn, ..data() })[1];
    assert_eq!([0, 1, 2, 3].map(|ecn| byte(3, ecn)), [0x0C, 0x0D, 0x0E, 0x0F]);
    assert_eq!([40, 46, 45, 1].map(|dscp| byte(dscp, 2)), [0xA2, 0xBA, 0xB6, 0x06]);
}

/// Option order and bytes of spec 18.1, of a SYN with RFC 3168 ECN; the window is not scaled (RFC 7323 section 2.2), and
/// there is no echo yet (section 3.2).
#[test]
fn syn() {
    let row = Row {
        size: 60,
        payload: 0,
        seq: 0,
        flags: SYN | ECE | CWR,
        ecn: 0,
        window: 64_240,
        window_scale: 14,
        ts_val_ns: 0,
        ..data()
    };
    let bytes = v4(flow(), row);
    assert_eq!(bytes.len(), 60);
    assert_eq!(u32_at(&bytes, 24), 1000, "initial sequence number");
    assert_eq!(u32_at(&bytes, 28), 0, "no acknowledgment");
    assert_eq!(bytes[32..36], [0xA0, 0xC2, 0xFA, 0xF0]);
    let expected = [2, 4, 0x05, 0xB4, 4, 2, 8, 10, 0, 0, 0x03, 0xE8, 0, 0, 0, 0, 1, 3, 3, 14];
    assert_eq!(tcp_options(&bytes), expected);
    assert_eq!(v4(flow(), Row { window: 1 << 30, ..row })[34..36], [0xFF, 0xFF], "capped");
}

/// RFC 9768 section 3.1: the client asks for AccECN with AE, CWR and ECE; AE is the lowest bit of byte 12.
#[test]
fn accecn_syn() {
    let bytes = v4(flow(), Row { size: 60, payload: 0, flags: SYN | AE | ECE | CWR, ..data() });
    assert_eq!(bytes[32..34], [0xA1, 0xC2]);
}

/// RFC 9768 section 3.2.3: kind 172 (EE0B, ECEB, EE1B) or 174, the length says how many fields of three bytes there are, and NOPs
/// fill the header up. Next to timestamps and two SACK blocks there is room for two fields: 40 bytes of options.
#[test]
fn accecn_option() {
    let fields = |kind, n| {
        let row = Row {
            size: 80,
            payload: 0,
            dir: 1,
            accecn_kind: kind,
            accecn_n: n,
            accecn1: 0x01_02_03,
            accecn2: 0x04_05_06,
            accecn3: 0x07_08_09,
            ..data()
        };
        tcp_options(&v4(flow(), row))[12..].to_vec()
    };
    assert_eq!(fields(172, 3), [172, 11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1]);
    assert_eq!(fields(174, 2), [174, 8, 1, 2, 3, 4, 5, 6]);
    assert_eq!(fields(172, 1), [172, 5, 1, 2, 3, 1, 1, 1]);
    assert_eq!(fields(172, 0), [172, 2, 1, 1]);
    let sacked = Row { size: 80, payload: 0, dir: 1, sack_n: 2, accecn_kind: 174, accecn_n: 2, ..data() };
    assert_eq!(tcp_options(&v4(flow(), sacked)).len(), 40);
}

/// Spec 17.8: QUIC's counts are an option for experiments (RFC 6994): kind 254, length 16, an identifier, three numbers of 32 bits.
#[test]
fn counts_of_packets() {
    let row = Row {
        size: 68,
        payload: 0,
        dir: 1,
        accecn_kind: 254,
        accecn_n: 3,
        accecn1: 0x0102_0304,
        accecn2: 0,
        accecn3: 7,
        ..data()
    };
    let counts = [254, 16, b'Q', b'E', 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 7];
    assert_eq!(tcp_options(&v4(flow(), row))[12..], counts);
}

/// The identifier 0x00AC of draft-ietf-tcpm-ack-rate-request: four bytes on a SYN, five in a request, whose last byte has R = 10 in its
/// upper seven bits, and NOPs.
#[test]
fn request_for_an_ack_rate() {
    let syn = Row { size: 64, payload: 0, flags: SYN, ack_rate: 255, ..data() };
    assert_eq!(tcp_options(&v4(flow(), syn))[20..], [254, 4, 0x00, 0xAC]);
    for (more, last) in [(11, 20), (1, 0), (128, 254)] {
        let request = Row { size: 60, payload: 0, ack_rate: more, ..data() };
        assert_eq!(tcp_options(&v4(flow(), request))[12..], [254, 5, 0x00, 0xAC, last, 1, 1, 1]);
    }
}

/// Spec 17.5: two NOPs, kind 254, length 6, experiment 0x4D44, version 0 with MDS and state-change ACKs, log2 of tau = 64.
#[test]
fn mds_is_offered_on_both_syns_and_only_there() {
    let offer = MdsOffer { state_change_acks: true, immediate_acks: false };
    let flow = Flow { mds: Some(offer), ..flow() };
    for (dir, flags) in [(0, SYN | ECE | CWR), (1, SYN | ACK | ECE)] {
        let syn = Row { size: 68, payload: 0, dir, flags, ..data() };
        let options = |row| tcp_options(&v4(flow.clone(), row)).to_vec();
        assert_eq!(options(Row { mds: 7, ..syn })[20..], [1, 1, 254, 6, 0x4D, 0x44, 0b0110, 6]);
        assert_eq!(options(Row { mds: 6, ..syn })[27], 5, "tau = 32");
        assert_eq!(options(syn)[20..], [1; 8], "stripped: NOPs");
        assert_eq!(options(Row { size: 60, ..syn }).len(), 20, "refused: there is none");
    }
    assert_eq!(tcp_options(&v4(flow, data())).len(), 12);
}

/// Each combination of SACK and timestamps, on the SYN and on data: multiples of four, timestamps aligned to words as in
/// RFC 7323 appendix A.
#[test]
fn options_without_timestamps_or_sack() {
    let of = |timestamps, sack, flags, payload| {
        let row = Row { size: 40 + payload, payload, flags, ..data() };
        tcp_options(&v4(Flow { timestamps, sack, ..flow() }, row)).to_vec()
    };
    assert_eq!(of(false, true, SYN, 0), [2, 4, 0x05, 0xB4, 1, 1, 4, 2, 1, 3, 3, 14]);
    assert_eq!(of(false, false, SYN, 0), [2, 4, 0x05, 0xB4, 1, 3, 3, 14]);
    assert_eq!(of(true, false, SYN, 0)[4..8], [1, 1, 8, 10]);
    assert_eq!(of(false, true, ACK, 1460), []);
}

/// Connections that arrive during a run have clients of their own at one server: number 300 is on host 300 % 254 + 1
/// with the second port, and its packets to and from the flow's receiver have sequence numbers of their own.
#[test]
fn a_connection_of_a_flow() {
    let at = |dir| v4(flow(), Row { connection: 300, dir, ..data() });
    let (sent, answered) = (at(0), at(1));
    let (client, server) = ([192, 0, 2, 47], [198, 51, 100, 1]);
    let ports = |from: u16, to: u16| [from.to_be_bytes(), to.to_be_bytes()].concat();
    assert_eq!(sent[12..20], [client, server].concat());
    assert_eq!(sent[20..24], ports(40_001, 5201));
    assert_eq!(answered[12..20], [server, client].concat());
    assert_eq!(answered[20..24], ports(5201, 40_001));
    let number = |bytes: &[u8]| u32::from_be_bytes([bytes[24], bytes[25], bytes[26], bytes[27]]);
    assert_eq!(number(&sent), 301_000 + 1449);
    assert_eq!(number(&answered), 500_000 + 301_000 + 1449);
}

/// SACK blocks (RFC 2018 section 3) are written in the sequence numbers of the data that they acknowledge, with spec
/// 18.1's lengths: 64, 72, 80 bytes. The ACK carries ESCE as AE.
#[test]
fn sack_blocks() {
    for (n, size) in [(1, 64), (2, 72), (3, 80)] {
        let row = Row {
            dir: 1,
            size,
            payload: 0,
            seq: 1,
            ack: 1449,
            flags: ACK | AE,
            sack_n: n,
            sack1_start: 2897,
            sack1_end: 4345,
            sack2_start: 5793,
            sack2_end: 7241,
            sack3_start: 8689,
            sack3_end: (1 << 32) + 1,
            ..data()
        };
        let bytes = v4(flow(), row);
        assert_eq!(bytes.len(), size as usize);
        assert_eq!(bytes[12..20], [198, 51, 100, 1, 192, 0, 2, 1], "the other way");
        assert_eq!((u32_at(&bytes, 24), u32_at(&bytes, 28)), (501_001, 2449));
        assert_eq!(bytes[32] & 1, 1, "AE");
        let sack = &tcp_options(&bytes)[12..];
        assert_eq!(sack[..4], [1, 1, 5, 2 + 8 * n]);
        assert_eq!((u32_at(sack, 4), u32_at(sack, 8)), (3897, 5345));
        if n == 3 {
            assert_eq!(u32_at(sack, 24), 1001, "wraps to 32 bits");
        }
    }
}

/// Sequence numbers of the simulation do not wrap, those on the wire do (RFC 9293 section 3.4).
#[test]
fn sequence_numbers_wrap() {
    let bytes = v4(flow(), Row { seq: (1 << 32) - 1000, ..data() });
    assert_eq!(u32_at(&bytes, 24), 0);
}

/// Windows are scaled by 14 bits, and those above 2^30 capped at what 16 bits hold.
#[test]
fn window_is_scaled() {
    let window = |window| {
        let bytes = v4(flow(), Row { window, window_scale: 14, ..data() });
        u16::from_be_bytes([bytes[34], bytes[35]])
    };
    assert_eq!([0, 16_384, 1 << 20, 1 << 30, u64::MAX].map(window), [0, 1, 64, 65_535, 65_535]);
}

/// RFC 8200 and its pseudo-header (section 8.1): the same segment behind a header that is 20 bytes longer.
#[test]
fn ipv6() {
    let bytes = frame(flow(), Row { dscp: 43, ..data() }, &raw(IpVersion::V6));
    assert_eq!(bytes.len(), 1520);
    assert_eq!(bytes[..8], [0x6A, 0xE0, 0, 1, 0x05, 0xC8, 6, 64]);
    let length = (bytes.len() - 40) as u32;
    let pseudo = [&bytes[8..40], &length.to_be_bytes(), &[0, 0, 0, TCP], &bytes[40..]].concat();
    assert_eq!(sum(&pseudo), 0xFFFF);
}

/// UDP (RFC 768): the data start with the number and the time of sending.
#[test]
fn udp() {
    let row = Row { proto: UDP, size: 200, payload: 172, seq: 5, ..data() };
    let bytes = v4(flow(), row);
    assert_eq!(bytes.len(), 200);
    assert_eq!(bytes[20..26], [0x9c, 0x40, 0x14, 0x51, 0, 180]);
    assert_eq!(bytes[28..36], 5u64.to_be_bytes());
    assert_eq!(bytes[36..44], 25_000_000u64.to_be_bytes());
    let v6 = frame(flow(), row, &raw(IpVersion::V6));
    let pseudo = [&v6[8..40], &180u32.to_be_bytes(), &[0, 0, 0, UDP], &v6[40..]].concat();
    assert_eq!(sum(&pseudo), 0xFFFF);
}

/// The synthetic Ethernet header: locally administered unicast addresses, the other way round for ACKs, and the type of IP.
#[test]
fn ethernet() {
    let both = |row, ip| frame(flow(), row, &Format { ip, snaplen: 0, ..Format::default() })[..14].to_vec();
    let data_header = both(data(), IpVersion::V4);
    assert_eq!(data_header, [2, 2, 0, 0, 0, 1, 2, 1, 0, 0, 0, 1, 0x08, 0x00]);
    let ack = both(Row { dir: 1, ..data() }, IpVersion::V6);
    assert_eq!(ack, [2, 1, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 0x86, 0xDD]);
}
