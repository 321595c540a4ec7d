//! Captures: real ones, cut and damaged ones, and ones that are none.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use windtunnel_trace::walk::{Known, SendKind, Walked, walk};
use windtunnel_trace::{Capture, ReadError, Row, read};

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captures").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    fs::read(file(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn follow(capture: &Capture) -> Walked {
    let connections: Vec<Known> = capture
        .connections
        .iter()
        .map(|c| Known {
            mss: 1448,
            timestamps: c.sides.iter().all(|side| side.timestamps),
            window: c.window_known,
        })
        .collect();
    walk(capture.segments.clone(), &connections, &|| true).expect("nothing stops it")
}

/// What holds for everything that was read, however damaged.
fn check(capture: &Capture) {
    assert!(capture.segments.rows().is_sorted_by_key(|row| row.t_ns));
    assert!(capture.segments.rows().all(|row| (row.flow as usize) < capture.connections.len()));
    let walked = follow(capture);
    assert_eq!(walked.sends.t_ns.len(), walked.sends.in_flight.len());
    assert!(walked.sends.kind.iter().all(|kind| *kind <= SendKind::Overtaken as u8));
}

/// The numbers of the kernel's own capture: packets and retransmissions as an independent tool counts them (tshark 4.0:
/// `tcp.len > 0` and `tcp.analysis.retransmission or tcp.analysis.fast_retransmission`).
#[test]
fn a_real_capture_is_read_whole() {
    let capture = read(&bytes("reno-at-sender.pcap")[..]).expect("a capture");
    check(&capture);
    assert_eq!((capture.packets, capture.connections.len(), capture.notes.len()), (2272, 1, 0));
    let [sender, receiver] = &capture.connections[0].sides;
    assert_eq!((sender.address.to_string().as_str(), receiver.port), ("10.1.0.1", 5001));
    let syn = sender.syn.as_ref().expect("the handshake");
    assert_eq!((syn.mss, syn.window_scale, syn.sack, syn.timestamps), (Some(1460), Some(10), true, true));
    assert!(sender.timestamps && receiver.timestamps, "in all but the reset");
    let walked = follow(&capture);
    let again = walked.sends.kind.iter().filter(|kind| **kind != SendKind::New as u8).count();
    assert_eq!((walked.sends.t_ns.len(), again), (DATA, AGAIN));
    assert!(walked.at_sender[0] && walked.back_ns[0] < 1_000_000, "{:?}", walked.back_ns);
}

const DATA: usize = 1387;
const AGAIN: usize = 33;

/// At the receiver the lost packets were never seen, and the sender is the path's round trip away.
#[test]
fn a_capture_at_the_receiver_knows_where_the_sender_is() {
    let capture = read(&bytes("reno-at-receiver.pcap")[..]).expect("a capture");
    check(&capture);
    let walked = follow(&capture);
    assert!(!walked.at_sender[0]);
    assert!((40_000_000..50_000_000).contains(&walked.back_ns[0]), "{:?}", walked.back_ns);
    let of_kind = |wanted: SendKind| {
        walked.sends.kind.iter().fold(0, |count, kind| count + usize::from(*kind == wanted as u8))
    };
    assert!(of_kind(SendKind::Unseen) > 30);
    assert!(of_kind(SendKind::FastRetransmit) + of_kind(SendKind::Timeout) < 5);
}

/// Of two connections the one with more data is kept, as it is in the whole capture; a bound that all meet changes
/// nothing.
#[test]
fn connections_with_most_data_are_kept() {
    let whole = read(&bytes("two-flows.pcap")[..]).expect("a capture");
    let [first, second] = [0, 1].map(|n: usize| whole.connections[n].sides[0].data_bytes);
    assert_ne!(first, second);
    let most = usize::from(second > first);
    let mut capture = whole.clone();
    assert_eq!((capture.keep_most(2), &capture), (0, &whole));
    assert_eq!(capture.keep_most(1), 1);
    check(&capture);
    assert_eq!(capture.connections, [whole.connections[most].clone()]);
    let of_most = whole.segments.rows().filter(|row| row.flow as usize == most).count();
    assert_eq!(capture.segments.len(), of_most);
    assert_eq!(capture.keep_most(0), 1);
    assert!(capture.segments.is_empty());
}

/// pcapng, IPv6.
#[test]
fn both_formats_and_both_versions_of_ip() {
    let capture = read(&bytes("cubic-at-sender.pcapng")[..]).expect("a capture");
    check(&capture);
    assert_eq!(capture.packets, 2400);
    assert_eq!(capture.connections[0].sides[0].address.to_string(), "fd01::1");
    assert!(follow(&capture).sends.t_ns.len() > 1200);
}

