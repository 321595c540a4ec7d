//! A family of algorithms: everything that can be named in one place of a scenario.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};
use windtunnel_algorithm::{AnyParams, Params};
use windtunnel_qdisc::{AqmSlot, ChildSlot};

use super::{Registry, RegistryError};
use crate::parse::cursor::Cursor;
use crate::parse::deserialize::fields;
use crate::parse::fault::Fault;
use crate::parse::nearest::nearest;

/// The algorithms of a family, in the order in which they were registered. Reading one gives a `C`.
#[derive(Clone)]
pub(crate) struct Family<C> {
    /// What a name of this family stands for, as messages say it: "a queue".
    what: &'static str,
    /// Keys that an algorithm's table may hold in addition to its parameters.
    extras: &'static [&'static str],
    entries: Vec<Entry<C>>,
}

/// An algorithm that a scenario can name.
pub(crate) struct Entry<C> {
    pub(crate) name: Cow<'static, str>,
    pub(crate) aliases: &'static [&'static str],
    pub(crate) summary: Cow<'static, str>,
    /// The keys of its parameters, aliases included.
    pub(super) keys: Vec<Cow<'static, str>>,
    pub(super) read: Reader<C>,
    pub(super) schema: Describer,
    /// Its parameters are known at run time only.
    pub(super) foreign: bool,
    /// The keys in addition to its parameters that take an AQM.
    pub(crate) slots: &'static [AqmSlot],
    /// The keys that take queues.
    pub(crate) children: Vec<ChildSlot>,
}

/// Reads an algorithm's parameters among the keys of a table, and checks them.
pub(crate) type Reader<C> = Arc<dyn Fn(&Cursor<'_>) -> Result<C, Fault> + Send + Sync>;

/// The schema of an algorithm's parameters.
pub(crate) type Describer = Arc<dyn Fn(&mut SchemaGenerator) -> Schema + Send + Sync>;

impl<C> Entry<C> {
    /// The algorithm whose parameters are `P`.
    pub(crate) fn of<P: Params>(wrap: fn(P) -> C) -> Entry<C>
    where
        C: 'static,
    {
        Entry {
            name: Cow::Borrowed(P::NAME),
            aliases: P::ALIASES,
            summary: Cow::Borrowed(P::SUMMARY),
            keys: fields::<P>().iter().copied().map(Cow::Borrowed).collect(),
            read: Arc::new(move |table| {
                let params: P = table.read_own_fields()?;
                params.check().map_err(|error| table.out_of_range(error))?;
                Ok(wrap(params))
            }),
            schema: Arc::new(P::json_schema),
            foreign: false,
            slots: &[],
            children: Vec::new(),
        }
    }

    /// An algorithm whose parameters are known at run time only.
    pub(crate) fn foreign(
        name: String,
        summary: String,
        keys: Vec<String>,
        read: Reader<C>,
        schema: Describer,
    ) -> Entry<C> {
        let keys = keys.into_iter().map(Cow::Owned).collect();
        Entry {
            name: Cow::Owned(name),
            aliases: &[],
            summary: Cow::Owned(summary),
            keys,
            read,
            schema,
            foreign: true,
            slots: &[],
            children: Vec::new(),
        }
    }

    /// Its name and its aliases.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&*self.name).chain(self.aliases.iter().copied())
    }

    /// The same with a table of `T` under `key`, which `read` reads in addition to its parameters.
    pub(crate) fn with_table<T: JsonSchema>(mut self, key: &'static str, read: Reader<C>) -> Entry<C> {
        let schema = self.schema;
        self.keys.push(Cow::Borrowed(key));
        self.read = read;
        self.schema = Arc::new(move |generator| {
            let mut schema = schema(generator);
            let table = generator.subschema_for::<T>();
            let properties = schema.ensure_object().entry("properties").or_insert_with(|| Map::new().into());
            if let Value::Object(properties) = properties {
                properties.insert(key.to_owned(), table.into());
            }
            schema
        });
        self
    }

    /// The same with keys that take AQMs and queues.
    pub(crate) fn with_parts(self, slots: &'static [AqmSlot], children: Vec<ChildSlot>) -> Entry<C> {
        Entry { slots, children, ..self }
    }

    /// The keys of its parameters, aliases included, and those that take AQMs and queues.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let of_aqms = self.slots.iter().map(|slot| slot.key);
        let of_queues = self.children.iter().map(|slot| slot.key);
        self.keys.iter().map(|key| &**key).chain(of_aqms).chain(of_queues)
    }

    /// Reads its parameters among the keys of a table; it does not check for other keys.
    pub(crate) fn read(&self, table: &Cursor<'_>) -> Result<C, Fault> {
        (self.read)(table)
    }

    /// The schema of its parameters.
    pub(crate) fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}

