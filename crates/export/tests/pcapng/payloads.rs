//! Payloads of real stacks in a capture, and the secrets in front of them.

use windtunnel_export::pcapng::{Format, IpVersion, Link, Payloads, Row};

use crate::reader::{UDP, blocks, data, file_with_payloads, flow, packets, sum};

/// An odd number of bytes, which the checksum fills up with a zero (RFC 768).
const CONTENT: &[u8] = &[0x40, 1, 2, 3, 4, 5, 6, 7, 8];

fn raw(ip: IpVersion) -> Format {
    Format { link: Link::Raw, ip, snaplen: 0, ..Format::default() }
}

/// A datagram of nine bytes in 28 bytes of headers.
fn datagram() -> Row {
    Row { proto: UDP, size: 37, payload: 9, id: 6, ..data() }
}

fn frames(rows: &[Row], ip: IpVersion) -> Vec<Vec<u8>> {
    let payloads = Payloads { ids: &[2, 6], contents: &[&[9; 4], CONTENT] };
    let file = file_with_payloads(flow(), rows, &payloads, "A 01 02\n", &raw(ip));
    packets(&file).into_iter().map(|packet| packet.frame).collect()
}

/// What follows the UDP header is the packet's payload; lengths and checksums count it (RFC 768, RFC 8200 section 8.1).
#[test]
fn a_datagram_has_its_payload() {
    let v4 = frames(&[datagram()], IpVersion::V4).remove(0);
    assert_eq!((v4.len(), u16::from_be_bytes([v4[2], v4[3]])), (37, 37));
    assert_eq!(v4[24..26], 17u16.to_be_bytes());
    assert_eq!(&v4[28..], CONTENT);
    assert_eq!(sum(&[&v4[12..20], &[0, UDP, 0, 17], &v4[20..]].concat()), 0xFFFF);
    let v6 = frames(&[datagram()], IpVersion::V6).remove(0);
    assert_eq!(&v6[48..], CONTENT);
    assert_eq!(sum(&[&v6[8..40], &[0, 0, 0, 17], &[0, 0, 0, UDP], &v6[40..]].concat()), 0xFFFF);
}

/// A copy that a medium made carries what its original does. The ECN field is that of the row, at each place. A packet
/// without a payload has the number and zeros as before.
#[test]
fn copies_and_marks() {
    let rows = [
        Row { ecn: 0b10, ..datagram() },
        Row { ecn: 0b11, ..datagram() },
        Row { id: 8, copy_of: 6, ..datagram() },
        Row { id: 10, seq: 5, ..datagram() },
    ];
    let frames = frames(&rows, IpVersion::V4);
    assert_eq!(frames.iter().take(2).map(|frame| frame[1] & 3).collect::<Vec<_>>(), [0b10, 0b11]);
    assert!(frames.iter().take(3).all(|frame| &frame[28..] == CONTENT));
    assert_eq!(frames[3][28..], [0, 0, 0, 0, 0, 0, 0, 5, 0]);
}

/// Readers use secrets for the packets behind them: the block stands in front of the first one.
#[test]
fn secrets_come_first() {
    let file =
        file_with_payloads(flow(), &[datagram()], &Payloads::default(), "A 01 02\n", &raw(IpVersion::V4));
    let kinds: Vec<u32> = blocks(&file).iter().map(|(kind, _)| *kind).collect();
    let at = |kind| kinds.iter().position(|other| *other == kind);
    assert!(at(10).is_some() && at(10) < at(6), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == 10).count(), 1);
}
