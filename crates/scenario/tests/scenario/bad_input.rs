//! Every kind of wrong input, with the whole message that the user sees.
//!
//! The cases are texts in `bad_input/`, in a form that users can read: in a valid scenario, the text after `-` is
//! replaced by that after `+` (`|` shows a whole file, `$` an override), and the message must be the text after `>`, in
//! which `{queues}` stands for the names of all queues.

use crate::names::NAMES;
use windtunnel_scenario::{Places, Reading, Registry, Scenario};

const DUMBBELL: &str = include_str!("bad_input/dumbbell.toml");
const GRAPH: &str = include_str!("bad_input/graph.toml");

#[test]
fn in_the_top_of_the_file() {
    check(DUMBBELL, include_str!("bad_input/top.txt"), 24);
}

#[test]
fn in_links_and_queues() {
    check(DUMBBELL, include_str!("bad_input/links.txt"), 108);
}

#[test]
fn in_controllers() {
    check(DUMBBELL, include_str!("bad_input/controllers.txt"), 103);
}

#[test]
fn in_flows_records_and_windows() {
    check(DUMBBELL, include_str!("bad_input/flows.txt"), 79);
}

#[test]
fn in_graphs() {
    check(GRAPH, include_str!("bad_input/graphs.txt"), 24);
}

#[test]
fn in_overrides() {
    check(DUMBBELL, include_str!("bad_input/settings.txt"), 36);
}

#[test]
fn in_whole_files() {
    check("", include_str!("bad_input/documents.txt"), 9);
}

/// Files that no reader could take for text: a NUL, a single carriage return, values nested too deep, a key with many
/// parts, an overlong file.
#[test]
fn in_files_that_nobody_wrote() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let long_key = format!("{}b = 1", "a.".repeat(100_000));
    let long = "#\n".repeat(10 << 20);
    let tables = "[a.a.a]\n".repeat(400_000);
    let cases = [
        ("\0", "s.toml:1: not valid TOML: key with no value, expected `=`"),
        (
            "a = 1\rb = 2",
            "s.toml:1: not valid TOML: carriage return must be followed by newline, expected newline",
        ),
        (&deep, "s.toml:1: not valid TOML: cannot recurse further; max recursion depth met"),
        (&long_key, "s.toml: not valid TOML: recursion limit"),
        (&tables, "s.toml: a scenario has at most 1000000 of the characters `.`, `[` and `{`"),
        (&long, "s.toml: a scenario has at most 10 MB, this text has more"),
    ];
    for (text, expected) in cases {
        assert_eq!(message(text, &[]), expected);
    }
}

/// The parts of a message, as Python shows them.
#[test]
fn the_parts_of_an_error() {
    let text = DUMBBELL.replace("rtt = \"20 ms\"", "rtt = \"0 ms\"");
    let error = Scenario::parse(&text, Some("s.toml"), &[], &Registry::default()).unwrap_err();
    assert_eq!((error.file.as_deref(), error.line, error.column), (Some("s.toml"), Some(10), Some(1)));
    assert_eq!((error.key.as_deref(), error.value.as_deref()), (Some("flow[0].rtt"), Some("\"0 ms\"")));
    let without_file = Scenario::parse(&text, None, &[], &Registry::default()).unwrap_err();
    assert!(without_file.to_string().starts_with("line 10: flow[0].rtt: "));
}

/// A scenario that was built from Python's objects: messages name its arguments, and no line of the text made from
/// them.
#[test]
fn in_arguments() {
    let registry = Registry::default();
    let message = |text: &str, overrides: &[String]| {
        let reading = Reading { overrides, places: Places::Arguments, ..Reading::new(&registry) };
        Scenario::read(text, &reading).expect_err("wrong").to_string()
    };
    let with = |from: &str, to: &str| {
        assert!(DUMBBELL.contains(from));
        message(&DUMBBELL.replacen(from, to, 1), &[])
    };
    assert_eq!(
        with("rtt = \"20 ms\"", "rtt = 20"),
        "Scenario(...).flows[0].rtt: `20` has no unit: add one of ns, us, µs, ms, s, min, h"
    );
    let unknown = with("duration", "seeds = 1\nduration");
    assert!(
        unknown.starts_with("Scenario(...).seeds: is not a key here; the keys are title, duration,"),
        "{unknown}"
    );
    assert!(unknown.contains("flows") && unknown.contains("windows"), "{unknown}");
    assert_eq!(
        with("[[flow]]", "[flow]"),
        "Scenario(...).flows: a table is not allowed: a list",
        "the brackets of TOML mean nothing here"
    );
    assert_eq!(
        message(DUMBBELL, &["flow.0.rtt=20".to_owned()]),
        "override(\"flow.0.rtt=20\"): flows[0].rtt: `20` has no unit: add one of ns, us, µs, ms, s, min, h"
    );
    let reading = Reading { places: Places::Arguments, ..Reading::new(&registry) };
    let error = Scenario::read(&DUMBBELL.replace("20 ms", "0 ms"), &reading).expect_err("wrong");
    assert_eq!((error.line, error.column, error.key.as_deref()), (None, None, Some("flows[0].rtt")));
}

/// A case: replacements, a whole file, overrides, and the message.
#[derive(Default)]
struct Case {
    from: Vec<&'static str>,
    to: Vec<&'static str>,
    file: Vec<&'static str>,
    overrides: Vec<String>,
    expected: Vec<&'static str>,
}

impl Case {
    fn read(block: &'static str) -> Case {
        let mut case = Case::default();
        for line in block.lines() {
            let (mark, rest) = line.split_at(1);
            let rest = rest.strip_prefix(' ').unwrap_or(rest);
            match mark {
                "-" => case.from.push(rest),
                "+" => case.to.push(rest),
                "|" => case.file.push(rest),
                "$" => case.overrides.push(rest.to_owned()),
                ">" => case.expected.push(rest),
                _ => panic!("{line}"),
            }
        }
        case
    }

    fn text(&self, base: &str) -> String {
        if !self.file.is_empty() {
            return self.file.join("\n");
        }
        let from = self.from.join("\n");
        assert!(base.contains(&from), "the base has no {from}");
        if from.is_empty() { base.to_owned() } else { base.replacen(&from, &self.to.join("\n"), 1) }
    }
}

fn message(text: &str, overrides: &[String]) -> String {
    match Scenario::parse(text, Some("s.toml"), overrides, &Registry::default()) {
        Ok(_) => "no message".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// The message with the names of all kinds.
fn with_names(message: String) -> String {
    let lists = [
        ("{avoidances}", &NAMES.avoidances),
        ("{controllers}", &NAMES.controllers),
        ("{slow_starts}", &NAMES.slow_starts),
        ("{responses}", &NAMES.responses),
        ("{queues}", &NAMES.queues),
    ];
    lists.iter().fold(message, |message, (list, names)| message.replace(list, &names.join(", ")))
}

fn check(base: &str, cases: &'static str, number: usize) {
    if !base.is_empty() {
        assert_eq!(message(base, &[]), "no message", "the base of the cases is valid");
    }
    let cases: Vec<Case> = cases.split("\n\n").map(Case::read).collect();
    assert_eq!(cases.len(), number, "cases that were read");
    let mut wrong = Vec::new();
    for case in cases {
        let message = message(&case.text(base), &case.overrides);
        let expected = with_names(case.expected.join("\n"));
        if message != expected {
            wrong.push(format!("expected {expected}\nbut said {message}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n\n"));
}
