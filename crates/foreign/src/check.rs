//! What a table must be before its functions are called by a run.

use std::ffi::{CStr, c_char};

use crate::VERSION;
use crate::end::{Config, End, Identity, State};
use crate::library::{LoadError, Stack};
use crate::table::{RawNames, RawTable};

/// The most names that a list may name. One without an end is longer.
const MOST_NAMES: usize = 100;

/// Reads a table.
#[expect(unsafe_code, reason = "the table is C's")]
pub(crate) fn stack(table: *const RawTable) -> Result<Stack, LoadError> {
    // SAFETY: The header demands that the table is never freed. Every version of it starts with its number.
    let version = unsafe { table.cast::<u32>().as_ref() }.ok_or(LoadError::NoTable)?;
    if *version != VERSION {
        return Err(LoadError::Version(*version));
    }
    // SAFETY: As above; the table is of the version whose fields are those of `RawTable`.
    let table = unsafe { table.as_ref() }.ok_or(LoadError::NoTable)?;
    let raw_controllers = names(table.controllers, "controllers")?;
    let controllers = raw_controllers.iter().map(|raw| name(raw, "a controller's name"));
    let controllers = controllers.collect::<Result<Vec<_>, _>>()?;
    if controllers.is_empty() {
        return Err(LoadError::NoControllers);
    }
    let unseeded = names(table.unseeded, "unseeded")?;
    Ok(Stack {
        name: name(text(table.name).ok_or(LoadError::Missing("name"))?, "its name")?,
        version: text(table.version_text)
            .and_then(|raw| raw.to_str().ok())
            .ok_or(LoadError::Missing("version_text"))?,
        controllers: Vec::leak(controllers),
        raw_controllers,
        unseeded: unseeded.iter().filter_map(|raw| raw.to_str().ok()).collect(),
        functions: table.functions().map_err(LoadError::Missing)?,
    })
}

/// Makes a client and a server with each controller. Returns what a client tells of itself.
pub(crate) fn told(stack: &'static Stack, identity: Identity) -> Result<State, LoadError> {
    let mut told = State::default();
    for controller in stack.controllers {
        for (end, is_server) in [("server", true), ("client", false)] {
            let config = Config::trial(controller, is_server, identity);
            let made = End::new(stack, &config).map_err(|why| LoadError::NoEnd { end, controller, why });
            told = made?.state();
        }
    }
    if told.cwnd.is_none() { Err(LoadError::NoWindow) } else { Ok(told) }
}

/// A text of the table.
#[expect(unsafe_code, reason = "the text is C's")]
fn text(raw: *const c_char) -> Option<&'static CStr> {
    // SAFETY: The header demands that texts end in a zero and are never freed.
    (!raw.is_null()).then(|| unsafe { CStr::from_ptr(raw) })
}

/// The names of a list.
#[expect(unsafe_code, reason = "the list is C's")]
fn names(list: RawNames, key: &'static str) -> Result<Vec<&'static CStr>, LoadError> {
    if list.is_null() {
        return Err(LoadError::Missing(key));
    }
    // SAFETY: The header demands that lists end in NULL and are never freed. Nothing behind the NULL is read.
    let each = (0..MOST_NAMES).map_while(|index| text(unsafe { *list.add(index) }));
    Ok(each.collect())
}

/// A text that must be a name.
fn name(raw: &'static CStr, what: &'static str) -> Result<&'static str, LoadError> {
    let is_name = |name: &&str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-_".contains(c))
    };
    let bad = || LoadError::BadName(raw.to_string_lossy().into_owned(), what);
    raw.to_str().ok().filter(is_name).ok_or_else(bad)
}
