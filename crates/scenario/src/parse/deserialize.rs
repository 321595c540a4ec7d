//! Serde over the tree: any type that derives `Deserialize` can be read, and its errors carry the place of the key at
//! fault.
//!
//! A struct is a table, and nothing else: serde would also take a list, by the position of its values. Only what asks for
//! a list is given one.

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

use super::cursor::Cursor;
use super::document::{Entry, Value};
use super::fault::{Fault, TABLE};

/// Reads the value at a cursor.
#[derive(Debug)]
pub(crate) struct NodeDeserializer<'n> {
    cursor: Cursor<'n>,
    /// Entries with other keys are left out.
    only: Option<&'static [&'static str]>,
}

impl<'n> NodeDeserializer<'n> {
    pub(crate) fn new(cursor: Cursor<'n>) -> NodeDeserializer<'n> {
        NodeDeserializer { cursor, only: None }
    }

    pub(crate) fn only(cursor: Cursor<'n>, keys: &'static [&'static str]) -> NodeDeserializer<'n> {
        NodeDeserializer { cursor, only: Some(keys) }
    }

    fn entries(&self) -> Entries<'n> {
        Entries {
            rest: self.cursor.entries().iter(),
            table: self.cursor.clone(),
            current: None,
            only: self.only,
        }
    }
}

impl<'de> Deserializer<'de> for NodeDeserializer<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.cursor.value() {
            Some(Value::Text(text)) => visitor.visit_str(text),
            Some(Value::Integer(n)) => visitor.visit_i64(*n),
            Some(Value::Float(x)) if !x.is_finite() => Err(Fault::not_allowed("a finite number")),
            Some(Value::Float(x)) => visitor.visit_f64(*x),
            Some(Value::Boolean(b)) => visitor.visit_bool(*b),
            Some(Value::Other(text)) => Err(de::Error::invalid_type(de::Unexpected::Other(text), &visitor)),
            Some(Value::List(_)) => Err(de::Error::invalid_type(de::Unexpected::Seq, &visitor)),
            None | Some(Value::Table(_)) => visitor.visit_map(self.entries()),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.cursor.value() {
            Some(Value::List(items)) => {
                let end = items.len();
                visitor.visit_seq(Items { list: self.cursor, next: 0, end })
            }
            _ => Err(de::Error::invalid_type(de::Unexpected::Other("no list"), &visitor)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.cursor.value() {
            None | Some(Value::Table(_)) => visitor.visit_map(self.entries()),
            Some(_) if self.only.is_some() => visitor.visit_map(self.entries()),
            Some(_) => Err(Fault::not_allowed(TABLE)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        self.deserialize_map(visitor)
    }

    /// Existing keys have a value, because TOML has no null.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.cursor.text() {
            Some(name) => visitor.visit_enum(name.into_deserializer()),
            None => Err(Fault::not_one_of(variants)),
        }
    }

    /// Ignores entries that are read elsewhere.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        tuple tuple_struct identifier
    }
}

/// The entries of a table.
struct Entries<'n> {
    rest: std::slice::Iter<'n, Entry>,
    table: Cursor<'n>,
    current: Option<&'n Entry>,
    only: Option<&'static [&'static str]>,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let only = self.only;
        self.current = self.rest.find(|entry| only.is_none_or(|only| only.contains(&entry.key.as_str())));
        let Some(entry) = self.current else { return Ok(None) };
        let key: de::value::StrDeserializer<'_, Fault> = entry.key.as_str().into_deserializer();
        seed.deserialize(key).map(Some).map_err(|fault| fault.at(self.table.enter(entry).location()))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let entry = self.current.ok_or_else(|| <Fault as de::Error>::custom("a value without a key"))?;
        let cursor = self.table.enter(entry);
        seed.deserialize(NodeDeserializer::new(cursor.clone())).map_err(|fault| fault.at(cursor.location()))
    }
}

/// The values of a list.
struct Items<'n> {
    list: Cursor<'n>,
    next: usize,
    end: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Fault> {
        if self.next == self.end {
            return Ok(None);
        }
        let cursor = self.list.item(self.next);
        self.next += 1;
        seed.deserialize(NodeDeserializer::new(cursor.clone()))
            .map(Some)
            .map_err(|fault| fault.at(cursor.location()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.end - self.next)
    }
}

/// The names of the fields of a struct that derives `Deserialize`, aliases included.
pub(crate) fn fields<T: de::DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // This always returns an error; only the names are needed.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("not a struct"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        Err(de::Error::custom("no values"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
