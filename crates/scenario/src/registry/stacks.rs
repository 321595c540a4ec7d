//! The stacks that carry a flow: windtunnel's two TCPs, and those of other crates.

use std::io;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_sim::endpoint::{Kinds, StackParams};

use super::{DIFFER, Entry, Registry, RegistryError};
use crate::model::Endpoints;
use crate::parse::cursor::Cursor;
use crate::parse::fault::Fault;

/// What the name of a stack stands for.
#[derive(Clone, Debug)]
pub(crate) enum StackKind {
    /// Windtunnel's own: the scenario's endpoints.
    Built(Endpoints),
    /// That of another crate.
    Foreign(Arc<dyn StackParams>),
}

macro_rules! built {
    ($params:ident, $endpoints:ident, $name:literal, $summary:literal) => {
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        struct $params {}

        impl Params for $params {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
        }

        impl From<$params> for StackKind {
            fn from(_: $params) -> StackKind {
                StackKind::Built(Endpoints::$endpoints)
            }
        }
    };
}

built!(
    LinuxStackParams,
    Linux,
    "linux",
    "A TCP as Linux has it; the flow's `tcp` and `ack` set its mechanisms"
);
built!(IdealStackParams, Ideal, "ideal", "Loss-free endpoints: all flows of a scenario have them, or none");

impl Registry {
    /// Registers windtunnel's own stacks.
    pub(super) fn register_built_stacks(&mut self) -> Result<(), RegistryError> {
        self.stacks.register(Entry::of::<LinuxStackParams>(StackKind::from))?;
        self.stacks.register(Entry::of::<IdealStackParams>(StackKind::from))
    }

    /// Adds a stack.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_stack<P: Params + StackParams>(&mut self) -> Result<(), RegistryError> {
        self.stacks.register(Entry::of::<P>(|params| StackKind::Foreign(Arc::new(params))))?;
        for name in P::default().controllers() {
            if !self.stack_controllers.contains(name) {
                self.stack_controllers.push(name);
            }
        }
        Ok(())
    }

    /// Allows scenarios to load a stack from the shared library at `path`. Its code runs as a part of this program.
    ///
    /// # Errors
    /// If there is no such file.
    pub fn allow_library(&mut self, path: &Path) -> io::Result<()> {
        self.libraries.push(path.canonicalize()?);
        Ok(())
    }

    /// The answer to the name of a stack that is known and not built in.
    pub(crate) fn missing_stack(&self, name: &str, at: &Cursor<'_>) -> Option<Fault> {
        let (name, how) = self.missing_stacks.iter().find(|(missing, _)| *missing == name)?;
        Some(at.fault(format!("{name:?} is not built in; built in are {}; {how}", self.stacks.names())))
    }
}

/// The stacks of a crate are registered by going through them.
impl Kinds for Registry {
    fn stack<P: Params + StackParams>(&mut self) {
        self.register_stack::<P>().expect(DIFFER);
    }

    fn missing(&mut self, name: &'static str, how: &'static str) {
        self.missing_stacks.push((name, how));
    }
}
