//! A reader of captures that shares nothing with the writer, and the packets that the tests write.

use std::io;

use windtunnel_export::pcapng::{Capture, Flow, Format, Packets, Payloads, Row};

pub(crate) const TCP: u8 = 6;
pub(crate) const UDP: u8 = 17;

/// A block: its type, and its body without the lengths around it.
pub(crate) type Block = (u32, Vec<u8>);

/// Splits a file into blocks; both lengths of each must agree, and be multiples of four.
pub(crate) fn blocks(mut file: &[u8]) -> Vec<Block> {
    let mut blocks = Vec::new();
    while !file.is_empty() {
        let length = u32_at(file, 4) as usize;
        assert_eq!(length % 4, 0);
        assert_eq!(u32_at(file, length - 4) as usize, length);
        blocks.push((u32_at(file, 0), file[8..length - 4].to_vec()));
        file = &file[length..];
    }
    blocks
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// An enhanced packet block, taken apart.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) interface: u32,
    pub(crate) time_ns: u64,
    pub(crate) length: u32,
    pub(crate) frame: Vec<u8>,
    pub(crate) options: Vec<(u16, Vec<u8>)>,
}

impl Seen {
    pub(crate) fn comments(&self) -> Vec<String> {
        let comments = self.options.iter().filter(|(code, _)| *code == 1);
        comments.map(|(_, value)| String::from_utf8(value.clone()).unwrap()).collect()
    }
}

/// The packets of a file.
pub(crate) fn packets(file: &[u8]) -> Vec<Seen> {
    let seen = |(_, body): Block| {
        let captured = u32_at(&body, 12) as usize;
        Seen {
            interface: u32_at(&body, 0),
            time_ns: u64::from(u32_at(&body, 4)) << 32 | u64::from(u32_at(&body, 8)),
            length: u32_at(&body, 16),
            frame: body[20..20 + captured].to_vec(),
            options: options(&body[20 + captured.next_multiple_of(4)..]),
        }
    };
    blocks(file).into_iter().filter(|(kind, _)| *kind == 6).map(seen).collect()
}

/// The options at the end of a block.
pub(crate) fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut options = Vec::new();
    loop {
        let u16_at = |at| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (code, length) = (u16_at(0), usize::from(u16_at(2)));
        if code == 0 {
            return options;
        }
        options.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + length.next_multiple_of(4)..];
    }
}

/// The one's-complement sum of RFC 1071 over `bytes`: 0xFFFF if they hold a correct checksum.
pub(crate) fn sum(bytes: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
    let mut sum: u32 = bytes.chunks(2).map(word).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

pub(crate) fn flow() -> Flow {
    Flow { name: "cubic".to_owned(), mss: 1460, timestamps: true, sack: true, mds: None }
}

/// A full data segment at the sender.
pub(crate) fn data() -> Row {
    Row {
        t_ns: 25_000_000,
        queue: u32::MAX,
        proto: TCP,
        id: 7,
        size: 1500,
        payload: 1448,
        seq: 1449,
        ack: 1,
        flags: 0x010,
        ecn: 0b10,
        ts_val_ns: 25_000_000,
        ts_ecr_ns: 12_999_999,
        window: 1 << 30,
        window_scale: 14,
        ..Row::default()
    }
}

/// The file of these rows, for one flow and the queues `first` and `second`.
pub(crate) fn file(flow: Flow, rows: &[Row], format: &Format) -> Vec<u8> {
    file_in_parts(flow, &[rows], format).unwrap()
}

/// The same, where the rows come in parts.
pub(crate) fn file_in_parts(flow: Flow, parts: &[&[Row]], format: &Format) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    let queues = ["first".to_owned(), "second".to_owned()];
    let mut capture = Capture::new(&mut file, "a test", vec![flow], &queues, format.clone())?;
    for rows in parts {
        with_columns(rows, |packets| capture.write(packets, &Payloads::default()))?;
    }
    let packets = capture.finish()?;
    assert_eq!(packets, self::packets(&file).len() as u64);
    Ok(file)
}

/// The file of these rows of one flow, with payloads and the secrets that decrypt them.
pub(crate) fn file_with_payloads(
    flow: Flow,
    rows: &[Row],
    payloads: &Payloads<'_>,
    secrets: &str,
    format: &Format,
) -> Vec<u8> {
    let mut file = Vec::new();
    let mut capture = Capture::new(&mut file, "a test", vec![flow], &[], format.clone()).unwrap();
    capture.secrets(secrets).unwrap();
    with_columns(rows, |packets| capture.write(packets, payloads)).unwrap();
    capture.finish().unwrap();
    file
}

/// Calls `then` with a table of these rows.
pub(crate) fn with_columns<T>(rows: &[Row], then: impl FnOnce(&Packets<'_>) -> T) -> T {
    macro_rules! columns {
        ($($name:ident),* $(,)?) => {{
            $(let $name: Vec<_> = rows.iter().map(|row| row.$name).collect();)*
            then(&Packets { $($name: &$name),* })
        }};
    }
    #[rustfmt::skip]
    return columns!(
        t_ns, tap, queue, flow, connection, dir, proto, id, copy_of, size, payload, seq, ack, flags, ecn, dscp, ts_val_ns, ts_ecr_ns,
        window, window_scale, sack_n, sack1_start, sack1_end, sack2_start, sack2_end, sack3_start, sack3_end, sack4_start, sack4_end,
        mds, ack_rate, accecn_kind, accecn_n, accecn1, accecn2, accecn3,
        drop, retransmission, cwnd, ssthresh, srtt_ns, state, limit, in_flight,
    );
}

/// The example of RFC 1071 section 3: the words 0001 f203 f4f5 f6f7 sum to ddf2.
#[test]
fn sum_of_rfc_1071() {
    assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
}
