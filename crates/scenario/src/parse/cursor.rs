//! A place in the tree, to read from and to report faults at.

use std::fmt;

use serde::de::DeserializeOwned;
use windtunnel_units::OutOfRange;

use super::deserialize::{NodeDeserializer, fields};
use super::document::{Entry, Node, Value};
use super::fault::{Fault, Location, Origin, Problem, TABLE};

/// A key of the scenario, present or not. A missing key has the origin of the table that would contain it.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'n> {
    node: Option<&'n Node>,
    origin: &'n Origin,
    path: String,
}

impl<'n> Cursor<'n> {
    /// The top of a scenario.
    pub(crate) fn root(node: &'n Node) -> Cursor<'n> {
        Cursor { node: Some(node), origin: &node.origin, path: String::new() }
    }

    /// The value under `key`.
    pub(crate) fn get(&self, key: &str) -> Cursor<'n> {
        match self.entries().iter().find(|entry| entry.key == key) {
            Some(entry) => self.enter(entry),
            None => Cursor { node: None, origin: self.origin, path: self.path_to(key) },
        }
    }

    /// The value at a path of keys and indices: `flow[0].iw`.
    pub(crate) fn at(&self, path: &str) -> Cursor<'n> {
        path.split('.').fold(self.clone(), |cursor, part| {
            let (key, index) = part.split_once('[').unwrap_or((part, ""));
            let cursor = cursor.get(key);
            match index.trim_end_matches(']').parse() {
                Ok(index) => cursor.item(index),
                Err(_) => cursor,
            }
        })
    }

    /// The value of an entry of this table.
    pub(crate) fn enter(&self, entry: &'n Entry) -> Cursor<'n> {
        Cursor { node: Some(&entry.node), origin: &entry.origin, path: self.path_to(&entry.key) }
    }

    /// The `index`-th value of this list.
    pub(crate) fn item(&self, index: usize) -> Cursor<'n> {
        let node = match self.node.map(|node| &node.value) {
            Some(Value::List(items)) => items.get(index),
            _ => None,
        };
        Cursor {
            node,
            origin: node.map_or(self.origin, |node| &node.origin),
            path: format!("{}[{index}]", self.path),
        }
    }

    /// The value, if there is one.
    pub(crate) fn value(&self) -> Option<&'n Value> {
        self.node.map(|node| &node.value)
    }

    /// The value, if it is a text.
    pub(crate) fn text(&self) -> Option<&'n str> {
        match self.value() {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    /// True if there is a value.
    pub(crate) fn is_given(&self) -> bool {
        self.node.is_some()
    }

    /// The entries, if it is a table.
    pub(crate) fn entries(&self) -> &'n [Entry] {
        match self.value() {
            Some(Value::Table(entries)) => entries,
            _ => &[],
        }
    }

    /// Returns this table with missing entries taken from the table at `base`, or `None` if neither exists. A value
    /// that is not a table stays as it is, so that reading it reports the fault.
    pub(crate) fn over(&self, base: &Cursor<'_>) -> Option<Node> {
        let (Some(node), Some(base)) = (self.node, base.node) else {
            return self.node.or(base.node).cloned();
        };
        let (Value::Table(own), Value::Table(shared)) = (&node.value, &base.value) else {
            return Some(node.clone());
        };
        let inherited = shared.iter().filter(|entry| own.iter().all(|mine| mine.key != entry.key));
        let entries = own.iter().chain(inherited).cloned().collect();
        Some(Node { value: Value::Table(entries), origin: node.origin.clone() })
    }

    /// The same key with another value.
    pub(crate) fn with<'m>(&self, node: Option<&'m Node>) -> Cursor<'m>
    where
        'n: 'm,
    {
        Cursor { node, origin: node.map_or(self.origin, |node| &node.origin), path: self.path.clone() }
    }

    /// Returns the name from a name or a table with `kind`, and where it is written. `what` says what the name denotes.
    pub(crate) fn kind_name(&self, what: &str) -> Result<(&'n str, Cursor<'n>), Fault> {
        let name_at = match self.value() {
            Some(Value::Table(_)) => self.get("kind"),
            _ => self.clone(),
        };
        match name_at.text() {
            Some(name) => Ok((name, name_at)),
            None if !name_at.is_given() => Err(name_at.fault(format!("is required: the name of {what}"))),
            None if self.entries().is_empty() => {
                Err(name_at.not_allowed(format!("the name of {what}, or a table with `kind`")))
            }
            None => Err(name_at.not_allowed(format!("the name of {what}"))),
        }
    }

    /// Reads the value as a `T`.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        T::deserialize(NodeDeserializer::new(self.clone())).map_err(|fault| fault.at(self.location()))
    }

    /// Reads the entries of this table that are fields of `T`; if it is not a table, all fields have their defaults.
    pub(crate) fn read_own_fields<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        T::deserialize(NodeDeserializer::only(self.clone(), fields::<T>()))
            .map_err(|fault| fault.at(self.location()))
    }

    /// Reports a value that is not a table.
    pub(crate) fn expect_table(&self) -> Result<(), Fault> {
        match self.value() {
            None | Some(Value::Table(_)) => Ok(()),
            Some(_) => Err(self.not_allowed(TABLE)),
        }
    }

    /// Reports the first key that is not one of `keys`.
    pub(crate) fn expect_keys(&self, keys: &[&str]) -> Result<(), Fault> {
        match self.entries().iter().find(|entry| !keys.contains(&entry.key.as_str())) {
            Some(entry) => {
                Err(Fault::unknown_key(&entry.key, keys.iter().copied()).at(self.enter(entry).location()))
            }
            None => Ok(()),
        }
    }

    /// Says what is wrong here.
    pub(crate) fn fault(&self, problem: impl Into<String>) -> Fault {
        Fault::new(Problem::Text(problem.into())).at(self.location())
    }

    /// The value here is not what is allowed.
    pub(crate) fn not_allowed(&self, allowed: impl Into<String>) -> Fault {
        Fault::not_allowed(allowed).at(self.location())
    }

    /// An entry of this table, or the default that it has instead, is out of its range.
    pub(crate) fn out_of_range(&self, error: OutOfRange) -> Fault {
        let at = self.get(error.key);
        if error.is_missing() {
            return at.fault(format!("is required: {}", error.allowed));
        }
        at.or_default_not_allowed(error.value, error.allowed)
    }

    /// The value here, or the default `value` if none is given, is not what is allowed.
    pub(crate) fn or_default_not_allowed(
        &self,
        value: impl fmt::Display,
        allowed: impl Into<String>,
    ) -> Fault {
        let value = if self.is_given() { String::new() } else { format!("its default, {value},") };
        Fault::new(Problem::NotAllowed { value, allowed: allowed.into() }).at(self.location())
    }

    /// Where this is and what it holds.
    pub(crate) fn location(&self) -> Location {
        Location {
            origin: self.origin.clone(),
            key: self.path.clone(),
            value: self.value().map(Value::shown),
        }
    }

    /// The line, for messages about two places.
    pub(crate) fn line(&self) -> Option<u32> {
        self.origin.line()
    }

    fn path_to(&self, key: &str) -> String {
        let bare =
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        let key =
            if bare { super::document::shorten(key) } else { super::document::shorten(&format!("{key:?}")) };
        if self.path.is_empty() { key } else { format!("{}.{key}", self.path) }
    }
}
