//! A stack in a shared library that the user brings.

use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windtunnel_algorithm::Params;
use windtunnel_foreign::Library;
use windtunnel_sim::application::ApplicationConfig;
use windtunnel_sim::endpoint::{Counted, FlowContext, Stack, StackController, StackControllers, StackParams};
use windtunnel_units::{Bytes, OutOfRange};

use crate::seen::Record;
use crate::{foreign, stack};

/// The library, and the configuration of its stack.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(extend("x-source" = "the user's own; crates/foreign/windtunnel_stack.h"))]
pub struct LibraryParams {
    /// The shared library, in the scenario's folder or by its path. It must be allowed: --plugin FILE (in Python
    /// `load_plugin`).
    pub file: String,
    /// The initial congestion window. The default is the stack's own.
    pub initial_window: Option<Bytes>,
    #[serde(skip)]
    library: Option<Library>,
}

impl Params for LibraryParams {
    const NAME: &'static str = "library";
    const SUMMARY: &'static str =
        "A stack of your own, in a shared library; its controllers are those that it names";

    fn check(&self) -> Result<(), OutOfRange> {
        if self.file.is_empty() {
            return Err(OutOfRange::missing("file", "the shared library, such as \"./libmine.so\""));
        }
        match self.initial_window {
            Some(Bytes::ZERO) => Err(OutOfRange::new("initial_window", Bytes::ZERO, "more than 0 B")),
            _ => Ok(()),
        }
    }
}

impl LibraryParams {
    fn library(&self) -> Library {
        self.library.expect("a library is loaded where it is read")
    }
}

impl StackParams for LibraryParams {
    fn title(&self) -> &str {
        self.library.map_or(Self::NAME, |library| library.name())
    }

    fn controllers(&self) -> &'static [&'static str] {
        self.library.map_or(&[], |library| library.controllers())
    }

    fn carries(&self, application: &ApplicationConfig) -> Result<(), String> {
        stack::carries(application, false)
    }

    fn hosts(&self) -> Result<(), String> {
        Err(foreign::DECIDES_ITSELF.to_owned())
    }

    fn draws_unseeded(&self, controller: &str) -> bool {
        self.library().draws_unseeded(controller)
    }

    fn file(&self) -> Option<&str> {
        Some(&self.file)
    }

    fn foreign(&self) -> Option<String> {
        let (library, file) = (self.library?, Path::new(&self.file).file_name()?);
        Some(format!("{} {} of {}", library.name(), library.version(), file.display()))
    }

    fn loaded(&self, path: &Path) -> Result<Arc<dyn StackParams>, String> {
        let library = Library::open(path, foreign::IDENTITY).map_err(|error| error.to_string())?;
        foreign::accepts(library, self.initial_window)?;
        Ok(Arc::new(LibraryParams {
            file: path.display().to_string(),
            library: Some(library),
            ..self.clone()
        }))
    }

    fn stack(&self, controllers: StackControllers) -> Arc<dyn Stack> {
        stack::stack(self, controllers)
    }
}

impl stack::Ends for LibraryParams {
    fn counts(&self) -> Counted {
        foreign::counts(&self.library().told())
    }

    fn ends(&self, controller: &StackController, flow: &FlowContext<'_>, record: &Record) -> stack::Pair {
        foreign::ends(self.library(), controller, self.initial_window, flow, record)
    }
}