/// A capture that ends anywhere gives all whole packets before, and says so where a packet is cut.
#[test]
fn a_cut_capture_gives_what_there_is() {
    for name in ["reno-at-sender.pcap", "cubic-at-sender.pcapng"] {
        let whole = bytes(name);
        let mut before = 0;
        for end in 0..6000 {
            match read(&whole[..end]) {
                Ok(capture) => {
                    check(&capture);
                    assert!(capture.packets >= before, "{end}");
                    before = capture.packets;
                    assert!(
                        capture
                            .notes
                            .iter()
                            .all(|note| note.contains("ends in the middle") || note.starts_with("Left out")),
                        "{:?}",
                        capture.notes
                    );
                }
                Err(error) => assert!(end < 100, "{name} {end}: {error}"),
            }
        }
        assert!(before > 30);
    }
}

/// Each header cut by a short snap length: what is missing is counted, not guessed.
#[test]
fn headers_that_were_not_captured_are_counted() {
    // The records of a pcap file, each cut to 30 bytes: an IPv4 header and half of the TCP header.
    let whole = bytes("reno-at-sender.pcap");
    let mut cut = whole[..24].to_vec();
    let mut at = 24;
    while at + 16 <= whole.len() {
        let length = u32::from_le_bytes(whole[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        cut.extend_from_slice(&whole[at..at + 8]);
        cut.extend_from_slice(&30u32.to_le_bytes());
        cut.extend_from_slice(&whole[at + 12..at + 46]);
        at += 16 + length;
    }
    let capture = read(&cut[..]).expect("a capture");
    assert!(capture.segments.is_empty());
    let note = "2272 of 2272 packets are cut or damaged before the end of the TCP header.";
    assert_eq!(capture.notes, [note]);
}

/// A stream that fails after some bytes, wherever that is: what came before is read, and a note tells of the rest.
#[test]
fn a_stream_that_fails() {
    struct Fails<'a>(&'a [u8]);
    impl Read for Fails<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            if self.0.is_empty() { Err(std::io::ErrorKind::BrokenPipe.into()) } else { self.0.read(into) }
        }
    }
    let whole = bytes("reno-at-sender.pcap");
    for end in [9_000, 70_000, whole.len()] {
        let capture = read(Fails(&whole[..end])).expect("a capture");
        assert!(!capture.segments.is_empty());
        assert!(
            capture.notes[0].starts_with("The capture cannot be read further at byte "),
            "{:?}",
            capture.notes
        );
    }
    assert!(matches!(read(Fails(&[])), Err(ReadError::Io(_))));
}

#[test]
fn what_is_no_capture_is_refused() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "is empty"),
        (b"\x1f\x8b\x08\x00 and more", "is compressed: unpack it first"),
        (b"title = \"no capture\"", "is neither pcap, pcapng nor qlog"),
        (b"\xd4\xc3", "is neither pcap, pcapng nor qlog"),
    ];
    for (input, message) in cases {
        let error: ReadError = read(input).expect_err("no capture");
        assert_eq!(error.to_string(), message);
    }
}

/// The seeds of coverage-guided fuzzing (`fuzz/`).
#[test]
fn seeds_of_coverage() {
    let archive = fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/capture.tar"));
    let mut archive = tar::Archive::new(archive.expect("the archive is in the repository"));
    let mut readable = 0;
    for seed in archive.entries().expect("a tar archive") {
        let mut bytes = Vec::new();
        seed.expect("an entry").read_to_end(&mut bytes).expect("all of it");
        if let Ok(capture) = read(&bytes[..]) {
            check(&capture);
            readable += usize::from(!capture.segments.is_empty());
        }
    }
    assert!(readable >= 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Damaged bytes anywhere: no panic, and what is read keeps its laws.
    #[test]
    fn damaged_captures(
        pcapng in any::<bool>(),
        damage in proptest::collection::vec((0usize..4000, any::<u8>()), 1..40),
    ) {
        let name = if pcapng { "cubic-at-sender.pcapng" } else { "reno-at-receiver.pcap" };
        let mut input = bytes(name)[..4000].to_vec();
        for (at, value) in damage {
            input[at] = value;
        }
        if let Ok(capture) = read(&input[..]) {
            check(&capture);
        }
    }
}

/// The same packets behind other link headers: LINKTYPE, and the bytes in front of the IP header.
const LINKS: [(u32, &[u8]); 7] = [
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]),
    // IEEE 802.1Q: a tag between the addresses and the type.
    (1, &[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x81, 0, 0, 7, 8, 0]),
    (0, &[2, 0, 0, 0]),
    // Linux's cooked headers, which `tcpdump -i any` writes: versions 1 and 2.
    (113, &[0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0]),
    // A device without a link layer, such as a tunnel.
    (113, &[0, 4, 0xff, 0xfe, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]),
    (276, &[8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]),
    (228, &[]),
];