impl<C> Family<C> {
    pub(crate) fn new(what: &'static str, extras: &'static [&'static str]) -> Family<C> {
        Family { what, extras, entries: Vec::new() }
    }

    /// The same with these members alone.
    pub(crate) fn only(&self, names: &[&str]) -> Family<C> {
        let entries = self.entries.iter().filter(|entry| names.contains(&&*entry.name)).cloned().collect();
        Family { entries, ..*self }
    }

    /// Adds an algorithm.
    pub(crate) fn register(&mut self, entry: Entry<C>) -> Result<(), RegistryError> {
        for name in entry.names() {
            check_name(name)?;
            if self.named(name).is_some() {
                return Err(RegistryError::Taken { what: self.what, name: name.to_owned() });
            }
        }
        let reserved = |key: &&str| *key == "kind" || self.extras.contains(key);
        if let Some(key) = entry.keys().find(reserved) {
            return Err(RegistryError::ReservedKey { name: entry.name.to_string(), key: key.to_owned() });
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Takes away the algorithm called `name`, if its parameters are known at run time only.
    pub(super) fn remove_foreign(&mut self, name: &str) {
        self.entries.retain(|entry| entry.name != name || !entry.foreign);
    }

    /// The algorithm called `name`.
    pub(crate) fn named(&self, name: &str) -> Option<&Entry<C>> {
        self.entries.iter().find(|entry| entry.names().any(|own| own == name))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<C>> {
        self.entries.iter()
    }

    /// All names without aliases, as messages list them.
    pub(crate) fn names(&self) -> String {
        self.entries.iter().map(|entry| &*entry.name).collect::<Vec<_>>().join(", ")
    }

    /// The algorithm called `name`; `at` is where the name was written. This family is one of `registry`.
    pub(crate) fn find(&self, name: &str, at: &Cursor<'_>, registry: &Registry) -> Result<&Entry<C>, Fault> {
        self.named(name).ok_or_else(|| {
            let exists = |name: &str| self.named(name).is_some();
            registry.answer(name, self.what, at, &exists).unwrap_or_else(|| {
                at.not_allowed(format!("{} is one of {}", self.what, self.names()))
                    .with_hint(nearest(name, self.entries.iter().flat_map(Entry::names)))
            })
        })
    }

    /// Reads a name, or a table that holds `kind`, the algorithm's parameters, and the keys that are allowed in
    /// addition to those.
    pub(crate) fn read(&self, at: &Cursor<'_>, registry: &Registry) -> Result<C, Fault> {
        let (name, name_at) = at.kind_name(self.what)?;
        let entry = self.find(name, &name_at, registry)?;
        let keys: Vec<&str> =
            std::iter::once("kind").chain(self.extras.iter().copied()).chain(entry.keys()).collect();
        at.expect_keys(&keys)?;
        entry.read(at)
    }
}

impl<C> Clone for Entry<C> {
    fn clone(&self) -> Entry<C> {
        Entry {
            name: self.name.clone(),
            aliases: self.aliases,
            summary: self.summary.clone(),
            keys: self.keys.clone(),
            read: Arc::clone(&self.read),
            schema: Arc::clone(&self.schema),
            foreign: self.foreign,
            slots: self.slots,
            children: self.children.clone(),
        }
    }
}

impl<C> fmt::Debug for Family<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.name)).finish()
    }
}

/// A name has no characters that separate the keys of a path, or names in a message.
fn check_name(name: &str) -> Result<(), RegistryError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "+-_".contains(c);
    if name.is_empty() || !name.chars().all(allowed) {
        return Err(RegistryError::BadName { name: name.to_owned() });
    }
    Ok(())
}

/// The description of an algorithm in a scenario's text: its name and parameters.
pub(crate) trait Described {
    fn kind(&self) -> &str;
    fn parameters(&self) -> Map<String, Value>;

    /// The table that reads back as the same algorithm.
    fn table(&self) -> Map<String, Value> {
        let mut table = Map::new();
        table.insert("kind".into(), self.kind().into());
        table.extend(self.parameters());
        table
    }
}

impl<T: AnyParams + ?Sized> Described for Arc<T> {
    fn kind(&self) -> &str {
        self.name()
    }

    fn parameters(&self) -> Map<String, Value> {
        self.to_map()
    }
}

impl<T: AnyParams + ?Sized> Described for &T {
    fn kind(&self) -> &str {
        self.name()
    }

    fn parameters(&self) -> Map<String, Value> {
        self.to_map()
    }
}
