//! Where packets are seen: interfaces, times, identities, TTL, comments; and what is refused.

use windtunnel_export::pcapng::{Format, Link, Point, Row};

use crate::reader::{blocks, data, file, file_in_parts, flow, options, packets, u32_at};

/// One packet at every place of its path through two queues, and its ACK. No queue drops it; the second marks it CE.
fn journey() -> Vec<Row> {
    let at = |tap, queue, t_ns| Row { tap, queue, t_ns, ..data() };
    let (none, ce) = (u32::MAX, 0b11);
    vec![
        at(0, none, 0),
        at(1, 0, 1_000),
        at(2, 0, 2_000),
        at(1, 1, 3_000),
        Row { ecn: ce, ..at(2, 1, 4_000) },
        Row { ecn: ce, ..at(3, none, 5_000) },
        Row { dir: 1, id: 8, size: 52, payload: 0, ..at(3, none, 5_001) },
        Row { dir: 1, id: 8, size: 52, payload: 0, ..at(0, none, 9_000) },
    ]
}

fn all_points() -> Format {
    Format { points: Point::ALL.to_vec(), link: Link::Raw, ..Format::default() }
}

/// Interfaces are senders, queues before and after, receivers; each packet is at the interface of its place, and is the
/// same everywhere except for its ECN field and TTL.
#[test]
fn a_packet_at_all_its_places() {
    let file = file(flow(), &journey(), &all_points());
    let interfaces: Vec<_> = blocks(&file).into_iter().filter(|(kind, _)| *kind == 1).collect();
    let names: Vec<_> = interfaces.iter().map(|(_, body)| options(&body[8..])[0].1.clone()).collect();
    let expected: [&[u8]; 6] =
        [b"snd.cubic", b"q.first.in", b"q.first.out", b"q.second.in", b"q.second.out", b"rcv.cubic"];
    assert_eq!(names, expected);
    assert!(interfaces.iter().all(|(_, body)| options(&body[8..]).contains(&(9, vec![9]))), "nanoseconds");

    let seen = packets(&file);
    let of = |what: fn(&crate::reader::Seen) -> u64| seen.iter().map(what).collect::<Vec<_>>();
    assert_eq!(of(|p| u64::from(p.interface)), [0, 1, 2, 3, 4, 5, 5, 0]);
    assert_eq!(of(|p| u64::from(p.frame[8])), [64, 64, 63, 63, 62, 62, 64, 64], "TTL");
    assert_eq!(of(|p| u64::from(p.frame[1] & 3)), [2, 2, 2, 2, 3, 3, 2, 2], "ECN");
    assert_eq!(of(|p| u64::from(p.frame[5])), [7, 7, 7, 7, 7, 7, 8, 8], "identification");
    assert_eq!(of(|p| p.time_ns - 1_577_836_800_000_000_000), [0, 1000, 2000, 3000, 4000, 5000, 5001, 9000]);
    // epb_packetid and epb_flags: outbound (2) where it leaves, inbound (1) where it arrives.
    assert!(seen.iter().all(|p| p.options.contains(&(5, u64::from(p.frame[5]).to_le_bytes().to_vec()))));
    let flags =
        |p: &crate::reader::Seen| u64::from(p.options.iter().find(|(code, _)| *code == 2).unwrap().1[0]);
    assert_eq!(of(flags), [2, 1, 2, 1, 2, 1, 2, 1]);
}

/// A copy that a medium made has its own identity (`epb_packetid`, option 5) and is otherwise equal to the last bit, IP
/// header included. A comment (option 1) says what it is.
#[test]
fn a_copy_is_the_same_packet_on_the_wire() {
    let original = Row { tap: 3, queue: u32::MAX, ..data() };
    let copy = Row { id: 20, copy_of: original.id, ..original };
    let seen = packets(&file(flow(), &[original, copy], &all_points()));
    assert_eq!(seen[0].frame, seen[1].frame);
    assert!(seen[0].options.contains(&(5, 7_u64.to_le_bytes().to_vec())));
    assert!(seen[1].options.contains(&(5, 20_u64.to_le_bytes().to_vec())));
    let comment = (1, b"copy of packet 7".to_vec());
    assert!(seen[1].options.contains(&comment) && !seen[0].options.contains(&comment));
}

