//! Texts that were written to do harm: to slow down the reader, or to send control sequences to the terminal.

use std::cell::Cell;
use std::time::{Duration, Instant};

use windtunnel_scenario::{Reading, Registry, Scenario};

/// A scenario whose bottleneck has `entries`.
fn with(entries: &str) -> String {
    format!(
        "duration = \"10 s\"\nbottleneck = {{ rate = \"1 Mbit/s\", {entries} }}\n[[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n"
    )
}

fn message(text: &str) -> String {
    let error = Scenario::parse(text, Some("s.toml"), &[], &Registry::default()).expect_err("not valid");
    error.to_string()
}

/// The time for the values on one line is proportional to their number. When each counted its column from the start of
/// the line, the first of these texts took a minute.
#[test]
#[expect(clippy::disallowed_methods, reason = "the time is what is tested; no result depends on it")]
fn a_long_line() {
    let start = Instant::now();
    let numbers = vec!["1"; 200_000].join(", ");
    assert!(
        message(&with(&format!("changes = [{numbers}]"))).contains("bottleneck.changes[0]: 1 is not allowed")
    );
    let changes: Vec<String> =
        (1..=20_000).map(|i| format!("{{ at = \"{i} us\", rate = \"1 Mbit/s\" }}")).collect();
    let text = with(&format!("changes = [{}]", changes.join(", ")));
    let scenario = Scenario::parse(&text, None, &[], &Registry::default()).expect("valid");
    assert_eq!(scenario.links[0].params.changes.len(), 20_000);
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

/// The column is counted in characters, from the start of the line, with every line before it.
#[test]
fn a_column() {
    let text = "duration = \"10 s\"\ntitle = \"\u{1f980}\"\nbottleneck = { rate = \"1 Mbit/s\" }\n\
                flow = [{ name = \"\u{1f980}\u{1f980}\", rtt = \"0 s\" }]\n";
    let error = Scenario::parse(text, None, &[], &Registry::default()).expect_err("no round trip");
    assert_eq!((error.line, error.column), (Some(4), Some(24)));
    let text = "title = \"\u{e9}\u{e9}\", duration = 1";
    let error = Scenario::parse(text, None, &[], &Registry::default()).expect_err("a comma");
    assert_eq!((error.line, error.column), (Some(1), Some(13)));
}

/// Whatever a scenario says, the message about it is one line of visible characters: no forged message, no colour, no
/// text that runs from right to left.
#[test]
fn characters_that_nobody_sees() {
    let cases = [
        ("rate = \"1 x\nerror: forged\"", "`x\\nerror: forged` is not a unit of a rate"),
        ("rate = \"1 \u{1b}[31mM\"", "`\\u{1b}[31mM` is not a unit"),
        ("rate = \"1 \u{0}\u{9b}\u{2028}\u{202e}\"", "`\\u{0}\\u{9b}\\u{2028}\\u{202e}` is not a unit"),
        ("queue = \"\r\u{7f}\"", "\"\\r\\u{7f}\" is not allowed"),
        ("\"a\u{1b}\nb\" = 1", "\"a\\u{1b}\\nb\": is not a key here"),
        ("queue = { kind = \"fifo\", \"\u{7}\" = 1 }", "queue.\"\\u{7}\": is not a key here"),
    ];
    for (entry, expected) in cases {
        let rate = if entry.starts_with("rate") { "" } else { "rate = \"1 Mbit/s\"" };
        // TOML writes most of these characters as escapes.
        let toml: String = entry
            .chars()
            .map(|c| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
            .collect();
        let text = format!(
            "duration = \"1 s\"\n[bottleneck]\n{rate}\n{toml}\n[[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n"
        );
        check_visible(&message(&text), expected);
    }
    let setting = "bottleneck.rate=1 \u{1b}]0;title\u{7}".to_owned();
    let error = Scenario::parse(&with(""), Some("s.toml"), &[setting], &Registry::default())
        .expect_err("no such unit");
    check_visible(&error.to_string(), "--set bottleneck.rate=1 \\u{1b}]0;title\\u{7}: ");
    let error = Scenario::parse("", Some("a\nb.toml"), &[], &Registry::default()).expect_err("empty");
    check_visible(&error.to_string(), "a\\nb.toml: duration: is required");
    // A raw NUL is not valid TOML.
    check_visible(&message("title = \"\u{0}\""), "not valid TOML");
}

fn check_visible(message: &str, expected: &str) {
    assert!(message.contains(expected), "{message:?} does not say {expected}");
    let first = message.split("\n  did you mean `").next().unwrap_or_default();
    assert!(first.chars().all(|c| !c.is_control() && !('\u{2028}'..='\u{202e}').contains(&c)), "{message:?}");
}

/// A message stays readable, however long the texts of a scenario are.
#[test]
fn a_message_without_end() {
    let long = message(&with(&format!("delay = \"1 {}\"", "x".repeat(1_000_000))));
    assert!(long.len() < 4000 && long.ends_with("..."), "{}", long.len());
}

/// Reading stops soon after it is asked to, here at the third of ten thousand flows.
#[test]
fn an_interrupt() {
    let text = with("") + &"[[flow]]\ncc = \"reno\"\nrtt = \"20 ms\"\n".repeat(10_000);
    let (asked, registry) = (Cell::new(0), Registry::default());
    let go_on = || {
        asked.set(asked.get() + 1);
        asked.get() < 5
    };
    let error = Scenario::read(&text, &Reading { go_on: &go_on, ..Reading::new(&registry) });
    assert_eq!(error.expect_err("interrupted").to_string(), "reading was interrupted");
    assert_eq!(asked.get(), 5);
}
