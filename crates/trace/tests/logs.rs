//! Logs: a transfer whose truth is known, a real one, cut and damaged ones, and hostile ones.

use std::fmt::Write;
use std::fs;
use std::io::{Cursor, Read};

use proptest::prelude::*;
use windtunnel_trace::qlog::Qlog;
use windtunnel_trace::walk::SendKind;
use windtunnel_trace::{Trace, open};

const HEAD: &str = r#"{"qlog_format":"JSON-SEQ","qlog_version":"0.3","trace":{"vantage_point":{"type":"client"},"common_fields":{"protocol_type":["QUIC"]}}}"#;
const TCP_HEAD: &str = r#"{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{"common_fields":{"protocol_types":["TCP"]}}}"#;

fn read(text: &[u8]) -> Qlog {
    match open(Cursor::new(text.to_vec())).expect("a log") {
        Trace::Qlog(log) => *log,
        Trace::Capture(_) => panic!("a capture"),
    }
}

/// A sequence of records.
fn sequence(head: &str, events: &[String]) -> Vec<u8> {
    let mut text = format!("\x1e{head}\n");
    for event in events {
        let _ = writeln!(text, "\x1e{event}");
    }
    text.into_bytes()
}

fn sent(ms: f64, number: u64, offset: u64) -> String {
    format!(
        r#"{{"time":{ms},"name":"transport:packet_sent","data":{{"header":{{"packet_type":"1RTT","packet_number":{number}}},"raw":{{"length":1250}},"frames":[{{"frame_type":"stream","stream_id":0,"offset":{offset},"length":1200}}]}}}}"#
    )
}

fn acked(ms: f64, ranges: &str) -> String {
    format!(
        r#"{{"time":{ms},"name":"transport:packet_received","data":{{"header":{{"packet_type":"1RTT","packet_number":0}},"frames":[{{"frame_type":"ack","ack_delay":0,"acked_ranges":{ranges}}}]}}}}"#
    )
}

/// Rounds of ten packets, 50 ms apart; in the second one, the third packet is lost and sent again.
fn transfer() -> Vec<String> {
    let mut events = Vec::new();
    for n in 0..10u32 {
        events.push(sent(f64::from(n), n.into(), 1200 * u64::from(n)));
    }
    events.push(acked(50.0, "[[0,9]]"));
    for n in 10..20u32 {
        events.push(sent(41.0 + f64::from(n), n.into(), 1200 * u64::from(n)));
    }
    events.push(acked(100.0, "[[13],[10,11]]"));
    events.push(acked(101.0, "[[14,15]]"));
    events.push(sent(102.0, 20, 12 * 1200));
    events.push(acked(103.0, "[[16,19]]"));
    events.push(acked(152.0, "[[20]]"));
    events
}

/// What holds for everything that was read, however damaged.
fn check(log: &Qlog) {
    let (sends, acks) = (&log.walked.sends, &log.walked.acks);
    let connections = log.connections.len();
    assert!(sends.flow.iter().chain(&acks.flow).all(|flow| (*flow as usize) < connections));
    assert!(sends.kind.iter().all(|kind| *kind <= SendKind::Overtaken as u8));
    for length in [sends.seq.len(), sends.kind.len(), sends.room.len(), sends.dscp.len(), sends.back_ns.len()]
    {
        assert_eq!(length, sends.t_ns.len());
    }
    for length in [acks.acked.len(), acks.rtt_ns.len(), acks.kind.len(), acks.flags.len(), acks.round.len()] {
        assert_eq!(length, acks.t_ns.len());
    }
    assert_eq!(log.walked.back_ns.len(), connections);
    let metrics = &log.metrics;
    for length in
        [metrics.flow.len(), metrics.srtt_ms.len(), metrics.in_flight_bytes.len(), metrics.sent.len()]
    {
        assert_eq!(length, metrics.time_s.len());
    }
    assert!(metrics.time_s.iter().all(|time| time.is_finite()));
    assert!(log.connections.iter().all(|connection| connection.name.chars().count() <= 120));
}

