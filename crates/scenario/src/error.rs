//! A scenario that is wrong: one message that names the place, the key, the value and what is allowed.

use std::fmt::{self, Write};

use crate::parse::fault::{Fault, Origin};
use crate::reading::{Places, Reading};

/// What is wrong with a scenario, and where. `Display` is the whole message.
///
/// ```text
/// scenario.toml:12: flow[1].cc.slow_start: "esp" is not allowed: a slow start is one of none, standard, hystart-pp, essp
///   did you mean `essp`?
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file that was read.
    pub file: Option<Box<str>>,
    /// The line, from 1; unknown for missing parts and for values from `--set`.
    pub line: Option<u32>,
    /// The column in characters, from 1.
    pub column: Option<u32>,
    /// The override (`--set`) that is at fault.
    pub setting: Option<Box<str>>,
    /// The key, from the file's top: `flow[1].cc.tau`.
    pub key: Option<Box<str>>,
    /// The value as it was written.
    pub value: Option<Box<str>>,
    /// What is wrong and what is allowed.
    pub problem: Box<str>,
    /// The most likely intended name.
    pub hint: Option<Box<str>>,
    /// How the place is named.
    pub places: Places,
}

impl ScenarioError {
    pub(crate) fn new(reading: &Reading<'_>, text: &str, fault: Fault) -> ScenarioError {
        let Fault { mut problem, hint, location } = fault;
        let mut location = location.map(|location| *location).unwrap_or_default();
        match reading.places {
            Places::Lines => problem.explain_brackets(&location),
            Places::Arguments => {
                problem.rename_keys(location.key.is_empty() || !location.key.contains('.'), argument);
                location.key = renamed(&location.key);
                if let Origin::File { .. } = location.origin {
                    location.origin = Origin::Nowhere;
                }
            }
        }
        let boxed = |text: String| (!text.is_empty()).then(|| text.into_boxed_str());
        ScenarioError {
            file: reading.file.map(Into::into),
            line: location.origin.line(),
            column: location.origin.column(text),
            setting: location.origin.setting().map(Into::into),
            key: boxed(location.key),
            value: location.value.map(Into::into),
            problem: problem.to_string().into(),
            hint: hint.map(Into::into),
            places: reading.places,
        }
    }
}

/// The argument of `Scenario(...)` in Python for a key of the file: arrays of tables have plural names.
fn argument(key: &str) -> &str {
    match key {
        "flow" => "flows",
        "link" => "links",
        "node" => "nodes",
        "window" => "windows",
        "claim" => "claims",
        other => other,
    }
}

/// A path that starts with an argument in place of a key.
fn renamed(path: &str) -> String {
    let end = path.find(['[', '.']).unwrap_or(path.len());
    format!("{}{}", argument(&path[..end]), &path[end..])
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut visible = Visible { to: f, left: LONGEST };
        match (&self.setting, &self.file, self.line) {
            (Some(setting), _, _) if self.places == Places::Arguments => {
                write!(visible, "override({setting:?}): ")?;
            }
            (None, ..) if self.places == Places::Arguments => {
                visible.write_str(if self.key.is_some() { "Scenario(...)." } else { "Scenario(...): " })?;
            }
            (Some(setting), _, _) => write!(visible, "--set {setting}: ")?,
            (None, Some(file), Some(line)) => write!(visible, "{file}:{line}: ")?,
            (None, Some(file), None) => write!(visible, "{file}: ")?,
            (None, None, Some(line)) => write!(visible, "line {line}: ")?,
            (None, None, None) => {}
        }
        if let Some(key) = &self.key {
            write!(visible, "{key}: ")?;
        }
        visible.write_str(&self.problem)?;
        if let Some(hint) = &self.hint {
            f.write_str("\n  did you mean `")?;
            Visible { to: f, left: LONGEST }.write_str(hint)?;
            f.write_str("`?")?;
        }
        Ok(())
    }
}

/// The longest part of a message, in characters. Names and values are shortened where they are quoted; this is for the
/// rest.
const LONGEST: usize = 3000;

/// Writes what may come from a stranger's scenario: characters that end a line, control a terminal or turn the direction
/// of text around are shown as their codes, and too much of it is left out.
struct Visible<'a, 'f> {
    to: &'a mut fmt::Formatter<'f>,
    left: usize,
}

impl fmt::Write for Visible<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match self.left {
                0 => return Ok(()),
                1 => self.to.write_str("...")?,
                _ if is_hidden(c) => write!(self.to, "{}", c.escape_default())?,
                _ => self.to.write_char(c)?,
            }
            self.left -= 1;
        }
        Ok(())
    }
}

/// Control characters, the separators of lines and paragraphs, the marks of direction, and the mark of byte order.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}
