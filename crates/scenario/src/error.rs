//! A scenario that is wrong: one message that names the place, the key, the value and what is allowed.

use std::fmt;

use crate::parse::fault::Fault;

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
}

impl ScenarioError {
    pub(crate) fn new(file: Option<&str>, fault: Fault) -> ScenarioError {
        let Fault { problem, hint, location } = fault;
        let location = location.map(|location| *location).unwrap_or_default();
        let boxed = |text: String| (!text.is_empty()).then(|| text.into_boxed_str());
        ScenarioError {
            file: file.map(Into::into),
            line: location.place.line(),
            column: location.place.column(),
            setting: location.place.setting().map(Into::into),
            key: boxed(location.key),
            value: location.value.map(Into::into),
            problem: problem.to_string().into(),
            hint: hint.map(Into::into),
        }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.setting, &self.file, self.line) {
            (Some(setting), _, _) => write!(f, "--set {setting}: ")?,
            (None, Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (None, Some(file), None) => write!(f, "{file}: ")?,
            (None, None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None, None) => {}
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.problem)?;
        if let Some(hint) = &self.hint {
            write!(f, "\n  did you mean `{hint}`?")?;
        }
        Ok(())
    }
}