/// RFC 9002: the third packet is lost once three later ones are acknowledged, its data are sent again, round trips are those of
/// the newest packets, and a round ends when its loss is repaired.
#[test]
fn a_transfer() {
    let log = read(&sequence(HEAD, &transfer()));
    check(&log);
    assert_eq!((log.events, log.notes.len(), log.connections.len()), (26, 0, 1));
    let connection = &log.connections[0];
    assert_eq!((connection.sent, connection.acks, connection.largest), (21, 5, 1250));
    let (sends, acks) = (&log.walked.sends, &log.walked.acks);
    assert_eq!(sends.in_flight[9], 10 * 1250);
    assert_eq!(acks.rtt_ns, [41, 46, 45, 43, 50].map(|ms| ms * 1_000_000));
    // Number 12 is lost with the acknowledgement of 15.
    assert_eq!(acks.in_flight, [0, 7 * 1250, 4 * 1250, 1250, 0]);
    assert_eq!(sends.kind[20], SendKind::FastRetransmit as u8);
    assert_eq!(sends.kind.iter().filter(|kind| **kind != 0).count(), 1);
    assert_eq!(acks.acked, [10 * 1250, 3 * 1250, 2 * 1250, 4 * 1250, 1250]);
    assert_eq!(acks.round, [1, 2, 2, 2, 3]);
}

/// RFC 9002 section 6.1.2: a packet with fewer than three acknowledged above it is lost after 9/8 of a round trip. That its data are
/// sent again later than that shows it; without an acknowledgement above it they are a probe.
#[test]
fn lost_by_time() {
    for (ranges, kind, in_flight) in
        [("[[18,19],[10,16]]", SendKind::FastRetransmit, 1250), ("[[10,16]]", SendKind::Probe, 4 * 1250)]
    {
        let mut events = transfer();
        events.truncate(21);
        events.extend([acked(105.0, ranges), sent(160.0, 20, 17 * 1200)]);
        let log = read(&sequence(HEAD, &events));
        check(&log);
        let sends = &log.walked.sends;
        assert_eq!((sends.kind[20], sends.in_flight[20]), (kind as u8, in_flight));
    }
}

/// A stack may send lost data again after several round trips of new data: rounds do not wait for that, and it is a loss still.
#[test]
fn repaired_late() {
    let mut events = transfer();
    events.truncate(23);
    let number = |ms: u32| u64::from(ms / 10 + 10);
    for ms in (110..510).step_by(10) {
        events.push(sent(f64::from(ms), number(ms), 1200 * number(ms)));
        events.push(acked(f64::from(ms) + 5.0, &format!("[[13,{}]]", number(ms))));
    }
    events.push(sent(520.0, 70, 12 * 1200));
    let log = read(&sequence(HEAD, &events));
    check(&log);
    let (sends, acks) = (&log.walked.sends, &log.walked.acks);
    assert_eq!(sends.kind.iter().filter(|kind| **kind != 0).count(), 1);
    assert_eq!(sends.kind.last(), Some(&(SendKind::FastRetransmit as u8)));
    assert!(acks.round.last() > Some(&20), "{:?}", acks.round);
}

