//! The lab as its page asks it: what it shows is what the scenario's text gives, and a change leaves the past as it was.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use windtunnel_lab::{Answer, Desk};
use windtunnel_scenario::{Registry, Scenario};
use windtunnel_sim::Simulation;
use windtunnel_sim::recorder::columns::Column;

const SECOND: u64 = 1_000_000_000;

/// Two flows over a queue that marks, with what a user writes next to it.
const TEXT: &str = r#"# A classroom.
title = "Two flows"
duration = "6 s"

[bottleneck]
rate = "20 Mbit/s"  # of the line
queue = { kind = "fifo", limit = "100 packets" }

[[flow]]
name = "first"
cc = "cubic"  # the default of most systems
rtt = "40 ms"

[[flow]]
cc = "reno"
rtt = "60 ms"
start = "1 s"
"#;

/// A table as the page gets it: its columns by name.
type Table = BTreeMap<String, Vec<f64>>;

/// The page's side: it keeps all rows.
#[derive(Default)]
struct Page {
    desk: Desk,
    tables: BTreeMap<String, Table>,
}

impl Page {
    fn with(text: &str) -> Page {
        let mut page = Page::default();
        let about = page.ask(&json!({ "ask": "open", "text": text }));
        assert_eq!(about.get("fault"), None, "{about}");
        page
    }

    fn ask(&mut self, question: &Value) -> Value {
        let answer = self.desk.answer(&question.to_string());
        self.keep(&answer);
        answer.json().clone()
    }

    /// Reads the columns where the JSON says they are, as JavaScript does.
    fn keep(&mut self, answer: &Answer) {
        let bytes = answer.bytes();
        let length = u32::from_le_bytes(bytes[..4].try_into().expect("four bytes")) as usize;
        assert_eq!(bytes[4..4 + length], *answer.json().to_string().as_bytes());
        let columns = &bytes[(4 + length).next_multiple_of(8).min(bytes.len())..];
        for (name, table) in answer.json()["tables"].as_object().into_iter().flatten() {
            let rows = table["rows"].as_u64().expect("a number") as usize;
            let kept = self.tables.entry(name.clone()).or_default();
            for (column, at) in table["columns"].as_object().expect("columns") {
                let at = at.as_u64().expect("a place") as usize;
                let values = columns[at..at + 8 * rows].chunks_exact(8);
                let values = values.map(|value| f64::from_le_bytes(value.try_into().expect("eight bytes")));
                kept.entry(column.clone()).or_default().extend(values);
            }
        }
    }

    fn advance(&mut self, until: u64, events: u64) -> Value {
        self.ask(&json!({ "ask": "advance", "until": until, "events": events }))
    }

    /// Runs to a time.
    fn reach(&mut self, until: u64) {
        while self.advance(until, 10_000)["reached"] == false {}
    }

    fn digest(&mut self) -> String {
        self.reach(u64::MAX);
        let summary = self.ask(&json!({ "ask": "summary" }));
        summary["summary"]["digest"].as_str().expect("a digest").to_owned()
    }

    /// The text with a change at `at`; or else the fault's message.
    fn edit(&mut self, at: u64, edit: &Value) -> Result<String, String> {
        let answer = self.ask(&json!({ "ask": "edit", "at": at, "edit": edit }));
        match answer["text"].as_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(answer["fault"]["message"].as_str().expect("a text or a fault").to_owned()),
        }
    }

    /// The rows of a table before a time: each as its columns.
    fn rows_before(&self, table: &str, seconds: f64) -> Vec<Vec<u64>> {
        let Some(table) = self.tables.get(table) else { return Vec::new() };
        let rows = table["time_s"].iter().enumerate().filter(|(_, time)| **time <= seconds);
        rows.map(|(row, _)| table.values().map(|column| column[row].to_bits()).collect()).collect()
    }
}

