//! Whole numbers of things: `55`, or as a text with their name, `"55 packets"`.
//!
//! Listings show such a parameter with its unit, so that it must be readable with it. The functions are for serde's
//! `deserialize_with`, on a field whose schema has the unit as `x-unit`.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Unexpected, Visitor};

/// Reads a number of packets.
pub fn packets<'de, D: Deserializer<'de>, T: Count>(d: D) -> Result<T, D::Error> {
    T::read(d, "packet")
}

/// Reads a number of segments.
pub fn segments<'de, D: Deserializer<'de>, T: Count>(d: D) -> Result<T, D::Error> {
    T::read(d, "segment")
}

/// Reads a number of frames.
pub fn frames<'de, D: Deserializer<'de>, T: Count>(d: D) -> Result<T, D::Error> {
    T::read(d, "frame")
}

/// A type of whole numbers, or one that holds such.
pub trait Count: Sized {
    /// Reads it; `unit` is the singular of what is counted.
    fn read<'de, D: Deserializer<'de>>(d: D, unit: &'static str) -> Result<Self, D::Error>;
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl Count for $type {
            fn read<'de, D: Deserializer<'de>>(d: D, unit: &'static str) -> Result<$type, D::Error> {
                let number = d.deserialize_any(Number(unit))?;
                <$type>::try_from(number).map_err(|_| D::Error::invalid_value(Unexpected::Unsigned(number), &Number(unit)))
            }
        }
    )*};
}

whole!(u16, u32, u64, usize);

impl<T: Count> Count for Option<T> {
    fn read<'de, D: Deserializer<'de>>(d: D, unit: &'static str) -> Result<Option<T>, D::Error> {
        d.deserialize_option(Maybe(unit, PhantomData))
    }
}

impl<T: Count> Count for Vec<T> {
    fn read<'de, D: Deserializer<'de>>(d: D, unit: &'static str) -> Result<Vec<T>, D::Error> {
        d.deserialize_seq(List(unit, PhantomData))
    }
}

/// Reads one number.
struct Number(&'static str);

impl Visitor<'_> for Number {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number, alone or as \"10 {}s\"", self.0)
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<u64, E> {
        Ok(v)
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<u64, E> {
        u64::try_from(v).map_err(|_| E::invalid_value(Unexpected::Signed(v), &self))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<u64, E> {
        let unit = v.trim_start_matches(|c: char| c.is_ascii_digit());
        let number = &v[..v.len() - unit.len()];
        match (number.parse(), unit.trim()) {
            (Ok(number), word) if word.strip_suffix('s').unwrap_or(word) == self.0 => Ok(number),
            _ => Err(E::invalid_value(Unexpected::Str(v), &self)),
        }
    }
}

/// Reads what may be missing.
struct Maybe<T>(&'static str, PhantomData<T>);

impl<'de, T: Count> Visitor<'de> for Maybe<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Number(self.0).expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Option<T>, D::Error> {
        T::read(d, self.0).map(Some)
    }
}

/// Reads a list.
struct List<T>(&'static str, PhantomData<T>);

impl<'de, T: Count> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of numbers of {}s", self.0)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(One(self.0, PhantomData))? {
            list.push(item);
        }
        Ok(list)
    }
}

/// Reads an element of a list.
struct One<T>(&'static str, PhantomData<T>);

impl<'de, T: Count> DeserializeSeed<'de> for One<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<T, D::Error> {
        T::read(d, self.0)
    }
}
