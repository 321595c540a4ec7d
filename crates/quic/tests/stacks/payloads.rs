//! Recorded payloads: the bytes of each packet, and the secrets that decrypt them. The tests of captures in Python do
//! that.

use std::sync::Arc;

use windtunnel_scenario::{Estimate, Registry, Scenario, compile};
use windtunnel_sim::recorder::columns::{Column, Table};
use windtunnel_sim::{Holder, MemoryExceeded, RunResult, Simulation};

use crate::runs::{flow, parse, run, text};

const BOTTLENECK: &str = "rate = \"20 Mbps\"\nqueue = { kind = \"codel\", ecn = true }";
const RECORD: &str = "record = { packets = true, payloads = true }";

/// Two seconds of each stack, with what is recorded.
fn both(record: &str) -> String {
    let flows = ["quinn", "noq"].map(|stack| flow(stack, "\"cubic\"", 20));
    format!("{record}\n{}", text(2, BOTTLENECK, &flows.each_ref().map(String::as_str)))
}

fn table<'r>(result: &'r RunResult, name: &str) -> &'r Table {
    result.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

fn column<'t>(table: &'t Table, name: &str) -> &'t Column {
    &table.columns.iter().find(|(column, _)| *column == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// The numbers of packets and their payloads.
fn payloads(result: &RunResult) -> (&[u64], &[Arc<[u8]>]) {
    let table = table(result, "payloads");
    match (column(table, "id"), column(table, "content")) {
        (Column::U64(ids), Column::Binary(contents)) => (ids, contents),
        other => panic!("{other:?}"),
    }
}

/// Recording payloads changes no event: the digest, the count of events and each row of the packets are those of a run
/// without, and without there is neither a table nor a secret.
#[test]
fn recording_payloads_changes_nothing_else() {
    let [plain, packets, all] = ["", "record = { packets = true }", RECORD].map(|record| run(&both(record)));
    assert_eq!(plain.summary.digest, all.summary.digest);
    assert_eq!(packets.summary.digest, all.summary.digest);
    assert_eq!(packets.summary.events, all.summary.events);
    assert_eq!(table(&packets, "packets"), table(&all, "packets"));
    for without in [&plain, &packets] {
        assert!(without.tables.iter().all(|table| table.name != "payloads"));
        assert_eq!(without.secrets, "");
    }
}

/// Each packet that was sent has one payload, as long as its row says, under its number; numbers ascend.
#[test]
fn each_packet_has_its_payload() {
    let result = run(&both(RECORD));
    let (ids, contents) = payloads(&result);
    assert!(ids.is_sorted_by(|a, b| a < b) && ids.len() > 4_000, "{}", ids.len());
    let packets = table(&result, "packets");
    let (Column::U64(of_rows), Column::U32(lengths)) = (column(packets, "id"), column(packets, "payload"))
    else {
        panic!("types")
    };
    let mut seen = vec![false; ids.len()];
    for (id, length) in of_rows.iter().zip(lengths) {
        let index = ids.binary_search(id).unwrap_or_else(|_| panic!("packet {id} has no payload"));
        assert_eq!(contents[index].len(), *length as usize, "packet {id}");
        seen[index] = true;
    }
    assert!(seen.iter().all(|seen| *seen));
}

/// TLS 1.3 has these secrets (RFC 8446 section 7.1) under these names (RFC 9850 section 2.1). A line is the name, the
/// client's random of 32 bytes, which names the connection, and the secret, as long as the hash of the cipher suite.
#[test]
fn secrets_are_lines_of_a_key_log() {
    const LABELS: [&str; 5] = [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
        "EXPORTER_SECRET",
    ];
    let secrets = run(&both(RECORD)).secrets;
    let lines: Vec<Vec<&str>> = secrets.lines().map(|line| line.split(' ').collect()).collect();
    let mut connections: Vec<&str> = lines.iter().map(|line| line[1]).collect();
    connections.dedup();
    assert_eq!(connections.len(), 2);
    for random in connections {
        let of_connection = lines.iter().filter(|line| line[1] == random);
        let mut labels: Vec<&str> = of_connection.map(|line| line[0]).collect();
        labels.sort_unstable();
        let mut expected = LABELS;
        expected.sort_unstable();
        assert_eq!(labels, expected);
    }
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(lines.iter().all(|line| line.len() == 3 && is_hex(line[1]) && line[1].len() == 64));
    assert!(lines.iter().all(|line| is_hex(line[2]) && [64, 96].contains(&line[2].len())));
}

/// Payloads belong to recorded packets, and to real stacks: other flows send none.
#[test]
fn refusals() {
    let without_packets = parse(&both("record = { payloads = true }")).err().unwrap_or_default();
    let expected =
        "s.toml:1: record.payloads: needs packets = true: payloads are kept of packets that are recorded";
    assert_eq!(without_packets, expected);
    let of_tcp = format!("{RECORD}\n{}", text(2, BOTTLENECK, &["cc = \"cubic\"\nrtt = \"20 ms\""]));
    let message = Scenario::parse(&of_tcp, Some("s.toml"), &[], &Registry::default()).expect_err("it is TCP");
    assert!(
        message.to_string().starts_with("s.toml:1: record.payloads: needs a flow over a real stack"),
        "{message}"
    );
}

/// The estimate of the memory is within a tenth of the payloads; flows that leave a link idle in slow start and after
/// losses make it less. They count: where there is room for the rows of packets alone, the run is stopped. The message
/// names their key.
#[test]
fn memory() {
    let scenario = parse(&both(RECORD)).unwrap_or_else(|message| panic!("{message}"));
    let estimate = Estimate::of(&scenario);
    let expected = estimate.tables.iter().find(|table| table.table == "payloads").expect("an estimate");
    let result = Simulation::new(compile(&scenario)).finish();
    let (ids, contents) = payloads(&result);
    let held = contents.iter().map(|content| content.len() as f64 + 40.0).sum::<f64>();
    let ratio = expected.memory().as_f64() / held;
    assert!((0.9..1.1).contains(&ratio), "{ratio}: {} rows, {} expected", ids.len(), expected.rows);

    let packets = parse(&both("record = { packets = true }")).expect("a scenario");
    let mut unlimited = Simulation::new(compile(&packets));
    unlimited.run_until(unlimited.end());
    let finish = |scenario: &Scenario| {
        let mut simulation = Simulation::new(compile(scenario));
        simulation.limit_memory(unlimited.memory());
        simulation.finish_within()
    };
    assert!(finish(&packets).is_ok());
    let exceeded = finish(&scenario).expect_err("it needs more");
    let by_payloads = MemoryExceeded { by: Holder::Table("payloads"), ..exceeded };
    let explanation = estimate.explanation(&by_payloads);
    assert!(explanation.contains("record payloads in a shorter run (`record.payloads`)"), "{explanation}");
}
