//! A scenario's text as a tree in which each key and value knows where it was written.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::fault::{Fault, Location, Origin, Problem};

/// The longest accepted text, in bytes: a scenario with 100,000 separate flows is shorter.
pub const LONGEST_TEXT: usize = 10_000_000;

/// The most tables in a text. Each takes more than a kilobyte while it is read, so that ten megabytes of `a.a.a.a` would
/// take five gigabytes; 100,000 flows with a few tables each are fewer.
const MOST_TABLES: usize = 1_000_000;

/// A value and its origin.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i64),
    Float(f64),
    Boolean(bool),
    /// A date or time, which no key wants; and an integer of more than 64 bits. Kept as written.
    Other(String),
    List(Vec<Node>),
    /// In the order of the text.
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) origin: Origin,
    pub(crate) node: Node,
}

impl Node {
    /// Parses a whole text.
    pub(crate) fn document(text: &str) -> Result<Node, Fault> {
        if text.len() > LONGEST_TEXT {
            let problem =
                format!("a scenario has at most {} MB, this text has more", LONGEST_TEXT / 1_000_000);
            return Err(Fault::new(Problem::Text(problem)).at(Location::default()));
        }
        // Every table starts with one of these characters; those in texts and numbers are counted too.
        if text.bytes().filter(|byte| b".[{".contains(byte)).count() > MOST_TABLES {
            let problem = format!("a scenario has at most {MOST_TABLES} of the characters `.`, `[` and `{{`");
            return Err(Fault::new(Problem::Text(problem)).at(Location::default()));
        }
        let lines = Lines::new(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(Node { value: convert_table(table.get_ref(), &lines), origin: Origin::Nowhere }),
            Err(error) => {
                let origin = error.span().map_or(Origin::Nowhere, |span| lines.origin(span.start));
                let problem = Problem::Text(format!("not valid TOML: {}", error.message()));
                Err(Fault::new(problem).at(Location { origin, ..Location::default() }))
            }
        }
    }

    /// Parses a single value; all of it has the same origin. `None` if it is not a TOML value.
    pub(crate) fn value(text: &str, origin: &Origin) -> Option<Node> {
        let value = DeValue::parse(text).ok()?;
        let mut node = convert(&value, &Lines::new(text));
        node.set_origin(origin);
        Some(node)
    }

    /// The text of an entry under `key`.
    pub(crate) fn text_at(&self, key: &str) -> Option<&str> {
        let Value::Table(entries) = &self.value else { return None };
        match &entries.iter().find(|entry| entry.key == key)?.node.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Gives everything in it the same origin.
    pub(crate) fn set_origin(&mut self, origin: &Origin) {
        self.origin = origin.clone();
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.set_origin(origin)),
            Value::Table(entries) => {
                for entry in entries {
                    entry.origin = origin.clone();
                    entry.node.set_origin(origin);
                }
            }
            _ => {}
        }
    }
}

impl Value {
    /// The value as a message shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Value::Text(text) => shorten(&format!("{text:?}")),
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => format!("{x:?}"),
            Value::Boolean(b) => b.to_string(),
            Value::Other(text) => shorten(text),
            Value::List(_) => "a list".to_owned(),
            Value::Table(_) => "a table".to_owned(),
        }
    }
}

/// Shortens a text to at most 80 characters, to keep messages readable.
pub(crate) fn shorten(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

fn convert(value: &Spanned<DeValue<'_>>, lines: &Lines) -> Node {
    let origin = lines.origin(value.span().start);
    let value = match value.get_ref() {
        DeValue::String(text) => Value::Text(text.clone().into_owned()),
        DeValue::Integer(n) => match i64::from_str_radix(n.as_str(), n.radix()) {
            Ok(n) => Value::Integer(n),
            Err(_) => Value::Other(n.to_string()),
        },
        DeValue::Float(x) => x.as_str().parse().map_or_else(|_| Value::Other(x.to_string()), Value::Float),
        DeValue::Boolean(b) => Value::Boolean(*b),
        DeValue::Datetime(moment) => Value::Other(moment.to_string()),
        DeValue::Array(items) => Value::List(items.iter().map(|item| convert(item, lines)).collect()),
        DeValue::Table(table) => convert_table(table, lines),
    };
    Node { value, origin }
}

fn convert_table(table: &DeTable<'_>, lines: &Lines) -> Value {
    let mut entries: Vec<(usize, Entry)> = table
        .iter()
        .map(|(key, value)| {
            let at = key.span().start;
            let entry = Entry {
                key: key.get_ref().clone().into_owned(),
                origin: lines.origin(at),
                node: convert(value, lines),
            };
            (at, entry)
        })
        .collect();
    entries.sort_by_key(|(at, _)| *at);
    Value::Table(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// Where the lines of a text start.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        Lines(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn origin(&self, offset: usize) -> Origin {
        let line = self.0.partition_point(|start| *start <= offset);
        Origin::File { line: line as u32, offset }
    }
}