/// A capture with another link header in front of every packet, each packet cut to `snaplen` bytes from IP on.
fn relinked(whole: &[u8], link: u32, header: &[u8], snaplen: usize) -> Vec<u8> {
    let mut out = whole[..20].to_vec();
    out.extend_from_slice(&link.to_le_bytes());
    let mut at = 24;
    while at + 16 <= whole.len() {
        let word = |at: usize| u32::from_le_bytes(whole[at..at + 4].try_into().expect("four bytes"));
        let (captured, length) = (word(at + 8) as usize, word(at + 12) as usize);
        let kept = captured.min(snaplen);
        out.extend_from_slice(&whole[at..at + 8]);
        out.extend_from_slice(&((kept + header.len()) as u32).to_le_bytes());
        out.extend_from_slice(&((length + header.len()) as u32).to_le_bytes());
        out.extend_from_slice(header);
        out.extend_from_slice(&whole[at + 16..at + 16 + kept]);
        at += 16 + captured;
    }
    out
}

#[test]
fn links_of_every_kind() {
    let whole = bytes("reno-at-sender.pcap");
    let raw = read(&whole[..]).expect("a capture");
    for (link, header) in LINKS {
        let capture = read(&relinked(&whole, link, header, 200)[..]).expect("a capture");
        assert_eq!(capture.notes, raw.notes, "link {link}");
        assert_eq!(capture.segments, raw.segments, "link {link}");
    }
    let capture = read(&relinked(&whole, 147, &[], 200)[..]).expect("a capture");
    assert_eq!(capture.notes, ["2272 of 2272 packets have a link header that is not known (type 147)."]);
}

/// `tcpdump -s 54` leaves 20 bytes of TCP's header behind Ethernet's and IP's: numbers and windows, no options.
#[test]
fn options_that_were_not_captured_are_missing_and_nothing_else() {
    let whole = bytes("reno-at-sender.pcap");
    let (raw, cut) =
        (read(&whole[..]).expect("a capture"), read(&relinked(&whole, 101, &[], 40)[..]).expect("a capture"));
    let numbers = |row: &Row| (row.seq, row.ack, row.payload);
    assert!(cut.segments.rows().map(numbers).eq(raw.segments.rows().map(numbers)));
    assert!(cut.segments.rows().all(|row| row.ts_val == 0));
    assert!(!cut.connections[0].sides[0].timestamps);
}

/// RFC 9293 section 3.4: numbers wrap at 2^32; the table's do not.
#[test]
fn sequence_numbers_do_not_wrap() {
    let whole = bytes("reno-at-sender.pcap");
    let raw = read(&whole[..]).expect("a capture");
    // Adds to the sender's numbers so that they pass 2^32 in the middle of the transfer.
    let isn = raw.connections[0].sides[0].syn.as_ref().expect("the handshake").isn;
    let shift = 0u32.wrapping_sub(isn).wrapping_sub(1_000_000);
    let mut moved = whole.clone();
    let mut at = 24;
    while at + 16 <= moved.len() {
        let captured = u32::from_le_bytes(moved[at + 8..at + 12].try_into().expect("four bytes")) as usize;
        let ip = at + 16;
        // The source's second number: 10.1 sends, 10.2 acknowledges.
        let field = if moved[ip + 13] == 1 { ip + 24 } else { ip + 28 };
        let number = u32::from_be_bytes(moved[field..field + 4].try_into().expect("four bytes"));
        moved[field..field + 4].copy_from_slice(&number.wrapping_add(shift).to_be_bytes());
        at += 16 + captured;
    }
    let wrapped = read(&moved[..]).expect("a capture");
    // SACK blocks, which were not moved, are no part of it.
    let numbers = |row: &Row| (row.t_ns, row.seq, row.ack);
    assert!(wrapped.segments.rows().map(numbers).eq(raw.segments.rows().map(numbers)));
}
