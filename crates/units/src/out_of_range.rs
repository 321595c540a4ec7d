//! Parameters that an algorithm cannot work with.

use std::fmt;

use thiserror::Error;

/// A parameter outside of what its algorithm is defined for.
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
    /// The error that `key` is not as `allowed` says.
    pub fn new(key: &'static str, value: impl fmt::Display, allowed: &'static str) -> OutOfRange {
        OutOfRange { key, value: value.to_string(), allowed }
    }
}