/// Without offsets, what follows a loss is its retransmission; without frames, long packets carry data.
#[test]
fn logs_with_less_in_them() {
    let bare = |text: &String| {
        let start = text.find(r#","frames":[{"frame_type":"stream""#);
        start.map_or(text.clone(), |start| format!("{}}}}}", &text[..start]))
    };
    let whole = read(&sequence(HEAD, &transfer()));
    let events: Vec<String> = transfer().iter().map(bare).collect();
    let less = read(&sequence(HEAD, &events));
    check(&less);
    assert_eq!(less.walked.sends.kind, whole.walked.sends.kind);
    assert_eq!(less.walked.sends.in_flight, whole.walked.sends.in_flight);
    assert_eq!(less.walked.acks.rtt_ns, whole.walked.acks.rtt_ns);
}

/// The same transfer as a TCP flow's log: segments, cumulative and selective acknowledgements.
#[test]
fn a_tcp_flow() {
    let log = read(&sequence(TCP_HEAD, &transfer()));
    check(&log);
    assert!(log.connections[0].tcp);
    let (sends, acks) = (&log.walked.sends, &log.walked.acks);
    assert_eq!(sends.seq[20], 1 + 12 * 1200);
    assert_eq!(acks.ack, [1 + 10 * 1200, 1 + 12 * 1200, 1 + 12 * 1200, 1 + 12 * 1200, 1 + 20 * 1200]);
    assert_eq!(acks.delivered, [10 * 1200, 3 * 1200, 2 * 1200, 4 * 1200, 1200]);
    assert_eq!(sends.kind[20], SendKind::FastRetransmit as u8);
}

/// Connections apart by their group, times as differences, and a limit that the peer gave.
#[test]
fn groups_differences_and_limits() {
    let head = r#"{"trace":{"common_fields":{"time_format":"relative_to_previous_event"}}}"#;
    let limit = r#"{"time":1,"group_id":"b","name":"quic:parameters_set","data":{"initiator":"remote","initial_max_data":5000}}"#;
    let grouped = |group: &str, ms: f64, number| {
        sent(ms, number, 1200 * number).replacen('{', &format!(r#"{{"group_id":"{group}","#), 1)
    };
    let events = [limit.to_owned(), grouped("a", 2.0, 0), grouped("b", 0.5, 0), grouped("b", 0.5, 1)];
    let log = read(&sequence(head, &events));
    check(&log);
    let names: Vec<&str> = log.connections.iter().map(|connection| connection.name.as_str()).collect();
    assert_eq!(names, ["b", "a"]);
    assert_eq!(log.walked.sends.t_ns, [2_000_000, 2_500_000, 3_000_000]);
    assert_eq!(log.walked.sends.room, [u64::MAX, 5000 - 1200, 5000 - 2400]);
}

/// An excerpt of picoquic's own tests: draft 00, upper case, numbers as strings, and an event that is no JSON.
#[test]
fn a_real_log() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/logs/picoquic.qlog");
    let log = read(&fs::read(file).expect("it is in the repository"));
    check(&log);
    assert_eq!(log.events, 8);
    assert_eq!(log.notes, ["1 of 8 events are damaged or too long, and were left out."]);
    assert_eq!((log.connections[0].name.as_str(), log.connections[0].sent), ("picoquic client", 3));
    assert_eq!(log.walked.sends.payload, [18, 21, 17]);
}

/// A log that ends anywhere gives all whole events before.
#[test]
fn a_cut_log_gives_what_there_is() {
    let whole = sequence(HEAD, &transfer());
    let contained = contained(&transfer()).into_bytes();
    for text in [&whole, &contained] {
        let mut before = 0;
        for end in 1..text.len() {
            let log = read(&text[..end]);
            check(&log);
            assert!(log.events >= before, "{end}");
            assert!(
                log.notes.iter().all(|note| note.starts_with("The log ends in the middle")),
                "{:?}",
                log.notes
            );
            before = log.events;
        }
        assert!(before >= 25);
    }
}

fn contained(events: &[String]) -> String {
    format!(
        r#"{{"qlog_version":"0.3","traces":[{{"events":[{}],"vantage_point":{{"type":"client"}}}}]}}"#,
        events.join(",")
    )
}

/// A million events: numbers that are huge, repeated, in reverse; ranges that cover everything; each a connection of its own.
#[test]
fn a_million_hostile_events() {
    let events = 1_000_000 / 5;
    for kind in 0..5 {
        let mut text = format!("\x1e{}\n", if kind == 3 { TCP_HEAD } else { HEAD });
        for n in 0..events {
            let event = match kind {
                0 => sent(0.0, u64::MAX - n, u64::MAX - n),
                1 if n % 2 == 0 => sent(f64::from(n as u32), n % 7, n % 1200),
                1 => acked(f64::from(n as u32), "[[0,18446744073709551615],[3,1],[5]]"),
                2 => sent(1e300, n, 0).replacen('{', &format!(r#"{{"group_id":"{n}","#), 1),
                3 if n % 3 < 2 => sent(1.0, n, 5000 * (n % 1000)),
                3 => acked(1.0, &format!("[[{}],[0,{}]]", n.saturating_sub(2), n / 2)),
                _ => format!(
                    r#"{{"time":{n},"name":"recovery:metrics_updated","data":{{"cwnd":1e999,"latest_rtt":-1}}}}"#
                ),
            };
            let _ = writeln!(text, "\x1e{event}");
        }
        let log = read(text.as_bytes());
        check(&log);
        assert!(log.events >= events - 1, "{kind}");
        assert!(log.connections.len() <= 4096);
    }
}

/// Deep nesting, long records, wrong types, and texts that are no logs: notes, and no more.
#[test]
fn other_texts() {
    let deep = "[".repeat(100_000);
    let long = format!(r#"{{"time":1,"name":"{}"}}"#, "x".repeat(5 << 20));
    let wrong = r#"{"time":[],"name":{},"data":[{"header":7,"frames":"x"}]}"#.to_owned();
    let frames = r#"{"time":1,"name":"x:packet_sent","data":{"header":{"packet_number":-1},"raw":[],"frames":[7,[],{"frame_type":{}}]}}"#;
    let nested = format!(r#"{{"time":1,"name":"x:packet_sent","data":{deep}{}}}"#, "]".repeat(100_000));
    for events in
        [vec![deep.clone(), wrong.clone()], vec![long, wrong], vec![frames.to_owned()], vec![nested]]
    {
        let log = read(&sequence(HEAD, &events));
        check(&log);
        assert!(log.walked.sends.t_ns.is_empty());
        assert!(log.notes.len() <= 4);
    }
    for text in ["{}", "{", "\x1e", "\x1e\x1e{}", " null", "{\"traces\":7}", "{\"traces\":[{\"events\":{}}]}"]
    {
        check(&read(text.as_bytes()));
    }
}

/// The seeds of coverage-guided fuzzing (`fuzz/`).
#[test]
fn seeds_of_coverage() {
    let archive = fs::File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/qlog.tar"));
    let mut archive = tar::Archive::new(archive.expect("the archive is in the repository"));
    let mut readable = 0;
    for seed in archive.entries().expect("a tar archive") {
        let mut bytes = Vec::new();
        seed.expect("an entry").read_to_end(&mut bytes).expect("all of it");
        if let Ok(Trace::Qlog(log)) = open(Cursor::new(bytes)) {
            check(&log);
            readable += usize::from(!log.walked.sends.t_ns.is_empty());
        }
    }
    assert!(readable >= 3);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Damaged bytes anywhere, and numbers replaced by others: no panic, and what is read keeps its laws.
    #[test]
    fn damaged_logs(
        tcp in any::<bool>(),
        whole in any::<bool>(),
        damage in proptest::collection::vec((0usize..5000, any::<u8>()), 0..30),
        numbers in proptest::collection::vec((0usize..5000, prop_oneof![0u64..30, any::<u64>()]), 0..30),
    ) {
        let mut text = if whole {
            contained(&transfer()).into_bytes()
        } else {
            sequence(if tcp { TCP_HEAD } else { HEAD }, &transfer())
        };
        for (at, number) in numbers {
            // The next digits become another number.
            let at = at % text.len();
            let Some(start) = text[at..].iter().position(u8::is_ascii_digit).map(|start| at + start) else { continue };
            let end = text[start..].iter().position(|byte| !byte.is_ascii_digit()).map_or(text.len(), |end| start + end);
            text.splice(start..end, number.to_string().into_bytes());
        }
        for (at, value) in damage {
            let length = text.len();
            text[1 + at % (length - 1)] = value;
        }
        check(&read(&text));
    }
}
