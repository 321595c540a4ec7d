//! Places in the text of a scenario. What an edit does not concern stays as it was written, comments included.

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value};
use windtunnel_units::Time;

/// An array of tables: with headers of their own (`[[flow]]`), or between brackets.
#[derive(Debug)]
pub(crate) enum Tables<'t> {
    Headed(&'t mut ArrayOfTables),
    Inline(&'t mut Array),
}

impl<'t> Tables<'t> {
    /// The tables under a key, which are none if there is no such key.
    pub(crate) fn of(table: &'t mut dyn TableLike, key: &str) -> Option<Tables<'t>> {
        let item = table.entry(key).or_insert_with(|| Item::Value(Value::Array(Array::new())));
        match item {
            Item::ArrayOfTables(tables) => Some(Tables::Headed(tables)),
            Item::Value(Value::Array(array)) => Some(Tables::Inline(array)),
            _ => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Tables::Headed(tables) => tables.len(),
            Tables::Inline(array) => array.len(),
        }
    }

    pub(crate) fn get(&mut self, index: usize) -> Option<&mut dyn TableLike> {
        match self {
            Tables::Headed(tables) => tables.get_mut(index).map(|table| table as &mut dyn TableLike),
            Tables::Inline(array) => {
                array.get_mut(index)?.as_inline_table_mut().map(|table| table as &mut dyn TableLike)
            }
        }
    }

    /// Puts a table in at a place among them.
    pub(crate) fn insert(&mut self, index: usize, entries: Entries) {
        match self {
            // There is no other way into the middle of them.
            Tables::Headed(tables) => {
                let after: Vec<Table> = (index..tables.len()).map(|_| tables.remove(index)).collect();
                let mut new = Table::new();
                for (key, value) in entries.0 {
                    new.insert(key, Item::Value(value));
                }
                for mut table in std::iter::once(new).chain(after) {
                    table.set_position(None);
                    tables.push(table);
                }
            }
            Tables::Inline(array) => {
                let mut new = InlineTable::new();
                for (key, value) in entries.0 {
                    new.insert(key, value);
                }
                array.insert(index, new);
            }
        }
    }

    pub(crate) fn remove(&mut self, index: usize) {
        match self {
            Tables::Headed(tables) => _ = tables.remove(index),
            Tables::Inline(array) => _ = array.remove(index),
        }
    }
}

/// The entries of a new table, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries(Vec<(&'static str, Value)>);

impl Entries {
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<Value>) -> Entries {
        self.0.push((key, value.into()));
        self
    }
}

/// The table of a link: that of its name in a dumbbell, and the one with this name in a graph.
pub(crate) fn link<'d>(document: &'d mut DocumentMut, name: &str) -> Option<&'d mut dyn TableLike> {
    if document.get(name).is_some_and(Item::is_table_like) {
        return document.get_mut(name)?.as_table_like_mut();
    }
    named(document, "link", name)
}

fn named<'d>(document: &'d mut DocumentMut, key: &str, name: &str) -> Option<&'d mut dyn TableLike> {
    let is_named = |table: &dyn TableLike| table.get("name").and_then(Item::as_str) == Some(name);
    match document.get_mut(key)? {
        Item::ArrayOfTables(tables) => {
            tables.iter_mut().find(|table| is_named(*table)).map(|table| table as &mut dyn TableLike)
        }
        Item::Value(Value::Array(array)) => array
            .iter_mut()
            .filter_map(Value::as_inline_table_mut)
            .find(|table| is_named(*table))
            .map(|table| table as &mut dyn TableLike),
        _ => None,
    }
}

/// Sets a key to a text or number. What follows it on its line stays.
pub(crate) fn set(table: &mut dyn TableLike, key: &str, value: impl Into<Value>) {
    let mut value = value.into();
    if let Some(before) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = before.decor().clone();
    }
    table.insert(key, Item::Value(value));
}

/// The time that a table states under a key.
pub(crate) fn time(table: &dyn TableLike, key: &str) -> Option<Time> {
    table.get(key)?.as_str()?.parse().ok()
}

/// A time as a reader writes it: seconds with up to three digits behind the point.
pub(crate) fn written(time: Time) -> String {
    let ns = time.as_nanos();
    if ns < 1_000_000_000 || !ns.is_multiple_of(1_000_000) {
        return time.to_string();
    }
    let digits = format!("{:03}", ns / 1_000_000 % 1_000);
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("{}{point}{digits} s", ns / 1_000_000_000)
}
