//! The controllers that `cc` can name: window-based controllers, composed from three families, and independent
//! controllers.

use std::sync::Arc;

use windtunnel_algorithm::Params;
use windtunnel_cc::{AvoidanceParams, ControllerParams, Kinds, ResponseParams, SlowStartParams};

use super::classic::{BSD42, Classic};
use super::family::Entry;
use super::foreign::ForeignAlgorithm;
use super::short::{Parsed, SUFFIXES};
use super::{DIFFER, Registry, RegistryError};

/// The key of a window-based controller's slow start.
pub(crate) const SLOW_START: &str = "slow_start";

/// The key of a window-based controller's response.
pub(crate) const RESPONSE: &str = "response";

impl Registry {
    /// Adds a controller.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_controller<P: Params + ControllerParams>(&mut self) -> Result<(), RegistryError> {
        let entry: Entry<Arc<dyn ControllerParams>> = Entry::of::<P>(|params| Arc::new(params));
        self.check_controller(&entry)?;
        self.controllers.register(entry)
    }

    /// Adds a growth function: the controller of that name takes any slow start and any response.
    ///
    /// # Errors
    /// If its name, alone or with the suffix of a response, is taken, or a scenario cannot write it.
    pub fn register_avoidance<P: Params + AvoidanceParams>(&mut self) -> Result<(), RegistryError> {
        let entry: Entry<Arc<dyn AvoidanceParams>> = Entry::of::<P>(|params| Arc::new(params));
        self.check_controller(&entry)?;
        let with_suffixes =
            |name| SUFFIXES.iter().map(move |(suffix, _)| format!("{name}{suffix}")).collect::<Vec<_>>();
        if let Some(name) = entry.names().flat_map(with_suffixes).find(|name| self.is_controller(name)) {
            return Err(RegistryError::Taken { what: "a controller", name });
        }
        self.avoidances.register(entry)
    }

    /// Adds a slow start.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_slow_start<P: Params + SlowStartParams>(&mut self) -> Result<(), RegistryError> {
        self.slow_starts.register(Entry::of::<P>(|params| Arc::new(params)))
    }

    /// Adds a response to congestion signals.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_response<P: Params + ResponseParams>(&mut self) -> Result<(), RegistryError> {
        self.responses.register(Entry::of::<P>(|params| Arc::new(params)))
    }

    /// Adds a controller that is not written in Rust. With `replace` it may take the name of another such controller.
    ///
    /// # Errors
    /// If its name is taken, or a scenario cannot write it.
    pub fn register_foreign_controller(
        &mut self,
        controller: ForeignAlgorithm<Arc<dyn ControllerParams>>,
        replace: bool,
    ) -> Result<(), RegistryError> {
        let entry = controller.entry();
        if replace {
            self.controllers.remove_foreign(&entry.name);
        }
        self.check_controller(&entry)?;
        self.controllers.register(entry)
    }

    /// True if `cc` can be `name`.
    pub(crate) fn is_controller(&self, name: &str) -> bool {
        let Parsed { base, .. } = Parsed::of(name, |name| self.avoidances.named(name).is_some());
        name == BSD42
            || Classic::named(base).is_some()
            || self.avoidances.named(base).is_some()
            || self.controllers.named(name).is_some()
    }

    /// Controllers of all families share their names.
    fn check_controller<C>(&self, entry: &Entry<C>) -> Result<(), RegistryError> {
        match entry.names().find(|name| self.is_controller(name)) {
            Some(name) => Err(RegistryError::Taken { what: "a controller", name: name.to_owned() }),
            None => Ok(()),
        }
    }
}

/// The built-in kinds are registered by going through them.
impl Kinds for Registry {
    fn avoidance<P: Params + AvoidanceParams>(&mut self) {
        self.register_avoidance::<P>().expect(DIFFER);
    }

    fn slow_start<P: Params + SlowStartParams>(&mut self) {
        self.register_slow_start::<P>().expect(DIFFER);
    }

    fn response<P: Params + ResponseParams>(&mut self) {
        self.register_response::<P>().expect(DIFFER);
    }

    fn controller<P: Params + ControllerParams>(&mut self) {
        self.register_controller::<P>().expect(DIFFER);
    }
}
