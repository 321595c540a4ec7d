//! How a scenario is read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::registry::Registry;

/// How messages name the place of a fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Places {
    /// By the lines and keys of the text as it was written.
    #[default]
    Lines,
    /// By the arguments of `Scenario(...)` in Python, from which the text was made.
    Arguments,
}

/// What belongs to reading a scenario besides its text.
#[derive(Clone, Copy)]
pub struct Reading<'r> {
    /// The scenario's file. Messages name it, and the files that the scenario names are in its folder.
    pub file: Option<&'r str>,
    /// Changes of the text, as `key=value`.
    pub overrides: &'r [String],
    /// Folders and files that the scenario may read besides its own folder.
    pub allow_read: &'r [PathBuf],
    /// The contents of the files that the scenario names, by their names, where no file system is to be read.
    pub files: Option<&'r BTreeMap<String, String>>,
    /// The algorithms that the scenario can name.
    pub registry: &'r Registry,
    /// How messages name places.
    pub places: Places,
    /// Called from time to time; reading ends with an error when it returns false.
    pub go_on: &'r dyn Fn() -> bool,
}

impl<'r> Reading<'r> {
    /// A text without a file, as it is.
    pub fn new(registry: &'r Registry) -> Reading<'r> {
        Reading {
            file: None,
            overrides: &[],
            allow_read: &[],
            files: None,
            registry,
            places: Places::Lines,
            go_on: &|| true,
        }
    }
}

impl fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Reading { file, overrides, allow_read, .. } = self;
        f.debug_struct("Reading")
            .field("file", file)
            .field("overrides", overrides)
            .field("allow_read", allow_read)
            .finish_non_exhaustive()
    }
}