/// The digest of a text without the lab.
fn digest_of(text: &str) -> String {
    let scenario = Scenario::parse(text, None, &[], &Registry::default()).expect("a scenario");
    Simulation::new(windtunnel_scenario::compile(&scenario)).finish().summary.digest
}

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, None, &[], &Registry::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// All that the page can change, at any time: an edit, and what the text has then.
fn edits() -> Vec<(Value, &'static str)> {
    vec![
        (json!({ "what": "rate", "link": "bottleneck", "value": "5 Mbit/s" }), "rate = \"5 Mbit/s\""),
        (json!({ "what": "limit", "link": "bottleneck", "value": "20 packets" }), "limit = \"20 packets\""),
        (json!({ "what": "queue", "link": "bottleneck", "kind": "fq_codel" }), "\"fq_codel\""),
        (json!({ "what": "rtt", "link": "bottleneck", "value": "100 ms" }), " ms\""),
        (json!({ "what": "loss", "link": "bottleneck", "value": "1 %" }), "probability = \"1 %\""),
        (json!({ "what": "controller", "flow": 0, "kind": "bbr" }), "cc = \"bbr\""),
        (json!({ "what": "add-flow", "like": 1 }), "cc = \"reno\""),
        (json!({ "what": "stop-flow", "flow": 1 }), ""),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// However the page divides the run, it gets the digest and the rows of the run as a whole.
    #[test]
    fn the_page_gets_the_run(slices in prop::collection::vec((1..6 * SECOND, 1..200_000_u64, prop::bool::ANY), 1..20)) {
        let mut page = Page::with(TEXT);
        for (until, events, step) in slices {
            page.advance(until, events);
            if step {
                page.ask(&json!({ "ask": "step" }));
            }
        }
        let digest = page.digest();
        let result = Simulation::new(windtunnel_scenario::compile(&scenario(TEXT))).finish();
        prop_assert_eq!(digest, result.summary.digest);
        for table in &result.tables {
            for (name, column) in &table.columns {
                let Column::F64(values) = column else { continue };
                let same = values.iter().map(|value| value.to_bits());
                let got = &page.tables[table.name][*name];
                prop_assert!(same.eq(got.iter().map(|value| value.to_bits())), "{} of {}", name, table.name);
            }
        }
    }

    /// A change at a time is in the text, which is the scenario of the run that goes on; and nothing before it is another.
    #[test]
    fn a_change_leaves_the_past(edit in prop::sample::select(edits()), tenths in 11..50_u64) {
        let (at, seconds) = (tenths * SECOND / 10, tenths as f64 / 10.0);
        let mut before = Page::with(TEXT);
        before.reach(at);
        let (edit, part) = edit;
        let text = before.edit(at, &edit).expect("a change");
        prop_assert!(text.contains(part) && text.contains("# A classroom.") && text.contains("# of the line"), "{}", text);
        let mut after = Page::with(&text);
        after.reach(at);
        for table in ["flows", "queues", "cwnd_points", "sojourn_points"] {
            let (old, new) = (before.rows_before(table, seconds), after.rows_before(table, seconds));
            // More flows have more rows, which say that nothing has happened to them.
            if edit["what"] == "add-flow" || edit["what"] == "controller" {
                prop_assert!(old.iter().all(|row| new.contains(row)) || table == "flows");
            } else {
                prop_assert_eq!(old, new, "{}", table);
            }
        }
        prop_assert_eq!(after.digest(), digest_of(&text));
        prop_assert_ne!(after.digest(), before.digest());
    }
}

/// At the start a change replaces what the text says, and what is written around it stays.
#[test]
fn a_change_at_the_start_replaces() {
    for (edit, part) in edits() {
        let text = Page::with(TEXT).edit(0, &edit).expect("a change");
        assert!(text.contains(part) && !text.contains("changes") && !text.contains("during"), "{text}");
        scenario(&text);
    }
    let edit = json!({ "what": "controller", "flow": 0, "kind": "bbr" });
    let text = Page::with(TEXT).edit(0, &edit).expect("a change");
    assert_eq!(text, TEXT.replace("cc = \"cubic\"", "cc = \"bbr\""));
    let edit = json!({ "what": "rtt", "link": "bottleneck", "value": "100 ms" });
    let text = Page::with(TEXT).edit(0, &edit).expect("a change");
    assert_eq!(text, TEXT.replace("40 ms", "100 ms").replace("60 ms", "120 ms"));
}

/// Changes are in order of time, and two at one time are one.
#[test]
fn changes_are_in_order() {
    let mut text = TEXT.to_owned();
    for (at, value) in [(3, "3 Mbit/s"), (1, "1 Mbit/s"), (2, "2 Mbit/s"), (3, "4 Mbit/s")] {
        let edit = json!({ "what": "rate", "link": "bottleneck", "value": value });
        text = Page::with(&text).edit(at * SECOND, &edit).expect("a change");
    }
    let edit = json!({ "what": "limit", "link": "bottleneck", "value": "9 packets" });
    text = Page::with(&text).edit(2 * SECOND, &edit).expect("a change");
    let changes = &scenario(&text).links[0].params.changes;
    let told: Vec<String> =
        changes.iter().map(|change| format!("{} {change}", change.at.unwrap_or_default())).collect();
    assert_eq!(
        told,
        ["1 s rate 1 Mbit/s", "2 s rate 2 Mbit/s, limit 9 packets", "3 s rate 4 Mbit/s"],
        "{text}"
    );
}

/// A round-trip time can fall below what it was: the link takes over a part of the path's delay.
#[test]
fn round_trips_get_shorter_again() {
    let rtt = |value: &str| json!({ "what": "rtt", "link": "bottleneck", "value": value });
    let text = Page::with(TEXT).edit(2 * SECOND, &rtt("100 ms")).expect("longer");
    let text = Page::with(&text).edit(3 * SECOND, &rtt("30 ms")).expect("shorter");
    let link = &scenario(&text).links[0].params;
    // 20 ms of the 40 ms are the link's; 60 ms more of them from 2 s on, and 10 ms less than at first from 3 s on.
    let delays: Vec<String> =
        link.changes.iter().filter_map(|change| Some(change.delay?.to_string())).collect();
    assert_eq!(
        (link.delay.to_string().as_str(), delays),
        ("20 ms", vec!["80 ms".to_owned(), "10 ms".to_owned()])
    );
    let refused = Page::with(&text).edit(4 * SECOND, &rtt("10 ms")).expect_err("too short");
    assert!(refused.contains("can fall by 10 ms at most, not by 20 ms"), "{refused}");
}

/// Queues follow one another; the limit of one that cannot change is that of its successor.
#[test]
fn queues_have_turns() {
    let queue = |kind: &str| json!({ "what": "queue", "link": "bottleneck", "kind": kind });
    let limit = json!({ "what": "limit", "link": "bottleneck", "value": "50 packets" });
    let mut text = TEXT.to_owned();
    for (at, edit) in
        [(3, queue("cake")), (1, queue("pie")), (4, limit.clone()), (3, queue("codel")), (2, limit)]
    {
        text = Page::with(&text).edit(at * SECOND, &edit).expect("a change");
    }
    let json: Value = serde_json::from_str(&scenario(&text).to_json()).expect("JSON");
    let queue = &json["bottleneck"]["queue"];
    let told: Vec<String> = queue["children"]
        .as_array()
        .expect("queues")
        .iter()
        .map(|child| {
            format!("{} {}", child["kind"].as_str().unwrap_or(""), child["limit"].as_str().unwrap_or(""))
        })
        .collect();
    assert_eq!(queue["at"], json!(["1 s", "2 s", "3 s", "4 s"]));
    assert_eq!(told[..3], ["fifo 100 packets", "pie 1000 packets", "pie 50 packets"], "{text}");
    assert!(
        told[3].starts_with("codel") && told[4].starts_with("cake") && told[4].ends_with("50 packets"),
        "{text}"
    );
}

/// Losses begin, become more, and end; each span is written down once.
#[test]
fn losses_come_and_go() {
    let mut text = TEXT.to_owned();
    for (at, value) in [(1, "1 %"), (2, "2 %"), (3, "0 %"), (4, "0 %")] {
        let edit = json!({ "what": "loss", "link": "bottleneck", "value": value });
        text = Page::with(&text).edit(at * SECOND, &edit).expect("a change");
    }
    let json: Value = serde_json::from_str(&scenario(&text).to_json()).expect("JSON");
    let told: Vec<Value> = json["bottleneck"]["impair"].as_array().expect("two").clone();
    let short =
        told.iter().map(|one| (one["probability"].clone(), one["during"].clone())).collect::<Vec<_>>();
    assert_eq!(
        short,
        [
            (json!("1 %"), json!({ "from": "1 s", "to": "2 s" })),
            (json!("2 %"), json!({ "from": "2 s", "to": "3 s" }))
        ],
        "{text}"
    );
}

/// A flow that has begun stops, and one like it starts; one that has not is another from the start.
#[test]
fn another_controller_is_another_connection() {
    let edit = |flow: u64| json!({ "what": "controller", "flow": flow, "kind": "vegas" });
    let text = Page::with(TEXT).edit(SECOND / 2, &edit(1)).expect("a change");
    assert_eq!(text, TEXT.replace("\"reno\"", "\"vegas\""));
    let text = Page::with(TEXT).edit(2 * SECOND, &edit(0)).expect("a change");
    let names: Vec<String> = scenario(&text).flows.iter().map(|group| group.name.clone()).collect();
    assert_eq!(names, ["first", "reno", "vegas"]);
    assert!(text.contains("stop = \"2 s\"") && text.contains("start = \"2 s\""), "{text}");
    // Times are written as a reader writes them.
    for (at, written) in [(2_050_000_000, "2.05 s"), (999_000_000, "999 ms")] {
        let text = Page::with(TEXT).edit(at, &json!({ "what": "stop-flow", "flow": 0 })).expect("a change");
        assert!(text.contains(&format!("stop = \"{written}\"")), "{text}");
    }
}

/// What is wrong with a text is told as the command line tells it, with its place.
#[test]
fn faults_have_a_place() {
    let mut page = Page::default();
    let wrong = TEXT.replace("\"cubic\"", "\"cubik\"");
    let fault = page.ask(&json!({ "ask": "open", "text": wrong }))["fault"].clone();
    let expected = Scenario::parse(&wrong, None, &[], &Registry::default()).expect_err("wrong").to_string();
    assert_eq!((fault["message"].as_str(), &fault["line"]), (Some(expected.as_str()), &json!(11)), "{fault}");
    assert_eq!(fault["key"], "flow[0].cc");
    let fault = page.ask(&json!({ "ask": "step" }))["fault"].clone();
    assert_eq!(fault["message"], "no scenario is open");
    let mut open = Page::with(TEXT);
    open.reach(SECOND);
    open.ask(&json!({ "ask": "open", "text": wrong }));
    // The run before goes on.
    assert_eq!(open.digest(), digest_of(TEXT));
    let fault = page.ask(&json!({ "ask": "nothing" }))["fault"].clone();
    assert!(fault["message"].as_str().expect("a message").contains("nothing"));
    let fault = Page::with(TEXT).edit(0, &json!({ "what": "rate", "link": "none", "value": "1 Mbit/s" }));
    assert_eq!(fault, Err("the text has no table of the link `none`".to_owned()));
    let ideal = TEXT.replace("duration", "endpoints = \"ideal\"\nduration");
    let loss = json!({ "what": "loss", "link": "bottleneck", "value": "1 %" });
    let text = Page::with(&ideal).edit(SECOND, &loss).expect("a text");
    let fault = page.ask(&json!({ "ask": "open", "text": text }))["fault"].clone();
    assert!(fault["message"].as_str().expect("a message").contains("needs endpoints = \"linux\""), "{fault}");
}

/// A queue that sorts packets into classes tells their names, in the order of their numbers in tables.
#[test]
fn classes_have_names() {
    let text = TEXT.replace("{ kind = \"fifo\", limit = \"100 packets\" }", "\"dualpi2\"");
    let about = Page::default().ask(&json!({ "ask": "open", "text": text }));
    assert_eq!(about["classes"], json!([["L", "C"]]));
    let about = Page::default().ask(&json!({ "ask": "open", "text": TEXT }));
    assert_eq!(about["classes"], json!([[]]));
}

/// A trace is read from what the page has, and not from files.
#[test]
fn traces_come_with_the_text() {
    let text = TEXT.replace("\"20 Mbit/s\"", "{ trace = \"cell.trace\" }");
    let mut page = Page::default();
    let fault =
        page.ask(&json!({ "ask": "open", "text": text, "files": { "cel.trace": "1\n" } }))["fault"].clone();
    let message = fault["message"].as_str().expect("a message");
    assert!(
        message.contains("\"cell.trace\" is not here") && message.contains("did you mean `cel.trace`?"),
        "{message}"
    );
    let about = page.ask(&json!({ "ask": "open", "text": text, "files": { "cell.trace": "1\n2\n4\n" } }));
    assert_eq!(about["queues"], json!(["bottleneck"]));
}

/// A step is one acknowledgement: at the sender the window has changed by at most what one allows.
#[test]
fn a_step_is_an_acknowledgement() {
    let short = TEXT.replace("\"6 s\"", "\"200 ms\"").replace("\"1 s\"", "\"50 ms\"");
    let mut page = Page::with(&short);
    let mut steps = 0;
    let mut last = 0;
    loop {
        let at = page.ask(&json!({ "ask": "step" }));
        if at["ended"] == true {
            break;
        }
        let now = at["now_ns"].as_u64().expect("a time");
        assert!(now >= last);
        (steps, last) = (steps + 1, now);
    }
    let result = Simulation::new(windtunnel_scenario::compile(&scenario(
        &short.replace("\"200 ms\"", "\"200 ms\"\nrecord.packets = true"),
    )))
    .finish();
    let packets = result.tables.iter().find(|table| table.name == "packets").expect("packets");
    let column =
        |wanted: &str| &packets.columns.iter().find(|(name, _)| *name == wanted).expect("a column").1;
    let (Column::U8(tap), Column::U8(direction), Column::U32(payload)) =
        (column("tap"), column("dir"), column("payload"))
    else {
        panic!("other columns than expected")
    };
    // What reached the sender, and what reached the receiver without data: SYNs, and ACKs of handshakes.
    let arrived = (0..tap.len()).filter(|i| match (tap[*i], direction[*i]) {
        (0, 1) => true,
        (3, 0) => payload[*i] == 0,
        _ => false,
    });
    assert_eq!(steps, arrived.count());
}
