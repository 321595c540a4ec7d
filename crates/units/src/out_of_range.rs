//! Parameters that an algorithm cannot work with.

use std::fmt;

use thiserror::Error;

/// A parameter outside the range for which its algorithm is defined.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} = {value} is out of range: {allowed}")]
pub struct OutOfRange {
    /// The parameter's name in a scenario.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl OutOfRange {
    /// The value of a parameter that is not given although it is needed.
    pub const NOTHING: &'static str = "nothing";

    /// The error for a `key` that is not as `allowed` says.
    pub fn new(key: &'static str, value: impl fmt::Display, allowed: &'static str) -> OutOfRange {
        OutOfRange { key, value: value.to_string(), allowed }
    }

    /// The error for a `key` that must be given; `needed` says what it is.
    pub fn missing(key: &'static str, needed: &'static str) -> OutOfRange {
        OutOfRange::new(key, OutOfRange::NOTHING, needed)
    }

    /// True if the parameter must be given.
    pub fn is_missing(&self) -> bool {
        self.value == OutOfRange::NOTHING
    }
}
