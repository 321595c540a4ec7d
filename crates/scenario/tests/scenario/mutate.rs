//! Randomly wrong input: valid scenarios with a few random changes, and rules for any text.

use windtunnel_scenario::{Registry, Scenario, compile};

use crate::random::Random;

/// Valid scenarios from which the changes start.
pub(crate) const CORPUS: [&str; 5] = [
    include_str!("good/design.toml"),
    include_str!("good/parking-lot.toml"),
    include_str!("good/everything.toml"),
    include_str!("bad_input/dumbbell.toml"),
    include_str!("bad_input/graph.toml"),
];

/// Scenarios with more flows are not compiled, which would take long and show nothing new.
const MOST_FLOWS: usize = 50;

/// Pieces that a change inserts: some mean something to the parser, others nothing.
const WORDS: [&str; 42] = [
    "\"",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "\n",
    "#",
    " ",
    "\t",
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "9223372036854775808",
    "0.1",
    "true",
    "1979-05-27",
    "\"20 ms\"",
    "\"0 s\"",
    "\"1e9 h\"",
    "\"-1 Mbit/s\"",
    "\"1 bdp\"",
    "\"bdp/sqrt(n)\"",
    "\"1e308 bdp\"",
    "\"1e18 packets\"",
    "\"unlimited\"",
    "kind",
    "name",
    "flow",
    "\"reno-mds\"",
    "count = 99999\n",
    "[[flow]]\n",
    "\u{0}",
    "\u{feff}",
    "\u{1f980}",
];

/// A valid scenario with one to eight changes.
pub(crate) fn mutated(random: &mut Random) -> String {
    let mut text = random.pick(&CORPUS).to_owned();
    let changes = 1 + random.below(8);
    for _ in 0..=random.below(changes) {
        change(&mut text, random);
    }
    text
}

fn change(text: &mut String, random: &mut Random) {
    let (a, b) = (any_boundary(text, random), any_boundary(text, random));
    let (from, to) = (a.min(b), a.max(b));
    match random.below(7) {
        0 => text.insert_str(from, random.pick(&WORDS)),
        1 => text.replace_range(from..to.min(boundary(text, from + 12)).max(from), ""),
        2 => {
            let end = to.min(boundary(text, from + 200));
            let copy = text[from..end].to_owned();
            text.insert_str(any_boundary(text, random), &copy);
        }
        3 => replace_token(text, random),
        4 => swap_lines(text, random),
        5 => text.truncate(to),
        _ => {
            let other = random.pick(&CORPUS);
            let tail = any_boundary(other, random);
            text.replace_range(from.., &other[tail..]);
        }
    }
}

/// A random boundary of two characters.
fn any_boundary(text: &str, random: &mut Random) -> usize {
    boundary(text, random.below(text.len() + 1))
}

/// The boundary of two characters at or next below `at`.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// A word or a quoted text becomes another one.
fn replace_token(text: &mut String, random: &mut Random) {
    let other = random.pick(&CORPUS);
    let tokens = |text: &str| -> Vec<(usize, usize)> {
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '"' | '/' | '.');
        let mut tokens = Vec::new();
        let mut begin = None;
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            match (is_word(c), begin) {
                (true, None) => begin = Some(at),
                (false, Some(from)) => {
                    tokens.push((from, at));
                    begin = None;
                }
                _ => {}
            }
        }
        tokens
    };
    let (mine, theirs) = (tokens(text), tokens(other));
    if let (Some(&(from, to)), Some(&(begin, end))) =
        (mine.get(random.below(mine.len())), theirs.get(random.below(theirs.len())))
    {
        let word = if random.below(3) == 0 { random.pick(&WORDS) } else { &other[begin..end] };
        text.replace_range(from..to, word);
    }
}

fn swap_lines(text: &mut String, random: &mut Random) {
    let mut lines: Vec<&str> = text.lines().collect();
    if !lines.is_empty() {
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        lines.swap(a, b);
    }
    *text = lines.join("\n");
}

/// Checks any text and override: either the text is a scenario that reads back as itself and compiles, or a message
/// points into the text. Returns whether it is a scenario.
pub(crate) fn check(text: &str, overrides: &[String]) -> bool {
    match Scenario::parse(text, Some("s.toml"), overrides, &Registry::default()) {
        Ok(scenario) => {
            let printed = scenario.to_toml();
            assert_eq!(
                Scenario::parse(&printed, None, &[], &Registry::default()).as_ref(),
                Ok(&scenario),
                "{printed}"
            );
            assert!(serde_json::from_str::<serde_json::Value>(&scenario.to_json()).is_ok());
            if scenario.flows().count() <= MOST_FLOWS {
                let queues = scenario.links.iter().filter(|link| link.rate.is_some()).count();
                assert_eq!(compile(&scenario).links.len(), queues);
            }
            true
        }
        Err(error) => {
            let lines = text.matches('\n').count() + 1;
            assert!(error.line.is_none_or(|line| (1..=lines).contains(&(line as usize))), "{error:?}");
            let message = error.to_string();
            assert!(message.starts_with("s.toml:") || message.starts_with("--set "), "{message}");
            assert!(!error.problem.is_empty() && message.len() < 4000, "{message}");
            false
        }
    }
}
