//! A stack's library: loaded once, checked, and never unloaded.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::end::{Config, End, Identity, State};
use crate::table::{Functions, RawTable};
use crate::{VERSION, check};

/// Why a library is no stack. Each is the end of a sentence that starts with the library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// The system cannot load it.
    #[error("is no library that this system can load: {0}")]
    NotLoaded(String),
    /// The function that hands out the table is missing.
    #[error("exports no function `windtunnel_stack`, which windtunnel_stack.h describes")]
    NoSymbol,
    /// The function returned NULL.
    #[error("has no table: windtunnel_stack() returned NULL")]
    NoTable,
    /// The table is that of another version of the header.
    #[error(
        "has a table of version {0}; this windtunnel reads version {VERSION}: compile it with its windtunnel_stack.h"
    )]
    Version(u32),
    /// A pointer of the table is NULL.
    #[error("has no `{0}` in its table: it is NULL")]
    Missing(&'static str),
    /// A text of the table is no name.
    #[error("has {0:?} as {1}, which must be letters, digits, `+`, `-` and `_`")]
    BadName(String, &'static str),
    /// It names no controller.
    #[error("names no controllers")]
    NoControllers,
    /// It cannot make an end of a connection.
    #[error("makes no {end} with {controller}: {why}")]
    NoEnd {
        /// "client" or "server".
        end: &'static str,
        /// The controller.
        controller: &'static str,
        /// What it said.
        why: String,
    },
    /// It does not tell its window.
    #[error("tells no congestion window: `cwnd` in struct windtunnel_state")]
    NoWindow,
}

/// A stack that is loaded, or compiled in.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    stack: &'static Stack,
    told: State,
}

/// What a table says, checked.
#[derive(Debug)]
pub(crate) struct Stack {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) controllers: &'static [&'static str],
    /// The same names as C has them.
    pub(crate) raw_controllers: Vec<&'static CStr>,
    pub(crate) unseeded: Vec<&'static str>,
    pub(crate) functions: Functions,
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        std::ptr::eq(self.stack, other.stack)
    }
}

impl Library {
    /// The stack in the shared library at `path`, tried with servers of this identity. A path is loaded once in a process, whatever becomes of the file: its
    /// code and its list of controllers stay in memory.
    pub fn open(path: &Path, identity: Identity) -> Result<Library, LoadError> {
        static LOADED: Mutex<BTreeMap<PathBuf, Library>> = Mutex::new(BTreeMap::new());
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.get(path) {
            return Ok(*library);
        }
        let library = Library::of(load(path)?, identity)?;
        loaded.insert(path.to_owned(), library);
        Ok(library)
    }

    /// ngtcp2, which is compiled in.
    ///
    /// # Panics
    /// If its adapter, which is a part of this crate, does not do what the header asks.
    #[cfg(feature = "ngtcp2")]
    pub fn ngtcp2(identity: Identity) -> Library {
        use std::sync::OnceLock;

        #[expect(unsafe_code, reason = "a function in C")]
        unsafe extern "C" {
            safe fn windtunnel_stack() -> *const RawTable;
        }
        static BUILT_IN: OnceLock<Library> = OnceLock::new();
        *BUILT_IN.get_or_init(|| {
            Library::of(windtunnel_stack(), identity).expect("the adapter keeps to the header")
        })
    }

    /// The stack with this table.
    fn of(table: *const RawTable, identity: Identity) -> Result<Library, LoadError> {
        let stack = Box::leak(Box::new(check::stack(table)?));
        let told = check::told(stack, identity)?;
        Ok(Library { stack, told })
    }

    /// The stack's name.
    pub fn name(&self) -> &'static str {
        self.stack.name
    }

    /// The stack's version, as people read it.
    pub fn version(&self) -> &'static str {
        self.stack.version
    }

    /// The names of its controllers, the default first; at least one.
    pub fn controllers(&self) -> &'static [&'static str] {
        self.stack.controllers
    }

    /// Whether a controller draws numbers that no seed decides.
    pub fn draws_unseeded(&self, controller: &str) -> bool {
        self.stack.unseeded.contains(&controller)
    }

    /// What its ends tell of themselves, with the values of a client before it connects.
    pub fn told(&self) -> State {
        self.told
    }

    /// Makes an end of a connection.
    ///
    /// # Errors
    /// Why the stack does not.
    pub fn end(&self, config: &Config<'_>) -> Result<End, String> {
        End::new(self.stack, config)
    }
}

/// Loads a library, and asks for its table.
#[expect(unsafe_code, reason = "a library's code runs, as its user has asked for")]
fn load(path: &Path) -> Result<*const RawTable, LoadError> {
    // SAFETY: The library's initialisers are the user's code, which is trusted as windtunnel's own.
    let library = unsafe { libloading::Library::new(path) };
    let library = library.map_err(|error| LoadError::NotLoaded(error.to_string()))?;
    // SAFETY: The header gives the function this type.
    let function = unsafe { library.get::<unsafe extern "C" fn() -> *const RawTable>(c"windtunnel_stack") };
    let function = *function.map_err(|_| LoadError::NoSymbol)?;
    // SAFETY: The library is loaded.
    let table = unsafe { function() };
    // The library is never unloaded, so the table and all that it points to stay valid.
    std::mem::forget(library);
    Ok(table)
}
