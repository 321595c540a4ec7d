//! A fault: what is wrong, and where it was written.

use std::fmt;
use std::rc::Rc;

use serde::de;

use super::nearest::nearest;

/// Where something was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nowhere: the fault follows from a missing entry.
    #[default]
    Nowhere,
    /// In the file.
    File {
        /// The line, from 1.
        line: u32,
        /// The byte of the text. Columns are counted from it, and only errors need them.
        offset: usize,
    },
    /// In an override: `key=value`.
    Setting(Rc<str>),
}

impl Origin {
    pub(crate) fn line(&self) -> Option<u32> {
        if let Origin::File { line, .. } = self { Some(*line) } else { None }
    }

    /// The column in characters, from 1, in the text that was read.
    pub(crate) fn column(&self, text: &str) -> Option<u32> {
        let Origin::File { offset, .. } = self else { return None };
        let before = text.get(..*offset)?;
        let line = before.rsplit('\n').next()?;
        Some(line.chars().count() as u32 + 1)
    }

    pub(crate) fn setting(&self) -> Option<&str> {
        if let Origin::Setting(text) = self { Some(text) } else { None }
    }
}

/// The origin, the key and the value of a fault.
#[derive(Clone, Debug, Default)]
pub(crate) struct Location {
    pub(crate) origin: Origin,
    pub(crate) key: String,
    pub(crate) value: Option<String>,
}

/// What is wrong.
#[derive(Clone, Debug)]
pub(crate) enum Problem {
    /// Said in full.
    Text(String),
    /// The value (once known) is not what is allowed.
    NotAllowed {
        /// Filled in when the fault is located.
        value: String,
        allowed: String,
    },
    /// A required key is not there.
    Missing(&'static str),
    /// A key that is not read.
    UnknownKey { allowed: Vec<String> },
}

impl Problem {
    /// Adds how TOML writes what is allowed: [flow] for [[flow]] is a common mistake of beginners, and so is the opposite.
    pub(crate) fn explain_brackets(&mut self, location: &Location) {
        let Problem::NotAllowed { value, allowed } = self else { return };
        let key = &location.key;
        match (value.as_str(), allowed.as_str()) {
            ("a table", LIST) => *allowed = format!("a list; write [[{key}]], or {key} = [{{ ... }}]"),
            ("a list", TABLE) if !key.contains('[') => {
                *allowed = format!("a table; write [{key}], or {key} = {{ ... }}");
            }
            _ => {}
        }
    }

    /// Gives the keys of the top, if it is them that the problem lists, other names.
    pub(crate) fn rename_keys(&mut self, of_the_top: bool, name: fn(&str) -> &str) {
        if let Problem::UnknownKey { allowed } = self
            && of_the_top
        {
            for key in allowed {
                *key = name(key).to_owned();
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Text(text) => f.write_str(text),
            Problem::NotAllowed { value, allowed } => write!(f, "{value} is not allowed: {allowed}"),
            Problem::Missing(_) => f.write_str("is required"),
            Problem::UnknownKey { allowed } => {
                write!(f, "is not a key here; the keys are {}", allowed.join(", "))
            }
        }
    }
}

/// What is wrong, and where, once that is known.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    pub(crate) problem: Problem,
    pub(crate) hint: Option<String>,
    pub(crate) location: Option<Box<Location>>,
}

impl Fault {
    pub(crate) fn new(problem: Problem) -> Fault {
        Fault { problem, hint: None, location: None }
    }

    /// The key `key` is not one of `keys`.
    pub(crate) fn unknown_key<'k>(key: &str, keys: impl IntoIterator<Item = &'k str>) -> Fault {
        let allowed: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        let hint = nearest(key, allowed.iter().map(String::as_str)).map(str::to_owned);
        Fault { hint, ..Fault::new(Problem::UnknownKey { allowed }) }
    }

    #[must_use]
    pub(crate) fn with_hint(self, hint: Option<&str>) -> Fault {
        Fault { hint: hint.map(str::to_owned), ..self }
    }

    /// Gives the fault its location, unless it has one.
    #[must_use]
    pub(crate) fn at(mut self, mut location: Location) -> Fault {
        if self.location.is_some() {
            return self;
        }
        match &mut self.problem {
            Problem::Missing(key) => {
                location.key = if location.key.is_empty() {
                    (*key).to_owned()
                } else {
                    format!("{}.{key}", location.key)
                };
                location.value = None;
            }
            Problem::UnknownKey { .. } => location.value = None,
            Problem::NotAllowed { value, .. } if value.is_empty() => {
                *value = location.value.clone().unwrap_or_else(|| "the default".to_owned());
            }
            Problem::NotAllowed { .. } | Problem::Text(_) => {}
        }
        self.location = Some(Box::new(location));
        self
    }

    /// The value is not one of the allowed names.
    pub(crate) fn not_one_of(names: &[&str]) -> Fault {
        let how_many = if names.len() == 1 { "only" } else { "one of" };
        Fault::not_allowed(format!("{how_many} {}", names.join(", ")))
    }

    /// The value is not what is allowed.
    pub(crate) fn not_allowed(allowed: impl Into<String>) -> Fault {
        Fault::new(Problem::NotAllowed { value: String::new(), allowed: allowed.into() })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)
    }
}

impl std::error::Error for Fault {}

/// Serde's errors in the words of a scenario's author.
impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Fault {
        Fault::new(Problem::Text(message.to_string()))
    }

    fn invalid_type(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Fault {
        Fault::not_allowed(plain(&expected.to_string()))
    }

    fn invalid_value(_: de::Unexpected<'_>, expected: &dyn de::Expected) -> Fault {
        Fault::not_allowed(plain(&expected.to_string()))
    }

    fn invalid_length(_: usize, expected: &dyn de::Expected) -> Fault {
        Fault::not_allowed(plain(&expected.to_string()))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Fault {
        Fault::unknown_key(field, expected.iter().copied())
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Fault {
        Fault::not_one_of(expected).with_hint(nearest(variant, expected.iter().copied()))
    }

    fn missing_field(field: &'static str) -> Fault {
        Fault::new(Problem::Missing(field))
    }

    fn duplicate_field(field: &'static str) -> Fault {
        Fault::new(Problem::Text(format!("`{field}` is given twice, by two of its names")))
    }
}

/// What is allowed where a scenario has a list.
const LIST: &str = "a list";

/// What is allowed where a scenario has a table.
pub(crate) const TABLE: &str = "a table";

/// What serde expects, in plain words.
fn plain(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0 to 9223372036854775807",
        "a nonzero u32" => "a whole number from 1 to 4294967295",
        "f32" | "f64" => "a number",
        "a boolean" => "true or false",
        "a string" => "a text in quotes",
        "a sequence" => LIST,
        "a map" => TABLE,
        name if name.starts_with("struct ") => TABLE,
        other => other,
    }
}
