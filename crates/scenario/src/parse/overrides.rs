//! Overrides: `key=value` on top of a file, as `--set` gives them.
//!
//! A key is a path as messages show it, `flow[0].rtt`, or with dots alone, `flow.0.rtt`; a flow, link, node or window
//! may also be named: `flow.reno.rtt`. An algorithm given only by name becomes a table when one of its parameters is
//! set: `bottleneck.queue.tau=32`. The value is TOML if it reads as such, else a text: `rtt=20 ms` needs no quotes.

use std::rc::Rc;

use super::document::{Entry, Node, Value, shorten};
use super::fault::{Fault, Location, Origin, Problem};
use super::nearest::nearest;
use super::preset::PRESET;
use crate::registry::Registry;

/// The maximum number of steps in a key.
const MOST_STEPS: usize = 16;

/// One step of a path.
#[derive(Clone, Copy, Debug)]
enum Step<'k> {
    Key(&'k str),
    Index(usize),
}

/// Whether an override names a preset. The keys of a preset are there for overrides only once it is known.
pub(crate) fn names_preset(setting: &str) -> bool {
    let key = setting.split_once('=').map(|(key, _)| key.trim());
    key.and_then(|key| key.rsplit_once('.')).is_some_and(|(_, last)| last == PRESET)
}

/// Applies one override.
pub(crate) fn apply(document: &mut Node, setting: &str, registry: &Registry) -> Result<(), Fault> {
    let origin = Origin::Setting(Rc::from(shorten(setting)));
    let fault = |key: &str, problem: String| {
        let location = Location { origin: origin.clone(), key: shorten(key), value: None };
        Fault::new(Problem::Text(problem)).at(location)
    };
    let Some((key, text)) = setting.split_once('=') else {
        return Err(fault("", "an override is key=value, such as bottleneck.rate=\"10 Mbit/s\"".to_owned()));
    };
    let (key, text) = (key.trim(), text.trim());
    let steps = steps(key).ok_or_else(|| {
        fault(
            key,
            "is not a key: write names with dots between them, and places in lists as in flow[0].rtt"
                .to_owned(),
        )
    })?;
    let value = Node::value(text, &origin)
        .unwrap_or_else(|| Node { value: Value::Text(text.to_owned()), origin: origin.clone() });

    let mut node = document;
    for (index, step) in steps.iter().enumerate() {
        let (so_far, is_last) = (&steps[..index], index + 1 == steps.len());
        node = enter(node, *step, so_far, is_last, &origin, registry)
            .map_err(|Refusal { problem, hint }| fault(key, problem).with_hint(hint.as_deref()))?;
    }
    *node = value;
    Ok(())
}

/// Why a step of a path leads nowhere.
struct Refusal {
    problem: String,
    hint: Option<String>,
}

impl Refusal {
    fn new(problem: String) -> Refusal {
        Refusal { problem, hint: None }
    }
}

fn steps(key: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    for part in key.split('.') {
        let (name, mut rest) = part.split_at(part.find('[').unwrap_or(part.len()));
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Key(name));
        while !rest.is_empty() {
            let (index, more) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(Step::Index(index.parse().ok()?));
            rest = more;
        }
    }
    (steps.len() <= MOST_STEPS).then_some(steps)
}

/// Returns the node to which a step leads, and creates it if the table does not have it yet. The override replaces the
/// node of the last step.
fn enter<'n>(
    node: &'n mut Node,
    step: Step<'_>,
    so_far: &[Step<'_>],
    is_last: bool,
    origin: &Origin,
    registry: &Registry,
) -> Result<&'n mut Node, Refusal> {
    let path = show(so_far);
    match step {
        Step::Index(index) => match &mut node.value {
            Value::List(items) => at_index(items, index, &path),
            _ => Err(Refusal::new(format!("`{path}` is not a list"))),
        },
        Step::Key(key) => {
            if let (Value::Text(name), Some(own_key)) = (&node.value, algorithm_key(so_far, registry)) {
                let kind = Node { value: Value::Text(name.clone()), origin: node.origin.clone() };
                node.value = Value::Table(vec![Entry {
                    key: own_key.to_owned(),
                    origin: node.origin.clone(),
                    node: kind,
                }]);
            }
            match &mut node.value {
                Value::Table(entries) => {
                    let index = entries.iter().position(|entry| entry.key == key).unwrap_or_else(|| {
                        let empty = Node { value: Value::Table(Vec::new()), origin: origin.clone() };
                        entries.push(Entry { key: key.to_owned(), origin: origin.clone(), node: empty });
                        entries.len() - 1
                    });
                    let entry = &mut entries[index];
                    if is_last {
                        entry.origin = origin.clone();
                    }
                    Ok(&mut entry.node)
                }
                Value::List(items) => match items.iter().position(|item| item.text_at("name") == Some(key)) {
                    Some(index) => Ok(&mut items[index]),
                    None => match key.parse::<usize>() {
                        Ok(index) => at_index(items, index, &path),
                        Err(_) => Err(unknown_name(items, key, &path)),
                    },
                },
                _ => Err(Refusal::new(format!("`{path}` has no keys"))),
            }
        }
    }
}

fn at_index<'n>(items: &'n mut [Node], index: usize, path: &str) -> Result<&'n mut Node, Refusal> {
    let len = items.len();
    items.get_mut(index).ok_or_else(|| match len {
        0 => Refusal::new(format!("`{path}` is empty")),
        _ => Refusal::new(format!("`{path}` has no [{index}]: its last is [{}]", len - 1)),
    })
}

/// Returns the key that holds an algorithm's name once the algorithm is a table.
fn algorithm_key(path: &[Step<'_>], registry: &Registry) -> Option<&'static str> {
    // An index leads to an item of a list: the key in front of it decides.
    let is_index = |step: &Step<'_>| match step {
        Step::Index(_) => true,
        Step::Key(key) => key.parse::<usize>().is_ok(),
    };
    match path.iter().rev().find(|step| !is_index(step)) {
        Some(Step::Key("cc" | "queue" | "slow_start" | "app")) => Some("kind"),
        Some(Step::Key("ack")) => Some("policy"),
        Some(Step::Key(key)) if registry.takes_part(key) => Some("kind"),
        _ => None,
    }
}

fn unknown_name(items: &[Node], key: &str, path: &str) -> Refusal {
    let names: Vec<&str> = items.iter().filter_map(|item| item.text_at("name")).collect();
    let hint = nearest(key, names.iter().copied()).map(str::to_owned);
    let listed =
        if names.is_empty() { "none of them has a name".to_owned() } else { shorten(&names.join(", ")) };
    Refusal {
        problem: format!("no `{path}` is named `{}`: {listed}; or write {path}[0]", shorten(key)),
        hint,
    }
}

fn show(path: &[Step<'_>]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.extend(["[", index.to_string().as_str(), "]"]),
        }
    }
    shorten(&text)
}