/// Statistics close the file: how many packets each interface saw, and that the capture itself lost none; the upper
/// half of the time comes first.
#[test]
fn statistics() {
    let statistics: Vec<_> =
        blocks(&file(flow(), &journey(), &all_points())).into_iter().filter(|(kind, _)| *kind == 5).collect();
    let received = |body: &[u8]| options(&body[12..]).iter().find(|(code, _)| *code == 4).unwrap().1[0];
    let expected = [2, 1, 1, 1, 1, 2];
    assert_eq!(statistics.iter().map(|(_, body)| received(body)).collect::<Vec<_>>(), expected);
    let end = 1_577_836_800_000_009_000u64;
    let (_, body) = &statistics[0];
    assert_eq!((u64::from(u32_at(body, 4)), u64::from(u32_at(body, 8))), (end >> 32, end & 0xFFFF_FFFF));
}

/// A file of one point has that point's interfaces and packets only; the TTL still counts the queues in between.
#[test]
fn single_points() {
    let seen = |point| {
        let file = file(flow(), &journey(), &Format { points: vec![point], ..all_points() });
        packets(&file).iter().map(|p| (p.interface, p.frame[8])).collect::<Vec<_>>()
    };
    assert_eq!(seen(Point::Sender), [(0, 64), (0, 64)]);
    assert_eq!(seen(Point::QueueOut), [(0, 63), (1, 62)]);
    assert_eq!(seen(Point::Receiver), [(0, 62), (0, 64)]);
}

/// The file holds the first bytes of longer packets, and their original length.
#[test]
fn snap_length() {
    let short = packets(&file(flow(), &[data()], &Format { snaplen: 66, ..Format::default() }));
    assert_eq!((short[0].frame.len(), short[0].length), (66, 1514));
}

/// The last place where a packet is seen says why it is not seen again.
#[test]
fn drops_are_comments() {
    let row = Row { tap: 1, queue: 0, drop: 1, ..data() };
    assert_eq!(packets(&file(flow(), &[row], &all_points()))[0].comments(), ["drop:full"]);
}

/// Equal input gives equal bytes; the first block says which run the file shows.
#[test]
fn reproducible() {
    let once = file(flow(), &journey(), &all_points());
    assert_eq!(once, file(flow(), &journey(), &all_points()));
    let (kind, body) = &blocks(&once)[0];
    assert_eq!(*kind, 0x0A0D_0D0A);
    assert_eq!(body[..8], [0x4D, 0x3C, 0x2B, 0x1A, 1, 0, 0, 0]);
    assert_eq!(options(&body[16..])[0], (1, b"a test".to_vec()));
}

/// A capture is the same however its rows are cut into parts: what is learnt of routes, times and counts goes on.
#[test]
fn parts() {
    let rows = journey();
    let whole = file(flow(), &rows, &all_points());
    for cut in 0..=rows.len() {
        let (one, two) = rows.split_at(cut);
        assert_eq!(file_in_parts(flow(), &[one, &[], two], &all_points()).unwrap(), whole, "cut at {cut}");
    }
}

/// Rows that no run can have are refused, with their number among all; nothing panics.
#[test]
fn impossible_rows() {
    let refused = |row| {
        let error = file_in_parts(flow(), &[&[data()], &[row]], &Format::default()).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
        error.to_string()
    };
    assert_eq!(refused(Row { flow: 1, ..data() }), "packet 1: flow 1 is not one of 1");
    assert_eq!(refused(Row { tap: 4, ..data() }), "packet 1: 4 is not a tap");
    assert_eq!(refused(Row { tap: 1, queue: 2, ..data() }), "packet 1: queue 2 is not one of 2");
    assert_eq!(refused(Row { proto: 1, ..data() }), "packet 1: protocol 1 is neither TCP (6) nor UDP (17)");
    refused(Row { ecn: 4, ..data() });
    refused(Row { dscp: 64, ..data() });
    refused(Row { payload: 70_000, ..data() });
    refused(Row { sack_n: 4, ..data() });
}
